#include "lock/needs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/exitcode.h"

#define RULE(name, rule) rule,
const char needs_rules[NEEDS_COMMANDS][16] = {NEEDS_COMMAND_LIST(RULE)};

#define C(name) NEEDS_BIT(NEEDS_##name)
#define K(name) NEEDS_BIT(KEY_##name)
#define LOOK_COMMANDS                                                     \
	(C(SCRIPTS) | C(TIME) | C(GET) | C(PTTL) | C(HMGET) | C(ZCOUNT) | \
	    C(ZRANGE) | C(ZSCORE))

const struct needs_row needs_rows[] = {
    {"access-lock", "no lock can be acquired and kept", CLAIM_KEY_ONLY, true,
	EXITCODE_REFUSED, NEEDS_BY_ALL,
	{C(SCRIPTS) | C(TIME) | C(GET) | C(PTTL) | C(SET) | C(DEL) | C(PEXPIRE),
	    K(LOCK)}},
    {"access-lock", "no lock can be acquired and kept", CLAIM_WITH_RECORD, true,
	EXITCODE_REFUSED, NEEDS_BY_ALL, {C(HSET), K(FENCE) | K(RECORD)}},
    {"access-counted", "--shared and --permits are refused", CLAIM_KEY_ONLY,
	true, EXITCODE_REFUSED, NEEDS_BY_COUNTED,
	{C(ZRANGE) | C(ZSCORE) | C(ZCOUNT) | C(ZADD) | C(ZREM), 0}},
    {"access-counted", "--shared and --permits are refused", CLAIM_WITH_RECORD,
	true, EXITCODE_REFUSED, NEEDS_BY_COUNTED, {C(HDEL), 0}},
    {"access-nested", "a nested run loses the lock when the outer run ends",
	CLAIM_WITH_NESTED, true, 0, NEEDS_BY_ALL, {0, K(NESTED)}},
    {"access-nested", "a nested run loses the lock when the outer run ends",
	CLAIM_WITH_NESTED, false, 0, NEEDS_BY_ALL,
	{C(ZRANGE) | C(ZSCORE) | C(ZADD) | C(ZREM), 0}},
    {"access-queue", "there is no queue", CLAIM_WITH_QUEUE, true, 0,
	NEEDS_BY_WAITING,
	{C(ZSCORE) | C(ZRANK) | C(ZCOUNT) | C(ZADD) | C(ZREM), 0}},
    {"access-queue", "there is no queue", CLAIM_WITH_QUEUE, true, 0,
	NEEDS_BY_ALL, {C(ZRANGE), K(QUEUE) | K(ALIVE) | K(DOORBELL)}},
    {"access-doorbell", "waiters are not woken, and ask again and again",
	CLAIM_WITH_QUEUE, false, 0, NEEDS_BY_ALL, {C(RPUSH) | C(BLPOP), 0}},
    {"access-history", "the last run is not recorded", CLAIM_WITH_HISTORY, true,
	0, NEEDS_BY_HISTORY, {0, K(HISTORY)}},
    {"access-once", "--once-per, --once-id and --expect are refused",
	CLAIM_WITH_HISTORY, true, EXITCODE_REFUSED, NEEDS_BY_ONCE,
	{C(HMGET), 0}},
    {"access-newest", "--newest is refused", CLAIM_WITH_QUEUE, true,
	EXITCODE_REFUSED, NEEDS_BY_NEWEST, {0, K(NEWEST)}},
    {"access-replace", "--replace and --replaceable are refused",
	CLAIM_WITH_QUEUE, true, EXITCODE_REFUSED, NEEDS_BY_REPLACE,
	{0, K(ORDER)}},
    {"access-replace", "--replace is refused", CLAIM_WITH_QUEUE, true,
	EXITCODE_REFUSED, NEEDS_BY_ASKING, {C(HMGET), 0}},
    {"access-holder", "messages cannot name the holder", CLAIM_WITH_RECORD,
	false, 0, NEEDS_BY_ALL, {C(HMGET), 0}},
    {"access-scripts", "a run fails when the server has forgotten the scripts",
	CLAIM_KEY_ONLY, false, 0, NEEDS_BY_ALL, {C(EVAL), 0}},
    {"access-digest", "all scripts are sent as a whole", CLAIM_KEY_ONLY, false,
	0, NEEDS_BY_NONE, {C(EVALSHA), 0}},
    {"access-unlink",
	"the server does nothing else while it deletes a large key",
	CLAIM_WITH_RECORD, false, 0, NEEDS_BY_NONE, {C(UNLINK), 0}},
    {"access-name", "the connection has no name", CLAIM_KEY_ONLY, false, 0,
	NEEDS_BY_NONE, {C(SETNAME), 0}},
    {"access-status", "--status does not work", CLAIM_KEY_ONLY, false, 0,
	NEEDS_BY_NONE, {LOOK_COMMANDS, 0}},
    {"access-list", "--list does not work", CLAIM_KEY_ONLY, false, 0,
	NEEDS_BY_NONE, {LOOK_COMMANDS | C(SCAN), 0}},
    {"access-force", "--force-release does not work", CLAIM_KEY_ONLY, false, 0,
	NEEDS_BY_NONE,
	{LOOK_COMMANDS | C(DEL) | C(UNLINK) | C(ZADD) | C(ZREM) | C(RPUSH) |
		C(PEXPIRE),
	    0}},
    {"access-replicas", "--wait-replicas does not work", CLAIM_KEY_ONLY, false,
	EXITCODE_REFUSED, NEEDS_BY_REPLICAS, {C(WAIT), 0}},
    {"access-votes", "this server does not count", CLAIM_KEY_ONLY, false,
	EXITCODE_REFUSED, NEEDS_BY_SEVERAL, {C(INFO), 0}},
    {"access-sentinel", "a replica is detected later", CLAIM_KEY_ONLY, false, 0,
	NEEDS_BY_SENTINEL, {C(ROLE), 0}},
    {"access-cluster", "slots that move and nodes that die are lost sight of",
	CLAIM_KEY_ONLY, false, 0, NEEDS_BY_CLUSTER,
	{C(ASKING) | C(CLUSTER_SLOTS), 0}},
    {"", "", CLAIM_KEY_ONLY, false, 0, NEEDS_BY_NONE, {0, 0}},
};

