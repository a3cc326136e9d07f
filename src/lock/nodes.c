/* A question, with several servers:
 *
 *   nodes_send --> each member votes: yes, no, or absent --> enough? --> told
 *
 * It is told as soon as the votes that are missing can't change it. What comes
 * later only tells whether that server has the lock. Nothing is sent to a
 * server twice for one question, and what is sent behind something arrives
 * behind it: a release undoes a grant that is still on its way. */
#include "lock/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/answer.h"
#include "lock/key.h"
#include "lock/member.h"
#include "lock/quorum.h"
#include "redis/reply.h"
#include "redis/server.h"

/* One of the two connections that a renewal may use. */
struct way {
	struct nodes *nodes;
	struct server *node;
	bool out; /* its reply is awaited */
};

struct nodes {
	struct loop *loop;
	const struct nodes_config *config;
	struct member *members;
	struct way ways[2]; /* of one server; members[0] has the one in use */
	struct loop_timer timer; /* decides */
	void (*on_stray)(void *arg);
	void *stray_arg;
	/* The question: */
	bool open;
	enum nodes_ask ask;
	reply_handler *on_reply;
	void *arg;
	int replicas;
	int64_t asked_at;
	bool agreed;	 /* that the last renewal counts */
	char twins[320]; /* two that are one, or empty */
	char label[1024];
	char error[2048];
};

/* --- set-up ----------------------------------------------------------- */

static void decide(void *arg);
static void on_stray_grant(void *arg);
static void on_time(void *arg);

static void
write_label(struct nodes *nodes)
{
	size_t length = 0;

	for (size_t i = 0; i < nodes->config->count; i++) {
		snprintf(nodes->label + length, sizeof(nodes->label) - length,
		    "%s%s", i > 0 ? ", " : "", nodes->config->servers[i].label);
		length = strlen(nodes->label);
	}
}

static int
init_members(struct nodes *nodes, struct loop *loop)
{
	const struct nodes_config *config = nodes->config;

	for (size_t i = 0; i < config->count; i++) {
		const struct member_config own = {.server = &config->servers[i],
		    .key = config->key,
		    .min_uptime_ms = config->min_uptime_ms,
		    .on_vote = decide,
		    .on_stray = on_stray_grant,
		    .arg = nodes};
		if (member_init(&nodes->members[i], loop, &own) == -1)
			return -1;
	}
	return 0;
}

struct nodes *
nodes_new(struct loop *loop, const struct nodes_config *config)
{
	struct nodes *nodes = calloc(1, sizeof(*nodes));

	if (nodes == NULL)
		return NULL;
	nodes->loop = loop;
	nodes->config = config;
	nodes->timer = (struct loop_timer){.on_due = on_time, .arg = nodes};
	nodes->members = calloc(config->count, sizeof(*nodes->members));
	if (nodes->members == NULL || init_members(nodes, loop) == -1) {
		nodes_free(nodes);
		return NULL;
	}
	nodes->ways[0] =
	    (struct way){.nodes = nodes, .node = nodes->members[0].node};
	nodes->ways[1] = (struct way){.nodes = nodes};
	write_label(nodes);
	return nodes;
}

/* members[0] frees the one that is in use. */
static void
free_spare(struct nodes *nodes)
{
	for (size_t i = 0; nodes->members != NULL && i < 2; i++)
		if (nodes->ways[i].node != nodes->members[0].node)
			server_free(nodes->ways[i].node);
}

void
nodes_free(struct nodes *nodes)
{
	if (nodes == NULL)
		return;
	loop_timer_remove(nodes->loop, &nodes->timer);
	free_spare(nodes);
	for (size_t i = 0; nodes->members && i < nodes->config->count; i++)
		member_fini(&nodes->members[i]);
	free(nodes->members);
	free(nodes);
}

void
nodes_watch_strays(struct nodes *nodes, void (*on_stray)(void *arg), void *arg)
{
	nodes->on_stray = on_stray;
	nodes->stray_arg = arg;
}

static void
on_stray_grant(void *arg)
{
	const struct nodes *nodes = arg;

	if (nodes->on_stray != NULL)
		nodes->on_stray(nodes->stray_arg);
}

/* --- the outcome ------------------------------------------------------ */

static struct quorum
count_votes(const struct nodes *nodes)
{
	struct quorum quorum = {.size = nodes->config->count};

	for (size_t i = 0; i < quorum.size; i++) {
		enum member_vote vote = nodes->members[i].vote;
		quorum.yes += vote == MEMBER_YES;
		quorum.no += vote == MEMBER_NO || vote == MEMBER_NOT_YET;
		quorum.absent += vote == MEMBER_ABSENT;
	}
	return quorum;
}

