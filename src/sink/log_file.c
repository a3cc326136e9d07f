#include "sink/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/file_write.h"
#include "base/log.h"

enum { FILE_MODE = 0640 };

static const char not_regular[] = "not a regular file";

/* Opening a device may already act on it, so look at first. In between it may
 * become another one: O_NONBLOCK, and another look. */
const char *
log_file_open(struct log_file *file, const char *path)
{
	int flags =
	    O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
	struct stat st;
	int fd;

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

void
log_file_close(struct log_file *file)
{
	close(file->fd);
}

/* Such as /dev/stdout. */
static bool
is_descriptor(const char *path)
{
	static const char *const begins[] = {"/dev/std", "/dev/fd/", "/proc/"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (strncmp(path, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* logrotate(8) renames it, and may make a new one or leave that to us. What
 * cannot be looked at is taken for the same file. Our descriptors are not the
 * caller's for long: the job has them. */
static bool
is_replaced(const struct log_file *file)
{
	struct stat st;

	if (is_descriptor(file->path))
		return false;
	if (stat(file->path, &st) == -1)
		return errno == ENOENT;
	return st.st_dev != file->device || st.st_ino != file->inode;
}

void
log_file_follow(struct log_file *file)
{
	struct log_file next;
	const char *why;
	char name[1024];

	if (!is_replaced(file))
		return;
	why = log_file_open(&next, file->path);
	if (why == NULL) {
		log_file_close(file);
		*file = next;
	} else if (!file->kept) {
		escape_quote(file->path, name, sizeof(name));
		log_warnx("cannot reopen the log %s: %s; using the former file",
		    name, why);
		file->kept = true;
	}
}

const char *
log_file_append(struct log_file *file, const char *line, size_t length)
{
	struct iovec parts[] = {{(void *)(uintptr_t) "\n", 0},
	    {(void *)(uintptr_t)line, length}};
	ssize_t wrote;

	/* The end of the line that was cut. */
	parts[0].iov_len = file->torn ? 1 : 0;
	wrote = file_write(file->fd, parts, 2);
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