enum needs_use
needs_use_of(const struct needs_row *row, const struct lock_config *config,
    const struct endpoint *server)
{
	switch (row->by) {
	case NEEDS_BY_WAITING:
		return config->wait;
	case NEEDS_BY_COUNTED:
		return config->kind != &kind_exclusive;
	case NEEDS_BY_HISTORY:
		return config->history_ms > 0;
	case NEEDS_BY_ONCE:
		return config_needs_history(config);
	case NEEDS_BY_NEWEST:
		return config->newest;
	case NEEDS_BY_REPLACE:
		return config->replace || config->replaceable;
	case NEEDS_BY_ASKING:
		return config->replace;
	case NEEDS_BY_REPLICAS:
		return config->replicas > 0;
	case NEEDS_BY_SEVERAL:
		return config->server_count > 1 ? NEEDS_USED : NEEDS_ELSEWHERE;
	case NEEDS_BY_SENTINEL:
		return server->master != NULL ? NEEDS_USED : NEEDS_ELSEWHERE;
	case NEEDS_BY_CLUSTER:
		return server->cluster ? NEEDS_USED : NEEDS_ELSEWHERE;
	default:
		return row->by == NEEDS_BY_ALL;
	}
}

struct needs
needs_both(const struct needs *one, const struct needs *other)
{
	return (struct needs){one->commands & other->commands,
	    one->keys & other->keys};
}

bool
needs_any(const struct needs *needs)
{
	return needs->commands != 0 || needs->keys != 0;
}

/* --- tiers ------------------------------------------------------------ */

enum claim_tier
needs_least_tier(const struct lock_config *config)
{
	return config_needs_history(config) ? CLAIM_WITH_HISTORY
	       : config_needs_queue(config) ? CLAIM_WITH_QUEUE
					    : CLAIM_KEY_ONLY;
}

static enum claim_tier
tier_below(const struct lock_config *config, enum claim_tier tier)
{
	if (tier == needs_least_tier(config))
		return 0;
	switch (tier) {
	case CLAIM_WITH_HISTORY:
		return CLAIM_WITH_QUEUE;
	case CLAIM_WITH_QUEUE:
		return CLAIM_WITH_NESTED;
	case CLAIM_WITH_NESTED:
		return CLAIM_WITH_RECORD;
	default:
		return 0;
	}
}

static bool
is_lost(const struct lock_config *config, enum claim_tier tier,
    const struct needs *denied)
{
	const struct needs_row *row = needs_rows;

	for (; *row->check != '\0'; row++) {
		struct needs lacking = needs_both(&row->needs, denied);

		if (row->decides && row->tier <= tier && needs_any(&lacking) &&
		    needs_use_of(row, config, config->servers) == NEEDS_USED)
			return true;
	}
	return false;
}

enum claim_tier
needs_tier(const struct lock_config *config, enum claim_tier tier,
    const struct needs *denied)
{
	while (tier != 0 && is_lost(config, tier, denied))
		tier = tier_below(config, tier);
	return tier;
}

/* A script appends the command to the error of a denied one; the server names
 * it between quotes. An error about access to keys names none of them. */
static struct needs
denied_by(const char *error)
{
	struct needs denied = {0, 0};
	char in_script[20], by_server[20];

	if (strstr(error, " access ") != NULL)
		return denied;
	for (enum needs_command i = 0; i < NEEDS_COMMANDS; i++) {
		snprintf(in_script, sizeof(in_script), "(%.15s)",
		    needs_rules[i]);
		snprintf(by_server, sizeof(by_server), "'%.15s'",
		    needs_rules[i]);
		if (strcasestr(error, in_script) != NULL ||
		    strcasestr(error, by_server) != NULL)
			denied.commands |= NEEDS_BIT(i);
	}
	return denied;
}

/* Only permissions speak against the history. A nested run waits in no queue,
 * and only permissions speak against the key of nested runs. */
enum claim_tier
needs_next_tier(const struct claim *claim, const char *error, bool refused)
{
	struct lock_config config = *claim->config;
	struct needs denied = denied_by(error);
	enum claim_tier below;

	/* With -n such an error is about waiters that are queued. */
	config.wait = true;
	if (claim->outer != NULL)
		config.newest = config.replace = config.replaceable = false;
	below = tier_below(&config, claim->tier);

	if (refused)
		return needs_tier(&config, below, &denied);
	return below >= CLAIM_WITH_NESTED && claim->outer == NULL &&
		       !config_needs_queue(&config)
		   ? CLAIM_WITH_NESTED
		   : 0;
}
