/* Watches a job that runs, and stops it when it must end: its lock is lost, the
 * lease ends, --max-run is over, another run is to replace it, it has left
 * processes that were asked to end, or the guard has died. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "run/run.h"

enum {
	LAST_CHANCE_MS = 100, /* after a pause, for a renewal or the guard */
	PAUSE_MIN_MS = 20,    /* of our own: the server is asked again */
	LOST_GRACE_MAX_MS = 1000, /* between TERM and KILL once it is gone */
	KILL_AHEAD_MIN_MS = 40,	  /* see kill_ahead */
	LOOK_AGAIN_MS = 20, /* at a guard that kills, or what a dead one left */
	/* Processes that outlive KILL are given up then. A guard must begin in
	 * the first half of it. */
	UNKILLABLE_MS = 5000,
};

/* --- deadlines -------------------------------------------------------- */

/* KILL takes time. In the first half the guard must begin; in the second we can
 * still do it without the guard. */
static int64_t
kill_ahead(const struct run *run)
{
	int64_t ahead = run->opts->lock.ttl_ms / 100;

	return ahead < KILL_AHEAD_MIN_MS ? KILL_AHEAD_MIN_MS : ahead;
}

/* When KILL is sent for the job to be dead at the end of the lease. */
static int64_t
kill_at(const struct run *run)
{
	if (run->cover == COVER_NONE || run->opts->lost_warn)
		return CLOCK_NEVER;
	return run->set.valid_until - kill_ahead(run);
}

int64_t
watch_start(struct run *run)
{
	const struct opts *opts = run->opts;
	struct limits *limits = &run->limits;
	int64_t now = clock_now();

	limits->overrun_at = limits->killed_at = limits->warn_at = CLOCK_NEVER;
	if (opts->max_run_ms != 0) {
		limits->overrun_at = now + opts->max_run_ms;
		limits->killed_at = limits->overrun_at + opts->kill_after_ms;
	}
	if (opts->warn_after_ms != 0 && run->cover != COVER_NONE)
		limits->warn_at = now + opts->warn_after_ms;
	return kill_at(run);
}

/* --- the end of the job ----------------------------------------------- */

static void
add_exec_failure(struct run *run)
{
	int error = run->guard.job.exec_error;
	int status = child_exec_exit_code(&run->child, error);
	bool there = status == EXITCODE_CANNOT_RUN && error == ENOENT;

	run_add_ending(run, ENDING_NOT_RUN,
	    (struct event){.command = run->child.path,
		.why = there ? "its interpreter is not found" : strerror(error),
		.then = EVENT_THEN_NOT_STARTED,
		.status = status});
}

/* Whether the lease ended before what needed the lock. That is the command, or
 * all of the job if it was stopped or was to be waited for. */
static bool
is_late(const struct run *run)
{
	const struct job *job = &run->guard.job;
	bool is_stopped = run->replaced || run->facts->ending == ENDING_OVERRUN;
	bool all = run->opts->wait_all || is_stopped || !job->ended;

	if (job->state == JOB_LATE && !is_stopped)
		return true;
	return run->cover != COVER_NONE &&
	       (all ? job->gone_at : job->ended_at) >= run->set.valid_until;
}

/* A command that was not executed has not ended. One that ended without a
 * status was killed by the guard, or died with it. A job that ended before TERM
 * reached it keeps its status. */
static void
finish_job(struct run *run)
{
	const struct job *job = &run->guard.job;
	enum ending_reason ending = run->facts->ending;
	int64_t over_at = run->opts->wait_all ? job->gone_at : job->ended_at;
	bool was_first = job->ended && over_at < run->limits.stopping_since;
	int status = !job->ended		? -SIGKILL
		     : WIFSIGNALED(job->status) ? -WTERMSIG(job->status)
						: WEXITSTATUS(job->status);

	if (job->exec_error == 0 && job->state != JOB_LATE)
		events_emit(run->events,
		    &(struct event){.type = EVENT_JOB_ENDED, .status = status});
	if (!facts_say_lost(run->facts) && is_late(run))
		run_add_lock_ending(run, ENDING_JOB_LATE,
		    job->state == JOB_LATE ? EVENT_THEN_NOT_STARTED
					   : EVENT_THEN_NOTHING);
	else if (ending == ENDING_NONE && job->exec_error != 0)
		add_exec_failure(run);
	else if (ending == ENDING_NONE && run->replaced && !was_first)
		run_add_ending(run, ENDING_REPLACED,
		    (struct event){.by = &run->set.about->order.by});
	else if (ending == ENDING_NONE)
		run_add_ending(run, ENDING_JOB,
		    (struct event){.status = status});
	run_on_job_over(run);
}

