/* States of a run. Callbacks only record facts; run_step alone acts on them:
 *
 *   SPLAY --> ACQUIRE --held--> JOB --over--> CONFIRM --> RELEASE --> DONE
 *      |         |               |                                     ^
 *      |         |               +--abandoned--------------------------+
 *      |         |                                                     |
 *      +--signal-+--signal, time out, refused--------------------------+
 *
 * Only a run of several locks stays in CONFIRM: what its releases record is
 * true for all locks or for none, see SEVERAL KEYS in rlockrun-protocol(7).
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
#include "base/descriptors.h"
#include "base/dice.h"
#include "base/exitcode.h"
#include "base/mem.h"
#include "job/child.h"
#include "job/guard.h"
#include "lock/outer.h"
#include "lock/set.h"
#include "run/job_watch.h"

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
	struct locks locks;
	struct child child;
	struct guard guard;
	struct job_watch watch;

	enum run_state state;
	int64_t splay_until;
	int64_t confirm_until;
	bool is_unproven; /* it is not known whether all locks were held */
};

/* --- the job's environment -------------------------------------------- */

/* RLOCKRUN_HELD, to be freed. NULL when memory is out. */
static char *
held_by_job(const struct run *run)
{
	const char *above = getenv("RLOCKRUN_HELD");
	char *held = NULL;

	if (!run->watch.locked)
		return strdup(above != NULL ? above : "");
	for (size_t i = 0; i < run->locks.set.keys; i++) {
		const struct lock *lock = set_lock(&run->locks.set, i);
		char *with = outer_with(above, lock->config->key,
		    lock->config->kind, lock->claim.token);

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

	for (size_t i = 0; i < run->locks.set.keys; i++) {
		const struct lock *lock = set_lock(&run->locks.set, i);

		end = stpcpy(stpcpy(end, separator), lock->claim.token);
		separator = "\n";
		fenced = fenced || lock->fence[0] != '\0';
	}
	end++;
	separator = "RLOCKRUN_FENCE=";
	for (size_t i = 0; fenced && i < run->locks.set.keys; i++) {
		end = stpcpy(stpcpy(end, separator),
		    set_lock(&run->locks.set, i)->fence);
		separator = "\n";
	}
	return fenced ? end + 1 : end;
}

static char *
put_env(const struct run *run, const char *held, char *end)
{
	end = stpcpy(stpcpy(end, "RLOCKRUN_KEY="), run->locks.opts->names) + 1;
	end +=
	    sprintf(end, "RLOCKRUN_TTL_MS=%" PRId64, run->locks.opts->ttl_ms) +
	    1;
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
	const struct set *set = &run->locks.set;
	char *held = held_by_job(run);
	char *entries = NULL;

	if (held != NULL)
		entries = malloc(ENV_ROOM + strlen(run->locks.opts->names) +
				 set->keys * (sizeof(set->locks->claim.token) +
						 sizeof(set->locks->fence)) +
				 strlen(held));
	if (entries != NULL)
		*length = (size_t)(put_env(run, held, entries) - entries);
	free(held);
	return entries;
}

/* --- acquire ---------------------------------------------------------- */

static void run_begin(struct run *run);
static void run_release(struct run *run);

static void
run_start_job(struct run *run)
{
	size_t length;
	char *entries = job_env(run, &length);

	if (entries == NULL) {
		ending_add_text(run->locks.events, ENDING_NO_JOB,
		    strerror(errno));
		run_release(run);
		return;
	}
	locks_emit(&run->locks, (struct event){.type = EVENT_JOB_STARTED});
	run->state = RUN_JOB;
	guard_start_job(&run->guard, entries, length,
	    job_watch_start(&run->watch));
	free(entries);
}

static void
run_on_held(struct run *run)
{
	run->watch.locked = true;
	observer_report_acquired(&run->locks.observer);
	run_start_job(run);
}

static void
on_unavailable(struct run *run)
{
	if (run->locks.opts->unavailable_run) {
		locks_emit(&run->locks, (struct event){.type = EVENT_UNLOCKED,
					    .why = run->locks.set.error});
		run_start_job(run);
		return;
	}
	locks_add_ending(&run->locks, ENDING_UNAVAILABLE, EVENT_THEN_NOTHING);
	run->state = RUN_DONE;
}

/* There is no guard yet, and nothing has been sent to a server. */
static void
run_step_splay(struct run *run)
{
	if (locks_obey(&run->locks))
		run->state = RUN_DONE;
	else if (run->locks.loop->now >= run->splay_until)
		run_begin(run);
	else
		locks_wake_at(&run->locks, run->splay_until);
}

/* A lock that has just been granted is given up again. */
static void
check_guard(struct run *run)
{
	const struct job *job = &run->guard.job;
	enum locks_state state = run->locks.state;

	if ((state != LOCKS_TRYING && state != LOCKS_HELD) ||
	    (job->state != JOB_FAILED && job->state != JOB_UNGUARDED))
		return;
	ending_add_unguarded(run->locks.events, job->error);
	locks_cancel(&run->locks);
}

static void
run_step_acquire(struct run *run)
{
	locks_step(&run->locks);
	check_guard(run);
	switch (run->locks.state) {
	case LOCKS_TRYING:
	case LOCKS_CANCELLING:
		break;
	case LOCKS_HELD:
		run_on_held(run);
		break;
	case LOCKS_FAILED:
		run->state = RUN_DONE;
		break;
	case LOCKS_UNAVAILABLE:
		on_unavailable(run);
		break;
	}
}

/* --- release ---------------------------------------------------------- */

static struct request_run
describe_end(const struct run *run)
{
	const struct facts *facts = run->locks.events->facts;

	return (struct request_run){.status =
					facts->started_at != 0
					    ? event_shell_status(facts->status)
					    : REQUEST_NO_JOB,
	    .reason = event_rows[facts->ending].word,
	    .waited_ms = facts_waited_ms(facts),
	    .is_unproven = run->is_unproven};
}

/* Sent first, so that the guard goes while the server answers. --min-hold does
 * not count for a command that could not be run. */
static void
run_release(struct run *run)
{
	const struct request_run end = describe_end(run);
	struct set *set = &run->locks.set;
	int64_t keep_until =
	    run->guard.job.exec_error != 0
		? 0
		: set->acquired_at + run->locks.opts->min_hold_ms;

	run->state = RUN_RELEASE;
	if (run->watch.locked) {
		/* By now all may have answered. */
		observer_watch_servers(&run->locks.observer);
		set_release(set, keep_until, &end);
	}
	guard_dismiss(&run->guard);
}

static void
run_step_confirm(struct run *run)
{
	const struct set *set = &run->locks.set;
	int64_t until = clock_min(run->confirm_until, set->valid_until);
	bool over = run->locks.loop->now >= until;

	if (set->state == LOCK_LOST)
		locks_add_ending(&run->locks, ENDING_TAKEN, EVENT_THEN_NOTHING);
	if (set->state == LOCK_LOST || set->confirmed) {
		run_release(run);
	} else if (over || locks_is_hurried(&run->locks)) {
		run->is_unproven = true;
		if (run->locks.events->facts->status == 0)
			locks_emit(&run->locks,
			    (struct event){.type = EVENT_UNPROVEN,
				.name = set->about->config->name,
				.why = set->error});
		run_release(run);
	} else {
		locks_wake_at(&run->locks, until);
	}
}

/* The release has found that a lock was lost under the job. */
static void
on_taken(struct run *run)
{
	struct request_run end;

	locks_add_ending(&run->locks, ENDING_TAKEN, EVENT_THEN_NOTHING);
	end = describe_end(run);
	set_correct(&run->locks.set, &end);
	if (run->locks.set.state == LOCK_RELEASING)
		run->state = RUN_RELEASE;
}

/* A hurried release is cut short, but sent: a server that is only frozen frees
 * the locks when it goes on. */
static void
run_step_release(struct run *run)
{
	const struct set *set = &run->locks.set;
	bool lost = facts_say_lost(run->locks.events->facts);
	const struct lock *lock;

	if (set->state == LOCK_RELEASING && locks_is_hurried(&run->locks))
		set_cancel(&run->locks.set);
	if (set->state == LOCK_RELEASING)
		return;
	lock = set->about;
	run->state = RUN_DONE;
	if (!run->watch.locked)
		return;
	observer_watch_servers(&run->locks.observer);
	if (!lost && set->outcome == LOCK_WAS_LOST)
		on_taken(run);
	else if (!lost && set->outcome == LOCK_UNCONFIRMED)
		locks_emit(&run->locks,
		    (struct event){.type = EVENT_UNCONFIRMED,
			.name = lock->config->name,
			.why = set->error});
	else if (!lost)
		observer_report_release(&run->locks.observer);
	if (run->state == RUN_DONE)
		observer_report_unrecorded(&run->locks.observer);
}

/* --- the job ---------------------------------------------------------- */

/* A single lock is asked by its release. */
static void
on_over(struct run *run)
{
	struct set *set = &run->locks.set;

	if (!run->watch.locked || set->keys == 1 ||
	    facts_say_lost(run->locks.events->facts)) {
		run_release(run);
		return;
	}
	run->state = RUN_CONFIRM;
	run->confirm_until = clock_now() + CONFIRM_MS;
	set_confirm(set);
	guard_dismiss(&run->guard);
}

/* Files that are read again for a new connection, and a folder. */
static bool
is_needed(const void *arg, int fd)
{
	const struct opts *opts = arg;
	const char *const paths[] = {opts->login.password_file,
	    opts->sentinel_login.password_file, opts->tls_ca, opts->tls_cert,
	    opts->tls_key, opts->metrics_folder};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (paths[i] != NULL && descriptors_find(paths[i]) == fd)
			return true;
	return false;
}

/* As with flock(1) and tini(1), descriptors of the caller stay open here while
 * the job runs: one may be a local lock, and the job a sudo that closes it. But
 * no reader of the job's should wait for a server that is slow to release. */
static void
run_step_job(struct run *run)
{
	int64_t look_at = job_watch_step(&run->watch);

	if (run->watch.state == JOB_WATCH_OVER) {
		on_over(run);
		descriptors_close_inherited(is_needed, run->locks.opts);
	} else if (run->watch.state == JOB_WATCH_ABANDONED) {
		run->state = RUN_DONE;
	} else {
		locks_wake_at(&run->locks, look_at);
	}
}

static void
run_step(struct run *run)
{
	static void (*const steps[])(struct run *) = {
	    [RUN_SPLAY] = run_step_splay,
	    [RUN_ACQUIRE] = run_step_acquire,
	    [RUN_JOB] = run_step_job,
	    [RUN_CONFIRM] = run_step_confirm,
	    [RUN_RELEASE] = run_step_release,
	};
	enum run_state before;

	set_step(&run->locks.set);
	if (relay_take_child(&run->locks.relay))
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

/* A shell sets a variable by it: FOO=1 command */
static bool
is_assignment(const char *word)
{
	size_t length = strspn(word,
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return length > 0 && word[length] == '=' &&
	       (*word < '0' || *word > '9');
}

static const char *
describe_missing(char *const *command)
{
	if (is_shell_syntax(command))
		return "not found (for a shell command use -c)";
	if (command[1] != NULL && is_assignment(command[0]))
		return "not found (to set a variable use env(1))";
	return "not found";
}

static void
find_command(struct run *run)
{
	char **command = run->locks.opts->command;
	int status;

	run->child = (struct child){.argv = command,
	    .signals = run->locks.relay.signals,
	    .own_group = !run->locks.relay.terminal};
	status = child_find(&run->child);
	if (status != 0)
		ending_add(run->locks.events, ENDING_NO_COMMAND,
		    (struct event){.command = command[0],
			.why = status != EXITCODE_NOT_FOUND
				   ? strerror(errno)
				   : describe_missing(command),
			.status = status});
}

/* Unless an ending comes up, the run can begin. */
static void
run_set_up(struct run *run, struct signals *signals)
{
	run->watch = (struct job_watch){.locks = &run->locks,
	    .guard = &run->guard,
	    .child = &run->child};
	if (guard_init(&run->guard, run->locks.loop) == -1)
		ending_add_unguarded(run->locks.events, errno);
	else if (locks_init(&run->locks, signals, &run->guard) == 0)
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
run_begin(struct run *run)
{
	run->state = RUN_ACQUIRE;
	locks_begin(&run->locks);
	if (guard_fork(&run->guard, &run->child) == 0) {
		leave_stdio_to_job();
		return;
	}
	ending_add_unguarded(run->locks.events, errno);
	locks_cancel(&run->locks);
}

/* The guard is forked after the delay: nobody needs it before. */
static void
begin_splay(struct run *run)
{
	int64_t ms = dice_between(0, run->locks.opts->splay_ms);

	locks_emit(&run->locks,
	    (struct event){.type = EVENT_DELAYED, .ms = ms});
	run->state = RUN_SPLAY;
	run->splay_until = clock_now() + ms;
}

int
run(const struct opts *opts, struct loop *loop, const struct events *events,
    struct signals *signals)
{
	struct run *run = mem_alloc(sizeof(*run));
	int status;

	run->locks.opts = opts;
	run->locks.events = events;
	run->locks.loop = loop;
	run_set_up(run, signals);
	if (events->facts->ending == ENDING_NONE) {
		if (opts->splay_ms != 0)
			begin_splay(run);
		else
			run_begin(run);
		do
			run_step(run);
		while (run->state != RUN_DONE && locks_turn(&run->locks));
		if (run->state == RUN_DONE &&
		    run->watch.state != JOB_WATCH_ABANDONED)
			guard_dismiss(&run->guard);
	}
	status = ending_finish(events);
	locks_fini(&run->locks);
	guard_fini(&run->guard);
	child_fini(&run->child);
	free(run);
	return status;
}
