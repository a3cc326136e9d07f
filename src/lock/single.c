#include "lock/single.h"

#include <stdio.h>
#include <stdlib.h>

#include "lock/answer.h"
#include "redis/way.h"

/* A connection, and the renewal on it. */
struct link {
	struct single *single;
	struct way *server; /* NULL before the second one is used */
	enum {
		LINK_QUIET,
		LINK_AWAITED, /* its reply counts */
		LINK_IGNORED, /* another reply was quicker; the server may still
			       * do what was asked */
	} state;
};

struct single {
	struct loop *loop;
	const struct lock_config *config;
	struct link links[2];
	struct link *in_use;
	/* What is asked: */
	int replicas;
	reply_handler *on_reply;
	void (*on_quiet)(void *arg);
	void *arg;
	char error[1024]; /* of too few replicas, or empty */
};

struct single *
single_new(struct loop *loop, const struct lock_config *config)
{
	struct single *single = calloc(1, sizeof(*single));

	if (single == NULL)
		return NULL;
	*single = (struct single){.loop = loop, .config = config};
	single->links[0].single = single;
	single->links[1].single = single;
	single->in_use = &single->links[0];
	single->in_use->server = way_new(loop, config->server, config->key);
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
	way_free(single->links[0].server);
	way_free(single->links[1].server);
	free(single);
}

static struct link *
other_link(const struct link *link)
{
	struct single *single = link->single;

	return &single->links[link == &single->links[0]];
}

static void
drop_link(struct link *link)
{
	link->state = LINK_QUIET;
	if (link->server != NULL)
		way_drop(link->server);
}

/* WAIT behind the command will be refused the next time, too. */
static bool
denies_wait(const struct reply *reply)
{
	const char *error = value_error(reply->acks);

	return error != NULL && reply_judge_error(error) == VERDICT_REFUSED;
}

bool
single_lacks_replicas(const struct reply *reply, int replicas,
    char why[SINGLE_WORDS_MAX])
{
	const char *error = value_error(reply->acks);
	int count = answer_replicas(reply->acks);

	if (count >= replicas)
		return false;
	if (error != NULL)
		snprintf(why, SINGLE_WORDS_MAX, SINGLE_NEEDS_WAIT ": %s",
		    error);
	else
		snprintf(why, SINGLE_WORDS_MAX,
		    "%d of %d replicas have the lock", count, replicas);
	return true;
}

static enum answer_vote
vote_of(const struct reply *reply)
{
	struct answer answer;

	answer_read(&answer, (enum answer_to)reply->tag, reply->value);
	return answer_vote(&answer);
}

/* Of the errors of WAIT a refusal counts as one. Others pass, such as that of a
 * primary that is being replaced. */
static void
deliver_single(struct single *single, const struct reply *received)
{
	struct reply reply = *received;
	char why[SINGLE_WORDS_MAX], label[512];
	bool lacking = reply.kind == REPLY_VALUE &&
		       single_lacks_replicas(&reply, single->replicas, why) &&
		       vote_of(&reply) == ANSWER_YES;

	if (lacking && denies_wait(&reply)) {
		reply.kind = REPLY_NO_ACCESS;
		reply.error = value_error(reply.acks);
		reply.label = label;
		snprintf(label, sizeof(label), "%.400s: " SINGLE_NEEDS_WAIT,
		    received->label);
	} else if (lacking) {
		reply.kind = REPLY_TOO_FEW;
		reply.value = NULL;
		reply.failure = single->error;
		snprintf(single->error, sizeof(single->error), "%s %.512s: %s",
		    config_is_vote(single->config) ? "not counted"
						   : "not safe on",
		    reply.label, why);
	}
	single->on_reply(single->arg, &reply);
	if (reply.kind == REPLY_TOO_FEW)
		way_doubt(single->in_use->server);
}

