#include "options/conf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum { FILE_SIZE_MAX = 1024 * 1024 };

static const char *
file_mistake(const struct stat *status)
{
	if (S_ISDIR(status->st_mode))
		return "a directory";
	if (!S_ISREG(status->st_mode))
		return "not a regular file";
	if (status->st_uid != 0 && status->st_uid != geteuid())
		return "belongs to another user";
	if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return "others can write to it (chmod go-w)";
	if (status->st_size > FILE_SIZE_MAX)
		return "larger than 1 MB";
	return NULL;
}

/* A file that is replaced by renaming is always whole. One that is written in
 * place could lose its last lines here, and the run its server. */
static const char *
read_text(struct conf_file *file, int fd, size_t size)
{
	ssize_t part;

	file->text = mem_alloc(size + 1);
	do {
		part = read(fd, file->text + file->length, size - file->length);
		if (part < 0)
			return strerror(errno);
		file->length += (size_t)part;
	} while (part > 0 && file->length < size);
	return file->length < size ? "changed while it was read" : NULL;
}

static const char *
check_and_read(struct conf_file *file, int fd)
{
	struct stat status;
	const char *reason;

	if (fstat(fd, &status) == -1)
		return strerror(errno);
	reason = file_mistake(&status);
	if (reason != NULL)
		return reason;
	file->readable = (status.st_mode & (S_IRGRP | S_IROTH)) != 0;
	return read_text(file, fd, (size_t)status.st_size);
}

/* Also in the folder of another user, which HOME may still name. */
static bool
is_absent(const char *path, int error)
{
	struct stat status;

	if (error == EACCES)
		return lstat(path, &status) == -1;
	return error == ENOENT || error == ENOTDIR;
}

/* -1 without a reason if there is none. O_NOFOLLOW distinguishes a link to
 * nothing from no file, at no cost for those who have none. O_NONBLOCK is for
 * pipes. */
static int
open_file(const char *path, bool optional, const char **reason)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	int fd = open(path, optional ? flags | O_NOFOLLOW : flags);
	bool is_link = fd == -1 && optional && errno == ELOOP;

	if (is_link)
		fd = open(path, flags);
	else if (fd == -1 && optional && is_absent(path, errno))
		return -1;
	if (fd == -1)
		*reason = is_link && errno == ENOENT
			      ? "a link to a file that does not exist"
			      : strerror(errno);
	return fd;
}

const char *
conf_file_read(struct conf_file *file, const char *path, bool optional)
{
	const char *reason = NULL;
	int fd;

	*file = (struct conf_file){.path = path};
	fd = open_file(path, optional, &reason);
	if (fd == -1)
		return reason;
	reason = check_and_read(file, fd);
	close(fd);
	return reason;
}

void
conf_file_fini(struct conf_file *file)
{
	if (file->text != NULL)
		explicit_bzero(file->text, file->length);
	free(file->text);
	file->text = NULL;
}
