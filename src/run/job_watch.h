/* Watches a job that runs under its locks, and stops it when it must end: the
 * lock is lost, its lease ends, --max-run is over, the guard has died.
 *
 *   RUNNING --ended------------------> OVER
 *      |                                ^
 *      +--must end--> STOPPING --ended--+
 *                         |
 *                         +--cannot be killed--> ABANDONED
 */
#ifndef JOB_WATCH_H
#define JOB_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "job/guard.h"
#include "run/locks.h"

enum job_watch_state {
	JOB_WATCH_RUNNING,
	JOB_WATCH_STOPPING, /* it got TERM */
	JOB_WATCH_OVER,
	JOB_WATCH_ABANDONED, /* it is left to the guard, the lock to its ttl */
};

struct job_watch {
	/* The caller sets these, and they must outlive the watch. */
	struct locks *locks;
	struct guard *guard;
	const struct child *child;
	bool locked; /* otherwise the job runs without the locks */

	enum job_watch_state state;
	int64_t overrun_at; /* --max-run: when TERM is sent, */
	int64_t killed_at;  /* and KILL */
	int64_t warn_at;    /* --warn-after */
	int64_t last_chance_at;
	int64_t stopping_since;
	int64_t resumed_at; /* STOPPING: we were stopped until then, or 0 */
	bool replaced;	    /* it was stopped for a --replace */
	int64_t stop_by;    /* KILL, apart from the lease's own end */
	int64_t over_at;    /* OVER: when what needed the lock ended, or 0 */
};

/* To be called just before the job starts: its own limits count from now.
 * Returns the guard's deadline. */
int64_t job_watch_start(struct job_watch *watch);

/* To be called after each turn of the loop, while RUNNING or STOPPING. Returns
 * when to look again. */
int64_t job_watch_step(struct job_watch *watch);

#endif
