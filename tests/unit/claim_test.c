/* Who a run is to the servers: its names, what it has to leave behind for how
 * long, and which keys it may use. */
#include "lock/claim.h"

#include <stdlib.h>

#include "tap.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))
#define OUTER "01234567-89ab-4def-8123-456789abcdef"
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
	ok(strncmp(claim.doorbell, "{job}:rlk:m:", 12) == 0 &&
		strcmp(claim.doorbell + 12, claim.token) == 0,
	    "  so has its doorbell");
	ok(strstr(claim.record, " - backup") != NULL, "  its record");
	ok(claim_kind(&claim) == &kind_exclusive, "  its kind");
	claim_expect_head(&claim, "x:1");
	is_text(claim.head, "x:1", "a head of the queue");
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
	is_int((int64_t)claim.former_count, 1, "  and there is a former one");
	is_text(claim.former[0], first, "  the first");
	is_text(claim.waiter, waiter, "  the place stays");
	memcpy(second, claim.token, sizeof(second));
	for (int i = 0; i < CLAIM_FORMER_MAX; i++)
		claim_supersede_token(&claim);
	is_int((int64_t)claim.former_count, CLAIM_FORMER_MAX,
	    "so many are named");
	is_text(claim.former[0], second, "  the oldest is forgotten");
	memcpy(first, claim.token, sizeof(first));
	ok(claim_change_token(&claim) && strcmp(claim.token, first) != 0,
	    "a token that was released is not named");
	is_int((int64_t)claim.former_count, CLAIM_FORMER_MAX, "  any more");
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
	test_lives();
	test_tiers();
	test_names();
	test_former();
	test_outer();
	test_permits();
	return tap_done();
}
