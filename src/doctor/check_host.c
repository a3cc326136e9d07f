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
#include "base/exitcode.h"
#include "base/mem.h"
#include "doctor/checks.h"
#include "job/descendants.h"
#include "job/process.h"

enum { PROCESSES_SPARE = 16, FILES_ENOUGH = 64, LINE_MAX_BYTES = 4096 };
enum { OLDEST_MAJOR = 4, OLDEST_MINOR = 18 };
enum { NAME_SIZE = 1024 };

#define SYSLOG_PATH "/dev/log"

static void
check_kernel(struct findings *findings)
{
	struct utsname name;
	int major = 0, minor = 0;
	char *end;

	if (uname(&name) == -1)
		return;
	major = (int)strtol(name.release, &end, 10);
	minor = *end == '.' ? (int)strtol(end + 1, NULL, 10) : 0;
	if (major > OLDEST_MAJOR ||
	    (major == OLDEST_MAJOR && minor >= OLDEST_MINOR))
		findings_add(findings, FINDING_OK, "kernel", NULL, "%s %s",
		    name.sysname, name.release);
	else
		findings_add(findings, FINDING_WARNING, "kernel",
		    "use a newer kernel", "%s %s is older than Linux 4.18",
		    name.sysname, name.release);
}

/* --- /proc ------------------------------------------------------------ */

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
check_proc(struct findings *findings)
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
		findings_add(findings, EXITCODE_RESOURCE, "proc",
		    error == ENODEV || error == EXDEV
			? "mount -t proc proc /proc in the namespace of the "
			  "run"
			: NULL,
		    "no job can be guarded: %s", descendants_strerror(error));
	else if (hidepid[0] == '\0' || strcmp(hidepid, "0") == 0 ||
		 strcmp(hidepid, "off") == 0)
		findings_add(findings, FINDING_OK, "proc", NULL,
		    "mounted, and of our pid namespace");
	else
		findings_add(findings, FINDING_NOTE, "proc", NULL,
		    "mounted with hidepid=%s: a part of a job that is not "
		    "dumpable is found only when its parent has ended",
		    hidepid);
}

static void
check_pidfd(struct findings *findings)
{
	if (process_has_pidfds())
		findings_add(findings, FINDING_OK, "pidfd", NULL,
		    "signals cannot reach the wrong process");
	else
		findings_add(findings, FINDING_WARNING, "pidfd",
		    "use Linux 5.3 or newer, and permit pidfd_open and "
		    "pidfd_send_signal in the sandbox",
		    "there are no pidfds: a signal to a job's descendant may "
		    "reach a process that has got its id");
}

/* --- limits ----------------------------------------------------------- */

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
check_processes(struct findings *findings)
{
	static const char remedy[] =
	    "raise the limit: ulimit -u, or TasksMax of the unit";
	struct rlimit limit;
	uintmax_t most;
	int64_t used;

	if (getrlimit(RLIMIT_NPROC, &limit) == -1)
		return;
	most = limit.rlim_cur;
	if (limit.rlim_cur == RLIM_INFINITY || geteuid() == 0) {
		findings_add(findings, FINDING_OK, "processes", NULL,
		    "no limit%s",
		    limit.rlim_cur == RLIM_INFINITY ? "" : " for root");
		return;
	}
	used = count_processes();
	if (used < 0)
		findings_add(findings, FINDING_UNKNOWN, "processes", NULL,
		    "how many are in use is not known, the limit is %ju", most);
	else if (most >= (uintmax_t)used + PROCESSES_SPARE)
		findings_add(findings, FINDING_OK, "processes", NULL,
		    "%" PRId64 " in use, the limit is %ju", used, most);
	else if (most <= (uintmax_t)used)
		findings_add(findings, EXITCODE_RESOURCE, "processes", remedy,
		    "%" PRId64 " in use, the limit is %ju: the guard cannot "
		    "start",
		    used, most);
	else
		findings_add(findings, FINDING_WARNING, "processes", remedy,
		    "%" PRId64 " in use, the limit is %ju: the guard and the "
		    "job may not start",
		    used, most);
}

static void
check_files(struct findings *findings)
{
	struct rlimit limit;
	bool few;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return;
	few = limit.rlim_cur < FILES_ENOUGH;
	findings_add(findings, few ? FINDING_WARNING : FINDING_OK, "files",
	    few ? "raise the limit: ulimit -n" : NULL, "%ju may be open",
	    (uintmax_t)limit.rlim_cur);
}

/* --- the clock -------------------------------------------------------- */

static int64_t
read_clock_s(clockid_t id)
{
	struct timespec now = {0, 0};

	(void)clock_gettime(id, &now);
	return now.tv_sec;
}

/* Two reads at different times may fall on both sides of a second. */
static void
check_clock(struct findings *findings)
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
	if (asleep_s <= 1)
		findings_add(findings, FINDING_OK, "local-clock", NULL,
		    "CLOCK_BOOTTIME (source %s), which counts the time of a "
		    "suspension",
		    source);
	else
		findings_add(findings, FINDING_NOTE, "local-clock", NULL,
		    "CLOCK_BOOTTIME (source %s); this host was suspended for "
		    "%" PRId64 " s since it booted: a job is killed if its "
		    "lease ended meanwhile",
		    source, asleep_s);
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
check_sink(struct findings *findings, const char *check, const char *path,
    const char *denial)
{
	char name[NAME_SIZE];

	escape_quote(path, name, sizeof(name));
	if (denial == NULL)
		findings_add(findings, FINDING_OK, check, NULL,
		    "%s can be written", name);
	else
		findings_add(findings, FINDING_WARNING, check,
		    "create it, permit this user to write there, or use "
		    "another place",
		    "%s cannot be written: %s; runs go on without it", name,
		    denial);
}

/* ---------------------------------------------------------------------- */

void
check_host(struct findings *findings, const struct opts *opts)
{
	const char *log = opts->log_to, *metrics = opts->metrics_folder;
	struct stat file;

	findings->subject = "this host";
	check_kernel(findings);
	check_proc(findings);
	check_pidfd(findings);
	check_processes(findings);
	check_files(findings);
	check_clock(findings);
	if (log != NULL && strcmp(log, "syslog") == 0)
		check_sink(findings, "log", SYSLOG_PATH,
		    stat(SYSLOG_PATH, &file) == -1 ? strerror(errno)
		    : S_ISSOCK(file.st_mode)	   ? NULL
						   : "not a socket");
	else if (log != NULL)
		check_sink(findings, "log", log, deny_file(log));
	if (*metrics != '\0')
		check_sink(findings, "metrics", metrics, deny_folder(metrics));
}
