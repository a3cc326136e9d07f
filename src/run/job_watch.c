#include "run/job_watch.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/exitcode.h"

enum {
	LAST_CHANCE_MS = 100, /* after a pause, for a renewal or the guard */
	PAUSE_MIN_MS = 20,    /* of our own: the server is asked again */
	LOST_GRACE_MAX_MS = 1000, /* between TERM and KILL once it is gone */
	KILL_AHEAD_MIN_MS = 40,	  /* see kill_ahead */
	LOOK_AGAIN_MS = 20, /* at a guard that kills, or what a dead one left */
	UNKILLABLE_MS =
	    5000, /* processes that outlive KILL are given up then */
};

static bool
job_watch_has_lost(const struct job_watch *watch)
{
	return facts_say_lost(watch->locks->events->facts);
}

/* --- deadlines -------------------------------------------------------- */

/* By which deadlines are judged: see loop.h. */
static int64_t
turn_time(const struct job_watch *watch)
{
	return watch->locks->loop->now;
}

/* KILL takes time. In the first half the guard must begin; in the second we can
 * still do it without the guard. */
static int64_t
kill_ahead(const struct job_watch *watch)
{
	int64_t ahead = watch->locks->opts->ttl_ms / 100;

	return ahead < KILL_AHEAD_MIN_MS ? KILL_AHEAD_MIN_MS : ahead;
}

/* When KILL is sent for the job to be dead at the end of the lease. */
static int64_t
kill_at(const struct job_watch *watch)
{
	if (!watch->locked || watch->locks->opts->lost_warn)
		return CLOCK_NEVER;
	return watch->locks->set.valid_until - kill_ahead(watch);
}

static int64_t
grace(const struct job_watch *watch)
{
	return clock_min(watch->locks->opts->kill_after_ms,
	    watch->locks->opts->ttl_ms / 2);
}

static int64_t
term_at(const struct job_watch *watch)
{
	int64_t at = kill_at(watch);

	return at == CLOCK_NEVER ? CLOCK_NEVER : at - grace(watch);
}

int64_t
job_watch_start(struct job_watch *watch)
{
	const struct opts *opts = watch->locks->opts;
	int64_t now = clock_now();

	watch->overrun_at = watch->killed_at = watch->warn_at = CLOCK_NEVER;
	if (opts->max_run_ms != 0) {
		watch->overrun_at = now + opts->max_run_ms;
		watch->killed_at = watch->overrun_at + opts->kill_after_ms;
	}
	if (opts->warn_after_ms != 0 && watch->locked)
		watch->warn_at = now + opts->warn_after_ms;
	return kill_at(watch);
}

/* --- the end of the job ----------------------------------------------- */

static int
job_status(const struct job *job)
{
	if (!job->ended)
		return 0;
	if (WIFSIGNALED(job->status))
		return -WTERMSIG(job->status);
	return WEXITSTATUS(job->status);
}

static void
add_exec_failure(struct job_watch *watch)
{
	const struct child *child = watch->child;
	int error = watch->guard->job.exec_error;
	int status = child_exec_exit_code(child, error);
	bool there = status == EXITCODE_CANNOT_RUN && error == ENOENT;

	ending_add(watch->locks->events, ENDING_NOT_RUN,
	    (struct event){.command = child->path,
		.why = there ? "its interpreter is not found" : strerror(error),
		.then = EVENT_THEN_NOT_STARTED,
		.status = status});
}

/* A command that was not executed has not ended. One that ended without a
 * status was killed by the guard, or died with it. */
static void
report_end(const struct job_watch *watch)
{
	const struct job *job = &watch->guard->job;

	if (job->exec_error == 0 && job->state != JOB_LATE)
		locks_emit(watch->locks,
		    (struct event){.type = EVENT_JOB_ENDED,
			.status = job->ended ? job_status(job) : -SIGKILL});
}

