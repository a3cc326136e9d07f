/* The lines of a file are written by a thread; stderr and syslog never block.
 * What is not taken is dropped and counted. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "sink/event_text.h"
#include "sink/log_line.h"
#include "sink/reminder.h"
#include "sink/sinks.h"
#include "sink/writer.h"

#define SYSLOG_PATH "/dev/log"

enum { NAME_SIZE = 1024, FILE_MODE = 0640 };

/* A file that others rotate, cut and fill up. Each line is one write. */
struct log_file {
	const char *path;
	int fd;	      /* to be closed by the owner */
	bool is_ours; /* a descriptor with which we were started */
	dev_t device;
	ino_t inode;
	bool torn; /* the last line lacks its end */
	bool kept; /* what is at path now cannot be opened: that was said */
};

struct event_log {
	const struct opts *opts;
	struct log_line line;
	struct reminder reminder;    /* to log the wait again */
	char *path;		     /* NULL: stderr */
	_Atomic size_t dropped;	     /* lines */
	int socket;		     /* to syslog, or -1 */
	struct log_file file;	     /* the thread's */
	struct writer_source source; /* without a writer there is no file */
};

/* The first line that is dropped is reported. */
static void
event_log_drop(struct event_log *state, const char *why)
{
	char name[NAME_SIZE];

	if (state->dropped++ > 0)
		return;
	escape_quote(state->path, name, sizeof(name));
	log_warnx("cannot write to the log %s: %s; dropping lines", name, why);
}

/* --- a file ------------------------------------------------------------- */

static const char not_regular[] = "not a regular file";

/* A duplicate: the number itself is the job's. One that is closed on exec is no
 * descriptor that we were started with, but one of our own. */
static const char *
use_descriptor(struct log_file *file, const char *path, int number)
{
	int flags = fcntl(number, F_GETFL);
	int fd = -1;

	if (flags != -1 && ((flags & O_ACCMODE) == O_RDONLY ||
			       (fcntl(number, F_GETFD) & FD_CLOEXEC) != 0))
		errno = EBADF;
	else if (flags != -1)
		fd = fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (fd == -1)
		return strerror(errno);
	*file = (struct log_file){.path = path, .fd = fd, .is_ours = true};
	return NULL;
}

/* Creates the file if it does not exist. Only a regular file is opened: nothing
 * else is sure not to block, now or when it is written to. A path that names a
 * descriptor of ours, such as /dev/stdout, is that descriptor, whatever it is:
 * opened anew, the file would have another offset, and what the job writes
 * there would be overwritten. NULL, or the reason why not.
 *
 * Opening a device may already act on it, so look at first. In between it may
 * become another one: O_NONBLOCK, and another look. */
static const char *
log_file_open(struct log_file *file, const char *path)
{
	int flags =
	    O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
	struct stat st;
	int fd = descriptors_find(path);

	if (fd != -1)
		return use_descriptor(file, path, fd);
	/* It would become a file, which the daemon cannot replace. */
	if (strcmp(path, "/dev/log") == 0)
		return "it is no file (--log-to syslog)";
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return not_regular;
	fd = open(path, flags, FILE_MODE);
	if (fd == -1)
		return errno == ENXIO ? not_regular : strerror(errno);
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode)) {
		close(fd);
		return not_regular;
	}
	*file = (struct log_file){.path = path,
	    .fd = fd,
	    .device = st.st_dev,
	    .inode = st.st_ino};
	return NULL;
}

/* If another file is at the path, or none, that one is opened; if this fails,
 * it is reported once, and the former one is used.
 *
 * logrotate(8) renames it, and may make a new one or leave that to us. What
 * cannot be looked at is taken for the same file. What /proc has of a process
 * may be gone at any time. */
static void
log_file_follow(struct log_file *file)
{
	struct log_file next;
	struct stat st;
	const char *why;
	char name[1024];

	if (file->is_ours ||
	    strncmp(file->path, "/proc/", strlen("/proc/")) == 0)
		return;
	if (stat(file->path, &st) == -1
		? errno != ENOENT
		: st.st_dev == file->device && st.st_ino == file->inode)
		return;
	why = log_file_open(&next, file->path);
	if (why == NULL) {
		close(file->fd);
		*file = next;
	} else if (!file->kept) {
		escape_quote(file->path, name, sizeof(name));
		log_warnx("cannot reopen the log %s: %s; using the former file",
		    name, why);
		file->kept = true;
	}
}

/* A pipe or a terminal may block, and a pipe without a reader would raise
 * SIGPIPE. */
static void
write_line(void *arg, const void *line, size_t length)
{
	struct event_log *state = arg;
	struct log_file *file = &state->file;
	/* The end of the line that was cut. */
	struct iovec parts[] = {{(void *)(uintptr_t) "\n", 0},
	    {(void *)(uintptr_t)line, length}};
	struct pollfd out = {.events = POLLOUT};
	ssize_t wrote;

	log_file_follow(file);
	out.fd = file->fd;
	if (file->is_ours &&
	    (descriptors_poll(&out, 1, 0) != 1 || out.revents != POLLOUT)) {
		event_log_drop(state, "it is full");
		return;
	}
	parts[0].iov_len = file->torn ? 1 : 0;
	wrote = descriptors_write(file->fd, parts, 2);
	if (wrote == (ssize_t)(parts[0].iov_len + length)) {
		file->torn = false;
		return;
	}
	if (wrote > 0)
		file->torn = wrote > (ssize_t)parts[0].iov_len;
	event_log_drop(state, wrote == -1 ? strerror(errno) : "it is full");
}

