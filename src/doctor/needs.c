#include "doctor/needs.h"

#include <stddef.h>

#define ROW(name, rule, words, trial) {rule, words, NEEDS_TRIAL_##trial},
const struct needs_command_row needs_commands[NEEDS_COMMANDS] = {
    NEEDS_COMMAND_LIST(ROW)};

#define C(name) NEEDS_BIT(NEEDS_##name)
#define K(name) NEEDS_BIT(KEY_##name)
#define LOOK_COMMANDS                                                     \
	(C(SCRIPTS) | C(TIME) | C(GET) | C(PTTL) | C(HMGET) | C(ZCOUNT) | \
	    C(ZRANGE) | C(ZSCORE) | C(LRANGE) | C(SMEMBERS))
#define QUEUE_COMMANDS \
	(C(ZADD) | C(ZREM) | C(ZRANK) | C(ZCARD) | C(ZRANGEBYSCORE))

/* A row about this run precedes those that it makes superfluous: what is denied
 * is reported once. */
const struct needs_row needs_rows[] = {
    {"access-lock", "no lock can be acquired and kept", CLAIM_PLAIN, NEEDS_TIER,
	NEEDS_BY_ALL, {C(SCRIPTS) | C(GET) | C(PTTL) | C(PEXPIRE), K(LOCK)}},
    {"access-exclusive", "exclusive locks are refused", CLAIM_PLAIN, NEEDS_TIER,
	NEEDS_BY_EXCLUSIVE, {C(SET) | C(DEL), 0}},
    {"access-counted", "--shared and --permits are refused", CLAIM_PLAIN,
	NEEDS_TIER, NEEDS_BY_COUNTED,
	{C(TIME) | C(ZRANGE) | C(ZSCORE) | C(ZCOUNT) | C(ZADD) | C(ZREM) |
		C(ZREMRANGEBYSCORE),
	    0}},
    {"access-helpers", "there is no queue, no holder's name and no fence",
	CLAIM_FULL, NEEDS_TIER, NEEDS_BY_ALL,
	{C(TIME) | C(HMGET) | C(HSET) | C(ZRANGE) | C(DEL),
	    K(INFO) | K(RUNS) | K(QUEUE) | K(ALIVE) | K(DOORBELL)}},
    {"access-records", "counted locks have no queue and no holder's name",
	CLAIM_FULL, NEEDS_TIER, NEEDS_BY_COUNTED, {C(HKEYS) | C(HDEL), 0}},
    {"access-policy", "policies such as --once-per and --newest are refused",
	CLAIM_FULL, NEEDS_TIER, NEEDS_BY_POLICY,
	{QUEUE_COMMANDS | C(ZSCORE), K(NESTED)}},
    {"access-queue", "there is no queue", CLAIM_FULL, NEEDS_TIER,
	NEEDS_BY_WAITING, {QUEUE_COMMANDS, 0}},
    {"access-end", "no end of a run is recorded, nor are nested runs counted",
	CLAIM_FULL, NEEDS_FEATURE, NEEDS_BY_ALL, {0, K(NESTED)}},
    {"access-nested", "a nested run loses the lock when the outer run ends",
	CLAIM_FULL, NEEDS_FEATURE, NEEDS_BY_ALL,
	{C(SADD) | C(SREM) | C(SMEMBERS), 0}},
    {"access-doorbell", "waiters are not woken, and ask again and again",
	CLAIM_FULL, NEEDS_FEATURE, NEEDS_BY_ALL,
	{C(RPUSH) | C(BLPOP) | C(ZSCORE), 0}},
    {"access-history", "the record of the last runs is incomplete", CLAIM_FULL,
	NEEDS_FEATURE, NEEDS_BY_HISTORY,
	{C(LPUSH) | C(LTRIM) | C(LRANGE) | C(LREM), 0}},
    {"access-repair", "a lock with a damaged helper key is refused", CLAIM_FULL,
	NEEDS_FEATURE, NEEDS_BY_ALL, {C(TYPE), 0}},
    {"access-scripts", "a run fails when the server has forgotten the scripts",
	CLAIM_PLAIN, NEEDS_FEATURE, NEEDS_BY_ALL, {C(EVAL), 0}},
    {"access-digest", "all scripts are sent as a whole", CLAIM_PLAIN,
	NEEDS_FEATURE, NEEDS_BY_NONE, {C(EVALSHA), 0}},
    {"access-exists", "a release executes more commands", CLAIM_FULL,
	NEEDS_FEATURE, NEEDS_BY_NONE, {C(EXISTS), 0}},
    {"access-name", "the connection has no name", CLAIM_PLAIN, NEEDS_FEATURE,
	NEEDS_BY_NONE, {C(SETNAME), 0}},
    {"access-status", "--status does not work, or shows less", CLAIM_PLAIN,
	NEEDS_FEATURE, NEEDS_BY_NONE, {LOOK_COMMANDS, 0}},
    {"access-list", "--list does not work, or shows less", CLAIM_PLAIN,
	NEEDS_FEATURE, NEEDS_BY_NONE, {LOOK_COMMANDS | C(SCAN), 0}},
    {"access-force", "--force-release does not work, or wakes no waiter",
	CLAIM_PLAIN, NEEDS_FEATURE, NEEDS_BY_NONE,
	{LOOK_COMMANDS | C(DEL) | C(ZADD) | C(ZREM) | C(ZRANGEBYSCORE) |
		C(HSET) | C(RPUSH) | C(PEXPIRE),
	    0}},
    {"access-replicas", "--wait-replicas does not work", CLAIM_PLAIN,
	NEEDS_OPTION, NEEDS_BY_REPLICAS, {C(WAIT), 0}},
    {"access-votes", "this server does not count", CLAIM_PLAIN, NEEDS_OPTION,
	NEEDS_BY_SEVERAL, {C(INFO), 0}},
    {"access-sentinel", "a replica is detected later", CLAIM_PLAIN,
	NEEDS_FEATURE, NEEDS_BY_SENTINEL, {C(ROLE), 0}},
    {"access-cluster", "slots that move and nodes that die are lost sight of",
	CLAIM_PLAIN, NEEDS_FEATURE, NEEDS_BY_CLUSTER,
	{C(ASKING) | C(CLUSTER_SLOTS), 0}},
    {"", "", CLAIM_PLAIN, NEEDS_FEATURE, NEEDS_BY_NONE, {0, 0}},
};

