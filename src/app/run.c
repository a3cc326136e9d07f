/* States of a run. Callbacks only record facts; run_step alone acts on them:
 *
 *   SPLAY --> ACQUIRE --held--> JOB --ended------------> RELEASE --> DONE
 *      |         |               |                        ^           ^
 *      |         |               +--lost, too long,  --> STOP         |
 *      |         |                  guard died, ended                 |
 *      |         |                  after a TERM with                 |
 *      |         |                  others left                       |
 *      +---------+--signal, time out--> CANCEL -----------------------+
 *
 * After the job has been let go nobody leaves but through DONE. */
#include "app/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/tell.h"
#include "base/dice.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "job/child.h"
#include "job/guard.h"
#include "job/terminal.h"
#include "lock/held.h"
#include "lock/set.h"

enum run_state {
	RUN_SPLAY,
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
	KILL_AHEAD_MIN_MS = 40,	  /* see kill_ahead */
	PAUSE_MIN_MS = 20,	  /* of our own: the server is asked again */
	LOOK_AGAIN_MS =
	    20, /* at a guard that kills, or at what a dead one left */
	UNKILLABLE_MS = 5000, /* what outlives KILL is given up then */
	TRY_MIN_MS = 1000,    /* an acquire's reply is awaited so long */
	TRY_MAX_MS = 5000,
};

struct run {
	const struct opts *opts;
	struct signals *sig;
	struct loop loop;
	struct loop_fd signals;
	struct loop_timer timer; /* only wakes run_step */
	struct lock_config lock_configs[OPTS_KEYS_MAX];
	struct set set;
	struct child child;
	struct guard guard;
	struct tell tell;
	bool terminal;
	enum run_state state;
	int64_t splay_until;
	int64_t wait_until;

	/* Facts. */
	uint64_t caught;   /* signals, as bits */
	uint64_t forward;  /* those of them that the job hasn't got yet */
	bool suspended;	   /* together with the job, and not continued yet */
	bool asked_to_end; /* the job has got TERM, INT, HUP or QUIT */

	/* Decisions. */
	bool locked;	  /* else the job runs without (--on-unavailable) */
	bool lost;	  /* the lock is gone, or is no longer proven */
	bool overrun;	  /* stopped, or about to be, by --max-run */
	bool unguarded;	  /* the guard died under the job */
	bool unavailable; /* cancelled as no server answered in time */
	bool unfinished;  /* processes of the job are left to the guard */
	int64_t last_chance_at;
	int64_t overrun_at; /* --max-run: when TERM is sent, */
	int64_t killed_at;  /* and KILL */
	int64_t warn_at;    /* --warn-after */
	int64_t stopping_since;
	int64_t stop_by; /* KILL, apart from the lease's own end */
	int result;	 /* of run() */
};

/* --- the lease's deadlines -------------------------------------------- */

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* KILL takes time. In the first half the guard must begin; in the second we can
 * still do it without the guard. */
static int64_t
kill_ahead(const struct run *run)
{
	int64_t ahead = run->opts->ttl_ms / 100;

	return ahead < KILL_AHEAD_MIN_MS ? KILL_AHEAD_MIN_MS : ahead;
}

