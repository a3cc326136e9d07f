#include "job/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "job/descendants.h"

/* Between two bursts of KILL when nobody dies: what is stuck in the kernel must
 * not keep us busy. */
enum { ROUND_MIN_MS = 10, ROUND_MAX_MS = 1000 };

/* A stop, the command's end, the beginning and the end of the killing. */
enum { REPORTS_MAX = 4 };

struct supervisor {
	struct supervisor_page *page;
	int sock;
	int timer;
	struct descendants descendants;
	int64_t armed_at;
	struct child *child;
	bool started;
	pid_t leader; /* the command, 0 when reaped */
	int stops;    /* of it */
	int exec_error;
	struct report reports[REPORTS_MAX]; /* not sent yet */
	size_t report_count;
};

/* A stop that was not sent yet gives way to the next one: the reports that are
 * queued can't be more than there is room for. */
static void
queue_report(struct supervisor *self, enum report_kind kind, int value)
{
	struct report *last = &self->reports[self->report_count];

	if (self->report_count > 0 && kind == REPORT_STOPPED &&
	    last[-1].kind == REPORT_STOPPED)
		last--;
	else if (self->report_count < REPORTS_MAX)
		self->report_count++;
	else
		return;
	*last = (struct report){.kind = kind,
	    .value = value,
	    .at = clock_now(),
	    .stops = self->stops};
}

/* All in one write, so that rlockrun reads them in one turn. A stream socket of
 * the unix domain takes such a small one as a whole or not at all. False when
 * it must be repeated. */
static bool
send_reports(struct supervisor *self, int flags)
{
	size_t size = self->report_count * sizeof(*self->reports);

	if (size > 0 &&
	    send(self->sock, self->reports, size, MSG_NOSIGNAL | flags) == -1 &&
	    errno != EPIPE && errno != ECONNRESET)
		return false;
	self->report_count = 0; /* nobody is there to read them after EPIPE */
	return true;
}

/* Nothing is left to guard, so this may wait until rlockrun reads. */
static _Noreturn void
leave(struct supervisor *self, enum report_kind kind, int value)
{
	queue_report(self, kind, value);
	while (!send_reports(self, 0))
		signals_await_child(ROUND_MIN_MS);
	_exit(EXIT_SUCCESS);
}

/* For descendants_kill. */
static bool
reap_dead(void *arg)
{
	pid_t pid;

	(void)arg;
	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
		;
	return pid == 0 || errno != ECHILD;
}

/* The report comes before the scan, which takes its time where many processes
 * run. The next burst begins as soon as somebody dies. */
static _Noreturn void
enforce(struct supervisor *self)
{
	int64_t pause = ROUND_MIN_MS;

	if (!self->started)
		leave(self, REPORT_LATE, 0);
	if (self->leader != 0)
		kill(self->leader, SIGKILL);
	queue_report(self, REPORT_KILLING, 0);
	send_reports(self, MSG_DONTWAIT);
	while (!descendants_kill(&self->descendants, reap_dead, NULL)) {
		signals_await_child(pause);
		pause = pause * 2 < ROUND_MAX_MS ? pause * 2 : ROUND_MAX_MS;
		send_reports(self, MSG_DONTWAIT);
	}
	leave(self, REPORT_ENFORCED, 0);
}

static void
arm(struct supervisor *self)
{
	int64_t at = self->page->deadline;
	struct itimerspec spec = {{0, 0}, {0, 0}};

	if (at == self->armed_at)
		return;
	self->armed_at = at;
	if (at != CLOCK_NEVER) {
		spec.it_value.tv_sec = at / 1000;
		spec.it_value.tv_nsec = (long)(at % 1000) * 1000000;
	}
	timerfd_settime(self->timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* Only what we need stays: a pipe to a pager, the server's connection and a
 * deleted log file must not be held open by us. The standard descriptors were
 * the job's, so their numbers come first. */
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
	close_range((unsigned)next, ~0U, 0);
}

static _Noreturn void
become_job(struct supervisor *self, pid_t guard)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == guard)
		self->exec_error = child_exec(self->child);
	_exit(EXIT_FAILURE);
}

/* What a terminal has sent to the whole group, us among them: there was no job
 * yet that could have got it. What somebody sends to us alone is nobody's. */
static void
take_from_terminal(sigset_t *taken)
{
	const struct timespec now = {0, 0};
	sigset_t all;
	siginfo_t info;

	sigemptyset(taken);
	sigfillset(&all);
	sigdelset(&all, SIGCHLD);
	while (sigtimedwait(&all, &info, &now) > 0)
		if (info.si_code == SI_KERNEL)
			sigaddset(taken, info.si_signo);
}

static void
pass_on(const sigset_t *taken, pid_t leader)
{
	for (int signo = 1; signo < NSIG; signo++)
		if (sigismember(taken, signo) == 1)
			kill(leader, signo);
}

/* Until the job is another program it runs in our memory while we wait: nothing
 * is copied for it, and it tells why exec failed by writing it down. */
