#include "job/child.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/mem.h"
#include "base/num.h"

/* 0 if the file can be executed, otherwise errno. */
static int
check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	return access(path, X_OK) == 0 ? 0 : errno;
}

/* As execvp(3): the first file that can be executed. One that cannot be only
 * changes the error when no other is found. An empty part of PATH is the
 * current directory. NULL with errno. */
static char *
find_in_path(const char *name)
{
	const char *path = getenv("PATH");
	int error = ENOENT;
	size_t length;

	if (path == NULL)
		path = "/bin:/usr/bin";
	for (;; path += length + 1) {
		char *candidate;
		int tried;

		length = strcspn(path, ":");
		candidate = length == 0 ? mem_printf("./%s", name)
					: mem_printf("%.*s/%s", (int)length,
					      path, name);
		tried = check_file(candidate);
		if (tried == 0)
			return candidate;
		free(candidate);
		if (tried == EACCES)
			error = EACCES;
		if (path[length] == '\0')
			break;
	}
	errno = error;
	return NULL;
}

static int
exit_code_of(int error)
{
	return error == ENOENT || error == ENOTDIR ? EXITCODE_NOT_FOUND
						   : EXITCODE_CANNOT_RUN;
}

int
child_find(struct child *child)
{
	const char *name = child->argv[0];

	if (strchr(name, '/') == NULL && *name != '\0') {
		child->path = find_in_path(name);
	} else {
		int error = check_file(name);
		if (error == 0)
			child->path = mem_strdup(name);
		errno = error;
	}
	return child->path != NULL ? 0 : exit_code_of(errno);
}

static const char *const pid_names[CHILD_PIDS] = {"LISTEN_PID=",
    "WATCHDOG_PID="};

/* In the guard, whose parent rlockrun is. */
static bool
names_rlockrun(const char *value)
{
	int64_t pid;

	return value != NULL && num_int(value, 1, INT_MAX, &pid) == 0 &&
	       pid == getppid();
}

/* The entry for the job; NULL if it gets none. Newer versions of systemd also
 * identify the process by the inode of its pidfd, which the job's is not. */
static char *
pass_entry(struct child *child, char *entry)
{
	static const char *const of_the_job[CHILD_VARIABLES] = {"RLOCKRUN_KEY=",
	    "RLOCKRUN_TOKEN=", "RLOCKRUN_FENCE=", "RLOCKRUN_TTL_MS=",
	    "RLOCKRUN_HELD="};
	static const char inode[] = "LISTEN_PIDFDID=";

	for (size_t i = 0; i < CHILD_VARIABLES; i++)
		if (strncmp(entry, of_the_job[i], strlen(of_the_job[i])) == 0)
			return NULL;
	if (strncmp(entry, inode, strlen(inode)) == 0 &&
	    names_rlockrun(getenv("LISTEN_PID")))
		return NULL;
	for (size_t i = 0; i < CHILD_PIDS; i++) {
		size_t length = strlen(pid_names[i]);
		if (strncmp(entry, pid_names[i], length) == 0 &&
		    names_rlockrun(entry + length))
			return memcpy(child->pids[i], pid_names[i], length + 1);
	}
	return entry;
}

/* Not setenv(3), which writes to pages that we share with rlockrun, and each is
 * copied for it. */
int
child_prepare_env(struct child *child)
{
	size_t count = 0;

	for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
		count++;
	child->env = calloc(count + CHILD_VARIABLES + 1, sizeof(*child->env));
	if (child->env == NULL)
		return -1;
	child->env_end = child->env;
	for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
		char *passed = pass_entry(child, *entry);
		if (passed != NULL)
			*child->env_end++ = passed;
	}
	return 0;
}

void
child_add_env(struct child *child, char *entries, size_t length)
{
	for (char *at = entries; at < entries + length; at += strlen(at) + 1)
		*child->env_end++ = at;
}

/* snprintf(3) is not async-signal-safe. */
static void
write_pid(char *text, pid_t pid)
{
	size_t digits = 1;

	for (pid_t rest = pid; rest >= 10; rest /= 10)
		digits++;
	text[digits] = '\0';
	for (; digits > 0; pid /= 10)
		text[--digits] = (char)('0' + pid % 10);
}

/* The kernel does not know a script without #!. Every shell runs it, and so
 * does execvp(3) of glibc, but not that of musl. */
int
child_exec(struct child *child)
{
	size_t count = 0;

	for (size_t i = 0; i < CHILD_PIDS; i++)
		if (child->pids[i][0] != '\0')
			write_pid(child->pids[i] + strlen(pid_names[i]),
			    getpid());
	if (child->own_group)
		setpgid(0, 0);
	signals_restore(child->signals);
	execve(child->path, child->argv, child->env);
	if (errno != ENOEXEC)
		return errno;
	while (child->argv[count] != NULL)
		count++;
	char *argv[count + 2];
	argv[0] = (char *)"/bin/sh";
	argv[1] = child->path;
	memcpy(argv + 2, child->argv + 1, count * sizeof(*argv));
	execve(argv[0], argv, child->env);
	return errno;
}

/* A script may exist although its interpreter does not. */
int
child_exec_exit_code(const struct child *child, int error)
{
	return access(child->path, F_OK) == 0 ? EXITCODE_CANNOT_RUN
					      : exit_code_of(error);
}
