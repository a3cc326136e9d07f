/* A command's way, from slot_send until its reply is delivered:
 *
 *        +--------------- no connection, the next node ---------+
 *        v                                                      |
 *   --> OUT on the owner's connection --ASK--> OUT on the other one --> done
 *        |  ^    |                               |                       ^
 *        |  |    +--MOVED--> WAITS <--MOVED------+                       |
 *        |  |                  |                                         |
 *        |  +------------------+ when nothing is out any more            |
 *        +--any other answer---------------------------------------------+
 */
#include "redis/ways/slot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/ways/cluster.h"

enum { HOPS_MAX = 5 };
/* As for sentinels: an unreachable node must not use up all the time there is,
 * and a distant one must be waited for in the end. */
enum { GREETING_MIN_MS = 1000, GREETING_MAX_MS = 8000 };
/* A short job does not pay for what only a long one may need. */
enum { LEARN_AFTER_MS = 1000, LEARN_MS = 10000, LEARN_TRIES = 3 };
enum { LEARN_BYTES = 1 << 20, FAILURE_MAX = 1024 };

struct kept {
	struct kept *next;
	struct slot *slot;
	struct command command;
	bool waits; /* for the move, then it is sent again */
	bool asked; /* of the node that ASK named */
	int hops;
	size_t tries; /* how often no owner was reached */
	const char *argv[];
};

struct slot {
	struct cluster cluster;
	struct conn *owner;
	struct conn *other; /* where ASK points */
	struct cluster_node other_node;
	struct kept *first;
	size_t out;   /* on the owner's connection */
	bool moving;  /* send again when nothing is out there */
	int dropping; /* nothing that fails is sent again */
	int64_t greeting_ms;
	size_t failed; /* so many nodes in a row failed permanently */
	/* What the present connection to the owner has shown. */
	enum { NODE_UNKNOWN, NODE_MISFIT, NODE_COUNTED } node;
	struct loop *loop;
	struct loop_timer timer; /* learn the other nodes */
	bool learn_next;	 /* before the next command */
	int unlearnt;		 /* how often that failed in a row */
};

static void on_reply(void *arg, const struct reply *reply);
static void on_learn_due(void *arg);

/* --- set-up ----------------------------------------------------------- */

/* Half of the time that is left is for those that come after it. */
static int64_t
greeted_by(struct slot *slot, int64_t deadline)
{
	const struct cluster *cluster = &slot->cluster;
	int64_t now = clock_now();
	int64_t left = deadline - now;

	if (cluster->count > 1)
		left /= 2;
	if (cluster->tried > cluster->count &&
	    slot->greeting_ms < GREETING_MAX_MS)
		slot->greeting_ms *= 2;
	return now + (left < slot->greeting_ms ? left : slot->greeting_ms);
}

static void
start(void *arg, int64_t deadline)
{
	struct slot *slot = arg;
	const struct cluster_node *node = cluster_pick(&slot->cluster);

	slot->node = NODE_UNKNOWN;
	conn_found(slot->owner, node->host, node->port,
	    greeted_by(slot, deadline));
}

static const char *
judge_mode(void *arg, const struct value *value)
{
	struct slot *slot = arg;
	const char *error = value_error(value);

	if (error != NULL && strstr(error, "cluster support disabled")) {
		slot->node = NODE_MISFIT;
		return "it is not in cluster mode (redis://)";
	}
	if (slot->cluster.slot != CLUSTER_ANY_SLOT)
		loop_timer_set(slot->loop, &slot->timer,
		    clock_now() + LEARN_AFTER_MS);
	return NULL;
}

/* ASKING costs a node nothing, as it holds for one command, here CLIENT
 * SETNAME, and a server outside a cluster refuses it. (Valkey 8 accepts
 * READWRITE anywhere.) */
static const struct conn_locator locator = {.start = start,
    .greeting = {.command = "ASKING", .judge = judge_mode, .permanent = true}};

struct slot *
slot_new(struct loop *loop, const struct endpoint *url, const char *key,
    struct conn *conn)
{
	struct slot *slot = calloc(1, sizeof(*slot));
	int number = key == NULL ? CLUSTER_ANY_SLOT : cluster_slot(key);

	if (slot == NULL)
		return NULL;
	slot->loop = loop;
	slot->greeting_ms = GREETING_MIN_MS;
	slot->timer = (struct loop_timer){.on_due = on_learn_due, .arg = slot};
	slot->owner = conn;
	slot->other = conn_new(loop, url);
	if (cluster_init(&slot->cluster, url, number) == -1 ||
	    slot->other == NULL) {
		slot_free(slot);
		return NULL;
	}
	conn_set_locator(conn, &locator, slot);
	return slot;
}

