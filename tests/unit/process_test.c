/* What is read of a process, in a folder that stands for /proc. */
#include "job/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define STAT "(a) b) S 5 6 7 0 -1 0 0 0 0 0 1 2 0 0 20 0 3 0 44 0\n"
#define QUIET "Name:\ta\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\t0\n"

static char folder[] = "/tmp/process-XXXXXX";
static int proc;

static void
put(pid_t pid, const char *name, const char *text)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%d", (int)pid);
	mkdirat(proc, path, 0700);
	snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
	fd = openat(proc, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd == -1 || write(fd, text, strlen(text)) == -1)
		abort();
	close(fd);
}

static void
test_stat(void)
{
	struct process process = {.pid = 0};

	put(4, "stat", "4 " STAT);
	ok(process_read(proc, 4, &process), "a process");
	is_int(process.state, 'S', "  its state");
	is_int(process.parent, 5, "  its parent");
	is_int(process.group, 6, "  its group");
	is_int(process.threads, 3, "  its threads");
	is_int((int64_t)process.started, 44, "  its start");
	ok(!process_read(proc, 3, &process), "none");
	put(4, "stat", "");
	ok(!process_read(proc, 4, &process), "one that ends meanwhile");
	put(4, "stat", "4 (a");
	ok(!process_read(proc, 4, &process), "half a text");
	put(4, "stat", "4 (a) ");
	ok(!process_read(proc, 4, &process), "one without a state");
	put(4, "stat", "4 (a) R\n");
	ok(process_read(proc, 4, &process), "nothing behind it");
	is_int(process.parent, 0, "  no parent");
	is_int(process.group, 0, "  no group");
	put(4, "stat", "4 " STAT);
	close(STDIN_FILENO); /* a process may have been started without it */
	ok(process_read(proc, 4, &process), "by descriptor 0");
	put(4, "stat", ")");
	ok(!process_read(proc, 4, &process), "no more than a name");
	is_int(process.parent, 5, "  nothing is changed");
}

static void
test_signals(void)
{
	static const struct {
		const char *text, *what;
		bool expected;
	} rows[] = {
	    {QUIET, "it takes the default action", true},
	    {"SigBlk:\t0\n", "a text without the signals", false},
	    {"\nSigBlk:\t4000\nSigIgn:\t0\nSigCgt:\t0\n", "blocked", false},
	    {"\nSigBlk:\t0\nSigIgn:\t4000\nSigCgt:\t0\n", "ignored", false},
	    {"\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\t4000\n", "caught", false},
	    {"\nSigBlk:\t2000\nSigIgn:\t8000\nSigCgt:\t0\n", "others", true},
	    {"", "nothing", false},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		put(4, "status", rows[i].text);
		is_int(process_takes_default(proc, 4, 15), rows[i].expected,
		    rows[i].what);
	}
	put(4, "status", QUIET);
	ok(process_takes_default(proc, 4, 15), "  again");
	ok(!process_takes_default(proc, 3, 15), "no process");
}

/* Whether a process so many forks below this one, of that name, finds the pid
 * above. */
static bool
finds_above(int depth, const char *name, pid_t pid)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_NAME, name);
		_exit(depth > 1 ? finds_above(depth - 1, name, pid)
				: process_is_above(pid));
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static void
test_ancestors(void)
{
	pid_t own = getpid();

	prctl(PR_SET_NAME, "above");
	ok(finds_above(1, "above", own), "the parent");
	ok(finds_above(3, "above", own), "its parent's parent");
	ok(!finds_above(1, "below", own), "one of another name");
	/* An emulated test is the init of a namespace. */
	ok(own == 1 || !finds_above(1, "above", 1), "init has another name");
	ok(!process_is_above(own), "not itself");
	ok(!finds_above(1, "above", 999999999), "no process");
}

static void
test_children(void)
{
	pid_t child = fork();
	int held, status;

	if (child == 0) {
		alarm(60);
		for (;;)
			pause();
	}
	ok(process_is_child(child), "a child");
	ok(!process_is_child(getpid()), "no child");
	held = process_hold(child);
	is_int(held >= 0, process_has_pidfds(), "it is held by a pidfd");
	ok(held >= 0 || held == PROCESS_UNHELD, "  or not");
	process_signal(held, child, SIGTERM);
	waitpid(child, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "signalled");
	ok(!process_is_child(child), "no longer a child");
	if (held >= 0) /* nobody else is signalled */
		process_signal(held, getpid(), SIGTERM);
	process_release(held);
	process_release(PROCESS_UNHELD);
	ok(held < 0 || fcntl(held, F_GETFD) == -1, "released");
	child = fork();
	if (child == 0) {
		alarm(60);
		for (;;)
			pause();
	}
	process_signal(PROCESS_UNHELD, child, SIGKILL);
	waitpid(child, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "by its id");
}

int
main(void)
{
	char command[64];

	if (mkdtemp(folder) == NULL)
		return 1;
	proc = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_stat();
	test_signals();
	test_ancestors();
	test_children();
	snprintf(command, sizeof(command), "rm -r %s", folder);
	ok(system(command) == 0, "removed");
	return tap_done();
}
