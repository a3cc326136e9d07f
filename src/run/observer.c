#include "run/observer.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "job/process.h"
#include "lock/redlock.h"

enum { PAUSE_MIN_MS = 200, TROUBLE_MIN_MS = 2000, END_DIFFERS_MS = 2000 };

static void
observer_emit(const struct observer *observer, const struct lock *lock,
    struct event event)
{
	event.name = lock->config->name;
	events_emit(observer->events, &event);
}

void
observer_init(struct observer *observer, const struct opts *opts,
    const struct events *events, struct set *set)
{
	struct event event = {.count = (int64_t)opts->server_count};

	*observer = (struct observer){.opts = opts,
	    .events = events,
	    .set = set,
	    .began_at = clock_now()};
	event.type = event.count == 2 ? EVENT_TWO_SERVERS : EVENT_EVEN_SERVERS;
	if (event.count % 2 == 0)
		events_emit(events, &event);
	events_emit(events, &(struct event){.type = EVENT_BEGUN});
}

/* --- acquire ---------------------------------------------------------- */

/* A hold or a pause ends at the time that is shown of it, unless it is
 * extended. */
static bool
is_same_end(const struct holder *a, const struct holder *b)
{
	int64_t later_ms =
	    b->reported_at + b->left_ms - a->reported_at - a->left_ms;

	return !holder_has_end(a) ||
	       (later_ms < END_DIFFERS_MS && later_ms > -END_DIFFERS_MS);
}

static bool
is_same_holder(const struct holder *a, const struct holder *b)
{
	return a->state == b->state && a->order == b->order &&
	       a->others_queued == b->others_queued && a->count == b->count &&
	       a->permits == b->permits && strcmp(a->host, b->host) == 0 &&
	       strcmp(a->pid, b->pid) == 0 && is_same_end(a, b);
}

void
observer_watch_holder(struct observer *observer, const struct lock *lock)
{
	const struct holder *holder = &lock->holder;
	const struct holder *self = &lock->claim.self;

	if (observer->outer_holds || holder->state != HOLDER_KNOWN ||
	    strcmp(holder->host, self->host) != 0 ||
	    !process_is_above((pid_t)strtol(holder->pid, NULL, 10)))
		return;
	observer->outer_holds = true;
	observer_emit(observer, lock,
	    (struct event){.type = EVENT_NEST_UNKNOWN});
}

static void
watch_wait(struct observer *observer, const struct lock *lock)
{
	bool waits = observer->waiting == lock->config->key;
	bool was_paused = waits && observer->holder.state == HOLDER_PAUSED;

	if (waits && observer->position == lock->queue.position &&
	    is_same_holder(&observer->holder, &lock->holder))
		return;
	observer_watch_holder(observer, lock);
	observer->waited = true;
	observer->waiting = lock->config->key;
	observer->position = lock->queue.position;
	observer->holder = lock->holder;
	observer_emit(observer, lock,
	    (struct event){.type = EVENT_WAITING,
		.ms = clock_now() - observer->began_at,
		.holder = &lock->holder,
		.position = lock->queue.position + 1});
	/* The first message has said it already. */
	if (lock->holder.state == HOLDER_PAUSED && !was_paused)
		observer_emit(observer, lock,
		    (struct event){.type = EVENT_WAITS_PAUSE,
			.minor = !waits,
			.holder = &lock->holder});
}

static void
watch_queue(struct observer *observer, const struct lock *lock)
{
	struct event event = {.type = EVENT_NO_QUEUE,
	    .why = lock->no_queue,
	    /* It is in the nature of the key's name. */
	    .minor = claim_top_tier(lock->config) == CLAIM_PLAIN};

	if (observer->no_queue || lock->no_queue[0] == '\0')
		return;
	observer->no_queue = true;
	if (lock->claim.outer != NULL)
		event.type = EVENT_NEST_HIDDEN;
	else if (set_is_majority(observer->set))
		event.type = EVENT_NEST_UNCOUNTED;
	observer_emit(observer, lock, event);
}