/* Absent although they answered. */
static size_t
count_heard(const struct nodes *nodes)
{
	size_t count = 0;

	for (size_t i = 0; i < nodes->config->count; i++)
		count += nodes->members[i].vote == MEMBER_ABSENT &&
			 nodes->members[i].heard;
	return count;
}

/* One of those that make a majority impossible for good, or NULL. */
static struct member *
find_obstacle(const struct nodes *nodes)
{
	size_t size = nodes->config->count;
	struct member *first = NULL;
	size_t count = 0;

	for (size_t i = size; i-- > 0;) {
		struct member *member = &nodes->members[i];
		if (member->vote != MEMBER_ABSENT || !member->hopeless)
			continue;
		first = member;
		count++;
	}
	return count > size - quorum_majority(size) ? first : NULL;
}

static void
explain(struct nodes *nodes)
{
	size_t length;

	snprintf(nodes->error, sizeof(nodes->error),
	    "no majority of %zu servers", nodes->config->count);
	for (size_t i = 0; i < nodes->config->count; i++) {
		const struct member *member = &nodes->members[i];
		length = strlen(nodes->error);
		snprintf(nodes->error + length, sizeof(nodes->error) - length,
		    "%s%s", i == 0 ? ": " : "; ", member->why);
	}
}

static void
deliver(struct nodes *nodes, struct reply *reply)
{
	bool is_sent = reply->value != NULL || nodes->ask != NODES_GRANT;

	reply->sent_at = is_sent ? nodes->asked_at : CLOCK_NEVER;
	if (reply->label == NULL)
		reply->label = nodes->label;
	if (reply->value == NULL)
		reply->failure = nodes->error;
	nodes->open = false;
	loop_timer_set(nodes->loop, &nodes->timer, CLOCK_NEVER);
	if (nodes->on_reply != NULL)
		nodes->on_reply(nodes->arg, reply);
}

/* In the words of the first who voted so. The answer may lead to another
 * question, which forgets these votes. */
static void
deliver_vote(struct nodes *nodes, enum member_vote vote, bool partial)
{
	struct member *member = nodes->members;
	struct value *value;
	struct reply reply = {.kind = REPLY_VALUE, .partial = partial};

	while (member->vote != vote)
		member++;
	value = member->reply;
	member->reply = NULL;
	reply.value = value;
	deliver(nodes, &reply);
	value_free(value);
}

/* As the first obstacle words it. */
static void
deliver_obstacle(struct nodes *nodes, struct member *obstacle, bool partial)
{
	struct value *value = obstacle->reply;
	char refusal[sizeof(obstacle->refusal)];
	struct reply reply = {.kind = REPLY_NONE,
	    .label = server_label(obstacle->node),
	    .permanent = !obstacle->heard,
	    .partial = partial};

	obstacle->reply = NULL;
	snprintf(refusal, sizeof(refusal), "%s",
	    obstacle->secret[0] != '\0' ? obstacle->secret : obstacle->refusal);
	if (refusal[0] != '\0') {
		reply.kind = REPLY_NO_ACCESS;
		reply.error = refusal;
	} else if (value != NULL) {
		reply.kind = REPLY_ERROR;
		reply.value = value;
		reply.error = value_error(value);
	}
	deliver(nodes, &reply);
	value_free(value);
}

static void
deliver_failure(struct nodes *nodes, bool partial)
{
	struct member *obstacle = find_obstacle(nodes);
	struct quorum votes = count_votes(nodes);
	bool heard = votes.yes + votes.no + count_heard(nodes) >=
		     quorum_majority(votes.size);
	struct reply reply = {.kind = heard ? REPLY_TOO_FEW : REPLY_NONE,
	    .partial = partial};

	explain(nodes);
	if (obstacle != NULL && nodes->ask != NODES_RENEW)
		deliver_obstacle(nodes, obstacle, partial);
	else
		deliver(nodes, &reply);
}

static bool
any_may_have_granted(const struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->config->count; i++)
		if (nodes->members[i].granted ||
		    nodes->members[i].vote == MEMBER_OUT)
			return true;
	return false;
}

static void
find_twins(struct nodes *nodes)
{
	const struct member *members = nodes->members;

	for (size_t i = 0; i < nodes->config->count; i++)
		for (size_t j = 0; j < i; j++)
			if (members[i].known && members[j].known &&
			    strcmp(members[i].run_id, members[j].run_id) == 0)
				snprintf(nodes->twins, sizeof(nodes->twins),
				    "%.120s and %.120s are the same server",
				    server_label(members[j].node),
				    server_label(members[i].node));
}