/* When KILL is sent for the job to be dead at the end of the lease. */
static int64_t
kill_at(const struct run *run)
{
	if (!run->locked || run->opts->lost_warn)
		return CLOCK_NEVER;
	return run->set.valid_until - kill_ahead(run);
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

static void begin(struct run *run);
static void release(struct run *run);

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
	while (signals_next(run->sig, &info)) {
		int signo = (int)info.ssi_signo;
		run->caught |= bit(signo);
		if (signo != SIGCHLD && !comes_from_guard(run, &info) &&
		    !(run->terminal && terminal_sent_to_group(&info)))
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

/* RLOCKRUN_HELD for the job, to be freed. NULL when memory is out. */
static char *
held_by_job(const struct run *run)
{
	const char *above = getenv("RLOCKRUN_HELD");
	char *held = NULL;

	if (!run->locked)
		return strdup(above != NULL ? above : "");
	for (size_t i = 0; i < run->opts->key_count; i++) {
		const struct lock_config *config = &run->lock_configs[i];
		const char *token = set_lock(&run->set, config)->claim.token;
		char *with = held_with(above, config->key, config->kind, token);
		free(held);
		above = held = with;
		if (held == NULL)
			break;
	}
	return held;
}

/* One a line, in the order given. A nested run may not know all fences. */
static void
print_lock_env(const struct run *run, FILE *out)
{
	const char *separator = "";
	bool fenced = false;

	fputs("RLOCKRUN_TOKEN=", out);
	for (size_t i = 0; i < run->opts->key_count; i++) {
		const struct lock *lock =
		    set_lock(&run->set, &run->lock_configs[i]);
		fprintf(out, "%s%s", separator, lock->claim.token);
		separator = "\n";
		fenced = fenced || lock->fence[0] != '\0';
	}
	fputc('\0', out);
	if (!fenced)
		return;
	separator = "";
	fputs("RLOCKRUN_FENCE=", out);
	for (size_t i = 0; i < run->opts->key_count; i++) {
		fprintf(out, "%s%s", separator,
		    set_lock(&run->set, &run->lock_configs[i])->fence);
		separator = "\n";
	}
	fputc('\0', out);
}

/* The variables of the job's environment, to be freed. NULL when memory is out.
 */
static char *
job_env(const struct run *run, size_t *length)
{
	char *held = held_by_job(run);
	char *entries = NULL;
	FILE *out = held == NULL ? NULL : open_memstream(&entries, length);

	if (out != NULL)
		fprintf(out, "RLOCKRUN_KEY=%s%cRLOCKRUN_TTL_MS=%" PRId64 "%c",
		    run->opts->names, '\0', run->opts->ttl_ms, '\0');
	if (out != NULL && run->locked)
		print_lock_env(run, out);
	if (out != NULL && *held != '\0')
		fprintf(out, "RLOCKRUN_HELD=%s%c", held, '\0');
	free(held);
	if (out == NULL || fclose(out) != 0)
		return NULL;
	return entries;
}

/* The job's own limits count from its start. */
static void
set_limits(struct run *run)
{
	const struct opts *opts = run->opts;
	int64_t now = clock_now();

	run->overrun_at = run->killed_at = run->warn_at = CLOCK_NEVER;
	if (opts->max_run_ms != 0) {
		run->overrun_at = now + opts->max_run_ms;
		run->killed_at = run->overrun_at + opts->kill_after_ms;
	}
	if (opts->warn_after_ms != 0 && run->locked)
		run->warn_at = now + opts->warn_after_ms;
}

static void
let_go(struct run *run)
{
	size_t length;
	char *entries = job_env(run, &length);

	if (entries == NULL) {
		log_warn("%s: cannot prepare the job", run->opts->name);
		run->result = EXITCODE_RESOURCE;
		release(run);
		return;
	}
	tell_job_begins(&run->tell);
	set_limits(run);
	run->state = RUN_JOB;
	guard_start_job(&run->guard, entries, length, kill_at(run));
	free(entries);
}

static void
on_held(struct run *run)
{
	run->locked = true;
	for (size_t i = 0; i < run->opts->key_count; i++) {
		const struct lock *lock =
		    set_lock(&run->set, &run->lock_configs[i]);

		tell_no_queue(&run->tell, lock);
		tell_misfits(&run->tell, lock);
		tell_disagreement(&run->tell, lock);
		log_info("%s: %s on %s, fence %s, lease %" PRId64 " ms",
		    lock->config->name,
		    lock->claim.outer != NULL ? "joined the run that holds it"
					      : "acquired",
		    quorum_label(lock->quorum),
		    lock->fence[0] != '\0' ? lock->fence : "none",
		    run->opts->ttl_ms);
	}
	let_go(run);
}

static void
on_unavailable(struct run *run)
{
	const struct lock *lock = run->set.about;

	if (run->opts->unavailable_run) {
		log_warnx("%s: %s; running without the lock", run->opts->name,
		    lock->error);
		let_go(run);
		return;
	}
	log_warnx("%s: %s", lock->config->name, lock->error);
	leave(run, EXITCODE_UNAVAILABLE);
}

static void
on_failed(struct run *run)
{
	const struct lock *lock = run->set.about;
	const char *name = lock->config->name;
	const char *error = lock->error;

	switch (lock->failure) {
	case LOCK_BUSY:
		tell_busy(&run->tell, lock);
		leave(run, run->opts->conflict_exit);
		break;
	case LOCK_UNAVAILABLE:
		on_unavailable(run);
		break;
	case LOCK_NOT_A_LOCK:
		log_warnx("%s is not a lock: %s", name, error);
		leave(run, EXITCODE_NOT_A_LOCK);
		break;
	case LOCK_OTHER_KIND:
		log_warnx("%s is held %s by the run around this one, which "
			  "would wait for itself",
		    name, lock->claim.outer->held);
		leave(run, EXITCODE_USAGE);
		break;
	case LOCK_REFUSED:
		log_warnx("%s: %s", name, error);
		leave(run, EXITCODE_REFUSED);
		break;
	case LOCK_ERROR:
		log_warnx("%s: %s", name, error);
		leave(run, EXITCODE_UNAVAILABLE);
		break;
	case LOCK_MISCONFIGURED:
		log_warnx("%s: %s", name, error);
		leave(run, EXITCODE_USAGE);
		break;
	}
}

static void
cancel(struct run *run, int result)
{
	run->result = result;
	run->state = RUN_CANCEL;
	set_cancel(&run->set);
}

static void
on_wait_over(struct run *run)
{
	if (run->set.answered) {
		if (!run->opts->quiet)
			log_warnx("%s: still held, gave up waiting",
			    run->set.about->config->name);
		cancel(run, run->opts->conflict_exit);
	} else {
		run->unavailable = true;
		cancel(run, EXITCODE_UNAVAILABLE);
	}
}

static void
tell_unguarded(const struct run *run, int error)
{
	const char *why = error == 0	    ? "the guard was killed"
			  : error == ENODEV ? "/proc is not mounted"
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
		switch (signals_default_action(signo)) {
		case SIGNALS_END:
			cancel(run, -signo);
			return;
		case SIGNALS_STOP:
			if (terminal_suspend(signo))
				guard_continue(&run->guard);
			break;
		case SIGNALS_IGNORE:
			break;
		}
	}
	run->forward = 0;
}

/* There is no guard yet, and no word has gone to the server. */
static void
step_splay(struct run *run)
{
	obey_signals(run);
	if (run->state != RUN_SPLAY)
		return;
	if (clock_now() >= run->splay_until)
		begin(run);
	else
		loop_timer_set(&run->loop, &run->timer, run->splay_until);
}

/* When one has failed, nothing is waited for but the release of the others. */
static void
tell_progress(struct run *run)
{
	const struct lock *lock = run->set.about;

	if (lock->state != LOCK_ACQUIRING)
		return;
	if (run->set.lost_early != NULL)
		tell_lost_early(run->set.lost_early);
	run->set.lost_early = NULL;
	if (lock->holder.seen) {
		tell_no_queue(&run->tell, lock);
		tell_waiting(&run->tell, lock);
	}
	tell_server_trouble(&run->tell, lock);
}

static void
step_wait(struct run *run)
{
	tell_progress(run);
	loop_timer_set(&run->loop, &run->timer,
	    least(run->wait_until, run->tell.redraw_at));
}

static void
step_acquire(struct run *run)
{
	obey_signals(run);
	if (run->state != RUN_ACQUIRE)
		return;
	if (run->guard.job.state == JOB_FAILED ||
	    run->guard.job.state == JOB_UNGUARDED) {
		tell_unguarded(run, run->guard.job.error);
		cancel(run, EXITCODE_RESOURCE);
	} else if (run->set.state == LOCK_HELD) {
		on_held(run);
	} else if (run->set.state == LOCK_FAILED) {
		on_failed(run);
	} else if (clock_now() >= run->wait_until) {
		on_wait_over(run);
	} else {
		step_wait(run);
	}
}

static void
step_cancel(struct run *run)
{
	if (run->set.state != LOCK_RELEASED)
		return;
	if (run->unavailable)
		on_unavailable(run);
	else
		leave(run, run->result);
}

/* --- release ---------------------------------------------------------- */

/* A command that couldn't be run has not had its turn. */
static int64_t
keep_until(const struct run *run)
{
	if (run->guard.job.exec_error != 0)
		return 0;
	return run->set.acquired_at + run->opts->min_hold_ms;
}

/* Sent first, so that the guard goes while the server answers. */
static void
release(struct run *run)
{
	run->state = RUN_RELEASE;
	if (run->locked) {
		/* By now all may have answered. */
		tell_misfits(&run->tell, run->set.about);
		set_release(&run->set, keep_until(run));
	}
	guard_dismiss(&run->guard);
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
	int error = run->guard.job.exec_error;
	int result = child_exec_exit_code(&run->child, error);
	bool there = result == EXITCODE_CANNOT_RUN && error == ENOENT;

	log_warnx("%s: cannot run %s: %s", run->opts->name, run->child.path,
	    there ? "its interpreter is not found" : strerror(error));
	return result;
}

static int
job_result(struct run *run)
{
	const struct guard *guard = &run->guard;

	if (run->overrun)
		return EXITCODE_OVERRUN;
	if (run->unguarded)
		return EXITCODE_RESOURCE;
	if (guard->job.exec_error != 0)
		return exec_failed(run);
	return status_result(guard->job.status);
}

/* When what needed the lock had ended. */
static int64_t
over_at(const struct run *run)
{
	const struct guard *guard = &run->guard;

	if (guard->job.ended && !run->opts->wait_all && !run->overrun)
		return guard->job.ended_at;
	return guard->job.gone_at;
}

static void
finish_job(struct run *run)
{
	bool late = run->guard.job.state == JOB_LATE && !run->overrun;

	if (run->lost) {
		finish_lost(run);
	} else if (late ||
		   (run->locked && over_at(run) >= run->set.valid_until)) {
		log_warnx("%s was lost: its lease ended before the job",
		    run->set.about->config->name);
		finish_lost(run);
	} else {
		run->result = job_result(run);
		release(run);
	}
}

static void
report_lock_release(const struct lock *lock)
{
	const char *name = lock->config->name;
	char until[32];

	holder_describe_time(lock->release.kept_until - clock_now(), until,
	    sizeof(until));
	if (lock->release.outcome == LOCK_LEFT)
		log_info("%s: left to other runs", name);
	else if (lock->release.outcome == LOCK_KEPT)
		log_info("%s: kept until %s", name, until);
	else
		log_info("%s: released", name);
}

/* In one line when all of them are free. */
static void
report_release(const struct run *run)
{
	const struct set *set = &run->set;
	bool all_free = true;

	for (size_t i = 0; i < set->count; i++)
		all_free = all_free &&
			   set->locks[i].release.outcome != LOCK_LEFT &&
			   set->locks[i].release.outcome != LOCK_KEPT;
	if (all_free)
		log_info("%s: released", run->opts->name);
	for (size_t i = 0; !all_free && i < set->count; i++)
		report_lock_release(set_lock(set, &run->lock_configs[i]));
}

static void
step_release(struct run *run)
{
	const struct set *set = &run->set;
	const struct lock *lock = set->about;

	/* The job has ended: who doesn't want to wait for a server that is away
	 * need not. */
	run->forward = 0;
	if (set->state == LOCK_RELEASING) {
		if ((run->caught & ~bit(SIGCHLD)) == 0 || set->answered)
			return;
		for (int signo = 1; signo <= SIGNALS; signo++)
			if (take(&run->caught, signo) &&
			    signals_asks_to_end(signo))
				run->state = RUN_DONE;
		if (run->state != RUN_DONE)
			return;
	}
	run->state = RUN_DONE;
	if (!run->locked)
		return;
	tell_misfits(&run->tell, lock);
	if (run->lost)
		return;
	if (set->lost_at_release) {
		log_warnx("%s was lost: somebody took it away while the job "
			  "ran",
		    lock->config->name);
		run->result = EXITCODE_LOST;
	} else if (set->state == LOCK_RELEASING || set->unconfirmed) {
		log_warnx("%s: cannot confirm the release, the lock may last "
			  "for its ttl: %s",
		    lock->config->name, lock->error);
	} else {
		report_release(run);
	}
}

/* --- the job ---------------------------------------------------------- */

static void
begin_stop(struct run *run, int64_t stop_by)
{
	run->state = RUN_STOP;
	run->stopping_since = clock_now();
	run->stop_by = stop_by;
	guard_terminate(&run->guard);
}

/* Whether a stop signal stops the job is the job's affair, or the kernel's.
 * When it has stopped, so do we, so that the shell gets its terminal back.
 * Without a terminal there is no such shell, and we go on renewing. */
static void
follow_stop(struct run *run)
{
	if (run->terminal && guard_take_stop(&run->guard))
		run->suspended = terminal_suspend(SIGTSTP);
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
		if (take(&run->caught, signo) && signals_asks_to_end(signo))
			run->asked_to_end = true;
	}
	follow_stop(run);
}