static bool
is_stopped_early(const struct job_watch *watch)
{
	return watch->replaced ||
	       watch->locks->events->facts->ending == ENDING_OVERRUN;
}

/* When what needed the lock ended. */
static int64_t
find_end(const struct job_watch *watch)
{
	const struct job *job = &watch->guard->job;
	bool all = watch->locks->opts->wait_all || is_stopped_early(watch) ||
		   !job->ended;

	return all ? job->gone_at : job->ended_at;
}

/* Whether the lease ended before that. */
static bool
is_late(const struct job_watch *watch)
{
	if (watch->guard->job.state == JOB_LATE && !is_stopped_early(watch))
		return true;
	return watch->locked && watch->over_at >= watch->locks->set.valid_until;
}

/* A job that ended before TERM reached it keeps its status. */
static bool
is_replaced(const struct job_watch *watch)
{
	const struct job *job = &watch->guard->job;
	int64_t over_at =
	    watch->locks->opts->wait_all ? job->gone_at : job->ended_at;

	return watch->replaced &&
	       !(job->ended && over_at < watch->stopping_since);
}

static void
job_watch_finish(struct job_watch *watch)
{
	const struct job *job = &watch->guard->job;
	enum ending_reason ending = watch->locks->events->facts->ending;

	report_end(watch);
	watch->state = JOB_WATCH_OVER;
	watch->over_at = find_end(watch);
	if (!job_watch_has_lost(watch) && is_late(watch))
		locks_add_ending(watch->locks, ENDING_JOB_LATE,
		    job->state == JOB_LATE ? EVENT_THEN_NOT_STARTED
					   : EVENT_THEN_NOTHING);
	else if (ending == ENDING_NONE && job->exec_error != 0)
		add_exec_failure(watch);
	else if (ending == ENDING_NONE && is_replaced(watch))
		ending_add(watch->locks->events, ENDING_REPLACED,
		    (struct event){.by = &watch->locks->set.about->by});
	else if (ending == ENDING_NONE)
		ending_add(watch->locks->events, ENDING_JOB,
		    (struct event){.status = job_status(job)});
}

/* --- RUNNING ---------------------------------------------------------- */

static void
begin_stop(struct job_watch *watch, int64_t stop_by)
{
	watch->state = JOB_WATCH_STOPPING;
	watch->stopping_since = clock_now();
	watch->stop_by = stop_by;
	locks_emit(watch->locks, (struct event){.type = EVENT_JOB_STOPPING});
	guard_terminate(watch->guard);
}

static void
job_watch_on_lost(struct job_watch *watch)
{
	int64_t grace_ms = clock_min(grace(watch), LOST_GRACE_MAX_MS);

	if (job_watch_has_lost(watch))
		return;
	watch->warn_at = CLOCK_NEVER;
	if (watch->locks->opts->lost_warn) {
		locks_add_ending(watch->locks, ENDING_LOST,
		    EVENT_THEN_CONTINUES);
		return;
	}
	locks_add_ending(watch->locks, ENDING_LOST, EVENT_THEN_STOPPED);
	begin_stop(watch,
	    clock_min(watch->locks->set.valid_until, clock_now() + grace_ms));
}

/* An outage that has lasted until here ends the job in time. After a pause of
 * our own the server is asked once more, and given a moment to reply. Returns
 * when to look again. */
static int64_t
on_lease_ending(struct job_watch *watch)
{
	int64_t now = turn_time(watch);

	if (watch->locks->loop->late_ms >= PAUSE_MIN_MS &&
	    watch->last_chance_at == 0) {
		watch->last_chance_at =
		    clock_min(now + LAST_CHANCE_MS, kill_at(watch));
		set_renew(&watch->locks->set);
	}
	if (now < watch->last_chance_at)
		return watch->last_chance_at;
	/* A renewal that comes yet keeps the lock, but not the job. */
	locks_add_ending(watch->locks, ENDING_NOT_RENEWED, EVENT_THEN_STOPPED);
	begin_stop(watch, kill_at(watch));
	return CLOCK_NEVER;
}

