#include "sink/hook_runner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/secret.h"
#include "job/descendants.h"
#include "job/signals.h"

enum {
	ORDERS_MAX = 64, /* that wait for their turn */
	NEXT_MS = 3000,	 /* how long a hook may keep the next one waiting */
	ROUND_MS = 20,	 /* between two bursts of KILL when nothing dies */
};

/* One hook to be run. */
struct hook_order {
	int64_t since;
	size_t length;
	char text[]; /* the command and the entries of its environment */
};

struct runner {
	int sock;
	bool ended; /* rlockrun has */
	int64_t end_at;
	struct signals signals;
	struct descendants descendants;
	struct hook_order
	    *waiting[ORDERS_MAX]; /* a ring: count of them from first */
	size_t first, count;
	size_t dropped;
	struct hook_order *order; /* whose hook runs, or NULL */
	pid_t pid;		  /* its shell */
	int64_t started_at;
	bool killing;
	char *buffer; /* HOOK_RUNNER_ORDER_MAX bytes */
};

/* --- orders ----------------------------------------------------------- */

static void
add_order(struct runner *self, size_t length)
{
	struct hook_order *order = NULL;

	if (self->count < ORDERS_MAX)
		order = malloc(sizeof(*order) + length);
	if (order == NULL) {
		self->dropped++;
		return;
	}
	*order = (struct hook_order){.since = clock_now(), .length = length};
	memcpy(order->text, self->buffer, length);
	self->waiting[(self->first + self->count++) % ORDERS_MAX] = order;
	/* NOLINTNEXTLINE(*-unix.Malloc): the ring has it */
}

/* The socket stays open: its end is what rlockrun waits for. */
static void
take_orders(struct runner *self)
{
	ssize_t got;

	while ((got = recv(self->sock, self->buffer, HOOK_RUNNER_ORDER_MAX,
		    MSG_DONTWAIT)) > 0)
		add_order(self, (size_t)got);
	if (got == -1 && (errno == EAGAIN || errno == EINTR || errno == ENOMEM))
		return;
	self->ended = true;
	self->end_at = clock_now() + HOOK_RUNNER_END_MS;
}

/* The value of its first entry. */
static const char *
event_of(const struct hook_order *order)
{
	const char *entries = order->text + strlen(order->text) + 1;

	return strchr(entries, '=') + 1;
}

/* --- a hook ----------------------------------------------------------- */

static _Noreturn void
become_hook(const struct runner *self, pid_t runner)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	char *command = self->order->text, *end = command + self->order->length;
	bool good = true;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != runner)
		_exit(EXIT_FAILURE);
	setsid();
	for (int signo = 1; signo < NSIG; signo++)
		sigaction(signo, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (char *at = command + strlen(command) + 1; at < end;
	     at += strlen(at) + 1)
		good = good && putenv(at) == 0;
	if (good)
		execl("/bin/sh", "/bin/sh", "-c", command, (char *)NULL);
	log_warn("cannot run /bin/sh");
	_exit(EXITCODE_CANNOT_RUN);
}

/* Changes nothing if no hook runs. */
static void
end_order(struct runner *self)
{
	free(self->order);
	self->order = NULL;
	self->pid = 0;
}

static void
start_next(struct runner *self)
{
	pid_t runner = getpid();

	self->order = self->waiting[self->first];
	self->first = (self->first + 1) % ORDERS_MAX;
	self->count--;
	self->started_at = clock_now();
	self->pid = fork();
	if (self->pid == 0)
		become_hook(self, runner);
	if (self->pid != -1)
		return;
	log_warn("cannot run the hook for %s", event_of(self->order));
	end_order(self);
}

