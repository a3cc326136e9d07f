#include "job/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/secret.h"
#include "job/descendants.h"
#include "job/signals.h"

/* Between two bursts of KILL when nothing dies: a process stuck in the kernel
 * must not keep us busy. */
enum { ROUND_MIN_MS = 20, ROUND_MAX_MS = 1000 };

/* More than the job's variables need, but with many or long names of locks. */
enum { ENTRIES_ROOM = 2048 };

struct supervisor {
	struct job job;
	bool unreported; /* rlockrun has not got the facts as they are now */
	struct supervisor_page *page;
	int sock;
	int timer;
	int last_descriptor; /* of descriptors_find_last, before the job */
	struct descendants descendants;
	int64_t armed_at;
	int handled_stops; /* of the job's, those that rlockrun has acted on */
	struct child *child;
	char *entries; /* ENTRIES_ROOM bytes */
};

/* A stream socket of the unix domain takes so few bytes as a whole or not at
 * all. False if rlockrun has to read first. After EPIPE nobody is left to read.
 */
static bool
report(struct supervisor *self, int flags)
{
	if (self->unreported &&
	    send(self->sock, &self->job, sizeof(self->job),
		MSG_NOSIGNAL | flags) == -1 &&
	    errno != EPIPE && errno != ECONNRESET)
		return false;
	self->unreported = false;
	return true;
}

/* Nothing is left to guard, so this may wait until rlockrun reads. */
static _Noreturn void
exit_with(struct supervisor *self, enum job_state state)
{
	self->job.state = state;
	self->job.gone_at = clock_now();
	self->unreported = true;
	while (!report(self, 0))
		signals_await_child(ROUND_MIN_MS);
	_exit(EXIT_SUCCESS);
}

static _Noreturn void
exit_failed(struct supervisor *self)
{
	self->job.error = errno;
	exit_with(self, JOB_FAILED);
}

/* The next burst begins as soon as a child ends. */
static _Noreturn void
kill_job(struct supervisor *self)
{
	int64_t pause = ROUND_MIN_MS;

	if (self->job.state == JOB_PENDING)
		exit_with(self, JOB_LATE);
	if (self->job.leader != 0)
		kill(self->job.leader, SIGKILL);
	self->job.state = JOB_KILLING;
	self->unreported = true;
	report(self, MSG_DONTWAIT);
	while (!descendants_kill(&self->descendants, NULL, NULL)) {
		if (!signals_await_child(pause))
			pause = clock_min(pause * 2, ROUND_MAX_MS);
		report(self, MSG_DONTWAIT);
	}
	exit_with(self, JOB_KILLED);
}

static void
arm(struct supervisor *self)
{
	int64_t at = self->page->deadline;

	if (at != self->armed_at)
		clock_arm(self->timer, at);
	self->armed_at = at;
}

/* The guard must not hold a pipe to a pager, a connection or a deleted log file
 * open: only its own descriptors stay. The standard ones were the job's, so
 * theirs are the first numbers to be reused. */
static void
close_others(struct supervisor *self)
{
	int *const kept[] = {&self->timer, &self->descendants.proc, &self->sock,
	    &self->descendants.children};
	const int count = sizeof(kept) / sizeof(*kept);
	int next = 0;

	for (int i = 0; i < count; i++)
		if (*kept[i] != -1)
			*kept[i] = dup2(*kept[i], next++);
	descriptors_close(next, self->last_descriptor);
}

/* Signals that a terminal sent to the whole process group before the job could
 * receive them. A signal sent only to the guard is ignored. */
static void
take_from_terminal(sigset_t *taken)
{
	const struct timespec now = {0, 0};
	sigset_t all;
	siginfo_t info;

	sigemptyset(taken);
	signals_fill(&all);
	sigdelset(&all, SIGCHLD);
	while (sigtimedwait(&all, &info, &now) > 0)
		if (info.si_code == SI_KERNEL)
			sigaddset(taken, info.si_signo);
}