static void
tell_lost(const struct run *run, const char *consequence)
{
	const struct lock *lock = run->set.about;

	log_warnx("%s was lost: %s%s", lock->config->name, lock->error,
	    consequence);
}

static void
on_lost(struct run *run)
{
	int64_t now = clock_now();

	if (run->lost)
		return;
	run->lost = true;
	run->warn_at = CLOCK_NEVER;
	tell_lost(run, run->opts->lost_warn ? "; the job goes on without it"
					    : "; stopping the job");
	if (!run->opts->lost_warn)
		begin_stop(run,
		    least(run->set.valid_until,
			now + least(grace(run), LOST_GRACE_MAX_MS)));
}

/* An outage that has lasted until here ends the job in time. After a pause of
 * our own the server is asked once more, and given a moment to answer. Returns
 * when to look again. */
static int64_t
on_lease_ending(struct run *run)
{
	int64_t now = clock_now();

	if (run->loop.late_ms >= PAUSE_MIN_MS && run->last_chance_at == 0) {
		run->last_chance_at = least(now + LAST_CHANCE_MS, kill_at(run));
		set_renew(&run->set);
	}
	if (now < run->last_chance_at)
		return run->last_chance_at;
	run->lost = true;
	log_warnx("%s is being lost: its lease ends without a renewal; "
		  "stopping the job",
	    run->set.about->config->name);
	/* A renewal that comes yet keeps the lock, but not the job. */
	begin_stop(run, kill_at(run));
	return CLOCK_NEVER;
}