static size_t
count_not_yet(const struct nodes *nodes)
{
	size_t count = 0;

	for (size_t i = 0; i < nodes->config->count; i++)
		count += nodes->members[i].vote == MEMBER_NOT_YET;
	return count;
}

/* Whether a majority may agree when it is asked again at once, given that so
 * many do not know yet. */
static bool
may_agree_soon(const struct quorum *votes, size_t not_yet)
{
	size_t against = votes->no - not_yet + votes->absent;

	return not_yet > 0 &&
	       votes->size - against >= quorum_majority(votes->size);
}

static void
deny_grant(struct nodes *nodes, const struct quorum *votes)
{
	size_t not_yet = count_not_yet(nodes);
	size_t denied = votes->no - not_yet;
	size_t answered = votes->yes + denied;
	bool all = answered + not_yet + votes->absent == votes->size;
	bool partial;

	/* A server that still owes its answer would not be asked again. */
	if (may_agree_soon(votes, not_yet) && !all)
		return;
	partial = any_may_have_granted(nodes);
	if (may_agree_soon(votes, not_yet))
		deliver_vote(nodes, MEMBER_NOT_YET, partial);
	else if (find_obstacle(nodes) == NULL && denied > 0 &&
		 answered >= quorum_majority(votes->size))
		deliver_vote(nodes, MEMBER_NO, partial);
	else
		deliver_failure(nodes, partial);
}

/* Where no majority answers, each one's reason is waited for. */
static void
decide_grant(struct nodes *nodes, const struct quorum *votes)
{
	struct reply reply = {.kind = REPLY_DUPLICATE, .partial = true};

	find_twins(nodes);
	if (nodes->twins[0] != '\0') {
		snprintf(nodes->error, sizeof(nodes->error), "%s",
		    nodes->twins);
		deliver(nodes, &reply);
	} else if (quorum_agrees(votes)) {
		deliver_vote(nodes, MEMBER_YES, false);
	} else if (!quorum_can_agree(votes) && quorum_has_spoken(votes)) {
		deny_grant(nodes, votes);
	}
}

static void
decide_renewal(struct nodes *nodes, const struct quorum *votes)
{
	nodes->agreed = quorum_agrees(votes);
	if (nodes->agreed)
		deliver_vote(nodes, MEMBER_YES, false);
	else if (quorum_denies(votes))
		deliver_vote(nodes, MEMBER_NO, false);
	else if (!quorum_can_agree(votes) && !quorum_can_deny(votes))
		deliver_failure(nodes, false);
}

/* Its release isn't on its way yet. */
static bool
any_keeps_it(const struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->config->count; i++) {
		const struct member *member = &nodes->members[i];
		if (member->vote == MEMBER_OUT && member->had &&
		    !server_is_up(member->node))
			return true;
	}
	return false;
}

static size_t
count_lost(const struct nodes *nodes)
{
	size_t count = 0;

	for (size_t i = 0; i < nodes->config->count; i++)
		count += nodes->members[i].vote == MEMBER_NO &&
			 nodes->members[i].had;
	return count;
}

/* What is written arrives, whether its answer is waited for or not. */
static void
decide_release(struct nodes *nodes, const struct quorum *votes)
{
	size_t majority = quorum_majority(votes->size);
	size_t answered = votes->yes + votes->no;
	bool all = answered + votes->absent == votes->size;
	bool lost = count_lost(nodes) >= majority;
	bool freed = votes->yes > 0 && answered >= majority && !lost;

	if ((all && freed) || (quorum_agrees(votes) && !any_keeps_it(nodes)))
		deliver_vote(nodes, MEMBER_YES, false);
	else if (all && lost)
		deliver_vote(nodes, MEMBER_NO, false);
	else if (all)
		deliver_failure(nodes, false);
}

static void
decide(void *arg)
{
	struct nodes *nodes = arg;
	struct quorum votes = count_votes(nodes);

	if (!nodes->open)
		return;
	if (nodes->ask == NODES_GRANT)
		decide_grant(nodes, &votes);
	else if (nodes->ask == NODES_RENEW)
		decide_renewal(nodes, &votes);
	else
		decide_release(nodes, &votes);
}

static void
on_time(void *arg)
{
	struct nodes *nodes = arg;

	for (size_t i = 0; i < nodes->config->count; i++)
		if (nodes->open && nodes->members[i].vote == MEMBER_OUT)
			member_be_late(&nodes->members[i]);
	decide(nodes);
}

/* --- questions -------------------------------------------------------- */

