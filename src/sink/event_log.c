/* The lines of a file are written by a thread; stderr and syslog never block.
 * What is not taken is dropped and counted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "sink/event_text.h"
#include "sink/log_file.h"
#include "sink/log_line.h"
#include "sink/reminder.h"
#include "sink/sinks.h"
#include "sink/writer.h"

#define SYSLOG_PATH "/dev/log"

enum { NAME_SIZE = 1024 };

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

static void
write_line(void *arg, const void *line, size_t length)
{
	struct event_log *state = arg;
	const char *why;

	log_file_follow(&state->file);
	why = log_file_append(&state->file, line, length);
	if (why != NULL)
		event_log_drop(state, why);
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