/* Returns when to look again. */
static int64_t
watch_lease(struct run *run)
{
	tell_renewal_trouble(&run->tell, run->set.about);
	if (run->set.state == LOCK_LOST) {
		on_lost(run);
		return CLOCK_NEVER;
	}
	if (clock_now() >= term_at(run))
		return on_lease_ending(run);
	run->last_chance_at = 0;
	return term_at(run);
}

/* Returns when to look again. */
static int64_t
watch_limits(struct run *run)
{
	int64_t now = clock_now();

	if (now >= run->overrun_at) {
		run->overrun = true;
		tell_overrun(&run->tell, "stopping it");
		begin_stop(run, run->killed_at);
		return CLOCK_NEVER;
	}
	if (now >= run->warn_at) {
		tell_held_for(&run->tell, run->opts->warn_after_ms);
		run->warn_at = CLOCK_NEVER;
	}
	return least(run->overrun_at, run->warn_at);
}

/* The guard keeps the job to --max-run, too: we may be stopped by then. */
static void
watch_job(struct run *run)
{
	int64_t look_at = CLOCK_NEVER;

	if (run->locked)
		look_at = watch_lease(run);
	if (run->state == RUN_JOB)
		look_at = least(look_at, watch_limits(run));
	if (run->state != RUN_JOB)
		return;
	guard_set_deadline(&run->guard, least(kill_at(run), run->killed_at));
	loop_timer_set(&run->loop, &run->timer, look_at);
}

