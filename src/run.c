/* States of a run. Callbacks only record facts; run_step alone acts on them:
 *
 *   ACQUIRE --held--> JOB --ended--------------------> RELEASE --> DONE
 *      |               |                                ^           ^
 *      |               +--lost, guard died, ended  --> STOP         |
 *      |                  after a TERM with others                  |
 *      |                  left                                      |
 *      +--signal, time out--> CANCEL -------------------------------+
 *
 * After the job has been let go nobody leaves but through DONE. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "exitcode.h"
#include "guard.h"
#include "lock.h"
#include "log.h"
#include "loop.h"
#include "mem.h"
#include "term.h"
#include "tree.h"

enum run_state {
	RUN_ACQUIRE,
	RUN_CANCEL,
	RUN_JOB,
	RUN_STOP,
	RUN_RELEASE,
	RUN_DONE,
};

enum { SIGNALS = 64 }; /* as many as a set of bits holds */

enum {
	LAST_CHANCE_MS = 100,	  /* for a renewal after a pause */
	LOST_GRACE_MAX_MS = 1000, /* between TERM and KILL once it is gone */
	KILL_AHEAD_MIN_MS = 20,	  /* KILL takes time */
	ORPHANS_MS = 20, /* until the next look for what a dead guard left */
	UNKILLABLE_MS = 5000, /* what outlives KILL is given up then */
	PAUSE_TOLD_MS = 200,
	TROUBLE_TOLD_MS = 2000,
};

struct run {
	const struct opts *opts;
	struct sig *sig;
	struct loop loop;
	struct loop_fd signals;
	struct loop_timer timer; /* only wakes run_step */
	struct lock_config lock_config;
	struct lock lock;
	struct child_config child_config;
	struct child child;
	struct guard guard;
	bool terminal;
	enum run_state state;
	int64_t began_at;
	int64_t wait_until;

	/* Facts. */
	uint64_t caught;   /* signals, as bits */
	uint64_t forward;  /* those of them that the job hasn't got yet */
	bool suspended;	   /* together with the job, and not continued yet */
	bool asked_to_end; /* the job has got TERM, INT, HUP or QUIT */

	/* Decisions. */
	bool locked;	  /* else the job runs without (--on-unavailable) */
	bool lost;	  /* the lock is gone, or is no longer proven */
	bool unavailable; /* cancelled as no server answered in time */
	bool unfinished;  /* processes of the job are left to the guard */
	bool told_waiting;
	bool told_trouble;
	int64_t last_chance_at;
	int64_t stop_by; /* KILL, apart from the lease's own end */
	int result;	 /* of run() */
};

/* --- the lease's deadlines -------------------------------------------- */

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* When KILL is sent for the job to be dead at the end of the lease. */
static int64_t
kill_at(const struct run *run)
{
	int64_t ahead = run->opts->ttl_ms / 100;

	if (!run->locked || run->opts->lost_warn)
		return CLOCK_NEVER;
	if (ahead < KILL_AHEAD_MIN_MS)
		ahead = KILL_AHEAD_MIN_MS;
	return run->lock.valid_until - ahead;
}

static int64_t
grace(const struct run *run)
{
	return least(run->opts->kill_after_ms, run->opts->ttl_ms / 2);
}

static int64_t
term_at(const struct run *run)
{
	int64_t at = kill_at(run);

	return at == CLOCK_NEVER ? CLOCK_NEVER : at - grace(run);
}

/* --- facts ------------------------------------------------------------ */

static uint64_t
bit(int signo)
{
	return UINT64_C(1) << (signo - 1);
}

/* Which continues us when somebody has continued the job. */
static bool
comes_from_guard(const struct run *run, const struct signalfd_siginfo *info)
{
	return run->guard.pid > 0 && (pid_t)info->ssi_pid == run->guard.pid;
}

static void
on_signal(void *arg, short revents)
{
	struct run *run = arg;
	struct signalfd_siginfo info;

	(void)revents;
	while (sig_next(run->sig, &info)) {
		int signo = (int)info.ssi_signo;
		run->caught |= bit(signo);
		if (signo != SIGCHLD && !comes_from_guard(run, &info) &&
		    !(run->terminal && term_has_sent_all(&info)))
			run->forward |= bit(signo);
	}
}

static bool
take(uint64_t *set, int signo)
{
	bool was = *set & bit(signo);

	*set &= ~bit(signo);
	return was;
}

/* --- messages --------------------------------------------------------- */

