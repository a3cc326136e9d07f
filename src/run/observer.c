/* Reports what has changed about the locks since it last looked: that one is
 * waited for or held, that renewals fail, that servers do not count, how the
 * release went. Decides nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "job/process.h"
#include "lock/redlock.h"
#include "redis/way.h"
#include "run/run.h"

enum { PAUSE_MIN_MS = 200, TROUBLE_MIN_MS = 2000, END_DIFFERS_MS = 2000 };

static void
emit(const struct run *run, const struct lock *lock, struct event event)
{
	event.name = lock->config->name;
	events_emit(run->events, &event);
}

/* --- acquire ---------------------------------------------------------- */

static void
report_begin(struct run *run)
{
	int64_t count = (int64_t)run->opts->server_count;

	run->observer.silent_since = clock_now();
	run->observer.silence = OBSERVER_SILENCE;
	if (run->opts->action == OPTS_HOLD &&
	    strpbrk(run->opts->keys[0].name, "*?[") != NULL)
		events_emit(run->events,
		    &(struct event){.type = EVENT_LIKE_GLOB});
	if (count % 2 == 0)
		events_emit(run->events,
		    &(struct event){.type = count == 2 ? EVENT_TWO_SERVERS
						       : EVENT_EVEN_SERVERS,
			.count = count});
	events_emit(run->events, &(struct event){.type = EVENT_BEGUN});
}

/* A hold or a pause ends at the time that is shown of it, unless it is
 * extended. */
static bool
is_same_holder(const struct holder *a, const struct holder *b)
{
	int64_t later_ms =
	    b->reported_at + b->left_ms - a->reported_at - a->left_ms;

	return a->state == b->state && a->order == b->order &&
	       a->others_queued == b->others_queued && a->count == b->count &&
	       a->permits == b->permits && strcmp(a->host, b->host) == 0 &&
	       strcmp(a->pid, b->pid) == 0 &&
	       (!holder_has_end(a) || llabs(later_ms) < END_DIFFERS_MS);
}

/* Before the holder is reported: once, if that is an outer run, which does not
 * end before this one. */
static void
watch_holder(struct run *run, const struct lock *lock)
{
	const struct holder *holder = &lock->holder;

	if (run->observer.outer_holds || holder->state != HOLDER_KNOWN ||
	    strcmp(holder->host, lock->claim.self.host) != 0 ||
	    !process_is_above((pid_t)strtol(holder->pid, NULL, 10)))
		return;
	run->observer.outer_holds = true;
	emit(run, lock, (struct event){.type = EVENT_NEST_UNKNOWN});
}

static void
watch_wait(struct run *run, const struct lock *lock)
{
	struct observer *observer = &run->observer;
	bool waits = observer->waiting == lock->config->key;
	bool was_paused = waits && observer->holder.state == HOLDER_PAUSED;

	if (waits && observer->position == lock->queue.position &&
	    is_same_holder(&observer->holder, &lock->holder))
		return;
	watch_holder(run, lock);
	observer->waited = true;
	observer->waiting = lock->config->key;
	observer->position = lock->queue.position;
	observer->holder = lock->holder;
	emit(run, lock,
	    (struct event){.type = EVENT_WAITING,
		.ms = facts_waited_ms(run->facts),
		.holder = &lock->holder,
		.position = lock->queue.position + 1});
	/* The first message has said it already. */
	if (lock->holder.state == HOLDER_PAUSED && !was_paused)
		emit(run, lock,
		    (struct event){.type = EVENT_WAITS_PAUSE,
			.minor = !waits,
			.holder = &lock->holder});
}

static void
watch_queue(struct run *run, const struct lock *lock)
{
	struct event event = {.type = EVENT_NO_QUEUE,
	    .why = lock->why.cost,
	    /* It is in the nature of the key's name. */
	    .minor = claim_top_tier(lock->config) == CLAIM_PLAIN};

	if (run->observer.no_queue || !lock->why.no_queue)
		return;
	run->observer.no_queue = true;
	if (lock->claim.outer != NULL)
		event.type = EVENT_NEST_HIDDEN;
	else if (set_is_majority(&run->set))
		event.type = EVENT_NEST_UNCOUNTED;
	emit(run, lock, event);
}

/* A server that restarts is back in a moment. Silence for --server-timeout ends
 * the run, and that message has the same reason, so nothing is reported before.
 * Only error replies can last longer, as a waiter continues despite them. */
