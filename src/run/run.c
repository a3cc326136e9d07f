#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/dice.h"
#include "base/mem.h"
#include "base/secret.h"
#include "lock/redlock.h"

/* Servers may be silent so long before the locks are released unconfirmed. */
enum { CONFIRM_MS = 2000 };

/* A hold has no guard either. */
static bool
has_job(const struct run *run)
{
	return run->opts->action == OPTS_RUN;
}

void
run_enter(struct run *run, enum run_state state)
{
	run->state = state;
	run->until = run->wake_at = CLOCK_NEVER;
	observer_look(run);
}

void
run_wake_at(struct run *run, int64_t at)
{
	run->wake_at = clock_min(run->wake_at, at);
}

void
run_add_ending(const struct run *run, enum ending_reason reason,
    struct event event)
{
	const struct event_row *row = &event_rows[reason];

	if (row->outcome == EVENT_OUTCOME_SKIPPED ||
	    row->outcome == EVENT_OUTCOME_BUSY)
		event.status = run->opts->conflict_exit;
	else if (row->status != ENDING_OWN_STATUS)
		event.status = row->status;
	if (run->facts->started_at == 0 && event.then == EVENT_THEN_NOTHING &&
	    has_job(run))
		event.then = EVENT_THEN_NOT_STARTED;
	event.type = EVENT_ENDING;
	event.ending = reason;
	events_emit(run->events, &event);
}

void
run_add_lock_ending(const struct run *run, enum ending_reason reason,
    enum event_then then)
{
	const struct lock *lock = run->set.about;

	run_add_ending(run, reason,
	    (struct event){.name = lock->config->name,
		.why = run->set.error,
		.then = then});
}

void
run_add_unguarded(const struct run *run, int error)
{
	const char *why =
	    error == 0 ? "the guard was killed" : descendants_strerror(error);

	/* The guard may find this out later than we call the job started. */
	run_add_ending(run, ENDING_UNGUARDED,
	    (struct event){.why = why, .then = EVENT_THEN_NOT_STARTED});
}

/* --- acquire ------------------------------------------------------------ */

static void
withdraw(struct run *run)
{
	set_cancel(&run->set);
	run_enter(run, RUN_WITHDRAW);
}

/* Each run begins with it; without --splay it is over at once. Until then there
 * is no guard, since nobody needs it, and nothing has been sent to a server.
 *
 * The first try is on its way to the server while the guard is forked, which
 * has stdin and stdout for the job. If they stayed open here, too, a reader of
 * the job's stdout would not see end of file when the job closes it, nor would
 * the writer of its stdin get SIGPIPE. */
static void
run_step_splay(struct run *run)
{
	const struct opts *opts = run->opts;
	int null;

	if (relay_obey(run)) {
		run_enter(run, RUN_DONE);
		return;
	}
	if (run->loop->now < run->until)
		return;
	run_enter(run, RUN_ACQUIRE);
	run->until =
	    opts->wait_ms > 0 ? clock_now() + opts->wait_ms : CLOCK_NEVER;
	set_acquire(&run->set);
	if (has_job(run) && guard_fork(&run->guard, &run->child) == -1) {
		run_add_unguarded(run, errno);
		withdraw(run);
	} else if (has_job(run) &&
		   (null = open("/dev/null", O_RDWR | O_CLOEXEC)) != -1) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		close(null);
	}
}

static void
begin_job(struct run *run)
{
	size_t length;
	char *entries;

	run_enter(run, RUN_JOB);
	entries = command_env(run, &length);
	if (entries == NULL) {
		run_add_ending(run, ENDING_NO_JOB,
		    (struct event){.why = strerror(errno)});
		run_release(run);
		return;
	}
	events_emit(run->events, &(struct event){.type = EVENT_JOB_STARTED});
	guard_start_job(&run->guard, entries, length, watch_start(run));
	free(entries);
}

/* A lock that has just been granted is given up again if the guard fails. */
static void
run_step_acquire(struct run *run)
{
	const struct job *job = &run->guard.job;
	struct set *set = &run->set;

	if (relay_obey(run)) {
		withdraw(run);
	} else if (set->state == LOCK_FAILED) {
		run_enter(run, RUN_WITHDRAW);
	} else if (set->state != LOCK_HELD && run->loop->now >= run->until) {
		if (set->answered)
			run_add_ending(run, ENDING_WAIT_OVER,
			    (struct event){.name = set->about->config->name,
				.holder = &set->about->holder,
				.ms = run->opts->wait_ms});
		set_skip(set);
		run_enter(run, RUN_WITHDRAW);
	} else if (job->state == JOB_FAILED || job->state == JOB_UNGUARDED) {
		run_add_unguarded(run, job->error);
		withdraw(run);
	} else if (set->state == LOCK_HELD) {
		run->cover = COVER_HELD;
		if (has_job(run))
			begin_job(run);
		else
			hold_start(run);
	}
}

