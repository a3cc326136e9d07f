/* The commands and keys that a lock needs on its servers, and what is missing
 * without each. From one table come the tier that a run falls back to, what
 * --doctor finds, and the access rules of rlockrun-servers(7). */
#ifndef NEEDS_H
#define NEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/claim.h"
#include "lock/config.h"

/* The commands, as access rules name them: "+" stands before. SCRIPTS is EVAL,
 * or EVALSHA while the server knows the scripts. */
#define NEEDS_COMMAND_LIST(X)                   \
	X(SET, "set")                           \
	X(SCRIPTS, "eval")                      \
	X(EVAL, "eval")                         \
	X(EVALSHA, "evalsha")                   \
	X(TIME, "time")                         \
	X(GET, "get")                           \
	X(PTTL, "pttl")                         \
	X(HMGET, "hmget")                       \
	X(HSET, "hset")                         \
	X(HDEL, "hdel")                         \
	X(PEXPIRE, "pexpire")                   \
	X(ZRANGE, "zrange")                     \
	X(ZSCORE, "zscore")                     \
	X(ZRANK, "zrank")                       \
	X(ZCOUNT, "zcount")                     \
	X(ZCARD, "zcard")                       \
	X(ZADD, "zadd")                         \
	X(ZREM, "zrem")                         \
	X(ZRANGEBYSCORE, "zrangebyscore")       \
	X(ZREMRANGEBYSCORE, "zremrangebyscore") \
	X(EXISTS, "exists")                     \
	X(HKEYS, "hkeys")                       \
	X(SADD, "sadd")                         \
	X(SREM, "srem")                         \
	X(SMEMBERS, "smembers")                 \
	X(LPUSH, "lpush")                       \
	X(LTRIM, "ltrim")                       \
	X(LRANGE, "lrange")                     \
	X(LSET, "lset")                         \
	X(RPUSH, "rpush")                       \
	X(BLPOP, "blpop")                       \
	X(SETNAME, "client|setname")            \
	X(SCAN, "scan")                         \
	X(WAIT, "wait")                         \
	X(ROLE, "role")                         \
	X(ASKING, "asking")                     \
	X(CLUSTER_SLOTS, "cluster|slots")       \
	X(INFO, "info")                         \
	X(DEL, "del")

#define NEEDS_ENUMERATOR(name, rule) NEEDS_##name,
enum needs_command { NEEDS_COMMAND_LIST(NEEDS_ENUMERATOR) NEEDS_COMMANDS };
extern const char needs_rules[NEEDS_COMMANDS][20];

#define NEEDS_BIT(number) (UINT64_C(1) << (number))

/* Sets of commands and keys (enum key), by their bits. */
struct needs {
	uint64_t commands, keys;
};

enum needs_use {
	NEEDS_UNUSED = false, /* by this run, or hardly missed */
	NEEDS_USED = true,
	NEEDS_ELSEWHERE, /* other servers than these */
};

/* Without pointers, which the loader would have to adjust at the start of each
 * run. The table ends with a row without a check. */
struct needs_row {
	char check[20];	  /* of --doctor; of neighbours, one for all */
	char without[64]; /* what a denial means */
	/* No lower tier needs it. */
	enum claim_tier tier;
	/* Whether the tier is lost without it. Otherwise it is the feature. */
	bool decides;
	/* That of a run that depends on it, or 0: it does without. */
	int status;
	/* Who depends on it. */
	enum {
		NEEDS_BY_ALL,
		NEEDS_BY_NONE,
		NEEDS_BY_WAITING, /* not with -n, while nobody is queued */
		NEEDS_BY_COUNTED,
		NEEDS_BY_HISTORY,
		NEEDS_BY_POLICY,
		NEEDS_BY_REPLICAS,
		NEEDS_BY_SEVERAL, /* servers */
		NEEDS_BY_SENTINEL,
		NEEDS_BY_CLUSTER,
	} by;
	struct needs needs;
};
extern const struct needs_row needs_rows[];

/* Pure. Whether a run with that configuration uses what the row is about, on
 * that one of its servers. */
enum needs_use needs_use_of(const struct needs_row *row,
    const struct lock_config *config, const struct endpoint *server);

/* Pure. What both have. */
struct needs needs_both(const struct needs *one, const struct needs *other);
bool needs_any(const struct needs *needs);

/* Pure. The highest tier up to this one that needs nothing of what is denied.
 */
enum claim_tier needs_tier(const struct lock_config *config,
    enum claim_tier tier, const struct needs *denied);

#endif
