/* Why a run ends: one row says for each reason the message, the exit status and
 * whether the lock was lost. */
#ifndef ENDING_H
#define ENDING_H

#include <stdbool.h>

#include "lock/lock.h"
#include "options/opts.h"
#include "run/event.h"

#define ENDING_OWN_STATUS (-1) /* the event has it */

/* By rank: of two reasons the later one in this list counts. But once a lock is
 * lost, that reason stays. */
enum ending_reason {
	ENDING_NONE,
	ENDING_JOB,	/* the job ended by itself: its status */
	ENDING_SIGNAL,	/* a signal ended rlockrun before there was a job */
	ENDING_NOT_DUE, /* --once-per: status of --once-exit-code */
	ENDING_BUSY,	/* here EXITCODE_BUSY means --conflict-exit-code */
	ENDING_QUEUE_FULL,
	ENDING_WAIT_OVER,
	ENDING_UNAVAILABLE, /* no server answered in time */
	ENDING_SERVER_ERROR,
	ENDING_REFUSED, /* password, ACL */
	ENDING_NOT_A_LOCK,
	ENDING_OTHER_KIND,    /* the outer run holds it in that kind */
	ENDING_MISCONFIGURED, /* two servers are the same one; no history */
	ENDING_NO_COMMAND,    /* found before the lock was acquired */
	ENDING_NOT_RUN,	      /* exec failed */
	ENDING_NO_LOCK,
	ENDING_NO_TOKEN, /* that of a hold could not be printed */
	ENDING_NO_JOB,
	ENDING_UNGUARDED,
	ENDING_LOOP_FAILED,
	ENDING_GUARD_DIED,
	ENDING_OVERRUN, /* --max-run */
	ENDING_UNKILLABLE,
	ENDING_LOST,	    /* the key no longer holds our token */
	ENDING_NOT_RENEWED, /* the job is stopped before the lease ends */
	ENDING_LEASE_OVER,  /* the guard has killed the job */
	ENDING_JOB_LATE,    /* the lease ended before the job */
	ENDING_TAKEN,	    /* as the release has shown */
	ENDING_HOLD_OVER,   /* the one to be extended */
	ENDING_COUNT,
};

struct ending_row {
	const char *word; /* for programs; what it means may not change */
	/* Without what follows for the job. See event_text.c; NULL: none. */
	const char *message;
	int status;
	bool lost;
};

extern const struct ending_row ending_rows[ENDING_COUNT];

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