static void
add_lock_failure(const struct run *run)
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
	const struct lock *lock = run->set.about;
	enum lock_failure failure = run->set.failure;
	enum ending_reason reason = endings[failure];
	struct event event = {.name = lock->config->name,
	    .why = run->set.error,
	    .holder = &lock->holder,
	    .count = lock->queue.length};

	if (failure == LOCK_BUSY)
		reason = lock->config->wait ? ENDING_QUEUE_FULL : ENDING_BUSY;
	if (failure == LOCK_OVERTAKEN)
		event.by = &lock->order.by;
	if (failure == LOCK_OTHER_KIND)
		event.why = lock->claim.outer->adverb;
	run_add_ending(run, reason, event);
}

/* When it is over, nothing is held. Without an ending no server has replied. */
static void
run_step_withdraw(struct run *run)
{
	enum opts_unavailable unavailable =
	    (enum opts_unavailable)run->opts->on_unavailable;
	const struct set *set = &run->set;

	if (set->state != LOCK_RELEASED && set->state != LOCK_FAILED)
		return;
	if (set->state == LOCK_FAILED && set->failure != LOCK_UNAVAILABLE)
		add_lock_failure(run);
	if (run->facts->ending == ENDING_NONE && has_job(run) &&
	    unavailable == OPTS_UNAVAILABLE_RUN) {
		events_emit(run->events,
		    &(struct event){.type = EVENT_UNLOCKED, .why = set->error});
		begin_job(run);
		return;
	}
	if (run->facts->ending == ENDING_NONE)
		run_add_lock_ending(run,
		    unavailable == OPTS_UNAVAILABLE_SKIP && has_job(run)
			? ENDING_NO_SERVER
			: ENDING_UNAVAILABLE,
		    EVENT_THEN_NOTHING);
	run_enter(run, RUN_DONE);
}

/* --- the job is over ---------------------------------------------------- */

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

/* A single lock is asked by its release. As with flock(1) and tini(1),
 * descriptors of the caller stay open here while the job runs: one may be a
 * local lock, and the job a sudo that closes it. But no reader of the job's
 * should wait for a server that is slow to release. */
void
run_on_job_over(struct run *run)
{
	if (run->cover == COVER_NONE || run->set.keys == 1 ||
	    facts_say_lost(run->facts)) {
		run_release(run);
	} else {
		run_enter(run, RUN_CONFIRM);
		run->until = clock_now() + CONFIRM_MS;
		set_confirm(&run->set);
		guard_dismiss(&run->guard);
	}
	descriptors_close_inherited(is_needed, run->opts);
}

/* Whether a signal, also an earlier one to the job, has ended the wait for
 * servers that are silent. It is kept until the servers are found to be. */
static bool
is_hurried(struct run *run)
{
	/* A signal that has ended the job asks us to end, too. */
	if (!run->set.answered &&
	    (relay_take_end(run) || run->relay.asked_to_end))
		run->hurried = true;
	return run->hurried;
}

static void
run_step_confirm(struct run *run)
{
	const struct set *set = &run->set;
	int64_t until = clock_min(run->until, set->valid_until);

	if (set->state == LOCK_LOST)
		run_add_lock_ending(run, ENDING_TAKEN, EVENT_THEN_NOTHING);
	if (set->state == LOCK_LOST || set->confirmed) {
		run_release(run);
	} else if (run->loop->now >= until || is_hurried(run)) {
		run->cover = COVER_UNPROVEN;
		if (run->facts->status == 0)
			events_emit(run->events,
			    &(struct event){.type = EVENT_UNPROVEN,
				.name = set->about->config->name,
				.why = set->error});
		run_release(run);
	} else {
		run_wake_at(run, until);
	}
}

static struct request_run
describe_run_end(const struct run *run)
{
	const struct facts *facts = run->facts;

	return (struct request_run){.status =
					facts->started_at != 0
					    ? event_shell_status(facts->status)
					    : REQUEST_NO_JOB,
	    .reason = event_rows[facts->ending].word,
	    .waited_ms = facts_waited_ms(facts),
	    .is_unproven = run->cover == COVER_UNPROVEN};
}

/* Sent first, so that the guard goes while the server answers. --min-hold does
 * not count for a command that could not be run. */
void
run_release(struct run *run)
{
	const struct request_run end = describe_run_end(run);
	bool keeps = has_job(run) && run->guard.job.exec_error == 0;

	run_enter(run, RUN_RELEASE);
	if (run->cover != COVER_NONE)
		set_release(&run->set,
		    keeps ? run->set.acquired_at + run->opts->min_hold_ms : 0,
		    &end);
	if (has_job(run))
		guard_dismiss(&run->guard);
}

/* A hurried release is cut short, but sent: a server that is only frozen frees
 * the locks when it goes on. */
