#include "run/locks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lock/redlock.h"

/* An acquire's reply is awaited so long. */
enum { TRY_MIN_MS = 1000, TRY_MAX_MS = 5000 };

/* --- what is asked of the locks ---------------------------------------- */

/* A third of the time that servers may be silent: a reply that was lost never
 * comes, and a second connection is to have its chance. */
static int64_t
try_ms(const struct opts *opts)
{
	int64_t ms = opts->server_timeout_ms;

	if (opts->wait_ms > 0)
		ms = clock_min(ms, opts->wait_ms);
	return clock_min(ms / 3 > TRY_MIN_MS ? ms / 3 : TRY_MIN_MS, TRY_MAX_MS);
}

_Static_assert(OPTS_KEYS_MAX <= SET_LOCKS_MAX &&
		   OPTS_SERVERS_MAX <= REDLOCK_SERVERS_MAX,
    "a lock for each");

/* One for each key, or for each server: their number. */
static size_t
configure(struct lock_config *configs, const struct opts *opts)
{
	bool votes = opts->server_count > 1;
	size_t count = votes ? opts->server_count : opts->key_count;

	for (size_t i = 0; i < count; i++)
		configs[i] = (struct lock_config){
		    .key = opts->keys[votes ? 0 : i].key,
		    .name = opts->keys[votes ? 0 : i].name,
		    .server = &opts->servers[votes ? i : 0],
		    .vote_ms = votes ? redlock_patience_ms(opts->ttl_ms) : 0,
		    .min_uptime_ms = opts->min_uptime_ms,
		    .ttl_ms = opts->ttl_ms,
		    .server_timeout_ms = opts->server_timeout_ms,
		    .try_ms = try_ms(opts),
		    .wait = opts->wait_ms != 0,
		    .max_waiters = opts->max_waiters,
		    .newest = opts->newest,
		    .replace = opts->replace,
		    .replaceable = opts->replaceable,
		    .replicas = opts->replicas,
		    .replicas_ms = opts->replicas_ms,
		    .kind = kind_of(opts->kind),
		    .permits = opts->permits,
		    .is_hold = opts->action == OPTS_HOLD,
		    .hold_ms = opts->hold_ms,
		    .command = opts->command != NULL ? opts->command[0] : "",
		    .label = opts->label,
		    .outer = getenv("RLOCKRUN_HELD"),
		    .history_ms = opts->history_ms,
		    .once_ms = opts->once_ms,
		    .once_id = opts->once_id,
		    .expect_ms = opts->expect_ms,
		};
	return count;
}

int
locks_init(struct locks *locks, struct signals *signals, struct guard *guard)
{
	size_t count = configure(locks->configs, locks->opts);

	relay_init(&locks->relay, locks->loop, signals, guard);
	if (set_init(&locks->set, locks->loop,
		locks->opts->server_count > 1 ? &rule_majority : &rule_all,
		locks->configs, count) == 0)
		return 0;
	ending_add_text(locks->events, ENDING_NO_LOCK, strerror(errno));
	return -1;
}

void
locks_fini(struct locks *locks)
{
	relay_fini(&locks->relay, locks->loop);
	loop_timer_remove(locks->loop, &locks->timer);
	set_fini(&locks->set);
}

/* --- the loop ----------------------------------------------------------- */

void
locks_emit(const struct locks *locks, struct event event)
{
	events_emit(locks->events, &event);
}

void
locks_wake_at(struct locks *locks, int64_t at)
{
	loop_timer_set(locks->loop, &locks->timer, at);
}

bool
locks_turn(struct locks *locks)
{
	if (loop_turn(locks->loop) == 0)
		return true;
	ending_add_text(locks->events, ENDING_LOOP_FAILED, strerror(errno));
	return false;
}

bool
locks_obey(struct locks *locks)
{
	int signo = relay_obey(&locks->relay);

	if (signo != 0)
		ending_add(locks->events, ENDING_SIGNAL,
		    (struct event){.status = -signo});
	return signo != 0;
}

/* --- why it has failed -------------------------------------------------- */

void
locks_add_ending(const struct locks *locks, enum ending_reason reason,
    enum event_then then)
{
	const struct lock *lock = locks->set.about;

