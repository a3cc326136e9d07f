/* One server, asked without a lock of our own: a command is sent, and its reply
 * awaited. The commands that look at locks or act on them share it. Signals do
 * what they do to a plain process. */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "lock/key.h"
#include "lock/look.h"
#include "options/opts.h"
#include "redis/server.h"
#include "run/ending.h"
#include "run/events.h"

struct client {
	const struct opts *opts;
	const struct events *events;
	struct loop *loop;
	const struct endpoint *endpoint;
	struct server *server;
	struct loop_timer timer; /* only wakes the loop */
	size_t unanswered;
	int replicas;	  /* that are to have what is sent; 0: not awaited */
	int output_error; /* errno of the first failure to print, or 0 */
	bool held;	  /* a lock that was looked at is */
	bool stopped;	  /* by client_stop */

	/* Of what failed last, since client_forget_failure. */
	enum ending_reason failure; /* ENDING_NONE: nothing did */
	bool transient;		    /* it may go well in a moment */
	char error[REPLY_FAILURE_MAX];
};

/* Reads the answer. 0, or -1 when it is none to the command. */
typedef int client_read(void *arg, const struct value *value);

struct client_command {
	struct client *client;
	client_read *read;
	void *arg;
	/* Whether an error reply is no failure; or NULL. */
	bool (*excuse)(void *arg, const char *error);
};

/* Calls act for each of the servers in turn, so that differences between them
 * show. The exit code: with --quiet it says whether a lock is held. */
int client_visit_servers(const struct opts *opts, struct loop *loop,
    const struct events *events, int (*act)(struct client *client));

/* Any node of another server, to be freed. Dies when memory is out. */
struct server *client_connect(const struct client *client,
    const struct endpoint *endpoint);
/* Sends what follows to this server instead. Returns the one that was in use.
 */
struct server *client_switch(struct client *client, struct server *server);

/* Sends argv, which ends with NULL, with the script or NULL: see struct
 * command. The command must last until its reply; more: others follow at once.
 */
void client_send(struct client_command *command, const struct script *script,
    const char **argv, bool more);

/* Awaits the replies to all that was sent. */
void client_wait(struct client *client);

/* Until that time, or until it is stopped. */
void client_sleep(struct client *client, int64_t until);

/* From a callback of the loop: from now on all commands fail at once. */
void client_stop(struct client *client);

/* Sends the same until there is a reply, for --server-timeout at most: a server
 * that restarts is back in a moment. False after a failure. */
bool client_ask(struct client *client, const struct script *script,
    const char **argv, client_read *read, void *arg);

void client_forget_failure(struct client *client);
/* "WHAT SERVER: WHY" */
void client_fail(struct client *client, enum ending_reason failure,
    const char *what, const char *why);
/* Emits the failure, and returns its exit code. */
int client_report_failure(const struct client *client);

/* Emits an event about the lock of that name. */
void client_emit(const struct client *client, struct event event);

/* To be called soon after what was printed to stdout: what has failed before
 * anything else could is the reason. */
void client_note_output(struct client *client);
/* Flushes stdout. The exit code. */
int client_check_output(struct client *client);

/* Looks at one lock: fills in *look, with so many holders at most. False after
 * a failure. */
bool client_look(struct client *client, const struct key_names *keys,
    int holders, struct look *look);
/* The lock with that key, on the server that replied. */
struct look_subject client_subject(const struct client *client,
    const char *key);
/* The server as in the URL, not the one that replied: of a cluster that is any
 * node; the db and the prefix. */
void client_describe_place(const struct client *client, char *text,
    size_t size);
/* Prints it as one line of JSON. */
void client_print_json(const struct client *client, const struct look *look,
    const char *key);

/* Whether the access rules withhold a helper key, which may be in good order.
 */
bool client_is_denied(const struct look_problem *problem);
/* Emits that a helper key of the lock of that name cannot be shown. */
void client_report_problem(const struct client *client, const char *name,
    const struct look_problem *problem);

/* Whether the helper keys lie in the key's slot, if it is a cluster. */
bool client_reaches_helpers(const struct client *client, const char *key);

#endif
