#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pipe.h"
#include "tap.h"

/* escape_test has the others. */
static void
test_escapes(int fd)
{
	log_warnx("%s", "a\nb\tc\r\033[2J\177 gr\xc3\xbc\xc3\x9f\xff");
	is_text(drain(fd),
	    "rlockrun: a\\nb\\tc\\x0d\\x1b[2J\\x7f gr\xc3\xbc\xc3\x9f\\xff\n",
	    "control characters and bytes are escaped");
}

static void
test_errno(int fd)
{
	errno = ENOENT;
	log_warn("cannot open %s", "x");
	is_int(errno, ENOENT, "errno is kept");
	is_text(drain(fd),
	    "rlockrun: cannot open x: No such file or directory\n", "log_warn");
}

static void
test_cut(int fd)
{
	char text[2 * PIPE_BUF];
	const char *got;

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_warnx("%s", text);
	got = drain(fd);
	is_int((int64_t)strlen(got), PIPE_BUF, "a long message is cut");
	is_int(got[PIPE_BUF - 1], '\n', "its newline is kept");
	memset(text, '\1', sizeof(text) - 1);
	text[1022] = 'b'; /* would fit in place of the last \x01 */
	log_warnx("%s", text);
	got = drain(fd);
	ok(strlen(got) <= PIPE_BUF, "escapes don't make it longer");
	is_text(got + strlen(got) - 5, "\\x01\n", "no escape is cut");
}

static void
test_progress(int fd)
{
	is_int((int64_t)log_columns(), 77, "no terminal: 80 columns");
	log_progress("abc\033\u540c\u671f", 12);
	is_text(drain(fd), "\r\033[Kabc\\x1b\u540c\u671f", "a line that fits");
	log_progress("abc\033\u540c\u671f", 10);
	is_text(drain(fd), "\r\033[Kabc\\x1b\u540c", "cut between characters");
	log_warnx("a message");
	is_text(drain(fd), "\r\033[Krlockrun: a message\n", "it is erased");
	log_progress_end();
	is_text(drain(fd), "", "once");
	log_progress("abc", 3);
	is_text(drain(fd), "\r\033[Kabc", "a line that just fits");
	log_progress_end();
	is_text(drain(fd), "\r\033[K", "it is erased at its end");
	log_progress_end();
	is_text(drain(fd), "", "once");
}

/* The side of a terminal on which programs run. */
static int
open_terminal(void)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (terminal == -1 || grantpt(terminal) == -1 ||
	    unlockpt(terminal) == -1)
		abort();
	return open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static void
test_terminal(void)
{
	static const struct {
		unsigned short width;
		int columns;
	} sizes[] = {{0, 77}, {1, 1}, {3, 1}, {4, 1}, {5, 2}, {120, 117}};
	static const struct {
		const char *type, *obstacle;
	} types[] = {{"xterm", NULL}, {"dumb", "TERM is dumb"},
	    {"", "TERM is not set"}, {NULL, "TERM is not set"}};
	int pipe_end = open_pipe(), terminal = open_terminal();

	log_erase_others();
	log_warnx("a message");
	is_text(drain(pipe_end), "rlockrun: a message\n",
	    "no terminal: nothing to erase");
	is_text(log_find_obstacle(STDERR_FILENO), "stderr is no terminal",
	    "a pipe");
	is_text(log_find_obstacle(open("/dev/null", O_RDONLY | O_CLOEXEC)),
	    "stderr is no terminal", "neither of both");
	dup2(terminal, STDERR_FILENO);
	for (size_t i = 0; i < LENGTH(sizes); i++) {
		ioctl(terminal, TIOCSWINSZ,
		    &(struct winsize){.ws_col = sizes[i].width});
		is_int((int64_t)log_columns(), sizes[i].columns,
		    "columns of a terminal");
	}
	for (size_t i = 0; i < LENGTH(types); i++) {
		if (types[i].type == NULL)
			unsetenv("TERM");
		else
			setenv("TERM", types[i].type, 1);
		is_text(log_find_obstacle(terminal), types[i].obstacle,
		    "what a terminal obeys");
	}
	setenv("TERM", "xterm", 1);
	log_erase_others();
	close(pipe_end);
	pipe_end = open_pipe();
	log_warnx("a message");
	is_text(drain(pipe_end), "\r\033[Krlockrun: a message\n",
	    "a line of another process is erased");
	close(pipe_end);
	close(terminal);
}

static void
fill(int fd)
{
	char page[PIPE_BUF] = "";

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (write(fd, page, sizeof(page)) > 0)
		;
	fcntl(fd, F_SETFL, 0);
}

static void
test_full_pipe(void)
{
	int fd = open_pipe();

	fill(STDERR_FILENO);
	alarm(5); /* ends the test if it blocks */
	errno = EXDEV;
	log_warnx("dropped");
	alarm(0);
	ok(true, "a full pipe doesn't block");
	is_int(errno, EXDEV, "errno is kept");
	close(fd);
}

static void
test_broken_pipe(void)
{
	int fd = open_pipe();

	close(fd);
	signal(SIGPIPE, SIG_DFL);
	log_warnx("dropped");
	ok(true, "no SIGPIPE from a pipe without a reader");
}

static void
test_no_space(void)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	dup2(fd, STDERR_FILENO);
	errno = EXDEV;
	log_warnx("dropped");
	is_int(errno, EXDEV, "a failing write: errno is kept");
	close(fd);
}

static void
test_closed(void)
{
	close(STDERR_FILENO);
	errno = EXDEV;
	log_warnx("dropped");
	is_int(errno, EXDEV, "closed stderr: errno is kept");
}

static void
test_die(const char *consequence, const char *want)
{
	int fd = open_pipe(), status = 0;
	pid_t child = fork();

	if (child == 0) {
		if (consequence != NULL)
			log_set_consequence(consequence);
		log_die(78, "bad %s", "thing");
	}
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 78, "log_die exits");
	is_text(drain(fd), want, "log_die says why");
	close(fd);
}

int
main(void)
{
	int fd = open_pipe();

	test_escapes(fd);
	test_errno(fd);
	test_cut(fd);
	test_progress(fd);
	close(fd);
	test_full_pipe();
	test_broken_pipe();
	test_die(NULL, "rlockrun: bad thing\n");
	test_die("no cake", "rlockrun: bad thing; no cake\n");
	test_no_space();
	test_terminal();
	test_closed();
	return tap_done();
}
