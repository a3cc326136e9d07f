#include "job/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Not in the headers of older systems. The wrappers of glibc came with 2.36. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum { ANCESTORS_MAX = 1000, PROCESS_NAME_SIZE = 64 };

/* Fields of proc_pid_stat(5), counted from the state as 0: the name before it
 * may contain blanks and parentheses. */
enum {
	FIELD_PARENT = 1,
	FIELD_GROUP,
	FIELD_THREADS = 17,
	FIELD_STARTED = 19,
	FIELDS
};

/* Returns the length, at least 1, or -1. */
static ssize_t
read_proc_file(int proc, pid_t pid, const char *name, char *text, size_t size)
{
	char path[32];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return -1;
	got = read(fd, text, size - 1);
	close(fd);
	if (got <= 0)
		return -1;
	text[got] = '\0';
	return got;
}

bool
process_is_above(pid_t pid)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char own[PROCESS_NAME_SIZE], name[PROCESS_NAME_SIZE];
	struct process process = {.parent = getppid()};
	bool is_above = false;

	if (proc == -1)
		return false;
	/* Parents may change meanwhile, so a circle is not ruled out. */
	for (int i = 0; i < ANCESTORS_MAX && process.parent > 0; i++) {
		is_above = process.parent == pid;
		if (is_above || !process_read(proc, process.parent, &process))
			break;
	}
	is_above =
	    is_above &&
	    read_proc_file(proc, getpid(), "comm", own, sizeof(own)) != -1 &&
	    read_proc_file(proc, pid, "comm", name, sizeof(name)) != -1 &&
	    strcmp(own, name) == 0;
	close(proc);
	return is_above;
}

bool
process_read(int proc, pid_t pid, struct process *process)
{
	char text[1024];
	unsigned long long fields[FIELDS] = {0};
	char *state, *at;

	if (read_proc_file(proc, pid, "stat", text, sizeof(text)) == -1)
		return false;
	state = strrchr(text, ')');
	if (state == NULL || strlen(state) < sizeof(") S"))
		return false;
	state += strlen(") ");
	at = state + 1;
	for (int i = FIELD_PARENT; i < FIELDS; i++)
		fields[i] = strtoull(at, &at, 10);
	*process = (struct process){.pid = pid,
	    .state = *state,
	    .parent = (pid_t)fields[FIELD_PARENT],
	    .group = (pid_t)fields[FIELD_GROUP],
	    .threads = (long)fields[FIELD_THREADS],
	    .started = fields[FIELD_STARTED]};
	return true;
}

/* See proc_pid_status(5). A process with many groups of users has a long list
 * of them before its signals. */
bool
process_takes_default(int proc, pid_t pid, int signo)
{
	static const char *const names[] = {"\nSigBlk:", "\nSigIgn:",
	    "\nSigCgt:"};
	char text[8192];

	if (read_proc_file(proc, pid, "status", text, sizeof(text)) == -1)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *at = strstr(text, names[i]);
		if (at == NULL ||
		    (strtoull(at + strlen(names[i]), NULL, 16) >> (signo - 1) &
			1))
			return false;
	}
	return true;
}

bool
process_is_child(pid_t pid)
{
	siginfo_t info;

	return waitid(P_PID, (id_t)pid, &info,
		   WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/* pidfd_open(2) itself requires no permission. */
int
process_hold(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd == -1 && (errno == ENOSYS || errno == EPERM))
		return PROCESS_UNHELD;
	return fd == -1 ? PROCESS_GONE : fd;
}

void
process_release(int held)
{
	if (held >= 0)
		close(held);
}

/* A sandbox may refuse this call alone. With EPERM it looks like a process that
 * we may not signal, except that the sandbox does not look at the descriptor.
 */
static bool
is_pidfd_refused(void)
{
	return syscall(SYS_pidfd_send_signal, -1, 0, NULL, 0) == -1 &&
	       errno != EBADF;
}

bool
process_has_pidfds(void)
{
	int held = process_hold(getpid());

	process_release(held);
	return held >= 0 && !is_pidfd_refused();
}

void
process_signal(int held, pid_t pid, int signo)
{
	if (held >= 0 &&
	    (syscall(SYS_pidfd_send_signal, held, signo, NULL, 0) == 0 ||
		!is_pidfd_refused()))
		return;
	kill(pid, signo);
}
