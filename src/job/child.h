/* The command of the job: found before the lock is acquired, executed in a
 * child of the guard after that. */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include "job/signals.h"

/* How many variables rlockrun sets for the job; how many name a process. */
enum { CHILD_VARIABLES = 5, CHILD_PIDS = 2 };

struct child {
	/* Set by the caller. */
	char **argv;
	const struct signals *signals; /* what the job inherits of them */
	bool own_group; /* otherwise the job stays in ours, where a terminal's
			 * job control expects it */

	char *path; /* of child_find, to be freed */
	char **env; /* of child_prepare_env */
	char **env_end;
	/* Variables of env whose value is the job's pid; empty: there is none.
	 */
	char pids[CHILD_PIDS][32];
};

/* Finds argv[0] as execvp(3) would. 0, or the exit code (EXITCODE_NOT_FOUND,
 * EXITCODE_CANNOT_RUN) with errno. */
int child_find(struct child *child);

/* In the guard: the job gets the environment of this process without the
 * variables of rlockrun. Where LISTEN_PID and WATCHDOG_PID name rlockrun, they
 * will name the job: see sd_listen_fds(3) and sd_watchdog_enabled(3). 0, or -1
 * with errno. */
int child_prepare_env(struct child *child);
/* And the variables of rlockrun, CHILD_VARIABLES at most. Each ends with a NUL
 * and must stay where it is. */
void child_add_env(struct child *child, char *entries, size_t length);

/* In the forked process: becomes the command. Returns errno on failure.
 * Async-signal-safe, and fit for vfork(2). */
int child_exec(struct child *child);

/* The exit code for an error of child_exec: EXITCODE_NOT_FOUND or
 * EXITCODE_CANNOT_RUN. */
int child_exec_exit_code(const struct child *child, int error);

#endif
