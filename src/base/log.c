#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/escape.h"

#define PREFIX "rlockrun: "
#define DEFAULT_COLUMNS 80

/* A pipe takes up to PIPE_BUF bytes whole or not at all: the messages of all
 * that write to it stay apart. */
struct message {
	char text[PIPE_BUF];
	size_t length;
};

#define ERASE_LINE "\r\033[K"

/* NOLINTBEGIN(*-avoid-non-const-global-variables): the state of stderr */
static bool verbose;
static bool in_progress; /* such a line is shown */
/* NOLINTEND(*-avoid-non-const-global-variables) */

void
log_verbose(bool on)
{
	verbose = on;
}

/* False when it doesn't fit beside the newline that is still to come. */
static bool
append(struct message *message, const char *text, size_t length)
{
	if (length >= sizeof(message->text) - message->length)
		return false;
	memcpy(message->text + message->length, text, length);
	message->length += length;
	return true;
}

static void
append_safe(struct message *message, const char *text)
{
	bool fits = true;

	while (fits && *text != '\0') {
		char out[ESCAPE_SIZE];
		size_t length = escape_next(&text, ESCAPE_TEXT, out);

		fits = append(message, out, length);
	}
}

/* A job's time limit must not hang on whoever reads our stderr, and O_NONBLOCK
 * would change the job's descriptor, too: so ask before writing. POLLERR is a
 * pipe without a reader, where write would raise SIGPIPE. */
static void
send_message(struct message *message)
{
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

	if (poll(&out, 1, 0) != 1 || out.revents != POLLOUT)
		return;
	if (write(out.fd, message->text, message->length) < 0)
		return; /* nobody left to tell */
}

/* error 0 is a message without a reason. */
LOG_FORMAT(2, 0)
static void
tell(int error, const char *format, va_list arguments)
{
	int saved_errno = errno;
	struct message message = {.length = 0};
	char text[PIPE_BUF];

	vsnprintf(text, sizeof(text), format, arguments);
	if (in_progress)
		append(&message, ERASE_LINE, strlen(ERASE_LINE));
	in_progress = false;
	append(&message, PREFIX, strlen(PREFIX));
	append_safe(&message, text);
	if (error != 0) {
		append_safe(&message, ": ");
		append_safe(&message, strerror(error));
	}
	message.text[message.length++] = '\n';
	send_message(&message);
	errno = saved_errno;
}

/* Cut off before that column, as a line that wraps can't be erased. */
static void
cut(struct message *message, size_t from, size_t columns)
{
	size_t column = 0;

	for (size_t at = from; at < message->length; at++) {
		if (escape_continues(message->text[at]))
			continue;
		if (++column >= columns) {
			message->length = at;
			return;
		}
	}
}

void
log_progress(const char *format, ...)
{
	struct message message = {.length = 0};
	struct winsize size = {.ws_col = 0};
	char text[PIPE_BUF / 2];
	va_list arguments;
	size_t start;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	append(&message, ERASE_LINE, strlen(ERASE_LINE));
	start = message.length;
	append(&message, PREFIX, strlen(PREFIX));
	append_safe(&message, text);
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == -1 || size.ws_col == 0)
		size.ws_col = DEFAULT_COLUMNS;
	cut(&message, start, size.ws_col);
	send_message(&message);
	in_progress = true;
}

void
log_progress_end(void)
{
	struct message message = {.length = 0};

	if (!in_progress)
		return;
	in_progress = false;
	append(&message, ERASE_LINE, strlen(ERASE_LINE));
	send_message(&message);
}

void
log_info(const char *format, ...)
{
	va_list arguments;

	if (!verbose)
		return;
	va_start(arguments, format);
	tell(0, format, arguments);
	va_end(arguments);
}

void
log_warn(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	tell(errno, format, arguments);
	va_end(arguments);
}

void
log_warnx(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	tell(0, format, arguments);
	va_end(arguments);
}

void
log_die(int status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	tell(0, format, arguments);
	va_end(arguments);
	exit(status);
}