static void
tell_busy(struct run *run, const char *more)
{
	char holder[512];

	if (run->opts->quiet)
		return;
	holder_describe(&run->lock.holder, holder, sizeof(holder));
	log_warnx("%s is held by %s%s", run->opts->name, holder, more);
}

static void
tell_waiting(struct run *run)
{
	if (run->told_waiting || !run->lock.holder.seen)
		return;
	run->told_waiting = true;
	tell_busy(run, "; waiting");
}

/* A short trouble is none: a server that restarts is back in a moment. */
static void
tell_server_trouble(struct run *run)
{
	const struct lock *lock = &run->lock;

	if (run->told_trouble || lock->answered ||
	    clock_now() < run->began_at + TROUBLE_TOLD_MS)
		return;
	run->told_trouble = true;
	log_warnx("%s: %s; trying again", run->opts->name, lock->error);
}

static void
tell_renewal_trouble(struct run *run)
{
	const struct lock *lock = &run->lock;

	if (lock->state != LOCK_HELD || lock->answered) {
		if (run->told_trouble && lock->state == LOCK_HELD)
			log_warnx("%s: renewed again", run->opts->name);
		run->told_trouble = false;
		return;
	}
	if (!run->told_trouble)
		log_warnx("%s: cannot renew the lock, which lasts for another "
			  "%.1f s: %s",
		    run->opts->name,
		    (double)(lock->valid_until - clock_now()) / 1000,
		    lock->error);
	run->told_trouble = true;
}

static void
tell_pause(struct run *run)
{
	int64_t late = run->loop.late_ms;

	if (late >= PAUSE_TOLD_MS && late >= run->opts->ttl_ms / 5)
		log_warnx("%s: rlockrun was paused for at least %.1f s",
		    run->opts->name, (double)late / 1000);
}

/* --- done ------------------------------------------------------------- */

static void
leave(struct run *run, int result)
{
	run->result = result;
	run->state = RUN_DONE;
}

static int
status_result(int status)
{
	if (WIFSIGNALED(status))
		return -WTERMSIG(status);
	return WEXITSTATUS(status);
}

/* --- acquire ---------------------------------------------------------- */

static void
let_go(struct run *run, const char *fence)
{
	run->told_trouble = false;
	run->state = RUN_JOB;
	guard_go(&run->guard, fence, kill_at(run));
}

static void
on_held(struct run *run)
{
	run->locked = true;
	log_info("%s: acquired on %s, fence %s, lease %" PRId64 " ms",
	    run->opts->name, run->opts->server.label, run->lock.fence,
	    run->opts->ttl_ms);
	let_go(run, run->lock.fence);
}

static void
on_unavailable(struct run *run)
{
	if (run->opts->unavailable_run) {
		log_warnx("%s: %s; running without the lock", run->opts->name,
		    run->lock.error);
		let_go(run, "");
		return;
	}
	log_warnx("%s: %s", run->opts->name, run->lock.error);
	leave(run, EXITCODE_UNAVAILABLE);
}

static void
on_failed(struct run *run)
{
	const char *name = run->opts->name;
	const char *error = run->lock.error;

	switch (run->lock.failure) {
	case LOCK_BUSY:
		tell_busy(run, "");
		leave(run, run->opts->conflict_exit);
		break;
	case LOCK_UNAVAILABLE:
		on_unavailable(run);
		break;
	case LOCK_NOT_A_LOCK:
		log_warnx("%s is not a lock: %s", name, error);
		leave(run, EXITCODE_NOT_A_LOCK);
		break;
	case LOCK_REFUSED:
		log_warnx("%s: %s", name, error);
		leave(run, EXITCODE_REFUSED);
		break;
	case LOCK_ERROR:
		log_warnx("%s: %s", name, error);
		leave(run, EXITCODE_UNAVAILABLE);
		break;
	}
}

static void
cancel(struct run *run, int result)
{
	run->result = result;
	run->state = RUN_CANCEL;
	lock_cancel(&run->lock);
}

static void
on_wait_over(struct run *run)
{
	if (run->lock.answered) {
		if (!run->opts->quiet)
			log_warnx("%s: still held, gave up waiting",
			    run->opts->name);
		cancel(run, run->opts->conflict_exit);
	} else {
		run->unavailable = true;
		cancel(run, EXITCODE_UNAVAILABLE);
	}
}

static void
tell_unguarded(const struct run *run)
{
	int error = run->guard.failed;
	const char *why = error == 0	   ? "the guard was killed"
			  : error == EXDEV ? "/proc is of another pid namespace"
					   : strerror(error);

	log_warnx("%s: the job cannot be guarded: %s", run->opts->name, why);
}