static void
on_child(void *arg, pid_t pid, int status)
{
	struct runner *self = arg;

	if (pid != self->pid || WIFSTOPPED(status) || WIFCONTINUED(status))
		return;
	if (self->killing)
		log_warnx("the hook for %s took too long and was killed",
		    event_of(self->order));
	else if (WIFSIGNALED(status))
		log_warnx("the hook for %s was ended by signal %d",
		    event_of(self->order), WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		log_warnx("the hook for %s ended with status %d",
		    event_of(self->order), WEXITSTATUS(status));
	end_order(self);
}

/* Also what earlier hooks have left in the background. A process that hangs in
 * the kernel is given up. */
static void
kill_hooks(struct runner *self)
{
	int64_t until = clock_now() + HOOK_RUNNER_KILL_MS;

	self->killing = true;
	self->descendants.killing_since = 0;
	while (!descendants_kill(&self->descendants, on_child, self) &&
	       clock_now() < until)
		signals_await_child(ROUND_MS);
	end_order(self);
	self->killing = false;
}

/* --- the runner ------------------------------------------------------- */

static _Noreturn void
end_runner(const struct runner *self)
{
	size_t lost = self->count + self->dropped;

	if (lost > 0)
		log_warnx("%zu hook%s not run", lost,
		    lost == 1 ? " was" : "s were");
	_exit(EXIT_SUCCESS);
}

/* When the hook that runs has to make way for the next one. */
static int64_t
next_at(const struct runner *self)
{
	const struct hook_order *next = self->waiting[self->first];

	if (self->order == NULL || self->count == 0)
		return CLOCK_NEVER;
	return (next->since > self->started_at ? next->since
					       : self->started_at) +
	       NEXT_MS;
}

static void
await_orders(struct runner *self)
{
	int64_t at = clock_min(self->end_at, next_at(self));
	int64_t left = at == CLOCK_NEVER ? -1 : at - clock_now();
	struct pollfd polled[] = {{.fd = self->ended ? -1 : self->sock,
				      .events = POLLIN},
	    {.fd = self->signals.fd, .events = POLLIN}};
	struct signalfd_siginfo info;

	if (poll(polled, 2, left < 0 && at != CLOCK_NEVER ? 0 : (int)left) <= 0)
		return;
	while (signals_next(&self->signals, &info))
		if (info.ssi_signo == HOOK_RUNNER_HURRY && self->ended)
			self->end_at = clock_now();
	if (polled[0].revents != 0)
		take_orders(self);
}

static _Noreturn void
run_hooks(struct runner *self)
{
	for (;;) {
		bool any = descendants_reap(on_child, self);

		if (clock_now() >= self->end_at) {
			if (any && self->order == NULL)
				log_warnx("hooks left processes running, which "
					  "are killed");
			kill_hooks(self);
			end_runner(self);
		}
		if (self->order == NULL && self->count > 0)
			start_next(self);
		else if (self->ended && !any)
			end_runner(self);
		else if (clock_now() >= next_at(self))
			kill_hooks(self);
		else
			await_orders(self);
	}
}

/* All but the socket and stderr: hooks must not keep a pipe, a lock of flock(1)
 * or a deleted file of the caller open. */
static int
close_inherited(int sock)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int flags = fcntl(STDERR_FILENO, F_GETFD);

	if (null == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1)
		return -1;
	/* It was closed when rlockrun was started. */
	if ((flags == -1 || (flags & FD_CLOEXEC)) &&
	    dup2(null, STDERR_FILENO) == -1)
		return -1;
	if (sock > STDERR_FILENO + 1 &&
	    descriptors_close(STDERR_FILENO + 1, sock - 1) == -1)
		return -1;
	return descriptors_close(sock + 1, INT_MAX);
}

/* signals_next skips what is ignored. */
void
hook_runner_main(int sock)
{
	struct runner self = {.sock = sock,
	    .end_at = CLOCK_NEVER,
	    .buffer = malloc(HOOK_RUNNER_ORDER_MAX)};
	struct sigaction dfl = {.sa_handler = SIG_DFL};

	secret_wipe_stack();
	prctl(PR_SET_NAME, "rlockrun-hooks");
	setsid();
	sigaction(HOOK_RUNNER_HURRY, &dfl, NULL);
	if (self.buffer == NULL || close_inherited(sock) == -1 ||
	    signals_init(&self.signals) == -1 ||
	    descendants_open(&self.descendants) == -1 ||
	    descendants_adopt_orphans() == -1) {
		log_warnx("cannot run hooks: %s", descendants_strerror(errno));
		_exit(EXIT_FAILURE);
	}
	log_erase_others();
	run_hooks(&self);
}
