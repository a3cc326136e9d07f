/* What is known about a job, and what the guard's process is asked to do with
 * it. That process keeps the facts and sends all of them whenever one changes,
 * so that each report replaces those before it and none has to be queued. */
#ifndef JOB_H
#define JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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

/* Orders to the guard, with a value. */
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

#endif
