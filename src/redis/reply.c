#include "redis/reply.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 256 }; /* of an error reply */

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

/* Scripts that look at the clock and write need a server that replicates what
 * they did, not the script: the default since Redis 5. */
#define WRITE_AFTER_TIME \
	"ERR Write commands not allowed after non deterministic commands"

#define SEE_RULES "permit it: see ACCESS RULES in rlockrun-servers(7)"

/* The first row counts that the error begins with. */
static const struct row {
	char prefix[72];
	enum verdict verdict;
	bool doubtful;	 /* see reply_is_doubtful */
	char advice[96]; /* what a person can do, if that is known */
} rows[] = {
    {"ERR max number of clients", VERDICT_RETRY, false, "raise its maxclients"},
    {"LOADING", VERDICT_RETRY, true, ""},
    {"BUSY", VERDICT_RETRY, false, ""},
    {"MASTERDOWN", VERDICT_RETRY, true, ""},
    {"NOREPLICAS", VERDICT_RETRY, false, ""},
    {"OOM", VERDICT_RETRY, false, "its memory is full: raise its maxmemory"},
    {"MISCONF", VERDICT_RETRY, false, "it cannot save its data: see its log"},
    {"TRYAGAIN", VERDICT_RETRY, false, ""},
    {"CLUSTERDOWN", VERDICT_RETRY, true, ""},
    {"READONLY", VERDICT_ANEW, true,
	"it is a replica: use the address of the primary, or "
	"redis-sentinel://"},
    {"UNBLOCKED", VERDICT_ANEW, true, ""},
    {"WRONGTYPE", VERDICT_WRONGTYPE, false, ""},
    {"NOAUTH", VERDICT_REFUSED, false,
	"give a password by --password-file or RLOCKRUN_PASSWORD, which a job "
	"does not inherit"},
    {"WRONGPASS", VERDICT_REFUSED, false, "check the user and the password"},
    {"NOPERM", VERDICT_REFUSED, false, SEE_RULES},
    {"DENIED", VERDICT_REFUSED, false,
	"set a password on the server, or protected-mode no"},
    /* A denied command inside a script, in Redis 6 and in 7.2. */
    {"ERR The user executing the script", VERDICT_REFUSED, false, SEE_RULES},
    {"ERR ACL failure in script", VERDICT_REFUSED, false, SEE_RULES},
    /* Without EVAL there is no lock. Others are missing inside of a script, in
     * the words of Redis, of Redict and of Valkey. */
    {"ERR unknown command", VERDICT_REFUSED, false, ""},
    {"ERR Unknown Redis command", VERDICT_REFUSED, false, ""},
    {"ERR Unknown Redict command", VERDICT_REFUSED, false, ""},
    {"ERR Unknown command", VERDICT_REFUSED, false, ""},
    {WRITE_AFTER_TIME, VERDICT_REPORT, false,
	"install Redis 5 or newer, or Valkey, or set lua-replicate-commands "
	"yes"},
    {"ERR AUTH ", VERDICT_REPORT, false,
	"leave the password out, or name a user by --user"},
    /* These three are those of servers before Redis 6. */
    {"ERR Client sent AUTH,", VERDICT_REPORT, false, "leave the password out"},
    {"ERR invalid password", VERDICT_REPORT, false, "check the password"},
    {"ERR wrong number of arguments for 'auth'", VERDICT_REPORT, false,
	"before Redis 6 there are no users: leave the user out, as in "
	"redis://:PASSWORD@HOST"},
    {"ERR DB index", VERDICT_REPORT, false, "choose a db that the server has"},
    {"ERR invalid DB index", VERDICT_REPORT, false,
	"choose a db that the server has"},
    {"", VERDICT_REPORT, false, ""},
};

/* How services and proxies word that they do not know or permit a command. */
static const char denials[][16] = {"not allowed", "not available",
    "not support", "unsupported", "unknown command"};

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

static const struct row *
find_row(const char *error)
{
	const struct row *row = rows;

	while (!reply_is(error, row->prefix))
		row++;
	return row;
}

/* A transient error has similar words, "OOM command not allowed", and a proxy
 * or an old script may put others before them. So has a server that is too old
 * for our scripts. */
bool
reply_denies_command(const char *error)
{
	if (reply_is(error, "ERR unknown command"))
		return true;
	if (find_row(error)->verdict != VERDICT_REPORT ||
	    reply_is(error, "ERR Write commands") ||
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
	return find_row(error)->doubtful;
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
	/* What a node answers to a client that takes it for a server of its
	 * own. */
	if (reply_is(error, "MOVED ") || reply_is(error, "ASK ") ||
	    reply_is(error, "CROSSSLOT"))
		return "it is a node of a cluster (redis-cluster://HOST)";
	return error;
}

const char *
reply_advise(const char *error)
{
	const char *advice = find_row(error)->advice;

	return *advice != '\0' ? advice : NULL;
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
