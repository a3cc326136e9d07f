/* The hook runner's own process, which runs the commands: see hooks.h. */
#ifndef HOOK_RUNNER_H
#define HOOK_RUNNER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	/* From the end of rlockrun to that of its hooks. */
	HOOK_RUNNER_END_MS = 5000,
	/* How long processes that were killed may take to die. */
	HOOK_RUNNER_KILL_MS = 1000,
	/* The signal that its time is over, once rlockrun has ended. */
	HOOK_RUNNER_HURRY = SIGUSR1,
	HOOK_RUNNER_ORDER_MAX = 128 * 1024, /* bytes */
};

/* Not ended by a NUL. */
struct hook_command {
	const char *text;
	size_t length;
};

/* Becomes the runner. Its orders come from sock, which is close-on-exec: the
 * number of a command in one byte, and its environment. An end of file means
 * that rlockrun has come to its end. */
_Noreturn void hook_runner_main(int sock, const struct hook_command *commands,
    size_t count);

#endif
