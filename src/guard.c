#include "guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "tree.h"
#include "watch.h"

static void
take_report(struct guard *guard, const struct watch_report *word)
{
	switch (word->kind) {
	case WATCH_REPORT_FAILED:
		guard->failed = word->value;
		break;
	case WATCH_REPORT_NOT_RUN:
		guard->exec_error = word->value;
		guard->ended = guard->gone = true;
		guard->ended_at = guard->gone_at = word->at;
		break;
	case WATCH_REPORT_LATE:
		guard->late = guard->ended = guard->gone = true;
		guard->ended_at = guard->gone_at = word->at;
		break;
	case WATCH_REPORT_STOPPED:
		guard->stopped = word->value;
		guard->stops++;
		break;
	case WATCH_REPORT_ENDED:
		guard->ended = true;
		guard->status = word->value;
		guard->ended_at = word->at;
		break;
	case WATCH_REPORT_GONE:
		guard->gone = true;
		guard->gone_at = word->at;
		break;
	case WATCH_REPORT_ENFORCED:
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
	struct watch_report words[4];
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

static struct watch_page *
new_page(void)
{
	struct watch_page *page = mmap(NULL, sizeof(*page),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	page->deadline = CLOCK_NEVER;
	return page;
}

void
guard_init(struct guard *guard, struct loop *loop)
{
	*guard = (struct guard){.loop = loop,
	    .deadline = CLOCK_NEVER,
	    .sock.fd = -1};
}

int
guard_start(struct guard *guard, struct child *child)
{
	int socks[2];

	guard->started_at = clock_now();
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
		watch_main(guard->page, socks[1], child);
	close(socks[1]);
	return guard->pid == -1 ? -1 : 0;
}

static void
give(struct guard *guard, const struct watch_order *order)
{
	if (guard->sock.fd != -1)
		send(guard->sock.fd, order, sizeof(*order),
		    MSG_NOSIGNAL | MSG_DONTWAIT);
}

void
guard_go(struct guard *guard, const char *entries, size_t length,
    int64_t deadline)
{
	struct watch_order order = {WATCH_ORDER_GO, (int)length};
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
	const struct watch_order order = {.kind = WATCH_ORDER_LOOK};
	bool sooner = deadline < guard->deadline;

	guard->deadline = deadline;
	guard->page->deadline = deadline;
	if (sooner)
		give(guard, &order);
}

void
guard_signal(struct guard *guard, int signo)
{
	const struct watch_order order = {WATCH_ORDER_SIGNAL, signo};

	give(guard, &order);
}

void
guard_continue(struct guard *guard)
{
	const struct watch_order order = {.kind = WATCH_ORDER_CONTINUE,
	    .value = guard->stops};

	give(guard, &order);
}

void
guard_terminate(struct guard *guard)
{
	const struct watch_order order = {.kind = WATCH_ORDER_TERMINATE};

	give(guard, &order);
}

void
guard_on_sigchld(struct guard *guard)
{
	int status;
	pid_t pid;

	/* Children that we had before, those of a script that became us by
	 * exec, are none of the job's. */
	if (guard->died)
		guard->bereft =
		    tree_signal(getpid(), guard->started_at, SIGKILL) == 0;
	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != guard->pid)
			continue;
		if (WIFSTOPPED(status))
			kill(guard->pid, SIGCONT);
		else
			guard->pid = 0;
	}
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
}
