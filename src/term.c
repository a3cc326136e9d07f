#include "term.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

bool
term_is_controlling(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (fd == -1)
		return false;
	close(fd);
	return true;
}

bool
term_has_sent(const struct signalfd_siginfo *info)
{
	return info->ssi_code == SI_KERNEL;
}

/* All that would stop us is blocked, but for this one. */
void
term_suspend(void)
{
	raise(SIGSTOP);
}
