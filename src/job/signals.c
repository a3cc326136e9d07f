#include "job/signals.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/exitcode.h"

/* Raised by our own faults. If one is blocked, the kernel ends the process
 * without calling a handler, such as that of a sanitizer. */
static const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS,
    SIGTRAP};

/* sigfillset(3) and sigprocmask(2) of a C library leave out the signals that it
 * uses itself: glibc 32 and 33, musl 34, too. */
void
signals_fill(sigset_t *set)
{
	memset(set, 0xff, sizeof(*set));
}

static int
set_mask(const sigset_t *mask, sigset_t *former)
{
	return (int)syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, former,
	    sizeof(uint64_t));
}

/* The signal waits until this has returned, and then ends us. */
static void
on_fault(int signo)
{
	prctl(PR_SET_DUMPABLE, 0);
	raise(signo);
}

/* A handler that is there already is that of a sanitizer. */
static void
leave_no_core(int signo)
{
	struct sigaction action = {.sa_handler = on_fault,
	    .sa_flags = (int)SA_RESETHAND};
	struct sigaction former;

	if (sigaction(signo, NULL, &former) == 0 &&
	    former.sa_handler == SIG_DFL)
		sigaction(signo, &action, NULL);
}

static void
fill_but_faults(sigset_t *set)
{
	signals_fill(set);
	for (size_t i = 0; i < sizeof(synchronous) / sizeof(*synchronous); i++)
		sigdelset(set, synchronous[i]);
}

int
signals_block(sigset_t *former)
{
	sigset_t all;

	fill_but_faults(&all);
	return set_mask(&all, former);
}

void
signals_unblock(const sigset_t *former)
{
	set_mask(former, NULL);
}

int
signals_init(struct signals *signals)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t all;

	/* musl's sigaction unblocks signals of its own at the first handler. */
	if (set_mask(NULL, &signals->inherited_mask) == -1)
		return -1;
	fill_but_faults(&all);
	for (size_t i = 0; i < sizeof(synchronous) / sizeof(*synchronous); i++)
		leave_no_core(synchronous[i]);
	leave_no_core(SIGABRT); /* abort(3) unblocks it */
	if (set_mask(&all, NULL) == -1)
		return -1;
	/* If SIGCHLD is ignored, the kernel reaps children without us. */
	if (sigaction(SIGCHLD, &dfl, &signals->inherited_chld) == -1)
		return -1;
	signals->fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
	return signals->fd == -1 ? -1 : 0;
}

/* The kernel queues a blocked signal even if its action is to ignore it. */
bool
signals_next(struct signals *signals, struct signalfd_siginfo *info)
{
	struct sigaction action;

	while (read(signals->fd, info, sizeof(*info)) == sizeof(*info)) {
		int signo = (int)info->ssi_signo;
		bool ours =
		    signo == SIGPIPE && info->ssi_pid == (unsigned)getpid();

		if (!ours && (sigaction(signo, NULL, &action) == -1 ||
				 action.sa_handler != SIG_IGN))
			return true;
	}
	return false;
}

void
signals_restore(const struct signals *signals)
{
	sigaction(SIGCHLD, &signals->inherited_chld, NULL);
	set_mask(&signals->inherited_mask, NULL);
}

enum signals_action
signals_default_action(int signo)
{
	switch (signo) {
	case SIGCHLD:
	case SIGCONT:
	case SIGURG:
	case SIGWINCH:
		return SIGNALS_IGNORE;
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return SIGNALS_STOP;
	default:
		return SIGNALS_END;
	}
}

bool
signals_asks_to_end(int signo)
{
	return signo == SIGHUP || signo == SIGINT || signo == SIGQUIT ||
	       signo == SIGTERM;
}

int
signals_open_ends(void)
{
	sigset_t ends;

	sigemptyset(&ends);
	for (int signo = 1; signo < NSIG; signo++)
		if (signals_asks_to_end(signo))
			sigaddset(&ends, signo);
	return signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC);
}

bool
signals_await_child(int64_t ms)
{
	const struct timespec timeout = {ms / 1000,
	    (long)(ms % 1000) * 1000000};
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	return sigtimedwait(&chld, NULL, &timeout) == SIGCHLD;
}

void
signals_die(int signo)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	uint64_t only = UINT64_C(1) << (signo - 1);

	prctl(PR_SET_DUMPABLE, 0);
	sigaction(signo, &dfl, NULL);
	raise(signo);
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &only, NULL, sizeof(only));
	_exit(EXITCODE_SIGNAL + signo);
}
