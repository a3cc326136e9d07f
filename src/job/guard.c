#include "job/guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* How long guard_dismiss waits for a guard that was killed. */
enum { DISMISS_MS = 1000 };

int
guard_init(struct guard *guard, struct loop *loop)
{
	*guard = (struct guard){.loop = loop, .sock.fd = -1};
	return descendants_open(&guard->descendants);
}

static void
close_socket(struct guard *guard)
{
	if (guard->sock.fd == -1)
		return;
	loop_remove(guard->loop, &guard->sock);
	close(guard->sock.fd);
	guard->sock.fd = -1;
}

void
guard_fini(struct guard *guard)
{
	close_socket(guard);
	descendants_close(&guard->descendants);
}

/* Reads all reports: an old one must not be mistaken for the guard's silence.
 * That of a guard that we have killed counts if it proves the job's end. */
static void
on_report(void *arg, short revents)
{
	struct guard *guard = arg;
	struct job report;
	ssize_t got;

	(void)revents;
	while ((got = recv(guard->sock.fd, &report, sizeof(report),
		    MSG_DONTWAIT)) == sizeof(report)) {
		bool unguarded = guard->job.state == JOB_UNGUARDED;

		if (guard_job_is_gone(guard))
			continue;
		if (report.stops > guard->job.stops)
			guard->stopped = true;
		guard->job = report;
		if (unguarded && !guard_job_is_gone(guard))
			guard->job.state = JOB_UNGUARDED;
	}
	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	close_socket(guard);
	if (!guard_job_is_gone(guard))
		guard->job.state = JOB_UNGUARDED;
}

int
guard_fork(struct guard *guard, struct child *child)
{
	struct supervisor_page *page = mmap(NULL, sizeof(*page),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int socks[2];

	if (page == MAP_FAILED || descendants_adopt_orphans() == -1 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) == -1)
		return -1;
	page->deadline = CLOCK_NEVER;
	guard->page = page;
	guard->sock = (struct loop_fd){.fd = socks[0],
	    .events = POLLIN,
	    .on_ready = on_report,
	    .arg = guard};
	loop_add(guard->loop, &guard->sock);
	guard->pid = fork();
	if (guard->pid == 0)
		supervisor_main(guard->page, socks[1], child);
	close(socks[1]);
	return guard->pid == -1 ? -1 : 0;
}

void
guard_start_job(struct guard *guard, const char *entries, size_t length,
    int64_t deadline)
{
	struct order order = {ORDER_START, (int)length};
	struct iovec parts[] = {{&order, sizeof(order)},
	    {(void *)(uintptr_t)entries, length}};
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t sent;

	guard->page->deadline = deadline;
	if (guard->sock.fd == -1)
		return;
	sent = sendmsg(guard->sock.fd, &message, MSG_NOSIGNAL);
	if (sent == (ssize_t)(sizeof(order) + length))
		return;
	/* A guard that was killed is reported as such: 0. */
	guard->job.error = sent != -1 ? EIO : errno == EPIPE ? 0 : errno;
	guard->job.state = JOB_FAILED;
}

void
guard_order(struct guard *guard, enum order_kind kind, int value)
{
	const struct order order = {kind, value};

	if (guard->sock.fd != -1)
		send(guard->sock.fd, &order, sizeof(order),
		    MSG_NOSIGNAL | MSG_DONTWAIT);
}

void
guard_set_deadline(struct guard *guard, int64_t deadline)
{
	bool sooner = deadline < guard->page->deadline;

	guard->page->deadline = deadline;
	if (sooner)
		guard_order(guard, ORDER_CHECK_DEADLINE, 0);
}

bool
guard_take_stop(struct guard *guard)
{
	bool stopped = guard->stopped;

	guard->stopped = false;
	return stopped && guard->job.leader != 0 &&
	       descendants_state(&guard->descendants, guard->job.leader) == 'T';
}

static void
on_guard_change(void *arg, pid_t pid, int status)
{
	struct guard *guard = arg;

	if (pid != guard->pid)
		return;
	if (WIFSTOPPED(status))
		kill(pid, SIGCONT);
	else if (!WIFCONTINUED(status))
		guard->pid = 0;
}

void
guard_on_sigchld(struct guard *guard)
{
	descendants_reap(on_guard_change, guard);
}

bool
guard_job_is_gone(const struct guard *guard)
{
	return guard->job.state > JOB_UNGUARDED;
}

bool
guard_is_unresponsive(const struct guard *guard)
{
	char state;

	if (guard->job.state != JOB_KILLING)
		return guard->job.state < JOB_KILLING;
	state = descendants_state(&guard->descendants, guard->pid);
	return state == 'T' || state == 't';
}

void
guard_kill(struct guard *guard)
{
	if (guard->pid > 0)
		kill(guard->pid, SIGKILL);
	guard->job.state = JOB_UNGUARDED;
}

void
guard_kill_job(struct guard *guard)
{
	if (!descendants_kill(&guard->descendants, on_guard_change, guard))
		return;
	guard->job.state = JOB_CLEARED;
	guard->job.gone_at = clock_now();
}

bool
guard_has_earlier_children(const struct guard *guard)
{
	return guard->descendants.earlier.count > 0;
}

/* Killed before its socket is closed: otherwise the guard would take the end of
 * file for rlockrun's end and kill what the command left behind. */
void
guard_dismiss(struct guard *guard)
{
	int64_t until = clock_now() + DISMISS_MS;
	int64_t now;

	if (guard->pid > 0)
		kill(guard->pid, SIGKILL);
	while (descendants_reap(on_guard_change, guard) && guard->pid > 0 &&
	       (now = clock_now()) < until)
		signals_await_child(until - now);
	close_socket(guard);
}
