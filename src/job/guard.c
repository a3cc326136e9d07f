#include "job/guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "job/descendants.h"
#include "job/supervisor.h"

/* How long guard_end waits for a guard that was killed. */
enum { END_MS = 1000 };

static void
finish(struct guard *guard, enum guard_state state, int64_t at)
{
	guard->state = state;
	guard->gone_at = at;
}

static void
finish_unstarted(struct guard *guard, enum guard_state state, int64_t at)
{
	guard->ended = true;
	guard->ended_at = at;
	finish(guard, state, at);
}

static void
take_report(struct guard *guard, const struct report *word)
{
	switch (word->kind) {
	case REPORT_FAILED:
		guard->error = word->value;
		finish(guard, GUARD_FAILED, word->at);
		break;
	case REPORT_NOT_RUN:
		guard->exec_error = word->value;
		finish_unstarted(guard, GUARD_GONE, word->at);
		break;
	case REPORT_LATE:
		finish_unstarted(guard, GUARD_LATE, word->at);
		break;
	case REPORT_STOPPED:
		guard->stopped = word->value;
		guard->stops = word->stops;
		break;
	case REPORT_ENDED:
		guard->ended = true;
		guard->status = word->value;
		guard->ended_at = word->at;
		break;
	case REPORT_GONE:
		finish(guard, GUARD_GONE, word->at);
		break;
	case REPORT_KILLING:
		if (guard->state == GUARD_WATCHING)
			guard->state = GUARD_KILLING;
		break;
	case REPORT_ENFORCED:
		finish(guard, GUARD_ENFORCED, word->at);
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

/* Reads all there is: an old report must not pass for the guard's silence. */
static void
on_report(void *arg, short revents)
{
	struct guard *guard = arg;
	struct report words[4];
	ssize_t got;

	(void)revents;
	while ((got = recv(guard->sock.fd, words, sizeof(words),
		    MSG_DONTWAIT)) > 0)
		for (ssize_t i = 0; i < got / (ssize_t)sizeof(*words); i++)
			take_report(guard, &words[i]);
	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	stop_listening(guard);
	if (!guard_job_is_gone(guard))
		guard->state = GUARD_DIED;
}

static struct supervisor_page *
new_page(void)
{
	struct supervisor_page *page = mmap(NULL, sizeof(*page),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	page->deadline = CLOCK_NEVER;
	return page;
}

bool
guard_job_is_gone(const struct guard *guard)
{
	switch (guard->state) {
	case GUARD_FAILED:
	case GUARD_LATE:
	case GUARD_GONE:
	case GUARD_ENFORCED:
	case GUARD_CLEARED:
		return true;
	case GUARD_WATCHING:
	case GUARD_KILLING:
	case GUARD_DIED:
		break;
	}
	return false;
}

int
guard_init(struct guard *guard, struct loop *loop)
{
	*guard = (struct guard){.loop = loop,
	    .deadline = CLOCK_NEVER,
	    .sock.fd = -1};
	return descendants_open(&guard->descendants);
}

void
guard_fini(struct guard *guard)
{
	stop_listening(guard);
	descendants_close(&guard->descendants);
}

int
guard_start(struct guard *guard, struct child *child)
{
	int socks[2];

	guard->page = new_page();
	if (guard->page == NULL || prctl(PR_SET_CHILD_SUBREAPER, 1) == -1 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) == -1)
		return -1;
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

static void
give(struct guard *guard, const struct order *order)
{
	if (guard->sock.fd != -1)
		send(guard->sock.fd, order, sizeof(*order),
		    MSG_NOSIGNAL | MSG_DONTWAIT);
}

void
guard_go(struct guard *guard, const char *entries, size_t length,
    int64_t deadline)
{
	struct order order = {ORDER_GO, (int)length};
	struct iovec parts[] = {{&order, sizeof(order)},
	    {(void *)(uintptr_t)entries, length}};
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	guard->deadline = deadline;
	guard->page->deadline = deadline;
	if (guard->sock.fd != -1)
		sendmsg(guard->sock.fd, &message, MSG_NOSIGNAL);
}

void
guard_set_deadline(struct guard *guard, int64_t deadline)
{
	const struct order order = {.kind = ORDER_LOOK};
	bool sooner = deadline < guard->deadline;

	guard->deadline = deadline;
	guard->page->deadline = deadline;
	if (sooner)
		give(guard, &order);
}

void
guard_signal(struct guard *guard, int signo)
{
	const struct order order = {ORDER_SIGNAL, signo};

	give(guard, &order);
}

void
guard_continue(struct guard *guard)
{
	const struct order order = {.kind = ORDER_CONTINUE,
	    .value = guard->stops};

	give(guard, &order);
}

void
guard_terminate(struct guard *guard)
{
	const struct order order = {.kind = ORDER_TERMINATE};

	give(guard, &order);
}

/* For descendants_kill. */
static bool
reap(void *arg)
{
	struct guard *guard = arg;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | __WALL)) > 0) {
		if (pid != guard->pid)
			continue;
		if (WIFSTOPPED(status))
			kill(guard->pid, SIGCONT);
		else
			guard->pid = 0;
	}
	return pid == 0 || errno != ECHILD;
}

void
guard_on_sigchld(struct guard *guard)
{
	reap(guard);
}

bool
guard_is_idle(const struct guard *guard)
{
	return guard->state == GUARD_WATCHING ||
	       (guard->state == GUARD_KILLING &&
		   descendants_is_halted(&guard->descendants, guard->pid));
}

void
guard_kill(struct guard *guard)
{
	if (guard->pid > 0)
		kill(guard->pid, SIGKILL);
	guard->state = GUARD_DIED;
}

void
guard_end_job(struct guard *guard)
{
	if (descendants_kill(&guard->descendants, reap, guard))
		finish(guard, GUARD_CLEARED, clock_now());
}

bool
guard_has_earlier_children(const struct guard *guard)
{
	return guard->descendants.earlier_count > 0;
}

/* Killed before its socket is closed: it would take the end of file for our own
 * end. */
void
guard_end(struct guard *guard)
{
	int64_t until = clock_now() + END_MS;
	int64_t now;

	if (guard->pid > 0)
		kill(guard->pid, SIGKILL);
	while (reap(guard) && guard->pid > 0 && (now = clock_now()) < until)
		signals_await_child(until - now);
	stop_listening(guard);
}