/* A line from before the guard was forked waits for the next one. */
static void
put_line(struct event_log *state, const char *line, size_t length)
{
	const struct facts *facts = state->line.facts;

	if (!writer_put(&state->source, line, length))
		event_log_drop(state, "it is too slow");
	if (facts->begun_at != 0 || state->opts->action != OPTS_RUN)
		writer_start(state->source.writer);
}

/* --- syslog ------------------------------------------------------------- */

/* syslog(3) would block while the daemon does not read. Without a connection a
 * daemon that was restarted is found again. */
static void
send_to_syslog(struct event_log *state, const char *line, size_t length)
{
	const struct sockaddr_un address = {.sun_family = AF_UNIX,
	    .sun_path = SYSLOG_PATH};

	if (state->socket == -1)
		state->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (state->socket == -1 ||
	    sendto(state->socket, line, length - strlen("\n"),
		MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&address,
		sizeof(address)) == -1)
		event_log_drop(state,
		    errno == EAGAIN ? "it is full" : strerror(errno));
}

/* --- events ------------------------------------------------------------- */

/* -q and -v are about stderr. A program that reads it finds the start and the
 * end there, too. */
static void
log_event(struct event_log *state, const struct event *event)
{
	enum level level = event_level(event);
	char text[LOG_LINE_MAX];
	size_t length;

	if (level == LEVEL_LOG)
		level = LEVEL_INFO;
	if (state->path == NULL && !event_text_is_shown(level, state->opts))
		return;
	length = log_line_format(&state->line, event, text);
	if (length == 0)
		return;
	if (state->path == NULL)
		log_raw(text, length);
	else if (state->source.writer != NULL)
		put_line(state, text, length);
	else
		send_to_syslog(state, text, length);
}

static void
log_waiting(void *arg, const struct event *event)
{
	struct event_log *state = arg;

	if (reminder_is_new(&state->reminder))
		log_event(state, event);
}

static void
event_log_on_event(void *arg, const struct event *event)
{
	struct event_log *state = arg;

	if (!reminder_take(&state->reminder, event))
		log_event(state, event);
}

/* --- open and close ----------------------------------------------------- */

static void
report_no_log(const struct opts *opts, const char *why)
{
	char name[NAME_SIZE];

	escape_quote(opts->log_to, name, sizeof(name));
	if (opts->log_demanded)
		log_die(EXITCODE_CONFIG, "cannot log to %s: %s", name, why);
	log_warnx("cannot log to %s: %s; there will be no log", name, why);
}

static void *
open_log(const struct facts *facts, struct loop *loop, struct writer *writer)
{
	const struct opts *opts = facts->opts;
	struct event_log *state;
	const char *why = NULL;

	if ((!opts->log_json && opts->log_to == NULL) ||
	    opts->action == OPTS_DOCTOR)
		return NULL; /* see event_text */
	state = mem_alloc(sizeof(*state));
	*state = (struct event_log){.opts = opts,
	    .line = {.facts = facts, .json = opts->log_json},
	    .source = {.write = write_line, .arg = state},
	    .socket = -1};
	if (opts->log_to != NULL && strcmp(opts->log_to, "syslog") == 0) {
		state->line.head = LOG_LINE_SYSLOG;
		state->path = mem_strdup(SYSLOG_PATH);
	} else if (opts->log_to != NULL) {
		state->path = mem_strdup(opts->log_to);
		why = log_file_open(&state->file, state->path);
		if (why == NULL && writer_add(writer, &state->source) == -1) {
			why = strerror(errno);
			close(state->file.fd);
		}
	}
	if (why != NULL) {
		report_no_log(opts, why);
		free(state->path);
		free(state);
		return NULL;
	}
	holder_self(&state->line.self);
	reminder_init(&state->reminder, loop, log_waiting, state);
	return state;
}

/* What the thread still uses stays. */
static void
close_log(void *arg)
{
	struct event_log *state = arg;
	size_t lost = 0;

	reminder_stop(&state->reminder);
	if (state->source.writer != NULL)
		lost = writer_finish(&state->source);
	for (size_t i = 0; i < lost; i++)
		event_log_drop(state, "it is too slow");
	if (state->dropped > 0)
		log_warnx("%zu line%s of the log %s dropped", state->dropped,
		    state->dropped > 1 ? "s" : "",
		    state->dropped > 1 ? "were" : "was");
	if (lost > 0)
		return;
	if (state->source.writer != NULL)
		close(state->file.fd);
	if (state->socket != -1)
		close(state->socket);
	free(state->path);
	free(state);
}

const struct event_sink event_log = {open_log, event_log_on_event, close_log};
