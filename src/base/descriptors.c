#include "base/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"

/* Not in the headers of older systems. The wrapper of glibc came with 2.34. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static int
close_range_to(unsigned first, unsigned last)
{
	return (int)syscall(SYS_close_range, first, last, 0);
}

/* May count the descriptor that reads the list. */
static int
read_last(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	int last = 0;

	if (folder == NULL)
		return -1;
	while (errno = 0, (entry = readdir(folder)) != NULL) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		if (fd > last)
			last = fd;
	}
	if (errno != 0)
		last = -1;
	closedir(folder);
	return last;
}

/* An empty range shows whether the call is there. */
int
descriptors_find_last(void)
{
	return close_range_to(~0U, ~0U) == 0 ? INT_MAX : read_last();
}

int
descriptors_close(int first, int last)
{
	if (close_range_to((unsigned)first, (unsigned)last) == 0)
		return 0;
	if (last == INT_MAX)
		last = read_last();
	for (int fd = first; fd <= last; fd++)
		close(fd);
	return last == -1 ? -1 : 0;
}

void
descriptors_close_inherited(bool (*is_needed)(const void *arg, int fd),
    const void *arg)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;

	if (folder == NULL)
		return;
	while ((entry = readdir(folder)) != NULL) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		int flags = fd > STDERR_FILENO ? fcntl(fd, F_GETFD) : -1;
		if (flags != -1 && !(flags & FD_CLOEXEC) && !is_needed(arg, fd))
			close(fd);
	}
	closedir(folder);
}

int
descriptors_find(const char *path)
{
	static const struct {
		const char *path;
		int fd; /* -1: its number follows */
	} known[] = {{"/dev/stdout", STDOUT_FILENO},
	    {"/dev/stderr", STDERR_FILENO}, {"/dev/fd/", -1},
	    {"/proc/self/fd/", -1}};
	int64_t fd;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		size_t length = strlen(known[i].path);
		if (known[i].fd != -1 && strcmp(path, known[i].path) == 0)
			return known[i].fd;
		if (known[i].fd == -1 &&
		    strncmp(path, known[i].path, length) == 0 &&
		    num_int(path + length, 0, INT_MAX, &fd) == 0)
			return (int)fd;
	}
	return -1;
}

int
descriptors_poll(struct pollfd *polled, nfds_t count, int timeout_ms)
{
	return poll(polled, count, timeout_ms);
}

ssize_t
descriptors_write(int fd, const struct iovec *parts, int count)
{
	const struct timespec at_once = {0, 0};
	sigset_t xfsz, former;
	ssize_t wrote;
	int error;

	sigemptyset(&xfsz);
	sigaddset(&xfsz, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &xfsz, &former);
	wrote = writev(fd, parts, count);
	error = errno;
	if (wrote == -1 && error == EFBIG)
		sigtimedwait(&xfsz, NULL, &at_once);
	/* A C library leaves its own signals out of a whole mask. */
	if (sigismember(&former, SIGXFSZ) == 0)
		sigprocmask(SIG_UNBLOCK, &xfsz, NULL);
	errno = error;
	return wrote;
}