	ending_add(locks->events, reason,
	    (struct event){.name = lock->config->name,
		.why = locks->set.error,
		.then = then});
}

static void
on_failed(struct locks *locks)
{
	static const enum ending_reason endings[] = {
	    [LOCK_NOT_A_LOCK] = ENDING_NOT_A_LOCK,
	    [LOCK_OTHER_KIND] = ENDING_OTHER_KIND,
	    [LOCK_REFUSED] = ENDING_REFUSED,
	    [LOCK_ERROR] = ENDING_SERVER_ERROR,
	    [LOCK_MISCONFIGURED] = ENDING_MISCONFIGURED,
	    [LOCK_NOT_DUE] = ENDING_NOT_DUE,
	    [LOCK_OVERTAKEN] = ENDING_OVERTAKEN,
	};
	const struct lock *lock = locks->set.about;
	enum lock_failure failure = locks->set.failure;
	struct event event = {.name = lock->config->name,
	    .why = locks->set.error,
	    .holder = &lock->holder,
	    .count = lock->queue.length};

	if (failure == LOCK_UNAVAILABLE) {
		locks->state = LOCKS_UNAVAILABLE;
		return;
	}
	if (failure == LOCK_OVERTAKEN)
		event.by = &lock->by;
	if (failure == LOCK_OTHER_KIND)
		event.why = lock->claim.outer->adverb;
	if (failure == LOCK_BUSY)
		observer_watch_holder(&locks->observer, lock);
	if (failure == LOCK_BUSY)
		ending_add(locks->events,
		    lock->config->wait ? ENDING_QUEUE_FULL : ENDING_BUSY,
		    event);
	else
		ending_add(locks->events, endings[failure], event);
	locks->state = LOCKS_FAILED;
}

static void
add_wait_over(const struct locks *locks)
{
	const struct lock *lock = locks->set.about;

	ending_add(locks->events, ENDING_WAIT_OVER,
	    (struct event){.name = lock->config->name,
		.holder = &lock->holder,
		.ms = locks->opts->wait_ms});
}

/* --- states -------------------------------------------------------------- */

/* Without an ending the reason is that no server has replied. */
static void
step_cancelling(struct locks *locks)
{
	if (locks->set.state != LOCK_RELEASED)
		return;
	locks->state = locks->events->facts->ending == ENDING_NONE
			   ? LOCKS_UNAVAILABLE
			   : LOCKS_FAILED;
}

void
locks_cancel(struct locks *locks)
{
	locks->state = LOCKS_CANCELLING;
	set_cancel(&locks->set);
	step_cancelling(locks);
}

static void
end_wait(struct locks *locks)
{
	if (locks->set.answered)
		add_wait_over(locks);
	locks->state = LOCKS_CANCELLING;
	set_skip(&locks->set);
	step_cancelling(locks);
}

static void
step_trying(struct locks *locks)
{
	const struct set *set = &locks->set;

	if (locks_obey(locks)) {
		locks_cancel(locks);
	} else if (set->state == LOCK_HELD) {
		locks->state = LOCKS_HELD;
	} else if (set->state == LOCK_FAILED) {
		on_failed(locks);
	} else if (locks->loop->now >= locks->wait_until) {
		end_wait(locks);
	} else {
		locks_wake_at(locks, locks->wait_until);
		observer_watch_acquire(&locks->observer);
	}
}

void
locks_step(struct locks *locks)
{
	if (locks->state == LOCKS_TRYING)
		step_trying(locks);
	else if (locks->state == LOCKS_CANCELLING)
		step_cancelling(locks);
}

void
locks_begin(struct locks *locks)
{
	const struct opts *opts = locks->opts;

	locks->state = LOCKS_TRYING;
	locks->wait_until =
	    opts->wait_ms > 0 ? clock_now() + opts->wait_ms : CLOCK_NEVER;
	observer_init(&locks->observer, opts, locks->events, &locks->set);
	set_acquire(&locks->set);
}

bool
locks_is_hurried(struct locks *locks)
{
	struct relay *relay = &locks->relay;

	/* A signal that has ended the job asks us to end, too. */
	if (!locks->set.answered &&
	    (relay_take_end(relay) || relay->asked_to_end))
		locks->hurried = true;
	return locks->hurried;
}