/* Returns when to look again. */
static int64_t
watch_lease(struct job_watch *watch)
{
	observer_watch_lease(&watch->locks->observer);
	if (watch->locks->set.state == LOCK_LOST) {
		job_watch_on_lost(watch);
		return CLOCK_NEVER;
	}
	if (turn_time(watch) >= term_at(watch))
		return on_lease_ending(watch);
	watch->last_chance_at = 0;
	return term_at(watch);
}

/* As at the end of --max-run; the lock is renewed until the job is dead. */
static void
obey_order(struct job_watch *watch)
{
	locks_emit(watch->locks, (struct event){.type = EVENT_REPLACING,
				     .by = &watch->locks->set.about->by});
	watch->replaced = true;
	begin_stop(watch, clock_now() + watch->locks->opts->kill_after_ms);
}

static void
add_overrun(struct job_watch *watch, enum event_then then)
{
	ending_add(watch->locks->events, ENDING_OVERRUN,
	    (struct event){.ms = watch->locks->opts->max_run_ms, .then = then});
}

/* Returns when to look again. */
static int64_t
watch_limits(struct job_watch *watch)
{
	int64_t now = turn_time(watch);

	if (now >= watch->overrun_at) {
		add_overrun(watch, EVENT_THEN_STOPPED);
		begin_stop(watch, watch->killed_at);
		return CLOCK_NEVER;
	}
	if (now >= watch->warn_at) {
		locks_emit(watch->locks,
		    (struct event){.type = EVENT_HELD_LONG,
			.ms = watch->locks->opts->warn_after_ms});
		watch->warn_at = CLOCK_NEVER;
	}
	return clock_min(watch->overrun_at, watch->warn_at);
}

/* By the guard itself: we were stopped, or too slow. */
static void
add_killed(struct job_watch *watch, int64_t at)
{
	if (at >= watch->killed_at)
		add_overrun(watch, EVENT_THEN_KILLED);
	else
		locks_add_ending(watch->locks, ENDING_LEASE_OVER,
		    EVENT_THEN_KILLED);
}

static void
on_killed(struct job_watch *watch)
{
	const struct job *job = &watch->guard->job;

	if (job->state == JOB_KILLED || job->gone_at >= watch->killed_at)
		add_killed(watch, job->gone_at);
	job_watch_finish(watch);
}

/* We have gone on before the guard was done. */
static void
await_kill(struct job_watch *watch)
{
	int64_t now = clock_now();

	add_killed(watch, now);
	begin_stop(watch, now);
}

/* A command that has ended keeps its status, whatever happened to the guard
 * after that while we were stopped. The guard keeps the job to --max-run, too:
 * we may be stopped by then. Returns when to look again. */
static int64_t
step_running(struct job_watch *watch)
{
	const struct job *job = &watch->guard->job;
	bool gone = guard_job_is_gone(watch->guard);
	bool over = job->ended &&
		    (!watch->locks->opts->wait_all || job->state == JOB_GONE);
	int64_t look_at = CLOCK_NEVER;

	observer_watch_pause(&watch->locks->observer,
	    watch->locks->loop->late_ms);
	if (job->ended && !gone && watch->locks->relay.asked_to_end) {
		begin_stop(watch,
		    clock_now() + watch->locks->opts->kill_after_ms);
	} else if (over && job->state != JOB_LATE) {
		job_watch_finish(watch);
	} else if (job->state == JOB_KILLED || job->state == JOB_LATE) {
		on_killed(watch);
	} else if (job->state == JOB_KILLING) {
		await_kill(watch);
	} else if (job->state == JOB_FAILED) {
		ending_add_unguarded(watch->locks->events, job->error);
		watch->state = JOB_WATCH_OVER;
	} else if (job->state == JOB_UNGUARDED) {
		ending_add_text(watch->locks->events, ENDING_GUARD_DIED, NULL);
		begin_stop(watch, clock_now());
	} else {
		if (watch->locked)
			look_at = watch_lease(watch);
		if (watch->state == JOB_WATCH_RUNNING)
			look_at = clock_min(look_at, watch_limits(watch));
		if (watch->state == JOB_WATCH_RUNNING &&
		    watch->locks->set.about->ordered)
			obey_order(watch);
		if (watch->state == JOB_WATCH_RUNNING)
			guard_set_deadline(watch->guard,
			    clock_min(kill_at(watch), watch->killed_at));
	}
	return look_at;
}

