/* The command of the job: found before the lock is taken, prepared before the
 * fork, executed after it, its end as an exit code. */
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

/* In the forked process: waits for the word of go_fd, written by
 * child_let_go. False when there will be none. Async-signal-safe. */
bool child_await(struct child *child, int go_fd);

/* Lets the waiting process execute the command, with that fencing number, or
 * without token and fence when it is NULL. 0, or -1 with errno. */
int child_let_go(int go_fd, const char *fence);

/* In the forked process: becomes the command. Returns errno when it can't.
 * Async-signal-safe. */
int child_exec(const struct child *child);

/* Tells why exec failed: EXITCODE_NOT_FOUND or EXITCODE_CANNOT_RUN. */
int child_exec_exit_code(const struct child *child, int error);

#endif
