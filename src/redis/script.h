/* A Lua script for a server, and the digest by which a server that has run it
 * before knows it. */
#ifndef REDIS_SCRIPT_H
#define REDIS_SCRIPT_H

struct script {
	const char *text;
	const char *digest; /* SHA-1 in hex, as of SCRIPT LOAD */
};

#endif
