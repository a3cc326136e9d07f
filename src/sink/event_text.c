/* Messages are templates, filled in with the details of an event. Names of
 * locks and files come in quotes, so that a name cannot be taken for a part of
 * the message. */
#include "sink/event_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/template.h"
#include "job/terminal.h"
#include "sink/event_fields.h"
#include "sink/reminder.h"
#include "sink/sinks.h"
#include "sink/wait_line.h"

enum {
	TEXT_MAX = 4080, /* with prefix and newline not more than PIPE_BUF */
	SECOND_MS = 1000,
	MINUTE_MS = 60000
};

/* The last part of each message about the end of a run. */
static const char *const thens[EVENT_THEN_COUNT] = {
    [EVENT_THEN_NOT_STARTED] = OPTS_NOT_STARTED,
    [EVENT_THEN_STOPPED] = "stopping the job",
    [EVENT_THEN_KILLED] = "the job was killed",
    [EVENT_THEN_CONTINUES] = "the job continues without it",
};

bool
event_text_is_shown(enum level level, const struct opts *opts)
{
	return level == LEVEL_INFO   ? opts->verbose
	       : level == LEVEL_BUSY ? !opts->quiet
				     : level > LEVEL_BUSY;
}

void
event_text_format(const struct event *event, const struct facts *facts,
    char *text, size_t size)
{
	const char *then = thens[event->then];
	struct event_fields fields;
	char last[64] = "";

	event_fields_init(&fields, facts, event);
	if (event->type == EVENT_ENDING && then != NULL)
		snprintf(last, sizeof(last), "; %s", then);
	/* A long name does not push out the last part. */
	template_fill(event_row(event)->message, event_fields_word, &fields,
	    text, size > strlen(last) ? size - strlen(last) : 1);
	if (*text != '\0')
		snprintf(text + strlen(text), size - strlen(text), "%s", last);
}

/* --- on stderr -------------------------------------------------------- */

struct event_text {
	const struct facts *facts;
	const struct opts *opts;
	struct reminder reminder; /* to draw or print the wait again */
	bool printed_wait;	  /* or silence, instead of drawing it */
	bool printed_silence;	  /* since the last reply */
};

/* Whether it is shown. */
static bool
print_event(const struct event_text *state, const struct event *event)
{
	char text[TEXT_MAX];

	if (!event_text_is_shown(event_level(event), state->opts))
		return false;
	event_text_format(event, state->facts, text, sizeof(text));
	log_warnx("%s", text);
	return true;
}

/* now: not while we are in the background, where messages are printed. */
static bool
may_draw(const struct event_text *state, bool now)
{
	enum opts_progress when = (enum opts_progress)state->opts->progress;

	if (state->opts->quiet || when == OPTS_PROGRESS_NEVER)
		return false;
	return when == OPTS_PROGRESS_ALWAYS ||
	       (log_find_obstacle(STDERR_FILENO) == NULL &&
		   (!now || terminal_is_foreground(STDERR_FILENO)));
}

static void
show_waiting(void *arg, const struct event *event)
{
	struct event_text *state = arg;
	struct reminder *reminder = &state->reminder;
	struct event line = *event;
	char text[TEXT_MAX];
	size_t columns;

	reminder->period_ms = state->opts->quiet       ? 0
			      : may_draw(state, false) ? SECOND_MS
						       : MINUTE_MS;
	if (may_draw(state, true)) {
		columns = log_columns();
		line.left_ms = event_fields_left_ms(state->opts, event->ms);
		wait_line_format(&line, columns, text, sizeof(text));
		log_progress(text, columns);
	} else if (reminder_is_new(reminder) && print_event(state, event)) {
		state->printed_wait = true;
	}
}

static void
event_text_on_event(void *arg, const struct event *event)
{
	struct event_text *state = arg;
	char message[TEXT_MAX], line[TEXT_MAX + sizeof(LOG_PREFIX)];
	size_t columns;

	/* In place of the wait, until the server replies. */
	if (event->type == EVENT_NO_REPLY && event->minor &&
	    !state->opts->verbose && may_draw(state, true)) {
		columns = log_columns();
		event_text_format(event, state->facts, message,
		    sizeof(message));
		snprintf(line, sizeof(line), LOG_PREFIX "%s", message);
		escape_shorten(line, ESCAPE_TEXT, columns, message,
		    sizeof(message));
		log_progress(message, columns);
		reminder_stop(&state->reminder);
		return;
	}
	/* The message of what ends the wait replaces the line. */
	if (reminder_take(&state->reminder, event)) {
		state->printed_silence = false;
		return;
	}
	/* A silence is reported once, however long it lasts. A wait that was
	 * drawn leaves no trace on the terminal. */
	if ((event->type == EVENT_NO_REPLY && state->printed_silence) ||
	    (event->type == EVENT_WAITED && !state->printed_wait))
		return;
	if (print_event(state, event) && event->type == EVENT_NO_REPLY)
		state->printed_silence = state->printed_wait = true;
	if (event->type == EVENT_JOB_STARTED || event->type == EVENT_HELD ||
	    event->type == EVENT_REPLIED || event->type == EVENT_ENDING)
		log_progress_end();
}

static void *
event_text_open(const struct facts *facts, struct loop *loop,
    struct writer *writer)
{
	const struct opts *opts = facts->opts;
	struct event_text *state;

	(void)writer;
	if (opts->log_json && opts->log_to == NULL)
		return NULL; /* see event_log */
	state = mem_alloc(sizeof(*state));
	state->facts = facts;
	state->opts = opts;
	reminder_init(&state->reminder, loop, show_waiting, state);
	return state;
}

static void
event_text_close(void *arg)
{
	struct event_text *state = arg;

	reminder_stop(&state->reminder);
	free(state);
}

const struct event_sink event_text = {event_text_open, event_text_on_event,
    event_text_close};