void
slot_free(struct slot *slot)
{
	struct kept *kept, *next;

	if (slot == NULL)
		return;
	loop_timer_remove(slot->loop, &slot->timer);
	conn_free(slot->other);
	for (kept = slot->first; kept != NULL; kept = next) {
		next = kept->next;
		free(kept);
	}
	cluster_fini(&slot->cluster);
	free(slot);
}

/* --- commands that are kept ------------------------------------------- */

/* In one piece: the words lie behind the pointers to them. */
static struct kept *
keep(struct slot *slot, const struct command *command)
{
	size_t count = (size_t)command->argc;
	size_t size = sizeof(struct kept) + count * sizeof(char *);
	struct kept **end = &slot->first;
	struct kept *kept;
	char *word;

	for (size_t i = 0; i < count; i++)
		size += strlen(command->argv[i]) + 1;
	kept = malloc(size);
	if (kept == NULL)
		return NULL;
	*kept = (struct kept){.slot = slot, .command = *command};
	word = (char *)(kept->argv + count);
	for (size_t i = 0; i < count; i++) {
		kept->argv[i] = word;
		word = stpcpy(word, command->argv[i]) + 1;
	}
	kept->command.argv = kept->argv;
	while (*end != NULL)
		end = &(*end)->next;
	*end = kept;
	return kept;
}

static void
forget(struct slot *slot, struct kept *kept)
{
	struct kept **link = &slot->first;

	while (*link != kept)
		link = &(*link)->next;
	*link = kept->next;
	free(kept);
}

/* The last thing that is done with it. */
static void
deliver(struct slot *slot, struct kept *kept, const struct reply *reply)
{
	const struct command command = kept->command;

	forget(slot, kept);
	if (command.on_reply != NULL)
		command.on_reply(command.arg, reply);
}

static void
deliver_silence(struct slot *slot, struct kept *kept,
    const struct reply *silence)
{
	struct reply reply = *silence;

	reply.permanent = slot->failed >= slot->cluster.count;
	deliver(slot, kept, &reply);
}

/* It was not run, as far as we know. */
static void
deliver_failure(struct slot *slot, struct kept *kept, const struct conn *conn)
{
	const struct reply reply = {.kind = REPLY_NONE,
	    .failure = conn_error(conn),
	    .label = conn_label(conn),
	    .sent_at = CLOCK_NEVER};

	deliver_silence(slot, kept, &reply);
}

/* --- sending ---------------------------------------------------------- */

static int
send_kept(struct kept *kept, struct conn *conn, bool more)
{
	struct command command = kept->command;

	if (command.on_reply == NULL)
		command.again = AGAIN_AS_TEXT; /* nobody would ask again */
	command.on_reply = on_reply;
	command.arg = kept;
	command.more = more;
	command.asking = conn == kept->slot->other;
	if (conn_send(conn, &command) == -1)
		return -1;
	kept->asked = command.asking;
	kept->slot->out += !kept->asked;
	kept->waits = false;
	return 0;
}

static struct kept *
first_waiting(struct kept *kept)
{
	while (kept != NULL && !kept->waits)
		kept = kept->next;
	return kept;
}

static void
go_to_owner(struct slot *slot)
{
	struct kept *kept;

	slot->moving = false;
	conn_drop(slot->owner);
	while ((kept = first_waiting(slot->first)) != NULL) {
		bool more = first_waiting(kept->next) != NULL;
		if (send_kept(kept, slot->owner, more) == -1)
			deliver_failure(slot, kept, slot->owner);
	}
}

/* Commands for a node that cannot be asked now follow the first one's ASK. */
static void
send_asking(struct kept *kept, const struct cluster_node *to)
{
	struct slot *slot = kept->slot;
	struct conn *other = slot->other;

	if (slot->other_node.port != to->port ||
	    strcmp(slot->other_node.host, to->host) != 0)
		conn_drop(other);
	if (!conn_is_up(other)) {
		slot->other_node = *to;
		conn_point(other, to->host, to->port);
	}
	if (send_kept(kept, other, false) == -1)
		deliver_failure(slot, kept, other);
}

/* --- following -------------------------------------------------------- */

/* A redirect is not followed for ever. If the node also refused us, that is
 * what is to be mended. */
static void
stop_following(struct kept *kept, const struct reply *redirect)
{
	struct reply reply = *redirect;
	char failure[FAILURE_MAX];

	snprintf(failure, sizeof(failure),
	    "redirected too often, last by %.960s", reply.label);
	reply.failure = failure;
	reply.value = NULL;
	reply.sent_at = CLOCK_NEVER;
	if (reply.kind != REPLY_NO_ACCESS) {
		reply.kind = REPLY_NONE;
		reply.error = NULL;
	}
	deliver_silence(kept->slot, kept, &reply);
}

