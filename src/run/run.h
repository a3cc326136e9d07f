/* A run: locks, and the job under them; or a hold, a lock without a job, which
 * lasts for its time and is not renewed. */
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

/* Acquires the lock and prints its token, or releases it again. Returns as
 * run. */
int hold(const struct opts *opts, struct loop *loop,
    const struct events *events, struct signals *signals);

#endif
