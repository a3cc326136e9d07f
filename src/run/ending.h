/* The reason why a run ends, out of those that come up. */
#ifndef ENDING_H
#define ENDING_H

#include <stdbool.h>

#include "lock/lock.h"
#include "options/opts.h"
#include "run/events.h"

struct ending {
	const struct opts *opts;
	const struct events *events;
	bool job_started; /* before that, no reason comes with a job */
	/* Facts, to be read only: of the reason that counts so far. */
	enum ending_reason reason;
	int status; /* a signal's number as -N */
};

/* A reason has come up: emits it, with these facts. Before the job has been
 * started, what follows is that the command is not started. */
void ending_add(struct ending *ending, enum ending_reason reason,
    struct event event);
/* The same with a text only, which may be NULL, */
void ending_add_text(struct ending *ending, enum ending_reason reason,
    const char *why);
/* with what went wrong with that lock, */
void ending_add_lock(struct ending *ending, enum ending_reason reason,
    const struct lock *lock, enum event_then then);
/* a signal, if it is not 0: returns whether it was added, */
bool ending_add_signal(struct ending *ending, int signo);
/* or that the job cannot be guarded: errno of guard_init or of job.h, or 0. */
void ending_add_unguarded(struct ending *ending, int error);

/* The run has ended: emits why, and returns its status. */
int ending_finish(const struct ending *ending);

bool ending_is_lost(const struct ending *ending);

#endif