/* An empty host in a redirect is that of the node which sent it. */
static void
follow(struct kept *kept, const struct reply *reply,
    enum cluster_redirect redirect, struct cluster_node *to)
{
	struct slot *slot = kept->slot;
	const struct conn *from = kept->asked ? slot->other : slot->owner;

	if (*to->host == '\0')
		snprintf(to->host, sizeof(to->host), "%s", conn_host(from));
	if (redirect == CLUSTER_MOVED)
		cluster_moved(&slot->cluster, to);
	if (++kept->hops > HOPS_MAX || clock_now() >= kept->command.deadline) {
		stop_following(kept, reply);
	} else if (redirect == CLUSTER_MOVED) {
		kept->waits = true;
		slot->moving = true;
	} else {
		send_asking(kept, to);
	}
}

/* A command that reached no owner is sent to the next node. */
static void
on_silence(struct kept *kept, const struct reply *reply)
{
	struct slot *slot = kept->slot;
	bool permanent = slot->node == NODE_MISFIT || reply->permanent;
	bool again = !kept->asked && reply->sent_at == CLOCK_NEVER &&
		     slot->dropping == 0 &&
		     kept->tries++ < slot->cluster.count &&
		     clock_now() < kept->command.deadline;

	if (!kept->asked && slot->node != NODE_COUNTED) {
		slot->failed = permanent ? slot->failed + 1 : 0;
		slot->node = NODE_COUNTED;
	}
	if (again && slot->moving)
		kept->waits = true;
	else if (!again || send_kept(kept, slot->owner, false) == -1)
		deliver_silence(slot, kept, reply);
}

static void
on_answer(struct kept *kept, const struct reply *reply)
{
	struct slot *slot = kept->slot;
	const char *error = value_error(reply->value);
	struct cluster_node to;
	enum cluster_redirect redirect =
	    error == NULL ? CLUSTER_NONE : cluster_redirect(error, &to);

	if (!kept->asked)
		slot->failed = 0;
	if (redirect != CLUSTER_NONE) {
		follow(kept, reply, redirect, &to);
		return;
	}
	if (!kept->asked && error != NULL && reply_is_doubtful(error))
		cluster_doubt(&slot->cluster);
	else if (!kept->asked && !slot->moving)
		cluster_confirm(&slot->cluster);
	deliver(slot, kept, reply);
}

static void
on_reply(void *arg, const struct reply *reply)
{
	struct kept *kept = arg;
	struct slot *slot = kept->slot;

	slot->out -= !kept->asked;
	if (reply->value == NULL)
		on_silence(kept, reply);
	else
		on_answer(kept, reply);
	if (slot->moving && slot->out == 0)
		go_to_owner(slot);
}

/* --- the other nodes -------------------------------------------------- */

static void
on_learnt(void *arg, const struct reply *reply)
{
	struct slot *slot = arg;

	if (cluster_learn(&slot->cluster, reply->value) == 0)
		slot->unlearnt = 0;
	else
		slot->unlearnt++;
}

/* It may be refused, or too much for an answer: then the seeds must do. */
static void
learn(struct slot *slot, bool more)
{
	const char *argv[] = {"CLUSTER", "SLOTS"};
	const struct command command = {.argc = 2,
	    .argv = argv,
	    .deadline = clock_now() + LEARN_MS,
	    .on_reply = on_learnt,
	    .arg = slot,
	    .limits = {LEARN_BYTES, CLUSTER_SLOTS},
	    .more = more};

	slot->learn_next = false;
	if (slot->unlearnt >= LEARN_TRIES || !conn_is_up(slot->owner))
		return;
	conn_send(slot->owner, &command);
}

static void
on_learn_due(void *arg)
{
	struct slot *slot = arg;

	if (slot->first != NULL)
		slot->learn_next = true;
	else
		learn(slot, false);
}

/* --- the calls -------------------------------------------------------- */

int
slot_send(struct slot *slot, const struct command *command)
{
	struct kept *kept = keep(slot, command);

	if (kept == NULL)
		return -1;
	if (slot->moving) {
		kept->waits = true;
		return 0;
	}
	if (slot->learn_next)
		learn(slot, true);
	if (send_kept(kept, slot->owner, command->more) == 0)
		return 0;
	forget(slot, kept);
	return -1;
}

bool
slot_is_up(const struct slot *slot)
{
	return conn_is_up(slot->owner) && !slot->moving;
}

/* A handler may send anew: that stays. */
void
slot_drop(struct slot *slot)
{
	struct kept *kept;

	slot->dropping++;
	slot->moving = false;
	conn_drop(slot->owner);
	conn_drop(slot->other);
	while ((kept = first_waiting(slot->first)) != NULL)
		deliver_failure(slot, kept, slot->owner);
	slot->dropping--;
}
