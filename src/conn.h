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

#include "loop.h"
#include "url.h"

struct conn;
struct conn_reply;

/* Called once for each command, never before conn_send returns. reply is valid
 * during the call, NULL when there was none: conn_error says why. sent_at is
 * the clock just before the command was written, CLOCK_NEVER when it never was:
 * without a reply and with a sent_at the server may or may not have run it. */
typedef void conn_on_reply(void *arg, const struct conn_reply *reply,
    int64_t sent_at);

struct conn_command {
	int argc;
	const char **argv;
	int64_t deadline;	 /* absolute: connecting and answer together */
	conn_on_reply *on_reply; /* NULL: the answer doesn't matter */
	void *arg;
	bool more; /* another follows at once: one write for both */
};

/* The endpoint must outlive the connection. NULL when memory is out. */
struct conn *conn_new(struct loop *loop, const struct endpoint *endpoint);
/* Closes without a word to those who wait; what was written still travels. */
void conn_free(struct conn *conn);

/* 0, or -1 when memory is out or too many commands are unanswered. */
int conn_send(struct conn *conn, const struct conn_command *command);

/* Whether commands can be written at once. */
bool conn_is_up(const struct conn *conn);

/* Gives the connection up: unanswered commands are told so before this
 * returns. */
void conn_drop(struct conn *conn);

/* Why the last one failed: one line that names the server. */
const char *conn_error(const struct conn *conn);

/* The server's words when it refused AUTH or SELECT on this connection, else
 * NULL. It may have run the commands behind them all the same. */
const char *conn_refusal(const struct conn *conn);

/* Name and version of the library that was built in. */
const char *conn_library(void);

/* Reply accessors; each takes NULL for a reply that isn't there. */
const char *conn_reply_error(const struct conn_reply *reply); /* or NULL */
const char *conn_reply_text(const struct conn_reply *reply);  /* or NULL */
bool conn_reply_integer(const struct conn_reply *reply, int64_t *value);
const struct conn_reply *conn_reply_at(const struct conn_reply *reply,
    size_t index); /* NULL when there is no such element */

#endif
