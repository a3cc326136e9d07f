/* The command of the job: found before the lock is taken, prepared before the
 * fork, executed after it. */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include "job/signals.h"

/* Entries that are known only when the lock is held. */
#define CHILD_LATE_MAX 4

struct child_config {
	char **argv;
	const char *key;
	long long ttl_ms;
	const struct signals *signals;
	bool own_group; /* else it stays in ours, as a terminal wants it */
};

struct child {
	const struct child_config *config;
	char *path;
	char **env;
	size_t env_count; /* without the late ones and the NULL */
};

/* Finds argv[0] as execvp(3) would and builds the job's environment. 0, or the
 * exit code (EXITCODE_NOT_FOUND, EXITCODE_CANNOT_RUN) with errno. */
int child_init(struct child *child, const struct child_config *config);
void child_fini(struct child *child);

/* Gives the job what came with the lock: entries, each with its NUL, which must
 * stay where they are. More than CHILD_LATE_MAX are ignored. */
void child_add_env(struct child *child, char *entries, size_t length);

/* In the forked process: becomes the command. Returns errno when it can't.
 * Async-signal-safe, and fit for vfork(2). */
int child_exec(const struct child *child);

/* Tells why exec failed: EXITCODE_NOT_FOUND or EXITCODE_CANNOT_RUN. */
int child_exec_exit_code(const struct child *child, int error);

#endif
