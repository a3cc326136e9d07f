#include "lock/single.h"

#include <stdio.h>
#include <stdlib.h>

#include "lock/answer.h"
#include "lock/member.h"
#include "redis/reply.h"
#include "redis/server.h"

struct path {
	struct single *single;
	struct server *node;
	bool out; /* its reply is awaited */
};

struct single {
	struct loop *loop;
	const struct endpoint *server;
	const char *key;
	struct path paths[2]; /* the second one has no node before it is used */
	struct path *in_use;
	/* What is asked: */
	bool grant;
	int replicas;
	reply_handler *on_reply;
	void *arg;
	char error[1024]; /* of too few replicas, or empty */
};

struct single *
single_new(struct loop *loop, const struct endpoint *server, const char *key)
{
	struct single *single = calloc(1, sizeof(*single));

	if (single == NULL)
		return NULL;
	*single = (struct single){.loop = loop, .server = server, .key = key};
	single->paths[0].single = single;
	single->paths[1].single = single;
	single->in_use = &single->paths[0];
	single->in_use->node = server_new(loop, server, key);
	if (single->in_use->node != NULL)
		return single;
	free(single);
	return NULL;
}

void
single_free(struct single *single)
{
	if (single == NULL)
		return;
	server_free(single->paths[0].node);
	server_free(single->paths[1].node);
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
	path->out = false;
	if (path->node != NULL)
		server_drop(path->node);
}

static void
deliver(struct single *single, const struct reply *received)
{
	struct reply reply = *received;
	char why[MEMBER_WORDS_MAX];
	bool lacking = reply.kind == REPLY_VALUE &&
		       answer_vote(reply.value) == 1 &&
		       member_lacks_replicas(&reply, single->replicas, why);

	if (lacking)
		reply.error = value_error(reply.acks);
	if (lacking && reply.error != NULL) {
		reply.kind = REPLY_NO_ACCESS;
	} else if (lacking) {
		reply.kind = REPLY_TOO_FEW;
		reply.value = NULL;
		reply.partial = single->grant;
		reply.failure = single->error;
		snprintf(single->error, sizeof(single->error),
		    "not safe on %.512s: %s", reply.label, why);
	}
	single->on_reply(single->arg, &reply);
	if (reply.kind == REPLY_TOO_FEW)
		server_doubt(single->in_use->node);
}

/* A yes or a no about the lock itself, from a server that may say so. */
static bool
is_decisive(const struct single *single, const struct reply *reply)
{
	char why[MEMBER_WORDS_MAX];
	int said = answer_vote(reply->value);

	return said != -1 && reply->kind == REPLY_VALUE &&
	       (said != 1 ||
		   !member_lacks_replicas(reply, single->replicas, why));
}

/* While both connections are out, only a decisive reply counts, and none of a
 * server that was the primary before the other connection found a new one. */
static void
on_reply(void *arg, const struct reply *reply)
{
	struct path *path = arg;
	struct single *single = path->single;
	bool both = single_asks_twice(single);

	if (!path->out)
		return;
	path->out = false;
	if (both && (!is_decisive(single, reply) ||
			server_has_moved(other(path)->node, path->node))) {
		server_drop(path->node);
		return;
	}
	if (both)
		drop(other(path));
	single->in_use = path;
	deliver(single, reply);
}

static int
send_on(struct path *path, const struct conn_command *command)
{
	struct conn_command own = *command;

	own.on_reply = on_reply;
	own.arg = path;
	path->out = server_send(path->node, &own) == 0;
	return path->out ? 0 : -1;
}

int
single_send(struct single *single, const struct conn_command *command)
{
	return server_send(single->in_use->node, command);
}

int
single_ask(struct single *single, const struct conn_command *command,
    bool grant)
{
	single->error[0] = '\0';
	single->grant = grant;
	single->replicas = command->replicas;
	single->on_reply = command->on_reply;
	single->arg = command->arg;
	drop(other(single->in_use));
	return send_on(single->in_use, command);
}

int
single_ask_again(struct single *single, const struct conn_command *command)
{
	struct path *second = other(single->in_use);

	if (!single->in_use->out)
		return -1;
	if (second->node == NULL)
		second->node =
		    server_new(single->loop, single->server, single->key);
	if (second->node == NULL)
		return -1;
	drop(second);
	return send_on(second, command);
}

bool
single_asks_twice(const struct single *single)
{
	return single->paths[0].out && single->paths[1].out;
}

int
single_release(struct single *single, const struct conn_command *command)
{
	single->error[0] = '\0';
	drop(other(single->in_use));
	return server_send(single->in_use->node, command);
}

void
single_drop(struct single *single)
{
	server_drop(single->in_use->node);
	drop(other(single->in_use));
}

bool
single_is_up(const struct single *single)
{
	return server_is_up(single->in_use->node);
}

bool
single_is_clustered(const struct single *single)
{
	return server_is_clustered(single->in_use->node);
}

const char *
single_error(const struct single *single)
{
	return *single->error != '\0' ? single->error
				      : server_error(single->in_use->node);
}

const char *
single_label(const struct single *single)
{
	return server_label(single->in_use->node);
}