/* A yes or a no about the lock itself, from a server that may say so. */
static bool
is_decisive(const struct single *single, const struct reply *reply)
{
	char why[SINGLE_WORDS_MAX];
	enum answer_vote vote = vote_of(reply);

	return vote != ANSWER_ABSENT && reply->kind == REPLY_VALUE &&
	       (vote != ANSWER_YES ||
		   !single_lacks_replicas(reply, single->replicas, why));
}

static bool
asks_twice(const struct single *single)
{
	return single->links[0].state == LINK_AWAITED &&
	       single->links[1].state == LINK_AWAITED;
}

/* While both replies are awaited, only a decisive one counts, and none of a
 * server that was the primary before the other connection found a new one. The
 * connection that is not needed any more is closed. */
static void
on_single_reply(void *arg, const struct reply *reply)
{
	struct link *link = arg;
	struct single *single = link->single;
	bool both = asks_twice(single);
	bool ignored = link->state == LINK_IGNORED;
	bool awaited = link->state == LINK_AWAITED;
	void (*on_quiet)(void *arg);

	link->state = LINK_QUIET;
	if (ignored ||
	    (awaited && both &&
		(!is_decisive(single, reply) ||
		    way_has_moved(other_link(link)->server, link->server)))) {
		way_drop(link->server);
	} else if (awaited) {
		if (both)
			other_link(link)->state = LINK_IGNORED;
		single->in_use = link;
		deliver_single(single, reply);
	}
	on_quiet = single->on_quiet;
	if (on_quiet == NULL || other_link(single->in_use)->state != LINK_QUIET)
		return;
	single->on_quiet = NULL;
	on_quiet(single->arg);
}

static int
send_on(struct link *link, const struct command *command)
{
	struct command own = *command;

	own.on_reply = on_single_reply;
	own.arg = link;
	link->state = LINK_QUIET;
	if (way_send(link->server, &own) == -1)
		return -1;
	link->state = LINK_AWAITED;
	return 0;
}

static int
ask_again(struct single *single, const struct command *command)
{
	struct link *second = other_link(single->in_use);

	if (single->in_use->state != LINK_AWAITED)
		return -1;
	if (second->server == NULL)
		second->server = way_new(single->loop, single->config->server,
		    single->config->key);
	if (second->server == NULL)
		return -1;
	drop_link(second);
	return send_on(second, command);
}

int
single_send(struct single *single, const struct command *command, enum ask ask)
{
	switch (ask) {
	case ASK_GRANT:
	case ASK_RENEW:
		single->error[0] = '\0';
		single->replicas = command->replicas;
		single->on_reply = command->on_reply;
		single->arg = command->arg;
		if (ask == ASK_GRANT)
			drop_link(other_link(single->in_use));
		return send_on(single->in_use, command);
	case ASK_RENEW_AGAIN:
		return ask_again(single, command);
	case ASK_RELEASE:
		single->error[0] = '\0';
		single->on_quiet = NULL;
		drop_link(other_link(single->in_use));
		return way_send(single->in_use->server, command);
	default:
		return way_send(single->in_use->server, command);
	}
}

bool
single_await_renewals(struct single *single, bool keep,
    void (*on_quiet)(void *arg))
{
	single->on_quiet = on_quiet;
	return asks_twice(single) ||
	       (keep && other_link(single->in_use)->state != LINK_QUIET);
}

void
single_drop(struct single *single)
{
	way_drop(single->in_use->server);
	drop_link(other_link(single->in_use));
}

const char *
single_error(const struct single *single)
{
	return *single->error != '\0' ? single->error
				      : way_error(single->in_use->server);
}

struct way *
single_server(const struct single *single)
{
	return single->in_use->server;
}

bool
single_is_up(const struct single *single)
{
	return way_is_up(single->in_use->server);
}

const char *
single_label(const struct single *single)
{
	return way_label(single->in_use->server);
}

void
single_reject(struct single *single)
{
	way_reject(single->in_use->server);
}

int64_t
single_rests_until(const struct single *single, const char **why)
{
	*why = way_error(single->in_use->server);
	return way_rests_until(single->in_use->server);
}
