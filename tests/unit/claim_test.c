/* Who a run is to the servers: its names, what it has to leave behind for how
 * long, and which keys it may use. */
#include "lock/claim.h"

#include <stdlib.h>
#include <unistd.h>

#include "admin/search.h"
#include "redis/ways/cluster.h"
#include "tap.h"

#define OUTER "01234567-89ab-4def-8123-456789abcdef"
#define HEAD "x:" OUTER ":7@web-3"
#define HOUR 3600000

static const struct endpoint servers[] = {{.cluster = false},
    {.cluster = true}};
static const struct lock_config plain = {.key = "job",
    .server = &servers[0],
    .ttl_ms = 30000,
    .expect_ms = -1,
    .kind = &kind_exclusive,
    .command = "backup",
    .label = ""};

static const struct {
	const char *key, *helper, *bell;
	bool placeable;
} cases[] = {
    {"job", "{job}:rlk:i", "{job}:rlk:m:" OUTER, true},
    {"", "{}:rlk:i", "{}:rlk:m:" OUTER, false},
    {"{a}b", "{a}b:rlkt:i", "{a}b:rlkt:m:" OUTER, true},
    {"x{{a}}", "x{{a}}:rlkt:i", "x{{a}}:rlkt:m:" OUTER, true},
    {"a}{b}", "a}{b}:rlkt:i", "a}{b}:rlkt:m:" OUTER, true},
    {"{}{a}", "{{}{a}}:rlk:i", "{{}{a}}:rlk:m:" OUTER, false},
    {"a{}b", "{a{}b}:rlk:i", "{a{}b}:rlk:m:" OUTER, false},
    {"a}b", "{a}b}:rlk:i", "{a}b}:rlk:m:" OUTER, false},
    {"{a", "{{a}:rlk:i", "{{a}:rlk:m:" OUTER, true},
    {"}{", "{}{}:rlk:i", "{}{}:rlk:m:" OUTER, false},
};

static const char *const no_helpers[] = {"", ":", "i", "job", "job:rlk:i",
    "job:rlkt:i", "{job}:rlkt", "{job}:rlk:", "{job}:rlk:ii", "{job}rlk:i",
    "{{a}b}:rlk:i", "{a{}b:rlkt:", "}:rlk:i", ":rlk:i", "{}b:rlkt:i",
    ("{job}:rlk:m:" OUTER)};

static void
test_keys(void)
{
	for (size_t i = 0; i < LENGTH(cases); i++) {
		char *helper = key_helper(cases[i].key, 'i');
		struct key_names names;
		const char *bell;
		char *back;

		key_names_init(&names, cases[i].key, OUTER);
		bell = names.doorbell;
		is_text(helper, cases[i].helper, cases[i].key);
		is_text(bell, cases[i].bell, cases[i].key);
		is_int(key_is_placeable(cases[i].key), cases[i].placeable,
		    "  in its slot");
		is_int(cluster_slot(helper) == cluster_slot(cases[i].key) &&
			   cluster_slot(bell) == cluster_slot(cases[i].key),
		    cases[i].placeable, "  indeed");
		back = search_key_of(helper);
		is_text(back, cases[i].key, "  and back");
		free(back);
		free(helper);
		key_names_fini(&names);
	}
	for (size_t i = 0; i < LENGTH(no_helpers); i++)
		is_text(search_key_of(no_helpers[i]), NULL, no_helpers[i]);
}

static void
test_waiters(void)
{
	static const char *const no_waiters[] = {"", "x:" OUTER,
	    "x:" OUTER ":4121", "x;" OUTER ":4121@h", "x:short:1@h",
	    "x:" OUTER "0:1@h", "y:" OUTER ":1@h", "x:" OUTER ":1x@h",
	    "x:}1234567-89ab-4def-8123-456789abcdef:1@h"};
	const char *name = "s:" OUTER ":4121@web-3";
	struct waiter waiter;

	ok(waiter_parse(&waiter, name), "is one");
	ok(waiter.kind == 's', "its kind");
	is_text(waiter.token, OUTER, "its token");
	is_text(waiter.host, "web-3", "its host");
	ok(waiter_parse(&waiter, "x:" OUTER ":@"), "neither pid nor host");
	for (size_t i = 0; i < LENGTH(no_waiters); i++)
		ok(!waiter_parse(&waiter, no_waiters[i]), "none: %s",
		    no_waiters[i]);
	waiter = waiter_read("x:" OUTER ":@");
	is_text(waiter.pid, "?", "of neither pid");
	is_text(waiter.host, "?", "  nor host");
	is_text(waiter_read("strange").host, "?", "  nor anything");
}