enum needs_use
needs_use_of(const struct needs_row *row, const struct lock_config *config,
    const struct endpoint *server)
{
	switch (row->by) {
	case NEEDS_BY_WAITING:
		return (config->wait || config_has_policy(config)) &&
		       !config_is_vote(config);
	case NEEDS_BY_EXCLUSIVE:
		return config->kind == &kind_exclusive;
	case NEEDS_BY_COUNTED:
		return config->kind != &kind_exclusive;
	case NEEDS_BY_HISTORY:
		return config->history_ms > 0 && !config_is_vote(config);
	case NEEDS_BY_POLICY:
		return config_has_policy(config);
	case NEEDS_BY_REPLICAS:
		return config->replicas > 0;
	case NEEDS_BY_SEVERAL:
		return config_is_vote(config) ? NEEDS_USED : NEEDS_ELSEWHERE;
	case NEEDS_BY_SENTINEL:
		return server->master != NULL ? NEEDS_USED : NEEDS_ELSEWHERE;
	case NEEDS_BY_CLUSTER:
		return server->cluster ? NEEDS_USED : NEEDS_ELSEWHERE;
	default:
		return row->by == NEEDS_BY_ALL;
	}
}

bool
needs_refuses(const struct needs_row *row, const struct lock_config *config)
{
	if (row->loses != NEEDS_TIER)
		return row->loses == NEEDS_OPTION;
	return row->tier == CLAIM_PLAIN || config_needs_queue(config) ||
	       config_needs_history(config);
}
