#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/way.h"
#include "redis/way_kind.h"
#include "redis/ways/cluster.h"

/* As for sentinels: an unreachable node must not use up all the time there is,
 * and a distant one must be waited for in the end. */
enum { GREETING_MIN_MS = 1000, GREETING_MAX_MS = 8000 };
/* A short job does not pay for what only a long one may need. */
enum { LEARN_AFTER_MS = 1000, LEARN_MS = 10000, LEARN_TRIES = 3 };
enum { LEARN_BYTES = 1 << 20 };

struct slot {
	struct cluster cluster;
	struct way *owner;
	struct way *other;	       /* to where ASK has pointed */
	struct url_address other_node; /* the node there */
	struct url_address asked_node; /* the one that ASK has named last */
	int64_t greeting_ms;
	size_t missed; /* so many nodes, since an owner answered */
	size_t failed; /* so many nodes in a row failed permanently */
	/* What the present connection to the owner has shown. */
	enum { NODE_UNKNOWN, NODE_MISFIT, NODE_COUNTED } node;
	struct loop *loop;
	struct loop_timer timer; /* learn the other nodes */
	bool learn_next;	 /* before the next command */
	int unlearnt;		 /* how often that failed in a row */
};

static void on_learn_due(void *arg);
static void learn(struct slot *slot);

/* --- the next node ----------------------------------------------------- */

/* Half of the time that is left is for the nodes that come after it. */
static void
start(void *arg, int64_t deadline)
{
	struct slot *slot = arg;
	struct cluster *cluster = &slot->cluster;
	const struct url_address *node = cluster_pick(cluster);
	int64_t now = clock_now(), left_ms = deadline - now;

	if (cluster->count > 1)
		left_ms /= 2;
	if (cluster->tried > cluster->count &&
	    slot->greeting_ms < GREETING_MAX_MS)
		slot->greeting_ms *= 2;
	slot->node = NODE_UNKNOWN;
	way_found(slot->owner, node->host, node->port,
	    now + clock_min(left_ms, slot->greeting_ms));
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

/* --- what answers say about the place ---------------------------------- */

/* An empty host in a redirect is that of the node which sent it. */
static enum again
heed_redirect(struct slot *slot, const struct way *from, const char *error)
{
	struct url_address to;
	enum cluster_redirect redirect =
	    error == NULL ? CLUSTER_NONE : cluster_redirect(error, &to);

	if (redirect == CLUSTER_NONE)
		return AGAIN_NO;
	if (*to.host == '\0')
		snprintf(to.host, sizeof(to.host), "%s", way_host(from));
	if (redirect == CLUSTER_ASK) {
		slot->asked_node = to;
		return AGAIN_ASKING;
	}
	cluster_moved(&slot->cluster, &to);
	return AGAIN_AT_OWNER;
}

static enum again
heed_owner(void *arg, const char *error)
{
	struct slot *slot = arg;
	enum again again = heed_redirect(slot, slot->owner, error);

	slot->failed = 0;
	if (again != AGAIN_NO)
		return again;
	slot->missed = 0;
	if (slot->learn_next)
		learn(slot);
	if (error != NULL && reply_is_doubtful(error))
		cluster_doubt(&slot->cluster);
	else
		cluster_confirm(&slot->cluster);
	return AGAIN_NO;
}

static enum again
heed_other(void *arg, const char *error)
{
	struct slot *slot = arg;
	enum again again = heed_redirect(slot, slot->other, error);

	if (again == AGAIN_AT_OWNER)
		way_leave(slot->owner);
	return again;
}

/* It is permanent when all nodes have failed so, one after the other. */
static bool
miss_owner(void *arg, bool *permanent)
{
	struct slot *slot = arg;
	bool misfit = slot->node == NODE_MISFIT;

	if (slot->node != NODE_COUNTED)
		slot->failed = *permanent || misfit ? slot->failed + 1 : 0;
	slot->node = NODE_COUNTED;
	*permanent = slot->failed >= slot->cluster.count;
	if (slot->missed++ < slot->cluster.count)
		return true;
	slot->missed = 0;
	return false;
}

static void
start_other(void *arg, int64_t deadline)
{
	struct slot *slot = arg;

	(void)deadline;
	way_found(slot->other, slot->other_node.host, slot->other_node.port,
	    CLOCK_NEVER);
}

static const struct way_kind way_asked = {.locate = start_other,
    .heed = heed_other};

/* --- set-up and end ---------------------------------------------------- */

static void
slot_end(void *arg)
{
	struct slot *slot = arg;

	loop_timer_remove(slot->loop, &slot->timer);
	way_free(slot->other);
	cluster_fini(&slot->cluster);
	free(slot);
}

static void *
slot_begin(struct way *way, struct loop *loop, const struct endpoint *url,
    const char *key)
{
	struct slot *slot = calloc(1, sizeof(*slot));
	int number = key == NULL ? CLUSTER_ANY_SLOT : cluster_slot(key);

	if (slot == NULL)
		return NULL;
	slot->loop = loop;
	slot->greeting_ms = GREETING_MIN_MS;
	slot->timer = (struct loop_timer){.on_due = on_learn_due, .arg = slot};
	slot->owner = way;
	slot->other = way_new_of(loop, url, &way_asked, slot);
	if (cluster_init(&slot->cluster, url, number) == 0 &&
	    slot->other != NULL)
		return slot;
	slot_end(slot);
	return NULL;
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
learn(struct slot *slot)
{
	static const char *const words[] = {"CLUSTER", "SLOTS", NULL};
	const struct command command = {.words = words,
	    .deadline = clock_now() + LEARN_MS,
	    .on_reply = on_learnt,
	    .arg = slot,
	    .limits = {LEARN_BYTES, CLUSTER_SLOTS}};

	slot->learn_next = false;
	if (slot->unlearnt < LEARN_TRIES && way_is_up(slot->owner))
		way_send(slot->owner, &command);
}

/* Not while a command is blocked on the server. */
static void
on_learn_due(void *arg)
{
	struct slot *slot = arg;

	if (way_is_idle(slot->owner))
		learn(slot);
	else
		slot->learn_next = true;
}

/* --- the kind ------------------------------------------------------------ */

/* One command each: who stayed where ASK points would find a lock free that has
 * not migrated yet. While the former node owes a reply, the owner is asked once
 * more, which names the next one again. */
static struct way *
asked(void *arg)
{
	struct slot *slot = arg;
	struct url_address *at = &slot->other_node;

	if (at->port != slot->asked_node.port ||
	    strcmp(at->host, slot->asked_node.host) != 0) {
		if (!way_is_idle(slot->other))
			return slot->owner;
		way_drop(slot->other);
	}
	*at = slot->asked_node;
	return slot->other;
}

/* ASKING costs a node nothing, as it holds for one command, here CLIENT
 * SETNAME, and a server outside a cluster refuses it. (Valkey 8 accepts
 * READWRITE anywhere.) */
const struct way_kind way_slot = {.begin = slot_begin,
    .end = slot_end,
    .locate = start,
    .greeting = {.command = "ASKING", .judge = judge_mode, .permanent = true},
    .heed = heed_owner,
    .miss = miss_owner,
    .asked = asked};
