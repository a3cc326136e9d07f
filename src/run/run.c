/* States of a run. Callbacks only record facts; run_step alone acts on them:
 *
 *   SPLAY --> ACQUIRE --held--> JOB --over--> CONFIRM --> RELEASE --> DONE
 *      |         |               |                                     ^
 *      |         |               +--abandoned--------------------------+
 *      |         |                                                     |
 *      +--signal-+--signal, time out, refused--------------------------+
 *
 * Only a run of several locks stays in CONFIRM: what its releases record is
 * true for all locks or for none, see Several keys in PROTOCOL of rlockrun(1).
 * After the job has been started the only way out is DONE. */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dice.h"
#include "base/exitcode.h"
#include "base/mem.h"
#include "job/child.h"
#include "job/guard.h"
#include "lock/held.h"
#include "lock/release.h"
#include "lock/set.h"
#include "run/acquisition.h"
#include "run/ending.h"
#include "run/job_watch.h"
#include "run/observer.h"
#include "run/relay.h"

enum run_state {
	RUN_SPLAY,
	RUN_ACQUIRE,
	RUN_JOB,
	RUN_CONFIRM,
	RUN_RELEASE,
	RUN_DONE,
};

/* For the names of the job's variables, and the ttl. */
enum { ENV_ROOM = 128 };
/* Servers may be silent so long before the locks are released unconfirmed. */
enum { CONFIRM_MS = 2000 };

struct run {
	const struct opts *opts;
	struct loop *loop;
	struct loop_timer timer; /* only wakes run_step */
	struct lock_config lock_configs[OPTS_KEYS_MAX];
	struct set set;
	struct observer observer;
	struct relay relay;
	struct child child;
	struct guard guard;
	struct acquisition acquisition;
	struct job_watch watch;

	enum run_state state;
	struct ending ending;
	int64_t splay_until;
	int64_t confirm_until;
	bool hurried; /* by a signal, after the job, while servers are silent */
};

static void
emit(const struct run *run, struct event event)
{
	events_emit(run->ending.events, &event);
}

/* --- the job's environment -------------------------------------------- */

