#include "redis/reply.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 256 }; /* of an error reply */
enum { PREFIX_SIZE = 16 };

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static const struct row {
	char prefix[40];
	enum reply_verdict verdict[3]; /* by phase */
} rows[] = {
    {"ERR max number of clients", {REPLY_RETRY, REPLY_RETRY, REPLY_RETRY}},
    {"LOADING", {REPLY_RETRY, REPLY_RETRY, REPLY_RETRY}},
    {"BUSY", {REPLY_RETRY, REPLY_RETRY, REPLY_RETRY}},
    {"MASTERDOWN", {REPLY_RETRY, REPLY_RETRY, REPLY_RETRY}},
    {"NOREPLICAS", {REPLY_RETRY, REPLY_RETRY, REPLY_RETRY}},
    {"OOM", {REPLY_RETRY, REPLY_RETRY, REPLY_RETRY}},
    {"MISCONF", {REPLY_RETRY, REPLY_RETRY, REPLY_RETRY}},
    {"TRYAGAIN", {REPLY_RETRY, REPLY_RETRY, REPLY_RETRY}},
    {"CLUSTERDOWN", {REPLY_RETRY, REPLY_RETRY, REPLY_RETRY}},
    {"READONLY", {REPLY_RECONNECT, REPLY_RECONNECT, REPLY_RECONNECT}},
    {"UNBLOCKED", {REPLY_RECONNECT, REPLY_RECONNECT, REPLY_RECONNECT}},
    {"WRONGTYPE", {REPLY_NOT_A_LOCK, REPLY_LOST, REPLY_REPORT}},
    /* While holding, a refusal says nothing about the lock: passwords and
     * rules change under long jobs, and may change back before the lease
     * ends. */
    {"NOAUTH", {REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT}},
    {"WRONGPASS", {REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT}},
    {"NOPERM", {REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT}},
    {"DENIED", {REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT}},
    /* A denied command inside a script, in Redis 6 and in 7.2. */
    {"ERR The user executing the script",
	{REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT}},
    {"ERR ACL failure in script", {REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT}},
    /* Without EVAL there is no lock. Others are missing inside of a script, in
     * the words of Redis, of Redict and of Valkey. */
    {"ERR unknown command", {REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT}},
    {"ERR Unknown Redis command", {REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT}},
    {"ERR Unknown Redict command", {REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT}},
    {"ERR Unknown command", {REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT}},
    /* A server that is too old: "... not allowed", but not the command. */
    {"ERR Write commands", {REPLY_REPORT, REPLY_RETRY, REPLY_REPORT}},
    /* Any other error: while acquiring it is reported at once, or refused if
     * the words say so; while holding the lease decides. */
    {"", {REPLY_REPORT, REPLY_RETRY, REPLY_REPORT}},
};

static const char doubtful[][PREFIX_SIZE] = {"LOADING", "MASTERDOWN",
    "CLUSTERDOWN", "READONLY", "UNBLOCKED"};

/* How services and proxies word that they do not know or permit a command. */
static const char denials[][PREFIX_SIZE] = {"not allowed", "not available",
    "not support", "unsupported", "unknown command"};

/* Scripts that look at the clock and write need a server that replicates what
 * they did, not the script: the default since Redis 5. */
#define WRITE_AFTER_TIME \
	"ERR Write commands not allowed after non deterministic commands"

#define SEE_RULES "permit it: see ACCESS RULES in rlockrun-servers(7)"

/* What a person can do. */
static const struct {
	char prefix[72], advice[96];
} advices[] = {
    {"NOAUTH", "give a password by --password-file or RLOCKRUN_PASSWORD, "
	       "which a job does not inherit"},
    {"WRONGPASS", "check the user and the password"},
    /* The three after it are those of servers before Redis 6. */
    {"ERR AUTH ", "leave the password out, or name a user by --user"},
    {"ERR Client sent AUTH,", "leave the password out"},
    {"ERR invalid password", "check the password"},
    {"ERR wrong number of arguments for 'auth'",
	"before Redis 6 there are no users: leave the user out, as in "
	"redis://:PASSWORD@HOST"},
    {"ERR DB index", "choose a db that the server has"},
    {"ERR invalid DB index", "choose a db that the server has"},
    {"NOPERM", SEE_RULES},
    {"ERR The user executing the script", SEE_RULES},
    {"ERR ACL failure in script", SEE_RULES},
    {"DENIED", "set a password on the server, or protected-mode no"},
    {"READONLY", "it is a replica: use the address of the primary, or "
		 "redis-sentinel://"},
    {"LOADING", "it is loading its data; --server-timeout limits the wait"},
    {"MISCONF", "it cannot save its data: see its log"},
    {"OOM", "its memory is full: raise its maxmemory"},
    {"ERR max number of clients", "raise its maxclients"},
    {WRITE_AFTER_TIME, "install Redis 5 or newer, or Valkey, or set "
		       "lua-replicate-commands yes"},
};

