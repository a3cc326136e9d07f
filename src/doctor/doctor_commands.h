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

extern const struct doctor_command_row {
	const char *rule;     /* "+" stands before it */
	const char *words[8]; /* harmless if the key holds a string */
	bool creates;	      /* a key, if there is none */
} doctor_commands[DOCTOR_COMMANDS];

/* Ends with a row without a check. */
extern const struct doctor_feature {
	const char *check;   /* of its finding */
	const char *without; /* what a lack of permission means */
	uint64_t commands, keys;
	/* Whether it exists here; NULL: always. */
	bool (*applies)(const struct opts *opts, const struct endpoint *server);
	/* Whether runs with these options use it: then it is a warning that it
	 * is denied, or with a status an error. */
	bool (*is_needed)(const struct opts *opts);
	int status;
} doctor_features[];

#endif
