/* The commands and keys that a lock needs on its servers, and what is missing
 * without each. From one table come the tier that a run falls back to, what
 * --doctor finds, and the access rules of rlockrun(1). */
#ifndef NEEDS_H
#define NEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/claim.h"
#include "lock/config.h"

enum needs_command {
	NEEDS_SET,
	/* EVAL, or EVALSHA while the server knows the scripts. */
	NEEDS_SCRIPTS,
	NEEDS_EVAL,
	NEEDS_EVALSHA,
	NEEDS_TIME,
	NEEDS_GET,
	NEEDS_PTTL,
	NEEDS_HMGET,
	NEEDS_HSET,
	NEEDS_HDEL,
	NEEDS_PEXPIRE,
	NEEDS_ZRANGE,
	NEEDS_ZSCORE,
	NEEDS_ZRANK,
	NEEDS_ZCOUNT,
	NEEDS_ZADD,
	NEEDS_ZREM,
	NEEDS_RPUSH,
	NEEDS_BLPOP,
	NEEDS_SETNAME,
	NEEDS_SCAN,
	NEEDS_WAIT,
	NEEDS_ROLE,
	NEEDS_ASKING,
	NEEDS_CLUSTER_SLOTS,
	NEEDS_INFO,
	NEEDS_DEL,
	NEEDS_UNLINK,
	NEEDS_COMMANDS,
};

/* In the order of acquire.lua. */
enum needs_key {
	NEEDS_LOCK,
	NEEDS_FENCE,
	NEEDS_RECORD,
	NEEDS_NESTED,
	NEEDS_QUEUE,
	NEEDS_ALIVE,
	NEEDS_DOORBELL,
	NEEDS_HISTORY,
	NEEDS_KEYS,
};

#define NEEDS_BIT(number) (UINT64_C(1) << (number))

/* Sets of commands and keys, by their bits. */
struct needs {
	uint64_t commands, keys;
};

/* The commands as access rules name them: "+" stands before. */
extern const char needs_rules[NEEDS_COMMANDS][16];

enum needs_use {
	NEEDS_ELSEWHERE, /* other servers than these */
	NEEDS_UNUSED,	 /* by this run, or hardly missed */
	NEEDS_USED,
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
		NEEDS_BY_COUNTED,
		NEEDS_BY_HISTORY,
		NEEDS_BY_ONCE,
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

/* Pure. The highest tier up to this one that needs nothing of what is denied; 0
 * if there is none: then the lock is refused. */
enum claim_tier needs_tier(const struct lock_config *config,
    enum claim_tier tier, const struct needs *denied);

/* Pure. The next tier that an error reply leaves to a try, or 0. refused: the
 * reply was for lack of permission. */
enum claim_tier needs_next_tier(const struct claim *claim, const char *error,
    bool refused);

#endif
