/* In a message {detail} stands for a detail of the event, and <is|are> for its
 * first word if the detail before it is 1 or a single name, otherwise for its
 * second word. A part in brackets is left out if a detail in it is unknown.
 * Names of locks and files come in quotes, so that a name cannot be taken for a
 * part of the message. */
#include "sink/event_text.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/moment.h"
#include "base/tty.h"
#include "job/terminal.h"
#include "sink/holder_text.h"
#include "sink/reminder.h"
#include "sink/sinks.h"
#include "sink/wait_line.h"

enum {
	TEXT_MAX = 4080, /* with prefix and newline not more than PIPE_BUF */
	ROOM = 2048,	 /* of a detail, such as the names of all locks */
	TENTH_MS = 100,
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

/* --- a message -------------------------------------------------------- */

/* A message that is being written. */
struct message {
	const struct event *event;
	const struct opts *opts;
	char room[ROOM]; /* for the next detail */
};

static void
detail_name(struct message *message)
{
	const struct opts *opts = message->opts;
	char *text = message->room;
	size_t length = 0;

	if (message->event->name != NULL) {
		escape_quote(message->event->name, text, ROOM);
		return;
	}
	for (size_t i = 0; i < opts->key_count; i++) {
		if (i > 0)
			snprintf(text + length, ROOM - length, ", ");
		length += strlen(text + length);
		if (ROOM - length < sizeof("\"\""))
			return;
		escape_quote(opts->keys[i].name, text + length, ROOM - length);
		length += strlen(text + length);
	}
}

/* As an option takes it, below a minute with tenths: "500ms", "1.5s". */
static void
detail_age(struct message *message)
{
	int64_t ms = message->event->ms;

	if (ms > 0 && ms < SECOND_MS)
		snprintf(message->room, ROOM, "%" PRId64 "ms", ms);
	else if (ms < MINUTE_MS && ms % SECOND_MS >= TENTH_MS)
		snprintf(message->room, ROOM, "%" PRId64 ".%" PRId64 "s",
		    ms / SECOND_MS, ms % SECOND_MS / TENTH_MS);
	else
		moment_describe_age(ms, message->room, ROOM);
}

/* What is left of -w, or -1. */
static int64_t
left_ms(const struct opts *opts, int64_t waited_ms)
{
	int64_t left = opts->wait_ms - waited_ms;

	if (opts->wait_ms <= 0)
		return -1;
	return left > 0 ? left : 0;
}

enum described {
	DESCRIBED_NAME = 1,
	DESCRIBED_COMMAND,
	DESCRIBED_HOLDER,
	DESCRIBED_BY,
	DESCRIBED_SECONDS,
	DESCRIBED_AGE,
	DESCRIBED_UNTIL,
	DESCRIBED_WAITED,
	DESCRIBED_LEFT,
	DESCRIBED_STATUS,
	DESCRIBED_REASON,
};

static void
describe_in_room(struct message *message, enum described what)
{
	const struct event *event = message->event;
	char *room = message->room;
	int64_t left = left_ms(message->opts, event->ms);
	/* When waiting starts, this and what is left would say nothing new. */
	bool has_waited = event->ms >= MINUTE_MS;

	if (what == DESCRIBED_NAME)
		detail_name(message);
	else if (what == DESCRIBED_COMMAND && event->command != NULL)
		escape_quote(event->command, room, ROOM);
	else if (what == DESCRIBED_HOLDER && event->holder != NULL)
		holder_text_format_lock(event->holder, room, ROOM);
	else if (what == DESCRIBED_BY && event->by != NULL)
		holder_text_format_by(event->by, room, ROOM);
	else if (what == DESCRIBED_SECONDS)
		snprintf(room, ROOM, "%.1f", (double)event->ms / SECOND_MS);
	else if (what == DESCRIBED_AGE)
		detail_age(message);
	else if (what == DESCRIBED_UNTIL)
		moment_describe_time(event->ms, room, ROOM);
	else if (what == DESCRIBED_WAITED && has_waited)
		moment_describe_age(event->ms, room, ROOM);
	else if (what == DESCRIBED_LEFT && has_waited && left >= 0)
		moment_describe_age(left + SECOND_MS - 1, room, ROOM);
	else if (what == DESCRIBED_STATUS && event->status < 0)
		snprintf(room, ROOM, "status %d (signal %d)",
		    event_shell_status(event->status), -event->status);
	else if (what == DESCRIBED_STATUS)
		snprintf(room, ROOM, "status %d", event->status);
	else if (what == DESCRIBED_REASON)
		snprintf(room, ROOM, "%s", event_rows[event->ending].word);
}

#define TEXT(field) .text = offsetof(struct event, field)
#define NUMBER(field, least_) \
	.number = offsetof(struct event, field), .least = (least_)

/* A detail is a text of the event, a number of it that is at least so large, or
 * what is described in the room. Otherwise it is unknown. */
static const struct detail {
	char word[16];
	size_t text, number;
	int64_t least;
	enum described described;
} detail_rows[] = {
    {"name", .described = DESCRIBED_NAME},
    {"why", TEXT(why)},
    {"server", TEXT(server)},
    {"fence", TEXT(fence)},
    {"who", TEXT(who)},
    {"command", .described = DESCRIBED_COMMAND},
    {"holder", .described = DESCRIBED_HOLDER},
    {"by", .described = DESCRIBED_BY},
    /* The head of the queue waits for the holder alone. */
    {"position", NUMBER(position, 2)},
    {"count", NUMBER(count, 1)},
    {"permits", NUMBER(permits, INT64_MIN)},
    {"ms", NUMBER(ms, INT64_MIN)},
    {"seconds", .described = DESCRIBED_SECONDS},
    {"age", .described = DESCRIBED_AGE},
    {"until", .described = DESCRIBED_UNTIL},
    {"waited", .described = DESCRIBED_WAITED},
    {"left", .described = DESCRIBED_LEFT},
    {"status", .described = DESCRIBED_STATUS},
    {"reason", .described = DESCRIBED_REASON},
};

/* The detail whose word ends at the brace. An unknown word is to be noticed. */
static const char *
find_detail(struct message *message, const char *word)
{
	const char *event = (const char *)message->event, *text = NULL;
	const struct detail *detail = detail_rows;
	const struct detail *end =
	    &detail_rows[sizeof(detail_rows) / sizeof(*detail_rows)];
	size_t length = strcspn(word, "}");
	int64_t number = 0;

	while (detail < end && (strlen(detail->word) != length ||
				   strncmp(detail->word, word, length) != 0))
		detail++;
	if (detail == end)
		return "{?}";
	message->room[0] = '\0';
	if (detail->text != 0) {
		memcpy(&text, event + detail->text, sizeof(text));
		return text != NULL ? text : "";
	}
	if (detail->number != 0) {
		memcpy(&number, event + detail->number, sizeof(number));
		if (number >= detail->least)
			snprintf(message->room, ROOM, "%" PRId64, number);
	} else {
		describe_in_room(message, detail->described);
	}
	return message->room;
}

/* Whether the words after this detail are those for many. */
static bool
is_many(const struct message *message, const char *word, const char *detail)
{
	if (strncmp(word, "name}", strlen("name}")) != 0)
		return strcmp(detail, "1") != 0;
	return message->event->name == NULL && message->opts->key_count > 1;
}

/* Moves on to the word that is meant of <one|many>, or past the others. */
static bool
choose_word(const char **message, bool many)
{
	if (**message == '|' || (**message == '<' && many))
		*message = strchr(*message, **message == '<' ? '|' : '>');
	else if (**message != '<' && **message != '>')
		return false;
	return true;
}

/* size is at least 1; what does not fit is cut off. */
static void
fill_in(struct message *message, char *text, size_t size)
{
	const char *at = event_row(message->event)->message;
	size_t length = 0, part = 0;
	bool unknown = false, many = false;

	text[0] = '\0';
	for (; *at != '\0'; at++) {
		char letter[2] = {*at, '\0'};
		const char *piece = letter;

		if (choose_word(&at, many))
			continue;
		if (*at == '[') {
			part = length;
			unknown = false;
			continue;
		}
		if (*at == ']') {
			length = unknown ? part : length;
			text[length] = '\0';
			continue;
		}
		if (*at == '{') {
			piece = find_detail(message, at + 1);
			unknown = unknown || *piece == '\0';
			many = is_many(message, at + 1, piece);
			at = strchr(at, '}');
		}
		snprintf(text + length, size - length, "%s", piece);
		length += strlen(text + length);
	}
}

bool
event_text_is_shown(enum level level, const struct opts *opts)
{
	return level == LEVEL_INFO   ? opts->verbose
	       : level == LEVEL_BUSY ? !opts->quiet
				     : level > LEVEL_BUSY;
}

void
event_text_format(const struct event *event, const struct opts *opts,
    char *text, size_t size)
{
	const char *then = thens[event->then];
	struct message message;
	char last[64] = "";

	message.event = event;
	message.opts = opts;
	if (event->type == EVENT_ENDING && then != NULL)
		snprintf(last, sizeof(last), "; %s", then);
	/* A long name does not push out the last part. */
	fill_in(&message, text, size > strlen(last) ? size - strlen(last) : 1);
	if (*text != '\0')
		snprintf(text + strlen(text), size - strlen(text), "%s", last);
}

/* --- on stderr -------------------------------------------------------- */

struct event_text {
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
	event_text_format(event, state->opts, text, sizeof(text));
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
	       (tty_find_obstacle(STDERR_FILENO) == NULL &&
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
		line.left_ms = left_ms(state->opts, event->ms);
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
		event_text_format(event, state->opts, message, sizeof(message));
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
