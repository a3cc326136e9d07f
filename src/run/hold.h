/* --hold: a lock without a job. It lasts for its time, and nobody renews it. */
#ifndef HOLD_H
#define HOLD_H

#include "base/loop.h"
#include "job/signals.h"
#include "options/opts.h"
#include "run/events.h"

/* Acquires the lock and prints its token, or releases it again. Returns the
 * exit code, or a signal's number as -N if this process has to end by it. */
int hold(const struct opts *opts, struct loop *loop,
    const struct events *events, struct signals *signals);

#endif
