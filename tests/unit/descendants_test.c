/* Which processes a made-up /proc declares descendants: a folder stands in for
 * procfs, and real children for the processes in it. Which of them are still
 * signalled after another process may have got their id. Which children from
 * before descendants_open are spared. That a /proc which shows another
 * process's children as ours kills none of them. And that a scan which takes
 * long does not keep others alive.
 *
 * All of that again, as on a kernel without pidfds.
 */
#include "base/clock.h"
#include "job/descendants.h"
#include "job/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "refuse.h"
#include "tap.h"

static const _Atomic int64_t never = CLOCK_NEVER;
static char folder[] = "/tmp/descendants_test.XXXXXX";

static const char *
stat_path(pid_t pid)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%d", folder, (int)pid);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%d/stat", folder, (int)pid);
	return path;
}

static void
write_to(const char *path, pid_t pid, pid_t parent, const char *state,
    int threads, int started)
{
	FILE *file = fopen(path, "w");

	if (file == NULL)
		abort();
	fprintf(file,
	    "%d (a) b) %s %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %d 0 %d 0\n",
	    (int)pid, state, (int)parent, threads, started);
	fclose(file);
}

static void
write_stat(pid_t pid, pid_t parent, const char *state, int threads, int started)
{
	write_to(stat_path(pid), pid, parent, state, threads, started);
}

static void
remove_stat(pid_t pid)
{
	char path[64];

	unlink(stat_path(pid));
	snprintf(path, sizeof(path), "%s/%d", folder, (int)pid);
	rmdir(path);
}

/* Ends the test if there is no child: kill(2) of -1 would end all processes of
 * the machine. */
static pid_t
checked(pid_t pid)
{
	if (pid == -1) {
		perror("descendants_test: no child");
		exit(1);
	}
	return pid;
}

