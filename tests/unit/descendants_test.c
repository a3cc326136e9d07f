/* Which processes a made-up /proc declares descendants: a folder stands in for
 * procfs, and two real children for the processes in it. And which children
 * from before descendants_open are spared. */
#include "base/clock.h"
#include "job/descendants.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

static const _Atomic int64_t never = CLOCK_NEVER;
static char folder[] = "/tmp/descendants_test.XXXXXX";

static void
write_stat(pid_t pid, pid_t parent, const char *state, int threads, int started)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d", folder, (int)pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%d/stat", folder, (int)pid);
	file = fopen(path, "w");
	if (file == NULL)
		abort();
	fprintf(file,
	    "%d (a) b) %s %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %d 0 %d 0\n",
	    (int)pid, state, (int)parent, threads, started);
	fclose(file);
}

static void
remove_stat(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%d/stat", folder, (int)pid);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%d", folder, (int)pid);
	rmdir(path);
}

static pid_t
new_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGTERM, SIG_DFL);
		alarm(60);
		for (;;)
			pause();
	}
	return pid;
}

/* Whether SIGTERM has ended it; ends it otherwise. TERM goes out before KILL,
 * and of two pending signals the one with the lower number is delivered first:
 * KILL. So the child gets time to die by TERM. */
static bool
was_terminated(pid_t pid)
{
	int status;

	for (int i = 0; i < 20; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFSIGNALED(status) &&
			       WTERMSIG(status) == SIGTERM;
		usleep(10000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return false;
}

static void
test_parents(const struct descendants *descendants, int parent_started,
    bool want, const char *what)
{
	pid_t parent = new_child();
	pid_t child = new_child();

	write_stat(parent, getpid(), "S", 1, parent_started);
	write_stat(child, parent, "S", 1, 2000);
	descendants_terminate(descendants, &never);
	ok(was_terminated(parent), "%s: the child is signalled", what);
	ok(was_terminated(child) == want, "%s: the grandchild is%s", what,
	    want ? ", too" : " not");
	remove_stat(parent);
	remove_stat(child);
}

static void
test_state(const struct descendants *descendants, const char *state,
    int threads, bool want)
{
	pid_t pid = new_child();

	write_stat(pid, getpid(), state, threads, 1000);
	descendants_terminate(descendants, &never);
	ok(was_terminated(pid) == want, "%s with %d threads is%s signalled",
	    state, threads, want ? "" : " not");
	remove_stat(pid);
}

/* The first two arguments are in another order on some machines, but both are 0
 * when the exit signal is. */
static pid_t
clone_child(int exit_signal)
{
	pid_t pid = exit_signal == SIGCHLD
			? fork()
			: (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);

	if (pid == 0) {
		alarm(60);
		for (;;)
			pause();
	}
	return pid;
}

/* waitpid(2) and waitid(2) pass over a child whose exit signal is not SIGCHLD,
 * unless they get __WALL. */
static void
test_earlier(int exit_signal, const char *what)
{
	pid_t pid = clone_child(exit_signal);
	struct descendants descendants;
	int status;

	ok(descendants_open(&descendants) == 0, "%s: /proc can be read", what);
	ok(descendants.earlier.count == 1, "%s: it is noted", what);
	for (int i = 0; i < 10; i++) {
		descendants_kill(&descendants, NULL, NULL);
		usleep(10000);
	}
	ok(waitpid(pid, &status, WNOHANG | __WALL) == 0, "%s: it lives on",
	    what);
	kill(pid, SIGKILL);
	waitpid(pid, &status, __WALL);
	descendants_close(&descendants);
}

int
main(void)
{
	struct descendants descendants = {.proc = -1, .children = -1};

	test_earlier(SIGCHLD, "an earlier child");
	test_earlier(0, "an earlier child without an exit signal");
	if (mkdtemp(folder) == NULL)
		abort();
	descendants.proc = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	test_parents(&descendants, 1000, true, "an older parent");
	test_parents(&descendants, 2000, true, "a parent of the same tick");
	test_parents(&descendants, 3000, false, "a reused parent id");
	test_state(&descendants, "S", 1, true);
	test_state(&descendants, "Z", 1, false);
	test_state(&descendants, "Z", 2, true);
	descendants_close(&descendants);
	rmdir(folder);
	return tap_done();
}
