#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "tree.h"

/* Shared by rlockrun, which alone writes the deadline, and the guard; the job
 * leaves a word in it when exec fails. */
struct guard_page {
	_Atomic int64_t deadline;
	_Atomic pid_t leader;
	_Atomic int exec_error;
	_Atomic bool late;
};

/* Between two rounds of KILL when nobody dies: what is stuck in the kernel must
 * not keep us busy. */
enum { ROUND_MIN_MS = 10, ROUND_MAX_MS = 1000 };

enum order_kind {
	ORDER_LOOK,
	ORDER_SIGNAL,
	ORDER_CONTINUE,
	ORDER_TERMINATE,
};

struct order {
	enum order_kind kind;
	int signo;
};

enum report_kind { REPORT_FAILED, REPORT_ENDED, REPORT_GONE, REPORT_ENFORCED };

struct report {
	enum report_kind kind;
	int value; /* errno or wait status */
	int64_t at;
};

/* --- the guard's own process ------------------------------------------ */

struct watch {
	struct guard_page *page;
	int sock;
	int timer;
	int64_t armed_at;
	pid_t leader; /* the command, 0 when reaped */
};

static void
report(const struct watch *watch, enum report_kind kind, int value)
{
	const struct report word = {kind, value, clock_now()};

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
 * run. Orphans become our children, and these alone are found so quickly that
 * a chain of processes that fork and exit doesn't run away from us for long.
 * Whoever was missed is met in the next round. */
static _Noreturn void
enforce(const struct watch *watch)
{
	int64_t pause = ROUND_MIN_MS;

	if (watch->leader != 0)
		kill(watch->leader, SIGKILL);
	do {
		tree_signal(getpid(), 0, SIGKILL);
		tree_kill_children();
		await_death(pause);
		pause = pause * 2 < ROUND_MAX_MS ? pause * 2 : ROUND_MAX_MS;
	} while (reap_dead());
	report(watch, REPORT_ENFORCED, 0);
	_exit(EXIT_SUCCESS);
}

/* That the command has ended and that it left nothing is told in one breath:
 * between the two rlockrun would set out to end what isn't there. */
static void
reap(struct watch *watch)
{
	struct report words[2];
	size_t count = 0;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != watch->leader)
			continue;
		watch->leader = 0;
		words[count++] =
		    (struct report){REPORT_ENDED, status, clock_now()};
	}
	if (pid == -1 && errno == ECHILD)
		words[count++] = (struct report){REPORT_GONE, 0, clock_now()};
	if (count == 0)
		return;
	send(watch->sock, words, count * sizeof(*words),
	    MSG_NOSIGNAL | MSG_DONTWAIT);
	if (words[count - 1].kind == REPORT_GONE)
		_exit(EXIT_SUCCESS);
}

static void
obey(struct watch *watch)
{
	struct order order;
	ssize_t got = recv(watch->sock, &order, sizeof(order), MSG_DONTWAIT);

	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got != sizeof(order)) /* rlockrun is gone */
		enforce(watch);
	if (order.kind == ORDER_SIGNAL && watch->leader != 0)
		kill(watch->leader, order.signo);
	else if (order.kind == ORDER_CONTINUE && watch->leader != 0 &&
		 tree_is_stopped(watch->leader))
		kill(watch->leader, SIGCONT);
	else if (order.kind == ORDER_TERMINATE)
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
prepare_watch(struct watch *watch)
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

static _Noreturn void
guard_main(struct watch *watch, struct child *child, int go)
{
	pid_t self = getpid();

	if (prepare_watch(watch) == -1 || (watch->leader = fork()) == -1) {
		report(watch, REPORT_FAILED, errno);
		_exit(EXIT_FAILURE);
	}
	if (watch->leader == 0)
		become_job(watch, child, go, self);
	watch->page->leader = watch->leader;
	prctl(PR_SET_NAME, "rlockrun-guard");
	/* The job has our session and terminal now; nothing of them is ours. */
	setsid();
	close_others(watch->sock, watch->timer);
	stand_watch(watch);
}

/* --- rlockrun's side -------------------------------------------------- */

static void
take_report(struct guard *guard, const struct report *word)
{
	switch (word->kind) {
	case REPORT_FAILED:
		guard->failed = word->value;
		break;
	case REPORT_ENDED:
		guard->ended = true;
		guard->status = word->value;
		guard->ended_at = word->at;
		guard->exec_error = guard->page->exec_error;
		guard->late = guard->page->late;
		break;
	case REPORT_GONE:
		guard->gone = true;
		guard->gone_at = word->at;
		break;
	case REPORT_ENFORCED:
		guard->enforced = true;
		guard->gone_at = word->at;
		break;
	}
}

