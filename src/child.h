/* The command of the job: found before the lock is taken, prepared before the
 * fork, executed after it. */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>

#include "sig.h"

/* Room for "RLOCKRUN_FENCE=" and a number. */
#define CHILD_FENCE_SIZE 48

struct child_config {
	char **argv;
	const char *key;
	const char *token;
	long long ttl_ms;
	const struct sig *sig;
	bool own_group; /* else it stays in ours, as a terminal wants it */
};

struct child {
	const struct child_config *config;
	char *path;
	char **env;
	char **env_token; /* the token's place in env, the fence's is next */
	char fence[CHILD_FENCE_SIZE];
};

/* Finds argv[0] as execvp(3) would and builds the job's environment. 0, or the
 * exit code (EXITCODE_NOT_FOUND, EXITCODE_CANNOT_RUN) with errno. */
int child_init(struct child *child, const struct child_config *config);
void child_fini(struct child *child);

/* Gives the job its fencing number, or takes both token and fence from it when
 * fence is empty. */
void child_set_fence(struct child *child, const char *fence);

/* In the forked process: becomes the command. Returns errno when it can't.
 * Async-signal-safe, and fit for vfork(2). */
int child_exec(const struct child *child);

/* Tells why exec failed: EXITCODE_NOT_FOUND or EXITCODE_CANNOT_RUN. */
int child_exec_exit_code(const struct child *child, int error);

#endif