/* What a signal does to a plain process, it does to one that waits. */
static void
obey_signals(struct run *run)
{
	for (int signo = 1; signo <= SIGNALS && run->caught != 0; signo++) {
		if (!take(&run->caught, signo))
			continue;
		switch (sig_default_action(signo)) {
		case SIG_ENDS:
			cancel(run, -signo);
			return;
		case SIG_STOPS:
			if (term_suspend(signo))
				guard_continue(&run->guard);
			break;
		case SIG_IGNORED:
			break;
		}
	}
	run->forward = 0;
}

static void
step_acquire(struct run *run)
{
	obey_signals(run);
	if (run->state != RUN_ACQUIRE)
		return;
	if (run->guard.failed || run->guard.died) {
		tell_unguarded(run);
		cancel(run, EXITCODE_RESOURCE);
	} else if (run->lock.state == LOCK_HELD) {
		on_held(run);
	} else if (run->lock.state == LOCK_FAILED) {
		on_failed(run);
	} else if (clock_now() >= run->wait_until) {
		on_wait_over(run);
	} else {
		tell_waiting(run);
		tell_server_trouble(run);
		loop_timer_set(&run->loop, &run->timer, run->wait_until);
	}
}

static void
step_cancel(struct run *run)
{
	if (run->lock.state != LOCK_RELEASED && run->lock.state != LOCK_FAILED)
		return;
	if (run->unavailable)
		on_unavailable(run);
	else
		leave(run, run->result);
}

/* --- release ---------------------------------------------------------- */

/* Sent first, so that the guard goes while the server answers. */
static void
release(struct run *run)
{
	run->state = RUN_RELEASE;
	if (run->locked && run->lock.state == LOCK_HELD) {
		if (clock_now() < run->lock.valid_until)
			lock_release(&run->lock);
		else
			lock_cancel(&run->lock);
	}
	guard_end(&run->guard);
}

static void
finish_lost(struct run *run)
{
	run->lost = true;
	run->result = EXITCODE_LOST;
	release(run);
}

static int
exec_failed(struct run *run)
{
	int error = run->guard.exec_error;
	int result = child_exec_exit_code(&run->child, error);
	bool there = result == EXITCODE_CANNOT_RUN && error == ENOENT;

	log_warnx("%s: cannot run %s: %s", run->opts->name, run->child.path,
	    there ? "its interpreter is not found" : strerror(error));
	return result;
}

static void
finish_job(struct run *run)
{
	const struct guard *guard = &run->guard;
	int64_t over_at =
	    run->opts->wait_all ? guard->gone_at : guard->ended_at;

	if (guard->late || (run->locked && over_at >= run->lock.valid_until)) {
		log_warnx("%s was lost: its lease ended before the job",
		    run->opts->name);
		finish_lost(run);
	} else if (run->lost) {
		finish_lost(run);
	} else {
		run->result = guard->exec_error != 0
				  ? exec_failed(run)
				  : status_result(guard->status);
		release(run);
	}
}

static void
step_release(struct run *run)
{
	const struct lock *lock = &run->lock;
	const char *name = run->opts->name;

	/* The job has ended: who doesn't want to wait for a server that is away
	 * need not. */
	run->forward = 0;
	if (lock->state == LOCK_RELEASING) {
		if ((run->caught & ~bit(SIGCHLD)) == 0 || lock->answered)
			return;
		for (int signo = 1; signo <= SIGNALS; signo++)
			if (take(&run->caught, signo) && sig_asks_to_end(signo))
				run->state = RUN_DONE;
		if (run->state != RUN_DONE)
			return;
	}
	run->state = RUN_DONE;
	if (!run->locked || run->lost)
		return;
	if (lock->lost_at_release) {
		log_warnx("%s was lost: somebody took it away while the job "
			  "ran",
		    name);
		run->result = EXITCODE_LOST;
	} else if (lock->state == LOCK_RELEASING || lock->unconfirmed) {
		log_warnx("%s: cannot confirm the release, the lock may last "
			  "for its ttl: %s",
		    name, lock->error);
	} else {
		log_info("%s: released", name);
	}
}

/* --- the job ---------------------------------------------------------- */

static void
begin_stop(struct run *run, int64_t stop_by)
{
	run->state = RUN_STOP;
	run->stop_by = stop_by;
	guard_terminate(&run->guard);
}

/* Whether a stop signal stops the job is the job's affair, or the kernel's.
 * When it has stopped, so do we, so that the shell gets its terminal back.
 * Without a terminal there is no such shell, and we go on renewing. */