static void
stop_listening(struct guard *guard)
{
	loop_remove(guard->loop, &guard->sock);
	if (guard->sock.fd != -1)
		close(guard->sock.fd);
	guard->sock.fd = -1;
}

static void
on_report(void *arg, short revents)
{
	struct guard *guard = arg;
	struct report words[4];
	ssize_t got = recv(guard->sock.fd, words, sizeof(words), MSG_DONTWAIT);

	(void)revents;
	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	for (ssize_t i = 0; i < got / (ssize_t)sizeof(*words); i++)
		take_report(guard, &words[i]);
	if (got > 0)
		return;
	stop_listening(guard);
	guard->died = !guard->failed && !guard->gone && !guard->enforced;
	if (guard->died)
		guard_on_sigchld(guard);
}

static struct guard_page *
new_page(void)
{
	struct guard_page *page = mmap(NULL, sizeof(*page),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	page->deadline = CLOCK_NEVER;
	return page;
}

int
guard_start(struct guard *guard, struct loop *loop, struct child *child)
{
	int socks[2];
	int go[2];
	struct watch watch;

	*guard = (struct guard){.loop = loop,
	    .deadline = CLOCK_NEVER,
	    .sock.fd = -1,
	    .started_at = clock_now()};
	guard->page = new_page();
	if (guard->page == NULL || prctl(PR_SET_CHILD_SUBREAPER, 1) == -1 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) == -1)
		return -1;
	guard->sock = (struct loop_fd){.fd = socks[0],
	    .events = POLLIN,
	    .on_ready = on_report,
	    .arg = guard};
	loop_add(loop, &guard->sock);
	if (pipe2(go, O_CLOEXEC) == -1)
		return -1;
	guard->go = go[1];
	guard->pid = fork();
	if (guard->pid == 0) {
		/* Held here too, they would hide rlockrun's end. */
		close(socks[0]);
		close(go[1]);
		watch = (struct watch){.page = guard->page, .sock = socks[1]};
		guard_main(&watch, child, go[0]);
	}
	close(socks[1]);
	close(go[0]);
	return guard->pid == -1 ? -1 : 0;
}

static void
order(struct guard *guard, enum order_kind kind, int signo)
{
	const struct order word = {kind, signo};

	if (guard->sock.fd != -1)
		send(guard->sock.fd, &word, sizeof(word),
		    MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The guard has its order before the job has its own: it may be late to read
 * it, but nothing can keep it from doing so. */
int
guard_go(struct guard *guard, const char *fence, int64_t deadline)
{
	guard->let_go = true;
	guard_set_deadline(guard, deadline);
	return child_let_go(guard->go, fence);
}

void
guard_set_deadline(struct guard *guard, int64_t deadline)
{
	bool sooner = deadline < guard->deadline;

	if (deadline == guard->deadline)
		return;
	guard->deadline = deadline;
	guard->page->deadline = deadline;
	if (sooner)
		order(guard, ORDER_LOOK, 0);
}

void
guard_signal(struct guard *guard, int signo)
{
	order(guard, ORDER_SIGNAL, signo);
}

void
guard_continue(struct guard *guard)
{
	order(guard, ORDER_CONTINUE, 0);
}

void
guard_terminate(struct guard *guard)
{
	order(guard, ORDER_TERMINATE, 0);
}

void
guard_on_sigchld(struct guard *guard)
{
	int status;
	pid_t pid;

	/* Children that we had before, those of a script that became us by
	 * exec, are none of the job's. */
	if (guard->died)
		tree_signal(getpid(), guard->started_at, SIGKILL);
	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != guard->pid)
			continue;
		if (WIFSTOPPED(status))
			kill(guard->pid, SIGCONT);
		else
			guard->pid = 0;
	}
	if (guard->died && pid == -1 && errno == ECHILD)
		guard->bereft = true;
}

/* Killed before its socket is closed: it would take the end of file for our own
 * end. */
void
guard_end(struct guard *guard)
{
	if (guard->pid > 0) {
		kill(guard->pid, SIGKILL);
		waitpid(guard->pid, NULL, 0);
		guard->pid = 0;
	}
	stop_listening(guard);
	/* A job that still waits dies with the guard, and is ours to reap. */
	if (!guard->let_go && guard->page != NULL && guard->page->leader > 0)
		waitpid(guard->page->leader, NULL, 0);
}
