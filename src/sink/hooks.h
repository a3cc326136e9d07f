/* Hooks: commands that report what has happened, run beside the job. They run
 * one after the other in the order of the events, below a process of their own,
 * the hook runner:
 *
 *   init (or an outer subreaper) --- runner (subreaper) --- hook
 *
 * It is no child of rlockrun: ECHILD is rlockrun's proof that nothing of a job
 * is left. Only where rlockrun itself is PID 1 or a subreaper before its time
 * does the runner become its child, one from before the job; see
 * guard_has_earlier_children.
 *
 * When rlockrun ends, however it ends, the runner ends all hooks and itself
 * within HOOK_RUNNER_END_MS. */
#ifndef HOOKS_H
#define HOOKS_H

#include <stddef.h>
#include <sys/types.h>

#include "sink/hook_runner.h"

struct hooks {
	int sock;
	pid_t runner; /* 0: not known */
};

/* Forks the runner. To be called before this process forks anything else. 0, or
 * -1 with errno. */
int hooks_start(struct hooks *hooks);

/* Has a command, which need not end with a NUL, run by /bin/sh with these
 * entries of its environment, each of which does. The value of the first one is
 * the event, for messages; an entry without a value removes that variable.
 * Never blocks. 0, or -1 with errno: EPIPE or ECONNRESET when the runner is
 * gone, EAGAIN when too much waits. */
int hooks_run(const struct hooks *hooks, const char *command,
    size_t command_length, const char *entries, size_t length);

/* Waits until the hooks have ended, or have been killed by the runner because
 * they take too long. A runner that does not end, as a hook has stopped it, is
 * reported, and woken to kill them at once. A signal that asks to end, which
 * must be blocked, ends this wait; the hooks keep the rest of their time.
 * Closes the socket. */
void hooks_finish(struct hooks *hooks);

/* Closes the socket: the hooks have the rest of their time. */
void hooks_leave(struct hooks *hooks);

#endif
