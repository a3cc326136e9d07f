#include <limits.h>
#include <stdlib.h>

#include "base/clock.h"
#include "lock/request.h"
#include "lock/script.h"
#include "tap.h"

/* Redis reads so much, or up to so much more: see request.c. */
enum { READ_BYTES = 16384, READ_ROUNDED = 4096 };
enum { KEY_MAX = 1024 };

static const struct {
	enum claim_tier tier;
	int acquire, release, undo; /* how many keys they get */
} tiers[] = {
    {CLAIM_KEY_ONLY, 1, 1, 1},
    {CLAIM_WITH_RECORD, 3, 3, 2},
    {CLAIM_WITH_NESTED, 4, 4, 2},
    {CLAIM_WITH_QUEUE, 7, 8, 5},
    {CLAIM_WITH_HISTORY, 8, 9, 6},
};

static const struct endpoint server = {.cluster = false};
static struct lock_config config = {.servers = &server,
    .server_count = 1,
    .ttl_ms = 30000,
    .wait = true,
    .expect_ms = -1,
    .max_waiters = CONFIG_ANY_WAITERS,
    .kind = &kind_exclusive,
    .command = "backup",
    .label = ""};

/* By digest, or as EVAL. */
static size_t
wire_bytes(const struct request *request, bool whole)
{
	const char *name = whole ? "EVAL" : "EVALSHA";
	const char *body =
	    whole ? request->script->text : request->script->digest;
	int size = snprintf(NULL, 0, "*%d\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
	    request->argc + 2, strlen(name), name, strlen(body), body);

	for (int i = 0; i < request->argc; i++) {
		size_t length = strlen(request->argv[i]);

		if (i > 0 && i == request->padding.at)
			length = whole ? request->padding.whole
				       : request->padding.by_digest;
		size += snprintf(NULL, 0, "$%zu\r\n%*s\r\n", length,
		    (int)length, request->argv[i]);
	}
	return (size_t)size;
}

static void
check_keys(const struct request *request, int count, const char *what)
{
	ok(request->script != NULL, "%s is a script", what);
	is_int(atoi(request->argv[0]), count, "  its number of keys");
	is_text(request->argv[1], "job", "  the first is the lock's");
	is_text(request->argv[request->argc], NULL, "  ends with NULL");
}

static void
test_tiers(void)
{
	const struct request_end end = {"", false, -5,
	    {.status = REQUEST_NO_JOB}};
	struct claim claim;
	struct request request;

	config.key = "job";
	claim_init(&claim, &config);
	for (size_t i = 0; i < sizeof(tiers) / sizeof(*tiers); i++) {
		claim.tier = tiers[i].tier;
		request_make(&request, &claim, REQUEST_TRY);
		check_keys(&request, tiers[i].acquire, "acquire");
		is_text(request.argv[1 + tiers[i].acquire], claim.token,
		    "  then the token");
		request_fini(&request);
		request_release(&request, &claim, &end);
		check_keys(&request, tiers[i].release, "release");
		is_text(request.argv[1 + tiers[i].release + 4], "0",
		    "  keeps for no time that is over");
		request_fini(&request);
		request_make(&request, &claim, REQUEST_UNDO);
		check_keys(&request, tiers[i].undo, "undo");
		request_fini(&request);
		request_make(&request, &claim, REQUEST_RENEWAL);
		check_keys(&request, 1, "renew, in each tier");
		request_fini(&request);
		request_make(&request, &claim, REQUEST_RECORD);
		is_int(request.argc, claim.tier > CLAIM_KEY_ONLY ? 3 : 0,
		    "the record's life");
		request_make(&request, &claim, REQUEST_HEAD);
		is_int(request.argc, claim.tier >= CLAIM_WITH_QUEUE ? 4 : 0,
		    "the head of the queue");
		request_make(&request, &claim, REQUEST_HISTORY);
		is_int(request.argc, claim.tier == CLAIM_WITH_HISTORY ? 3 : 0,
		    "the history's life");
	}
	claim_fini(&claim);
}

/* The word that says whether to wait, behind the keys and eleven others. */
static const char *
wait_word(const struct request *request)
{
	return request->argv[atoi(request->argv[0]) + 12];
}

static void
is_newest(struct claim *claim, const char *word, const char *what)
{
	struct request request;

	request_make(&request, claim, REQUEST_TRY);
	is_text(wait_word(&request), word, what);
	request_fini(&request);
}

/* The key of a policy follows those of the tier, and no other request has it.
 */
