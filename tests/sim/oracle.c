#include "oracle.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "base/exitcode.h"
#include "guarded.h"
#include "node.h"
#include "run/event.h"

enum { KEYS = 32, EXPECTED = 16 };
/* Between a release and the start of the next job, when nothing is slow: two
 * ways of at most 0.9 ms, three turns of 0.4 ms, and 3 ms until the guard has
 * started the job. */
#define HAND_OVER (20 * WORLD_MS)
/* Runs that begin so close together may arrive in the other order. */
#define SAME_TIME (10 * WORLD_MS)
/* A reply, and the turn in which it is read. */
#define ON_THE_WAY WORLD_S
/* kill -9 of rlockrun: the command is dead so soon. */
#define KILLED (50 * WORLD_MS)

/* What is known of a key. */
struct seen {
	const char *key;
	int64_t fence;
	int64_t freed_at;  /* the last job of an exclusive run ended */
	int64_t stolen_at; /* somebody has written to the key */
	int foreign;	   /* holders of other libraries */
};

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): one stage a world */
static struct {
	struct seen keys[KEYS];
	size_t count;
	struct {
		const char *run, *status;
	} expected[EXPECTED];
	size_t expectations;
	int64_t lost_at;   /* a server forgot what it had acknowledged */
	int64_t step_at;   /* of a server's clock */
	bool has_majority; /* of several servers: one may forget */
} stage;

static struct seen *
seen_of(const char *key)
{
	for (size_t i = 0; i < stage.count; i++)
		if (strcmp(stage.keys[i].key, key) == 0)
			return &stage.keys[i];
	if (stage.count == KEYS)
		abort();
	stage.keys[stage.count] =
	    (struct seen){.key = key, .freed_at = -1, .stolen_at = -1};
	return &stage.keys[stage.count++];
}

static bool
has_key(const struct actor *actor, const char *key)
{
	if (actor->opts == NULL)
		return false;
	for (size_t i = 0; i < actor->opts->key_count; i++)
		if (strcmp(actor->opts->keys[i].key, key) == 0)
			return true;
	return false;
}

static bool
is_within(const struct actor *inner, const struct actor *outer)
{
	for (; inner != NULL; inner = inner->outer)
		if (inner == outer)
			return true;
	return false;
}

/* What happened then may have cost it the lock, or its place as a nested run.
 * It is whole again after two renewals that were sent later: the second one
 * follows what the first one has set right. */
static bool
may_suffer(const struct actor *actor, int64_t at)
{
	return at >= 0 && at + ON_THE_WAY >= actor->granted_at &&
	       at >= actor->proved[1];
}

/* Something that no lock survives happened to its key while it was held. */
static bool
is_excused(const struct actor *actor)
{
	if (!stage.has_majority && actor->opts->replicas == 0 &&
	    may_suffer(actor, stage.lost_at))
		return true;
	for (size_t i = 0; i < actor->opts->key_count; i++) {
		const char *key = actor->opts->keys[i].key;
		const char *nested = world_format("{%s}:rlk:n", key);
		if (may_suffer(actor, seen_of(key)->stolen_at) ||
		    (actor->outer != NULL &&
			may_suffer(actor, seen_of(nested)->stolen_at)))
			return true;
	}
	return may_suffer(actor, stage.step_at) || actor->opts->lost_warn ||
	       actor->opts->unavailable_run;
}

/* --- one at a time ----------------------------------------------------------
 */

/* How many may run together with one of that kind. */
static bool
may_share(const struct actor *a, const struct actor *b, int others)
{
	if (a->opts->kind != b->opts->kind)
		return false;
	return a->opts->kind == 's' ||
	       (a->opts->kind == 'p' && others < a->opts->permits);
}

static void
check_alone(const struct actor *actor, const char *key)
{
	int others = 0;

	if (seen_of(key)->foreign > 0 && actor->opts->kind == 'x')
		world_find("one at a time",
		    "%s runs beside a foreign holder of %s", actor->name, key);
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *other = actor_number(i);
		if (other == actor || other->guarded == NULL ||
		    !guarded_command_runs(other) || !has_key(other, key) ||
		    is_within(actor, other) || is_within(other, actor))
			continue;
		if (!may_share(actor, other, ++others) && !is_excused(other))
			world_find("one at a time",
			    "%s starts under %s while the job of %s runs",
			    actor->name, key, other->name);
	}
}

