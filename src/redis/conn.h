/* One connection to one server: resolve, connect, authenticate, pipeline, a
 * deadline for each command. hiredis formats and parses; the descriptor is
 * ours: non-blocking, close-on-exec, never a SIGPIPE.
 *
 * It opens by itself when a command is sent, and AUTH, SELECT and CLIENT
 * SETNAME travel in one write with that command. When anything fails it closes,
 * and all commands that are still unanswered are told so. */
#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "redis/reply.h"
#include "redis/url.h"

struct conn;

struct conn_command {
	int argc;
	const char **argv;
	int64_t deadline; /* absolute: connecting and answer together */
	/* Called once, never before conn_send returns; NULL: the reply does
	 * not matter. */
	reply_handler *on_reply;
	void *arg;
	/* Whether a reply that is no error answers this command; NULL: all do.
	 * One that does not breaks the protocol, and fails the connection. */
	bool (*is_answer)(const struct value *value);
	bool more; /* another follows at once: one write for both */
	/* Above 0: WAIT for so many replicas, at most so long, follows in the
	 * same write. on_reply is called when both are answered. */
	int replicas;
	int64_t replicas_ms;
};

/* Finds out, each time a connection is opened, where the server is. */
struct conn_locator {
	/* Answers by conn_found, after it has changed the endpoint, or by
	 * conn_not_found, in time for the deadline. */
	void (*start)(void *arg, int64_t deadline);
	void (*cancel)(void *arg);
	/* A command that travels with AUTH, before the first of the others:
	 * NULL-terminated. */
	const char *const *greeting;
	/* Its answer: NULL, or why this server can't be used. */
	const char *(*judge)(void *arg, const struct value *value);
	/* Such a server never can: its commands are answered, without access.
	 * Otherwise it is left, as another can be found. */
	bool for_good;
	void *arg;
};

/* The endpoint must outlive the connection. NULL when memory is out. */
struct conn *conn_new(struct loop *loop, const struct endpoint *endpoint);

/* From here on the locator says where the server is; it outlives the
 * connection. A server that is LOADING, whose primary is down, or that finds
 * its cluster down, is not asked again but looked for anew. */
void conn_set_locator(struct conn *conn, const struct conn_locator *locator);
/* CLOCK_NEVER, or when the greeting must be answered, so that there is time for
 * another server. */
void conn_found(struct conn *conn, int64_t greeted_by);
/* refused: by all who answered and might know it, which is a refusal unless a
 * server has answered before and others might know it, too. hopeless: nor will
 * it be found the next time. */
void conn_not_found(struct conn *conn, const char *why, bool refused,
    bool hopeless);

/* Closes without a word to those who wait; what was written still travels. */
void conn_free(struct conn *conn);

/* How large an answer may be, and each array in it; a larger one fails the
 * connection. Without this: what suits commands about one lock. */
void conn_allow(struct conn *conn, size_t bytes, size_t elements);

/* 0, or -1 when memory is out or too many commands are unanswered. */
int conn_send(struct conn *conn, const struct conn_command *command);

/* Whether commands can be written at once. */
bool conn_is_up(const struct conn *conn);

/* Gives the connection up: unanswered commands get a reply before this
 * returns. */
void conn_drop(struct conn *conn);

/* Why the last one failed, or what the present one waits for: one line that
 * names the server, empty before the first failure. */
const char *conn_error(const struct conn *conn);

/* The server, for messages. */
const char *conn_label(const struct conn *conn);

/* Name and version of the library that was built in. */
const char *conn_library(void);

#endif
