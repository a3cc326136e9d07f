/* The words of each request: the keys and arguments that the heads of
 * script/NAME.lua describe, in their order. */
#include "lock/request.h"

#include <stdlib.h>

#include "base/clock.h"
#include "lock/script.h"
#include "words.h"

#define TOKEN "01234567-89ab-4def-8123-456789abcdef"
#define FORMER "11234567-89ab-4def-8123-456789abcdef"
#define RUN_ID "21234567-89ab-4def-8123-456789abcdef"
#define HEAD "x:31234567-89ab-4def-8123-456789abcdef:1@h"
#define HEAD_BELL "{job}:rlk:m:31234567-89ab-4def-8123-456789abcdef"
#define LIFE "3600000"

static const struct endpoint server = {.cluster = false};
static const struct lock_config plain = {.key = "job",
    .server = &server,
    .ttl_ms = 30000,
    .wait = true,
    .expect_ms = -1,
    .max_waiters = CONFIG_ANY_WAITERS,
    .kind = &kind_exclusive,
    .command = "backup",
    .label = ""};
static struct lock_config config;

/* A claim whose names are known. */
static void
begin(struct claim *claim)
{
	claim_init(claim, &config);
	strcpy(claim->token, TOKEN);
	key_set_token(claim->keys.nested, TOKEN);
	strcpy(claim->waiter, "W");
	free(claim->keys.doorbell);
	claim->keys.doorbell = strdup("BELL");
	strcpy(claim->record, "RECORD");
}

static void
is_made(const struct claim *claim, request_maker *make,
    const struct script *script, const char *words, const char *what)
{
	struct request request;

	make(&request, claim);
	is_request(&request, script, words, what);
}

/* --- acquire ---------------------------------------------------------- */

#define TRY_KEYS \
	"6 job {job}:rlk:i {job}:rlk:r {job}:rlk:q {job}:rlk:l BELL " TOKEN
#define TRY TRY_KEYS " 30000 RECORD " LIFE " 0 W"
/* With a policy also the key that its release needs. */
#define POLICY_KEYS                                                   \
	"7 job {job}:rlk:i {job}:rlk:r {job}:rlk:q {job}:rlk:l BELL " \
	"{job}:rlk:n:" TOKEN " " TOKEN
#define POLICY POLICY_KEYS " 30000 RECORD " LIFE " 0 W"

static void
is_try(const char *words, const char *what)
{
	struct claim claim;

	begin(&claim);
	is_made(&claim, request_try, config.kind->acquire, words, what);
	claim_fini(&claim);
	config = plain;
}

static void
test_try(void)
{
	config = plain;
	is_try(TRY " -", "a waiter");
	config.wait = false;
	is_try(TRY, "one that does not wait");
	config.max_waiters = 7;
	is_try(TRY " 7", "one among seven at most");
	config.max_waiters = 0;
	is_try(TRY " 0", "one that waits only alone");
	config.vote_ms = 500;
	config.history_ms = 60000;
	is_try(TRY " ?", "one of several servers, which have no queue");
	config.history_ms = 86400000;
	is_try(TRY_KEYS " 30000 RECORD 86400000 86400000 W -",
	    "with a history");
	config.kind = &kind_permits;
	config.permits = 3;
	is_try(TRY " - 3", "with a permit");
	config.kind = &kind_shared;
	config.permits = 3;
	is_try("6 job {job}:rlk:i {job}:rlk:r {job}:rlk:q {job}:rlk:l BELL "
	       "s:" TOKEN " 30000 RECORD " LIFE " 0 W -",
	    "a reader");
}

/* An empty word is shown as one that is '-': which is which. */
static void
test_wait_words(void)
{
	static const struct {
		bool wait;
		const char *word;
	} rows[] = {{true, "-"}, {false, ""}};
	struct claim claim;
	struct request request;

	for (size_t i = 0; i < LENGTH(rows); i++) {
		config = plain;
		config.kind = &kind_permits;
		config.permits = 3; /* a word behind it */
		config.wait = rows[i].wait;
		begin(&claim);
		request_try(&request, &claim);
		is_text(request.argv[6 + 7], rows[i].word, "whether it waits");
		request_fini(&request);
		claim_fini(&claim);
	}
	config = plain;
}

static void
test_policies(void)
{
	config = plain;
	config.once_ms = 5000;
	is_try(POLICY " - - - 5000", "--once-per");
	config.once_id = "12:a b";
	is_try(POLICY " - - - - 12:a b", "--once-id");
	config.expect_ms = 7000000;
	is_try(POLICY_KEYS " 30000 RECORD 28000000 0 W - - - - - 7000000",
	    "--expect");
	config.expect_ms = 0;
	is_try(POLICY " - - - - - 0", "--expect 0");
	config.newest = true;
	is_try(POLICY " - - - - - - 0", "--newest");
	config.replace = true;
	is_try(POLICY " - - - - - - - r", "--replace");
	config.replaceable = true;
	is_try(POLICY " - - - - - - - o", "--replaceable");
	config.replace = config.replaceable = true;
	is_try(POLICY " - - - - - - - r", "both");
}

