#include "admin/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/mem.h"
#include "lock/request.h"
#include "redis/reply.h"

enum { BACKOFF_MIN_MS = 100, BACKOFF_MAX_MS = 1000, TROUBLE_MIN_MS = 2000 };

/* --- what has failed ---------------------------------------------------- */

void
client_forget_failure(struct client *client)
{
	client->failure = ENDING_NONE;
	client->is_transient = false;
}

void
client_take(struct client *client, const struct question *question,
    query_read *read, void *arg)
{
	enum ending_reason failure = ENDING_SERVER_ERROR;
	const char *what = "error from", *label = question->label;
	const char *why = question->error;

	if (question->outcome == QUESTION_SILENT) {
		client->failure = ENDING_UNAVAILABLE;
		client->is_transient = !question->is_permanent;
		snprintf(client->error, sizeof(client->error), "%s", why);
		return;
	}
	if (question->outcome == QUESTION_ANSWERED) {
		if (read == NULL || read(arg, question->value))
			return;
		what = "unexpected answer from";
		label = way_label(client->enquiry.server);
		why = "not that of our command";
	} else if (question->outcome == QUESTION_TOO_FEW) {
		failure = ENDING_UNAVAILABLE;
		what = "too few replicas of";
		client->is_transient = true;
	} else if (question->verdict == VERDICT_REFUSED) {
		/* Also AUTH or SELECT: then the answer may be of another db. */
		failure = ENDING_REFUSED;
		what = "refused by";
	} else if (question->verdict == VERDICT_WRONGTYPE) {
		failure = ENDING_NOT_A_LOCK;
	} else {
		client->is_transient |= question->verdict == VERDICT_RETRY ||
					question->verdict == VERDICT_ANEW;
	}
	client->failure = failure;
	reply_describe(client->error, sizeof(client->error), what, label, why);
}

/* --- asking ------------------------------------------------------------- */

bool
client_ask(struct client *client, struct request *request, query_read *read,
    void *arg)
{
	struct enquiry *enquiry = &client->enquiry;
	int64_t began_at = clock_now();
	int64_t give_up_at = began_at + client->opts->lock.server_timeout_ms;
	int64_t backoff_ms = BACKOFF_MIN_MS;
	bool reported = false;

	for (;;) {
		struct question question = enquiry_question(request);

		client_forget_failure(client);
		enquiry_ask(enquiry, &question, 1);
		client_take(client, &question, read, arg);
		enquiry_forget(&question, 1);
		if (!client->is_transient ||
		    clock_now() + backoff_ms >= give_up_at)
			break;
		if (!reported && clock_now() >= began_at + TROUBLE_MIN_MS) {
			CLIENT_EMIT(client, .type = EVENT_NO_REPLY,
			    .minor = true, .why = client->error);
			reported = true;
		}
		way_drop(enquiry->server);
		enquiry_sleep(enquiry, clock_now() + backoff_ms);
		backoff_ms = clock_min(backoff_ms * 2, BACKOFF_MAX_MS);
	}
	if (reported && client->failure == ENDING_NONE)
		CLIENT_EMIT(client, .type = EVENT_REPLIED);
	request_fini(request);
	return client->failure == ENDING_NONE;
}

/* --- what is printed ------------------------------------------------------ */

int
client_end(const struct client *client, enum ending_reason reason,
    const char *who, const char *why)
{
	int status = event_rows[reason].status;

	CLIENT_EMIT(client, .type = EVENT_ENDING, .ending = reason, .who = who,
	    .why = why, .status = status);
	return status;
}

int
client_report_failure(const struct client *client)
{
	return client_end(client, client->failure, NULL, client->error);
}

void
client_note_output(struct client *client)
{
	if (ferror(stdout) && client->output_error == 0)
		client->output_error = errno;
}

int
client_check_output(struct client *client)
{
	fflush(stdout);
	client_note_output(client);
	if (client->output_error == 0)
		return EXITCODE_OK;
	CLIENT_EMIT(client, .type = EVENT_NO_OUTPUT,
	    .why = strerror(client->output_error));
	return EXITCODE_RESOURCE;
}

