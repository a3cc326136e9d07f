/* One connection to one server: find it, resolve, connect, log in; then
 * commands in a pipeline, each with a deadline.
 *
 * It opens by itself when a command is sent, and the handshake travels in one
 * write with that command. When anything fails it closes, and all commands that
 * are unanswered get a reply that says why. */
#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "redis/handshake.h"
#include "redis/pipeline.h"
#include "redis/tls/tls.h"
#include "redis/url.h"

struct conn;

/* Finds out, each time a connection is opened, where the server is. After an
 * error which is doubtful (reply_is_doubtful) the connection is left, so that
 * the server is looked for anew. All members but start may be NULL. */
struct conn_locator {
	/* Answers by conn_found or conn_not_found, perhaps before it returns,
	 * in time for the deadline. */
	void (*start)(void *arg, int64_t deadline);
	void (*cancel)(void *arg); /* NULL if start always answers at once */
	struct greeting greeting;  /* judge gets the same arg */
	/* What the answer to a command says about the place; error is NULL if
	 * it is a value. After AGAIN_AT_OWNER the connection is left. */
	enum again (*heed)(void *arg, const char *error);
	/* That place did not answer, nor will it the next time if permanent:
	 * set to whether that is true of all places. Returns whether another
	 * one is to be tried, if nothing was written. */
	bool (*miss)(void *arg, bool *permanent);
};

/* To the server of that URL, which must outlive it; with a locator, to whatever
 * that finds, with the credentials of the URL. NULL when memory is out. */
struct conn *conn_new(struct loop *loop, const struct endpoint *url);

/* The locator and arg must outlive the connection. */
void conn_set_locator(struct conn *conn, const struct conn_locator *locator,
    void *arg);

/* greeted_by: CLOCK_NEVER, or when the greeting must be answered, so that there
 * is time for another server. */
void conn_found(struct conn *conn, const char *host, int port,
    int64_t greeted_by);

/* refused: by all that answered and might know the server, which is a refusal
 * unless the server has answered before and others might know it, too.
 * permanent: nor will it be found the next time. */
void conn_not_found(struct conn *conn, const char *why, bool refused,
    bool permanent);

/* Closes without replies; what was written still travels. */
void conn_free(struct conn *conn);

/* 0, or -1 as pipeline_append. */
int conn_send(struct conn *conn, const struct command *command);

/* Whether commands can be written at once. */
bool conn_is_up(const struct conn *conn);

/* Whether no command is unanswered. */
bool conn_is_idle(const struct conn *conn);

/* Has the server found anew, as soon as no reply is awaited from this one. */
void conn_leave(struct conn *conn);

/* Gives the connection up: unanswered commands get a reply before this
 * returns. */
void conn_drop(struct conn *conn);

/* The same, where a reply is no answer to the command: conn_error says so. */
void conn_reject(struct conn *conn);

/* Why the last one failed, or what the present one waits for: one line that
 * names the server, empty before the first failure. */
const char *conn_error(const struct conn *conn);

/* When it should be opened anew, as the last one ended soon after it had been
 * made: see rest.h. 0 if connections last. conn_send does not wait for that: a
 * renewal or a release must not. */
int64_t conn_rests_until(const struct conn *conn);

/* The host where the server was found last. */
const char *conn_host(const struct conn *conn);

/* The address that it is connected to, if it is up and that is no unix socket:
 * false otherwise. */
bool conn_address(const struct conn *conn, char *text, size_t size);

/* Whether it is up and has a TLS session, and what that came to. */
bool conn_describe_tls(const struct conn *conn, struct tls_session *session);

/* The server, for messages. */
const char *conn_label(const struct conn *conn);

#endif