/* No test lasts as long, nor is any machine up for that. */
#define AGE_MS ((int64_t)1 << 50)

/* What a try says more, once it was asked before. */
static void
test_tries(void)
{
	struct claim claim;
	struct request request;

	config = plain;
	config.newest = true;
	begin(&claim);
	claim.asked_at = clock_now() - AGE_MS;
	request_try(&request, &claim);
	ok(atoll(request.argv[7 + 13]) >= AGE_MS,
	    "with --newest, how long it has been asked for");
	request_fini(&request);
	config.newest = false;
	strcpy(claim.ticket, "17");
	is_made(&claim, request_try, &script_acquire_exclusive, TRY " - - 17",
	    "with a ticket");
	strcpy(claim.former[0], FORMER);
	strcpy(claim.former[1], RUN_ID);
	claim.former_count = 2;
	is_made(&claim, request_try, &script_acquire_exclusive,
	    TRY " - - 17 - - - - - " FORMER " " RUN_ID, "after two others");
	claim.life_ms = 7200000;
	claim.former_count = 0;
	is_made(&claim, request_try, &script_acquire_exclusive,
	    TRY_KEYS " 30000 RECORD 7200000 0 W - - 17",
	    "of a lock that is remembered longer");
	claim_fini(&claim);
}

static void
test_plain_tier(void)
{
	static const struct request_end end = {.keep_ms = 5000,
	    .run = {.status = 3, .reason = "job_ended"}};
	struct claim claim;
	struct request request;

	config = plain;
	config.kind = &kind_permits;
	config.permits = 3;
	begin(&claim);
	claim.tier = CLAIM_PLAIN;
	strcpy(claim.former[0], FORMER);
	claim.former_count = 1;
	is_made(&claim, request_try, &script_plain_acquire_counted,
	    "1 job " TOKEN " 30000 3", "a try in the plain tier");
	request_drop_former(&request, &claim, 0);
	is_request(&request, &script_plain_release_counted,
	    "1 job " FORMER " 0", "  what goes ahead");
	is_made(&claim, request_renewal, &script_renew_counted,
	    "1 job " TOKEN " 30000", "  a renewal");
	is_made(&claim, request_life, NULL, "", "  nothing else has a life");
	is_made(&claim, request_head, NULL, "", "  nor is there a queue");
	request_release(&request, &claim, &end);
	is_request(&request, &script_plain_release_counted,
	    "1 job " TOKEN " 5000", "  it");
	claim.outer = &kind_permits;
	request_release(&request, &claim, &end);
	is_request(&request, NULL, "", "  nothing of a nested run");
	claim_fini(&claim);
	config = plain;
}

/* --- renew, join ------------------------------------------------------ */

static void
test_renewal(void)
{
	struct claim claim;

	config = plain;
	begin(&claim);
	is_made(&claim, request_renewal, &script_renew_exclusive,
	    "1 job " TOKEN " 30000", "a renewal, of the lock's key alone");
	is_made(&claim, request_life, NULL, "PEXPIRE {job}:rlk:i " LIFE,
	    "the life of what is known");
	is_made(&claim, request_head, NULL, "ZRANGE {job}:rlk:q 0 0",
	    "the head of the queue");
	is_made(&claim, request_order, &script_order, "1 {job}:rlk:i",
	    "the look for an order");
	is_made(&claim, request_heal, &script_heal,
	    "6 {job}:rlk:i {job}:rlk:r {job}:rlk:q {job}:rlk:l BELL "
	    "{job}:rlk:n:" TOKEN " hash list zset zset list set",
	    "the types of all helper keys");
	claim_fini(&claim);
}

#define NESTED "{job}:rlk:n:" TOKEN

static void
test_join(void)
{
	struct claim claim;
	struct request request;

	config = plain;
	config.outer = "x:" TOKEN ":job";
	begin(&claim);
	strcpy(claim.run, RUN_ID);
	is_made(&claim, request_try, &script_join_exclusive,
	    "3 job " NESTED " {job}:rlk:i " TOKEN " 30000 " RUN_ID " 300000",
	    "a nested run joins");
	request_try(&request, &claim);
	ok(request.command.tag == ANSWER_TO_JOIN, "  its answer");
	request_fini(&request);
	claim.tier = CLAIM_PLAIN;
	request_try(&request, &claim);
	ok(request.command.tag == ANSWER_TO_PLAIN_JOIN, "in the plain tier");
	is_request(&request, &script_renew_exclusive, "1 job " TOKEN " 30000",
	    "  it only renews");
	config.kind = &kind_shared;
	request_try(&request, &claim);
	ok(request.command.tag == ANSWER_TO_OTHER_KIND, "in another kind");
	is_request(&request, &script_renew_exclusive, "1 job " TOKEN " 30000",
	    "  it asks whether the outer one is there");
	claim_fini(&claim);
	config = plain;
}

