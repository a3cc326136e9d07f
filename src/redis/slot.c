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
#include "redis/slot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOPS_MAX = 5 };
/* As for sentinels: one that is away must not cost all the time there is, and
 * one that is far away must be heard in the end. */
enum { GREETING_MIN_MS = 1000, GREETING_MAX_MS = 8000 };
/* A short job doesn't pay for what only a long one may need. */
enum { LEARN_AFTER_MS = 1000, LEARN_MS = 10000, LEARN_TRIES = 3 };
enum { LEARN_BYTES = 1 << 20, FAILURE_MAX = 1024 };

/* A connection to whichever node it is pointed at. */
struct line {
	struct conn *conn;
	struct endpoint to; /* borrows credentials from the URL */
	char host[CLUSTER_HOST_SIZE];
	char label[CLUSTER_LABEL_SIZE];
};

struct kept {
	struct kept *next;
	struct slot *slot;
	struct conn_command command;
	bool waits; /* for the move, then it is sent again */
	int hops;
	size_t tries; /* how often nobody was reached */
	const char *argv[];
};

struct slot {
	const struct endpoint *url;
	struct cluster cluster;
	struct line owner;
	struct line other; /* where ASK points */
	struct conn_locator locator;
	struct kept *first;
	size_t out;   /* on the owner's connection */
	bool moving;  /* send again when nothing is out there */
	int dropping; /* nothing that fails is sent again */
	int64_t greeting_ms;
	bool unfit;	 /* the node that was picked is none of a cluster */
	size_t hopeless; /* so many in a row can't be used, now or later */
	bool counted;	 /* the present connection is, if it fails */
	struct loop *loop;
	struct loop_timer timer; /* learn who else there is */
	bool learn_next;	 /* before the next command */
	int unlearnt;		 /* how often that failed in a row */
};

static void on_answer(void *arg, const struct reply *reply);
static void on_asked(void *arg, const struct reply *reply);

/* --- set-up ----------------------------------------------------------- */

static void
point(struct line *line, const struct cluster_node *node)
{
	memcpy(line->host, node->host, sizeof(line->host));
	cluster_describe(node, line->to.tls, line->label);
	line->to.host = line->host;
	line->to.port = node->port;
	line->to.label = line->label;
}

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
start_locating(void *arg, int64_t deadline)
{
	struct slot *slot = arg;

	slot->unfit = false;
	slot->counted = false;
	point(&slot->owner, cluster_pick(&slot->cluster));
	conn_found(slot->owner.conn, greeted_by(slot, deadline));
}

/* It is told where to look before this could be called. */
static void
cancel_locating(void *arg)
{
	(void)arg;
}

/* ASKING costs a node nothing, as it holds for one command, here CLIENT
 * SETNAME, and tells one that is none. (Valkey 8 takes READWRITE anywhere.) */
static const char *
judge_mode(void *arg, const struct value *value)
{
	struct slot *slot = arg;
	const char *error = value_error(value);

	slot->unfit =
	    error != NULL && strstr(error, "cluster support disabled");
	if (slot->unfit)
		return "it is not in cluster mode (redis://)";
	if (slot->cluster.slot != CLUSTER_ANY_SLOT)
		loop_timer_set(slot->loop, &slot->timer,
		    clock_now() + LEARN_AFTER_MS);
	return NULL;
}

static void on_learn_due(void *arg);

static void
init_line(struct line *line, struct loop *loop, const struct endpoint *url)
{
	line->to = *url;
	line->conn = conn_new(loop, &line->to);
}

struct slot *
slot_new(struct loop *loop, const struct endpoint *url, const char *key)
{
	static const char *const asking[] = {"ASKING", NULL};
	struct slot *slot = calloc(1, sizeof(*slot));
	int number = key == NULL ? CLUSTER_ANY_SLOT : cluster_slot(key);

	if (slot == NULL)
		return NULL;
	slot->loop = loop;
	slot->url = url;
	slot->greeting_ms = GREETING_MIN_MS;
	slot->timer = (struct loop_timer){.on_due = on_learn_due, .arg = slot};
	init_line(&slot->owner, loop, url);
	init_line(&slot->other, loop, url);
	if (cluster_init(&slot->cluster, url, number) == -1 ||
	    slot->owner.conn == NULL || slot->other.conn == NULL) {
		slot_free(slot);
		return NULL;
	}
	slot->locator = (struct conn_locator){.start = start_locating,
	    .cancel = cancel_locating,
	    .greeting = asking,
	    .judge = judge_mode,
	    .for_good = true,
	    .arg = slot};
	conn_set_locator(slot->owner.conn, &slot->locator);
	return slot;
}

