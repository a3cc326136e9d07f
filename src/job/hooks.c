#include "job/hooks.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "job/hook_runner.h"
#include "job/signals.h"

/* The parent between us and the runner: it ends at once, so that the runner
 * belongs to init. */
static _Noreturn void
fork_runner(int sock, const char *command)
{
	pid_t pid = fork();

	if (pid == 0)
		hook_runner_main(sock, command);
	_exit(pid == -1 ? errno : 0);
}

/* If SIGCHLD is ignored, waitpid(2) knows no status. The first order then shows
 * that there is no runner. */
static int
await_parent(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		errno = WEXITSTATUS(status);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

int
hooks_start(const char *command)
{
	int socks[2], error;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) == -1)
		return -1;
	pid = fork();
	if (pid == 0)
		fork_runner(socks[1], command);
	if (pid != -1 && await_parent(pid) == 0) {
		close(socks[1]);
		return socks[0];
	}
	error = errno;
	close(socks[0]);
	close(socks[1]);
	errno = error;
	return -1;
}

int
hooks_run(int sock, const char *entries, size_t length)
{
	if (send(sock, entries, length, MSG_DONTWAIT | MSG_NOSIGNAL) == -1)
		return -1;
	return 0;
}

/* The runner sends nothing: the socket becomes readable by its end. */
static void
await_end(int sock, struct signals *signals)
{
	int64_t until = clock_now() + HOOK_RUNNER_END_MS + HOOK_RUNNER_KILL_MS;
	struct pollfd polled[] = {{.fd = sock, .events = POLLIN},
	    {.fd = signals->fd, .events = POLLIN}};
	struct signalfd_siginfo info;
	int64_t now;

	while ((now = clock_now()) < until) {
		if (poll(polled, 2, (int)(until - now)) == -1)
			continue;
		if (polled[0].revents != 0 ||
		    (polled[1].revents != 0 && signals_next(signals, &info)))
			return;
	}
}

void
hooks_finish(int sock)
{
	struct signals signals = {.fd = signals_open_ends()};

	shutdown(sock, SHUT_WR);
	await_end(sock, &signals);
	if (signals.fd != -1)
		close(signals.fd);
	close(sock);
}