static void
on_command_end(struct supervisor *self, int status)
{
	self->job.leader = 0;
	self->job.ended = true;
	self->job.status = status;
	self->job.ended_at = clock_now();
	self->unreported = true;
}

/* vfork(2): until the job is another program it runs in our memory while we
 * wait. Nothing is copied for it, and it can store why exec failed. */
static void
start_job(struct supervisor *self)
{
	pid_t guard = getpid();
	sigset_t early;
	int status;

	arm(self);
	if (clock_now() >= self->page->deadline)
		exit_with(self, JOB_LATE);
	take_from_terminal(&early);
	/* NOLINTBEGIN(*-unix.Vfork, *insecureAPI.vfork): it never returns from
	 * here, and writes only what we read afterwards */
	self->job.leader = vfork();
	if (self->job.leader == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == guard)
			self->job.exec_error = child_exec(self->child);
		_exit(EXIT_FAILURE);
	}
	/* NOLINTEND(*-unix.Vfork, *insecureAPI.vfork) */
	if (self->job.leader == -1)
		exit_failed(self);
	if (self->job.exec_error != 0) {
		waitpid(self->job.leader, &status, 0);
		on_command_end(self, status);
		exit_with(self, JOB_GONE);
	}
	self->job.state = JOB_RUNNING;
	for (int signo = 1; signo < NSIG; signo++)
		if (sigismember(&early, signo) == 1)
			kill(self->job.leader, signo);
	/* The session and the terminal are the job's now. */
	setsid();
	close_others(self);
}

static void
read_env(struct supervisor *self, size_t length)
{
	char *entries = self->entries;
	ssize_t got;

	if (length > ENTRIES_ROOM && (entries = malloc(length)) == NULL)
		exit_failed(self);
	got = recv(self->sock, entries, length, MSG_WAITALL);
	if (got == -1)
		exit_failed(self);
	if (got != (ssize_t)length)
		kill_job(self); /* rlockrun has ended */
	child_add_env(self->child, entries, length);
}

static void
on_command_change(void *arg, pid_t pid, int status)
{
	struct supervisor *self = arg;

	if (pid != self->job.leader)
		return;
	if (WIFCONTINUED(status)) {
		kill(getppid(), SIGCONT); /* it may have followed */
	} else if (WIFSTOPPED(status)) {
		self->job.stops++;
		self->unreported = true;
	} else {
		on_command_end(self, status);
	}
}

/* One report says that the command has ended and that nothing is left: between
 * two, rlockrun would begin to end what does not exist. */
static void
reap(struct supervisor *self)
{
	if (!descendants_reap(on_command_change, self))
		exit_with(self, JOB_GONE);
	report(self, MSG_DONTWAIT);
}

static bool
is_stopped_again(void *arg)
{
	struct supervisor *self = arg;

	reap(self);
	return self->job.stops != self->handled_stops;
}

/* The parent of that group's leader is this process, in another session, so the
 * kernel takes the group for orphaned: its processes catch the stop signals of
 * a terminal, but do not stop by them. */
static void
signal_group(struct supervisor *self, int signo)
{
	pid_t leader = self->job.leader;

	if (leader == 0 || getpgid(leader) != leader)
		return;
	kill(-leader, signo);
	if (signals_default_action(signo) != SIGNALS_STOP)
		return;
	self->job.suspended = true;
	descendants_stop_group(&self->descendants, &self->page->deadline,
	    leader, signo);
}

/* A group that we have stopped is continued as a whole, as by a shell: one of
 * its processes that has not run since does not look stopped, and will stop. */
static void
continue_job(struct supervisor *self)
{
	pid_t leader = self->job.leader;
	bool suspended = self->job.suspended;

	self->job.suspended = false;
	if (suspended && leader != 0 && getpgid(leader) == leader &&
	    !is_stopped_again(self))
		kill(-leader, SIGCONT);
	descendants_continue(&self->descendants, &self->page->deadline,
	    is_stopped_again, self);
}

