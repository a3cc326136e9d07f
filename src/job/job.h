/* What is known about a job. The guard's process keeps these facts and sends
 * all of them whenever one changes, so that each report replaces those before
 * it and none has to be queued. */
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

#endif