static void
start_job(struct supervisor *self)
{
	pid_t guard = getpid();
	sigset_t early;

	arm(self);
	if (clock_now() >= self->page->deadline)
		leave(self, REPORT_LATE, 0);
	take_from_terminal(&early);
	/* NOLINTBEGIN(*-unix.Vfork, *insecureAPI.vfork): it never returns from
	 * here, and writes only what we read afterwards */
	self->leader = vfork();
	if (self->leader == 0)
		become_job(self, guard);
	/* NOLINTEND(*-unix.Vfork, *insecureAPI.vfork) */
	if (self->leader == -1)
		leave(self, REPORT_FAILED, errno);
	if (self->exec_error != 0) {
		waitpid(self->leader, NULL, 0);
		leave(self, REPORT_NOT_RUN, self->exec_error);
	}
	self->started = true;
	pass_on(&early, self->leader);
	/* The job has our session and terminal now; nothing of them is ours. */
	setsid();
	close_others(self);
}

static void
take_env(struct supervisor *self, size_t length)
{
	char *entries = malloc(length + 1);

	if (entries == NULL)
		leave(self, REPORT_FAILED, errno);
	if (length > 0 &&
	    recv(self->sock, entries, length, MSG_WAITALL) != (ssize_t)length)
		enforce(self); /* rlockrun is gone */
	child_add_env(self->child, entries, length);
}

static void
on_leader(struct supervisor *self, int status)
{
	if (WIFCONTINUED(status)) {
		kill(getppid(), SIGCONT); /* it may have followed */
	} else if (WIFSTOPPED(status)) {
		self->stops++;
		queue_report(self, REPORT_STOPPED, self->leader);
	} else {
		self->leader = 0;
		queue_report(self, REPORT_ENDED, status);
	}
}

/* That the command has ended and that it left nothing goes out in one write:
 * between the two rlockrun would set out to end what isn't there. */
static void
reap(struct supervisor *self)
{
	const int how = WNOHANG | WUNTRACED | WCONTINUED | __WALL;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, how)) > 0)
		if (pid == self->leader)
			on_leader(self, status);
	if (pid == -1 && errno == ECHILD)
		leave(self, REPORT_GONE, 0);
	send_reports(self, MSG_DONTWAIT);
}

static void
obey(struct supervisor *self)
{
	struct order order;
	sigset_t over; /* a Ctrl-Z that has been dealt with */
	ssize_t got = recv(self->sock, &order, sizeof(order), MSG_DONTWAIT);

	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got != sizeof(order)) /* rlockrun is gone */
		enforce(self);
	switch (order.kind) {
	case ORDER_LOOK:
		break;
	case ORDER_GO:
		take_env(self, (size_t)order.value);
		start_job(self);
		break;
	case ORDER_SIGNAL:
		if (self->leader != 0)
			kill(self->leader, order.value);
		break;
	case ORDER_CONTINUE:
		if (!self->started)
			take_from_terminal(&over);
		else
			reap(self); /* a stop may be waiting there */
		if (order.value == self->stops)
			descendants_signal(&self->descendants, SIGCONT);
		break;
	case ORDER_TERMINATE:
		descendants_signal(&self->descendants, SIGTERM);
		break;
	}
}

static void
wait_for_events(struct supervisor *self, const sigset_t *mask)
{
	bool unsent = self->report_count > 0;
	struct pollfd polled[] = {{.fd = self->sock,
				      .events =
					  unsent ? POLLIN | POLLOUT : POLLIN},
	    {.fd = self->timer, .events = POLLIN}};

	if (ppoll(polled, 2, NULL, mask) <= 0)
		return;
	if (polled[1].revents != 0)
		self->armed_at = 0;
	if (polled[0].revents & ~POLLOUT)
		obey(self);
}

/* Renewals move the deadline without a word to us: when the old one comes, we
 * look and sleep on. */
static _Noreturn void
stand_watch(struct supervisor *self)
{
	sigset_t but_chld;

	sigfillset(&but_chld);
	sigdelset(&but_chld, SIGCHLD);
	for (;;) {
		arm(self);
		if (clock_now() >= self->page->deadline)
			enforce(self);
		if (self->started)
			reap(self);
		wait_for_events(self, &but_chld);
	}
}

static void
on_sigchld(int signo)
{
	(void)signo; /* it only has to end ppoll(2) */
}

/* All that can fail comes before the job. */
static int
prepare(struct supervisor *self)
{
	struct sigaction action = {.sa_handler = on_sigchld};

	self->armed_at = CLOCK_NEVER;
	self->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	if (self->timer == -1 || descendants_open(&self->descendants) == -1 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1) == -1 ||
	    close_range(~0U, ~0U, 0) == -1) /* is there such a call? */
		return -1;
	/* When we are stopped, rlockrun's end has to wake us. */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	return sigaction(SIGCHLD, &action, NULL);
}

/* A connection that rlockrun gives up must not live on in us, and our own copy
 * of its end of the socket would hide its death. What is rlockrun's is
 * close-on-exec, the rest is for the job, and our socket was made last. */
static void
close_ours(int sock)
{
	for (int fd = STDERR_FILENO + 1; fd < sock; fd++) {
		int flags = fcntl(fd, F_GETFD);
		if (flags != -1 && (flags & FD_CLOEXEC))
			close(fd);
	}
}

void
supervisor_main(struct supervisor_page *page, int sock, struct child *child)
{
	struct supervisor self = {.page = page,
	    .sock = sock,
	    .descendants = {.proc = -1, .children = -1},
	    .child = child};

	mem_wipe_stack();
	prctl(PR_SET_NAME, "rlockrun-guard");
	close_ours(sock);
	if (prepare(&self) == -1)
		leave(&self, REPORT_FAILED, errno);
	stand_watch(&self);
}
