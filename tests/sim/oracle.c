#include "oracle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "base/exitcode.h"
#include "guarded.h"
#include "known.h"
#include "node.h"
#include "order.h"
#include "policies.h"
#include "run/event.h"
#include "tellings.h"

enum { EXPECTED = 16 };
/* kill -9 of rlockrun: the command is dead so soon. */
#define KILLED (50 * WORLD_MS)
/* A request that arrived at most so long ago, and its reply has not. */
#define CROSSING (5 * WORLD_MS)

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): one stage a world */
static struct {
	struct {
		const char *run, *status;
	} expected[EXPECTED];
	size_t expectations;
	int64_t refused_until; /* a server refused some commands */
} stage;

/* --- one at a time ---- */

static const struct actor *
outermost(const struct actor *actor)
{
	while (actor->outer != NULL && actor->outer != actor)
		actor = actor->outer;
	return actor;
}

static bool
runs_under(const struct actor *actor, const char *key)
{
	return guarded_command_runs(actor) && actor_has_key(actor, key);
}

/* Runs of one nest have one permit. */
static bool
is_counted(const struct actor *actor, const char *key)
{
	for (int i = 0; i < actor->number; i++)
		if (outermost(actor_number(i)) == outermost(actor) &&
		    runs_under(actor_number(i), key))
			return true;
	return false;
}

/* It has warned that its outer run cannot see it, which may free the lock under
 * it: it could not join again until then, or does not try to, as access was
 * denied. */
static bool
is_hidden(const struct actor *actor)
{
	return actor->is_hidden &&
	       (actor->is_plain || actor->proved[1] <= stage.refused_until ||
		   (actor->outer != NULL && actor->outer->is_plain));
}

static void
check_alone(const struct actor *actor, const char *key)
{
	int others = 0;

	if (seen_of(key)->is_foreign &&
	    actor->opts->lock.kind == &kind_exclusive)
		world_find("one at a time",
		    "%s runs beside a foreign holder of %s", actor->name, key);
	if (known_is_excused(actor))
		return;
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *other = actor_number(i);
		if (outermost(other) == outermost(actor) ||
		    !runs_under(other, key) || known_is_excused(other) ||
		    is_hidden(other))
			continue;
		others += !is_counted(other, key);
		if (!actor_may_share(actor, other, others))
			world_find("one at a time",
			    "%s starts under %s while the job of %s runs",
			    actor->name, key, other->name);
	}
}

/* --- fences grow --- */

/* The last fence was forgotten since, and clocks may differ or were set. */
static bool
may_fall(const struct actor *actor, int64_t since)
{
	const char *info = world_format("{%s}:rlk:i", actor->opts->keys[0].key);

	return (actor->opts->lock.replicas == 0 && known_has_lost(since)) ||
	       known_has_stepped(since) || seen_of(info)->stolen_at >= since;
}

static void
check_fence(const struct actor *actor)
{
	struct seen *seen = seen_of(actor->opts->keys[0].key);
	int64_t fence = strtoll(actor->guarded->fence, NULL, 10);

	if (actor->opts->lock.kind != &kind_exclusive ||
	    actor->opts->key_count != 1 || fence == 0 || actor->outer != NULL)
		return; /* those of others are granted in one order, and start
			   in another */
	if (fence <= seen->fence && !may_fall(actor, seen->fence_at) &&
	    !known_is_excused(actor))
		world_find("fences grow", "%s has %" PRId64 " after %" PRId64,
		    actor->name, fence, seen->fence);
	seen->fence = fence;
	seen->fence_at = world.now;
}

/* --- the job never outlives the lease ---- */

/* On how many servers the key has that token. */
static int
count_holding(const char *key, const char *token)
{
	int count = 0;

	for (int i = 0; i < node_count(); i++) {
		if (node_number(i)->is_sentinel ||
		    node_number(i)->primary != NULL)
			continue;
		const char *reply = node_execute(node_number(i),
		    (const char *const[]){"GET", key, NULL});
		if (strstr(reply, token) != NULL)
			count++;
	}
	return count;
}

/* Who holds an exclusive lock has its token in the key until the job has ended.
 */
