#include "redis/script.h"

#include <string.h>

/* A server that lacks the script says NOSCRIPT, some with "ERR" before it. One
 * that permits EVALSHA alone, and lacks the script, answers the text by saying
 * so. Otherwise the words of Redis and of most proxies differ, but name the
 * command. Other proxies only say that they cannot parse it. So EVAL is tried
 * before any error that nobody has foreseen is delivered: if a script caused
 * that, it does so again. */
enum again
script_judge(enum script_form *form, bool by_digest, const char *error)
{
	bool denies_text = strcasestr(error, "'eval'") != NULL ||
			   strcasestr(error, "`eval`") != NULL;
	bool denies_digest = strcasestr(error, "EVALSHA") != NULL ||
			     reply_denies_command(error) ||
			     (reply_is(error, "ERR ") &&
				 reply_judge_error(error) == VERDICT_REPORT);

	if (denies_text)
		*form = SCRIPT_AS_DIGEST;
	if (!by_digest)
		return AGAIN_NO;
	if (strcasestr(error, "NOSCRIPT") != NULL) {
		if (*form == SCRIPT_AS_DIGEST)
			*form = SCRIPT_ANY;
		return AGAIN_AS_TEXT;
	}
	if (!denies_digest)
		return AGAIN_NO;
	*form = SCRIPT_AS_TEXT;
	return AGAIN_AS_TEXT;
}