static pid_t
new_child(void)
{
	pid_t pid = checked(fork());

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

/* --- an id that is reused --------------------------------------------- */

enum { LOOKS = 3 };

/* What /proc shows of a process, from look to look. */
struct look {
	const char *state;
	int started;
};

static void
serve_look(pid_t pid, pid_t parent, const struct look *look)
{
	char next[sizeof(folder) + sizeof("/next")];
	int fd = open(stat_path(pid), O_WRONLY);
	char path[32];

	if (fd == -1)
		abort();
	/* The next one needs a pipe of its own: it could get the rest of this
	 * one's otherwise. */
	snprintf(next, sizeof(next), "%s/next", folder);
	mkfifo(next, 0600);
	rename(next, stat_path(pid));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	write_to(path, pid, parent, look->state, 1, look->started);
	close(fd);
}

/* A process that serves them, each to the one that opens the file next. */
static pid_t
serve_looks(pid_t pid, pid_t parent, const struct look *looks)
{
	pid_t server;

	unlink(stat_path(pid));
	mkfifo(stat_path(pid), 0600);
	server = checked(fork());
	if (server != 0)
		return server;
	alarm(60);
	for (int i = 0; i < LOOKS; i++)
		serve_look(pid, parent, &looks[i]);
	_exit(0);
}

/* A child that notes TERM and CONT, the lower number first, until it is asked
 * which it has got. */
struct noter {
	pid_t pid;
	int out;
};

static struct noter
new_noter(void)
{
	int ends[2];
	sigset_t noted;
	pid_t pid;
	int signo;

	sigemptyset(&noted);
	sigaddset(&noted, SIGTERM);
	sigaddset(&noted, SIGCONT);
	sigaddset(&noted, SIGRTMIN);
	if (pipe(ends) == -1)
		abort();
	sigprocmask(SIG_BLOCK, &noted, NULL);
	pid = checked(fork());
	if (pid == 0) {
		alarm(60);
		while (sigwait(&noted, &signo) == 0 && signo != SIGRTMIN)
			dprintf(ends[1], signo == SIGTERM ? "TERM " : "CONT ");
		_exit(0);
	}
	sigprocmask(SIG_UNBLOCK, &noted, NULL);
	close(ends[1]);
	return (struct noter){pid, ends[0]};
}

static const char *
end_noter(const struct noter *noter)
{
	static char text[64];
	ssize_t got;
	int status;

	kill(noter->pid, SIGRTMIN);
	waitpid(noter->pid, &status, 0);
	got = read(noter->out, text, sizeof(text) - 1);
	text[got > 0 ? got : 0] = '\0';
	close(noter->out);
	return text;
}

static bool
is_never_outdated(void *arg)
{
	(void)arg;
	return false;
}

/* The noter is a grandchild; its parent a zombie, which gets no signal. */
static void
test_reuse(const struct descendants *descendants, int signo,
    const struct look *looks, const char *want, const char *what)
{
	pid_t parent = new_child();
	struct noter noter = new_noter();
	pid_t server;
	int status;

	write_stat(parent, getpid(), "Z", 1, 1000);
	server = serve_looks(noter.pid, parent, looks);
	if (signo == SIGTERM)
		descendants_terminate(descendants, &never);
	else
		descendants_continue(descendants, &never, is_never_outdated,
		    NULL);
	is_text(end_noter(&noter), want, what);
	kill(server, SIGKILL);
	waitpid(server, &status, 0);
	kill(parent, SIGKILL);
	waitpid(parent, &status, 0);
	remove_stat(noter.pid);
	remove_stat(parent);
}

static void
test_reuses(const struct descendants *descendants)
{
	static const struct look same[] = {{"S", 2000}, {"S", 2000},
	    {"S", 2000}};
	static const struct look stopped[] = {{"T", 2000}, {"T", 2000},
	    {"T", 2000}};
	static const struct look other[] = {{"S", 2000}, {"S", 3000},
	    {"S", 3000}};
	static const struct look other_later[] = {{"T", 2000}, {"T", 2000},
	    {"T", 3000}};
	static const struct look other_stopped[] = {{"T", 2000}, {"T", 3000},
	    {"T", 3000}};

	test_reuse(descendants, SIGTERM, same, "TERM ", "the same: TERM");
	test_reuse(descendants, SIGTERM, stopped, "TERM CONT ",
	    "the same, stopped: TERM and CONT");
	test_reuse(descendants, SIGCONT, stopped, "CONT ",
	    "the same, stopped: CONT");
	test_reuse(descendants, SIGTERM, other, "", "a reused id: no TERM");
	test_reuse(descendants, SIGTERM, other_later, "TERM ",
	    "an id reused after TERM: no CONT");
	test_reuse(descendants, SIGCONT, other_stopped, "",
	    "a reused id: no CONT");
}

/* --- what /proc hides, and groups ------------------------------------- */

/* A process that is only listed among the children of its parent's thread. */
static void
test_hidden(const struct descendants *descendants)
{
	static const char *const names[] = {"", "/task", "/task/7",
	    "/task/7/children"};
	pid_t parent = new_child();
	struct noter hidden = new_noter(), other = new_noter();
	char path[64];
	FILE *file;

	write_stat(parent, getpid(), "S", 1, 1000);
	for (size_t i = 1; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%d%s", folder, (int)parent,
		    names[i]);
		mkdir(path, 0700);
	}
	snprintf(path, sizeof(path), "%s/%d%s", folder, (int)parent, names[3]);
	file = fopen(path, "w");
	fprintf(file, "%d ", (int)hidden.pid);
	fclose(file);
	descendants_terminate(descendants, &never);
	is_text(end_noter(&hidden), "TERM ", "a hidden process: TERM");
	is_text(end_noter(&other), "", "  and no other");
	ok(was_terminated(parent), "  but its parent");
	unlink(path);
	for (size_t i = 2; i > 0; i--) {
		snprintf(path, sizeof(path), "%s/%d%s", folder, (int)parent,
		    names[i]);
		rmdir(path);
	}
	remove_stat(parent);
}

static void
write_status(pid_t pid, const char *caught)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d/status", folder, (int)pid);
	file = fopen(path, "w");
	fprintf(file, "\nSigBlk:\t0\nSigIgn:\t0\nSigCgt:\t%s\n", caught);
	fclose(file);
}

/* Whether a child whose stat says group 0 is stopped with that group. If it is
 * not, it ends by TERM first. */
static void
test_group(const struct descendants *descendants, pid_t group,
    const char *caught, bool want, const char *what)
{
	pid_t pid = new_child();
	char path[64];
	int status;

	write_stat(pid, getpid(), "S", 1, 1000);
	write_status(pid, caught);
	descendants_stop_group(descendants, &never, group, SIGTSTP);
	if (!want)
		kill(pid, SIGTERM);
	ok(waitpid(pid, &status, WUNTRACED) == pid &&
		WIFSTOPPED(status) == want,
	    "%s is%s stopped", what, want ? "" : " not");
	kill(pid, SIGKILL);
	if (want)
		waitpid(pid, &status, 0);
	snprintf(path, sizeof(path), "%s/%d/status", folder, (int)pid);
	unlink(path);
	remove_stat(pid);
}

/* --- a /proc that shows another process's children --------------------- */

/* A child of a child, which lives until the pipe to it is closed. */
struct stranger {
	pid_t parent;
	pid_t pid;
	int lifeline;
};

