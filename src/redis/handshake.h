/* The first commands of a connection: AUTH, a greeting that checks which server
 * it is, SELECT and CLIENT SETNAME. All travel in one write with the first
 * command, and that one may run although they are refused. */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/pipeline.h"
#include "redis/url.h"
#include "redis/value.h"

#define HANDSHAKE_WORDS_MAX 256

struct greeting {
	const char *command; /* a single word, or NULL: there is none */
	/* Its answer: NULL, or why this server cannot be used. */
	const char *(*judge)(void *arg, const struct value *value);
	/* Such a server never can: it refuses us. Otherwise it is left, as
	 * another can be found. */
	bool permanent;
};

struct handshake {
	const struct greeting *greeting;
	void *arg;	/* of judge */
	bool anew;	/* not the first one, set by the caller */
	char *password; /* that was sent, or NULL; shared */
	/* The words of the server that refused us, or why it never can be used;
	 * empty when it did not. */
	char refusal[HANDSHAKE_WORDS_MAX];
	const char *misfit; /* why this server must be left; else NULL */
	int64_t greet_by;   /* until then; CLOCK_NEVER once it is answered */
	/* An error of the server that may be followed by a hang-up, or empty.
	 */
	char complaint[HANDSHAKE_WORDS_MAX];
};

/* Begins a new handshake, and forgets what came of the last one: its commands
 * are the first of the pipeline. 0, or -1 when memory is out. */
int handshake_send(struct handshake *handshake, struct pipeline *pipeline,
    const struct endpoint *to, int64_t deadline);

/* How all replies begin: with the refusal, if there is one. */
struct reply handshake_reply(const struct handshake *handshake,
    const char *label);

/* Whether the server has said that it is full: then it hangs up. */
bool handshake_hangs_up(const struct handshake *handshake);

/* The first refusal counts. */
void handshake_refuse(struct handshake *handshake, const char *why);

#endif
