/* One process: what /proc shows of it, and signals that no other one gets.
 *
 * A process that is not our child may be reaped by its parent at any time, and
 * its id given to another one. A pidfd refers to one process only, so it is
 * opened first, then the process is identified, then signalled. If the kernel
 * lacks pidfds (before Linux 5.3), or a sandbox refuses them, the order is the
 * same, but a signal hits another process if that one gets the id between the
 * last two steps. A child keeps its id until we reap it, and needs none of
 * this.
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct process {
	pid_t pid;
	pid_t parent;
	pid_t group;
	char state;
	long threads;
	unsigned long long started; /* with pid, unique until the next boot;
				     * 0 if it could not be read */
	bool descends;		    /* for the caller */
};

/* Reads it from procfs, whose root proc is. False if it cannot be read,
 * whatever the reason. */
bool process_read(int proc, pid_t pid, struct process *process);

/* Whether this process descends from that one, and both have the same name: an
 * id alone may be that of a process in another namespace. False if procfs does
 * not show all those between. */
bool process_is_above(pid_t pid);

/* Whether it neither catches, ignores nor blocks the signal. False if that
 * cannot be read. The kernel does not count what sigwait(3) awaits as blocked.
 */
bool process_takes_default(int proc, pid_t pid, int signo);

/* Whether the kernel says so itself, not /proc: it keeps the id of a child
 * until that is reaped. */
bool process_is_child(pid_t pid);

/* In place of a pidfd. */
enum {
	PROCESS_GONE = -1,   /* or no descriptor is left */
	PROCESS_UNHELD = -2, /* a child, or there are no pidfds: identify the
			      * process before each signal */
};

/* Whether kernel and sandbox permit pidfds. */
bool process_has_pidfds(void);

/* Returns a pidfd, or one of these. */
int process_hold(pid_t pid);
void process_release(int held);

/* Signals what is held, but by its id if it is PROCESS_UNHELD or the sandbox
 * refuses to signal by a pidfd. Not for PROCESS_GONE. */
void process_signal(int held, pid_t pid, int signo);

#endif
