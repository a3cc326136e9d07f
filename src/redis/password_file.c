#include "redis/password_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/secret.h"

#define PASSWORD_MAX 4096

bool
password_file_is_mounted(const char *path, const struct stat *status)
{
	struct statvfs volume;

	return status->st_uid == 0 && (status->st_mode & S_IWOTH) == 0 &&
	       statvfs(path, &volume) == 0 && (volume.f_flag & ST_RDONLY) != 0;
}

/* As much as there is and fits; a pipe gives it in parts. */
static const char *
read_password(int fd, char **password)
{
	char text[PASSWORD_MAX + sizeof("\r\n")]; /* shows what is too long */
	const char *reason = NULL;
	size_t got = 0, length;
	ssize_t part;
	char *copy = NULL;

	do {
		part = read(fd, text + got, sizeof(text) - got);
		if (part < 0)
			return strerror(errno);
		got += (size_t)part;
	} while (part > 0 && got < sizeof(text));
	length = secret_length(text, got);
	if (length == 0)
		reason = "empty";
	else if (length > PASSWORD_MAX)
		reason = "longer than 4096 bytes";
	else if (memchr(text, '\n', length) != NULL)
		reason = "more than one line";
	else if (memchr(text, '\0', length) != NULL)
		reason = "contains a NUL byte";
	else if ((copy = secret_alloc(length + 1)) == NULL)
		reason = strerror(errno);
	if (copy != NULL) {
		memcpy(copy, text, length);
		secret_free(*password);
		*password = copy;
	}
	explicit_bzero(text, sizeof(text));
	return reason;
}

/* A pipe that has taken the place of the file would block. */
static const char *
read_checked(struct password_file *file, int fd, bool again)
{
	struct stat status;
	bool exposed;

	if (fstat(fd, &status) < 0)
		return strerror(errno);
	if (again && !S_ISREG(status.st_mode))
		return "not a regular file any more";
	file->reread.enabled = S_ISREG(status.st_mode);
	exposed = (status.st_mode & (S_IROTH | S_IWOTH)) != 0;
	if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
		return "neither a regular file nor a pipe";
	if (exposed && !password_file_is_mounted(file->path, &status))
		return "others can read or write it (chmod o-rwx)";
	file->exposed = exposed;
	return read_password(fd, &file->text);
}

static const char *
read_password_file(struct password_file *file, bool again)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
	int fd = open(file->path, again ? flags | O_NONBLOCK : flags);
	const char *reason;

	if (fd < 0)
		return strerror(errno);
	reason = read_checked(file, fd, again);
	close(fd);
	return reason;
}

const char *
password_file_init(struct password_file *file, const char *path)
{
	*file =
	    (struct password_file){.path = path, .reread.read_at = clock_now()};
	return read_password_file(file, false);
}

char *
password_file_get(struct password_file *file, bool anew)
{
	char name[PATH_MAX], why[PATH_MAX + 128];
	const char *reason;

	if (!reread_is_due(&file->reread, anew))
		return secret_share(file->text);
	reason = read_password_file(file, true);
	escape_quote(file->path, name, sizeof(name));
	if (reason != NULL)
		snprintf(why, sizeof(why), "password file %s: %s", name,
		    reason);
	reread_finish(&file->reread, reason == NULL ? NULL : why);
	return secret_share(file->text);
}

void
password_file_fini(struct password_file *file)
{
	secret_free(file->text);
	file->text = NULL;
}
