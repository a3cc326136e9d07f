#include "admin/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "lock/answer.h"
#include "lock/member.h"
#include "lock/request.h"
#include "redis/reply.h"

enum { QUEUE_SHOWN = 1000 }; /* waiters */
enum { BACKOFF_MIN_MS = 100, BACKOFF_MAX_MS = 1000, TROUBLE_MIN_MS = 2000 };
/* Pages of SCAN and long queues. */
enum { REPLY_MAX = 16 << 20, ELEMENTS_MAX = 65536 };

void
client_forget_failure(struct client *client)
{
	client->failure = ENDING_NONE;
	client->transient = false;
}

static void
fail(struct client *client, enum ending_reason failure, const char *what,
    const struct reply *reply)
{
	client->failure = failure;
	reply_describe(client->error, sizeof(client->error), what, reply->label,
	    reply->error);
}

static void
on_error(struct client *client, const struct reply *reply)
{
	enum reply_verdict verdict = reply_judge(REPLY_ACQUIRING, reply->error);

	/* If AUTH or SELECT was refused, the answer may be of another db. */
	if (verdict == REPLY_REFUSED ||
	    (reply->kind == REPLY_NO_ACCESS && verdict != REPLY_RETRY)) {
		fail(client, ENDING_REFUSED, "refused by", reply);
		return;
	}
	if (verdict == REPLY_RETRY || verdict == REPLY_RECONNECT)
		client->transient = true;
	fail(client,
	    verdict == REPLY_NOT_A_LOCK ? ENDING_NOT_A_LOCK
					: ENDING_SERVER_ERROR,
	    "error from", reply);
}

static void
on_reply(void *arg, const struct reply *reply)
{
	struct client_command *command = arg;
	struct client *client = command->client;
	char why[MEMBER_WORDS_MAX];

	client->unanswered--;
	if (reply->kind == REPLY_NO_ACCESS) {
		on_error(client, reply);
	} else if (reply->kind == REPLY_ERROR) {
		if (command->excuse == NULL ||
		    !command->excuse(command->arg, reply->error))
			on_error(client, reply);
	} else if (reply->value == NULL) {
		client->failure = ENDING_UNAVAILABLE;
		client->transient = !reply->permanent;
		snprintf(client->error, sizeof(client->error), "%s",
		    reply->failure);
	} else if (member_lacks_replicas(reply, client->replicas, why)) {
		client->transient = true;
		fail(client, ENDING_UNAVAILABLE, "too few replicas of",
		    &(struct reply){.label = reply->label, .error = why});
	} else if (command->read(command->arg, reply->value) == -1) {
		client_fail(client, ENDING_SERVER_ERROR,
		    "unexpected answer from", "not that of our command");
	}
}

void
client_fail(struct client *client, enum ending_reason failure, const char *what,
    const char *why)
{
	const struct reply reply = {.label = server_label(client->server),
	    .error = why};

	fail(client, failure, what, &reply);
}

void
client_send(struct client_command *command, const struct script *script,
    const char **argv, bool more)
{
	struct client *client = command->client;
	struct command sent = {.script = script,
	    .argv = argv,
	    .deadline = clock_now() + client->opts->server_timeout_ms,
	    .on_reply = on_reply,
	    .arg = command,
	    .limits = {REPLY_MAX, ELEMENTS_MAX},
	    .replicas = client->replicas,
	    .replicas_ms = client->opts->replicas_ms,
	    .more = more};

	while (argv[sent.argc] != NULL)
		sent.argc++;
	if (server_send(client->server, &sent) == -1)
		log_die(EXITCODE_RESOURCE, "out of memory");
	client->unanswered++;
}

static void
turn(struct client *client)
{
	if (loop_turn(client->loop) == 0)
		return;
	log_warn("cannot wait for events");
	exit(EXITCODE_INTERNAL);
}

void
client_wait(struct client *client)
{
	if (client->stopped)
		server_drop(client->server);
	while (client->unanswered > 0)
		turn(client);
}

void
client_stop(struct client *client)
{
	client->stopped = true;
	server_drop(client->server);
}

void
client_sleep(struct client *client, int64_t until)
{
	loop_timer_set(client->loop, &client->timer, until);
	while (clock_now() < until && !client->stopped)
		turn(client);
}

static void
pause_for(struct client *client, int64_t ms)
{
	int64_t until = clock_now() + ms;

	server_drop(client->server);
	client_sleep(client, until);
}

bool
client_ask(struct client *client, const struct script *script,
    const char **argv, client_read *read, void *arg)
{
	struct client_command command = {client, read, arg, NULL};
	int64_t began_at = clock_now();
	int64_t give_up_at = began_at + client->opts->server_timeout_ms;
	int64_t backoff_ms = BACKOFF_MIN_MS;
	bool reported = false;

	for (;;) {
		client_forget_failure(client);
		client_send(&command, script, argv, false);
		client_wait(client);
		if (!client->transient || client->stopped ||
		    clock_now() + backoff_ms >= give_up_at)
			break;
		if (!reported && clock_now() >= began_at + TROUBLE_MIN_MS) {
			client_emit(client,
			    (struct event){.type = EVENT_NO_REPLY,
				.minor = true,
				.why = client->error});
			reported = true;
		}
		pause_for(client, backoff_ms);
		backoff_ms *= 2;
		if (backoff_ms > BACKOFF_MAX_MS)
			backoff_ms = BACKOFF_MAX_MS;
	}
	if (reported && client->failure == ENDING_NONE)
		client_emit(client, (struct event){.type = EVENT_REPLIED});
	return client->failure == ENDING_NONE;
}

