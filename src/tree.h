/* The living processes that descend from one, found through /proc. */
#ifndef TREE_H
#define TREE_H

#include <sys/types.h>

/* Sends signo to all that descend from root, root itself left out. What was
 * stopped is continued after a TERM, so that it can act on it. Whoever forks
 * meanwhile may be missed: repeat until none is left. 0, or -1 with errno when
 * /proc can't be read or memory is out. */
int tree_signal(pid_t root, int signo);

/* Whether descendants can be found on this machine at all. */
int tree_check(void);

#endif
