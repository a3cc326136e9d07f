#include "app/ending.h"

#include <errno.h>
#include <string.h>

#include "base/exitcode.h"

/* clang-format off */
const struct ending_row ending_rows[ENDING_COUNT] = {
	[ENDING_NONE] = {NULL, EXITCODE_OK, false},
	[ENDING_JOB] = {NULL, ENDING_OWN_STATUS, false},
	[ENDING_SIGNAL] = {NULL, ENDING_OWN_STATUS, false},
	[ENDING_NOT_DUE] = {"{name} {why}", EXITCODE_BUSY, false},
	[ENDING_BUSY] = {"{name} {holder}", EXITCODE_BUSY, false},
	[ENDING_QUEUE_FULL] = {"{name} {holder}[; {count} <is|are> waiting "
	    "already]",
	    EXITCODE_BUSY, false},
	[ENDING_WAIT_OVER] = {"{name} {holder}; gave up after {age}",
	    EXITCODE_BUSY, false},
	[ENDING_UNAVAILABLE] = {"[{name}: ]{why}", EXITCODE_UNAVAILABLE, false},
	[ENDING_SERVER_ERROR] = {"[{name}: ]{why}",
	    EXITCODE_UNAVAILABLE, false},
	[ENDING_REFUSED] = {"[{name}: ]{why}", EXITCODE_REFUSED, false},
	[ENDING_NOT_A_LOCK] = {"{name} is not a lock: {why}",
	    EXITCODE_NOT_A_LOCK, false},
	[ENDING_OTHER_KIND] = {"{name} is held {why} by the outer run, which "
	    "would wait for itself", EXITCODE_USAGE, false},
	[ENDING_MISCONFIGURED] = {"{name}: {why}", EXITCODE_USAGE, false},
	[ENDING_NO_COMMAND] = {"cannot run {command}: {why}",
	    ENDING_OWN_STATUS, false},
	[ENDING_NOT_RUN] = {"{name}: cannot run {command}: {why}",
	    ENDING_OWN_STATUS, false},
	[ENDING_NO_LOCK] = {"{name}: cannot prepare the lock: {why}",
	    EXITCODE_RESOURCE, false},
	[ENDING_NO_TOKEN] = {"{name}: cannot write the token to stdout: {why}; "
	    "releasing the lock", EXITCODE_RESOURCE, false},
	[ENDING_NO_JOB] = {"{name}: cannot prepare the job: {why}",
	    EXITCODE_RESOURCE, false},
	[ENDING_UNGUARDED] = {"{name}: the job cannot be guarded: {why}",
	    EXITCODE_RESOURCE, false},
	[ENDING_LOOP_FAILED] = {"cannot wait for events: {why}",
	    EXITCODE_INTERNAL, false},
	[ENDING_GUARD_DIED] = {"{name}: the guard was killed, and the job with "
	    "it", EXITCODE_RESOURCE, false},
	[ENDING_OVERRUN] = {"{name}: the job has run for {age}",
	    EXITCODE_OVERRUN, false},
	[ENDING_UNKILLABLE] = {"{name}: {why}; the lock stays until its ttl "
	    "ends", EXITCODE_RESOURCE, false},
	[ENDING_LOST] = {"{name} was lost: {why}", EXITCODE_LOST, true},
	[ENDING_NOT_RENEWED] = {"{name} is being lost: its lease ends without "
	    "a renewal", EXITCODE_LOST, true},
	[ENDING_LEASE_OVER] = {"{name} was lost: its lease ended",
	    EXITCODE_LOST, true},
	[ENDING_JOB_LATE] = {"{name} was lost: its lease ended before the job",
	    EXITCODE_LOST, true},
	[ENDING_TAKEN] = {"{name} was lost: another client removed it while "
	    "the job ran", EXITCODE_LOST, true},
	[ENDING_HOLD_OVER] = {"{name}: the hold with that token has ended"
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
	const char *why = error == 0	    ? "the guard was killed"
			  : error == ENODEV ? "/proc is not mounted"
			  : error == EXDEV
			      ? "/proc belongs to another pid namespace"
			      : strerror(error);

	/* The guard may find this out later than we call the job started. */
	ending_add(ending, ENDING_UNGUARDED,
	    (struct event){.why = why, .then = EVENT_THEN_NOT_STARTED});
}
