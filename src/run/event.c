#include "run/event.h"

void
events_open(struct events *events, const struct event_sink *sink,
    const struct opts *opts, struct loop *loop)
{
	void *state = sink->open(opts, loop);

	if (state == NULL)
		return;
	events->sinks[events->count] = sink;
	events->states[events->count++] = state;
}

void
events_close(struct events *events)
{
	for (size_t i = 0; i < events->count; i++)
		events->sinks[i]->close(events->states[i]);
	events->count = 0;
}

void
events_emit(const struct events *events, const struct event *event)
{
	for (size_t i = 0; i < events->count; i++)
		events->sinks[i]->on_event(events->states[i], event);
}
