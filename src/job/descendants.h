/* This process's descendants: found through /proc, signalled, and killed until
 * none is left. What a scan of /proc does not show may still be alive: forks
 * outrun the scan, hidepid hides processes, and an open may fail. The only
 * proof that nothing is left is ECHILD from waitpid(2) in a subreaper.
 *
 * Below a tracer that rewrites paths, such as proot, /proc may show the
 * children of another process as ours. So each signal goes to a child by the
 * word of waitid(2), or to a process whose ancestor is such a child. */
#ifndef DESCENDANTS_H
#define DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct processes {
	struct process *list;
	size_t count;
	size_t room;
};

struct descendants {
	/* Both are opened before the job exists. What the job mounts over /proc
	 * and a full descriptor table cannot take them away. */
	int proc;     /* the root of procfs */
	int children; /* list of this process's children; -1 if the kernel has
		       * no CONFIG_PROC_CHILDREN */
	/* Descendants from before descendants_open: a script may have started
	 * them and then become this process by exec. They are never signalled.
	 */
	struct processes earlier;
	int64_t killing_since; /* 0 before descendants_kill */
};

/* To be called before this process forks. 0, or -1 with errno if descendants
 * cannot be found on this machine: ENODEV if /proc is no procfs, EXDEV if it
 * belongs to another pid namespace, ENOTSUP if waitid(2) does not tell children
 * from others. */
int descendants_open(struct descendants *self);
/* From here on orphans among the descendants become children of this process.
 * 0, or -1 with errno: ECHILD if the kernel does not do that, as qemu-user. */
int descendants_adopt_orphans(void);
/* What that error means. */
const char *descendants_strerror(int error);
void descendants_close(struct descendants *self);

/* Sends SIGTERM to all descendants that are found by *until, which may change
 * meanwhile, and continues those that are stopped, so that they can act on it,
 * and no others. */
void descendants_terminate(const struct descendants *self,
    const _Atomic int64_t *until);

/* Continues stopped descendants that are found by *until, unless is_outdated,
 * called then, returns true: a scan takes long enough for them to be stopped
 * again. */
void descendants_continue(const struct descendants *self,
    const _Atomic int64_t *until, bool (*is_outdated)(void *arg), void *arg);

/* Stops the descendants in a process group, found by *until, that the
 * terminal's stop signal signo would stop by default. The kernel ignores that
 * signal in a group whose parents belong to another session. */
void descendants_stop_group(const struct descendants *self,
    const _Atomic int64_t *until, pid_t group, int signo);

/* Collects children that have ended, stopped or continued, without waiting, and
 * passes each with its status of waitpid(2) to on_child, which may be NULL.
 * False when no child is left (ECHILD). */
bool descendants_reap(void (*on_child)(void *arg, pid_t pid, int status),
    void *arg);

/* Kills the children in rounds that do not wait, and reaps after each round.
 * True as soon as nothing is left. Until then repeat this on SIGCHLD, and after
 * a while: orphans of the children become children, one generation after the
 * other. If a process does not die soon, a scan finds its descendants. The scan
 * comes last because it is slow on a machine with many processes; children that
 * come meanwhile are killed, too, if the kernel lists them. */
bool descendants_kill(struct descendants *self,
    void (*on_child)(void *arg, pid_t pid, int status), void *arg);

/* The letter of proc_pid_stat(5): T if a signal has stopped the process, t if a
 * debugger has. NUL if it is not known. */
char descendants_state(const struct descendants *self, pid_t pid);

#endif