/* --- JOB -------------------------------------------------------------- */

static void
begin_stop(struct run *run, int64_t stop_by)
{
	run_enter(run, RUN_STOP);
	run->limits.stopping_since = clock_now();
	run->limits.stop_by = stop_by;
	events_emit(run->events, &(struct event){.type = EVENT_JOB_STOPPING});
	guard_order(&run->guard, ORDER_TERMINATE, 0);
}

/* An outage that has lasted until here ends the job in time. After a pause of
 * our own the server is asked once more, and given a moment to reply. */
static void
on_lease_ending(struct run *run)
{
	int64_t now = run->loop->now;

	if (run->loop->late_ms >= PAUSE_MIN_MS &&
	    run->limits.last_chance_at == 0) {
		run->limits.last_chance_at =
		    clock_min(now + LAST_CHANCE_MS, kill_at(run));
		set_renew(&run->set);
	}
	if (now < run->limits.last_chance_at) {
		run_wake_at(run, run->limits.last_chance_at);
		return;
	}
	/* A renewal that comes yet keeps the lock, but not the job. */
	run_add_lock_ending(run, ENDING_NOT_RENEWED, EVENT_THEN_STOPPED);
	begin_stop(run, kill_at(run));
}

static void
watch_lease(struct run *run)
{
	int64_t grace =
	    clock_min(run->opts->kill_after_ms, run->opts->lock.ttl_ms / 2);
	int64_t term_at = kill_at(run);

	if (term_at != CLOCK_NEVER)
		term_at -= grace;
	if (facts_say_lost(run->facts))
		return; /* --on-lost warn */
	if (run->set.state == LOCK_LOST) {
		run->limits.warn_at = CLOCK_NEVER;
		run_add_lock_ending(run, ENDING_LOST,
		    run->opts->lost_warn ? EVENT_THEN_CONTINUES
					 : EVENT_THEN_STOPPED);
		grace = clock_min(grace, LOST_GRACE_MAX_MS);
		if (!run->opts->lost_warn)
			begin_stop(run, clock_min(run->set.valid_until,
					    clock_now() + grace));
	} else if (run->loop->now >= term_at) {
		on_lease_ending(run);
	} else {
		run->limits.last_chance_at = 0;
		run_wake_at(run, term_at);
	}
}

static void
add_overrun(struct run *run, enum event_then then)
{
	run_add_ending(run, ENDING_OVERRUN,
	    (struct event){.ms = run->opts->max_run_ms, .then = then});
}

/* --max-run, --warn-after and --replaceable. A job that is replaced is stopped
 * as at the end of --max-run; the lock is renewed until the job is dead. */
static void
watch_limits(struct run *run)
{
	struct limits *limits = &run->limits;
	int64_t now = run->loop->now;

	if (now >= limits->overrun_at) {
		add_overrun(run, EVENT_THEN_STOPPED);
		begin_stop(run, limits->killed_at);
		return;
	}
	if (now >= limits->warn_at) {
		events_emit(run->events,
		    &(struct event){.type = EVENT_HELD_LONG,
			.ms = run->opts->warn_after_ms});
		limits->warn_at = CLOCK_NEVER;
	}
	run_wake_at(run, clock_min(limits->overrun_at, limits->warn_at));
	if (run->set.about->order.ordered) {
		events_emit(run->events,
		    &(struct event){.type = EVENT_REPLACING,
			.by = &run->set.about->order.by});
		run->replaced = true;
		begin_stop(run, clock_now() + run->opts->kill_after_ms);
	}
}

/* By the guard itself: we were stopped, or too slow. */
static void
add_killed(struct run *run, int64_t at)
{
	if (at >= run->limits.killed_at)
		add_overrun(run, EVENT_THEN_KILLED);
	else
		run_add_lock_ending(run, ENDING_LEASE_OVER, EVENT_THEN_KILLED);
}

/* A command that has ended keeps its status, whatever happened to the guard
 * after that while we were stopped. The guard keeps the job to --max-run, too:
 * we may be stopped by then. */
