#include "sink/event_log.h"

#include <stdlib.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "sink/event_text.h"
#include "sink/log_line.h"
#include "sink/log_target.h"
#include "sink/reminder.h"

struct event_log {
	const struct opts *opts;
	struct log_line line;
	struct log_target target;
	struct reminder reminder; /* to log the wait again */
};

/* -q and -v are about stderr. A program that reads it finds the start and the
 * end there, too. */
static bool
is_wanted(const struct event_log *state, enum level level)
{
	if (state->target.kind != LOG_TARGET_STDERR)
		return true;
	return event_text_is_shown(level == LEVEL_LOG ? LEVEL_INFO : level,
	    state->opts);
}

static void
log_event(struct event_log *state, const struct event *event)
{
	char text[LOG_LINE_MAX];
	size_t length;

	if (!is_wanted(state, event_level(event)))
		return;
	length = log_line_format(&state->line, event, text);
	if (length > 0)
		log_target_write(&state->target, text, length);
}

static void
log_waiting(void *arg, const struct event *event)
{
	struct event_log *state = arg;

	if (reminder_is_new(&state->reminder))
		log_event(state, event);
}

static void
on_event(void *arg, const struct event *event)
{
	struct event_log *state = arg;

	log_target_take(&state->target, event);
	if (!reminder_take(&state->reminder, event))
		log_event(state, event);
}

static void
report_no_log(const struct opts *opts, const char *why)
{
	char name[1024];

	escape_quote(opts->log_to, name, sizeof(name));
	if (opts->log_demanded)
		log_die(EXITCODE_CONFIG, "cannot log to %s: %s", name, why);
	if (!opts->quiet)
		log_warnx("cannot log to %s: %s; there will be no log", name,
		    why);
}

static void *
open_log(const struct facts *facts, struct loop *loop)
{
	const struct opts *opts = facts->opts;
	struct event_log *state;
	const char *why;

	if ((!opts->log_json && opts->log_to == NULL) ||
	    opts->action == OPTS_DOCTOR)
		return NULL; /* see event_text */
	state = mem_alloc(sizeof(*state));
	state->opts = opts;
	why = log_target_open(&state->target, opts->log_to, loop);
	if (why != NULL) {
		report_no_log(opts, why);
		free(state);
		return NULL;
	}
	state->line = (struct log_line){.facts = facts,
	    .json = opts->log_json,
	    .head = state->target.kind == LOG_TARGET_SYSLOG ? LOG_LINE_SYSLOG
							    : LOG_LINE_DATED};
	holder_self(&state->line.self);
	reminder_init(&state->reminder, loop);
	state->reminder.on_due = log_waiting;
	state->reminder.arg = state;
	return state;
}

static void
close_log(void *arg)
{
	struct event_log *state = arg;

	reminder_stop(&state->reminder);
	log_target_close(&state->target);
	free(state);
}

const struct event_sink event_log = {open_log, on_event, close_log};