/* --- fences grow
 * --------------------------------------------------------------- */

static void
check_fence(const struct actor *actor)
{
	struct seen *seen = seen_of(actor->opts->keys[0].key);
	int64_t fence = strtoll(actor->guarded->fence, NULL, 10);

	if (actor->opts->kind != 'x' || actor->opts->key_count != 1 ||
	    fence == 0 || actor->outer != NULL)
		return; /* those of others are granted in one order, and start
			   in another */
	if (fence <= seen->fence)
		world_find("fences grow", "%s has %" PRId64 " after %" PRId64,
		    actor->name, fence, seen->fence);
	seen->fence = fence;
}

/* --- first come, first served
 * ------------------------------------------------------ */

static bool
waits_plainly(const struct actor *actor)
{
	return actor->opts != NULL && actor->opts->wait_ms != 0 &&
	       !actor->opts->newest && !actor->opts->replace &&
	       actor->opts->splay_ms == 0 && actor->outer == NULL &&
	       actor->opts->key_count == 1;
}

static void
check_turn(const struct actor *actor)
{
	const char *key = actor->opts->keys[0].key;

	if (!world.calm || stage.has_majority || !waits_plainly(actor) ||
	    actor->opts->kind != 'x')
		return; /* others of one kind go together, in any order */
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *other = actor_number(i);
		if (other->state == ACTOR_ALIVE && other->granted_at < 0 &&
		    waits_plainly(other) && other->opts->kind == 'x' &&
		    has_key(other, key) &&
		    other->begun_at + SAME_TIME < actor->begun_at)
			world_find("first come, first served",
			    "%s starts before %s, which came %" PRId64
			    " ms earlier",
			    actor->name, other->name,
			    (actor->begun_at - other->begun_at) / WORLD_MS);
	}
}

static void
check_hand_over(const struct actor *actor)
{
	const struct seen *seen = seen_of(actor->opts->keys[0].key);
	int64_t took = world.now - seen->freed_at;

	if (world.calm && !stage.has_majority && waits_plainly(actor) &&
	    actor->opts->kind == 'x' && seen->freed_at > 0 &&
	    seen->stolen_at < 0 &&
	    actor->begun_at + SAME_TIME < seen->freed_at && took > HAND_OVER)
		world_find("woken within a millisecond or so",
		    "%s starts %" PRId64 " us after the lock was free",
		    actor->name, took);
}

/* --- the job never outlives the lease
 * ------------------------------------------------- */

