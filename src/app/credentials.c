#include "app/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/secret.h"

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
read_password_from(int fd, char **password)
{
	char text[PASSWORD_MAX + sizeof("\n")]; /* shows what is too long */
	ssize_t length = read_all(fd, text, sizeof(text));
	const char *reason;

	if (length < 0)
		return strerror(errno);
	if (length > 0 && text[length - 1] == '\n')
		length--;
	reason = text_mistake(text, (size_t)length);
	if (reason == NULL)
		*password = mem_secret_copy(text, (size_t)length);
	explicit_bzero(text, sizeof(text));
	return reason;
}

/* Sets *password, or returns the reason, which quotes nothing of the file. */
static const char *
read_file(const char *path, char **password)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	const char *reason;

	if (fd < 0)
		return strerror(errno);
	reason = file_mistake(fd);
	if (reason == NULL)
		reason = read_password_from(fd, password);
	close(fd);
	return reason;
}

static void
forget_password(char **password)
{
	secret_free(*password);
	*password = NULL;
}

/* A file has precedence over the variable. */
static void
read_password(struct settings *settings, struct opts_login *login,
    enum option_id id)
{
	const char *reason;
	char name[PATH_MAX];

	if (login->password_file == NULL)
		return;
	forget_password(&login->password);
	reason = read_file(login->password_file, &login->password);
	escape_quote(login->password_file, name, sizeof(name));
	if (reason != NULL)
		settings_fail(settings, id, "password file %s: %s", name,
		    reason);
	login->password_file = NULL;
}

static char *
copy_password(const struct opts_login *login)
{
	const char *text = login->password;

	return text == NULL ? NULL : mem_secret_copy(text, strlen(text));
}

static char *
copy_user(const struct opts_login *login)
{
	const char *text = login->user;

	return text == NULL || *text == '\0' ? NULL : mem_strdup(text);
}

/* The URL has precedence. The file is read only if a password is missing. */
static void
fill_server(struct settings *settings, struct endpoint *server)
{
	struct opts_login *login = &settings->opts->login;

	if (server->user == NULL)
		server->user = copy_user(login);
	if (server->password != NULL)
		return;
	read_password(settings, login, OPT_PASSWORD_FILE);
	server->password = copy_password(login);
}

/* Sentinels have credentials of their own or none: they never get those of the
 * server. */
static void
fill_sentinels(struct settings *settings, const struct endpoint *server)
{
	struct opts_login *login = &settings->opts->sentinel_login;

	if (server->master == NULL)
		return;
	read_password(settings, login, OPT_SENTINEL_PASSWORD_FILE);
	for (size_t i = 0; i < server->host_count; i++) {
		server->hosts[i].user = copy_user(login);
		server->hosts[i].password = copy_password(login);
	}
}

static void
check_one_password(struct settings *settings, const char *password,
    enum option_id text, enum option_id file)
{
	if (password != NULL && settings->origins[file] == ORIGIN_ENVIRONMENT)
		settings_fail(settings, file, "%s and %s exclude each other",
		    opts_table[text].variable, opts_table[file].variable);
}

void
credentials_fill(struct settings *settings)
{
	struct opts *opts = settings->opts;

	check_one_password(settings, opts->login.password, OPT_PASSWORD,
	    OPT_PASSWORD_FILE);
	check_one_password(settings, opts->sentinel_login.password,
	    OPT_SENTINEL_PASSWORD, OPT_SENTINEL_PASSWORD_FILE);
	for (size_t i = 0; i < opts->server_count; i++) {
		fill_server(settings, &opts->servers[i]);
		fill_sentinels(settings, &opts->servers[i]);
	}
}

void
credentials_forget(struct opts *opts)
{
	forget_password(&opts->login.password);
	forget_password(&opts->sentinel_login.password);
}
