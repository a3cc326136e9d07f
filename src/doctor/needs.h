/* The commands and keys that a lock needs on its servers, and what is missing
 * without each. From one table come what --doctor finds and the access rules of
 * rlockrun-servers(7). A run does not read it: its scripts try what they need
 * before they grant the lock. */
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
	X(LREM, "lrem")                         \
	X(TYPE, "type")                         \
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
#define NEEDS_HELPER_KEYS ((NEEDS_BIT(KEY_COUNT) - 1) & ~NEEDS_BIT(KEY_LOCK))

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
	char check[20];	      /* of --doctor; each has its own */
	char without[64];     /* what a denial means */
	enum claim_tier tier; /* the lowest one that needs it */
	/* What a run that depends on it loses without it. */
	enum {
		NEEDS_TIER,    /* the tier, and a run that has no lower one */
		NEEDS_OPTION,  /* the run: the option is refused */
		NEEDS_FEATURE, /* that alone */
	} loses;
	/* Who depends on it. */
	enum {
		NEEDS_BY_ALL,
		NEEDS_BY_NONE,
		NEEDS_BY_WAITING, /* not with -n, while nobody is queued */
		NEEDS_BY_EXCLUSIVE,
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

/* Pure. Whether a run with that configuration, which uses what the row is
 * about, is refused without it. Otherwise it does without. */
bool needs_refuses(const struct needs_row *row,
    const struct lock_config *config);

#endif
