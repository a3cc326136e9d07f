/* The lines of a file wait for a moment in which a slow disk delays nothing;
 * stderr and syslog never block. What is not taken is dropped and counted. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "sink/backlog.h"
#include "sink/event_text.h"
#include "sink/log_file.h"
#include "sink/log_line.h"
#include "sink/reminder.h"
#include "sink/sinks.h"

#define SYSLOG_PATH "/dev/log"

enum { NAME_SIZE = 1024, WAITING_MAX = 256 /* lines */ };

enum target { TARGET_STDERR, TARGET_SYSLOG, TARGET_FILE };

struct event_log {
	const struct opts *opts;
	struct log_line line;
	struct reminder reminder; /* to log the wait again */
	enum target target;
	int64_t dropped; /* lines */
	int socket;	 /* to syslog, or -1 */
	struct log_file file;
	struct backlog backlog;
	char *lines[WAITING_MAX]; /* that wait: a ring */
	size_t first, waiting;
	bool followed; /* the file, for the first line */
};

/* The first line that is dropped is reported. */
static void
event_log_drop(struct event_log *state, const char *why)
{
	char name[NAME_SIZE];

	if (state->dropped++ > 0)
		return;
	escape_quote(state->target == TARGET_SYSLOG ? SYSLOG_PATH
						    : state->file.path,
	    name, sizeof(name));
	log_warnx("cannot write to the log %s: %s; dropping lines", name, why);
}

/* --- a file ------------------------------------------------------------- */

static void
add_line(struct event_log *state, const char *text, size_t length)
{
	size_t next = (state->first + state->waiting) % WAITING_MAX;
	char *line;

	if (state->waiting == WAITING_MAX) {
		event_log_drop(state, "it is too slow");
		return;
	}
	line = strndup(text, length);
	if (line == NULL) {
		event_log_drop(state, strerror(errno));
		return;
	}
	state->lines[next] = line;
	state->waiting++;
	backlog_add(&state->backlog);
}

static void
remove_line(struct event_log *state)
{
	free(state->lines[state->first]);
	state->first = (state->first + 1) % WAITING_MAX;
	state->waiting--;
}

/* One look at the path, or one write. */
static bool
event_log_step(void *arg)
{
	struct event_log *state = arg;
	const char *why;

	state->followed = !state->followed;
	if (state->followed) {
		log_file_follow(&state->file);
		return true;
	}
	why = log_file_append(&state->file, state->lines[state->first]);
	if (why != NULL)
		event_log_drop(state, why);
	remove_line(state);
	return state->waiting > 0;
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
	if (state->target == TARGET_STDERR &&
	    !event_text_is_shown(level, state->opts))
		return;
	length = log_line_format(&state->line, event, text);
	if (length == 0)
		return;
	if (state->target == TARGET_STDERR)
		log_raw(text, length);
	else if (state->target == TARGET_SYSLOG)
		send_to_syslog(state, text, length);
	else
		add_line(state, text, length);
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

	backlog_take(&state->backlog, event);
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
open_log(const struct facts *facts, struct loop *loop)
{
	const struct opts *opts = facts->opts;
	struct event_log *state;
	const char *why = NULL;

	if ((!opts->log_json && opts->log_to == NULL) ||
	    opts->action == OPTS_DOCTOR)
		return NULL; /* see event_text */
	state = mem_alloc(sizeof(*state));
	state->target = opts->log_to == NULL		      ? TARGET_STDERR
			: strcmp(opts->log_to, "syslog") == 0 ? TARGET_SYSLOG
							      : TARGET_FILE;
	if (state->target == TARGET_FILE)
		why = log_file_open(&state->file, opts->log_to);
	if (why != NULL) {
		report_no_log(opts, why);
		free(state);
		return NULL;
	}
	state->opts = opts;
	state->socket = -1;
	backlog_init(&state->backlog, loop, event_log_step, state);
	state->line = (struct log_line){.facts = facts,
	    .json = opts->log_json,
	    .head = state->target == TARGET_SYSLOG ? LOG_LINE_SYSLOG
						   : LOG_LINE_DATED};
	holder_self(&state->line.self);
	reminder_init(&state->reminder, loop, log_waiting, state);
	return state;
}

static void
close_log(void *arg)
{
	struct event_log *state = arg;

	reminder_stop(&state->reminder);
	backlog_finish(&state->backlog);
	for (; state->waiting > 0; remove_line(state))
		event_log_drop(state, "it is too slow");
	if (state->dropped > 0)
		log_warnx("%" PRId64 " line%s of the log %s dropped",
		    state->dropped, state->dropped > 1 ? "s" : "",
		    state->dropped > 1 ? "were" : "was");
	if (state->target == TARGET_FILE)
		close(state->file.fd);
	if (state->socket != -1)
		close(state->socket);
	free(state);
}

const struct event_sink event_log = {open_log, event_log_on_event, close_log};
