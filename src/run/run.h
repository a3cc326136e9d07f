/* One run: the lock, and the job under it. */
#ifndef RUN_H
#define RUN_H

#include "base/loop.h"
#include "job/signals.h"
#include "options/opts.h"
#include "run/events.h"

/* Acquires the lock, runs the job, releases the lock. Returns the exit code, or
 * a signal's number as -N if this process has to end by it. */
int run(const struct opts *opts, struct loop *loop, const struct events *events,
    struct signals *signals);

#endif