static void
watch_silence(struct run *run, const struct lock *lock, bool is_calm)
{
	struct observer *observer = &run->observer;
	int64_t timeout_ms = run->opts->lock.server_timeout_ms;
	int64_t now = clock_now();
	int64_t lasts_ms = TROUBLE_MIN_MS;

	if (is_calm) {
		observer->silence = OBSERVER_NO_SILENCE;
		return;
	}
	if (observer->silence == OBSERVER_NO_SILENCE) {
		observer->silence = OBSERVER_SILENCE;
		observer->silent_since = now;
	}
	if (observer->silence == OBSERVER_SILENCE_NOTED &&
	    timeout_ms > lasts_ms)
		lasts_ms = timeout_ms;
	if (observer->silence == OBSERVER_SILENCE_REPORTED ||
	    now < observer->silent_since + lasts_ms)
		return;
	emit(run, lock,
	    (struct event){.type = EVENT_NO_REPLY,
		.minor = observer->silence == OBSERVER_SILENCE,
		.why = run->set.error});
	observer->waited = true;
	observer->silence++;
	/* The next reply shows whether anything has changed. */
	observer->waiting = NULL;
}

/* The last contact succeeded, and the connection lasts. Of several servers, bad
 * ones do not matter. */
static bool
is_calm(const struct set *set)
{
	size_t count = set_is_majority(set) ? set->count : 0;

	if (!set->answered)
		return false;
	for (size_t i = 0; i < count; i++)
		if (way_rests_until(set->locks[i].link->way) == 0)
			return true;
	return way_rests_until(set->about->link->way) == 0;
}

static void
watch_acquire(struct run *run)
{
	struct set *set = &run->set;
	const struct lock *lock = set->about;
	bool calm;

	/* When one has failed, only the release of the others is awaited. */
	if (set->backing_out)
		return;
	if (set->lost_early != NULL)
		events_emit(run->events,
		    &(struct event){.type = EVENT_LOST_EARLY,
			.name = set->lost_early->name});
	set->lost_early = NULL;
	calm = is_calm(set);
	if (lock->holder.state != HOLDER_UNSEEN) {
		watch_queue(run, lock);
		if (set->answered &&
		    (calm || run->observer.silence < OBSERVER_SILENCE_NOTED))
			watch_wait(run, lock);
	}
	watch_silence(run, lock, calm);
}

/* A nested run is no run of its own. */
static void
report_no_history(const struct run *run, const struct lock *lock)
{
	const char *why = "several servers keep none";

	if (lock->config->history_ms == 0 || lock->claim.outer != NULL ||
	    (lock->claim.tier == CLAIM_FULL && !set_is_majority(&run->set)))
		return;
	if (lock->why.no_queue)
		why = lock->why.cost;
	emit(run, lock,
	    (struct event){.type = EVENT_NO_HISTORY,
		.minor = true,
		.why = why});
}

static void
watch_servers(struct run *run, const struct lock *lock)
{
	struct redlock_faults faults = redlock_faults(&run->set);
	struct observer *observer = &run->observer;

	if (faults.duplicates != NULL && !observer->duplicates)
		emit(run, lock,
		    (struct event){.type = EVENT_UNUSABLE_SERVER,
			.why = faults.duplicates});
	observer->duplicates = faults.duplicates != NULL;
	for (size_t i = 0; i < run->opts->server_count; i++) {
		const char *why = faults.unusable[i];

		if (why == NULL || observer->unusable[i])
			continue;
		observer->unusable[i] = true;
		emit(run, lock,
		    (struct event){.type = EVENT_UNUSABLE_SERVER, .why = why});
	}
}

static void
report_acquired(struct run *run, size_t key)
{
	const struct opts *opts = run->opts;
	const struct lock *lock = set_lock(&run->set, key);
	const char *label = run->set.label; /* of all servers */

	watch_queue(run, lock);
	report_no_history(run, lock);
	watch_servers(run, lock);
	if (opts->lock.kind == &kind_permits && lock->grant.permits != 0 &&
	    lock->grant.permits != opts->lock.permits)
		emit(run, lock,
		    (struct event){.type = EVENT_PERMITS_DIFFER,
			.permits = opts->lock.permits,
			.count = lock->grant.permits});
	if (lock->grant.success_ahead_ms > 0)
		emit(run, lock,
		    (struct event){.type = EVENT_SUCCESS_AHEAD,
			.ms = lock->grant.success_ahead_ms});
	emit(run, lock,
	    (struct event){.type = lock->claim.outer != NULL ? EVENT_JOINED
							     : EVENT_ACQUIRED,
		.server = label != NULL ? label : way_label(lock->link->way),
		.fence =
		    lock->grant.fence[0] != '\0' ? lock->grant.fence : "none",
		.token = lock->claim.token,
		.ms = opts->lock.ttl_ms});
}

/* --- held ------------------------------------------------------------- */

static void
report_renewed(const struct run *run)
{
	const struct set *set = &run->set;
	int64_t now = clock_now(), slowest_ms = 0;

	for (size_t i = 0; i < set->count; i++)
		if (set->locks[i].pace.round_trip_ms > slowest_ms)
			slowest_ms = set->locks[i].pace.round_trip_ms;
	events_emit(run->events, &(struct event){.type = EVENT_RENEWED,
				     .ms = set->valid_until - now,
				     .left_ms = run->observer.valid_until - now,
				     .took_ms = slowest_ms});
}