/* :i outlives all that it is asked for. */
static void
test_lives(void)
{
	static const struct {
		struct lock_config with;
		int64_t known_ms, life_ms;
	} rows[] = {
	    {{.ttl_ms = 30000}, 0, HOUR},
	    {{.ttl_ms = HOUR}, 0, 10 * HOUR},
	    {{.history_ms = 24 * HOUR}, 0, 24 * HOUR},
	    {{.once_ms = 48 * HOUR, .history_ms = 24 * HOUR}, 0, 48 * HOUR},
	    {{.expect_ms = 24 * HOUR, .history_ms = 24 * HOUR}, 0, 96 * HOUR},
	    {{.expect_ms = -1}, 0, HOUR},
	    {{.hold_ms = 5 * HOUR}, 0, 6 * HOUR},
	    {{.history_ms = 24 * HOUR}, 7 * 24 * HOUR, 7 * 24 * HOUR},
	    {{.history_ms = 24 * HOUR}, HOUR, 24 * HOUR},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct claim claim = {.config = &rows[i].with,
		    .life_ms = rows[i].known_ms};

		is_int(claim_life_ms(&claim), rows[i].life_ms,
		    "the life of what is known");
	}
}

static void
test_tiers(void)
{
	static const struct {
		const char *key;
		size_t server;
		enum claim_tier tier;
	} rows[] = {
	    {"job", 0, CLAIM_FULL},
	    {"a}b", 0, CLAIM_FULL},
	    {"job", 1, CLAIM_FULL},
	    {"{a}b", 1, CLAIM_FULL},
	    {"a}b", 1, CLAIM_PLAIN},
	    {"a{}b", 1, CLAIM_PLAIN},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct lock_config config = {.key = rows[i].key,
		    .server = &servers[rows[i].server]};

		is_int(claim_top_tier(&config), rows[i].tier, rows[i].key);
	}
}

static void
test_names(void)
{
	struct claim claim;

	ok(claim_init(&claim, &plain) == 0, "a claim");
	is_int(claim.tier, CLAIM_FULL, "  its tier");
	ok(strlen(claim.token) == TOKEN_SIZE - 1, "  its token");
	ok(strncmp(claim.waiter, "x:", 2) == 0 &&
		strncmp(claim.waiter + 2, claim.token, TOKEN_SIZE - 1) == 0,
	    "  its place in a queue has that name");
	ok(strncmp(claim.keys.doorbell, "{job}:rlk:m:", 12) == 0 &&
		strcmp(claim.keys.doorbell + 12, claim.token) == 0,
	    "  so has its doorbell");
	ok(strstr(claim.record, " - backup") != NULL, "  its record");
	ok(strncmp(claim.keys.nested, "{job}:rlk:n:", 12) == 0 &&
		strcmp(claim.keys.nested + 12, claim.token) == 0,
	    "  its nested runs");
	ok(strcmp(strchr(claim.waiter, '@') + 1, claim.self.host) == 0,
	    "  its host");
	ok(claim_kind(&claim) == &kind_exclusive, "  its kind");
	claim_expect_head(&claim, HEAD);
	is_text(claim.head, HEAD, "a head of the queue");
	is_text(claim.head_doorbell, "{job}:rlk:m:" OUTER, "  its doorbell");
	claim_expect_head(&claim, "x:1");
	is_text(claim.head, "", "  which is no waiter");
	claim_fini(&claim);
}

/* A try without a reply may arrive late: its token is not used again, and its
 * place and doorbell stay. */
