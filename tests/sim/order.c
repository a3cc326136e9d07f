#include "order.h"

#include <inttypes.h>

#include "actor.h"
#include "guarded.h"
#include "known.h"
#include "node.h"
#include "options/opts.h"

/* The longest way in a calm world, and the longest turn. */
#define WAY (900)
#define TURN (400)
/* On the server, from the release to the grant: a doorbell to the waiter and
 * its request, which are a round trip, and a millisecond. */
#define HAND_OVER (2 * WAY + WORLD_MS)
/* What follows a reply waits for the replicas, too: their link, and theirs. */
#define REPLICATED (1500 + 900)
/* The request went in parts, each of which takes a turn and a way. */
#define IN_PARTS (2 * (WAY + TURN))
/* The holder has to be told who is the first: the reply to its release, and a
 * request to wake that one. */
#define NAMED (2 * WAY + TURN)
/* And a replica has confirmed its release before that: a link and a reply. */
#define CONFIRMED (1500 + WAY)
/* The waiter's heartbeat was on its way: that has to come back first. */
#define CROSSED (3 * WAY + 2 * TURN)

/* --- first come, first served -----------------------------------------------
 */

static void
check_turn(const struct actor *actor)
{
	const char *key = actor->opts->keys[0].key;

	if (!world.calm || known_has_majority() || !actor_waits_plainly(actor))
		return;
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *other = actor_number(i);
		if (other->state == ACTOR_ALIVE && other->granted_at < 0 &&
		    actor_waits_plainly(other) && actor_has_key(other, key) &&
		    other->begun_at + SAME_TIME < actor->begun_at)
			world_find("first come, first served",
			    "%s starts before %s, which came %" PRId64
			    " ms earlier",
			    actor->name, other->name,
			    (actor->begun_at - other->begun_at) / WORLD_MS);
	}
}

/* --- how soon ---------------------------------------------------------------
 */

/* One that was first has left instead of taking the lock, at that time. */
static bool
has_given_way(const char *key, const struct seen *seen)
{
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *actor = actor_number(i);
		/* One that has lengthened another's pause keeps its place at
		 * the front until it ends, and sends no heartbeats. */
		if (actor_has_word(actor, "--pause") && actor->begun_at >= 0 &&
		    actor->begun_at < seen->taken_at &&
		    (actor->state == ACTOR_ALIVE ||
			actor->ended_at > seen->freed_at - SAME_TIME))
			return true;
		if (actor_has_key(actor, key) && actor->granted_at < 0 &&
		    actor->state == ACTOR_ENDED &&
		    actor->ended_at > seen->freed_at - SAME_TIME &&
		    actor->ended_at < seen->taken_at + SAME_TIME)
			return true;
	}
	return false;
}

/* Whether it had the lock, or took it away from others. Otherwise it has found
 * that a lease was over. */
static bool
has_freed(const struct actor *actor)
{
	return actor != NULL &&
	       (actor->granted_at >= 0 || actor_has_word(actor, "--resume") ||
		   actor_has_word(actor, "--force-release"));
}

/* The queue has changed since the holder looked at it last, with a renewal. */
static bool
is_news(const char *key, const struct seen *seen)
{
	const struct opts *opts = seen->freed_by->opts;
	int64_t since = seen->freed_at;

	if (opts == NULL || opts->action != OPTS_RUN)
		return true;
	since -= opts->lock.ttl_ms * WORLD_MS / 2;
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *actor = actor_number(i);
		bool came =
		    actor->begun_at > since ||
		    (actor->granted_at > since && actor != seen->freed_by);
		bool left = actor->state == ACTOR_ENDED &&
			    actor->granted_at < 0 && actor->ended_at > since;
		if ((came || left) && (actor_has_key(actor, key) ||
					  actor_has_word(actor, "--pause")))
			return true;
	}
	return false;
}

static void
check_hand_over(const struct actor *actor)
{
	const char *key = actor->opts->keys[0].key;
	const struct seen *seen = seen_of(key);
	int64_t took = seen->taken_at - seen->freed_at, most = HAND_OVER;
	const struct opts *by; /* NULL: that of a foreign client */

	if (!world.calm || known_has_majority() ||
	    !actor_waits_plainly(actor) || !has_freed(seen->freed_by) ||
	    actor->begun_at + SAME_TIME > seen->freed_at ||
	    has_given_way(key, seen))
		return;
	by = seen->freed_by->opts;
	/* The request to wake it: nobody waits to see that off. */
	if (seen->freed_by->broke_off_at >= seen->freed_at)
		return;
	if (actor->opts->lock.replicas > 0)
		most += REPLICATED;
	if (is_news(key, seen))
		most +=
		    NAMED + (by != NULL && by->lock.replicas > 0) * CONFIRMED;
	/* An administrator's ring is a script that the server may not know. */
	if (by == NULL || by->action != OPTS_RUN)
		most += NAMED;
	if (actor->parted_at >= seen->freed_at ||
	    seen->freed_by->parted_at >= seen->freed_at)
		most += IN_PARTS;
	if (actor->crossed_at == seen->freed_at)
		most += CROSSED;
	if (took > most)
		world_find("woken within a millisecond or so",
		    "%s gets %s %" PRId64 " us after it was free", actor->name,
		    key, took);
}

