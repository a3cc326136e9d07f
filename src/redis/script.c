#include "redis/script.h"

#include <string.h>

/* Some servers write "ERR NOSCRIPT". */
static bool
lacks_script(const char *error)
{
	return strcasestr(error, "NOSCRIPT") != NULL;
}

/* The words of Redis and of most proxies differ, but name the command. Other
 * proxies only say that they cannot parse it. So EVAL is tried before any error
 * that nobody has foreseen is delivered: if a script caused that, it does so
 * again. */
static bool
denies_digests(const char *error)
{
	return strcasestr(error, "EVALSHA") != NULL ||
	       reply_denies_command(error) ||
	       (reply_is(error, "ERR ") &&
		   reply_judge_error(error) == VERDICT_REPORT);
}

static bool
denies_texts(const char *error)
{
	return strcasestr(error, "'eval'") != NULL ||
	       strcasestr(error, "`eval`") != NULL;
}

/* A server that permits EVALSHA alone, and lacks the script, answers the text
 * by saying so. */
enum again
script_judge(enum script_form *form, bool by_digest, const char *error)
{
	if (denies_texts(error))
		*form = SCRIPT_AS_DIGEST;
	if (!by_digest)
		return AGAIN_NO;
	if (lacks_script(error)) {
		if (*form == SCRIPT_AS_DIGEST)
			*form = SCRIPT_ANY;
		return AGAIN_AS_TEXT;
	}
	if (!denies_digests(error))
		return AGAIN_NO;
	*form = SCRIPT_AS_TEXT;
	return AGAIN_AS_TEXT;
}