static void
test_newest(void)
{
	const struct request_end end = {"", false, 0,
	    {.status = REQUEST_NO_JOB}};
	struct claim claim;
	struct request request;

	config.key = "job";
	claim_init(&claim, &config);
	is_newest(&claim, "1", "a run without --newest only waits");
	config.newest = true;
	for (int i = 0; i < 2; i++) {
		claim.tier = i == 0 ? CLAIM_WITH_QUEUE : CLAIM_WITH_HISTORY;
		request_make(&request, &claim, REQUEST_TRY);
		check_keys(&request, (int)claim.tier + 1, "with --newest");
		is_text(request.argv[claim.tier + 1], "{job}:rlk:o",
		    "  its key is the last");
		request_fini(&request);
		request_release(&request, &claim, &end);
		check_keys(&request, (int)claim.tier + 1, "its release");
		request_fini(&request);
	}
	is_newest(&claim, "1n", "its first try has no ticket");
	claim.asked_at = clock_now() - 5000;
	request_make(&request, &claim, REQUEST_TRY);
	ok(strncmp(wait_word(&request), "1n-5", 4) == 0,
	    "the next one says how long it has been asked for");
	request_fini(&request);
	claim_note_ticket(&claim, "1700000000000000");
	is_newest(&claim, "1n1700000000000000", "a reply has given it one");
	claim_note_ticket(&claim, "1800000000000000");
	is_newest(&claim, "1n1700000000000000", "  which it keeps");
	config.newest = false;
	config.replace = true;
	is_newest(&claim, "1r", "with --replace");
	config.newest = config.replaceable = true;
	is_newest(&claim, "1ron1700000000000000", "with all policies");
	request_make(&request, &claim, REQUEST_TRY);
	check_keys(&request, (int)claim.tier + 2, "which");
	is_text(request.argv[claim.tier + 1], "{job}:rlk:o", "  first one,");
	is_text(request.argv[claim.tier + 2], "{job}:rlk:s",
	    "  then the other");
	request_fini(&request);
	config.newest = config.replace = config.wait = false;
	is_newest(&claim, "0o", "a replaceable run that does not wait");
	request_make(&request, &claim, REQUEST_ORDER);
	is_text(request.argv[1], "{job}:rlk:s", "it looks for an order");
	request_fini(&request);
	config.replaceable = false;
	config.wait = true;
	claim_fini(&claim);
}

/* The id travels behind a number that may be missing: no run without it sends a
 * byte more. */
static void
test_once(void)
{
	static const struct {
		int64_t once_ms;
		const char *id, *acquire, *release;
	} rows[] = {
	    {0, NULL, "", "60000"},
	    {5, NULL, "5", "60000"},
	    {0, "12:a", ":12:a", "60000:12:a"},
	    {5, "12:a", "5:12:a", "60000:12:a"},
	};
	const struct request_end end = {"", false, 0, {0, "job_ended", 12, 0}};

	config.key = "job";
	config.history_ms = 60000;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct claim claim;
		struct request request;

		config.once_ms = rows[i].once_ms;
		config.once_id = rows[i].id;
		claim_init(&claim, &config);
		request_make(&request, &claim, REQUEST_TRY);
		is_text(request.argv[8 + 16], rows[i].acquire, "a try");
		request_fini(&request);
		request_release(&request, &claim, &end);
		is_text(request.argv[9 + 9], rows[i].release, "  its release");
		is_text(request.argv[9 + 10], "0 12 job_ended", "  its end");
		request_fini(&request);
		claim_fini(&claim);
	}
	config.once_ms = config.history_ms = 0;
	config.once_id = NULL;
}

static void
test_expect(void)
{
	static const struct {
		int64_t history_ms, expect_ms;
		const char *life;
		int at; /* behind the keys */
	} rows[] = {
	    {60000, -1, "60000", 8},
	    {60000, 5000, "60000:5000", 8},
	    {60000, 0, "60000:0", 8},
	    {0, 5000, "", 7},
	};

	config.key = "job";
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct claim claim;
		struct request request;

		config.history_ms = rows[i].history_ms;
		config.expect_ms = rows[i].expect_ms;
		claim_init(&claim, &config);
		request_make(&request, &claim, REQUEST_TRY);
		is_text(request.argv[rows[i].at + 15], rows[i].life, "a try");
		request_fini(&request);
		claim_fini(&claim);
	}
	config.history_ms = 0;
	config.expect_ms = -1;
}

/* Former tokens come last. */
static void
test_former(void)
{
	const struct request_end end = {"", false, 0,
	    {.status = REQUEST_NO_JOB}};
	struct claim claim;
	struct request request;
	char former[TOKEN_SIZE];
	int words;

	config.key = "job";
	claim_init(&claim, &config);
	request_release(&request, &claim, &end);
	words = request.argc;
	is_text(request.argv[words - 1], claim.self.host,
	    "without former tokens, a release ends with the host");
	ok(request.withdraws, "  and withdraws what is sent before it");
	request_fini(&request);
	snprintf(former, sizeof(former), "%s", claim.token);
	claim_supersede_token(&claim);
	request_release(&request, &claim, &end);
	is_int(request.argc, words + 1, "a former token is one more word");
	is_text(request.argv[words], former, "  the last");
	request_fini(&request);
	request_make(&request, &claim, REQUEST_UNDO);
	ok(request.withdraws, "an undo withdraws, too");
	is_text(request.argv[request.argc - 1], former,
	    "  also what the former token was granted");
	request_fini(&request);
	request_make(&request, &claim, REQUEST_TRY);
	ok(!request.withdraws, "a try does not");
	request_fini(&request);
	claim_fini(&claim);
}

/* Whether one read of a server may end between the end of the try and that of
 * the undo behind it. */