/* RLOCKRUN_HELD, to be freed. NULL when memory is out. */
static char *
held_by_job(const struct run *run)
{
	const char *above = getenv("RLOCKRUN_HELD");
	char *held = NULL;

	if (!run->watch.locked)
		return strdup(above != NULL ? above : "");
	for (size_t i = 0; i < run->set.count; i++) {
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
static char *
put_lock_env(const struct run *run, char *end)
{
	const char *separator = "RLOCKRUN_TOKEN=";
	bool fenced = false;

	for (size_t i = 0; i < run->set.count; i++) {
		const struct lock *lock =
		    set_lock(&run->set, &run->lock_configs[i]);
		end = stpcpy(stpcpy(end, separator), lock->claim.token);
		separator = "\n";
		fenced = fenced || lock->fence[0] != '\0';
	}
	end++;
	separator = "RLOCKRUN_FENCE=";
	for (size_t i = 0; fenced && i < run->set.count; i++) {
		end = stpcpy(stpcpy(end, separator),
		    set_lock(&run->set, &run->lock_configs[i])->fence);
		separator = "\n";
	}
	return fenced ? end + 1 : end;
}

static char *
put_env(const struct run *run, const char *held, char *end)
{
	end = stpcpy(stpcpy(end, "RLOCKRUN_KEY="), run->opts->names) + 1;
	end += sprintf(end, "RLOCKRUN_TTL_MS=%" PRId64, run->opts->ttl_ms) + 1;
	if (run->watch.locked)
		end = put_lock_env(run, end);
	if (*held != '\0')
		end = stpcpy(stpcpy(end, "RLOCKRUN_HELD="), held) + 1;
	return end;
}

/* The variables of the job's environment, each with its NUL, to be freed. NULL
 * with errno when memory is out. A stream would need more time than all else
 * between the grant and the start of the job. */
static char *
job_env(const struct run *run, size_t *length)
{
	const struct set *set = &run->set;
	char *held = held_by_job(run);
	char *entries = NULL;

	if (held != NULL)
		entries = malloc(ENV_ROOM + strlen(run->opts->names) +
				 set->count * (sizeof(set->locks->claim.token) +
						  sizeof(set->locks->fence)) +
				 strlen(held));
	if (entries != NULL)
		*length = (size_t)(put_env(run, held, entries) - entries);
	free(held);
	return entries;
}

/* --- acquire ---------------------------------------------------------- */

static void begin(struct run *run);
static void release(struct run *run);

static void
wake_at(struct run *run, int64_t at)
{
	loop_timer_set(run->loop, &run->timer, at);
}

static void
start_job(struct run *run)
{
	size_t length;
	char *entries = job_env(run, &length);

	if (entries == NULL) {
		ending_add_text(&run->ending, ENDING_NO_JOB, strerror(errno));
		release(run);
		return;
	}
	run->ending.job_started = true;
	emit(run, (struct event){.type = EVENT_JOB_STARTED});
	run->state = RUN_JOB;
	guard_start_job(&run->guard, entries, length,
	    job_watch_start(&run->watch));
	free(entries);
}

static void
on_held(struct run *run)
{
	run->watch.locked = true;
	observer_report_acquired(&run->observer, &run->set, run->lock_configs);
	start_job(run);
}

static void
on_unavailable(struct run *run)
{
	if (run->opts->unavailable_run) {
		emit(run, (struct event){.type = EVENT_UNLOCKED,
			      .why = run->set.about->error});
		start_job(run);
		return;
	}
	acquisition_add_unavailable(&run->acquisition);
	run->state = RUN_DONE;
}

/* There is no guard yet, and nothing has been sent to a server. */
static void
step_splay(struct run *run)
{
	if (ending_add_signal(&run->ending, relay_obey(&run->relay)))
		run->state = RUN_DONE;
	else if (clock_now() >= run->splay_until)
		begin(run);
	else
		wake_at(run, run->splay_until);
}

/* A lock that has just been granted is given up again. */
static void
check_guard(struct run *run)
{
	const struct job *job = &run->guard.job;
	enum acquisition_state state = run->acquisition.state;

	if ((state != ACQUISITION_TRYING && state != ACQUISITION_HELD) ||
	    (job->state != JOB_FAILED && job->state != JOB_UNGUARDED))
		return;
	ending_add_unguarded(&run->ending, job->error);
	acquisition_cancel(&run->acquisition);
}

static void
step_acquire(struct run *run)
{
	acquisition_step(&run->acquisition);
	check_guard(run);
	switch (run->acquisition.state) {
	case ACQUISITION_TRYING:
		wake_at(run, run->acquisition.wait_until);
		break;
	case ACQUISITION_CANCELLING:
		break;
	case ACQUISITION_HELD:
		on_held(run);
		break;
	case ACQUISITION_FAILED:
		run->state = RUN_DONE;
		break;
	case ACQUISITION_UNAVAILABLE:
		on_unavailable(run);
		break;
	}
}

/* --- release ---------------------------------------------------------- */

/* --min-hold does not count for a command that could not be run. */
static int64_t
keep_until(const struct run *run)
{
	if (run->guard.job.exec_error != 0)
		return 0;
	return run->set.acquired_at + run->opts->min_hold_ms;
}

static int
exit_status(const struct run *run)
{
	return run->ending.job_started ? event_shell_status(run->ending.status)
				       : RELEASE_NO_JOB;
}

/* Sent first, so that the guard goes while the server answers. */
static void
release(struct run *run)
{
	run->state = RUN_RELEASE;
	if (run->watch.locked) {
		/* By now all may have answered. */
		observer_watch_servers(&run->observer, run->set.about);
		set_release(&run->set, keep_until(run), exit_status(run));
	}
	guard_dismiss(&run->guard);
}

/* The job has ended: a signal ends the wait for an unreachable server, and is
 * kept until the server is found to be one. */
static bool
is_hurried(struct run *run)
{
	if (!run->set.answered && relay_take_end(&run->relay))
		run->hurried = true;
	return run->hurried;
}

static void
add_taken(struct run *run)
{
	ending_add_lock(&run->ending, ENDING_TAKEN, run->set.about,
	    EVENT_THEN_NOTHING);
}

static void
confirm(struct run *run)
{
	run->state = RUN_CONFIRM;
	run->confirm_until = clock_now() + CONFIRM_MS;
	set_confirm(&run->set);
	guard_dismiss(&run->guard);
}

static void
step_confirm(struct run *run)
{
	const struct set *set = &run->set;
	int64_t until = clock_min(run->confirm_until, set->valid_until);
	bool over = clock_now() >= until;

	if (set->state == LOCK_LOST)
		add_taken(run);
	if (set->state == LOCK_LOST || set->confirmed || over ||
	    is_hurried(run))
		release(run);
	else
		wake_at(run, until);
}

/* A lock that was lost after the others were confirmed. */
static void
on_taken(struct run *run)
{
	add_taken(run);
	set_correct(&run->set, exit_status(run));
	if (run->set.state == LOCK_RELEASING)
		run->state = RUN_RELEASE;
}

/* A hurried release is cut short, but sent: a server that is only frozen frees
 * the locks when it goes on. */
static void
step_release(struct run *run)
{
	const struct set *set = &run->set;
	const struct lock *lock;

	if (set->state == LOCK_RELEASING && is_hurried(run))
		set_cancel(&run->set);
	if (set->state == LOCK_RELEASING)
		return;
	lock = set->about;
	run->state = RUN_DONE;
	if (!run->watch.locked)
		return;
	observer_watch_servers(&run->observer, lock);
	if (ending_is_lost(&run->ending))
		return;
	if (set->outcome == LOCK_WAS_LOST)
		on_taken(run);
	else if (set->outcome == LOCK_UNCONFIRMED)
		emit(run, (struct event){.type = EVENT_UNCONFIRMED,
			      .name = lock->config->name,
			      .why = lock->error});
	else
		observer_report_release(&run->observer, set, run->lock_configs);
}

/* --- the job ---------------------------------------------------------- */

/* A single lock is asked by its release. */
static void
on_over(struct run *run)
{
	if (run->watch.locked && run->set.count > 1 &&
	    !ending_is_lost(&run->ending))
		confirm(run);
	else
		release(run);
}

static void
step_job(struct run *run)
{
	int64_t look_at = job_watch_step(&run->watch);

	if (run->watch.state == JOB_WATCH_OVER)
		on_over(run);
	else if (run->watch.state == JOB_WATCH_ABANDONED)
		run->state = RUN_DONE;
	else
		wake_at(run, look_at);
}

static void
run_step(struct run *run)
{
	static void (*const steps[])(struct run *) = {
	    [RUN_SPLAY] = step_splay,
	    [RUN_ACQUIRE] = step_acquire,
	    [RUN_JOB] = step_job,
	    [RUN_CONFIRM] = step_confirm,
	    [RUN_RELEASE] = step_release,
	};
	enum run_state before;

	set_step(&run->set);
	if (relay_take_child(&run->relay))
		guard_on_sigchld(&run->guard);
	do {
		before = run->state;
		steps[before](run);
	} while (run->state != before && run->state != RUN_DONE);
}

/* --- set-up ----------------------------------------------------------- */

/* A shell command given as one word, as in: rlockrun -k NAME "a; b" */
static bool
is_shell_syntax(char *const *command)
{
	return command[1] == NULL &&
	       strpbrk(command[0], " \t\n;&|<>()$`*?\"'=~") != NULL;
}

static void
find_command(struct run *run)
{
	char **command = run->opts->command;
	int status;

	run->child = (struct child){.argv = command,
	    .signals = run->relay.signals,
	    .own_group = !run->relay.terminal};
	status = child_find(&run->child);
	if (status != 0)
		ending_add(&run->ending, ENDING_NO_COMMAND,
		    (struct event){.command = command[0],
			.why = status != EXITCODE_NOT_FOUND ? strerror(errno)
			       : is_shell_syntax(command)
				   ? "not found (for a shell command use -c)"
				   : "not found",
			.status = status});
}

/* Unless an ending has come up, the run can begin. */
static void
set_up(struct run *run, struct signals *signals)
{
	if (guard_init(&run->guard, run->loop) == -1) {
		ending_add_unguarded(&run->ending, errno);
		return;
	}
	relay_init(&run->relay, run->loop, signals, &run->guard);
	run->acquisition = (struct acquisition){.opts = run->opts,
	    .ending = &run->ending,
	    .observer = &run->observer,
	    .relay = &run->relay,
	    .set = &run->set};
	run->watch = (struct job_watch){.opts = run->opts,
	    .loop = run->loop,
	    .ending = &run->ending,
	    .observer = &run->observer,
	    .relay = &run->relay,
	    .guard = &run->guard,
	    .child = &run->child,
	    .set = &run->set};
	acquisition_configure(run->lock_configs, run->opts);
	if (set_init(&run->set, run->loop, run->lock_configs,
		run->opts->key_count) == -1)
		ending_add_text(&run->ending, ENDING_NO_LOCK, strerror(errno));
	else
		find_command(run);
}

/* The guard has them for the job. If they stayed open here, too, a reader of
 * the job's stdout would not see end of file when the job closes it, nor would
 * the writer of its stdin get SIGPIPE. */
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
	run->state = RUN_ACQUIRE;
	acquisition_begin(&run->acquisition);
	if (guard_fork(&run->guard, &run->child) == 0) {
		leave_stdio_to_job();
		return;
	}
	ending_add_unguarded(&run->ending, errno);
	acquisition_cancel(&run->acquisition);
}

/* The guard is forked after the delay: nobody needs it before. */
static void
begin_splay(struct run *run)
{
	int64_t ms = dice_between(0, run->opts->splay_ms);

	emit(run, (struct event){.type = EVENT_DELAYED, .ms = ms});
	run->state = RUN_SPLAY;
	run->splay_until = clock_now() + ms;
}

/* False when the loop has failed. */
static bool
loop_until_done(struct run *run)
{
	for (run_step(run); run->state != RUN_DONE; run_step(run)) {
		if (loop_turn(run->loop) == 0)
			continue;
		ending_add_text(&run->ending, ENDING_LOOP_FAILED,
		    strerror(errno));
		return false;
	}
	return true;
}

int
run(const struct opts *opts, struct loop *loop, const struct events *events,
    struct signals *signals)
{
	struct run *run = mem_alloc(sizeof(*run));
	int status;

	run->opts = opts;
	run->loop = loop;
	run->ending = (struct ending){.opts = opts, .events = events};
	set_up(run, signals);
	if (run->ending.reason == ENDING_NONE) {
		if (opts->splay_ms != 0)
			begin_splay(run);
		else
			begin(run);
		if (loop_until_done(run) &&
		    run->watch.state != JOB_WATCH_ABANDONED)
			guard_dismiss(&run->guard);
	}
	status = ending_finish(&run->ending);
	relay_fini(&run->relay, loop);
	loop_timer_remove(loop, &run->timer);
	guard_fini(&run->guard);
	child_fini(&run->child);
	set_fini(&run->set);
	free(run);
	return status;
}
