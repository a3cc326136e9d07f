/* The commands and keys that a lock needs on its servers, how a server is asked
 * for each, and what is missing without it. From one table come what --doctor
 * finds and the access rules of rlockrun-servers(7). A run does not read it:
 * its scripts try what they need before they grant the lock. */
#ifndef NEEDS_H
#define NEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "doctor/visit.h"
#include "lock/claim.h"
#include "lock/config.h"

/* If the doctor is killed, its scratch key expires. */
#define NEEDS_LIFE_MS "600000"

/* The commands: as access rules name them ("+" stands before), and how a server
 * is asked whether it permits each, by words with '|' between that are harmless
 * if the key holds a string. SCRIPTS, which is not asked for, is EVAL, or
 * EVALSHA while the server knows the scripts. */
/* clang-format off */
#define NEEDS_COMMAND_LIST(X) \
	X(SET, "set", "SET|" VISIT_KEY "||PX|" NEEDS_LIFE_MS, CREATES) \
	X(SCRIPTS, "eval", "", PLAIN) \
	X(EVAL, "eval", "EVAL|return 1|1|" VISIT_KEY, DIRECT) \
	X(EVALSHA, "evalsha", "EVALSHA|0|1|" VISIT_KEY, DIRECT) \
	X(TIME, "time", "TIME", PLAIN) \
	X(GET, "get", "GET|" VISIT_KEY, PLAIN) \
	X(PTTL, "pttl", "PTTL|" VISIT_KEY, PLAIN) \
	X(HMGET, "hmget", "HMGET|" VISIT_KEY "|f", PLAIN) \
	X(HSET, "hset", "HSET|" VISIT_KEY "|f|v|a field without value", PLAIN) \
	X(HDEL, "hdel", "HDEL|" VISIT_KEY "|f", PLAIN) \
	X(PEXPIRE, "pexpire", "PEXPIRE|" VISIT_KEY "|" NEEDS_LIFE_MS, PLAIN) \
	X(ZRANGE, "zrange", "ZRANGE|" VISIT_KEY "|0|0", PLAIN) \
	X(ZSCORE, "zscore", "ZSCORE|" VISIT_KEY "|m", PLAIN) \
	X(ZRANK, "zrank", "ZRANK|" VISIT_KEY "|m", PLAIN) \
	X(ZCOUNT, "zcount", "ZCOUNT|" VISIT_KEY "|0|0", PLAIN) \
	X(ZCARD, "zcard", "ZCARD|" VISIT_KEY, PLAIN) \
	X(ZADD, "zadd", "ZADD|" VISIT_KEY "|XX|1|m", PLAIN) \
	X(ZREM, "zrem", "ZREM|" VISIT_KEY "|m", PLAIN) \
	X(ZRANGEBYSCORE, "zrangebyscore", \
	    "ZRANGEBYSCORE|" VISIT_KEY "|0|0", PLAIN) \
	X(ZREMRANGEBYSCORE, "zremrangebyscore", \
	    "ZREMRANGEBYSCORE|" VISIT_KEY "|0|0", PLAIN) \
	X(EXISTS, "exists", "EXISTS|" VISIT_KEY, PLAIN) \
	X(HKEYS, "hkeys", "HKEYS|" VISIT_KEY, PLAIN) \
	X(SADD, "sadd", "SADD|" VISIT_KEY "|m", CREATES) \
	X(SREM, "srem", "SREM|" VISIT_KEY "|m", PLAIN) \
	X(SMEMBERS, "smembers", "SMEMBERS|" VISIT_KEY, PLAIN) \
	X(LPUSH, "lpush", "LPUSH|" VISIT_KEY "|e", CREATES) \
	X(LTRIM, "ltrim", "LTRIM|" VISIT_KEY "|0|9", PLAIN) \
	X(LRANGE, "lrange", "LRANGE|" VISIT_KEY "|0|0", PLAIN) \
	X(LREM, "lrem", "LREM|" VISIT_KEY "|0|e", PLAIN) \
	X(TYPE, "type", "TYPE|" VISIT_KEY, PLAIN) \
	X(RPUSH, "rpush", "RPUSH|" VISIT_KEY "|e", CREATES) \
	X(BLPOP, "blpop", "BLPOP|" VISIT_KEY "|0.01", SUCCEEDS) \
	X(SETNAME, "client|setname", "CLIENT|SETNAME|rlockrun:doctor", SUCCEEDS) \
	X(SCAN, "scan", "SCAN|0|COUNT|1", SUCCEEDS) \
	X(WAIT, "wait", "WAIT|0|1", SUCCEEDS) \
	X(ROLE, "role", "ROLE", SUCCEEDS) \
	X(ASKING, "asking", "ASKING", DIRECT) \
	X(CLUSTER_SLOTS, "cluster|slots", "CLUSTER|SLOTS", SUCCEEDS) \
	X(INFO, "info", "INFO|server", SUCCEEDS) \
	X(DEL, "del", "DEL|" VISIT_KEY, PLAIN)
/* clang-format on */

enum needs_trial {
	NEEDS_TRIAL_PLAIN,    /* in scripts alone */
	NEEDS_TRIAL_CREATES,  /* the same, and a key, if there is none */
	NEEDS_TRIAL_DIRECT,   /* never in a script */
	NEEDS_TRIAL_SUCCEEDS, /* the same, and never refused by itself */
};

#define NEEDS_ENUMERATOR(name, rule, words, trial) NEEDS_##name,
enum needs_command { NEEDS_COMMAND_LIST(NEEDS_ENUMERATOR) NEEDS_COMMANDS };
extern const struct needs_command_row {
	char rule[20];
	char words[36];
	enum needs_trial trial;
} needs_commands[NEEDS_COMMANDS];

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