static void
check_lease(struct actor *actor)
{
	const char *key = actor->opts->keys[0].key;
	const char *token = actor->guarded->token;

	if (actor->opts->lock.kind != &kind_exclusive ||
	    actor->opts->key_count != 1 || *token == '\0' ||
	    actor->outer != NULL ||
	    (known_has_majority() && known_suffers_loss(actor)) ||
	    count_holding(key, token) >=
		(known_has_majority() ? node_count() / 2 + 1 : 1))
		return;
	actor->is_lost = world.calm;
	if (!known_is_excused(actor))
		world_find("the job never outlives the lease",
		    "the job of %s ends, and %s no longer has its token",
		    actor->name, key);
}

/* --- what is left ---- */

/* Every key has a life. */
static void
check_left(struct node *node)
{
	const char *reply = node_execute(node,
	    (const char *const[]){"EVAL",
		"for _, k in ipairs(redis.call('KEYS', '*')) do "
		"if redis.call('PTTL', k) < 0 then return k end end "
		"return ''",
		"0", NULL});

	if (strncmp(reply, "$0\r\n", 4) != 0)
		world_find("nothing is left", "on %s: %s", node->name, reply);
}

static bool
is_queued(const struct actor *actor, const char *key)
{
	const char *queue = world_format("{%s}:rlk:q", key);
	const char *host = world_format("@%s\r\n", actor->name);

	for (int i = 0; i < node_count(); i++) {
		if (node_number(i)->is_sentinel ||
		    node_number(i)->primary != NULL)
			continue;
		const char *reply = node_execute(node_number(i),
		    (const char *const[]){"ZRANGE", queue, "0", "-1", NULL});
		if (strstr(reply, host) != NULL)
			return true;
	}
	return false;
}

/* Who has ended waits for nothing, and whose lock was released has none: others
 * would have to wait until it counts as dead. The release of a minority may be
 * on its way. */
static void
check_gone(const struct actor *actor)
{
	const char *token = actor->guarded != NULL ? actor->guarded->token : "";
	int most = known_has_majority() ? node_count() / 2 : 0;

	if (!world.calm || actor->opts == NULL || !actor_is_run(actor))
		return;
	for (size_t i = 0; i < actor->opts->key_count; i++) {
		const char *key = actor->opts->keys[i].key;

		if (is_queued(actor, key))
			world_find("who leaves is gone",
			    "%s has ended, and is queued for %s", actor->name,
			    key);
		if (*token != '\0' && actor->is_released && !actor->is_left &&
		    actor->opts->min_hold_ms == 0 && actor->outer == NULL &&
		    count_holding(key, token) > most)
			world_find("who leaves is gone",
			    "%s has ended, and holds %s", actor->name, key);
	}
}

/* --- where they are asked ---- */

/* They end with the run; what is asked of them here does not. */
static const struct opts *
copy_of(const struct opts *opts)
{
	struct opts *copy = world_alloc(sizeof(*copy));

	*copy = *opts;
	for (size_t i = 0; i < opts->key_count; i++)
		copy->keys[i].key =
		    world_copy(opts->keys[i].key, strlen(opts->keys[i].key));
	if (opts->lock.once_id != NULL)
		copy->lock.once_id =
		    world_copy(opts->lock.once_id, strlen(opts->lock.once_id));
	return copy;
}

void
oracle_on_event(struct actor *actor, const struct events *events,
    const struct event *event)
{
	if (events->facts != NULL && actor->opts == NULL)
		actor->opts = copy_of(events->facts->opts);
	if (event->type == EVENT_ACQUIRED && actor->granted_at < 0)
		actor->granted_at = world.now;
	if (event->type == EVENT_UNCONFIRMED ||
	    event->type == EVENT_UNREPLICATED ||
	    event->type == EVENT_UNPROVEN || event->type == EVENT_NO_HISTORY)
		actor->is_unconfirmed = true;
	if (event->type == EVENT_RELEASED || event->type == EVENT_KEPT ||
	    event->type == EVENT_LEFT)
		actor->is_released = true;
	if (event->type == EVENT_LEFT)
		actor->is_left = true;
	if (event->type == EVENT_NEST_HIDDEN)
		actor->is_hidden = true;
	if (event->type == EVENT_NO_QUEUE ||
	    (event->type == EVENT_NEST_HIDDEN &&
		strstr(event->why, "NOPERM") != NULL))
		actor->is_plain = true;
	if (event->type == EVENT_ENDED)
		actor->ending = event->ending;
	policies_on_event(actor, event);
	tellings_on_event(actor, event);
	world_trace("%s: %s", actor->name, event_row(event)->word);
}

void
oracle_on_job_ordered(struct actor *actor)
{
	if (actor->granted_at < 0)
		actor->granted_at = world.now;
}

