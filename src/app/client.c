#include "app/client.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "redis/reply.h"

enum { BACKOFF_MIN_MS = 100, BACKOFF_MAX_MS = 1000, TROUBLE_TOLD_MS = 2000 };
/* Pages of SCAN and long queues. */
enum { REPLY_MAX = 16 << 20, ELEMENTS_MAX = 65536 };

void
client_forget_failure(struct client *client)
{
	client->failure = EXITCODE_OK;
	client->transient = false;
}

static void
fail(struct client *client, enum exitcode failure, const char *what,
    const struct reply *reply)
{
	client->failure = failure;
	snprintf(client->error, sizeof(client->error), "%s %.512s: %.256s",
	    what, reply->label, reply_explain(reply->error));
}

static void
on_error(struct client *client, const struct reply *reply)
{
	enum reply_verdict verdict = reply_judge(REPLY_ACQUIRING, reply->error);

	/* If AUTH or SELECT was refused, the answer may be of another db. */
	if (verdict == REPLY_REFUSED ||
	    (reply->kind == REPLY_NO_ACCESS && verdict != REPLY_RETRY)) {
		fail(client, EXITCODE_REFUSED, "refused by", reply);
		return;
	}
	if (verdict == REPLY_RETRY || verdict == REPLY_RECONNECT)
		client->transient = true;
	fail(client,
	    verdict == REPLY_NOT_A_LOCK ? EXITCODE_NOT_A_LOCK
					: EXITCODE_UNAVAILABLE,
	    "error from", reply);
}

static void
on_reply(void *arg, const struct reply *reply)
{
	struct client_command *command = arg;
	struct client *client = command->client;

	client->unanswered--;
	if (reply->kind == REPLY_NO_ACCESS) {
		on_error(client, reply);
	} else if (reply->kind == REPLY_ERROR) {
		if (command->excuse == NULL ||
		    !command->excuse(command->arg, reply->error))
			on_error(client, reply);
	} else if (reply->value == NULL) {
		client->failure = EXITCODE_UNAVAILABLE;
		client->transient = !reply->permanent;
		snprintf(client->error, sizeof(client->error), "%s",
		    reply->failure);
	} else if (command->take(command->arg, reply->value) == -1) {
		client_fail(client, EXITCODE_UNAVAILABLE,
		    "unexpected answer from", "not that of our command");
	}
}

void
client_fail(struct client *client, enum exitcode failure, const char *what,
    const char *why)
{
	const struct reply reply = {.label = server_label(client->node),
	    .error = why};

	fail(client, failure, what, &reply);
}

void
client_send(struct client_command *command, const char **argv, bool more)
{
	struct client *client = command->client;
	struct conn_command sent = {.argv = argv,
	    .deadline = clock_now() + client->opts->server_timeout_ms,
	    .on_reply = on_reply,
	    .arg = command,
	    .more = more};

	while (argv[sent.argc] != NULL)
		sent.argc++;
	if (server_send(client->node, &sent) == -1)
		log_die(EXITCODE_RESOURCE, "out of memory");
	client->unanswered++;
}

static void
turn(struct client *client)
{
	if (loop_turn(&client->loop) == 0)
		return;
	log_warn("cannot wait for events");
	exit(EXITCODE_INTERNAL);
}

void
client_wait(struct client *client)
{
	while (client->unanswered > 0)
		turn(client);
}

static void
pause_for(struct client *client, int64_t ms)
{
	int64_t until = clock_now() + ms;

	server_drop(client->node);
	loop_timer_set(&client->loop, &client->timer, until);
	while (clock_now() < until)
		turn(client);
}

enum exitcode
client_ask(struct client *client, const char **argv, client_take *take,
    void *arg)
{
	struct client_command command = {client, take, arg, NULL};
	int64_t began_at = clock_now();
	int64_t give_up_at = began_at + client->opts->server_timeout_ms;
	int64_t backoff_ms = BACKOFF_MIN_MS;
	bool reported = false;

	for (;;) {
		client_forget_failure(client);
		client_send(&command, argv, false);
		client_wait(client);
		if (!client->transient ||
		    clock_now() + backoff_ms >= give_up_at)
			return client->failure;
		if (!reported && clock_now() >= began_at + TROUBLE_TOLD_MS) {
			log_warnx("%s; trying again", client->error);
			reported = true;
		}
		pause_for(client, backoff_ms);
		backoff_ms *= 2;
		if (backoff_ms > BACKOFF_MAX_MS)
			backoff_ms = BACKOFF_MAX_MS;
	}
}

int
client_report_failure(const struct client *client)
{
	const char *name = client->opts->name;

	if (name == NULL)
		log_warnx("%s", client->error);
	else if (client->failure == EXITCODE_NOT_A_LOCK)
		log_warnx("%s is not a lock: %s", name, client->error);
	else
		log_warnx("%s: %s", name, client->error);
	return (int)client->failure;
}

/* --- which server ----------------------------------------------------- */

static void
connect_to(struct client *client, const struct endpoint *server,
    const char *key)
{
	client->node = server_new(&client->loop, server, key);
	if (client->node == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	server_allow(client->node, REPLY_MAX, ELEMENTS_MAX);
}

struct server *
client_switch(struct client *client, const struct endpoint *server)
{
	struct server *former = client->node;

	connect_to(client, server, NULL);
	return former;
}

void
client_return(struct client *client, struct server *former)
{
	server_free(client->node);
	client->node = former;
}

int
client_visit_servers(const struct opts *opts, int (*act)(struct client *client))
{
	struct client client = {.opts = opts};
	bool titled = opts->server_count > 1 && !opts->json &&
		      opts->action != OPTS_FORCE_RELEASE;
	int result = EXITCODE_OK;

	if (loop_init(&client.loop) == -1) {
		log_warn("cannot wait for events");
		return EXITCODE_RESOURCE;
	}
	for (size_t i = 0; i < opts->server_count; i++) {
		int one;

		client.server = &opts->servers[i];
		if (titled)
			printf("%s%s:\n", i > 0 ? "\n" : "",
			    client.server->label);
		connect_to(&client, client.server,
		    opts->key_count > 0 ? opts->keys[0].key : NULL);
		one = act(&client);
		if (result == EXITCODE_OK)
			result = one;
		server_free(client.node);
	}
	loop_timer_remove(&client.loop, &client.timer);
	loop_fini(&client.loop);
	return result;
}
