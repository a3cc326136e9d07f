#include "doctor/doctor_sinks.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/mem.h"

#define SYSLOG_PATH "/dev/log"

enum { NAME_SIZE = 1024 };

/* --- NULL, or the reason why not --------------------------------------- */

static const char *
check_access(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0
		   ? NULL
		   : strerror(errno);
}

/* A file that is not there yet is created. */
static const char *
check_file(const char *path)
{
	struct stat file;
	const char *why;
	char *copy;

	if (stat(path, &file) == 0)
		return S_ISREG(file.st_mode) ? check_access(path, W_OK)
					     : "not a regular file";
	if (errno != ENOENT)
		return strerror(errno);
	copy = mem_strdup(path);
	why = check_access(dirname(copy), W_OK | X_OK);
	free(copy);
	return why;
}

static const char *
check_syslog(void)
{
	struct stat file;

	if (stat(SYSLOG_PATH, &file) == -1)
		return strerror(errno);
	return S_ISSOCK(file.st_mode) ? NULL : "not a socket";
}

static const char *
check_folder(const char *path)
{
	struct stat folder;

	if (lstat(path, &folder) == -1)
		return strerror(errno);
	if (S_ISLNK(folder.st_mode))
		return "it is a link";
	if (!S_ISDIR(folder.st_mode))
		return strerror(ENOTDIR);
	return check_access(path, W_OK | X_OK);
}

/* ------------------------------------------------------------------------ */

static void
add(struct findings *findings, const char *check, const char *path,
    const char *why)
{
	char name[NAME_SIZE];

	escape_quote(path, name, sizeof(name));
	if (why == NULL) {
		findings_add(findings, FINDING_OK, check, "%s can be written",
		    name);
		return;
	}
	findings_add(findings, FINDING_WARNING, check,
	    "%s cannot be written: %s; runs go on without it", name, why);
	findings_set_remedy(findings,
	    "create it, permit this user to write there, or use another place");
}

void
doctor_sinks_check(struct findings *findings, const struct opts *opts)
{
	const char *log = opts->log_to;

	findings->subject = "this host";
	if (log != NULL && strcmp(log, "syslog") == 0)
		add(findings, "log", SYSLOG_PATH, check_syslog());
	else if (log != NULL)
		add(findings, "log", log, check_file(log));
	if (*opts->metrics_folder != '\0')
		add(findings, "metrics", opts->metrics_folder,
		    check_folder(opts->metrics_folder));
}