/* It had forked no job when it failed. */
static void
on_guard_failed(struct run *run)
{
	tell_unguarded(run, run->guard.job.error);
	run->result = EXITCODE_RESOURCE;
	release(run);
}

static void
on_guard_died(struct run *run)
{
	log_warnx("%s: the guard was killed, and the job with it",
	    run->opts->name);
	run->unguarded = true;
	begin_stop(run, clock_now());
}

/* By the guard itself: we were stopped, or too slow. */
static void
on_enforced(struct run *run)
{
	if (run->guard.job.gone_at >= run->killed_at) {
		run->overrun = true;
		tell_overrun(&run->tell, "it was killed");
		finish_job(run);
	} else if (run->guard.job.state == JOB_LATE) {
		finish_job(run);
	} else {
		log_warnx("%s was lost: its lease ended; the job was killed",
		    run->set.about->config->name);
		finish_lost(run);
	}
}

/* A command that has ended keeps its status, whatever the guard did or suffered
 * after that while we were stopped. */
static void
step_job(struct run *run)
{
	const struct guard *guard = &run->guard;
	bool gone = guard_job_is_gone(guard);
	bool over = guard->job.ended &&
		    (!run->opts->wait_all || guard->job.state == JOB_GONE);

	tell_pause(&run->tell, run->loop.late_ms);
	forward_signals(run);
	if (guard->job.ended && !gone && run->asked_to_end)
		begin_stop(run, clock_now() + run->opts->kill_after_ms);
	else if (over && guard->job.state != JOB_LATE)
		finish_job(run);
	else if (guard->job.state == JOB_KILLED || guard->job.state == JOB_LATE)
		on_enforced(run);
	else if (guard->job.state == JOB_FAILED)
		on_guard_failed(run);
	else if (guard->job.state == JOB_UNGUARDED)
		on_guard_died(run);
	else
		watch_job(run);
}

