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
	enum verdict verdict;
} rows[] = {
    {"ERR max number of clients", VERDICT_RETRY},
    {"LOADING", VERDICT_RETRY},
    {"BUSY", VERDICT_RETRY},
    {"MASTERDOWN", VERDICT_RETRY},
    {"NOREPLICAS", VERDICT_RETRY},
    {"OOM", VERDICT_RETRY},
    {"MISCONF", VERDICT_RETRY},
    {"TRYAGAIN", VERDICT_RETRY},
    {"CLUSTERDOWN", VERDICT_RETRY},
    {"READONLY", VERDICT_ANEW},
    {"UNBLOCKED", VERDICT_ANEW},
    {"WRONGTYPE", VERDICT_WRONGTYPE},
    {"NOAUTH", VERDICT_REFUSED},
    {"WRONGPASS", VERDICT_REFUSED},
    {"NOPERM", VERDICT_REFUSED},
    {"DENIED", VERDICT_REFUSED},
    /* A denied command inside a script, in Redis 6 and in 7.2. */
    {"ERR The user executing the script", VERDICT_REFUSED},
    {"ERR ACL failure in script", VERDICT_REFUSED},
    /* Without EVAL there is no lock. Others are missing inside of a script, in
     * the words of Redis, of Redict and of Valkey. */
    {"ERR unknown command", VERDICT_REFUSED},
    {"ERR Unknown Redis command", VERDICT_REFUSED},
    {"ERR Unknown Redict command", VERDICT_REFUSED},
    {"ERR Unknown command", VERDICT_REFUSED},
    /* A server that is too old: "... not allowed", but not the command. */
    {"ERR Write commands", VERDICT_REPORT},
    {"", VERDICT_REPORT},
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

struct value *
reply_take(const struct reply *reply)
{
	struct value *value = NULL;

	if (reply->value != NULL) {
		value = *reply->owned;
		*reply->owned = NULL;
	}
	return value;
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
bool
reply_denies_command(const char *error)
{
	if (reply_is(error, "ERR unknown command"))
		return true;
	if (*find_row(error)->prefix != '\0' ||
	    strcasestr(error, "command") == NULL)
		return false;
	for (const struct row *row = rows; *row->prefix != '\0'; row++)
		if ((row->verdict == VERDICT_RETRY ||
			row->verdict == VERDICT_ANEW) &&
		    strstr(error, row->prefix) != NULL)
			return false;
	for (size_t i = 0; i < LENGTH(denials); i++)
		if (strcasestr(error, denials[i]) != NULL)
			return true;
	return false;
}

enum verdict
reply_judge_error(const char *error)
{
	return reply_denies_command(error) ? VERDICT_REFUSED
					   : find_row(error)->verdict;
}

enum verdict
reply_judge(const struct reply *reply)
{
	enum verdict verdict = VERDICT_VALUE;

	if (reply->again != AGAIN_NO)
		return VERDICT_AGAIN;
	if (reply->error != NULL)
		verdict = reply_judge_error(reply->error);
	else if (reply->value == NULL)
		verdict = reply->permanent ? VERDICT_DEAD : VERDICT_SILENT;
	if (reply->kind == REPLY_NO_ACCESS && verdict != VERDICT_RETRY)
		return VERDICT_REFUSED;
	return verdict;
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
