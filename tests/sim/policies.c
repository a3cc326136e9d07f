#include "policies.h"

#include <inttypes.h>
#include <string.h>

#include "actor.h"
#include "base/exitcode.h"
#include "guarded.h"
#include "known.h"
#include "run/event.h"

/* A holder looks each second whether it is to be replaced, and its turn and a
 * round trip come to that. */
#define NOTICED (1100 * WORLD_MS)
/* A waiter that was not the first one when the one before it left may learn
 * that with its next heartbeat. */
#define HEARTBEAT (5 * WORLD_S)
/* A waiter that is dead counts for so long at most. */
#define DEAD_WAITERS (16 * WORLD_S)
/* The command of a calm world ends so soon after an order to end: the job gets
 * TERM or KILL, and the run a turn. */
#define OBEYED (100 * WORLD_MS)
/* With several servers votes may be split at first. */
#define SPLIT (500 * WORLD_MS)

/* From a request until its reply has been read, in a calm world. */
#define FRESH (5 * WORLD_MS)

/* A release may reach the server so long after the job, otherwise. */
#define LATE (12 * WORLD_S)

/* Clocks may differ by 1%. */
static int64_t
at_least(int64_t ms)
{
	return ms * WORLD_MS * 99 / 100;
}

static int64_t
at_most(int64_t ms)
{
	return ms * WORLD_MS * 101 / 100;
}

/* --- once ----------------------------------------------------------------- */

/* When the job of that run was over, as its options say. */
static int64_t
over_at(const struct actor *run)
{
	const struct guarded *job = run->guarded;

	return run->opts->wait_all && job->gone_at >= 0 ? job->gone_at
							: job->ended_at;
}

static bool
is_success(const struct actor *actor, const char *key)
{
	return actor->state == ACTOR_ENDED && actor->ending == ENDING_JOB &&
	       actor->status == 0 && actor_has_key(actor, key) &&
	       actor->opts->lock.history_ms > 0 && actor->outer == NULL;
}

/* The last success before that time; NULL, too, if the server need not know it.
 * With an id only the last one counts, and one that is on its way may be it. */
static const struct actor *
last_success(const char *key, int64_t before, bool with_id)
{
	const struct actor *last = NULL;

	for (int i = 0; i < actor_count(); i++) {
		const struct actor *actor = actor_number(i);
		bool is_known =
		    is_success(actor, key) && actor->ended_at < before;
		if (actor->guarded == NULL || actor->guarded->ended_at < 0 ||
		    actor->guarded->status != 0 || !actor_has_key(actor, key) ||
		    (!with_id && !is_known) ||
		    (with_id && actor->opts->lock.once_id == NULL))
			continue;
		if (last == NULL ||
		    actor->guarded->ended_at > last->guarded->ended_at)
			last = actor;
	}
	if (last == NULL || !is_success(last, key) ||
	    last->ended_at >= before || known_may_be_forgotten(last))
		return NULL;
	return last;
}

static void
check_once(const struct actor *actor)
{
	const char *key = actor->opts->keys[0].key;
	int64_t granted_at = actor->granted_at;
	const struct actor *last;

	/* A server that loses its data grants the lock to another while the
	 * reply to the first is on its way. */
	if (known_has_majority() || known_is_struck(key) ||
	    known_has_lost(actor->begun_at))
		return;
	/* What was on its way when the server decided does not count. */
	if (seen_of(key)->taken_at > actor->begun_at &&
	    seen_of(key)->taken_at < granted_at)
		granted_at = seen_of(key)->taken_at;
	last = last_success(key, granted_at, false);
	if (actor->opts->lock.once_ms > 0 && last != NULL &&
	    actor->granted_at - over_at(last) <
		at_least(actor->opts->lock.once_ms))
		world_find("--once-per",
		    "%s runs %" PRId64 " ms after the success of %s",
		    actor->name, (actor->granted_at - over_at(last)) / WORLD_MS,
		    last->name);
	/* A copy of a run that has ended may be the last success again. */
	last = last_success(key, granted_at, true);
	if (actor->opts->lock.once_id != NULL && last != NULL &&
	    !known_has_repeated() &&
	    strcmp(actor->opts->lock.once_id, last->opts->lock.once_id) == 0)
		world_find("--once-id", "%s runs after the success of %s",
		    actor->name, last->name);
}

