/* The reasons why a run ends, as they come up. */
#ifndef ENDING_H
#define ENDING_H

#include <stdbool.h>

#include "options/opts.h"
#include "run/events.h"

/* A reason has come up: emits it, with these facts; the facts of the run say
 * which reason counts. Before the job has been started, what follows is that
 * the command is not started. */
void ending_add(const struct events *events, enum ending_reason reason,
    struct event event);
/* The same with one fact, a text or NULL. */
void ending_add_text(const struct events *events, enum ending_reason reason,
    const char *why);
/* The job cannot be guarded: an errno, also one of descendants_open, or 0 if
 * the guard was killed. */
void ending_add_unguarded(const struct events *events, int error);

/* The run has ended: emits why, and returns its status. */
int ending_finish(const struct events *events);

#endif