/* First that they are held, all of them, with the end of a wait. */
static void
watch_held(struct run *run)
{
	struct observer *observer = &run->observer;
	const struct set *set = &run->set;
	const struct lock *lock = set->about;
	const struct lock *before = observer->in_trouble;
	bool fails = set->state == LOCK_HELD && !set->answered;

	if (run->facts->acquired_at == 0) {
		for (size_t i = 0; i < set->keys; i++)
			report_acquired(run, i);
		if (observer->waited)
			events_emit(run->events,
			    &(struct event){.type = EVENT_WAITED,
				.ms = facts_waited_ms(run->facts)});
	}
	if (set->valid_until > observer->valid_until &&
	    observer->valid_until != 0)
		report_renewed(run);
	observer->valid_until = set->valid_until;
	observer->in_trouble = fails ? lock : NULL;
	if (fails && before == NULL)
		emit(run, lock,
		    (struct event){.type = EVENT_RENEWAL_FAILED,
			.minor = run->opts->cron,
			.ms = (set_is_majority(set) ? set->valid_until
						    : lock->lease.valid_until) -
			      clock_now(),
			.why = set->error});
	else if (!fails && before != NULL && lock_phase(lock) == LOCK_HELD)
		emit(run, before,
		    (struct event){.type = EVENT_RENEWED_AGAIN,
			.minor = run->opts->cron});
}

/* --- release ---------------------------------------------------------- */

static enum event_type
kind_of_release(const struct lock *lock)
{
	return lock->release.outcome == LOCK_LEFT   ? EVENT_LEFT
	       : lock->release.outcome == LOCK_KEPT ? EVENT_KEPT
						    : EVENT_RELEASED;
}

/* In one event if all of them are free. */
static void
report_release(const struct run *run)
{
	const struct set *set = &run->set;
	bool all_free = true;

	for (size_t i = 0; i < set->keys; i++) {
		const struct lock *lock = set_lock(set, i);

		if (lock->release.unreplicated[0] != '\0')
			emit(run, lock,
			    (struct event){.type = EVENT_UNREPLICATED,
				.why = lock->release.unreplicated});
		all_free = all_free && kind_of_release(lock) == EVENT_RELEASED;
	}
	if (all_free)
		events_emit(run->events,
		    &(struct event){.type = EVENT_RELEASED});
	for (size_t i = 0; !all_free && i < set->keys; i++) {
		const struct lock *lock = set_lock(set, i);

		emit(run, lock,
		    (struct event){.type = kind_of_release(lock),
			.ms = lock->release.kept_until - clock_now()});
	}
}

/* How the locks were released, and which of them lack the run's end in their
 * history. With --once-per or --once-id another run may follow though this one
 * has succeeded. A run that has lost its lock is looked for in the history. */
static void
report_end(const struct run *run)
{
	const struct set *set = &run->set;
	bool lost = facts_say_lost(run->facts);

	if (!lost && set->outcome == LOCK_UNCONFIRMED)
		emit(run, set->about,
		    (struct event){.type = EVENT_UNCONFIRMED,
			.why = set->error});
	else if (!lost)
		report_release(run);
	for (size_t i = 0; i < set->keys; i++) {
		const struct lock *lock = set_lock(set, i);
		bool matters = lost || config_needs_history(lock->config) ||
			       lock->release.outcome == LOCK_NOT_HELD;

		if (lock->release.unrecorded)
			emit(run, lock,
			    (struct event){.type = EVENT_NO_HISTORY,
				.minor = !matters,
				.why = lock->why.cost});
	}
}

/* --- after each turn -------------------------------------------------- */

void
observer_look(struct run *run)
{
	const struct set *set = &run->set;
	const struct job *job = &run->guard.job;
	int64_t late_ms = run->loop->late_ms;

	switch (run->state) {
	case RUN_ACQUIRE:
		if (run->facts->begun_at == 0)
			report_begin(run);
		else if (set->state == LOCK_ACQUIRING &&
			 run->loop->now < run->until)
			watch_acquire(run);
		break;
	case RUN_WITHDRAW:
		if (set->state == LOCK_FAILED && set->failure == LOCK_BUSY)
			watch_holder(run, set->about);
		break;
	case RUN_JOB:
		if (late_ms >= PAUSE_MIN_MS &&
		    late_ms >= run->opts->lock.ttl_ms / 5)
			events_emit(run->events,
			    &(struct event){.type = EVENT_PAUSED,
				.ms = late_ms});
		/* What a job ends with outweighs what has become of its locks
		 * since. */
		if (run->cover != COVER_NONE && job->state <= JOB_RUNNING &&
		    (!job->ended || run->opts->wait_all))
			watch_held(run);
		break;
	case RUN_LENGTHEN:
	case RUN_PRINT:
		watch_held(run);
		break;
	case RUN_RELEASE:
		/* By now more servers may have replied. */
		if (run->cover != COVER_NONE)
			watch_servers(run, set->about);
		break;
	case RUN_DONE:
		if (run->cover != COVER_NONE && set->state == LOCK_RELEASED)
			report_end(run);
		break;
	default:
		break;
	}
}
