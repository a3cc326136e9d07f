#include "run/events.h"

#include <stdlib.h>

#include "base/mem.h"

void
events_open(struct events *events, const struct event_sink *const *sinks,
    const struct opts *opts, struct loop *loop, struct writer *writer)
{
	events->facts = mem_alloc(sizeof(*events->facts));
	facts_init(events->facts, opts);
	for (; *sinks != NULL; sinks++) {
		void *state = (*sinks)->open(events->facts, loop, writer);

		if (state == NULL)
			continue;
		events->sinks[events->count] = *sinks;
		events->states[events->count++] = state;
	}
}

void
events_close(struct events *events)
{
	for (size_t i = 0; i < events->count; i++)
		events->sinks[i]->close(events->states[i]);
	events->count = 0;
	facts_fini(events->facts);
	free(events->facts);
	events->facts = NULL;
}

void
events_emit(const struct events *events, const struct event *event)
{
	if (events->facts != NULL)
		facts_take(events->facts, event);
	for (size_t i = 0; i < events->count; i++)
		events->sinks[i]->on_event(events->states[i], event);
}
