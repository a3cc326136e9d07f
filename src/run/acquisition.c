#include "run/acquisition.h"

#include <stdlib.h>

#include "base/clock.h"

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

_Static_assert(OPTS_SERVERS_MAX <= QUORUM_SERVERS_MAX, "faults of all");

void
acquisition_configure(struct lock_config *configs, const struct opts *opts)
{
	for (size_t i = 0; i < opts->key_count; i++)
		configs[i] = (struct lock_config){
		    .key = opts->keys[i].key,
		    .name = opts->keys[i].name,
		    .servers = opts->servers,
		    .server_count = opts->server_count,
		    .min_uptime_ms = opts->min_uptime_ms,
		    .ttl_ms = opts->ttl_ms,
		    .server_timeout_ms = opts->server_timeout_ms,
		    .try_ms = try_ms(opts),
		    .wait = opts->wait_ms != 0,
		    .max_waiters = opts->max_waiters,
		    .replicas = opts->replicas,
		    .replicas_ms = opts->replicas_ms,
		    .kind = kind_of(opts->kind),
		    .permits = opts->permits,
		    .is_hold = opts->action == OPTS_HOLD,
		    .command = opts->command != NULL ? opts->command[0] : "",
		    .label = opts->label,
		    .held = getenv("RLOCKRUN_HELD"),
		    .history_ms = opts->history_ms,
		    .once_ms = opts->once_ms,
		};
}

/* --- why it has failed -------------------------------------------------- */

void
acquisition_add_unavailable(const struct acquisition *acquisition)
{
	ending_add_lock(acquisition->ending, ENDING_UNAVAILABLE,
	    acquisition->set->about, EVENT_THEN_NOTHING);
}

static void
on_failed(struct acquisition *acquisition)
{
	static const enum ending_reason endings[] = {
	    [LOCK_NOT_A_LOCK] = ENDING_NOT_A_LOCK,
	    [LOCK_OTHER_KIND] = ENDING_OTHER_KIND,
	    [LOCK_REFUSED] = ENDING_REFUSED,
	    [LOCK_ERROR] = ENDING_SERVER_ERROR,
	    [LOCK_MISCONFIGURED] = ENDING_MISCONFIGURED,
	    [LOCK_NOT_DUE] = ENDING_NOT_DUE,
	};
	const struct lock *lock = acquisition->set->about;
	struct event event = {.name = lock->config->name,
	    .why = lock->error,
	    .holder = &lock->holder,
	    .count = lock->queue.length};

	if (lock->failure == LOCK_UNAVAILABLE) {
		acquisition->state = ACQUISITION_UNAVAILABLE;
		return;
	}
	if (lock->failure == LOCK_OTHER_KIND)
		event.why = lock->claim.outer->held;
	if (lock->failure == LOCK_BUSY)
		ending_add(acquisition->ending,
		    lock->config->wait ? ENDING_QUEUE_FULL : ENDING_BUSY,
		    event);
	else
		ending_add(acquisition->ending, endings[lock->failure], event);
	acquisition->state = ACQUISITION_FAILED;
}

static void
add_wait_over(const struct acquisition *acquisition)
{
	const struct lock *lock = acquisition->set->about;

	ending_add(acquisition->ending, ENDING_WAIT_OVER,
	    (struct event){.name = lock->config->name,
		.holder = &lock->holder,
		.ms = acquisition->opts->wait_ms});
}

/* --- states -------------------------------------------------------------- */

/* Without an ending the reason is that no server has replied. */
static void
step_cancelling(struct acquisition *acquisition)
{
	if (acquisition->set->state != LOCK_RELEASED)
		return;
	acquisition->state = acquisition->ending->reason == ENDING_NONE
				 ? ACQUISITION_UNAVAILABLE
				 : ACQUISITION_FAILED;
}

void
acquisition_cancel(struct acquisition *acquisition)
{
	acquisition->state = ACQUISITION_CANCELLING;
	set_cancel(acquisition->set);
	step_cancelling(acquisition);
}

static void
step_trying(struct acquisition *acquisition)
{
	const struct set *set = acquisition->set;

	if (ending_add_signal(acquisition->ending,
		relay_obey(acquisition->relay))) {
		acquisition_cancel(acquisition);
	} else if (set->state == LOCK_HELD) {
		acquisition->state = ACQUISITION_HELD;
	} else if (set->state == LOCK_FAILED) {
		on_failed(acquisition);
	} else if (clock_now() >= acquisition->wait_until) {
		if (set->answered)
			add_wait_over(acquisition);
		acquisition_cancel(acquisition);
	} else {
		observer_watch_acquire(acquisition->observer, acquisition->set);
	}
}

void
acquisition_step(struct acquisition *acquisition)
{
	if (acquisition->state == ACQUISITION_TRYING)
		step_trying(acquisition);
	else if (acquisition->state == ACQUISITION_CANCELLING)
		step_cancelling(acquisition);
}

void
acquisition_begin(struct acquisition *acquisition)
{
	const struct opts *opts = acquisition->opts;

	acquisition->state = ACQUISITION_TRYING;
	acquisition->wait_until =
	    opts->wait_ms > 0 ? clock_now() + opts->wait_ms : CLOCK_NEVER;
	observer_init(acquisition->observer, opts, acquisition->ending->events);
	set_acquire(acquisition->set);
}
