#include "run/ending.h"

#include "job/descendants.h"

void
ending_add(const struct events *events, enum ending_reason reason,
    struct event event)
{
	const struct facts *facts = events->facts;
	const struct event_row *row = &event_rows[reason];

	if (row->outcome == EVENT_OUTCOME_SKIPPED ||
	    row->outcome == EVENT_OUTCOME_BUSY)
		event.status = facts->opts->conflict_exit;
	else if (row->status != ENDING_OWN_STATUS)
		event.status = row->status;
	if (facts->started_at == 0 && event.then == EVENT_THEN_NOTHING &&
	    facts->opts->action == OPTS_RUN)
		event.then = EVENT_THEN_NOT_STARTED;
	event.type = EVENT_ENDING;
	event.ending = reason;
	events_emit(events, &event);
}

int
ending_finish(const struct events *events)
{
	const struct facts *facts = events->facts;

	events_emit(events, &(struct event){.type = EVENT_ENDED,
				.ending = facts->ending,
				.status = facts->status});
	return facts->status;
}

void
ending_add_text(const struct events *events, enum ending_reason reason,
    const char *why)
{
	ending_add(events, reason, (struct event){.why = why});
}

void
ending_add_unguarded(const struct events *events, int error)
{
	const char *why =
	    error == 0 ? "the guard was killed" : descendants_strerror(error);

	/* The guard may find this out later than we call the job started. */
	ending_add(events, ENDING_UNGUARDED,
	    (struct event){.why = why, .then = EVENT_THEN_NOT_STARTED});
}
