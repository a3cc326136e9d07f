/* The guard: a second, tiny process that is the job's parent, its only
 * signaller and its reaper, so that no recycled id is ever signalled. It ends
 * the job and all its descendants when the deadline in the shared page comes or
 * when rlockrun is gone.
 *
 *   rlockrun (subreaper) --- guard (subreaper, session of its own) --- job
 *
 * rlockrun's death is an end of file to the guard, which then kills the job.
 * The guard's death kills the command (PR_SET_PDEATHSIG); what the command left
 * behind becomes children of rlockrun, which kills them.
 *
 *   PENDING ---> RUNNING --deadline--> KILLING ---> KILLED
 *      |            |                     |
 *      |            +---> GONE            |
 *      +--> FAILED, LATE, GONE            |
 *   PENDING, RUNNING, KILLING --guard died--> UNGUARDED
 *                                UNGUARDED --guard_kill_job--> CLEARED
 *
 * The guard reports no start: here a job may look PENDING that runs. */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "job/child.h"
#include "job/descendants.h"
#include "job/supervisor.h"

struct guard {
	struct job job; /* to be read only */
	pid_t pid;	/* 0 when reaped */
	bool stopped;	/* the command was, since the last guard_take_stop */
	struct descendants descendants; /* of rlockrun */
	struct supervisor_page *page;
	struct loop *loop;
	struct loop_fd sock;
};

/* Must be called before this process forks. Before guard_fork do not start a
 * job, set a deadline or kill: the other calls only read facts and reap by
 * then. 0, or -1 with errno of descendants_open. */
int guard_init(struct guard *guard, struct loop *loop);
/* Allowed whether guard_init succeeded or not. Does not end the guard: one that
 * was not dismissed takes this for rlockrun's end, and kills the job. */
void guard_fini(struct guard *guard);

/* Forks the guard, which waits for the order to start the job. In it our
 * close-on-exec descriptors are closed. 0, or -1 with errno. */
int guard_fork(struct guard *guard, struct child *child);

/* Arms the guard and has it start the job with those entries of child_add_env,
 * at least one. If the order cannot be sent, the job has failed. */
void guard_start_job(struct guard *guard, const char *entries, size_t length,
    int64_t deadline);

/* Moves the time by which all must be dead; CLOCK_NEVER: no limit. */
void guard_set_deadline(struct guard *guard, int64_t deadline);

/* Sends any order but ORDER_START, without waiting. It is dropped if the guard
 * has left hundreds unread: it is stopped then, or stuck in the kernel. What it
 * reads later makes it look at the deadline, too. */
void guard_order(struct guard *guard, enum order_kind kind, int value);

/* Whether the command was stopped since the last call, and still is. */
bool guard_take_stop(struct guard *guard);

/* Reaps children, and continues a guard that was stopped. To be called at each
 * SIGCHLD. */
void guard_on_sigchld(struct guard *guard);

/* Whether nothing of the job lives: it was never started, or its end is
 * proven. */
bool guard_job_is_gone(const struct guard *guard);

/* To be called after the deadline. Whether the guard fails to act: it has not
 * begun to kill, or a signal or a debugger has stopped it. */
bool guard_is_unresponsive(const struct guard *guard);
/* Kills a guard that is unresponsive: -> JOB_UNGUARDED. */
void guard_kill(struct guard *guard);
/* JOB_UNGUARDED -> JOB_CLEARED, as soon as it is proven that nothing of the job
 * is left: kills all children of this process, resolvers too, except those from
 * before guard_init. Orphans that these leave later look like those of the job
 * and are killed. To be called at each SIGCHLD and from time to time
 * until then. */
void guard_kill_job(struct guard *guard);
/* Whether children from before guard_init prevent that proof: waitpid(2) cannot
 * return ECHILD as long as they live. */
bool guard_has_earlier_children(const struct guard *guard);

/* Ends the guard, and with it the protection: descendants that the command left
 * behind live on. Waits for the guard's end, but not long: a debugger can delay
 * it. */
void guard_dismiss(struct guard *guard);

#endif