/* --- a look at a lock ------------------------------------------------- */

bool
client_reaches_helpers(const struct client *client, const char *key)
{
	return !client->enquiry.endpoint->cluster || key_is_placeable(key);
}

/* Access rules may deny the keys beside the lock's own. Then a rlockrun looks
 * like another client. */
static bool
look_at_lock(struct client *client, const struct query_limits *limits)
{
	enum opts_action action = client->opts->action;
	struct look *look = &client->look;
	enum query_keys count = client_reaches_helpers(client, look->keys->lock)
				    ? QUERY_HELPERS
				    : QUERY_KEY_ONLY;
	char *why = NULL;
	bool found;

	for (;;) {
		struct request request;

		query_look(&request, look->keys, count, limits);
		found = client_ask(client, &request, query_read_look, look);
		if (found || count == QUERY_KEY_ONLY ||
		    client->failure != ENDING_REFUSED ||
		    action == OPTS_HISTORY || action == OPTS_CHECK)
			break;
		count = QUERY_KEY_ONLY;
		why = mem_printf("holder and last run are not shown: %s",
		    client->error);
	}
	look->whole = count == QUERY_HELPERS;
	if (found && why != NULL)
		CLIENT_EMIT(client, .type = EVENT_NOT_SHOWN, .why = why);
	free(why);
	return found;
}

/* Each holder has a key of its own for the runs that are nested in it, but not
 * one whose lock is kept. Whether it can be read hardly matters. */
static void
count_nested(struct client *client)
{
	struct look *look = &client->look;

	for (size_t i = 0; look->whole && i < look->listed; i++) {
		struct request request;
		int64_t count = 0;

		if (!look->holders[i].token_is_whole ||
		    !holder_is_known(&look->holders[i].who) ||
		    look->holders[i].who.state == HOLDER_ENDED)
			continue;
		query_nested(&request, look->keys, look->holders[i].token);
		if (client_ask(client, &request, query_read_nested, &count))
			look->nested += count;
		client_forget_failure(client);
	}
}

int
client_look(struct client *client, const char *key,
    const struct query_limits *limits)
{
	query_fini(&client->look);
	key_names_fini(&client->keys);
	key_names_init(&client->keys, key, NULL);
	client->look.keys = &client->keys;
	if (!look_at_lock(client, limits))
		return client_report_failure(client);
	count_nested(client);
	return EXITCODE_OK;
}

void
client_report_problem(const struct client *client, const struct look *look,
    const struct look_problem *problem)
{
	char why[sizeof(client->error)];

	reply_describe(why, sizeof(why),
	    problem->is_denied ? "not permitted to read" : "damaged:",
	    problem->key, problem->error);
	CLIENT_EMIT(client, .type = EVENT_NOT_SHOWN,
	    .name = client_name_of(client, look), .why = why);
}

const char *
client_name_of(const struct client *client, const struct look *look)
{
	return look->keys->lock + strlen(client->opts->prefix);
}

/* --- which server ----------------------------------------------------- */

int
client_visit_servers(const struct opts *opts, struct loop *loop,
    const struct events *events, client_command *command)
{
	struct client client = {.opts = opts,
	    .events = events,
	    .enquiry = {.opts = opts, .loop = loop}};
	const char *key = opts->key_count > 0 ? opts->keys[0].key : NULL;
	bool looks = opts->action != OPTS_FORCE_RELEASE;
	bool parted = looks && !opts->json && !opts->quiet;
	int result = EXITCODE_OK;

	for (size_t i = 0; i < opts->server_count; i++) {
		int one;

		client.endpoint = &opts->servers[i];
		if (parted && i > 0)
			putchar('\n');
		enquiry_begin(&client.enquiry, client.endpoint, key);
		one = command(&client);
		if (result == EXITCODE_OK)
			result = one;
		enquiry_end(&client.enquiry);
	}
	query_fini(&client.look);
	key_names_fini(&client.keys);
	if (result == EXITCODE_OK && looks && opts->quiet && client.is_held)
		result = opts->conflict_exit;
	return result;
}
