#include "lock/needs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/exitcode.h"

#define RULE(name, rule) rule,
const char needs_rules[NEEDS_COMMANDS][20] = {NEEDS_COMMAND_LIST(RULE)};

#define C(name) NEEDS_BIT(NEEDS_##name)
#define K(name) NEEDS_BIT(KEY_##name)
#define LOOK_COMMANDS                                                     \
	(C(SCRIPTS) | C(TIME) | C(GET) | C(PTTL) | C(HMGET) | C(ZCOUNT) | \
	    C(ZRANGE) | C(ZSCORE) | C(LRANGE))
#define QUEUE_COMMANDS \
	(C(ZADD) | C(ZREM) | C(ZRANK) | C(ZSCORE) | C(ZCARD) | C(ZRANGEBYSCORE))

const struct needs_row needs_rows[] = {
    {"access-lock", "no lock can be acquired and kept", CLAIM_PLAIN, true,
	EXITCODE_REFUSED, NEEDS_BY_ALL,
	{C(SCRIPTS) | C(GET) | C(PTTL) | C(SET) | C(DEL) | C(PEXPIRE) |
		C(EXISTS),
	    K(LOCK)}},
    {"access-counted", "--shared and --permits are refused", CLAIM_PLAIN, true,
	EXITCODE_REFUSED, NEEDS_BY_COUNTED,
	{C(TIME) | C(ZRANGE) | C(ZSCORE) | C(ZCARD) | C(ZADD) | C(ZREM) |
		C(ZREMRANGEBYSCORE),
	    0}},
    {"access-helpers", "there is no queue, no holder's name and no fence",
	CLAIM_FULL, true, 0, NEEDS_BY_ALL,
	{C(TIME) | C(HMGET) | C(HSET) | C(ZRANGE),
	    K(INFO) | K(RUNS) | K(QUEUE) | K(ALIVE) | K(DOORBELL)}},
    {"access-records", "records of counted locks stay behind", CLAIM_FULL, true,
	0, NEEDS_BY_COUNTED, {C(HKEYS) | C(HDEL), 0}},
    {"access-queue", "there is no queue", CLAIM_FULL, true, 0, NEEDS_BY_WAITING,
	{QUEUE_COMMANDS, 0}},
    {"access-policy", "policies are refused", CLAIM_FULL, true,
	EXITCODE_REFUSED, NEEDS_BY_POLICY, {QUEUE_COMMANDS, 0}},
    {"access-nested", "a nested run loses the lock when the outer run ends",
	CLAIM_FULL, false, 0, NEEDS_BY_ALL,
	{C(SADD) | C(SREM) | C(SMEMBERS), K(NESTED)}},
    {"access-doorbell", "waiters are not woken, and ask again and again",
	CLAIM_FULL, false, 0, NEEDS_BY_ALL, {C(RPUSH) | C(BLPOP), 0}},
    {"access-history", "the last runs are not recorded", CLAIM_FULL, false, 0,
	NEEDS_BY_HISTORY, {C(LPUSH) | C(LTRIM) | C(LRANGE) | C(LSET), 0}},
    {"access-scripts", "a run fails when the server has forgotten the scripts",
	CLAIM_PLAIN, false, 0, NEEDS_BY_ALL, {C(EVAL), 0}},
    {"access-digest", "all scripts are sent as a whole", CLAIM_PLAIN, false, 0,
	NEEDS_BY_NONE, {C(EVALSHA), 0}},
    {"access-name", "the connection has no name", CLAIM_PLAIN, false, 0,
	NEEDS_BY_NONE, {C(SETNAME), 0}},
    {"access-status", "--status does not work", CLAIM_PLAIN, false, 0,
	NEEDS_BY_NONE, {LOOK_COMMANDS, 0}},
    {"access-list", "--list does not work", CLAIM_PLAIN, false, 0,
	NEEDS_BY_NONE, {LOOK_COMMANDS | C(SCAN), 0}},
    {"access-force", "--force-release does not work", CLAIM_PLAIN, false, 0,
	NEEDS_BY_NONE,
	{LOOK_COMMANDS | QUEUE_COMMANDS | C(DEL) | C(HSET) | C(RPUSH) |
		C(PEXPIRE) | C(ZREMRANGEBYSCORE),
	    0}},
    {"access-replicas", "--wait-replicas does not work", CLAIM_PLAIN, false,
	EXITCODE_REFUSED, NEEDS_BY_REPLICAS, {C(WAIT), 0}},
    {"access-votes", "this server does not count", CLAIM_PLAIN, false,
	EXITCODE_REFUSED, NEEDS_BY_SEVERAL, {C(INFO), 0}},
    {"access-sentinel", "a replica is detected later", CLAIM_PLAIN, false, 0,
	NEEDS_BY_SENTINEL, {C(ROLE), 0}},
    {"access-cluster", "slots that move and nodes that die are lost sight of",
	CLAIM_PLAIN, false, 0, NEEDS_BY_CLUSTER,
	{C(ASKING) | C(CLUSTER_SLOTS), 0}},
    {"", "", CLAIM_PLAIN, false, 0, NEEDS_BY_NONE, {0, 0}},
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
	case NEEDS_BY_POLICY:
		return config_has_policy(config);
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
	bool needs_full =
	    config_needs_queue(config) || config_needs_history(config);

	if (is_lost(config, CLAIM_PLAIN, denied))
		return CLAIM_NONE;
	if (tier == CLAIM_FULL && !is_lost(config, CLAIM_FULL, denied))
		return CLAIM_FULL;
	return needs_full ? CLAIM_NONE : CLAIM_PLAIN;
}