static void
test_former(void)
{
	char first[TOKEN_SIZE], second[TOKEN_SIZE], waiter[WAITER_SIZE];
	struct claim claim;

	claim_init(&claim, &plain);
	memcpy(first, claim.token, sizeof(first));
	memcpy(waiter, claim.waiter, sizeof(waiter));
	ok(claim_supersede_token(&claim), "another token");
	ok(strcmp(claim.token, first) != 0, "  is another");
	is_text(claim.keys.nested + 12, claim.token, "  with nested runs");
	is_text(claim.keys.doorbell + 12, first, "  but the same doorbell");
	is_int((int64_t)claim.former_count, 1, "  and there is a former one");
	is_text(claim.former[0], first, "  the first");
	is_text(claim.waiter, waiter, "  the place stays");
	memcpy(second, claim.token, sizeof(second));
	for (int i = 0; i < CLAIM_FORMER_MAX; i++)
		claim_supersede_token(&claim);
	is_int((int64_t)claim.former_count, CLAIM_FORMER_MAX,
	    "so many are named");
	is_text(claim.former[0], second, "  the oldest is forgotten");
	claim_remember_token(&claim, OUTER);
	is_text(claim.former[CLAIM_FORMER_MAX - 1], OUTER,
	    "  the newest is the last");
	claim_fini(&claim);
}

/* Within a run that holds the lock already. */
static void
test_outer(void)
{
	struct lock_config config = plain;
	struct claim claim;
	char run[TOKEN_SIZE];

	config.kind = &kind_shared;
	config.newest = true;
	config.outer = "x:" OUTER ":job";
	claim_init(&claim, &config);
	is_text(claim.token, OUTER, "the outer run's token");
	ok(claim_kind(&claim) == &kind_exclusive, "  and kind");
	ok(!claim_needs_helpers(&claim), "  no policy counts");
	ok(*claim.run != '\0' && strcmp(claim.run, OUTER) != 0,
	    "  a name of its own");
	memcpy(run, claim.run, sizeof(run));
	claim.tier = CLAIM_PLAIN;
	claim_forget_outer(&claim);
	is_text(claim.token, run, "when the outer run has ended: its own");
	ok(claim_kind(&claim) == &kind_shared, "  its own kind");
	ok(claim_needs_helpers(&claim), "  its policies count");
	is_int(claim.tier, CLAIM_FULL, "  with all keys");
	is_text(claim.run, "", "  it is no nested run any more");
	claim_fini(&claim);
}

/* Who we are by the environment, and without it. */
static void
test_self(void)
{
	static const struct {
		const char *logname, *user, *is;
	} rows[] = {{"deploy", "root", "deploy"}, {"", "root", "root"},
	    {NULL, "root", "root"}, {NULL, "", NULL}, {"", NULL, NULL}};
	struct holder self;
	char uid[32];

	snprintf(uid, sizeof(uid), "uid %u", (unsigned)getuid());
	for (size_t i = 0; i < LENGTH(rows); i++) {
		unsetenv("LOGNAME");
		unsetenv("USER");
		if (rows[i].logname != NULL)
			setenv("LOGNAME", rows[i].logname, 1);
		if (rows[i].user != NULL)
			setenv("USER", rows[i].user, 1);
		holder_self(&self);
		is_text(self.user, rows[i].is != NULL ? rows[i].is : uid,
		    "the user");
	}
	is_int(atoll(self.pid), getpid(), "  its process");
	ok(*self.host != '\0', "  its host");
	ok(holder_is_known(&self) && !holder_has_end(&self), "  it is a run");
	self.state = HOLDER_FOREIGN;
	ok(!holder_is_known(&self), "  which a foreign one is not");
	self.state = HOLDER_HOLD;
	ok(holder_has_end(&self), "  a hold has an end");
}

static void
test_permits(void)
{
	struct lock_config config = plain;
	const struct claim claim = {.config = &config};

	config.permits = 3;
	is_int(claim_permits(&claim), 0, "an exclusive lock has no permits");
	config.kind = &kind_permits;
	is_int(claim_permits(&claim), 3, "a counted one has");
}

int
main(void)
{
	test_keys();
	test_waiters();
	test_lives();
	test_tiers();
	test_names();
	test_former();
	test_outer();
	test_permits();
	test_self();
	return tap_done();
}
