/* The stream of events, and its readers. */
#ifndef EVENTS_H
#define EVENTS_H

#include "base/loop.h"
#include "run/facts.h"

struct writer;

struct event_sink {
	/* What it returns is its state; NULL: the options do not want it. The
	 * facts have taken an event before on_event gets it. The writer writes
	 * to files for it. Dies when memory is out. */
	void *(*open)(const struct facts *facts, struct loop *loop,
	    struct writer *writer);
	void (*on_event)(void *state, const struct event *event);
	void (*close)(void *state);
};

enum { EVENT_SINKS_MAX = 8 };

struct events {
	const struct event_sink *sinks[EVENT_SINKS_MAX];
	void *states[EVENT_SINKS_MAX];
	size_t count;
	struct facts *facts; /* NULL: the sinks need none */
};

/* Opens these sinks, which end with NULL, in this order; so are they closed.
 * They set timers in the loop while they are open. */
void events_open(struct events *events, const struct event_sink *const *sinks,
    const struct opts *opts, struct loop *loop, struct writer *writer);
void events_close(struct events *events);

void events_emit(const struct events *events, const struct event *event);

#endif
