#include "redis/reply.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct row {
	const char *prefix;
	enum reply_verdict verdict[3]; /* by phase */
};

#define SAME(v)         \
	{               \
		v, v, v \
	}

/* While holding, a refusal says nothing about the lock: passwords and rules
 * change under long jobs, and may change back before the lease ends. */
#define REFUSED                                          \
	{                                                \
		REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT \
	}

static const struct row rows[] = {
    {"ERR max number of clients", SAME(REPLY_RETRY)},
    {"LOADING", SAME(REPLY_RETRY)},
    {"BUSY", SAME(REPLY_RETRY)},
    {"MASTERDOWN", SAME(REPLY_RETRY)},
    {"NOREPLICAS", SAME(REPLY_RETRY)},
    {"OOM", SAME(REPLY_RETRY)},
    {"MISCONF", SAME(REPLY_RETRY)},
    {"TRYAGAIN", SAME(REPLY_RETRY)},
    {"CLUSTERDOWN", SAME(REPLY_RETRY)},
    {"READONLY", SAME(REPLY_RECONNECT)},
    {"UNBLOCKED", SAME(REPLY_RECONNECT)},
    {"WRONGTYPE", {REPLY_NOT_A_LOCK, REPLY_LOST, REPLY_REPORT}},
    {"NOAUTH", REFUSED},
    {"WRONGPASS", REFUSED},
    {"NOPERM", REFUSED},
    {"DENIED", REFUSED},
    /* So a denied command inside a script is worded by Redis 6 and by 7.2. */
    {"ERR The user executing the script", REFUSED},
    {"ERR ACL failure in script", REFUSED},
    /* Without EVAL there is no lock. */
    {"ERR unknown command", REFUSED},
};

/* Errors that nobody foresaw: while acquiring they are told at once, while
 * holding the lease decides. */
static const struct row unknown = {NULL,
    {REPLY_REPORT, REPLY_RETRY, REPLY_REPORT}};

enum reply_verdict
reply_judge(enum reply_phase phase, const char *error)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strncmp(error, rows[i].prefix, strlen(rows[i].prefix)) == 0)
			return rows[i].verdict[phase];
	return unknown.verdict[phase];
}

/* Said by a node of a cluster to whoever doesn't know that it is one. */
static bool
is_of_a_cluster(const char *error)
{
	static const char *const words[] = {"MOVED ", "ASK ", "CROSSSLOT"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strncmp(error, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

/* A sentinel repeats the whole script in its answer. */
const char *
reply_explain(const char *error)
{
	static const char unknown_command[] = "ERR unknown command";

	if (strncmp(error, unknown_command, strlen(unknown_command)) == 0 &&
	    strstr(error, "EVAL") != NULL)
		return "it does not know EVAL, perhaps it is a sentinel "
		       "(redis-sentinel://HOST/MASTER)";
	if (is_of_a_cluster(error))
		return "it is a node of a cluster (redis-cluster://HOST)";
	return error;
}
