/* Debian 12's valgrind knows no descriptors of processes, without which the
 * guard refuses to stand up. For `make check-valgrind` alone a process's folder
 * in /proc stands in for one: it, too, belongs to one process and is empty when
 * that has gone. Linked with --wrap=syscall. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

long __real_syscall(long number, long a, long b, long c, long d);
long __wrap_syscall(long number, long a, long b, long c, long d);

static long
open_process(long pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%ld", pid);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static long
signal_process(int fd, int signo)
{
	char link[32];
	char folder[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, folder, sizeof(folder) - 1);
	if (length < (ssize_t)sizeof("/proc") ||
	    faccessat(fd, "stat", F_OK, 0) == -1) {
		errno = ESRCH;
		return -1;
	}
	folder[length] = '\0';
	return kill(atoi(folder + sizeof("/proc")), signo);
}

long
__wrap_syscall(long number, long a, long b, long c, long d)
{
	if (number == SYS_pidfd_open)
		return open_process(a);
	if (number == SYS_pidfd_send_signal)
		return signal_process((int)a, (int)b);
	return __real_syscall(number, a, b, c, d);
}
