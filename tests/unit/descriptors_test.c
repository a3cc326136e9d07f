/* Descriptors that are closed and others that stay, also as on a kernel without
 * close_range(2); and a file that may not grow. */
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "refuse.h"
#include "tap.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { FIRST = 20, LAST = 26 };

/* Which of FIRST to LAST are open, as bits. */
static int
open_ones(void)
{
	int bits = 0;

	for (int fd = FIRST; fd <= LAST; fd++)
		bits |= (fcntl(fd, F_GETFD) != -1) << (fd - FIRST);
	return bits;
}

/* In a child that has 0 to 2 and FIRST to LAST. */
static void
is_left(int (*act)(void), int want, const char *what)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		for (int fd = STDERR_FILENO + 1; fd < 1024; fd++)
			close(fd);
		for (int fd = FIRST; fd <= LAST; fd++)
			dup2(STDOUT_FILENO, fd);
		_exit(act());
	}
	waitpid(child, &status, 0);
	is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, want, what);
}

static int
close_some(void)
{
	return descriptors_close(22, 24) == 0 ? open_ones() : -1;
}

static int
close_rest(void)
{
	return descriptors_close(24, INT_MAX) == 0 ? open_ones() : -1;
}

/* valgrind has some of its own above. */
static int
find_last(void)
{
	int last = descriptors_find_last();

	if (last == INT_MAX)
		return 100;
	return last > LAST && fcntl(last, F_GETFD) != -1 ? LAST : last;
}

/* Without a descriptor for the list of descriptors. */
static int
fail_to_list(void)
{
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
	return descriptors_find_last() == -1 &&
	       descriptors_close(24, INT_MAX) == -1;
}

static bool
is_needed(const void *arg, int fd)
{
	return fd == *(const int *)arg;
}

static int
close_inherited(void)
{
	int needed = 21;

	fcntl(23, F_SETFD, FD_CLOEXEC);
	dup2(STDOUT_FILENO, 3);
	descriptors_close_inherited(is_needed, &needed);
	return fcntl(STDERR_FILENO, F_GETFD) == -1 || fcntl(3, F_GETFD) != -1
		   ? -1
		   : open_ones();
}

static void
test_find(void)
{
	static const struct {
		const char *path;
		int fd;
	} rows[] = {
	    {"/dev/stdout", 1},
	    {"/dev/stderr", 2},
	    {"/dev/fd/0", 0},
	    {"/dev/fd/37", 37},
	    {"/proc/self/fd/3", 3},
	    {"/dev/fd/2147483647", INT_MAX},
	    {"/dev/fd/2147483648", -1},
	    {"/dev/fd/", -1},
	    {"/dev/fd/3/", -1},
	    {"/dev/fd/x", -1},
	    {"/dev/stdin", -1},
	    {"/dev/stdout2", -1},
	    {"file/14", -1},
	    {"", -1},
	};

	for (size_t i = 0; i < LENGTH(rows); i++)
		is_int(descriptors_find(rows[i].path), rows[i].fd,
		    rows[i].path);
}

/* A file that may have 6 bytes. Bits: what is wrong. */
static int
write_beyond(bool blocked)
{
	char path[] = "/tmp/descriptors_test.XXXXXX";
	const struct iovec parts[] = {{"abc", 3}, {"def", 3}};
	int fd = mkstemp(path), wrong = 0;
	sigset_t xfsz, now;

	unlink(path);
	sigemptyset(&xfsz);
	sigaddset(&xfsz, SIGXFSZ);
	sigprocmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &xfsz, NULL);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){6, 6});
	errno = 0;
	wrong |= descriptors_write(fd, parts, 2) != 6;
	sigprocmask(SIG_SETMASK, NULL, &now);
	wrong |= (sigismember(&now, SIGXFSZ) != blocked) << 5;
	wrong |= (descriptors_write(fd, parts, 2) != -1 || errno != EFBIG) << 1;
	sigprocmask(SIG_SETMASK, NULL, &now);
	wrong |= (sigismember(&now, SIGXFSZ) != blocked) << 2;
	sigpending(&now);
	wrong |= (sigismember(&now, SIGXFSZ) != 0) << 3;
	wrong |= (descriptors_write(-1, parts, 2) != -1 || errno != EBADF) << 4;
	return wrong;
}

static int
write_unblocked(void)
{
	return write_beyond(false);
}

static int
write_blocked(void)
{
	return write_beyond(true);
}

static void
test_closing(int last)
{
	is_left(close_some, 0x63, "a range is closed");
	is_left(close_rest, 0x0f, "all from one up");
	is_left(find_last, last, "the last one");
}

int
main(void)
{
	test_find();
	is_left(write_unblocked, 0, "a write beyond the limit only fails");
	is_left(write_blocked, 0, "  and no signal is left pending");
	is_left(close_inherited, 0x0a, "what is needed stays, and our own");
	test_closing(100);
	puts("# a kernel without close_range");
	refuse_calls(SYS_close_range, SYS_close_range, ENOSYS);
	test_closing(LAST);
	is_left(fail_to_list, 1, "no descriptor is left");
	return tap_done();
}