/* --- STOPPING --------------------------------------------------------- */

/* A process that cannot be killed (setuid, stuck in the kernel) still runs, or
 * may run if nothing proves its end: the lock is not released under it. From
 * here on it is not renewed either. */
static void
abandon(struct job_watch *watch)
{
	bool unproven = watch->guard->job.state == JOB_UNGUARDED &&
			guard_has_earlier_children(watch->guard);

	ending_add_text(watch->locks->events, ENDING_UNKILLABLE,
	    unproven ? "cannot prove that the job has ended, as rlockrun "
		       "inherited children that still run"
		     : "processes of the job cannot be killed");
	watch->state = JOB_WATCH_ABANDONED;
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* From when on the guard is awaited. If we were stopped while it should have
 * begun, so may have been the guard, as by a freezer: when it is too late for
 * the lease anyway, it gets its time once more. */
static int64_t
awaited_since(struct job_watch *watch, int64_t deadline)
{
	int64_t since = later(deadline, watch->stopping_since);
	int64_t now = turn_time(watch);
	int64_t due_at = now - watch->locks->loop->late_ms;

	if (due_at <= since + kill_ahead(watch) / 2 &&
	    now >= since + kill_ahead(watch))
		watch->resumed_at = now;
	return later(since, watch->resumed_at);
}

/* A guard that is traced or stuck in the kernel reports nothing. Its death ends
 * the command and makes us the parent of the rest. Returns when to look
 * again. */
static int64_t
watch_guard(struct job_watch *watch, int64_t deadline)
{
	int64_t since = awaited_since(watch, deadline);
	bool too_late = since >= deadline + kill_ahead(watch);
	int64_t replace_at =
	    since + (too_late ? LAST_CHANCE_MS : kill_ahead(watch) / 2);
	int64_t now = turn_time(watch);

	if (now >= since + UNKILLABLE_MS) {
		abandon(watch);
		return CLOCK_NEVER;
	}
	if (now < replace_at && watch->guard->job.state != JOB_UNGUARDED)
		return replace_at;
	if (guard_is_unresponsive(watch->guard)) {
		locks_emit(watch->locks,
		    (struct event){.type = EVENT_GUARD_STUCK});
		guard_kill(watch->guard);
	}
	return now + LOOK_AGAIN_MS;
}

/* Returns when to look again. */
static int64_t
step_stopping(struct job_watch *watch)
{
	int64_t deadline = clock_min(watch->stop_by, kill_at(watch));

	if (watch->guard->job.state == JOB_UNGUARDED)
		guard_kill_job(watch->guard);
	if (guard_job_is_gone(watch->guard)) {
		job_watch_finish(watch);
		return CLOCK_NEVER;
	}
	if (watch->locks->set.state == LOCK_LOST && !job_watch_has_lost(watch))
		locks_add_ending(watch->locks, ENDING_LOST, EVENT_THEN_NOTHING);
	guard_set_deadline(watch->guard, deadline);
	return watch_guard(watch, deadline);
}

int64_t
job_watch_step(struct job_watch *watch)
{
	int64_t look_at = CLOCK_NEVER;

	relay_forward(&watch->locks->relay);
	if (watch->state == JOB_WATCH_RUNNING)
		look_at = step_running(watch);
	if (watch->state == JOB_WATCH_STOPPING)
		look_at = step_stopping(watch);
	return look_at;
}
