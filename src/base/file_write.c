#include "base/file_write.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

ssize_t
file_write(int fd, const struct iovec *parts, int count)
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