/* A server that restarts is back in a moment. Silence for --server-timeout ends
 * the run, and that message has the same reason, so nothing is reported before.
 * Only error replies can last longer, as a waiter continues despite them. */
static void
watch_silence(struct observer *observer, const struct lock *lock, bool is_calm)
{
	int64_t timeout_ms = observer->opts->server_timeout_ms;
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
	observer_emit(observer, lock,
	    (struct event){.type = EVENT_NO_REPLY,
		.minor = observer->silence == OBSERVER_SILENCE,
		.why = observer->set->error});
	observer->waited = true;
	observer->silence++;
	/* The next reply shows whether anything has changed. */
	observer->waiting = NULL;
}

void
observer_watch_acquire(struct observer *observer)
{
	struct set *set = observer->set;
	const struct lock *lock = set->about;
	bool is_calm;

	/* When one has failed, only the release of the others is awaited. */
	if (set->backing_out)
		return;
	if (set->lost_early != NULL)
		events_emit(observer->events,
		    &(struct event){.type = EVENT_LOST_EARLY,
			.name = set->lost_early->name});
	set->lost_early = NULL;
	is_calm = set_is_calm(set);
	if (lock->holder.state != HOLDER_UNSEEN) {
		watch_queue(observer, lock);
		if (set->answered &&
		    (is_calm || observer->silence < OBSERVER_SILENCE_NOTED))
			watch_wait(observer, lock);
	}
	watch_silence(observer, lock, is_calm);
}

/* A nested run is no run of its own. */
static void
report_no_history(const struct observer *observer, const struct lock *lock)
{
	const char *why = "several servers keep none";

	if (lock->config->history_ms == 0 || lock->claim.outer != NULL ||
	    (lock->claim.tier == CLAIM_FULL && !set_is_majority(observer->set)))
		return;
	if (lock->no_history[0] != '\0')
		why = lock->no_history;
	else if (lock->no_queue[0] != '\0')
		why = lock->no_queue;
	observer_emit(observer, lock,
	    (struct event){.type = EVENT_NO_HISTORY,
		.minor = true,
		.why = why});
}

static void
watch_servers(struct observer *observer, const struct lock *lock)
{
	struct redlock_faults faults = redlock_faults(observer->set);

	if (faults.duplicates != NULL && !observer->duplicates)
		observer_emit(observer, lock,
		    (struct event){.type = EVENT_UNUSABLE_SERVER,
			.why = faults.duplicates});
	observer->duplicates = faults.duplicates != NULL;
	for (size_t i = 0; i < observer->opts->server_count; i++) {
		const char *why = faults.unusable[i];

		if (why == NULL || observer->unusable[i])
			continue;
		observer->unusable[i] = true;
		observer_emit(observer, lock,
		    (struct event){.type = EVENT_UNUSABLE_SERVER, .why = why});
	}
}

static void
report_acquired(struct observer *observer, size_t key)
{
	const struct opts *opts = observer->opts;
	const struct lock *lock = set_lock(observer->set, key);

	watch_queue(observer, lock);
	report_no_history(observer, lock);
	watch_servers(observer, lock);
	if (opts->kind == 'p' && lock->permits != 0 &&
	    lock->permits != opts->permits)
		observer_emit(observer, lock,
		    (struct event){.type = EVENT_PERMITS_DIFFER,
			.permits = opts->permits,
			.count = lock->permits});
	if (lock->success_ahead_ms > 0)
		observer_emit(observer, lock,
		    (struct event){.type = EVENT_SUCCESS_AHEAD,
			.ms = lock->success_ahead_ms});
	observer_emit(observer, lock,
	    (struct event){.type = lock->claim.outer != NULL ? EVENT_JOINED
							     : EVENT_ACQUIRED,
		.server = set_label(observer->set, key),
		.fence = lock->fence[0] != '\0' ? lock->fence : "none",
		.token = lock->claim.token,
		.ms = opts->ttl_ms});
}

void
observer_report_acquired(struct observer *observer)
{
	const struct set *set = observer->set;

	for (size_t i = 0; i < set->keys; i++)
		report_acquired(observer, i);
	if (observer->waited)
		events_emit(observer->events,
		    &(struct event){.type = EVENT_WAITED,
			.ms = clock_now() - observer->began_at});
}