/* --- at which cost -----------------------------------------------------------
 */

/* A plain run that nobody competes with costs at most that much, from its
 * start to its end, if the servers know its scripts. */
static const struct cost bounds[KINDS_OF_SERVERS] = {
    /* CLIENT SETNAME, acquire, release. */
    [ONE] = {.requests = 3, .calls = 18, .sent = 847, .received = 110},
    /* Of each: INFO, too, a release that travels as text, and where a server
     * was not needed for the majority its record. */
    [REDLOCK] = {.requests = 5, .calls = 17, .sent = 9000, .received = 320},
    /* A sentinel's reply, and ROLE. */
    [SENTINEL] = {.requests = 6, .calls = 18, .sent = 967, .received = 205},
    /* CLUSTER MYID. */
    [CLUSTER] = {.requests = 4, .calls = 18, .sent = 857, .received = 115},
};
/* WAIT behind both. */
static const struct cost wait_replicas = {2, 0, 70, 10};

static bool
is_plain(const struct actor *actor)
{
	const struct opts *opts = actor->opts;

	return opts->lock.kind == &kind_exclusive && opts->key_count == 1 &&
	       actor->outer == NULL && opts->lock.once_ms == 0 &&
	       opts->lock.once_id == NULL && !opts->lock.newest &&
	       !opts->lock.replace && !opts->lock.replaceable &&
	       opts->min_hold_ms == 0 && opts->splay_ms == 0 &&
	       opts->lock.expect_ms == CONFIG_EXPECT_UNSTATED &&
	       actor->is_released;
}

/* Whether the other one makes it wait, or has left the lock in another form, or
 * its entry beside the lock. */
static bool
competes(const struct actor *actor, const struct actor *other)
{
	const char *key = actor->opts->keys[0].key;

	if (other == actor || other->begun_at < 0 ||
	    other->begun_at > actor->ended_at)
		return false;
	return other->state == ACTOR_ALIVE ||
	       other->ended_at >= actor->begun_at || other->is_left ||
	       (other->opts != NULL &&
		   (other->opts->lock.kind != &kind_exclusive ||
		       other->opts->min_hold_ms > 0)) ||
	       known_may_hold(other, key, actor->begun_at, actor->ended_at);
}

static void
check_cost(const struct actor *actor)
{
	const struct cost *cost = &actor->cost;
	struct cost most = bounds[known_servers()];
	int64_t servers = known_has_majority() ? node_count() : 1;
	bool is_first = true;

	if (!world.calm || !is_plain(actor) ||
	    seen_of(actor->opts->keys[0].key)->had_foreign ||
	    actor->ended_at - actor->begun_at >
		actor->opts->lock.ttl_ms * WORLD_MS / 12)
		return; /* it has renewed its lease */
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *other = actor_number(i);
		if (competes(actor, other))
			return;
		if (other->ended_at < actor->begun_at && other->is_released &&
		    actor_has_key(other, actor->opts->keys[0].key))
			is_first = false;
	}
	if (is_first)
		return;
	if (actor->opts->lock.replicas > 0) {
		most.requests += wait_replicas.requests;
		most.sent += wait_replicas.sent;
		most.received += wait_replicas.received;
	}
	if (cost->requests > most.requests * servers ||
	    cost->calls > most.calls * servers ||
	    cost->sent > most.sent * servers ||
	    cost->received > most.received * servers)
		world_find("a run costs no more than it must",
		    "%s: %" PRId64 " requests, %" PRId64 " calls, %" PRId64
		    " and %" PRId64 " bytes",
		    actor->name, cost->requests, cost->calls, cost->sent,
		    cost->received);
}

/* ------------------------------------------------------------------------- */

void
order_on_job_started(const struct actor *actor)
{
	check_turn(actor);
	check_hand_over(actor);
}

void
order_at_end(const struct actor *actor)
{
	check_cost(actor);
}
