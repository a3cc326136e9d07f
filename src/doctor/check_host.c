#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/mem.h"
#include "doctor/checks.h"
#include "doctor/rows.h"
#include "job/descendants.h"
#include "job/process.h"

enum { LINE_MAX_BYTES = 4096 };

#define SYSLOG_PATH "/dev/log"

/* --- what a run and its guard need -------------------------------------- */

/* "... - proc proc rw,hidepid=invisible": the options behind the last word. */
static void
read_hidepid(char *value, size_t size)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[LINE_MAX_BYTES];

	value[0] = '\0';
	/* Of two mounts on one place the later one counts. */
	while (mounts != NULL && fgets(line, sizeof(line), mounts) != NULL) {
		const char *mark = strstr(line, " - proc "), *found;

		if (strstr(line, " /proc ") == NULL || mark == NULL)
			continue;
		found = strstr(mark, "hidepid=");
		value[0] = '\0';
		if (found != NULL)
			snprintf(value, size, "%.*s",
			    (int)strcspn(found + 8, ", \n"), found + 8);
	}
	if (mounts != NULL)
		fclose(mounts);
}

static void
put_proc(char **facts)
{
	struct descendants descendants;
	char hidepid[32];
	int rc = descendants_open(&descendants);
	int error;

	if (rc == 0)
		rc = descendants_adopt_orphans();
	error = errno;
	descendants_close(&descendants);
	read_hidepid(hidepid, sizeof(hidepid));
	if (rc == -1)
		rows_put(facts, "unguarded:%s\n", descendants_strerror(error));
	rows_put_flag(facts, "elsewhere", error == ENODEV || error == EXDEV);
	if (strcmp(hidepid, "0") != 0 && strcmp(hidepid, "off") != 0)
		rows_put(facts, "hidepid:%s\n", hidepid);
	rows_put_flag(facts, "pidfds", process_has_pidfds());
}

/* A limit counts threads; processes are what /proc shows at little cost. -1:
 * not known. */
static int64_t
count_processes(void)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int64_t count = 0;
	struct stat file;

	if (proc == NULL)
		return -1;
	while ((entry = readdir(proc)) != NULL)
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    fstatat(dirfd(proc), entry->d_name, &file, 0) == 0 &&
		    file.st_uid == geteuid())
			count++;
	closedir(proc);
	return count;
}

static void
put_limits(char **facts)
{
	struct rlimit limit;
	int64_t used, most;
	bool is_root = geteuid() == 0;

	if (getrlimit(RLIMIT_NPROC, &limit) == 0) {
		most = (int64_t)limit.rlim_cur;
		rows_put(facts, "most:%" PRId64 "\n", most);
		rows_put_flag(facts, "root", is_root);
		rows_put_flag(facts, "unlimited",
		    limit.rlim_cur == RLIM_INFINITY);
		used = is_root || limit.rlim_cur == RLIM_INFINITY
			   ? -1
			   : count_processes();
		if (used >= 0)
			rows_put(facts, "used:%" PRId64 "\nspare:%" PRId64 "\n",
			    used, most < used ? 0 : most - used);
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		rows_put(facts, "files:%ju\n", (uintmax_t)limit.rlim_cur);
}

static int64_t
read_clock_s(clockid_t id)
{
	struct timespec now = {0, 0};

	(void)clock_gettime(id, &now);
	return now.tv_sec;
}

/* Two reads at different times may fall on both sides of a second. */
static void
put_suspension(char **facts)
{
	int64_t asleep_s =
	    read_clock_s(CLOCK_BOOTTIME) - read_clock_s(CLOCK_MONOTONIC);
	char source[64] = "unknown";
	FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/"
			   "current_clocksource",
	    "re");

	if (file != NULL && fgets(source, sizeof(source), file) != NULL)
		source[strcspn(source, "\n")] = '\0';
	if (file != NULL)
		fclose(file);
	rows_put(facts, "source:%s\n", source);
	if (asleep_s > 1)
		rows_put(facts, "asleep:%" PRId64 "\n", asleep_s);
}

/* --- logs and metrics: NULL, or the reason why they are not written --- */

static const char *
deny(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0
		   ? NULL
		   : strerror(errno);
}

/* A file that is not there yet is created. */
static const char *
deny_file(const char *path)
{
	struct stat file;
	const char *why;
	char *copy;

	if (stat(path, &file) == 0)
		return S_ISREG(file.st_mode) ? deny(path, W_OK)
					     : "not a regular file";
	if (errno != ENOENT)
		return strerror(errno);
	copy = mem_strdup(path);
	why = deny(dirname(copy), W_OK | X_OK);
	free(copy);
	return why;
}

static const char *
deny_folder(const char *path)
{
	struct stat folder;

	if (lstat(path, &folder) == -1)
		return strerror(errno);
	if (S_ISLNK(folder.st_mode))
		return "it is a link";
	if (!S_ISDIR(folder.st_mode))
		return strerror(ENOTDIR);
	return deny(path, W_OK | X_OK);
}

static void
judge_place(struct findings *findings, const char *what, const char *path,
    const char *denial)
{
	char name[1025], *facts = NULL;

	escape_quote(path, name, sizeof(name));
	rows_put(&facts, "%s:%s\ndenial:%s\n", what, name,
	    denial != NULL ? denial : "");
	rows_judge("place", facts, findings);
	free(facts);
}

/* ---------------------------------------------------------------------- */

void
check_host(struct findings *findings, const struct opts *opts)
{
	const char *log = opts->log_to, *metrics = opts->metrics_folder;
	char *facts = NULL;
	struct utsname kernel;
	struct stat file;

	findings->subject = "this host";
	if (uname(&kernel) == 0)
		rows_put(&facts, "system:%s\nrelease:%s\n", kernel.sysname,
		    kernel.release);
	put_proc(&facts);
	put_limits(&facts);
	put_suspension(&facts);
	rows_judge("host", facts, findings);
	free(facts);
	if (log != NULL && strcmp(log, "syslog") == 0)
		judge_place(findings, "log", SYSLOG_PATH,
		    stat(SYSLOG_PATH, &file) == -1 ? strerror(errno)
		    : S_ISSOCK(file.st_mode)	   ? NULL
						   : "not a socket");
	else if (log != NULL)
		judge_place(findings, "log", log, deny_file(log));
	if (*metrics != '\0')
		judge_place(findings, "metrics", metrics, deny_folder(metrics));
}