static struct stranger
new_stranger(void)
{
	struct stranger stranger;
	int ids[2], life[2];
	char byte;

	if (pipe(ids) == -1 || pipe(life) == -1)
		abort();
	stranger.parent = checked(fork());
	if (stranger.parent == 0) {
		pid_t pid = checked(fork());
		alarm(60);
		close(life[1]);
		if (pid != 0 &&
		    write(ids[1], &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
			_exit(1);
		_exit(read(life[0], &byte, 1) == 0 ? 0 : 1);
	}
	if (read(ids[0], &stranger.pid, sizeof(stranger.pid)) !=
	    (ssize_t)sizeof(stranger.pid))
		abort();
	close(ids[0]);
	close(ids[1]);
	close(life[0]);
	stranger.lifeline = life[1];
	return stranger;
}

/* A process that a signal has ended is a zombie until its parent ends. */
static bool
lives(pid_t pid)
{
	struct process process;
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool rc;

	usleep(50000); /* a signal may be on its way */
	rc = process_read(proc, pid, &process) && process.state != 'Z';
	close(proc);
	return rc;
}

static int
list_of(pid_t pid)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/children", folder);
	file = fopen(path, "w");
	if (file == NULL)
		abort();
	fprintf(file, "%d ", (int)pid);
	fclose(file);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void
test_strangers(int proc)
{
	struct descendants descendants = {.proc = proc, .killing_since = 1};
	struct stranger stranger = new_stranger();
	char path[64];

	descendants.children = list_of(stranger.pid);
	descendants_kill(&descendants, NULL, NULL);
	ok(lives(stranger.pid), "KILL spares a stranger in the list");
	descendants_terminate(&descendants, &never);
	ok(lives(stranger.pid), "so does TERM");
	close(descendants.children);
	descendants.children = -1;
	write_stat(stranger.pid, getpid(), "S", 1, 1000);
	descendants_kill(&descendants, NULL, NULL);
	ok(lives(stranger.pid), "KILL spares a stranger whose parent we seem");
	descendants_terminate(&descendants, &never);
	ok(lives(stranger.pid), "so does TERM");
	remove_stat(stranger.pid);
	snprintf(path, sizeof(path), "%s/children", folder);
	unlink(path);
	close(stranger.lifeline);
	waitpid(stranger.parent, NULL, 0);
}

/* --- a scan that takes too long --------------------------------------- */

static void
test_deadline(const struct descendants *descendants)
{
	static const _Atomic int64_t past = 0;
	struct noter noter = new_noter();

	write_stat(noter.pid, getpid(), "T", 1, 1000);
	descendants_terminate(descendants, &past);
	descendants_continue(descendants, &past, is_never_outdated, NULL);
	is_text(end_noter(&noter), "",
	    "no process is signalled after the deadline");
	remove_stat(noter.pid);
}

/* --- children from before descendants_open ---------------------------- */

/* The first two arguments are in another order on some machines, but both are 0
 * when the exit signal is. */
static pid_t
clone_child(int exit_signal)
{
	pid_t pid = checked(exit_signal == SIGCHLD
				? fork()
				: (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0));
	if (pid == 0) {
		alarm(60);
		for (;;)
			pause();
	}
	return pid;
}

static int
lowest_free(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	close(fd);
	return fd;
}

/* waitpid(2) and waitid(2) pass over a child whose exit signal is not SIGCHLD,
 * unless they get __WALL. */
static void
test_earlier(int exit_signal, const char *what)
{
	pid_t pid = clone_child(exit_signal);
	struct descendants descendants;
	int status, lowest = lowest_free();

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
	is_int(lowest_free(), lowest, "  no descriptor is left open");
}

/* The descriptors are enough for /proc and the list of children, and no longer
 * for the scan that an earlier child makes necessary. */
static void
test_descriptors(void)
{
	pid_t pid = clone_child(SIGCHLD);
	int next = open("/", O_PATH);
	struct rlimit saved, few;
	struct descendants descendants;
	int rc, error;

	close(next);
	getrlimit(RLIMIT_NOFILE, &saved);
	few = (struct rlimit){(rlim_t)next + 2, saved.rlim_max};
	setrlimit(RLIMIT_NOFILE, &few);
	rc = descendants_open(&descendants);
	error = errno;
	setrlimit(RLIMIT_NOFILE, &saved);
	is_int(rc, -1, "out of descriptors");
	is_int(error, EMFILE, "  is the error");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	descendants_close(&descendants);
}

/* --- children that come during a scan --------------------------------- */

/* Two entries of /proc, in the order in which a scan reads them. It waits at
 * each until somebody has opened it and closed it again. */
static pid_t barriers[2];

static void
make_barriers(void)
{
	DIR *proc;
	struct dirent *entry;
	int count = 0;

	mkfifo(stat_path(1), 0600);
	mkfifo(stat_path(2), 0600);
	proc = opendir(folder);
	if (proc == NULL)
		abort();
	while (count < 2 && (entry = readdir(proc)) != NULL)
		if (entry->d_name[0] != '.')
			barriers[count++] = (pid_t)atoi(entry->d_name);
	closedir(proc);
}

/* Meets the scan at the first barrier, and is a child of reaper behind it. */
static _Noreturn void
become_child(pid_t reaper)
{
	int barrier = open(stat_path(barriers[0]), O_WRONLY);

	kill(getppid(), SIGKILL);
	while (getppid() != reaper)
		usleep(1000);
	usleep(200000); /* a scan does not look at its children all the time */
	close(barrier);
	for (;;)
		pause();
}

/* Stands for a guard: its child is reaper's once it is dead. */
static _Noreturn void
have_child(pid_t reaper)
{
	if (checked(fork()) == 0) {
		alarm(60);
		become_child(reaper);
	}
	for (;;)
		pause();
}

/* Lifts the second barrier when the other end of that pipe is closed, or after
 * ten seconds. The exit status says which. */
static _Noreturn void
await_death(int end)
{
	struct pollfd poller = {.fd = end};
	int died = poll(&poller, 1, 10000);

	close(open(stat_path(barriers[1]), O_WRONLY));
	_exit(died == 1 ? 0 : 1);
}

struct waiter {
	pid_t pid;
	int status;
};

static void
note_status(void *arg, pid_t pid, int status)
{
	struct waiter *waiter = arg;

	if (pid == waiter->pid)
		waiter->status = status;
}

static void
test_slow_scan(void)
{
	struct process spared[2] = {{0}, {0}};
	struct descendants descendants = {.killing_since = 1,
	    .earlier = {.list = spared, .count = 2, .room = 2}};
	struct waiter waiter = {.status = -1};
	pid_t self = getpid();
	int ends[2];

	descendants.children =
	    open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	if (descendants.children == -1) {
		puts("# this kernel has no lists of children");
		return;
	}
	make_barriers();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	descendants.proc = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (pipe(ends) == -1)
		abort();
	waiter.pid = checked(fork());
	if (waiter.pid == 0) {
		alarm(60);
		close(ends[1]);
		await_death(ends[0]);
	}
	spared[0].pid = waiter.pid;
	spared[1].pid = checked(fork());
	if (spared[1].pid == 0) {
		alarm(60);
		have_child(self);
	}
	close(ends[1]);
	alarm(60);
	/* Only one scan: nobody lifts the barriers again. */
	descendants_kill(&descendants, note_status, &waiter);
	while (descendants_reap(note_status, &waiter))
		usleep(10000);
	alarm(0);
	is_int(waiter.status, 0, "a new child is killed during a scan");
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	close(ends[0]);
	close(descendants.proc);
	close(descendants.children);
	remove_stat(1);
	remove_stat(2);
}

static void
test_all(void)
{
	struct descendants descendants = {.proc = -1, .children = -1};
	int lowest;

	test_earlier(SIGCHLD, "an earlier child");
	test_earlier(0, "an earlier child without an exit signal");
	test_descriptors();
	test_slow_scan();
	descendants.proc = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	lowest = lowest_free();
	test_parents(&descendants, 1000, true, "an older parent");
	test_parents(&descendants, 2000, true, "a parent of the same tick");
	test_parents(&descendants, 3000, false, "a reused parent id");
	test_state(&descendants, "S", 1, true);
	test_state(&descendants, "Z", 1, false);
	test_state(&descendants, "Z", 2, true);
	test_reuses(&descendants);
	test_hidden(&descendants);
	is_int(lowest_free(), lowest, "no descriptor is left open");
	test_group(&descendants, 0, "0", true, "one of a group");
	test_group(&descendants, 0, "80000", false, "one that catches TSTP");
	test_group(&descendants, 7, "0", false, "one of another group");
	test_deadline(&descendants);
	test_strangers(descendants.proc);
	descendants_close(&descendants);
}

int
main(void)
{
	if (mkdtemp(folder) == NULL)
		abort();
	test_all();
	puts("# pidfd_send_signal is forbidden");
	refuse_calls(SYS_pidfd_send_signal, SYS_pidfd_send_signal, EPERM);
	test_all();
	puts("# a kernel without pidfds");
	refuse_calls(SYS_pidfd_send_signal, SYS_pidfd_open, ENOSYS);
	test_all();
	puts("# pidfds are forbidden");
	refuse_calls(SYS_pidfd_send_signal, SYS_pidfd_open, EPERM);
	test_all();
	rmdir(folder);
	return tap_done();
}