/* --- skips ------------------------------------------------------------------
 */

/* A success of that one may be enough. */
static bool
is_enough(const struct actor *actor, const struct actor *other)
{
	const struct guarded *job = other->guarded;
	int64_t late = world.calm ? FRESH : LATE;

	if (job == NULL || job->ended_at < 0 || job->status != 0)
		return false;
	if (actor->opts->lock.once_id != NULL &&
	    other->opts->lock.once_id != NULL &&
	    strcmp(actor->opts->lock.once_id, other->opts->lock.once_id) == 0)
		return true;
	return over_at(other) + at_most(actor->opts->lock.once_ms) + late >
		   actor->begun_at &&
	       actor->opts->lock.once_ms > 0;
}

/* Whoever has ended before that time cannot be in its way. A waiter that is
 * dead stays in the queue for a while, and a quiet run does not say whether it
 * has met one. */
static int64_t
hindered_since(const struct actor *actor)
{
	bool is_queue =
	    actor->ending == ENDING_QUEUE_FULL || actor->opts->quiet ||
	    (actor->err != NULL &&
		strstr(actor->err, "but others are queued for it") != NULL);

	return actor->begun_at - (is_queue && !world.calm ? DEAD_WAITERS : 0);
}

/* Whether what that one did can be why the run was skipped. */
static bool
is_reason(const struct actor *actor, const struct actor *other, const char *key)
{
	switch (actor->ending) {
	case ENDING_OVERTAKEN:
		/* A try that was long on its way has the ticket of its arrival.
		 */
		return other->opts->lock.newest &&
		       (!world.calm ||
			   other->begun_at + WORLD_S > actor->begun_at);
	case ENDING_NOT_DUE:
		return is_enough(actor, other);
	case ENDING_REPLACED:
		return other->opts->lock.replace;
	case ENDING_QUEUE_FULL:
		return actor->opts->lock.max_waiters != CONFIG_ANY_WAITERS &&
		       known_may_hold(other, key, hindered_since(actor),
			   actor->ended_at);
	default:
		return known_may_hold(other, key, hindered_since(actor),
		    actor->ended_at);
	}
}

/* A run that was skipped has been skipped with reason. */
static void
check_skip(const struct actor *actor)
{
	if (actor->ending < ENDING_NOT_DUE ||
	    (actor->ending > ENDING_WAIT_OVER &&
		actor->ending != ENDING_REPLACED))
		return;
	for (size_t i = 0; i < actor->opts->key_count; i++)
		if (seen_of(actor->opts->keys[i].key)->had_foreign)
			return;
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *other = actor_number(i);
		if (other == actor || other->opts == NULL)
			continue;
		for (size_t k = 0; k < actor->opts->key_count; k++)
			if (known_may_hold(other, actor->opts->keys[k].key, 0,
				WORLD_NEVER) &&
			    is_reason(actor, other, actor->opts->keys[k].key))
				return;
	}
	world_find("a skip has a reason", "%s: %.*s", actor->name,
	    (int)actor->err_length, actor->err != NULL ? actor->err : "");
}

/* --- how long a run waits --------------------------------------------------
 */

/* It has neither waited longer than -w says nor given up before. */
static void
check_wait(const struct actor *actor)
{
	int64_t from = actor->begun_at;
	int64_t waited = actor->ended_at - from;
	int64_t most = at_most(actor->opts->wait_ms + actor->opts->splay_ms) +
		       (known_has_majority() ? SPLIT : OBEYED);

	if (!world.calm || actor->opts->wait_ms < 0 || actor->granted_at >= 0)
		return;
	if (waited > most)
		world_find("a run waits no longer than -w",
		    "%s waited for %" PRId64 " ms", actor->name,
		    waited / WORLD_MS);
	if (actor->ending == ENDING_WAIT_OVER &&
	    waited < at_least(actor->opts->wait_ms))
		world_find("a run waits as long as -w",
		    "%s gave up after %" PRId64 " ms", actor->name,
		    waited / WORLD_MS);
}

