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
	HOOK_RUNNER_ORDER_MAX = 256 * 1024, /* bytes */
};

/* Becomes the runner. Its orders come from sock, which is close-on-exec: a
 * command and the entries of its environment, each with a NUL behind it. An end
 * of file means that rlockrun has come to its end. */
_Noreturn void hook_runner_main(int sock);

#endif