/* --- stop ------------------------------------------------------------- */

/* Whatever can't be killed (setuid, stuck in the kernel) still runs, or may do
 * so where there is no proof: the lock is not freed under it. From here on it
 * is not renewed either. */
static void
on_unkillable(struct run *run)
{
	bool unproven = run->guard.job.state == JOB_UNGUARDED &&
			guard_has_earlier_children(&run->guard);

	log_warnx("%s: %s; the lock is left to its ttl", run->opts->name,
	    unproven ? "cannot prove that the job has ended, as rlockrun "
		       "inherited children that still run"
		     : "processes of the job cannot be killed");
	run->unfinished = true;
	leave(run, run->lost ? EXITCODE_LOST : EXITCODE_RESOURCE);
}

/* A guard that is traced or stuck in the kernel reports nothing. Its death ends
 * the command and makes us the parent of the rest. */
static void
replace_guard(struct run *run)
{
	log_warnx("%s: the guard did not act in time; killing it and the job",
	    run->opts->name);
	guard_kill(&run->guard);
}

/* Returns when to look again. */
static int64_t
watch_stop(struct run *run, int64_t deadline)
{
	int64_t replace_at = deadline + kill_ahead(run) / 2;
	/* We may have been stopped ourselves when it came. */
	int64_t give_up_at =
	    UNKILLABLE_MS +
	    (deadline > run->stopping_since ? deadline : run->stopping_since);
	int64_t now = clock_now();

	if (now >= give_up_at) {
		on_unkillable(run);
		return CLOCK_NEVER;
	}
	if (now < replace_at && run->guard.job.state != JOB_UNGUARDED)
		return replace_at;
	if (guard_is_unresponsive(&run->guard))
		replace_guard(run);
	return now + LOOK_AGAIN_MS;
}

static void
step_stop(struct run *run)
{
	struct guard *guard = &run->guard;
	int64_t deadline = least(run->stop_by, kill_at(run));

	forward_signals(run);
	if (guard->job.state == JOB_UNGUARDED)
		guard_kill_job(guard);
	if (guard_job_is_gone(guard)) {
		finish_job(run);
		return;
	}
	if (run->set.state == LOCK_LOST && !run->lost) {
		run->lost = true;
		tell_lost(run, "");
	}
	guard_set_deadline(guard, deadline);
	loop_timer_set(&run->loop, &run->timer, watch_stop(run, deadline));
}

static void
run_step(struct run *run)
{
	static void (*const steps[])(struct run *) = {
	    [RUN_SPLAY] = step_splay,
	    [RUN_ACQUIRE] = step_acquire,
	    [RUN_CANCEL] = step_cancel,
	    [RUN_JOB] = step_job,
	    [RUN_STOP] = step_stop,
	    [RUN_RELEASE] = step_release,
	};
	enum run_state before;

	set_step(&run->set);
	if (take(&run->caught, SIGCHLD))
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

	run->child = (struct child){.argv = run->opts->command,
	    .signals = run->sig,
	    .own_group = !run->terminal};
	code = child_find(&run->child);
	if (code != 0)
		log_warnx("%s: %s", run->opts->command[0],
		    code == EXITCODE_NOT_FOUND ? "command not found"
					       : strerror(errno));
	return code;
}

