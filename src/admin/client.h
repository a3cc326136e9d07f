/* A server, asked by a command: again until there is a reply, with messages and
 * exit codes like those of a run. The commands that look at locks or act on
 * them share it. */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "admin/query.h"
#include "enquiry/enquiry.h"
#include "lock/claim.h"
#include "lock/request.h"
#include "options/opts.h"
#include "run/events.h"

enum { CLIENT_QUEUE_SHOWN = 1000 }; /* waiters */

struct client {
	const struct opts *opts;
	const struct events *events;
	const struct endpoint *endpoint; /* the URL, also of a cluster */
	struct enquiry enquiry;
	int output_error; /* errno of the first failure to print, or 0 */
	bool is_held;	  /* a lock that was looked at */
	struct key_names keys;
	struct look look; /* by client_look: the last one */

	/* Of what failed last, since client_forget_failure. */
	bool is_transient;	    /* it may go well in a moment */
	enum ending_reason failure; /* ENDING_NONE: nothing did */
	char error[REPLY_FAILURE_MAX];
};

/* The exit code. */
typedef int client_command(struct client *client);

/* Calls it for each of the servers in turn, so that differences between them
 * show. The exit code: with --quiet it says whether a lock is held. */
int client_visit_servers(const struct opts *opts, struct loop *loop,
    const struct events *events, client_command *command);

/* Sends a request until there is a reply, for --server-timeout at most: a
 * server that restarts is back in a moment. Then it reads the answer, and frees
 * the request; read may be NULL, which accepts any. False after a failure. */
bool client_ask(struct client *client, struct request *request,
    query_read *read, void *arg);

/* Reads the answer to a question, or notes why there is none. */
void client_take(struct client *client, const struct question *question,
    query_read *read, void *arg);

void client_forget_failure(struct client *client);
/* Emits the failure, and returns its exit code. */
int client_report_failure(const struct client *client);

/* The members of a struct event. */
#define CLIENT_EMIT(client, ...) \
	events_emit((client)->events, &(struct event){__VA_ARGS__})
/* The end with that reason. Returns its exit code. */
int client_end(const struct client *client, enum ending_reason reason,
    const char *who, const char *why);

/* To be called soon after what was printed to stdout: what has failed before
 * anything else could is the reason. */
void client_note_output(struct client *client);
/* Flushes stdout. The exit code. */
int client_check_output(struct client *client);

/* Looks at the lock with that key, which must outlive the look. The exit code;
 * a failure is reported. */
int client_look(struct client *client, const char *key,
    const struct query_limits *limits);

/* Emits that a helper key of the lock cannot be shown. */
void client_report_problem(const struct client *client, const struct look *look,
    const struct look_problem *problem);

/* The name of the lock that was looked at: its key without the prefix. */
const char *client_name_of(const struct client *client,
    const struct look *look);

/* Whether the helper keys lie in the key's slot, if it is a cluster. */
bool client_reaches_helpers(const struct client *client, const char *key);

#endif