void
slot_free(struct slot *slot)
{
	struct kept *kept, *next;

	if (slot == NULL)
		return;
	loop_timer_remove(slot->loop, &slot->timer);
	conn_free(slot->owner.conn);
	conn_free(slot->other.conn);
	for (kept = slot->first; kept != NULL; kept = next) {
		next = kept->next;
		free(kept);
	}
	cluster_fini(&slot->cluster);
	free(slot);
}

void
slot_allow(struct slot *slot, size_t bytes, size_t elements)
{
	conn_allow(slot->owner.conn, bytes, elements);
	conn_allow(slot->other.conn, bytes, elements);
}

/* --- commands that are kept ------------------------------------------- */

/* In one piece: the words lie behind the pointers to them. */
static struct kept *
copy(struct slot *slot, const struct conn_command *command)
{
	size_t count = (size_t)command->argc;
	size_t size = sizeof(struct kept) + count * sizeof(char *);
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
	return kept;
}

static struct kept *
keep(struct slot *slot, const struct conn_command *command)
{
	struct kept *kept = copy(slot, command);
	struct kept **end = &slot->first;

	if (kept == NULL)
		return NULL;
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
deliver(struct kept *kept, const struct reply *reply)
{
	const struct conn_command command = kept->command;

	forget(kept->slot, kept);
	if (command.on_reply != NULL)
		command.on_reply(command.arg, reply);
}

static bool
is_permanent(const struct slot *slot)
{
	return slot->hopeless >= slot->cluster.count;
}

/* It was not run, as far as we know. */
static void
deliver_failure(struct kept *kept, const struct line *line, const char *failure)
{
	const struct reply reply = {.kind = REPLY_NONE,
	    .failure = failure,
	    .label = line->to.label,
	    .sent_at = CLOCK_NEVER,
	    .permanent = is_permanent(kept->slot)};

	deliver(kept, &reply);
}

static void
deliver_silence(struct kept *kept, const struct reply *silence)
{
	struct reply reply = *silence;

	reply.permanent = is_permanent(kept->slot);
	deliver(kept, &reply);
}

/* --- sending ---------------------------------------------------------- */

static int
send_to_owner(struct kept *kept, bool more)
{
	struct conn_command command = kept->command;

	command.on_reply = on_answer;
	command.arg = kept;
	command.more = more;
	if (conn_send(kept->slot->owner.conn, &command) == -1)
		return -1;
	kept->waits = false;
	kept->slot->out++;
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
	conn_drop(slot->owner.conn);
	while ((kept = first_waiting(slot->first)) != NULL) {
		bool more = first_waiting(kept->next) != NULL;
		if (send_to_owner(kept, more) == -1)
			deliver_failure(kept, &slot->owner, slot_error(slot));
	}
}

static void
go_when_all_is_answered(struct slot *slot)
{
	if (slot->moving && slot->out == 0)
		go_to_owner(slot);
}

/* Whoever can't be asked now is asked as often as by a first ASK. */
static int
send_asking(struct kept *kept, const struct cluster_node *to)
{
	struct line *line = &kept->slot->other;
	const char *asking[] = {"ASKING"};
	struct conn_command command = kept->command;
	const struct conn_command before = {.argc = 1,
	    .argv = asking,
	    .deadline = command.deadline,
	    .more = true};

	if (line->to.port != to->port || strcmp(line->host, to->host) != 0)
		conn_drop(line->conn);
	if (!conn_is_up(line->conn))
		point(line, to);
	command.on_reply = on_asked;
	command.arg = kept;
	command.more = false;
	if (conn_send(line->conn, &before) == -1)
		return -1;
	return conn_send(line->conn, &command);
}

/* --- following -------------------------------------------------------- */

static bool
may_hop(struct kept *kept, const struct line *from)
{
	char failure[FAILURE_MAX];

	if (++kept->hops <= HOPS_MAX && clock_now() < kept->command.deadline)
		return true;
	snprintf(failure, sizeof(failure), "redirected too often, last by %s",
	    from->label);
	deliver_failure(kept, from, failure);
	return false;
}

/* An empty host is that of whoever says so. */
static void
follow(struct kept *kept, const struct line *from, enum cluster_redirect said,
    struct cluster_node *to)
{
	struct slot *slot = kept->slot;

	if (*to->host == '\0')
		memcpy(to->host, from->host, sizeof(to->host));
	if (said == CLUSTER_MOVED)
		cluster_moved(&slot->cluster, to);
	if (!may_hop(kept, from))
		return;
	if (said == CLUSTER_MOVED) {
		kept->waits = true;
		slot->moving = true;
	} else if (send_asking(kept, to) == -1) {
		deliver_failure(kept, &slot->other,
		    conn_error(slot->other.conn));
	}
}

/* After these somebody else may be the owner, and the others know. */
static bool
is_doubtful(const char *error)
{
	static const char *const doubts[] = {"CLUSTERDOWN", "LOADING",
	    "MASTERDOWN", "READONLY", "UNBLOCKED"};

	for (size_t i = 0; i < sizeof(doubts) / sizeof(*doubts); i++)
		if (strncmp(error, doubts[i], strlen(doubts[i])) == 0)
			return true;
	return false;
}

/* What reached nobody is sent to the next node. */
static void
on_silence(struct kept *kept, const struct reply *reply)
{
	struct slot *slot = kept->slot;
	bool hopeless = slot->unfit || reply->permanent;
	bool again = reply->sent_at == CLOCK_NEVER && slot->dropping == 0 &&
		     kept->tries++ < slot->cluster.count &&
		     clock_now() < kept->command.deadline;

	if (!slot->counted)
		slot->hopeless = hopeless ? slot->hopeless + 1 : 0;
	slot->counted = true;
	if (again && slot->moving)
		kept->waits = true;
	else if (!again || send_to_owner(kept, false) == -1)
		deliver_silence(kept, reply);
}

static void
on_answer(void *arg, const struct reply *reply)
{
	struct kept *kept = arg;
	struct slot *slot = kept->slot;
	const char *error = value_error(reply->value);
	struct cluster_node to;
	enum cluster_redirect said =
	    error == NULL ? CLUSTER_NONE : cluster_redirect(error, &to);

	slot->out--;
	if (reply->value != NULL)
		slot->hopeless = 0;
	if (reply->value == NULL) {
		on_silence(kept, reply);
	} else if (said != CLUSTER_NONE) {
		follow(kept, &slot->owner, said, &to);
	} else {
		if (error != NULL && is_doubtful(error))
			cluster_doubt(&slot->cluster);
		else if (!slot->moving)
			cluster_confirm(&slot->cluster);
		deliver(kept, reply);
	}
	go_when_all_is_answered(slot);
}

static void
on_asked(void *arg, const struct reply *reply)
{
	struct kept *kept = arg;
	struct slot *slot = kept->slot;
	const char *error = value_error(reply->value);
	struct cluster_node to;
	enum cluster_redirect said =
	    error == NULL ? CLUSTER_NONE : cluster_redirect(error, &to);

	if (reply->value == NULL)
		deliver_silence(kept, reply);
	else if (said == CLUSTER_NONE)
		deliver(kept, reply);
	else
		follow(kept, &slot->other, said, &to);
	go_when_all_is_answered(slot);
}

/* --- who else there is ------------------------------------------------ */

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
	const struct conn_command command = {.argc = 2,
	    .argv = argv,
	    .deadline = clock_now() + LEARN_MS,
	    .on_reply = on_learnt,
	    .arg = slot,
	    .more = more};

	slot->learn_next = false;
	if (slot->unlearnt >= LEARN_TRIES || !conn_is_up(slot->owner.conn))
		return;
	slot_allow(slot, LEARN_BYTES, CLUSTER_SLOTS);
	conn_send(slot->owner.conn, &command);
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
slot_send(struct slot *slot, const struct conn_command *command)
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
	if (send_to_owner(kept, command->more) == 0)
		return 0;
	forget(slot, kept);
	return -1;
}

bool
slot_is_up(const struct slot *slot)
{
	return conn_is_up(slot->owner.conn) && !slot->moving;
}

/* A callback may send anew: that stays. */
void
slot_drop(struct slot *slot)
{
	struct kept *kept;

	slot->dropping++;
	slot->moving = false;
	conn_drop(slot->owner.conn);
	conn_drop(slot->other.conn);
	while ((kept = first_waiting(slot->first)) != NULL)
		deliver_failure(kept, &slot->owner, slot_error(slot));
	slot->dropping--;
}

const char *
slot_error(const struct slot *slot)
{
	return conn_error(slot->owner.conn);
}

const char *
slot_label(const struct slot *slot)
{
	return conn_label(slot->owner.conn);
}

int
slot_primaries(const struct slot *slot, const struct value *slots,
    struct cluster_node **primaries)
{
	return cluster_primaries(slots, slot->owner.host, primaries);
}