/* On how many servers the key has that token. */
static int
count_holding(const char *key, const char *token)
{
	int count = 0;

	for (int i = 0; i < node_count(); i++) {
		if (node_number(i)->is_sentinel)
			continue;
		/* The key of a slot that moves may be at its new owner. */
		node_execute(node_number(i),
		    (const char *const[]){"ASKING", NULL});
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
check_lease(const struct actor *actor)
{
	const char *key = actor->opts->keys[0].key;
	const char *token = actor->guarded->token;

	if (actor->opts->kind != 'x' || actor->opts->key_count != 1 ||
	    *token == '\0' || is_excused(actor) || actor->outer != NULL)
		return;
	if (count_holding(key, token) <
	    (stage.has_majority ? node_count() / 2 + 1 : 1))
		world_find("the job never outlives the lease",
		    "the job of %s ends, and %s no longer has its token",
		    actor->name, key);
}

/* --- the status tells the truth
 * ---------------------------------------------------------- */

static void
check_status(const struct actor *actor)
{
	const struct guarded *job = actor->guarded;
	bool started = job != NULL && job->started_at >= 0;
	int status = actor->status;

	if (actor->opts == NULL || actor->opts->action != OPTS_RUN)
		return;
	if (status == 0 && started && (job->ended_at < 0 || job->status != 0))
		world_find("the exit code tells the truth",
		    "%s exits with 0, its job with %d", actor->name,
		    job->status);
	if (status == 0 && !started && actor->opts->once_ms == 0 &&
	    actor->opts->once_id == NULL)
		world_find("the exit code tells the truth",
		    "%s exits with 0, and no job ran", actor->name);
	if (started && status == EXITCODE_BUSY &&
	    actor->job_plan.status != EXITCODE_BUSY)
		world_find("the exit code tells the truth",
		    "%s exits with 75, but its job ran", actor->name);
	if (status == EXITCODE_INTERNAL)
		world_find("no internal error", "%s: %.*s", actor->name,
		    (int)actor->err_length,
		    actor->err != NULL ? actor->err : "");
}

/* Nothing has struck it. */
static void
check_calm_status(const struct actor *actor)
{
	const struct guarded *job = actor->guarded;

	if (!world.calm || actor->opts == NULL ||
	    actor->opts->action != OPTS_RUN)
		return;
	if (actor->status == EXITCODE_LOST && job != NULL &&
	    !is_excused(actor) && actor->outer == NULL)
		world_find("nothing is lost without a reason",
		    "%s exits with 79: %.*s", actor->name,
		    (int)actor->err_length,
		    actor->err != NULL ? actor->err : "");
	if (actor->status == EXITCODE_UNAVAILABLE && !stage.has_majority)
		world_find("nothing is lost without a reason",
		    "%s exits with 69: %.*s", actor->name,
		    (int)actor->err_length,
		    actor->err != NULL ? actor->err : "");
	if (actor->ending == ENDING_BUSY && waits_plainly(actor) &&
	    actor->opts->wait_ms < 0)
		world_find("nothing is lost without a reason", "%s gave up",
		    actor->name);
}

/* --- policies
 * ---------------------------------------------------------------------------
 */

/* The server has it, as far as the run knows, and has not forgotten it since.
 */
static bool
is_recorded(const struct actor *actor)
{
	bool forgotten = stage.lost_at >= 0 && actor->opts != NULL &&
			 actor->opts->replicas == 0 &&
			 stage.lost_at >= actor->guarded->ended_at;

	return !actor->is_unconfirmed && !forgotten &&
	       stage.step_at < actor->guarded->ended_at;
}

static bool
is_success(const struct actor *actor, const char *key)
{
	return actor->state == ACTOR_ENDED && actor->ending == ENDING_JOB &&
	       actor->status == 0 && has_key(actor, key) &&
	       actor->outer == NULL;
}

/* The last success before that time, by a run with an id if that is asked.
 * NULL, too, if the server need not know it. */
static const struct actor *
last_success(const char *key, int64_t before, bool with_id)
{
	const struct actor *last = NULL;

	for (int i = 0; i < actor_count(); i++) {
		const struct actor *actor = actor_number(i);
		if (actor->guarded != NULL && is_success(actor, key) &&
		    actor->ended_at < before &&
		    (!with_id || actor->opts->once_id != NULL) &&
		    (last == NULL ||
			actor->guarded->ended_at > last->guarded->ended_at))
			last = actor;
	}
	return last != NULL && is_recorded(last) ? last : NULL;
}

static void
check_once(const struct actor *actor)
{
	const char *key = actor->opts->keys[0].key;
	const struct actor *last;

	if (stage.has_majority || seen_of(key)->stolen_at >= 0)
		return;
	last = last_success(key, actor->granted_at, false);
	if (actor->opts->once_ms > 0 && last != NULL &&
	    (actor->granted_at - last->guarded->ended_at) * 102 / 100 <
		actor->opts->once_ms * WORLD_MS)
		world_find("--once-per",
		    "%s runs %" PRId64 " ms after the success of %s",
		    actor->name,
		    (actor->granted_at - last->guarded->ended_at) / WORLD_MS,
		    last->name);
	last = last_success(key, actor->granted_at, true);
	if (actor->opts->once_id != NULL && last != NULL &&
	    strcmp(actor->opts->once_id, last->opts->once_id) == 0)
		world_find("--once-id", "%s runs after the success of %s",
		    actor->name, last->name);
}

/* A run that was skipped has been skipped with reason. */
static void
check_skip(const struct actor *actor)
{
	bool reason = false;

	for (int i = 0; i < actor_count(); i++) {
		const struct actor *other = actor_number(i);
		if (other == actor || other->opts == NULL ||
		    !has_key(other, actor->opts->keys[0].key))
			continue;
		if (actor->ending == ENDING_OVERTAKEN)
			reason |= other->opts->newest &&
				  other->begun_at + WORLD_S > actor->begun_at;
		else if (actor->ending == ENDING_NOT_DUE)
			reason |= other->guarded != NULL &&
				  other->guarded->ended_at >= 0 &&
				  other->guarded->status == 0;
		else if (actor->ending == ENDING_REPLACED)
			reason |= other->opts->replace;
		else
			reason = true;
	}
	if (!reason && (actor->ending == ENDING_OVERTAKEN ||
			   actor->ending == ENDING_NOT_DUE ||
			   actor->ending == ENDING_REPLACED))
		world_find("a skip has a reason", "%s: %.*s", actor->name,
		    (int)actor->err_length,
		    actor->err != NULL ? actor->err : "");
}

/* --- what is left
 * ------------------------------------------------------------------------- */

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

/* --- where they are asked
 * -------------------------------------------------------------------- */

/* Its release leaves no time and no other run of the nest. */
static bool
frees_at_once(const struct actor *actor)
{
	for (int i = 0; i < actor_count(); i++)
		if (actor_number(i)->outer == actor)
			return false;
	return actor->outer == NULL && actor->opts->kind == 'x' &&
	       actor->opts->min_hold_ms == 0 && actor->opts->key_count == 1 &&
	       !actor->opts->wait_all && actor->guarded->told_to_end_at < 0;
}

/* They end with the run; what is asked of them here does not. */
static const struct opts *
copy_of(const struct opts *opts)
{
	struct opts *copy = world_alloc(sizeof(*copy));

	*copy = *opts;
	for (size_t i = 0; i < opts->key_count; i++)
		copy->keys[i].key =
		    world_copy(opts->keys[i].key, strlen(opts->keys[i].key));
	if (opts->once_id != NULL)
		copy->once_id =
		    world_copy(opts->once_id, strlen(opts->once_id));
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
	    event->type == EVENT_NO_HISTORY)
		actor->is_unconfirmed = true;
	if (event->type == EVENT_ENDED)
		actor->ending = event->ending;
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
	actor->proved[0] = actor_true_us(actor, deadline - actor->opts->ttl_ms);
}

void
oracle_on_job_started(struct actor *actor)
{
	if (actor->opts == NULL || actor->guarded->token[0] == '\0')
		return;
	for (size_t i = 0; i < actor->opts->key_count; i++)
		check_alone(actor, actor->opts->keys[i].key);
	check_fence(actor);
	check_turn(actor);
	check_hand_over(actor);
	check_once(actor);
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
	for (size_t i = 0; i < actor->opts->key_count; i++)
		seen_of(actor->opts->keys[i].key)->freed_at =
		    frees_at_once(actor) ? world.now : -1;
}

void
oracle_on_dismissed(struct actor *actor, bool lives)
{
	if (lives)
		world_find("the lock outlives the job",
		    "%s frees its lock while something of its job lives",
		    actor->name);
}

void
oracle_on_data_lost(int64_t until)
{
	if (until > stage.lost_at)
		stage.lost_at = until;
}

void
oracle_on_theft(struct node *node, const char *key)
{
	(void)node;
	seen_of(key)->stolen_at = world.now;
}

void
oracle_on_clock_step(void)
{
	stage.step_at = world.now;
}

void
oracle_on_foreign(const char *key, bool holds)
{
	struct seen *seen = seen_of(key);

	seen->foreign += holds ? 1 : -1;
	if (!holds) {
		seen->freed_at = -1;
		return;
	}
	for (int i = 0; i < actor_count(); i++)
		if (guarded_command_runs(actor_number(i)) &&
		    has_key(actor_number(i), key) &&
		    !is_excused(actor_number(i)))
			world_find("one at a time",
			    "a foreign client has %s while the job of %s runs",
			    key, actor_number(i)->name);
}

void
oracle_on_servers(bool has_majority)
{
	stage.has_majority = has_majority;
}

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
	stage.lost_at = stage.step_at = -1;
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
		check_status(actor);
		check_calm_status(actor);
		if (actor->opts != NULL && actor->opts->action == OPTS_RUN)
			check_skip(actor);
	}
	for (int i = 0; i < node_count(); i++)
		if (!node_number(i)->is_sentinel)
			check_left(node_number(i));
	check_expected();
}