/* What a node of a cluster answers to a client that takes it for a server of
 * its own. */
static const char of_a_cluster[][PREFIX_SIZE] = {"MOVED ", "ASK ", "CROSSSLOT"};

struct reply_owned
reply_take(const struct reply *reply)
{
	struct reply_owned taken = {NULL, NULL};

	if (reply->value != NULL) {
		taken = *reply->owned;
		*reply->owned = (struct reply_owned){NULL, NULL};
	}
	return taken;
}

void
reply_free(struct reply_owned *owned)
{
	free(owned->answer);
	value_free(owned->value);
	*owned = (struct reply_owned){NULL, NULL};
}

bool
reply_is(const char *error, const char *prefix)
{
	return strncmp(error, prefix, strlen(prefix)) == 0;
}

static bool
is_any(const char *error, const char prefixes[][PREFIX_SIZE], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (reply_is(error, prefixes[i]))
			return true;
	return false;
}

static const struct row *
find_row(const char *error)
{
	const struct row *row = rows;

	while (!reply_is(error, row->prefix))
		row++;
	return row;
}

/* A transient error has similar words, "OOM command not allowed", and a proxy
 * or an old script may put others before them. */
static bool
repeats_transient(const char *error)
{
	for (const struct row *row = rows; *row->prefix != '\0'; row++)
		if ((row->verdict[REPLY_ACQUIRING] == REPLY_RETRY ||
			row->verdict[REPLY_ACQUIRING] == REPLY_RECONNECT) &&
		    strstr(error, row->prefix) != NULL)
			return true;
	return false;
}

bool
reply_denies_command(const char *error)
{
	if (reply_is(error, "ERR unknown command"))
		return true;
	if (*find_row(error)->prefix != '\0' || repeats_transient(error) ||
	    strcasestr(error, "command") == NULL)
		return false;
	for (size_t i = 0; i < LENGTH(denials); i++)
		if (strcasestr(error, denials[i]) != NULL)
			return true;
	return false;
}

enum reply_verdict
reply_judge(enum reply_phase phase, const char *error)
{
	if (phase == REPLY_ACQUIRING && reply_denies_command(error))
		return REPLY_REFUSED;
	return find_row(error)->verdict[phase];
}

bool
reply_is_doubtful(const char *error)
{
	return is_any(error, doubtful, LENGTH(doubtful));
}

/* A sentinel repeats the whole script in its answer. */
const char *
reply_explain(const char *error)
{
	if (reply_is(error, WRITE_AFTER_TIME))
		return "it is older than Redis 5, or lua-replicate-commands is "
		       "no";
	if (reply_is(error, "ERR unknown command") &&
	    strstr(error, "EVAL") != NULL)
		return "it does not know EVAL, perhaps it is a sentinel "
		       "(redis-sentinel://HOST/MASTER)";
	if (is_any(error, of_a_cluster, LENGTH(of_a_cluster)))
		return "it is a node of a cluster (redis-cluster://HOST)";
	return error;
}

const char *
reply_advise(const char *error)
{
	for (size_t i = 0; i < LENGTH(advices); i++)
		if (reply_is(error, advices[i].prefix))
			return advices[i].advice;
	return NULL;
}

void
reply_describe(char *text, size_t size, const char *what, const char *label,
    const char *error)
{
	const char *advice = reply_advise(error), *words = reply_explain(error);

	snprintf(text, size, "%s %.512s: %.*s%s%s%s%s", what, label, WORDS_MAX,
	    words, strlen(words) > WORDS_MAX ? "..." : "",
	    advice != NULL ? " (" : "", advice != NULL ? advice : "",
	    advice != NULL ? ")" : "");
}