static void
follow_stop(struct run *run)
{
	pid_t stopped = run->guard.stopped;

	run->guard.stopped = 0;
	if (stopped != 0 && run->terminal && tree_is_stopped(stopped))
		run->suspended = term_suspend(SIGTSTP);
}

static void
forward_signals(struct run *run)
{
	if (run->suspended && take(&run->caught, SIGCONT)) {
		take(&run->forward, SIGCONT);
		guard_continue(&run->guard);
		run->suspended = false;
	}
	for (int signo = 1; signo <= SIGNALS; signo++) {
		if (take(&run->forward, signo))
			guard_signal(&run->guard, signo);
		if (take(&run->caught, signo) && sig_asks_to_end(signo))
			run->asked_to_end = true;
	}
	follow_stop(run);
}

static void
on_lost(struct run *run)
{
	int64_t now = clock_now();

	if (run->lost)
		return;
	run->lost = true;
	log_warnx("%s was lost: %s; %s", run->opts->name, run->lock.error,
	    run->opts->lost_warn ? "the job goes on without it"
				 : "stopping the job");
	if (!run->opts->lost_warn)
		begin_stop(run,
		    least(run->lock.valid_until,
			now + least(grace(run), LOST_GRACE_MAX_MS)));
}

/* An outage that has lasted until here ends the job in time. After a pause of
 * our own the server is asked once more, and given a moment to answer. */
static void
on_lease_ending(struct run *run)
{
	int64_t now = clock_now();

	if (run->loop.late_ms >= KILL_AHEAD_MIN_MS &&
	    run->last_chance_at == 0) {
		run->last_chance_at = least(now + LAST_CHANCE_MS, kill_at(run));
		lock_renew(&run->lock);
	}
	if (now < run->last_chance_at) {
		loop_timer_set(&run->loop, &run->timer, run->last_chance_at);
		return;
	}
	run->lost = true;
	log_warnx("%s is being lost: its lease ends without a renewal; "
		  "stopping the job",
	    run->opts->name);
	/* A renewal that comes yet keeps the lock, but not the job. */
	begin_stop(run, kill_at(run));
}

static void
watch_lease(struct run *run)
{
	tell_renewal_trouble(run);
	if (run->lock.state == LOCK_LOST) {
		on_lost(run);
	} else if (clock_now() >= term_at(run)) {
		on_lease_ending(run);
	} else {
		run->last_chance_at = 0;
		guard_set_deadline(&run->guard, kill_at(run));
		loop_timer_set(&run->loop, &run->timer, term_at(run));
	}
}

/* It had forked no job when it failed. */
static void
on_guard_failed(struct run *run)
{
	tell_unguarded(run);
	run->result = EXITCODE_RESOURCE;
	release(run);
}

static void
on_guard_died(struct run *run)
{
	log_warnx("%s: the guard was killed, and the job with it",
	    run->opts->name);
	run->result = EXITCODE_RESOURCE;
	run->state = RUN_STOP;
	run->stop_by = clock_now();
}

static void
on_enforced(struct run *run)
{
	log_warnx("%s was lost: its lease ended; the job was killed",
	    run->opts->name);
	finish_lost(run);
}

static void
step_job(struct run *run)
{
	const struct guard *guard = &run->guard;
	bool over = guard->ended && (guard->gone || !run->opts->wait_all);

	tell_pause(run);
	forward_signals(run);
	if (guard->enforced)
		on_enforced(run);
	else if (guard->failed)
		on_guard_failed(run);
	else if (guard->died)
		on_guard_died(run);
	else if (guard->ended && !guard->gone && run->asked_to_end)
		begin_stop(run, clock_now() + run->opts->kill_after_ms);
	else if (over)
		finish_job(run);
	else if (run->locked)
		watch_lease(run);
}

/* --- stop ------------------------------------------------------------- */

static void
on_stopped(struct run *run)
{
	if (run->lost)
		finish_lost(run);
	else if (run->guard.died)
		release(run);
	else
		finish_job(run);
}

/* Whatever can't be killed (setuid, stuck in the kernel) still runs: the lock
 * is not freed under it. */
static void
on_unkillable(struct run *run)
{
	log_warnx("%s: processes of the job cannot be killed; the lock is left "
		  "to its ttl",
	    run->opts->name);
	run->unfinished = true;
	leave(run, run->lost ? EXITCODE_LOST : EXITCODE_RESOURCE);
}