/* For how long servers may be silent, by the words of that run. */
static int64_t
patience_ms(const struct actor *actor)
{
	const struct opts *opts = actor->opts;
	int64_t ms = 30000;

	if (!actor_has_word(actor, "--cron") ||
	    actor_has_word(actor, "--server-timeout"))
		return opts->lock.server_timeout_ms;
	if (opts->lock.once_id != NULL || opts->lock.once_ms > 0)
		ms = 900000;
	return opts->lock.once_ms > 0 && opts->lock.once_ms < ms
		   ? opts->lock.once_ms
		   : ms;
}

/* Nobody gives up while the servers may still be silent. */
static void
check_patience(const struct actor *actor)
{
	const struct opts *opts = actor->opts;
	int64_t waited = actor->ended_at - actor->begun_at;
	int64_t least = patience_ms(actor);

	if (actor->ending != ENDING_UNAVAILABLE &&
	    actor->ending != ENDING_NO_SERVER)
		return;
	if (opts->wait_ms > 0 && opts->wait_ms < least)
		least = opts->wait_ms;
	if (waited < at_least(least))
		world_find("--server-timeout",
		    "%s gave up after %" PRId64 " ms", actor->name,
		    waited / WORLD_MS);
}

/* --- why a job is stopped ---------------------------------------------------
 */

/* Since when that run knows that it is the first in the queue. */
static int64_t
first_since(const struct actor *actor, const char *key)
{
	int64_t since = -1;

	for (int i = 0; i < actor_count(); i++) {
		const struct actor *other = actor_number(i);
		int64_t left = other->granted_at >= 0	     ? other->granted_at
			       : other->state == ACTOR_ENDED ? other->ended_at
							     : WORLD_NEVER;
		if (other == actor || other->begun_at < 0 ||
		    other->begun_at > actor->begun_at + SAME_TIME ||
		    !actor_has_key(other, key))
			continue;
		if (left == WORLD_NEVER)
			return WORLD_NEVER;
		since = left > since ? left : since;
	}
	return since > actor->begun_at ? since + HEARTBEAT : actor->begun_at;
}

/* The earliest time at which a run with --replace must have reached it. */
static int64_t
replaced_at(const struct actor *holder)
{
	const char *key = holder->opts->keys[0].key;
	int64_t at = WORLD_NEVER;

	for (int i = 0; i < actor_count(); i++) {
		const struct actor *actor = actor_number(i);
		int64_t since;

		if (!actor_is_run(actor) || !actor->opts->lock.replace ||
		    actor->granted_at >= 0 || actor->state != ACTOR_ALIVE ||
		    actor->opts->splay_ms > 0 || !actor_has_key(actor, key))
			continue;
		since = first_since(actor, key);
		if (since < at - NOTICED)
			at = since + NOTICED;
	}
	return at;
}

static bool
is_wanted(const struct actor *holder)
{
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *actor = actor_number(i);
		if (actor_is_run(actor) && actor->opts->lock.replace &&
		    actor->begun_at >= 0 && actor != holder &&
		    actor_has_key(actor, holder->opts->keys[0].key))
			return true;
	}
	return false;
}

/* The order to end comes when the options say so, and not without a reason. */
static void
check_stopped(const struct actor *actor)
{
	const struct guarded *job = actor->guarded;
	const struct opts *opts = actor->opts;
	int64_t told = job->told_to_end_at;
	int64_t latest = told >= 0 && told < world.now ? told : world.now;
	int64_t limit = opts->max_run_ms > 0 ? opts->max_run_ms : WORLD_S;

	if (!world.calm || known_is_excused(actor) || actor->outer != NULL ||
	    known_has_majority())
		return;
	if (opts->max_run_ms > 0 &&
	    latest > job->started_at + at_most(limit) + OBEYED)
		world_find("--max-run",
		    "%s was stopped %" PRId64 " ms after its start",
		    actor->name, (latest - job->started_at) / WORLD_MS);
	if (opts->lock.replaceable && latest > replaced_at(actor))
		world_find("--replace", "%s was not stopped in time",
		    actor->name);
	if (told >= 0 &&
	    job->ended_at > told + at_most(opts->kill_after_ms) + OBEYED)
		world_find("--kill-after", "%s was not killed in time",
		    actor->name);
	if (told >= 0 && !(opts->lock.replaceable && is_wanted(actor)) &&
	    (opts->max_run_ms == 0 ||
		told < actor->granted_at + at_least(limit) - FRESH))
		world_find("a job is stopped for a reason",
		    "%s was stopped: %.*s", actor->name, (int)actor->err_length,
		    actor->err != NULL ? actor->err : "");
}