static void
obey(struct supervisor *self)
{
	struct order order;
	sigset_t outdated; /* a Ctrl-Z that rlockrun has acted on */
	ssize_t got = recv(self->sock, &order, sizeof(order), MSG_DONTWAIT);

	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got == -1 && self->job.state == JOB_PENDING)
		exit_failed(self);
	if (got != sizeof(order)) /* rlockrun has ended */
		kill_job(self);
	switch (order.kind) {
	case ORDER_CHECK_DEADLINE:
		break;
	case ORDER_START:
		read_env(self, (size_t)order.value);
		start_job(self);
		break;
	case ORDER_SIGNAL:
		if (self->job.leader != 0)
			kill(self->job.leader, order.value);
		break;
	case ORDER_SIGNAL_GROUP:
		signal_group(self, order.value);
		break;
	case ORDER_CONTINUE:
		self->handled_stops = order.value;
		if (self->job.state == JOB_PENDING)
			take_from_terminal(&outdated);
		else
			continue_job(self);
		break;
	case ORDER_TERMINATE:
		/* At the deadline there is nothing left to ask. */
		descendants_terminate(&self->descendants,
		    &self->page->deadline);
		break;
	}
}

/* A renewal moves the deadline without an order: at the old one the guard wakes
 * up, looks and sleeps again. */
static _Noreturn void
supervise(struct supervisor *self)
{
	struct pollfd polled[2];
	sigset_t but_chld;

	signals_fill(&but_chld);
	sigdelset(&but_chld, SIGCHLD);
	for (;;) {
		arm(self);
		if (clock_now() >= self->page->deadline)
			kill_job(self);
		if (self->job.state == JOB_RUNNING)
			reap(self);
		polled[0] = (struct pollfd){.fd = self->sock,
		    .events = self->unreported ? POLLIN | POLLOUT : POLLIN};
		polled[1] =
		    (struct pollfd){.fd = self->timer, .events = POLLIN};
		if (ppoll(polled, 2, NULL, &but_chld) <= 0)
			continue;
		if (polled[0].revents & ~POLLOUT)
			obey(self);
	}
}

static void
on_sigchld(int signo)
{
	(void)signo; /* it only has to end ppoll(2) */
}

/* A connection that rlockrun closes must not stay open here, and a copy of its
 * end of the socket would hide its death. rlockrun's descriptors are
 * close-on-exec, and have lower numbers than our socket: they were opened
 * before it, and what was closed since has left room for no more than its other
 * end. The rest is for the job. */
static void
close_ours(int sock)
{
	for (int fd = STDERR_FILENO + 1; fd < sock; fd++) {
		int flags = fcntl(fd, F_GETFD);
		if (flags != -1 && (flags & FD_CLOEXEC))
			close(fd);
	}
}

/* All that can fail comes before the job. What needs memory comes before the
 * lock is granted: nobody else has it while the job starts. */
void
supervisor_main(struct supervisor_page *page, int sock, struct child *child)
{
	struct sigaction action = {.sa_handler = on_sigchld};
	struct supervisor self = {.page = page,
	    .sock = sock,
	    .descendants = {.proc = -1, .children = -1},
	    .armed_at = CLOCK_NEVER,
	    .child = child};

	secret_wipe_stack();
	/* A process of the same user that ends all whose environment it can
	 * read must not find the guard, too: the job would outlive both. */
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "rlockrun-guard");
	/* If we are stopped, rlockrun's end must continue us. */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	close_ours(sock);
	if ((self.entries = malloc(ENTRIES_ROOM)) == NULL ||
	    child_prepare_env(child) == -1 ||
	    (self.timer = clock_timer()) == -1 ||
	    descendants_open(&self.descendants) == -1 ||
	    descendants_adopt_orphans() == -1 ||
	    (self.last_descriptor = descriptors_find_last()) == -1 ||
	    sigaction(SIGCHLD, &action, NULL) == -1)
		exit_failed(&self);
	supervise(&self);
}