static void
tell_members(struct nodes *nodes, const struct conn_command *command,
    enum nodes_ask ask)
{
	struct conn_command own = *command;

	own.on_reply = NULL;
	for (size_t i = 0; i < nodes->config->count; i++) {
		struct member *member = &nodes->members[i];
		/* Without a majority somebody may have taken it away; who has
		 * been away himself has just forgotten it. */
		if (ask == NODES_PLANT && (nodes->agreed || member->returned))
			member_plant(member, command);
		else if (ask == NODES_PLANT)
			continue;
		else if (ask == NODES_RECALL)
			member_recall(member, &own);
		else if (ask == NODES_TELL || member_owes_grant(member))
			member_tell(member, &own);
	}
}

/* A grant has to come soon, or little would be left of the lease. A renewal has
 * as long as the command. */
static int64_t
time_is_up_at(const struct nodes *nodes, const struct conn_command *command)
{
	int64_t at = nodes->asked_at + command->replicas_ms +
		     quorum_patience_ms(nodes->config->ttl_ms);

	if (nodes->ask == NODES_RENEW)
		return CLOCK_NEVER;
	return at < command->deadline ? at : command->deadline;
}

static enum reply_phase
phase_of(enum nodes_ask ask)
{
	if (ask == NODES_GRANT)
		return REPLY_ACQUIRING;
	return ask == NODES_RENEW ? REPLY_HOLDING : REPLY_RELEASING;
}

static void
ask_members(struct nodes *nodes, const struct conn_command *command,
    enum nodes_ask ask)
{
	size_t out = 0;

	nodes->ask = ask;
	nodes->on_reply = command->on_reply;
	nodes->arg = command->arg;
	nodes->asked_at = clock_now();
	nodes->open = false;
	for (size_t i = 0; i < nodes->config->count; i++) {
		struct member *member = &nodes->members[i];
		member_ask(member, command, phase_of(ask));
		out += member->vote == MEMBER_OUT;
	}
	nodes->open = true;
	loop_timer_set(nodes->loop, &nodes->timer,
	    out == 0 ? clock_now() : time_is_up_at(nodes, command));
}

/* --- one server ------------------------------------------------------- */

/* What its replicas do not have is neither granted nor renewed. */
static void
deliver_only_reply(struct nodes *nodes, const struct reply *only)
{
	struct reply reply = *only;
	char words[MEMBER_WORDS_MAX];
	bool lacking = only->kind == REPLY_VALUE &&
		       answer_vote(only->value) == 1 &&
		       member_lacks_replicas(only, nodes->replicas, words);

	reply.error = lacking ? value_error(only->acks) : only->error;
	if (lacking && reply.error != NULL) {
		reply.kind = REPLY_NO_ACCESS;
	} else if (lacking) {
		reply.kind = REPLY_TOO_FEW;
		reply.value = NULL;
		reply.partial = nodes->ask == NODES_GRANT;
		reply.failure = nodes->error;
		snprintf(nodes->error, sizeof(nodes->error),
		    "not safe on %.512s: %s", only->label, words);
	}
	nodes->on_reply(nodes->arg, &reply);
	if (reply.kind == REPLY_TOO_FEW)
		server_doubt(nodes->members[0].node);
}

/* A yes or a no about the lock itself, from a server that may speak. */
static bool
is_decisive(const struct way *way, const struct reply *reply)
{
	char words[MEMBER_WORDS_MAX];
	int said = answer_vote(reply->value);

	return said != -1 && reply->kind == REPLY_VALUE &&
	       (said != 1 ||
		   !member_lacks_replicas(reply, way->nodes->replicas, words));
}

static struct way *
other_way(struct way *way)
{
	return &way->nodes->ways[way == way->nodes->ways];
}

static void
give_up_way(struct way *way)
{
	way->out = false;
	if (way->node != NULL)
		server_drop(way->node);
}

/* While both connections are out, only a reply that decides counts, and none of
 * a server that was the primary before the other connection found a new one. */
static void
on_way_reply(void *arg, const struct reply *reply)
{
	struct way *way = arg;
	struct way *other = other_way(way);

	if (!way->out)
		return;
	way->out = false;
	if (other->out && (!is_decisive(way, reply) ||
			      server_has_moved(other->node, way->node))) {
		server_drop(way->node);
		return;
	}
	if (other->out)
		give_up_way(other);
	way->nodes->members[0].node = way->node;
	deliver_only_reply(way->nodes, reply);
}

static int
send_by_way(struct way *way, const struct conn_command *command)
{
	struct conn_command own = *command;

	own.on_reply = on_way_reply;
	own.arg = way;
	way->out = server_send(way->node, &own) == 0;
	return way->out ? 0 : -1;
}