/* --- locks without a job ---------------------------------------------------
 */

static const struct actor *
holder_with(const char *token)
{
	for (int i = 0; i < actor_count(); i++) {
		const char *held = actor_token(actor_number(i));
		if (held != NULL && strcmp(held, token) == 0)
			return actor_number(i);
	}
	return NULL;
}

void
policies_on_event(const struct actor *actor, const struct event *event)
{
	const struct opts *opts = actor->opts;
	struct kept kept = {.by = actor,
	    .from = world.now,
	    .is_replicated = opts != NULL && opts->lock.replicas > 0};
	/* It counts from when the request was sent. */
	int64_t since =
	    world.calm ? actor->granted_at - FRESH : actor->begun_at;

	switch (event->type) {
	case EVENT_KEPT:
		if (opts->lock.kind != &kind_exclusive ||
		    actor->outer != NULL || actor->guarded == NULL ||
		    actor->guarded->started_at < 0 || actor->is_unconfirmed)
			return;
		kept.until = since + at_least(opts->min_hold_ms);
		break;
	case EVENT_HELD:
		kept.until = since + at_least(opts->lock.hold_ms);
		if (opts->token != NULL) {
			kept.until =
			    actor->begun_at + at_least(opts->lock.hold_ms);
			kept.by = holder_with(opts->token);
		}
		break;
	case EVENT_PAUSE_SET:
		/* What was on its way when the clock was stepped ends by that.
		 */
		if (known_has_stepped(actor->begun_at))
			return;
		kept.until = world.now + at_least(event->ms);
		break;
	default:
		return;
	}
	if (kept.by == NULL)
		return;
	for (size_t i = 0; i < opts->key_count || event->name != NULL; i++) {
		kept.key =
		    event->name != NULL ? event->name : opts->keys[i].key;
		kept.key = seen_of(kept.key)->key;
		known_keep(&kept);
		if (event->name != NULL)
			return;
	}
}

/* All locks of a pause that exits with 0 are paused for as long as it was to,
 * but for a second or a quarter, by the server's clock. */
static void
check_pause(const struct actor *actor)
{
	int64_t ms = actor->opts->pause_ms;
	int64_t least =
	    actor->ended_at + at_least(ms - (ms < 4000 ? ms / 4 : 1000));
	const struct kept *kept;

	if (known_has_stepped(actor->begun_at))
		return;
	for (int i = 0; (kept = known_kept(i)) != NULL; i++)
		if (kept->by == actor && kept->until < least - SAME_TIME)
			world_find("a pause lasts as long as --for",
			    "%s pauses %s for %" PRId64 " ms", actor->name,
			    kept->key,
			    (kept->until - actor->ended_at) / WORLD_MS);
}

/* No job starts while the lock is kept without one. */
static void
check_kept(const struct actor *actor)
{
	const struct kept *kept;
	/* After a failover another server's clock shows when it ends. */
	int64_t off =
	    !world.calm && known_servers() == SENTINEL ? world.now / 100 : 0;

	for (int i = 0; (kept = known_kept(i)) != NULL; i++)
		if (actor_has_key(actor, kept->key) && kept->by != actor &&
		    kept->from <= world.now && world.now + off < kept->until &&
		    actor->outer == NULL && !known_is_undone(kept))
			world_find("a lock is kept without a job",
			    "%s starts under %s, which %s keeps for another "
			    "%" PRId64 " ms",
			    actor->name, kept->key, kept->by->name,
			    (kept->until - world.now) / WORLD_MS);
}

/* ------------------------------------------------------------------------- */

void
policies_on_job_started(const struct actor *actor)
{
	check_once(actor);
	check_kept(actor);
}

void
policies_on_job_ended(const struct actor *actor)
{
	check_stopped(actor);
}

void
policies_at_end(const struct actor *actor)
{
	if (actor_is_run(actor)) {
		check_skip(actor);
		check_wait(actor);
		check_patience(actor);
	} else if (actor->opts != NULL && actor->opts->action == OPTS_PAUSE &&
		   actor->status == 0) {
		check_pause(actor);
	}
}