/* --- hold ------------------------------------------------------------- */

void
observer_watch_servers(struct observer *observer)
{
	watch_servers(observer, observer->set->about);
}

static void
report_renewed(const struct observer *observer)
{
	const struct set *set = observer->set;
	int64_t now = clock_now(), slowest_ms = 0;

	for (size_t i = 0; i < set->count; i++)
		if (set->locks[i].round_trip_ms > slowest_ms)
			slowest_ms = set->locks[i].round_trip_ms;
	events_emit(observer->events,
	    &(struct event){.type = EVENT_RENEWED,
		.ms = set->valid_until - now,
		.left_ms = observer->valid_until - now,
		.took_ms = slowest_ms});
}

void
observer_watch_lease(struct observer *observer)
{
	const struct set *set = observer->set;
	const struct lock *lock = set->about;
	const struct lock *before = observer->in_trouble;
	bool fails = set->state == LOCK_HELD && !set->answered;

	if (set->valid_until > observer->valid_until &&
	    observer->valid_until != 0)
		report_renewed(observer);
	observer->valid_until = set->valid_until;
	observer->in_trouble = fails ? lock : NULL;
	if (fails && before == NULL)
		observer_emit(observer, lock,
		    (struct event){.type = EVENT_RENEWAL_FAILED,
			.ms = (set_is_majority(set) ? set->valid_until
						    : lock->valid_until) -
			      clock_now(),
			.why = set->error});
	else if (!fails && before != NULL && lock->state == LOCK_HELD)
		observer_emit(observer, before,
		    (struct event){.type = EVENT_RENEWED_AGAIN});
}

void
observer_watch_pause(const struct observer *observer, int64_t late_ms)
{
	const struct opts *opts = observer->opts;

	if (late_ms >= PAUSE_MIN_MS && late_ms >= opts->ttl_ms / 5)
		events_emit(observer->events,
		    &(struct event){.type = EVENT_PAUSED, .ms = late_ms});
}

/* --- release ---------------------------------------------------------- */

static enum event_type
kind_of_release(const struct lock *lock)
{
	return lock->release.outcome == LOCK_LEFT   ? EVENT_LEFT
	       : lock->release.outcome == LOCK_KEPT ? EVENT_KEPT
						    : EVENT_RELEASED;
}

static void
report_unreplicated(const struct observer *observer, const struct lock *lock)
{
	if (lock->release.unreplicated[0] != '\0')
		observer_emit(observer, lock,
		    (struct event){.type = EVENT_UNREPLICATED,
			.why = lock->release.unreplicated});
}

void
observer_report_release(const struct observer *observer)
{
	const struct set *set = observer->set;
	bool all_free = true;

	for (size_t i = 0; i < set->keys; i++) {
		const struct lock *lock = set_lock(set, i);

		report_unreplicated(observer, lock);
		all_free = all_free && kind_of_release(lock) == EVENT_RELEASED;
	}
	if (all_free)
		events_emit(observer->events,
		    &(struct event){.type = EVENT_RELEASED});
	for (size_t i = 0; !all_free && i < set->keys; i++) {
		const struct lock *lock = set_lock(set, i);

		observer_emit(observer, lock,
		    (struct event){.type = kind_of_release(lock),
			.ms = lock->release.kept_until - clock_now()});
	}
}

/* With --once-per or --once-id another run may follow though this one has
 * succeeded. A run that has lost its lock is looked for in the history. */
void
observer_report_unrecorded(const struct observer *observer)
{
	const struct set *set = observer->set;
	bool lost = facts_say_lost(observer->events->facts);

	for (size_t i = 0; i < set->keys; i++) {
		const struct lock *lock = set_lock(set, i);
		bool matters = lost || config_needs_history(lock->config) ||
			       lock->release.outcome == LOCK_NOT_HELD;

		if (lock->release.unrecorded)
			observer_emit(observer, lock,
			    (struct event){.type = EVENT_NO_HISTORY,
				.minor = !matters,
				.why = lock->no_history});
	}
}
