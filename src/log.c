#include "log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "rlockrun: "

/* A pipe takes up to PIPE_BUF bytes whole or not at all: the messages of all
 * that write to it stay apart. */
struct message {
	char text[PIPE_BUF];
	size_t length;
};

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): the log level */
static bool verbose;

void
log_verbose(bool on)
{
	verbose = on;
}

static bool
is_continuation(unsigned char byte)
{
	return (byte & 0xc0) == 0x80;
}

/* The bytes of the character at text when it is valid UTF-8 and no control
 * character, else 0. Reads nothing behind a terminating NUL. */
static size_t
printable_length(const unsigned char *text)
{
	unsigned char first = text[0], second;

	if (first < 0x80)
		return first >= 0x20 && first != 0x7f;
	second = text[1];
	if (first < 0xc2 || first > 0xf4 || !is_continuation(second))
		return 0; /* a stray continuation, overlong, or not Unicode */
	if (first < 0xe0)
		/* U+0080 to U+009F: terminals obey these, too. */
		return first == 0xc2 && second < 0xa0 ? 0 : 2;
	if ((first == 0xe0 && second < 0xa0) || /* overlong */
	    (first == 0xed && second > 0x9f) || /* surrogates */
	    (first == 0xf0 && second < 0x90) || /* overlong */
	    (first == 0xf4 && second > 0x8f))	/* above U+10FFFF */
		return 0;
	if (!is_continuation(text[2]))
		return 0;
	if (first < 0xf0)
		return 3;
	return is_continuation(text[3]) ? 4 : 0;
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

static bool
append_escape(struct message *message, unsigned char byte)
{
	char escape[sizeof("\\x00")];

	if (byte == '\n')
		return append(message, "\\n", 2);
	if (byte == '\t')
		return append(message, "\\t", 2);
	snprintf(escape, sizeof(escape), "\\x%02x", (unsigned int)byte);
	return append(message, escape, strlen(escape));
}

static void
append_safe(struct message *message, const char *text)
{
	bool fits = true;

	while (fits && *text != '\0') {
		const unsigned char *bytes = (const unsigned char *)text;
		size_t length = printable_length(bytes);

		if (length > 0) {
			fits = append(message, text, length);
			text += length;
		} else {
			fits = append_escape(message, *bytes);
			text++;
		}
	}
}

/* A job's time limit must not hang on whoever reads our stderr, and O_NONBLOCK
 * would change the job's descriptor, too: so ask before writing. POLLERR is a
 * pipe without a reader, where write would raise SIGPIPE. */
static void
send_message(struct message *message)
{
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

	message->text[message->length++] = '\n';
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
	append(&message, PREFIX, strlen(PREFIX));
	append_safe(&message, text);
	if (error != 0) {
		append_safe(&message, ": ");
		append_safe(&message, strerror(error));
	}
	send_message(&message);
	errno = saved_errno;
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
