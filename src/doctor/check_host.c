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

/* Two reads at different times may fall on both sides of a second. */
static void
put_suspension(char **facts)
{
	struct timespec booted = {0, 0}, awake = {0, 0};
	char source[64] = "unknown";
	FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/"
			   "current_clocksource",
	    "re");

	if (file != NULL && fgets(source, sizeof(source), file) != NULL)
		source[strcspn(source, "\n")] = '\0';
	if (file != NULL)
		fclose(file);
	rows_put(facts, "source:%s\n", source);
	(void)clock_gettime(CLOCK_BOOTTIME, &booted);
	(void)clock_gettime(CLOCK_MONOTONIC, &awake);
	if (booted.tv_sec - awake.tv_sec > 1)
		rows_put(facts, "asleep:%jd\n",
		    (intmax_t)(booted.tv_sec - awake.tv_sec));
}

/* --- logs and metrics --------------------------------------------------- */

/* Why what is of that type cannot be used so, or NULL. */
static const char *
deny(const char *path, mode_t type, int mode)
{
	struct stat file;

	if (stat(path, &file) == -1)
		return strerror(errno);
	if ((file.st_mode & S_IFMT) != type)
		return type == S_IFREG	  ? "not a regular file"
		       : type == S_IFSOCK ? "not a socket"
					  : strerror(ENOTDIR);
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0
		   ? NULL
		   : strerror(errno);
}

static void
judge_place(struct findings *findings, const char *what, const char *path,
    const char *denial)
{
	char name[1025];

	escape_quote(path, name, sizeof(name));
	rows_judge_facts("place", findings, "%s:%s\ndenial:%s\n", what, name,
	    denial != NULL ? denial : "");
}

/* A file that is not there yet is created. */
static void
judge_log(struct findings *findings, const char *log)
{
	struct stat file;
	char *copy = mem_strdup(log);

	if (strcmp(log, "syslog") == 0)
		judge_place(findings, "log", SYSLOG_PATH,
		    deny(SYSLOG_PATH, S_IFSOCK, F_OK));
	else if (stat(log, &file) == 0 || errno != ENOENT)
		judge_place(findings, "log", log, deny(log, S_IFREG, W_OK));
	else
		judge_place(findings, "log", log,
		    deny(dirname(copy), S_IFDIR, W_OK | X_OK));
	free(copy);
}

/* ---------------------------------------------------------------------- */

void
check_host(struct findings *findings, const struct opts *opts)
{
	const char *metrics = opts->metrics_folder;
	struct utsname kernel;
	struct stat folder;
	char *facts = NULL;

	findings->subject = "this host";
	if (uname(&kernel) == 0)
		rows_put(&facts, "system:%s\nrelease:%s\n", kernel.sysname,
		    kernel.release);
	put_proc(&facts);
	put_limits(&facts);
	put_suspension(&facts);
	rows_judge("host", facts, findings);
	free(facts);
	if (opts->log_to != NULL)
		judge_log(findings, opts->log_to);
	if (*metrics == '\0')
		return;
	if (lstat(metrics, &folder) == 0 && S_ISLNK(folder.st_mode))
		judge_place(findings, "metrics", metrics, "it is a link");
	else
		judge_place(findings, "metrics", metrics,
		    deny(metrics, S_IFDIR, W_OK | X_OK));
}
