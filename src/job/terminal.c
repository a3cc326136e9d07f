#include "job/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

bool
terminal_is_controlling(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (fd == -1)
		return false;
	close(fd);
	return true;
}

bool
terminal_is_foreground(int fd)
{
	return isatty(fd) && tcgetpgrp(fd) == getpgrp();
}

/* The kernel sends a hang-up first to the leader of the session, and to the
 * foreground group only when the leader ends. */
bool
terminal_sent_to_group(const struct signalfd_siginfo *info)
{
	if (info->ssi_code != SI_KERNEL)
		return false;
	switch (info->ssi_signo) {
	case SIGHUP:
		return getsid(0) != getpid();
	case SIGINT:
	case SIGQUIT:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
	case SIGCONT: /* after a hang-up */
	case SIGWINCH:
		return true;
	default: /* of a timer or a limit of ours */
		return false;
	}
}

/* Not SIGSTOP: for an orphaned group the kernel ignores the other stop signals,
 * for us as for the job. */
bool
terminal_suspend(int signo)
{
	sigset_t only;
	sigset_t pending;

	sigemptyset(&only);
	sigaddset(&only, signo);
	raise(signo);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	sigprocmask(SIG_BLOCK, &only, NULL);
	sigpending(&pending);
	return sigismember(&pending, SIGCONT) == 1;
}