void
oracle_on_renewed(struct actor *actor, int64_t deadline)
{
	actor->proved[1] = actor->proved[0];
	actor->proved[0] =
	    actor_true_us(actor, deadline - actor->opts->lock.ttl_ms);
}

void
oracle_on_job_started(struct actor *actor)
{
	if (actor->opts == NULL || actor->guarded->token[0] == '\0')
		return;
	for (size_t i = 0; i < actor->opts->key_count; i++)
		check_alone(actor, actor->opts->keys[i].key);
	check_fence(actor);
	order_on_job_started(actor);
	policies_on_job_started(actor);
}

void
oracle_on_job_ended(struct actor *actor)
{
	if (actor->state == ACTOR_KILLED) {
		if (world.now - actor->ended_at > KILLED)
			world_find("the job never outlives rlockrun",
			    "%s was killed %" PRId64 " us ago", actor->name,
			    world.now - actor->ended_at);
		return;
	}
	check_lease(actor);
	policies_on_job_ended(actor);
}

void
oracle_on_ended(const struct actor *actor)
{
	check_gone(actor);
}

void
oracle_on_dismissed(struct actor *actor, bool lives)
{
	if (lives)
		world_find("the lock outlives the job",
		    "%s frees its lock while something of its job lives",
		    actor->name);
}

/* --- what happens to a key --- */

void
oracle_on_key(const struct actor *actor, const char *key, bool exists)
{
	struct seen *seen = seen_of(key);

	if (exists) {
		seen->taken_at = world.now;
		return;
	}
	seen->freed_at = world.now;
	seen->freed_by = actor;
	if (actor != NULL && actor_has_word(actor, "--force-release"))
		seen->is_foreign = false;
	for (int i = 0; i < actor_count(); i++)
		if (world.now - actor_number(i)->asked_at < CROSSING)
			actor_number(i)->crossed_at = world.now;
}

void
oracle_on_theft(struct node *node, const char *key)
{
	const char *nested = strstr(key, ":rlk:n:");

	(void)node;
	/* Those of one holder stand for all of the lock. */
	if (nested != NULL)
		key = world_format("%.*s:rlk:n", (int)(nested - key), key);
	seen_of(key)->stolen_at = world.now;
}

void
oracle_on_refusals(int64_t until)
{
	if (until > stage.refused_until)
		stage.refused_until = until;
}

int64_t
oracle_refused_until(void)
{
	return stage.refused_until;
}

void
oracle_on_foreign(const char *key, bool holds)
{
	struct seen *seen = seen_of(key);

	seen->is_foreign = holds;
	seen->had_foreign = true;
	if (!holds)
		return;
	for (int i = 0; i < actor_count(); i++)
		if (guarded_command_runs(actor_number(i)) &&
		    actor_has_key(actor_number(i), key) &&
		    !known_is_excused(actor_number(i)))
			world_find("one at a time",
			    "a foreign client has %s while the job of %s runs",
			    key, actor_number(i)->name);
}

/* --- the begin and the end --- */

void
oracle_expect(const char *run, const char *status)
{
	if (stage.expectations == EXPECTED)
		abort();
	stage.expected[stage.expectations].run = run;
	stage.expected[stage.expectations++].status = status;
}

void
oracle_begin(void)
{
	memset(&stage, 0, sizeof(stage));
	known_begin();
}

static void
check_expected(void)
{
	for (size_t i = 0; i < stage.expectations; i++) {
		const struct actor *actor = actor_find(stage.expected[i].run);
		int status = (int)strtol(stage.expected[i].status, NULL, 10);
		if (actor == NULL || actor->state != ACTOR_ENDED ||
		    actor->status != status)
			world_find("expected", "%s exits with %d, not %d",
			    stage.expected[i].run,
			    actor != NULL ? actor->status : -1, status);
	}
}

void
oracle_end(int64_t until)
{
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *actor = actor_number(i);
		if (actor->state == ACTOR_ALIVE && until >= world.now)
			world_find("every run ends", "%s has not ended",
			    actor->name);
		if (actor->state != ACTOR_ENDED)
			continue;
		tellings_at_end(actor);
		policies_at_end(actor);
		if (actor_is_run(actor))
			order_at_end(actor);
	}
	for (int i = 0; i < node_count(); i++)
		if (!node_number(i)->is_sentinel)
			check_left(node_number(i));
	check_expected();
}
