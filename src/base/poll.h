/* Where the program waits for descriptors. The simulation has a world of its
 * own in place of this. */
#ifndef BASE_POLL_H
#define BASE_POLL_H

#include <poll.h>

/* As poll(2). */
int poll_wait(struct pollfd *polled, nfds_t count, int timeout_ms);

#endif
