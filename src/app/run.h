/* One run: the only file that knows both the lock and the job. */
#ifndef RUN_H
#define RUN_H

#include "app/opts.h"
#include "job/signals.h"

/* Takes the lock, runs the job, frees the lock. Returns the exit code, or a
 * signal's number as -N where this process has to end by it. */
int run(const struct opts *opts, struct signals *sig);

#endif
