/* What a lock needs on its servers: the tier that is left. */
#include "lock/needs.h"

#include "tap.h"

static const struct endpoint server = {.cluster = false};
static struct lock_config config = {.key = "job",
    .servers = &server,
    .server_count = 1,
    .kind = &kind_exclusive,
    .history_ms = 1000};

/* --- tiers ------------------------------------------------------------ */

static enum claim_tier
tier_without(uint64_t commands, uint64_t keys)
{
	const struct needs denied = {commands, keys};

	return needs_tier(&config, claim_top_tier(&config), &denied);
}

#define BIT(name) NEEDS_BIT(NEEDS_##name)

static void
test_tiers(void)
{
	is_int(tier_without(0, 0), CLAIM_WITH_HISTORY, "nothing is denied");
	is_int(tier_without(0, BIT(HISTORY)), CLAIM_WITH_QUEUE, "the history");
	is_int(tier_without(0, BIT(DOORBELL)), CLAIM_WITH_NESTED, "a doorbell");
	is_int(tier_without(BIT(ZADD), 0), CLAIM_WITH_NESTED, "a command");
	is_int(tier_without(BIT(BLPOP) | BIT(HMGET) | BIT(UNLINK), 0),
	    CLAIM_WITH_HISTORY, "those that a run does without");
	is_int(tier_without(0, BIT(NESTED)), CLAIM_WITH_RECORD, "nested runs");
	is_int(tier_without(0, BIT(FENCE)), 0, "the fence: refused");
	is_int(tier_without(BIT(PTTL), 0), 0, "the lease: refused");
	config.once_ms = 1000;
	is_int(tier_without(BIT(BLPOP), 0), CLAIM_WITH_HISTORY, "--once-per");
	is_int(tier_without(BIT(ZADD), 0), 0, "  depends on the history");
	config.once_ms = 0;
	config.kind = &kind_shared;
	is_int(tier_without(BIT(ZADD), 0), 0, "a reader is a member");
	config.server_count = 2;
	config.servers = (const struct endpoint[2]){server, server};
	is_int(tier_without(0, BIT(QUEUE)), CLAIM_WITH_NESTED, "Redlock");
	config.server_count = 1;
	config.servers = &server;
	config.kind = &kind_exclusive;
}

static void
test_next_tier(void)
{
	static const struct {
		const char *error;
		enum claim_tier tier, next;
	} errors[] = {
	    {"NOPERM this user has no permissions to access one of the keys",
		CLAIM_WITH_HISTORY, CLAIM_WITH_QUEUE},
	    {"ERR The user executing the script can't run this command or "
	     "subcommand (ZADD)",
		CLAIM_WITH_HISTORY, CLAIM_WITH_NESTED},
	    {"ERR ACL failure in script: User u has no permissions to run the "
	     "'zadd' command (ZADD)",
		CLAIM_WITH_QUEUE, CLAIM_WITH_NESTED},
	    {"ERR ACL failure in script: No permissions to access a key "
	     "(PEXPIRE)",
		CLAIM_WITH_HISTORY, CLAIM_WITH_QUEUE},
	    {"ERR The user executing the script can't run this command or "
	     "subcommand (SET)",
		CLAIM_WITH_HISTORY, 0},
	    {"NOPERM User u has no permissions to run the 'eval' command",
		CLAIM_WITH_HISTORY, 0},
	    {"NOPERM No permissions to access a key", CLAIM_WITH_RECORD, 0},
	};
	struct claim claim = {.config = &config};

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		claim.tier = errors[i].tier;
		is_int(needs_next_tier(&claim, errors[i].error, true),
		    errors[i].next, errors[i].error);
	}
	claim.tier = CLAIM_WITH_HISTORY;
	is_int(needs_next_tier(&claim, "WRONGTYPE", false), CLAIM_WITH_NESTED,
	    "a damaged queue");
	claim.tier = CLAIM_WITH_NESTED;
	is_int(needs_next_tier(&claim, "WRONGTYPE", false), 0,
	    "  is no reason to do without nested runs");
}

int
main(void)
{
	test_tiers();
	test_next_tier();
	return tap_done();
}
