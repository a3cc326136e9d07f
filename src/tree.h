/* The living processes that descend from one, found through /proc. */
#ifndef TREE_H
#define TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Sends signo to all that descend from root, root itself left out, by
 * processes that started at since (of clock_now) or later. What was stopped is
 * continued after a TERM, so that it can act on it; what wasn't gets no CONT.
 * Whoever forks meanwhile may be missed: repeat until none is left. The number
 * of those found alive, or -1 with errno when /proc can't be read or memory is
 * out. */
int tree_signal(pid_t root, int64_t since, int signo);

/* Whether the process is stopped by a signal. */
bool tree_is_stopped(pid_t pid);

/* Sends KILL to this process's own children, which keep their ids until they
 * are reaped, and returns how many there are. Much quicker than tree_signal,
 * but finds nobody on a kernel without CONFIG_PROC_CHILDREN. */
int tree_kill_children(void);

/* Whether descendants can be found and held on to on this machine at all: 0, or
 * -1 with errno when there is no /proc, when it is that of another pid
 * namespace (EXDEV), or when the kernel has no pidfd_open(2). */
int tree_check(void);

#endif
