#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/escape.h"

#define DEFAULT_COLUMNS 80

#define ERASE_LINE "\r\033[K"

/* A write of up to PIPE_BUF bytes to a pipe is atomic: messages of several
 * processes do not mix. */
struct message {
	char text[PIPE_BUF];
	size_t length;
};

static const struct message erased = {ERASE_LINE, sizeof(ERASE_LINE) - 1};

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): the state of stderr */
static _Atomic bool in_progress; /* a progress line is shown */
/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): likewise */
static bool erases_others;
/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): log_die runs anywhere */
static const char *consequence = "";

/* As much as fits into these columns and beside the newline that follows. */
static void
append(struct message *message, const char *text, size_t columns)
{
	while (*text != '\0') {
		char out[ESCAPE_SIZE];
		size_t length = escape_next(&text, ESCAPE_TEXT, out);
		size_t width = escape_width(out, length);

		if (width > columns ||
		    length >= sizeof(message->text) - message->length)
			return;
		memcpy(message->text + message->length, out, length);
		message->length += length;
		columns -= width;
	}
}

/* The job's time limit must not depend on the reader of our stderr, and
 * O_NONBLOCK would change the job's descriptor, too: so poll before writing.
 * POLLERR is a pipe without a reader, where write would raise SIGPIPE. */
void
log_raw(const char *line, size_t length)
{
	const struct iovec text = {(void *)(uintptr_t)line, length};
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

	if (descriptors_poll(&out, 1, 0) != 1 || out.revents != POLLOUT)
		return;
	if (descriptors_write(out.fd, &text, 1) < 0)
		return; /* there is no other place to report it */
}

/* "rlockrun: text", in place of a progress line. error: an errno whose words
 * follow, or 0. */
LOG_FORMAT(2, 0)
static void
log_message(int error, const char *format, va_list arguments)
{
	int saved_errno = errno;
	struct message message = {.length = 0};
	char text[PIPE_BUF];

	vsnprintf(text, sizeof(text), format, arguments);
	if (in_progress || erases_others)
		message = erased;
	in_progress = false;
	append(&message, LOG_PREFIX, SIZE_MAX);
	append(&message, text, SIZE_MAX);
	if (error != 0) {
		append(&message, ": ", SIZE_MAX);
		append(&message, strerror(error), SIZE_MAX);
	}
	message.text[message.length++] = '\n';
	log_raw(message.text, message.length);
	errno = saved_errno;
}

/* A line that wraps cannot be erased. Some terminals wrap after the last
 * column, some before the next character. The "^C" that the terminal shows for
 * Ctrl-C (ECHOCTL) follows the line. */
size_t
log_columns(void)
{
	const size_t spare = 1 + strlen("^C");
	struct winsize size = {.ws_col = 0};

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == -1 || size.ws_col == 0)
		size.ws_col = DEFAULT_COLUMNS;
	return size.ws_col > spare ? size.ws_col - spare : 1;
}

void
log_progress(const char *text, size_t columns)
{
	struct message message = erased;

	in_progress = true;
	append(&message, text, columns);
	log_raw(message.text, message.length);
}

void
log_progress_end(void)
{
	if (in_progress)
		log_raw(erased.text, erased.length);
	in_progress = false;
}

const char *
log_find_obstacle(int fd)
{
	const char *type = getenv("TERM");

	if (!isatty(fd))
		return fd == STDOUT_FILENO ? "stdout is no terminal"
					   : "stderr is no terminal";
	if (type == NULL || *type == '\0')
		return "TERM is not set";
	return strcmp(type, "dumb") == 0 ? "TERM is dumb" : NULL;
}

void
log_erase_others(void)
{
	erases_others = log_find_obstacle(STDERR_FILENO) == NULL;
}

void
log_warn(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_message(errno, format, arguments);
	va_end(arguments);
}

void
log_warnx(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_message(0, format, arguments);
	va_end(arguments);
}

void
log_set_consequence(const char *text)
{
	consequence = text;
}

void
log_die(int status, const char *format, ...)
{
	char text[PIPE_BUF];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_warnx("%s%s%s", text, *consequence != '\0' ? "; " : "",
	    consequence);
	exit(status);
}
