/* What is done with descriptors. All of them are closed at once by
 * close_range(2), or one by one up to the last in /proc, if the kernel lacks
 * that call (before Linux 5.9) or a sandbox refuses it. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

/* The last one that descriptors_close has to close: INT_MAX, or the highest
 * that is open. -1 with errno if it cannot be found. */
int descriptors_find_last(void);

/* Closes all from first to last. It fails only if last is INT_MAX: -1 with
 * errno. */
int descriptors_close(int first, int last);

/* Closes those from 3 up that this process was started with, except those that
 * are needed; all that it opened itself must be close-on-exec. Without /proc it
 * closes none. */
void descriptors_close_inherited(bool (*is_needed)(const void *arg, int fd),
    const void *arg);

/* The number in a path such as /dev/fd/3 or /dev/stderr; -1 if it names none.
 */
int descriptors_find(const char *path);

/* As poll(2): where the program waits. The simulation has a world of its own in
 * place of this. */
int descriptors_poll(struct pollfd *polled, nfds_t count, int timeout_ms);

/* Like writev(2). Beyond RLIMIT_FSIZE the kernel would end us by SIGXFSZ, or
 * have us forward it to the job: here the write only fails with EFBIG. */
ssize_t descriptors_write(int fd, const struct iovec *parts, int count);

#endif