static bool
straddles(const struct request *try, bool whole, const struct request *undo)
{
	size_t begin = wire_bytes(try, whole);
	size_t end = begin + wire_bytes(undo, true);

	for (size_t read = READ_BYTES; read < end; read += READ_BYTES)
		if (begin < read + READ_ROUNDED)
			return true;
	return false;
}

/* The try and an undo behind it fit into one read of the server, or the try
 * reaches into the next one. */
static void
test_padding(const struct kind *kind, size_t command_length)
{
	static char key[KEY_MAX + 1], command[PATH_MAX];
	int padded = 0, wrong = 0, wrong_whole = 0;

	config.kind = kind;
	config.key = key;
	memset(command, '\0', sizeof(command));
	memset(command, 'c', command_length);
	config.command = command;
	for (size_t length = 1; length <= KEY_MAX; length += 7) {
		struct claim claim;
		struct request try, undo;

		memset(key, 'k', length);
		claim_init(&claim, &config);
		for (size_t i = 0; i < length % (CLAIM_FORMER_MAX + 1); i++)
			claim_supersede_token(&claim);
		request_make(&try, &claim, REQUEST_TRY);
		request_make(&undo, &claim, REQUEST_UNDO);
		wrong += straddles(&try, false, &undo);
		wrong_whole += straddles(&try, true, &undo);
		padded += try.padding.by_digest > 0;
		request_fini(&try);
		request_fini(&undo);
		claim_fini(&claim);
	}
	memset(key, '\0', sizeof(key));
	is_int(wrong, 0, "an undo arrives with its try");
	is_int(wrong_whole, 0, "  also with one that is sent as EVAL");
	ok((padded > 0) == (command_length > KEY_MAX),
	    "  padded by digest, too, if key and command are long");
}

static size_t
bytes_by_digest(size_t key_length)
{
	static char key[KEY_MAX + 1];
	struct claim claim;
	struct request try;
	size_t bytes;

	memset(key, 'k', key_length);
	key[key_length] = '\0';
	config.key = key;
	claim_init(&claim, &config);
	request_make(&try, &claim, REQUEST_TRY);
	bytes = wire_bytes(&try, false);
	request_fini(&try);
	claim_fini(&claim);
	return bytes;
}

/* The server has the script of a usual try, which EVAL alone must lengthen. A
 * key is in the name of each of its helper keys, too. */
static void
test_bytes(const struct kind *kind)
{
	static const size_t lengths[] = {20, 60, 255};
	size_t least;

	config.kind = kind;
	config.command = "backup";
	least = bytes_by_digest(8);
	ok(least < 1024, "a try by digest takes %zu bytes", least);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		size_t more = bytes_by_digest(lengths[i]) - least;
		size_t names = CLAIM_WITH_HISTORY * (lengths[i] - 8);

		ok(more <= names + CLAIM_WITH_HISTORY,
		    "  a key of %zu bytes adds %zu", lengths[i], more);
	}
}

static void
test_notify(void)
{
	const char *const names[] = {
	    "x:01234567-89ab-cdef-0123-456789abcdef:1@h",
	    "s:11234567-89ab-cdef-0123-456789abcdef:2@h", "no waiter"};
	struct key_names keys;
	struct request request;

	key_names_init(&keys, "job");
	request_notify(&request, &keys, names, 2);
	is_int(atoi(request.argv[0]), 4, "queue, heartbeats, two doorbells");
	is_text(request.argv[4],
	    "{job}:rlk:m:11234567-89ab-cdef-0123-456789abcdef",
	    "  the second one's");
	is_text(request.argv[6], names[1], "  and its name");
	is_int(request.argc, 7, "  nothing else");
	request_fini(&request);
	request_notify(&request, &keys, names, 3);
	is_int(request.argc, 0, "nothing, if one name is no waiter's");
	request_fini(&request);
	request_notify(&request, &keys, names, 0);
	is_int(request.argc, 0, "nothing, for no waiter");
	request_fini(&request);
	key_names_fini(&keys);
}

static void
test_doorbell(void)
{
	static const struct {
		int64_t ms;
		const char *seconds;
	} cases[] = {{1000, "1"}, {5000, "5"}, {1350, "1.350"}, {2, "0.002"}};
	struct claim claim;
	struct request request;

	config.key = "job";
	claim_init(&claim, &config);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		request_doorbell(&request, &claim, cases[i].ms);
		is_int(request.argc, 4, "two doorbells, and a timeout");
		is_text(request.argv[3], cases[i].seconds, "  in seconds");
		request_fini(&request);
	}
	claim_fini(&claim);
}

int
main(void)
{
	test_tiers();
	test_once();
	test_expect();
	test_former();
	test_newest();
	test_padding(&kind_exclusive, 6);
	test_padding(&kind_exclusive, PATH_MAX - 1);
	test_padding(&kind_permits, 6);
	test_padding(&kind_permits, PATH_MAX - 1);
	test_bytes(&kind_exclusive);
	test_bytes(&kind_permits);
	test_notify();
	test_doorbell();
	return tap_done();
}