static struct way *
way_in_use(struct nodes *nodes)
{
	return &nodes->ways[nodes->ways[0].node != nodes->members[0].node];
}

static int
ask_one(struct nodes *nodes, const struct conn_command *command,
    enum nodes_ask ask)
{
	struct way *way = way_in_use(nodes);

	nodes->ask = ask;
	nodes->replicas = command->replicas;
	nodes->on_reply = command->on_reply;
	nodes->arg = command->arg;
	give_up_way(other_way(way));
	return send_by_way(way, command);
}

static int
ask_beside(struct nodes *nodes, const struct conn_command *command)
{
	struct way *first = way_in_use(nodes);
	struct way *beside = other_way(first);

	if (!first->out)
		return -1;
	if (beside->node == NULL)
		beside->node = server_new(nodes->loop, nodes->config->servers,
		    nodes->config->key);
	if (beside->node == NULL)
		return -1;
	give_up_way(beside);
	return send_by_way(beside, command);
}

/* ---------------------------------------------------------------------- */

static int
send_to_one(struct nodes *nodes, const struct conn_command *command,
    enum nodes_ask ask)
{
	switch (ask) {
	case NODES_PLANT:
	case NODES_RECALL:
		return 0;
	case NODES_RENEW_BESIDE:
		return ask_beside(nodes, command);
	case NODES_GRANT:
	case NODES_RENEW:
		nodes->error[0] = '\0';
		return ask_one(nodes, command, ask);
	case NODES_RELEASE:
		nodes->error[0] = '\0';
		give_up_way(other_way(way_in_use(nodes)));
		break;
	case NODES_TELL:
	case NODES_UNDO:
		break;
	}
	return server_send(nodes->members[0].node, command);
}

int
nodes_send(struct nodes *nodes, const struct conn_command *command,
    enum nodes_ask ask)
{
	if (nodes_are_one(nodes))
		return send_to_one(nodes, command, ask);
	if (ask == NODES_RENEW_BESIDE) {
		return 0;
	} else if (ask == NODES_PLANT || ask == NODES_TELL ||
		   ask == NODES_UNDO || ask == NODES_RECALL) {
		tell_members(nodes, command, ask);
	} else {
		ask_members(nodes, command, ask);
	}
	return 0;
}

const char *
nodes_misfit(const struct nodes *nodes, size_t index)
{
	const struct member *member;

	if (nodes_are_one(nodes) || index >= nodes->config->count)
		return NULL;
	member = &nodes->members[index];
	return member->vote == MEMBER_ABSENT && member->hopeless ? member->why
								 : NULL;
}

const char *
nodes_twins(struct nodes *nodes)
{
	find_twins(nodes);
	return nodes->twins[0] == '\0' ? NULL : nodes->twins;
}

bool
nodes_lack_it(const struct nodes *nodes)
{
	if (nodes_are_one(nodes))
		return false;
	for (size_t i = 0; i < nodes->config->count; i++)
		if (nodes->members[i].lacks)
			return true;
	return false;
}

bool
nodes_owe_grant(const struct nodes *nodes)
{
	if (nodes_are_one(nodes))
		return false;
	for (size_t i = 0; i < nodes->config->count; i++)
		if (member_owes_grant(&nodes->members[i]))
			return true;
	return false;
}

bool
nodes_renew_twice(const struct nodes *nodes)
{
	return nodes->ways[0].out && nodes->ways[1].out;
}

bool
nodes_are_one(const struct nodes *nodes)
{
	return nodes->config->count == 1;
}

bool
nodes_place(const struct nodes *nodes)
{
	const struct nodes_config *config = nodes->config;

	for (size_t i = 0; i < config->count; i++)
		if (server_is_clustered(nodes->members[i].node) &&
		    !key_is_placeable(config->key))
			return false;
	return true;
}

bool
nodes_are_up(const struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->config->count; i++)
		if (server_is_up(nodes->members[i].node))
			return true;
	return false;
}

void
nodes_drop(struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->config->count; i++)
		server_drop(nodes->members[i].node);
	if (nodes_are_one(nodes))
		give_up_way(other_way(way_in_use(nodes)));
}

const char *
nodes_error(struct nodes *nodes)
{
	if (nodes->open)
		explain(nodes);
	if (nodes_are_one(nodes) && nodes->error[0] == '\0')
		return server_error(nodes->members[0].node);
	return nodes->error;
}

const char *
nodes_label(const struct nodes *nodes)
{
	return nodes_are_one(nodes) ? server_label(nodes->members[0].node)
				    : nodes->label;
}
