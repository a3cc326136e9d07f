/* The commands of each feature, as the access rules of a server name them: see
 * Access rules in rlockrun(1). */
#ifndef DOCTOR_COMMANDS_H
#define DOCTOR_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options/opts.h"

/* Stands for the key in the words of a command. */
#define DOCTOR_COMMANDS_KEY "\001"

/* SET is the first one, those that delete are the last. */
enum doctor_command {
	DOCTOR_SET,
	DOCTOR_EVAL,
	DOCTOR_EVALSHA,
	DOCTOR_TIME,
	DOCTOR_GET,
	DOCTOR_PTTL,
	DOCTOR_HMGET,
	DOCTOR_HSET,
	DOCTOR_PEXPIRE,
	DOCTOR_ZRANGE,
	DOCTOR_ZSCORE,
	DOCTOR_ZRANK,
	DOCTOR_ZCOUNT,
	DOCTOR_ZADD,
	DOCTOR_ZREM,
	DOCTOR_RPUSH,
	DOCTOR_BLPOP,
	DOCTOR_ZCARD,
	DOCTOR_HGET,
	DOCTOR_HDEL,
	DOCTOR_SETNAME,
	DOCTOR_SCAN,
	DOCTOR_WAIT,
	DOCTOR_ROLE,
	DOCTOR_ASKING,
	DOCTOR_CLUSTER_SLOTS,
	DOCTOR_INFO,
	DOCTOR_DEL,
	DOCTOR_UNLINK,
	DOCTOR_COMMANDS,
};

/* In the order of acquire.lua. */
enum doctor_key {
	DOCTOR_LOCK,
	DOCTOR_FENCE,
	DOCTOR_RECORD,
	DOCTOR_NESTED,
	DOCTOR_QUEUE,
	DOCTOR_ALIVE,
	DOCTOR_DOORBELL,
	DOCTOR_HISTORY,
	DOCTOR_KEYS,
};

#define DOCTOR_BIT(number) (UINT64_C(1) << (number))

/* Both tables are without pointers, which the loader would have to adjust at
 * the start of each run. */
extern const struct doctor_command_row {
	char rule[16];	/* "+" stands before it */
	char words[36]; /* with '|' between; harmless if the key holds a string
			 */
	bool creates;	/* a key, if there is none */
} doctor_commands[DOCTOR_COMMANDS];

enum doctor_scope {
	DOCTOR_ANYWHERE,
	DOCTOR_ONE_SERVER,
	DOCTOR_SEVERAL_SERVERS,
	DOCTOR_WITH_SENTINELS,
	DOCTOR_IN_CLUSTER,
};

enum doctor_use {
	DOCTOR_BY_ALL,	/* by every run */
	DOCTOR_BY_NONE, /* or hardly missed */
	DOCTOR_BY_COUNTED,
	DOCTOR_BY_HISTORY,
	DOCTOR_BY_ONCE,
	DOCTOR_BY_REPLICAS,
};

/* Ends with a row without a check. */
extern const struct doctor_feature {
	char check[20];	  /* of its finding */
	char without[64]; /* what a lack of permission means */
	enum doctor_scope scope;
	/* If runs with these options use it, it is a warning that it is denied,
	 * or with a status an error. */
	enum doctor_use use;
	int status;
	uint64_t commands, keys;
} doctor_features[];

bool doctor_feature_applies(const struct doctor_feature *feature,
    const struct opts *opts, const struct endpoint *server);
bool doctor_feature_is_used(const struct doctor_feature *feature,
    const struct opts *opts);

#endif
