/* The guard's own process: parent, signaller and reaper of the job. It acts on
 * orders and on the deadline in the shared page, and keeps the facts about the
 * job. It sends all of them whenever one changes, so that each report replaces
 * those before it and none has to be queued. */
#ifndef SUPERVISOR_H
#define SUPERVISOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "job/child.h"

enum job_state {
	JOB_PENDING,   /* not started yet */
	JOB_RUNNING,   /* started, which alone is not reported */
	JOB_KILLING,   /* the deadline came, and KILL was sent */
	JOB_UNGUARDED, /* the guard was killed: part of the job may live */
	/* From here on nothing of the job lives. */
	JOB_FAILED,  /* it cannot be guarded and was not started: error */
	JOB_LATE,    /* the deadline came before it could start */
	JOB_GONE,    /* the command and all its descendants have ended */
	JOB_KILLED,  /* likewise, after KILL was sent at the deadline */
	JOB_CLEARED, /* likewise, after the guard was killed */
};

struct job {
	enum job_state state;
	int error;	  /* JOB_FAILED: errno, 0 if it is not known */
	pid_t leader;	  /* the command, 0 when reaped */
	int stops;	  /* how often the command was stopped */
	bool suspended;	  /* we have stopped its group as the terminal would */
	bool ended;	  /* the command has ended: status, ended_at */
	int exec_error;	  /* errno: the command was never executed */
	int status;	  /* of waitpid(2) */
	int64_t ended_at; /* of clock_now */
	int64_t gone_at;  /* since when nothing of the job lives */
};

enum order_kind {
	/* Start the job; so many bytes follow: entries of child_add_env. */
	ORDER_START,
	ORDER_CHECK_DEADLINE, /* it has come nearer */
	ORDER_SIGNAL,	      /* send that signal to the command */
	/* The terminal has sent that signal to rlockrun's group. If the command
	 * leads another one, send it to that. */
	ORDER_SIGNAL_GROUP,
	/* Continue stopped processes of the job, unless the command was stopped
	 * again: it is the number of stops that rlockrun knows of. */
	ORDER_CONTINUE,
	ORDER_TERMINATE, /* send TERM to the command and all descendants */
};

struct order {
	enum order_kind kind;
	int value;
};

/* Shared with rlockrun, which alone writes it. */
struct supervisor_page {
	_Atomic int64_t deadline; /* of clock_now: all must be dead by then */
};

/* Otherwise a lock of each process would guard it, and half of it be read. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "it is read in one piece");

/* In the forked process: waits for the order to start the job, and supervises
 * it. An end of file on sock is the end of rlockrun. The guard does not exit
 * before rlockrun has its last report or has ended. */
_Noreturn void supervisor_main(struct supervisor_page *page, int sock,
    struct child *child);

#endif
