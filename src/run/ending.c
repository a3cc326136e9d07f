#include "run/ending.h"

#include "job/descendants.h"

bool
ending_is_lost(const struct ending *ending)
{
	return event_rows[ending->reason].outcome == OUTCOME_LOST;
}

void
ending_add(struct ending *ending, enum ending_reason reason, struct event event)
{
	const struct event_row *row = &event_rows[reason];

	if (row->outcome == OUTCOME_NOT_DUE)
		event.status = ending->opts->once_exit;
	else if (row->outcome == OUTCOME_BUSY)
		event.status = ending->opts->conflict_exit;
	else if (row->status != ENDING_OWN_STATUS)
		event.status = row->status;
	if (!ending->job_started && event.then == EVENT_THEN_NOTHING &&
	    ending->opts->action == OPTS_RUN)
		event.then = EVENT_THEN_NOT_STARTED;
	event.type = EVENT_ENDING;
	event.ending = reason;
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
					.ending = ending->reason,
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
