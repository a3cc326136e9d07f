#include "lock/single.h"

#include <stdio.h>
#include <stdlib.h>

#include "lock/answer.h"
#include "lock/member.h"
#include "redis/reply.h"
#include "redis/server.h"

enum path_state {
	PATH_QUIET,
	PATH_AWAITED, /* its reply counts */
	PATH_IGNORED, /* another reply was quicker; the server may still do
		       * what was asked */
};

struct path {
	struct single *single;
	struct server *server;
	enum path_state state;
};

struct single {
	struct loop *loop;
	const struct endpoint *endpoint;
	const char *key;
	struct path paths[2]; /* the second one has no server before its use */
	struct path *in_use;
	/* What is asked: */
	bool grant;
	int replicas;
	reply_handler *on_reply;
	void (*on_quiet)(void *arg);
	void *arg;
	char error[1024]; /* of too few replicas, or empty */
};

struct single *
single_new(struct loop *loop, const struct endpoint *endpoint, const char *key)
{
	struct single *single = calloc(1, sizeof(*single));

	if (single == NULL)
		return NULL;
	*single =
	    (struct single){.loop = loop, .endpoint = endpoint, .key = key};
	single->paths[0].single = single;
	single->paths[1].single = single;
	single->in_use = &single->paths[0];
	single->in_use->server = server_new(loop, endpoint, key);
	if (single->in_use->server != NULL)
		return single;
	free(single);
	return NULL;
}

void
single_free(struct single *single)
{
	if (single == NULL)
		return;
	server_free(single->paths[0].server);
	server_free(single->paths[1].server);
	free(single);
}

static struct path *
other(const struct path *path)
{
	struct single *single = path->single;

	return &single->paths[path == &single->paths[0]];
}

static void
drop(struct path *path)
{
	path->state = PATH_QUIET;
	if (path->server != NULL)
		server_drop(path->server);
}

/* Of WAIT. Other errors pass, such as that of a primary that is being replaced.
 */
static bool
is_refusal(const char *error)
{
	return error != NULL &&
	       reply_judge(REPLY_ACQUIRING, error) == REPLY_REFUSED;
}

static void
deliver(struct single *single, const struct reply *received)
{
	struct reply reply = *received;
	char why[MEMBER_WORDS_MAX];
	bool lacking = reply.kind == REPLY_VALUE &&
		       answer_vote(reply.answer) == ANSWER_YES &&
		       member_lacks_replicas(&reply, single->replicas, why);

	if (lacking && is_refusal(value_error(reply.acks))) {
		reply.kind = REPLY_NO_ACCESS;
		reply.error = value_error(reply.acks);
	} else if (lacking) {
		reply.kind = REPLY_TOO_FEW;
		reply.value = NULL;
		reply.answer = NULL;
		reply.partial = single->grant;
		reply.failure = single->error;
		snprintf(single->error, sizeof(single->error),
		    "not safe on %.512s: %s", reply.label, why);
	}
	single->on_reply(single->arg, &reply);
	if (reply.kind == REPLY_TOO_FEW)
		server_doubt(single->in_use->server);
}

/* A yes or a no about the lock itself, from a server that may say so. */
static bool
is_decisive(const struct single *single, const struct reply *reply)
{
	char why[MEMBER_WORDS_MAX];
	enum answer_vote vote = answer_vote(reply->answer);

	return vote != ANSWER_ABSENT && reply->kind == REPLY_VALUE &&
	       (vote != ANSWER_YES ||
		   !member_lacks_replicas(reply, single->replicas, why));
}

static bool
asks_twice(const struct single *single)
{
	return single->paths[0].state == PATH_AWAITED &&
	       single->paths[1].state == PATH_AWAITED;
}

static void
notify_if_quiet(struct single *single)
{
	void (*on_quiet)(void *arg) = single->on_quiet;

	if (on_quiet == NULL || other(single->in_use)->state != PATH_QUIET)
		return;
	single->on_quiet = NULL;
	on_quiet(single->arg);
}

/* While both replies are awaited, only a decisive one counts, and none of a
 * server that was the primary before the other connection found a new one. The
 * connection that is not needed any more is closed. */
static void
on_reply(void *arg, const struct reply *reply)
{
	struct path *path = arg;
	struct single *single = path->single;
	bool both = asks_twice(single);
	enum path_state state = path->state;

	path->state = PATH_QUIET;
	if (state == PATH_IGNORED ||
	    (state == PATH_AWAITED && both &&
		(!is_decisive(single, reply) ||
		    server_has_moved(other(path)->server, path->server)))) {
		server_drop(path->server);
	} else if (state == PATH_AWAITED) {
		if (both)
			other(path)->state = PATH_IGNORED;
		single->in_use = path;
		deliver(single, reply);
	}
	notify_if_quiet(single);
}

static int
send_on(struct path *path, const struct command *command)
{
	struct command own = *command;

	own.on_reply = on_reply;
	own.arg = path;
	path->state = PATH_QUIET;
	if (server_send(path->server, &own) == -1)
		return -1;
	path->state = PATH_AWAITED;
	return 0;
}

int
single_ask(struct single *single, const struct command *command, bool grant)
{
	single->error[0] = '\0';
	single->grant = grant;
	single->replicas = command->replicas;
	single->on_reply = command->on_reply;
	single->arg = command->arg;
	if (grant)
		drop(other(single->in_use));
	return send_on(single->in_use, command);
}

int
single_ask_again(struct single *single, const struct command *command)
{
	struct path *second = other(single->in_use);

	if (single->in_use->state != PATH_AWAITED)
		return -1;
	if (second->server == NULL)
		second->server =
		    server_new(single->loop, single->endpoint, single->key);
	if (second->server == NULL)
		return -1;
	drop(second);
	return send_on(second, command);
}

bool
single_await_renewals(struct single *single, bool keep,
    void (*on_quiet)(void *arg))
{
	single->on_quiet = on_quiet;
	return asks_twice(single) ||
	       (keep && other(single->in_use)->state != PATH_QUIET);
}

int
single_release(struct single *single, const struct command *command)
{
	single->error[0] = '\0';
	single->on_quiet = NULL;
	drop(other(single->in_use));
	return server_send(single->in_use->server, command);
}

void
single_drop(struct single *single)
{
	server_drop(single->in_use->server);
	drop(other(single->in_use));
}

const char *
single_error(const struct single *single)
{
	return *single->error != '\0' ? single->error
				      : server_error(single->in_use->server);
}

struct server *
single_server(const struct single *single)
{
	return single->in_use->server;
}