static void
run_step_release(struct run *run)
{
	const struct facts *facts = run->facts;
	struct set *set = &run->set;
	struct request_run end;

	if (set->state == LOCK_RELEASING && is_hurried(run))
		set_cancel(set);
	if (set->state == LOCK_RELEASING)
		return;
	if (run->cover != COVER_NONE && facts->started_at != 0 &&
	    !facts_say_lost(facts) && set->outcome == LOCK_WAS_LOST) {
		run_add_lock_ending(run, ENDING_TAKEN, EVENT_THEN_NOTHING);
		end = describe_run_end(run);
		set_correct(set, &end);
		if (set->state == LOCK_RELEASING)
			return;
	}
	run_enter(run, RUN_DONE);
}

/* --- the run of it ------------------------------------------------------ */

static void
step(struct run *run)
{
	static void (*const steps[RUN_STATES])(struct run *) = {
	    [RUN_SPLAY] = run_step_splay,
	    [RUN_ACQUIRE] = run_step_acquire,
	    [RUN_WITHDRAW] = run_step_withdraw,
	    [RUN_JOB] = watch_step_job,
	    [RUN_STOP] = watch_step_stop,
	    [RUN_CONFIRM] = run_step_confirm,
	    [RUN_RELEASE] = run_step_release,
	    [RUN_LENGTHEN] = hold_step_lengthen,
	    [RUN_PRINT] = hold_step_print,
	};
	enum run_state before;
	enum lock_phase set_before;

	if (has_job(run) && run->relay.child_changed)
		guard_on_sigchld(&run->guard);
	run->relay.child_changed = false;
	set_step(&run->set);
	observer_look(run);
	run->wake_at = CLOCK_NEVER;
	do {
		before = run->state;
		set_before = run->set.state;
		steps[before](run);
		/* An order may be carried out at once. */
		set_step(&run->set);
	} while ((run->state != before || run->set.state != set_before) &&
		 run->state < RUN_DONE);
	loop_timer_set(run->loop, &run->timer,
	    clock_min(run->wake_at, run->until));
}

/* Returns when it is over, one way or the other. */
static void
turn(struct run *run)
{
	int64_t splay_ms;

	if (has_job(run) && run->opts->splay_ms > 0) {
		splay_ms = dice_between(0, run->opts->splay_ms);
		run->until = clock_now() + splay_ms;
		events_emit(run->events,
		    &(struct event){.type = EVENT_DELAYED, .ms = splay_ms});
	}
	/* The C library binds functions of its own at their first call, some as
	 * the command is found: the linker saves vector registers for it. */
	secret_wipe_stack();
	do
		step(run);
	while (run->state < RUN_DONE && loop_turn(run->loop) == 0);
	if (run->state < RUN_DONE)
		run_add_ending(run, ENDING_LOOP_FAILED,
		    (struct event){.why = strerror(errno)});
	else if (run->state == RUN_DONE && has_job(run))
		guard_dismiss(&run->guard);
}

_Static_assert(OPTS_KEYS_MAX <= SET_LOCKS_MAX &&
		   OPTS_SERVERS_MAX <= REDLOCK_SERVERS_MAX,
    "a lock for each");

/* There is a lock for each key, or for each server. */
int
run(const struct opts *opts, struct loop *loop, const struct events *events,
    struct signals *signals)
{
	bool votes = opts->server_count > 1;
	size_t count = votes ? opts->server_count : opts->key_count;
	struct run *run = mem_alloc(sizeof(*run));
	int status;

	run->opts = opts;
	run->events = events;
	run->facts = events->facts;
	run->loop = loop;
	for (size_t i = 0; i < count; i++) {
		run->configs[i] = opts->lock;
		run->configs[i].key = opts->keys[votes ? 0 : i].key;
		run->configs[i].name = opts->keys[votes ? 0 : i].name;
		run->configs[i].server = &opts->servers[votes ? i : 0];
	}
	relay_init(run, signals);
	if (has_job(run) && guard_init(&run->guard, loop) == -1)
		run_add_unguarded(run, errno);
	else if (set_init(&run->set, loop, votes ? &rule_majority : &rule_all,
		     run->configs, count) == -1)
		run_add_ending(run, ENDING_NO_LOCK,
		    (struct event){.why = strerror(errno)});
	else if (has_job(run))
		command_find(run);
	if (run->facts->ending == ENDING_NONE)
		turn(run);
	status = run->facts->status;
	events_emit(events, &(struct event){.type = EVENT_ENDED,
				.ending = run->facts->ending,
				.status = status});
	loop_remove(loop, &run->relay.fd);
	loop_remove(loop, &run->output.fd);
	loop_timer_remove(loop, &run->timer);
	set_fini(&run->set);
	if (has_job(run))
		guard_fini(&run->guard);
	free(run->child.path);
	free(run);
	return status;
}