/* --- release ---------------------------------------------------------- */

#define HELPERS "job {job}:rlk:i {job}:rlk:r {job}:rlk:q {job}:rlk:l "
#define END_KEYS HELPERS NESTED
#define NOT_QUEUED "6 " END_KEYS " " TOKEN " - "
/* Nobody can have joined a run without a job. */
#define NO_JOB "6 " HELPERS "BELL " TOKEN " - "

static void
is_release(const struct claim *claim, struct request_end end, const char *words,
    const char *what)
{
	struct request request;

	request_release(&request, claim, &end);
	ok(request.command.tag == ANSWER_TO_RELEASE, "%s: its answer", what);
	is_request(&request, claim_kind(claim)->release, words, what);
}

static void
test_release(void)
{
	static const struct request_end none = {.keep_ms = -5,
	    .run = {.status = REQUEST_NO_JOB}};
	struct request_end end = {
	    .run = {.status = 3, .reason = "job_ended", .waited_ms = 12}};
	struct claim claim;

	config = plain;
	begin(&claim);
	is_release(&claim, none, NO_JOB "- - " LIFE " 0", "a withdrawal");
	is_release(&claim, end, NOT_QUEUED "- - " LIFE " 0",
	    "one that was never granted");
	strcpy(claim.fence, "17");
	claim.start = 1700000000000;
	is_release(&claim, none, NO_JOB "17 1700000000000 RECORD - " LIFE " 0",
	    "a grant without a job");
	is_release(&claim, end,
	    NOT_QUEUED "17 1700000000000 RECORD 3 12 job_ended " LIFE " 0",
	    "the end of a run");
	end.run.waited_ms = -12;
	config.history_ms = 7200000;
	is_release(&claim, end,
	    NOT_QUEUED "17 1700000000000 RECORD 3 0 job_ended 7200000 7200000",
	    "the end that a history gets");
	claim_fini(&claim);
	config = plain;
}

#define GRANT "17 1700000000000 RECORD 0 0 job_ended " LIFE " 0 "

static void
test_rest(void)
{
	static const struct request_end done = {
	    .run = {.status = 0, .reason = "job_ended"}};
	struct request_end end = done;
	struct claim claim;

	config = plain;
	begin(&claim);
	strcpy(claim.fence, "17");
	claim.start = 1700000000000;
	end.keep_ms = 5000;
	is_release(&claim, end, NOT_QUEUED GRANT "5000", "one that is kept");
	end.keep_ms = 1;
	is_release(&claim, end, NOT_QUEUED GRANT "1", "  for a moment");
	end = done;
	end.run.is_unproven = true;
	is_release(&claim, end, NOT_QUEUED GRANT "- 0", "an unproven one");
	end.is_late = true;
	is_release(&claim, end, NOT_QUEUED GRANT "- 01", "  a late one");
	end = done;
	end.is_late = true;
	is_release(&claim, end, NOT_QUEUED GRANT "- 1", "a late one");
	config.once_id = "12:a";
	is_release(&claim, done, NOT_QUEUED GRANT "- - - 12:a",
	    "one with an id");
	config.once_id = NULL;
	claim_expect_head(&claim, HEAD);
	is_release(&claim, done,
	    "8 " END_KEYS " BELL " HEAD_BELL " " TOKEN " - " GRANT
	    "- - - - " HEAD,
	    "one that expects a head of the queue");
	claim.head[0] = '\0';
	claim.was_queued = true;
	is_release(&claim, done,
	    "7 " END_KEYS " BELL " TOKEN " W "
	    "17 1700000000000 RECORD 0 0 job_ended " LIFE " 0",
	    "one that may be in the queue");
	claim.was_queued = false;
	strcpy(claim.former[0], FORMER);
	claim.former_count = 1;
	is_release(&claim, done, NOT_QUEUED GRANT "- - - - - - " FORMER,
	    "one with a former token");
	for (int i = 1; i < CLAIM_FORMER_MAX; i++)
		strcpy(claim.former[i], FORMER);
	claim.former_count = CLAIM_FORMER_MAX;
	is_release(&claim, done,
	    NOT_QUEUED GRANT "- - - - - - " FORMER " " FORMER " " FORMER
			     " " FORMER " " FORMER " " FORMER " " FORMER
			     " " FORMER,
	    "  with as many as are known");
	claim.former_count = 1;
	end = (struct request_end){.is_skip = true,
	    .run = {.status = REQUEST_NO_JOB}};
	claim.fence[0] = '\0';
	is_release(&claim, end,
	    NO_JOB "- - " LIFE " 0 - - - - - RECORD " FORMER,
	    "the end of a wait");
	claim_fini(&claim);
	config = plain;
}

