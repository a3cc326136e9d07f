/* The guard: a second, tiny process that is the job's parent, its only
 * signaller and its reaper, so that no recycled id is ever signalled. It ends
 * the job and all that descends from it when the deadline in the shared page
 * comes or when rlockrun is gone.
 *
 *   rlockrun (subreaper) --- guard (subreaper, session of its own) --- job
 *
 * rlockrun's death is an end of file to the guard; what the job left behind is
 * the guard's. The guard's death kills the command (PR_SET_PDEATHSIG); what it
 * left behind becomes children of rlockrun, which kills them.
 *
 *   WATCHING --deadline--> KILLING --> ENFORCED
 *      |  |                   |
 *      |  +-------------------+--killed--> DIED --guard_end_job--> CLEARED
 *      +--> FAILED, LATE, GONE
 */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "job/child.h"
#include "job/descendants.h"

struct supervisor_page;

enum guard_state {
	GUARD_WATCHING, /* also before the job starts */
	GUARD_FAILED,	/* it could not guard: error; no job was started */
	GUARD_LATE,	/* the deadline came before the job could start */
	GUARD_GONE,	/* the command and all that it started have ended */
	GUARD_KILLING,	/* the deadline came: the guard kills the job */
	GUARD_ENFORCED, /* likewise, and nothing is left */
	GUARD_DIED,	/* the guard was killed: part of the job may live */
	GUARD_CLEARED,	/* after that: proven that nothing is left */
};

struct guard {
	/* Facts, to be read only. */
	enum guard_state state;
	int error;     /* GUARD_FAILED: errno */
	pid_t stopped; /* the command was; whoever acts on it clears this */
	int stops;     /* how often it was */
	bool ended;    /* the command has ended: status, ended_at */
	int status;    /* of waitpid(2) */
	int64_t ended_at;
	int exec_error;	 /* errno: the command was never executed */
	int64_t gone_at; /* since when no job lives */

	pid_t pid;			/* 0 when reaped */
	struct descendants descendants; /* of rlockrun */
	struct supervisor_page *page;
	struct loop *loop;
	struct loop_fd sock;
	int64_t deadline;
};

/* Whether no job lives: it never did, or its end is proven. */
bool guard_job_is_gone(const struct guard *guard);

/* To be called before this process forks. Nobody is guarded yet: until
 * guard_start all other calls do nothing. 0, or -1 with errno of
 * descendants_open. */
int guard_init(struct guard *guard, struct loop *loop);
/* Allowed whether guard_init succeeded or not. Does not end the guard. */
void guard_fini(struct guard *guard);

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

/* Reaps children, and continues a guard that was stopped. To be called at each
 * SIGCHLD. */
void guard_on_sigchld(struct guard *guard);

/* Whether the guard does not act, when it should have by now: it has not begun
 * to kill, or a debugger holds it. */
bool guard_is_idle(const struct guard *guard);
/* Kills the guard, for one that does not act: -> DIED. */
void guard_kill(struct guard *guard);
/* DIED -> CLEARED, as soon as it is proven that nothing of the job is left:
 * kills all children of this process, resolvers too, except those from before
 * guard_init. Orphans that these leave later cannot be told from the job's and
 * are killed. To be called at each SIGCHLD and from time to time until then. */
void guard_end_job(struct guard *guard);
/* Whether children from before guard_init prevent that proof: as long as they
 * live waitpid(2) cannot say ECHILD. */
bool guard_has_earlier_children(const struct guard *guard);

/* From here on nobody is guarded: what the job left behind lives on. Waits for
 * the guard's end, but not long: a debugger can delay it. */
void guard_end(struct guard *guard);

#endif