void
client_emit(const struct client *client, struct event event)
{
	events_emit(client->events, &event);
}

int
client_report_failure(const struct client *client)
{
	int status = event_rows[client->failure].status;

	client_emit(client, (struct event){.type = EVENT_ENDING,
				.ending = client->failure,
				.why = client->error,
				.status = status});
	return status;
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
	client_emit(client, (struct event){.type = EVENT_NO_OUTPUT,
				.why = strerror(client->output_error)});
	return EXITCODE_RESOURCE;
}

/* --- a look at a lock ------------------------------------------------- */

bool
client_reaches_helpers(const struct client *client, const char *key)
{
	return !server_is_clustered(client->server) || key_is_placeable(key);
}

static int
read_look(void *arg, const struct value *value)
{
	return answer_look(arg, value) ? 0 : -1;
}

static bool
look_with(struct client *client, const struct key_names *keys,
    enum request_look_keys count, int holders, struct look *look)
{
	struct request request;
	bool found;

	request_look(&request, keys, count, holders, QUEUE_SHOWN);
	found =
	    client_ask(client, request.script, request.argv, read_look, look);
	request_fini(&request);
	return found;
}

/* Access rules that list the helper keys one by one may lack the history. */
static bool
look_without_history(struct client *client, const struct key_names *keys,
    int holders, struct look *look)
{
	char *why = mem_printf("the last run is not shown: %s", client->error);
	bool found =
	    look_with(client, keys, REQUEST_LOOK_HELPERS, holders, look);

	if (found)
		client_emit(client, (struct event){.type = EVENT_NOT_SHOWN,
					.minor = true,
					.why = why});
	free(why);
	return found;
}

bool
client_look(struct client *client, const struct key_names *keys, int holders,
    struct look *look)
{
	bool extends = client->opts->action == OPTS_HOLD;
	enum request_look_keys count =
	    !client_reaches_helpers(client, keys->lock) ? REQUEST_LOOK_KEY_ONLY
	    : extends					? REQUEST_LOOK_HELPERS
							: REQUEST_LOOK_HISTORY;

	if (look_with(client, keys, count, holders, look)) {
		look->whole = count == REQUEST_LOOK_HISTORY;
		return true;
	}
	return count == REQUEST_LOOK_HISTORY &&
	       client->failure == ENDING_REFUSED &&
	       look_without_history(client, keys, holders, look);
}

struct look_subject
client_subject(const struct client *client, const char *key)
{
	const char *prefix = client->opts->prefix;

	return (struct look_subject){.server = server_label(client->server),
	    .db = client->endpoint->db,
	    .prefix = prefix,
	    .name = key + strlen(prefix),
	    .key = key};
}

void
client_describe_place(const struct client *client, char *text, size_t size)
{
	struct look_subject subject =
	    client_subject(client, client->opts->prefix);

	subject.server = client->endpoint->label;
	look_describe_place(&subject, text, size);
}

void
client_print_json(const struct client *client, const struct look *look,
    const char *key)
{
	const struct look_subject subject = client_subject(client, key);

	look_print_json(look, &subject, client->opts->action == OPTS_STATUS);
}

bool
client_is_denied(const struct look_problem *problem)
{
	return reply_judge(REPLY_ACQUIRING, problem->error) == REPLY_REFUSED;
}

void
client_report_problem(const struct client *client, const char *name,
    const struct look_problem *problem)
{
	char why[sizeof(client->error)];

	reply_describe(why, sizeof(why),
	    client_is_denied(problem) ? "not permitted to read" : "damaged:",
	    problem->key, problem->error);
	client_emit(client,
	    (struct event){.type = EVENT_NOT_SHOWN, .name = name, .why = why});
}

/* --- which server ----------------------------------------------------- */

static struct server *
connect_to(const struct client *client, const struct endpoint *endpoint,
    const char *key)
{
	struct server *server = server_new(client->loop, endpoint, key);

	if (server == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	return server;
}

struct server *
client_connect(const struct client *client, const struct endpoint *endpoint)
{
	return connect_to(client, endpoint, NULL);
}

struct server *
client_switch(struct client *client, struct server *server)
{
	struct server *former = client->server;

	client->server = server;
	return former;
}

int
client_visit_servers(const struct opts *opts, struct loop *loop,
    const struct events *events, int (*act)(struct client *client))
{
	struct client client = {.opts = opts, .loop = loop, .events = events};
	bool looks = opts->action != OPTS_FORCE_RELEASE;
	bool parted = looks && !opts->json && !opts->quiet;
	int result = EXITCODE_OK;

	for (size_t i = 0; i < opts->server_count; i++) {
		int one;

		client.endpoint = &opts->servers[i];
		if (parted && i > 0)
			putchar('\n');
		client.server = connect_to(&client, client.endpoint,
		    opts->key_count > 0 ? opts->keys[0].key : NULL);
		one = act(&client);
		if (result == EXITCODE_OK)
			result = one;
		server_free(client.server);
	}
	loop_timer_remove(loop, &client.timer);
	if (result == EXITCODE_OK && looks && opts->quiet && client.held)
		result = opts->conflict_exit;
	return result;
}
