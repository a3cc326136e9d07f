#include "watch.h"

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

#include "clock.h"
#include "tree.h"

/* Between two rounds of KILL when nobody dies: what is stuck in the kernel must
 * not keep us busy. */
enum { ROUND_MIN_MS = 10, ROUND_MAX_MS = 1000 };

struct watch {
	struct watch_page *page;
	int sock;
	int timer;
	int64_t armed_at;
	pid_t leader; /* the command, 0 when reaped */
};

static void
report(const struct watch *watch, enum watch_report_kind kind, int value)
{
	const struct watch_report word = {kind, value, clock_now()};

	send(watch->sock, &word, sizeof(word), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* While it waits, a job must not hold a connection open that rlockrun has given
 * up. Ours are close-on-exec, what was inherited is not, and the pipe was made
 * last. */
static void
close_ours(int go)
{
	for (int fd = STDERR_FILENO + 1; fd <= go + 1; fd++) {
		int flags = fd == go ? -1 : fcntl(fd, F_GETFD);
		if (flags != -1 && (flags & FD_CLOEXEC))
			close(fd);
	}
}

static _Noreturn void
become_job(const struct watch *watch, struct child *child, int go, pid_t guard)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close_ours(go);
	if (getppid() != guard || !child_await(child, go))
		_exit(EXIT_FAILURE);
	if (clock_now() >= watch->page->deadline)
		watch->page->late = true;
	else
		watch->page->exec_error = child_exec(child);
	_exit(EXIT_FAILURE);
}

/* False when no child is left. */
static bool
reap_dead(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		;
	return pid == 0;
}

/* Until somebody dies, at most that long. */
static void
await_death(int64_t ms)
{
	const struct timespec timeout = {ms / 1000,
	    (long)(ms % 1000) * 1000000};
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigtimedwait(&chld, NULL, &timeout);
}

/* The command first: finding the others takes its time where many processes
 * run. Whoever forks while we look is met in the next round, which begins as
 * soon as somebody dies. */
static _Noreturn void
enforce(const struct watch *watch)
{
	int64_t pause = ROUND_MIN_MS;

	if (watch->leader != 0)
		kill(watch->leader, SIGKILL);
	do {
		tree_signal(getpid(), 0, SIGKILL);
		await_death(pause);
		pause = pause * 2 < ROUND_MAX_MS ? pause * 2 : ROUND_MAX_MS;
	} while (reap_dead());
	report(watch, WATCH_REPORT_ENFORCED, 0);
	_exit(EXIT_SUCCESS);
}

/* That the command has ended and that it left nothing is told in one breath:
 * between the two rlockrun would set out to end what isn't there. */
static void
reap(struct watch *watch)
{
	struct watch_report words[2];
	size_t count = 0;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != watch->leader)
			continue;
		watch->leader = 0;
		words[count++] = (struct watch_report){WATCH_REPORT_ENDED,
		    status, clock_now()};
	}
	if (pid == -1 && errno == ECHILD)
		words[count++] =
		    (struct watch_report){WATCH_REPORT_GONE, 0, clock_now()};
	if (count == 0)
		return;
	send(watch->sock, words, count * sizeof(*words),
	    MSG_NOSIGNAL | MSG_DONTWAIT);
	if (words[count - 1].kind == WATCH_REPORT_GONE)
		_exit(EXIT_SUCCESS);
}

static void
obey(struct watch *watch)
{
	struct watch_order order;
	ssize_t got = recv(watch->sock, &order, sizeof(order), MSG_DONTWAIT);

	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got != sizeof(order)) /* rlockrun is gone */
		enforce(watch);
	if (order.kind == WATCH_ORDER_SIGNAL && watch->leader != 0)
		kill(watch->leader, order.signo);
	else if (order.kind == WATCH_ORDER_CONTINUE && watch->leader != 0 &&
		 tree_is_stopped(watch->leader))
		kill(watch->leader, SIGCONT);
	else if (order.kind == WATCH_ORDER_TERMINATE)
		tree_signal(getpid(), 0, SIGTERM);
}

static void
arm(struct watch *watch)
{
	int64_t at = watch->page->deadline;
	struct itimerspec spec = {{0, 0}, {0, 0}};

	if (at == watch->armed_at)
		return;
	watch->armed_at = at;
	if (at != CLOCK_NEVER) {
		spec.it_value.tv_sec = at / 1000;
		spec.it_value.tv_nsec = (long)(at % 1000) * 1000000;
	}
	timerfd_settime(watch->timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* Renewals move the deadline without a word to us: when the old one comes, we
 * look and sleep on. */
static _Noreturn void
stand_watch(struct watch *watch)
{
	struct pollfd polled[] = {{.fd = watch->sock, .events = POLLIN},
	    {.fd = watch->timer, .events = POLLIN}};
	sigset_t but_chld;

	sigfillset(&but_chld);
	sigdelset(&but_chld, SIGCHLD);
	for (;;) {
		arm(watch);
		if (clock_now() >= watch->page->deadline)
			enforce(watch);
		reap(watch);
		if (ppoll(polled, 2, NULL, &but_chld) > 0 &&
		    polled[0].revents != 0)
			obey(watch);
		if (polled[1].revents != 0)
			watch->armed_at = 0;
	}
}

static void
on_sigchld(int signo)
{
	(void)signo; /* it only has to end ppoll(2) */
}

/* All that can fail comes before the job is forked. */
static int
prepare(struct watch *watch)
{
	struct sigaction action = {.sa_handler = on_sigchld};

	watch->armed_at = CLOCK_NEVER;
	watch->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
	if (watch->timer == -1 || tree_check() == -1 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1) == -1 ||
	    close_range(~0U, ~0U, 0) == -1) /* is there such a call? */
		return -1;
	/* When we are stopped, rlockrun's end has to wake us. */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	return sigaction(SIGCHLD, &action, NULL);
}

/* Only its socket and its timer stay: a pipe to a pager, the server's
 * connection and a deleted log file must not be held open by us. */
static void
close_others(int a, int b)
{
	unsigned low = (unsigned)(a < b ? a : b);
	unsigned high = (unsigned)(a < b ? b : a);

	close_range(0, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0U, 0);
}

void
watch_main(struct watch_page *page, int sock, struct child *child, int go)
{
	struct watch watch = {.page = page, .sock = sock};
	pid_t self = getpid();

	if (prepare(&watch) == -1 || (watch.leader = fork()) == -1) {
		report(&watch, WATCH_REPORT_FAILED, errno);
		_exit(EXIT_FAILURE);
	}
	if (watch.leader == 0)
		become_job(&watch, child, go, self);
	page->leader = watch.leader;
	prctl(PR_SET_NAME, "rlockrun-guard");
	/* The job has our session and terminal now; nothing of them is ours. */
	setsid();
	close_others(watch.sock, watch.timer);
	stand_watch(&watch);
}
