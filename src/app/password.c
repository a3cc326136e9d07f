#include "app/password.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define PASSWORD_MAX 4096

static const char *
file_mistake(int fd)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return strerror(errno);
	if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
		return "neither a regular file nor a pipe";
	if ((status.st_mode & (S_IROTH | S_IWOTH)) != 0)
		return "others can read or write it (chmod o-rwx)";
	return NULL;
}

static const char *
text_mistake(const char *text, size_t length)
{
	if (length == 0)
		return "empty";
	if (length > PASSWORD_MAX)
		return "longer than 4096 bytes";
	if (memchr(text, '\n', length) != NULL)
		return "more than one line";
	if (memchr(text, '\0', length) != NULL)
		return "contains a NUL byte";
	return NULL;
}

/* As much as there is and fits, or -1. A pipe gives it in parts. */
static ssize_t
read_all(int fd, char *text, size_t size)
{
	size_t length = 0;
	ssize_t part;

	do {
		part = read(fd, text + length, size - length);
		if (part < 0)
			return -1;
		length += (size_t)part;
	} while (part > 0 && length < size);
	return (ssize_t)length;
}

static const char *
read_password(int fd, char **password)
{
	char text[PASSWORD_MAX + sizeof("\n")]; /* one to tell "too long" */
	ssize_t length = read_all(fd, text, sizeof(text));
	const char *reason;

	if (length < 0)
		return strerror(errno);
	if (length > 0 && text[length - 1] == '\n')
		length--;
	reason = text_mistake(text, (size_t)length);
	if (reason == NULL)
		*password = mem_secret_copy(text, (size_t)length);
	mem_wipe(text, sizeof(text));
	return reason;
}

const char *
password_read(const char *path, char **password)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	const char *reason;

	if (fd < 0)
		return strerror(errno);
	reason = file_mistake(fd);
	if (reason == NULL)
		reason = read_password(fd, password);
	close(fd);
	return reason;
}
