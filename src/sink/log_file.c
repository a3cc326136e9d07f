#include "sink/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/escape.h"
#include "base/log.h"

enum { FILE_MODE = 0640 };

static const char not_regular[] = "not a regular file";

/* --- a descriptor of ours ------------------------------------------------ */

/* A duplicate: the number itself is the job's. One that is closed on exec is no
 * descriptor that we were started with, but one of our own. */
static const char *
use_descriptor(struct log_file *file, const char *path, int number)
{
	int flags = fcntl(number, F_GETFL);
	int fd = -1;

	if (flags != -1 && ((flags & O_ACCMODE) == O_RDONLY ||
			       (fcntl(number, F_GETFD) & FD_CLOEXEC) != 0))
		errno = EBADF;
	else if (flags != -1)
		fd = fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd == -1)
		return strerror(errno);
	*file = (struct log_file){.path = path, .fd = fd, .is_ours = true};
	return NULL;
}

/* ------------------------------------------------------------------------- */

/* Opening a device may already act on it, so look at first. In between it may
 * become another one: O_NONBLOCK, and another look. */
const char *
log_file_open(struct log_file *file, const char *path)
{
	int flags =
	    O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
	struct stat st;
	int fd = descriptors_find(path);

	if (fd != -1)
		return use_descriptor(file, path, fd);
	/* It would become a file, which the daemon cannot replace. */
	if (strcmp(path, "/dev/log") == 0)
		return "it is no file (--log-to syslog)";
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return not_regular;
	fd = open(path, flags, FILE_MODE);
	if (fd == -1)
		return errno == ENXIO ? not_regular : strerror(errno);
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode)) {
		close(fd);
		return not_regular;
	}
	*file = (struct log_file){.path = path,
	    .fd = fd,
	    .device = st.st_dev,
	    .inode = st.st_ino};
	return NULL;
}

/* logrotate(8) renames it, and may make a new one or leave that to us. What
 * cannot be looked at is taken for the same file. What /proc has of a process
 * may be gone at any time. */
void
log_file_follow(struct log_file *file)
{
	struct log_file next;
	struct stat st;
	const char *why;
	char name[1024];

	if (file->is_ours ||
	    strncmp(file->path, "/proc/", strlen("/proc/")) == 0)
		return;
	if (stat(file->path, &st) == -1
		? errno != ENOENT
		: st.st_dev == file->device && st.st_ino == file->inode)
		return;
	why = log_file_open(&next, file->path);
	if (why == NULL) {
		close(file->fd);
		*file = next;
	} else if (!file->kept) {
		escape_quote(file->path, name, sizeof(name));
		log_warnx("cannot reopen the log %s: %s; using the former file",
		    name, why);
		file->kept = true;
	}
}

/* A pipe or a terminal may block, and a pipe without a reader would raise
 * SIGPIPE. */
const char *
log_file_append(struct log_file *file, const char *line, size_t length)
{
	struct pollfd out = {.fd = file->fd, .events = POLLOUT};
	struct iovec parts[] = {{(void *)(uintptr_t) "\n", 0},
	    {(void *)(uintptr_t)line, length}};
	ssize_t wrote;

	if (file->is_ours &&
	    (descriptors_poll(&out, 1, 0) != 1 || out.revents != POLLOUT))
		return "it is full";
	/* The end of the line that was cut. */
	parts[0].iov_len = file->torn ? 1 : 0;
	wrote = descriptors_write(file->fd, parts, 2);
	if (wrote == -1)
		return strerror(errno);
	if (wrote == (ssize_t)(parts[0].iov_len + length)) {
		file->torn = false;
		return NULL;
	}
	if (wrote > 0)
		file->torn = wrote > (ssize_t)parts[0].iov_len;
	return "it is full";
}