static void
step_stop(struct run *run)
{
	const struct guard *guard = &run->guard;
	int64_t deadline = least(run->stop_by, kill_at(run));

	forward_signals(run);
	if (guard->gone || guard->enforced || guard->bereft) {
		on_stopped(run);
		return;
	}
	if (run->lock.state == LOCK_LOST && !run->lost) {
		run->lost = true;
		log_warnx("%s was lost: %s", run->opts->name, run->lock.error);
	}
	guard_set_deadline(&run->guard, deadline);
	if (deadline == CLOCK_NEVER)
		return;
	if (clock_now() >= deadline + UNKILLABLE_MS)
		on_unkillable(run);
	else if (guard->died)
		loop_timer_set(&run->loop, &run->timer,
		    clock_now() + ORPHANS_MS);
	else
		loop_timer_set(&run->loop, &run->timer,
		    deadline + UNKILLABLE_MS);
}

static void
run_step(struct run *run)
{
	static void (*const steps[])(struct run *) = {
	    [RUN_ACQUIRE] = step_acquire,
	    [RUN_CANCEL] = step_cancel,
	    [RUN_JOB] = step_job,
	    [RUN_STOP] = step_stop,
	    [RUN_RELEASE] = step_release,
	};
	enum run_state before;

	if (take(&run->caught, SIGCHLD) || run->guard.died)
		guard_on_sigchld(&run->guard);
	do {
		before = run->state;
		steps[before](run);
	} while (run->state != before && run->state != RUN_DONE);
}

/* --- set-up ----------------------------------------------------------- */

static int
find_command(struct run *run)
{
	int code;

	run->child_config = (struct child_config){.argv = run->opts->command,
	    .key = run->opts->name,
	    .token = run->lock.token,
	    .ttl_ms = run->opts->ttl_ms,
	    .sig = run->sig,
	    .own_group = !run->terminal};
	code = child_init(&run->child, &run->child_config);
	if (code != 0)
		log_warnx("%s: %s", run->opts->command[0],
		    code == EXITCODE_NOT_FOUND ? "command not found"
					       : strerror(errno));
	return code;
}

static int
set_up(struct run *run)
{
	const struct opts *opts = run->opts;

	if (loop_init(&run->loop) == -1) {
		log_warn("cannot wait for events");
		return EXITCODE_RESOURCE;
	}
	run->signals = (struct loop_fd){.fd = run->sig->fd,
	    .events = POLLIN,
	    .on_ready = on_signal,
	    .arg = run};
	loop_add(&run->loop, &run->signals);
	run->lock_config = (struct lock_config){.key = opts->key,
	    .server = &opts->server,
	    .ttl_ms = opts->ttl_ms,
	    .server_timeout_ms = opts->server_timeout_ms,
	    .wait = opts->wait_ms != 0,
	    .command = opts->command[0]};
	if (lock_init(&run->lock, &run->loop, &run->lock_config) == -1) {
		log_warn("%s: cannot prepare the lock", opts->name);
		return EXITCODE_RESOURCE;
	}
	run->terminal = term_is_controlling();
	return find_command(run);
}

/* The guard has them for the job. Were they open here too, who reads from the
 * job would not see that it has closed its stdout, nor who feeds it its stdin.
 */
static void
leave_stdio_to_job(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null == -1)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	close(null);
}

/* The first try is on its way to the server while the guard is forked. */
static void
begin(struct run *run)
{
	int64_t wait_ms = run->opts->wait_ms;

	run->began_at = clock_now();
	run->wait_until = wait_ms > 0 ? run->began_at + wait_ms : CLOCK_NEVER;
	lock_acquire(&run->lock);
	if (guard_start(&run->guard, &run->loop, &run->child) == 0) {
		leave_stdio_to_job();
		return;
	}
	log_warn("%s: the job cannot be guarded", run->opts->name);
	cancel(run, EXITCODE_RESOURCE);
}

static void
loop_until_done(struct run *run)
{
	for (run_step(run); run->state != RUN_DONE; run_step(run)) {
		if (loop_turn(&run->loop) == -1) {
			log_warn("cannot wait for events");
			run->unfinished = true;
			leave(run, EXITCODE_INTERNAL);
			return;
		}
	}
}

int
run(const struct opts *opts, struct sig *sig)
{
	struct run *run = mem_alloc(sizeof(*run));
	int result;

	run->opts = opts;
	run->sig = sig;
	result = set_up(run);
	if (result == 0) {
		begin(run);
		loop_until_done(run);
		if (!run->unfinished)
			guard_end(&run->guard);
		result = run->result;
	}
	child_fini(&run->child);
	lock_fini(&run->lock);
	loop_fini(&run->loop);
	free(run);
	return result;
}
