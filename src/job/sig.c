#include "job/sig.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/exitcode.h"

/* Raised by our own faults: blocked they would only end us without a trace. */
static const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS,
    SIGTRAP};

int
sig_init(struct sig *sig)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(synchronous) / sizeof(*synchronous); i++)
		sigdelset(&all, synchronous[i]);
	if (sigprocmask(SIG_SETMASK, &all, &sig->inherited_mask) == -1)
		return -1;
	/* Inherited as ignored, children would vanish unwaited. */
	if (sigaction(SIGCHLD, &dfl, &sig->inherited_chld) == -1)
		return -1;
	sig->fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
	return sig->fd == -1 ? -1 : 0;
}

void
sig_fini(struct sig *sig)
{
	close(sig->fd);
}

/* A blocked signal is queued even when its action is to ignore it. */
static bool
is_ignored(int signo)
{
	struct sigaction action;

	return sigaction(signo, NULL, &action) == 0 &&
	       action.sa_handler == SIG_IGN;
}

bool
sig_next(struct sig *sig, struct signalfd_siginfo *info)
{
	while (read(sig->fd, info, sizeof(*info)) == sizeof(*info)) {
		int signo = (int)info->ssi_signo;
		bool ours =
		    signo == SIGPIPE && info->ssi_pid == (unsigned)getpid();
		if (!ours && !is_ignored(signo))
			return true;
	}
	return false;
}

void
sig_restore(const struct sig *sig)
{
	sigaction(SIGCHLD, &sig->inherited_chld, NULL);
	sigprocmask(SIG_SETMASK, &sig->inherited_mask, NULL);
}

enum sig_default
sig_default_action(int signo)
{
	switch (signo) {
	case SIGCHLD:
	case SIGCONT:
	case SIGURG:
	case SIGWINCH:
		return SIG_IGNORED;
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return SIG_STOPS;
	default:
		return SIG_ENDS;
	}
}

bool
sig_asks_to_end(int signo)
{
	return signo == SIGHUP || signo == SIGINT || signo == SIGQUIT ||
	       signo == SIGTERM;
}

void
sig_die(int signo)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t only;

	sigaction(signo, &dfl, NULL);
	raise(signo);
	sigemptyset(&only);
	sigaddset(&only, signo);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	_exit(EXITCODE_SIGNAL + signo);
}
