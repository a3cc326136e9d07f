/* A Lua script for a server, and the digest by which a server that has run it
 * before knows it. */
#ifndef REDIS_SCRIPT_H
#define REDIS_SCRIPT_H

#include <stdbool.h>

#include "redis/reply.h"

struct script {
	const char *text;
	const char *digest; /* SHA-1 in hex, as of SCRIPT LOAD */
};

/* How scripts travel to a server. */
enum script_form {
	SCRIPT_ANY,
	SCRIPT_AS_TEXT,	  /* it permits EVAL alone */
	SCRIPT_AS_DIGEST, /* it permits EVALSHA alone */
};

/* What an error that answers a script says about its form: a server that does
 * not have it (NOSCRIPT) or does not permit EVALSHA has run nothing, and the
 * same command is asked for as a text. If it does not permit EVAL, that is the
 * reply, and all later scripts travel as digests. */
enum again script_judge(enum script_form *form, bool by_digest,
    const char *error);

#endif