void
watch_step_job(struct run *run)
{
	const struct job *job = &run->guard.job;
	bool is_over =
	    job->ended && (!run->opts->wait_all || job->state == JOB_GONE);

	relay_forward(run);
	if (job->ended && run->relay.asked_to_end &&
	    !guard_job_is_gone(&run->guard)) {
		begin_stop(run, clock_now() + run->opts->kill_after_ms);
	} else if (is_over && job->state != JOB_LATE) {
		finish_job(run);
	} else if (job->state == JOB_KILLED || job->state == JOB_LATE) {
		if (job->state == JOB_KILLED ||
		    job->gone_at >= run->limits.killed_at)
			add_killed(run, job->gone_at);
		finish_job(run);
	} else if (job->state == JOB_KILLING) {
		/* We have gone on before the guard was done. */
		int64_t now = clock_now();

		add_killed(run, now);
		begin_stop(run, now);
	} else if (job->state == JOB_FAILED) {
		run_add_unguarded(run, job->error);
		run_on_job_over(run);
	} else if (job->state == JOB_UNGUARDED) {
		run_add_ending(run, ENDING_GUARD_DIED,
		    (struct event){.then = EVENT_THEN_NOTHING});
		begin_stop(run, clock_now());
	} else {
		if (run->cover != COVER_NONE)
			watch_lease(run);
		if (run->state == RUN_JOB)
			watch_limits(run);
		if (run->state == RUN_JOB)
			guard_set_deadline(&run->guard,
			    clock_min(kill_at(run), run->limits.killed_at));
	}
}

/* --- STOP ------------------------------------------------------------- */

/* A process that cannot be killed (setuid, stuck in the kernel) still runs, or
 * may run if nothing proves its end: the lock is not released under it. From
 * here on it is not renewed either. */
static void
abandon(struct run *run)
{
	bool unproven = run->guard.job.state == JOB_UNGUARDED &&
			guard_has_earlier_children(&run->guard);

	run_add_ending(run, ENDING_UNKILLABLE,
	    (struct event){
		.why = unproven
			   ? "cannot prove that the job has ended, as rlockrun "
			     "inherited children that still run"
			   : "processes of the job cannot be killed"});
	run_enter(run, RUN_ABANDONED);
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* How long the guard may take to begin. Under a long lease it has no more time
 * than is left afterwards to do it without the guard. */
static int64_t
guard_ms(const struct run *run)
{
	return clock_min(kill_ahead(run), UNKILLABLE_MS) / 2;
}

/* From when on the guard is awaited. If we were stopped while it should have
 * begun, so may have been the guard, as by a freezer: when it is too late
 * anyway, for the lease or for the job to be given up, it is awaited anew. */
static int64_t
awaited_since(struct run *run, int64_t deadline)
{
	int64_t since = later(deadline, run->limits.stopping_since);
	int64_t now = run->loop->now;
	int64_t due_at = now - run->loop->late_ms;

	if (due_at <= since + guard_ms(run) && now >= since + 2 * guard_ms(run))
		run->limits.resumed_at = now;
	return later(since, run->limits.resumed_at);
}

/* A guard that is traced or stuck in the kernel reports nothing. Its death ends
 * the command and makes us the parent of the rest. */
static void
watch_guard(struct run *run, int64_t deadline)
{
	int64_t since = awaited_since(run, deadline);
	bool too_late = since == run->limits.resumed_at ||
			since >= deadline + kill_ahead(run);
	int64_t replace_at =
	    since + (too_late ? LAST_CHANCE_MS : guard_ms(run));
	int64_t now = run->loop->now;

	if (now >= since + UNKILLABLE_MS) {
		abandon(run);
		return;
	}
	if (now < replace_at && run->guard.job.state != JOB_UNGUARDED) {
		run_wake_at(run, replace_at);
		return;
	}
	if (guard_is_unresponsive(&run->guard)) {
		events_emit(run->events,
		    &(struct event){.type = EVENT_GUARD_STUCK});
		guard_kill(&run->guard);
	}
	run_wake_at(run, now + LOOK_AGAIN_MS);
}

void
watch_step_stop(struct run *run)
{
	int64_t deadline = clock_min(run->limits.stop_by, kill_at(run));

	relay_forward(run);
	if (run->guard.job.state == JOB_UNGUARDED)
		guard_kill_job(&run->guard);
	if (guard_job_is_gone(&run->guard)) {
		finish_job(run);
		return;
	}
	if (run->set.state == LOCK_LOST && !facts_say_lost(run->facts))
		run_add_lock_ending(run, ENDING_LOST, EVENT_THEN_NOTHING);
	guard_set_deadline(&run->guard, deadline);
	watch_guard(run, deadline);
}