/* A counted lock leaves the queue in any case, as its group may hold it. */
static void
test_counted_release(void)
{
	static const struct request_end end = {
	    .run = {.status = REQUEST_NO_JOB}};
	struct claim claim;

	config = plain;
	config.kind = &kind_shared;
	begin(&claim);
	is_release(&claim, end,
	    "6 " HELPERS "BELL s:" TOKEN " W - - " LIFE " 0",
	    "a reader's release");
	claim_fini(&claim);
	config = plain;
	config.outer = "x:" TOKEN ":job";
	config.history_ms = 60000;
	begin(&claim);
	strcpy(claim.run, RUN_ID);
	is_release(&claim, end, NOT_QUEUED "- - " LIFE " 0 - - " RUN_ID,
	    "a nested run's, which leaves no history");
	claim_fini(&claim);
	config = plain;
}

/* --- bytes ------------------------------------------------------------ */

static size_t
wire_bytes(const struct request *request)
{
	size_t bytes = strlen("*99\r\n$7\r\nEVALSHA\r\n$40\r\n") + 42;

	for (int i = 0; i < request->argc; i++)
		bytes += (size_t)snprintf(NULL, 0, "$%zu\r\n%s\r\n",
		    strlen(request->argv[i]), request->argv[i]);
	return bytes;
}

/* What a warm plain run sends, with a name of 20 bytes. */
static void
test_bytes(void)
{
	static const struct request_end end = {
	    .run = {.status = 0, .reason = "job_ended"}};
	struct claim claim;
	struct request request;
	size_t bytes;

	config = plain;
	config.key = "nightly-report-daily";
	claim_init(&claim, &config);
	request_try(&request, &claim);
	bytes = wire_bytes(&request);
	request_fini(&request);
	strcpy(claim.fence, "1700000000000000");
	claim.start = 1700000000000;
	request_release(&request, &claim, &end);
	bytes += wire_bytes(&request);
	request_fini(&request);
	ok(bytes <= 1000, "a plain run sends %zu bytes", bytes);
	claim_fini(&claim);
	config = plain;
}

/* --- doorbells -------------------------------------------------------- */

static void
test_ring(void)
{
	static const char names[][WAITER_SIZE] = {HEAD, "s:" FORMER ":2@h",
	    "no waiter"};
	char many[LIMIT_NOTIFY][WAITER_SIZE];
	struct key_names keys;
	struct request request;

	key_names_init(&keys, "job", NULL);
	request_ring(&request, &keys, names, 2);
	is_request(&request, &script_ring,
	    "4 {job}:rlk:q {job}:rlk:l " HEAD_BELL " {job}:rlk:m:" FORMER
	    " " HEAD " s:" FORMER ":2@h",
	    "two waiters are rung");
	request_ring(&request, &keys, names, 3);
	is_int(request.argc, 0, "nobody, if one name is no waiter's");
	request_fini(&request);
	request_ring(&request, &keys, names, 0);
	is_int(request.argc, 0, "nobody, for no waiter");
	request_fini(&request);
	for (size_t i = 0; i < LENGTH(many); i++)
		strcpy(many[i], HEAD);
	request_ring(&request, &keys, (const char(*)[WAITER_SIZE])many,
	    LENGTH(many));
	is_int(request.argc, 1 + 2 + 2 * LIMIT_NOTIFY,
	    "as many as an answer names");
	request_fini(&request);
	key_names_fini(&keys);
}

static void
test_doorbell(void)
{
	static const struct {
		int64_t ms;
		const char *words;
	} cases[] = {{1000, "BLPOP BELL 1"}, {5000, "BLPOP BELL 5"},
	    {1350, "BLPOP BELL 1.350"}, {2, "BLPOP BELL 0.002"}};
	struct claim claim;
	struct request request;

	config = plain;
	begin(&claim);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		request_doorbell(&request, &claim, cases[i].ms);
		is_request(&request, NULL, cases[i].words, "the own doorbell");
	}
	claim_fini(&claim);
}

int
main(void)
{
	test_try();
	test_wait_words();
	test_policies();
	test_tries();
	test_plain_tier();
	test_renewal();
	test_join();
	test_release();
	test_rest();
	test_counted_release();
	test_bytes();
	test_ring();
	test_doorbell();
	return tap_done();
}
