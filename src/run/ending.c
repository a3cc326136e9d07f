#include "run/ending.h"

#include "base/exitcode.h"
#include "job/descendants.h"

/* clang-format off */
const struct ending_row ending_rows[ENDING_COUNT] = {
	[ENDING_NONE] = {"none", NULL, EXITCODE_OK, false},
	[ENDING_JOB] = {"job_ended", NULL, ENDING_OWN_STATUS, false},
	[ENDING_SIGNAL] = {"signal", NULL, ENDING_OWN_STATUS, false},
	[ENDING_NOT_DUE] = {"not_due", "{name} {why}", EXITCODE_BUSY, false},
	[ENDING_BUSY] = {"busy", "{name} {holder}", EXITCODE_BUSY, false},
	[ENDING_QUEUE_FULL] = {"queue_full", "{name} {holder}[; {count} <is|are> waiting "
	    "already]",
	    EXITCODE_BUSY, false},
	[ENDING_WAIT_OVER] = {"wait_over", "{name} {holder}; gave up after {age}",
	    EXITCODE_BUSY, false},
	[ENDING_UNAVAILABLE] = {"unavailable", "[{name}: ]{why}", EXITCODE_UNAVAILABLE, false},
	[ENDING_SERVER_ERROR] = {"server_error", "[{name}: ]{why}",
	    EXITCODE_UNAVAILABLE, false},
	[ENDING_REFUSED] = {"refused", "[{name}: ]{why}", EXITCODE_REFUSED, false},
	[ENDING_NOT_A_LOCK] = {"not_a_lock", "{name} is not a lock: {why}",
	    EXITCODE_NOT_A_LOCK, false},
	[ENDING_OTHER_KIND] = {"other_kind", "{name} is held {why} by the outer run, which "
	    "would wait for itself", EXITCODE_USAGE, false},
	[ENDING_MISCONFIGURED] = {"misconfigured", "{name}: {why}", EXITCODE_USAGE, false},
	[ENDING_NO_COMMAND] = {"no_command", "cannot run {command}: {why}",
	    ENDING_OWN_STATUS, false},
	[ENDING_NOT_RUN] = {"not_run", "{name}: cannot run {command}: {why}",
	    ENDING_OWN_STATUS, false},
	[ENDING_NO_LOCK] = {"no_lock", "{name}: cannot prepare the lock: {why}",
	    EXITCODE_RESOURCE, false},
	[ENDING_NO_TOKEN] = {"no_token", "{name}: cannot write the token to stdout: {why}; "
	    "releasing the lock", EXITCODE_RESOURCE, false},
	[ENDING_NO_JOB] = {"no_job", "{name}: cannot prepare the job: {why}",
	    EXITCODE_RESOURCE, false},
	[ENDING_UNGUARDED] = {"unguarded", "{name}: the job cannot be guarded: {why}",
	    EXITCODE_RESOURCE, false},
	[ENDING_LOOP_FAILED] = {"loop_failed", "cannot wait for events: {why}",
	    EXITCODE_INTERNAL, false},
	[ENDING_GUARD_DIED] = {"guard_died", "{name}: the guard was killed, and the job with "
	    "it", EXITCODE_RESOURCE, false},
	[ENDING_OVERRUN] = {"overrun", "{name}: the job has run for {age}",
	    EXITCODE_OVERRUN, false},
	[ENDING_UNKILLABLE] = {"unkillable", "{name}: {why}; the lock stays until its ttl "
	    "ends", EXITCODE_RESOURCE, false},
	[ENDING_LOST] = {"lost", "{name} was lost: {why}", EXITCODE_LOST, true},
	[ENDING_NOT_RENEWED] = {"not_renewed", "{name} is being lost: its lease ends without "
	    "a renewal", EXITCODE_LOST, true},
	[ENDING_LEASE_OVER] = {"lease_over", "{name} was lost: its lease ended",
	    EXITCODE_LOST, true},
	[ENDING_JOB_LATE] = {"job_late", "{name} was lost: its lease ended before the job",
	    EXITCODE_LOST, true},
	[ENDING_TAKEN] = {"taken", "{name} was lost: another client removed it while "
	    "the job ran", EXITCODE_LOST, true},
	[ENDING_HOLD_OVER] = {"hold_over", "{name}: the hold with that token has ended"
	    "[; the lock is held by {who}]", EXITCODE_LOST, true},
};
/* clang-format on */

bool
ending_is_lost(const struct ending *ending)
{
	return ending_rows[ending->reason].lost;
}

void
ending_add(struct ending *ending, enum ending_reason reason, struct event event)
{
	int status = ending_rows[reason].status;

	if (reason == ENDING_NOT_DUE)
		status = ending->opts->once_exit;
	else if (status == EXITCODE_BUSY)
		status = ending->opts->conflict_exit;
	if (status != ENDING_OWN_STATUS)
		event.status = status;
	if (!ending->job_started && event.then == EVENT_THEN_NOTHING &&
	    ending->opts->action == OPTS_RUN)
		event.then = EVENT_THEN_NOT_STARTED;
	event.type = EVENT_ENDING;
	event.ending = &ending_rows[reason];
	events_emit(ending->events, &event);
	if (ending_is_lost(ending) || reason < ending->reason)
		return;
	ending->reason = reason;
	ending->status = event.status;
}

int
ending_finish(const struct ending *ending)
{
	events_emit(ending->events, &(struct event){.type = EVENT_ENDED,
					.ending = &ending_rows[ending->reason],
					.status = ending->status});
	return ending->status;
}

void
ending_add_text(struct ending *ending, enum ending_reason reason,
    const char *why)
{
	ending_add(ending, reason, (struct event){.why = why});
}

void
ending_add_lock(struct ending *ending, enum ending_reason reason,
    const struct lock *lock, enum event_then then)
{
	struct event event = {.name = lock->config->name,
	    .why = lock->error,
	    .then = then};

	ending_add(ending, reason, event);
}

bool
ending_add_signal(struct ending *ending, int signo)
{
	if (signo != 0)
		ending_add(ending, ENDING_SIGNAL,
		    (struct event){.status = -signo});
	return signo != 0;
}

void
ending_add_unguarded(struct ending *ending, int error)
{
	const char *why =
	    error == 0 ? "the guard was killed" : descendants_strerror(error);

	/* The guard may find this out later than we call the job started. */
	ending_add(ending, ENDING_UNGUARDED,
	    (struct event){.why = why, .then = EVENT_THEN_NOT_STARTED});
}
