/* The guard: a second, tiny process that is the job's parent, its only
 * signaller and its reaper, so that no recycled id is ever signalled. It ends
 * the job and all that descends from it when the deadline in the shared page
 * comes or when rlockrun is gone.
 *
 *   rlockrun (subreaper) --- guard (subreaper, session of its own) --- job
 *
 * rlockrun's death is an end of file to the guard; what the job left behind is
 * the guard's. The guard's death kills the command (PR_SET_PDEATHSIG); what it
 * left behind is rlockrun's. */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "child.h"
#include "loop.h"

struct watch_page;

struct guard {
	/* Facts, to be read only. */
	int failed;    /* errno: the guard could not stand up */
	pid_t stopped; /* the command was; whoever acts on it clears this */
	int stops;     /* how often it was */
	bool ended;    /* the command has ended: status, ended_at */
	int status;    /* of waitpid(2) */
	int64_t ended_at;
	int exec_error; /* errno: the command was never executed */
	bool late;	/* the deadline had come before it could be executed */
	bool gone;	/* all that the command started has ended too */
	int64_t gone_at;
	bool enforced; /* the deadline came: the guard ended them all */
	bool died;     /* the guard was killed under the job */
	bool bereft;   /* after that: nothing of the job is left */

	pid_t pid; /* 0 when reaped */
	struct watch_page *page;
	struct loop *loop;
	struct loop_fd sock;
	int64_t deadline;
	int64_t started_at;
};

/* Nobody is guarded yet: until guard_start all other calls do nothing. */
void guard_init(struct guard *guard, struct loop *loop);

/* Forks the guard, which waits for the word to start the job. 0, or -1 with
 * errno. Our descriptors of this moment are closed in it. */
int guard_start(struct guard *guard, struct child *child);

/* Arms the guard and has it start the job, with those entries in its
 * environment, each of which ends with a NUL. */
void guard_go(struct guard *guard, const char *entries, size_t length,
    int64_t deadline);

/* Moves the time by which all must be dead; CLOCK_NEVER: no limit. */
void guard_set_deadline(struct guard *guard, int64_t deadline);

/* Sends signo to the command, if it hasn't ended. */
void guard_signal(struct guard *guard, int signo);
/* Continues what of the job is still stopped, unless the command has been
 * stopped once more by then. */
void guard_continue(struct guard *guard);
/* Sends TERM to the command and all that descends from it. */
void guard_terminate(struct guard *guard);

/* Reaps children, continues a guard that was stopped, and where it died ends
 * what it left. To be called at each SIGCHLD, and after the guard's death from
 * time to time until nothing is left: a process that is forked while we look
 * for it is missed. */
void guard_on_sigchld(struct guard *guard);

/* From here on nobody is guarded: what the job left behind lives on. */
void guard_end(struct guard *guard);

#endif