/* A third of the time that servers may be silent, as a reply that was lost
 * never comes: then a second connection has its chance. */
static int64_t
try_ms(const struct opts *opts)
{
	int64_t ms = opts->server_timeout_ms;

	if (opts->wait_ms > 0)
		ms = least(ms, opts->wait_ms);
	return least(ms / 3 > TRY_MIN_MS ? ms / 3 : TRY_MIN_MS, TRY_MAX_MS);
}

_Static_assert(OPTS_SERVERS_MAX <= QUORUM_SERVERS_MAX, "faults of all");

static void
configure_locks(struct run *run)
{
	const struct opts *opts = run->opts;

	for (size_t i = 0; i < opts->key_count; i++)
		run->lock_configs[i] = (struct lock_config){
		    .key = opts->keys[i].key,
		    .name = opts->keys[i].name,
		    .quorum = {.servers = opts->servers,
			.count = opts->server_count,
			.key = opts->keys[i].key,
			.ttl_ms = opts->ttl_ms,
			.min_uptime_ms = opts->min_uptime_ms},
		    .ttl_ms = opts->ttl_ms,
		    .server_timeout_ms = opts->server_timeout_ms,
		    .try_ms = try_ms(opts),
		    .wait = opts->wait_ms != 0,
		    .max_waiters = opts->max_waiters,
		    .replicas = opts->replicas,
		    .replicas_ms = opts->replicas_ms,
		    .kind = kind_of(opts->kind),
		    .permits = opts->permits,
		    .command = opts->command[0],
		    .held = getenv("RLOCKRUN_HELD"),
		};
}

static int
set_up(struct run *run)
{
	const struct opts *opts = run->opts;

	if (guard_init(&run->guard, &run->loop) == -1) {
		tell_unguarded(run, errno);
		return EXITCODE_RESOURCE;
	}
	if (loop_init(&run->loop) == -1) {
		log_warn("cannot wait for events");
		return EXITCODE_RESOURCE;
	}
	run->signals = (struct loop_fd){.fd = run->sig->fd,
	    .events = POLLIN,
	    .on_ready = on_signal,
	    .arg = run};
	loop_add(&run->loop, &run->signals);
	configure_locks(run);
	if (set_init(&run->set, &run->loop, run->lock_configs,
		opts->key_count) == -1) {
		log_warn("%s: cannot prepare the lock", opts->name);
		return EXITCODE_RESOURCE;
	}
	run->terminal = terminal_is_controlling();
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

	run->state = RUN_ACQUIRE;
	tell_init(&run->tell, run->opts);
	tell_servers(&run->tell);
	run->wait_until = wait_ms > 0 ? clock_now() + wait_ms : CLOCK_NEVER;
	set_acquire(&run->set);
	if (guard_fork(&run->guard, &run->child) == 0) {
		leave_stdio_to_job();
		return;
	}
	log_warn("%s: the job cannot be guarded", run->opts->name);
	cancel(run, EXITCODE_RESOURCE);
}

/* The guard is forked after the delay: nobody needs it before. */
static void
splay(struct run *run)
{
	int64_t ms = dice_between(0, run->opts->splay_ms);

	log_info("%s: the first try comes in %.1f s", run->opts->name,
	    (double)ms / 1000);
	run->state = RUN_SPLAY;
	run->splay_until = clock_now() + ms;
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
run(const struct opts *opts, struct signals *sig)
{
	struct run *run = mem_alloc(sizeof(*run));
	int result;

	run->opts = opts;
	run->sig = sig;
	result = set_up(run);
	if (result == 0) {
		if (run->opts->splay_ms != 0)
			splay(run);
		else
			begin(run);
		loop_until_done(run);
		if (!run->unfinished)
			guard_dismiss(&run->guard);
		result = run->result;
	}
	guard_fini(&run->guard);
	child_fini(&run->child);
	set_fini(&run->set);
	loop_fini(&run->loop);
	free(run);
	return result;
}
