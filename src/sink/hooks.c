#include "sink/hooks.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "job/process.h"
#include "job/signals.h"
#include "sink/hook_runner.h"

enum { ROUND_MS = 20 }; /* between two attempts to wake the runner */

/* A parent between us and the runner ends at once, with an errno as its status,
 * so that the runner belongs to init. If SIGCHLD is ignored, waitpid(2) knows
 * no status: the first order then shows that there is no runner. */
int
hooks_start(struct hooks *hooks)
{
	int socks[2], status = 0, error;
	pid_t pid, runner;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) == -1)
		return -1;
	pid = fork();
	if (pid == 0) {
		runner = fork();
		if (runner == 0)
			hook_runner_main(socks[1]);
		if (runner != -1)
			send(socks[1], &runner, sizeof(runner),
			    MSG_DONTWAIT | MSG_NOSIGNAL);
		_exit(runner == -1 ? errno : 0);
	}
	error = errno;
	close(socks[1]);
	if (pid != -1) {
		while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
			continue;
		error = WIFEXITED(status) ? WEXITSTATUS(status) : ECANCELED;
	}
	if (error != 0) {
		close(socks[0]);
		errno = error;
		return -1;
	}
	*hooks = (struct hooks){.sock = socks[0]};
	if (recv(socks[0], &runner, sizeof(runner), MSG_DONTWAIT) ==
	    (ssize_t)sizeof(runner))
		hooks->runner = runner;
	return 0;
}

int
hooks_run(const struct hooks *hooks, const char *command, size_t command_length,
    const char *entries, size_t length)
{
	char nul = '\0';
	struct iovec parts[] = {{(void *)(uintptr_t)command, command_length},
	    {&nul, 1}, {(void *)(uintptr_t)entries, length}};
	struct msghdr order = {.msg_iov = parts, .msg_iovlen = 3};
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL;

	return sendmsg(hooks->sock, &order, flags) == -1 ? -1 : 0;
}

/* The runner sends nothing more: the socket becomes readable by its end.
 * Returns whether that has come, or a signal. */
static bool
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
			return true;
	}
	return false;
}

static bool
has_ended(int sock, int ms)
{
	struct pollfd polled = {.fd = sock, .events = POLLIN};

	return poll(&polled, 1, ms) > 0;
}

/* While its end of the socket is open the runner lives, so that its id is no
 * other's. */
static void
signal_runner(const struct hooks *hooks, int signo)
{
	int held;

	if (hooks->runner == 0)
		return;
	held = process_hold(hooks->runner);
	if (!has_ended(hooks->sock, 0) && held != PROCESS_GONE)
		process_signal(held, hooks->runner, signo);
	process_release(held);
}

void
hooks_finish(struct hooks *hooks)
{
	struct signals signals = {.fd = signals_open_ends()};
	int64_t until;

	shutdown(hooks->sock, SHUT_WR);
	if (!await_end(hooks->sock, &signals)) {
		/* Only the runner finds all that the hooks have started. They
		 * may stop it again, but it needs little time. */
		until = clock_now() + HOOK_RUNNER_KILL_MS;
		log_warnx("the hook runner does not end; killing all hooks");
		do {
			signal_runner(hooks, HOOK_RUNNER_HURRY);
			signal_runner(hooks, SIGCONT);
		} while (
		    !has_ended(hooks->sock, ROUND_MS) && clock_now() < until);
		signal_runner(hooks, SIGKILL);
	}
	if (signals.fd != -1)
		close(signals.fd);
	hooks_leave(hooks);
}

/* A runner that is stopped would never find out. */
void
hooks_leave(struct hooks *hooks)
{
	signal_runner(hooks, SIGCONT);
	close(hooks->sock);
	hooks->sock = -1;
}
