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

static void
detail_command(struct message *message)
{
	if (message->event->command != NULL)
		escape_quote(message->event->command, message->room, ROOM);
}

static void
detail_holder(struct message *message)
{
	if (message->event->holder != NULL)
		holder_text_format_lock(message->event->holder, message->room,
		    ROOM);
}

static void
detail_by(struct message *message)
{
	if (message->event->by != NULL)
		holder_text_format_by(message->event->by, message->room, ROOM);
}

static void
detail_seconds(struct message *message)
{
	snprintf(message->room, ROOM, "%.1f",
	    (double)message->event->ms / SECOND_MS);
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

static void
detail_until(struct message *message)
{
	moment_describe_time(message->event->ms, message->room, ROOM);
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

/* When waiting starts, this and what is left would say nothing new. */
static void
detail_waited(struct message *message)
{
	if (message->event->ms >= MINUTE_MS)
		moment_describe_age(message->event->ms, message->room, ROOM);
}

static void
detail_left(struct message *message)
{
	int64_t left = left_ms(message->opts, message->event->ms);

	if (left >= 0 && message->event->ms >= MINUTE_MS)
		moment_describe_age(left + SECOND_MS - 1, message->room, ROOM);
}

static void
detail_status(struct message *message)
{
	int status = message->event->status;
	int shown = event_shell_status(status);

	if (status < 0)
		snprintf(message->room, ROOM, "status %d (signal %d)", shown,
		    -status);
	else
		snprintf(message->room, ROOM, "status %d", shown);
}

static void
detail_reason(struct message *message)
{
	snprintf(message->room, ROOM, "%s",
	    event_rows[message->event->ending].word);
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
	void (*describe)(struct message *message);
} detail_rows[] = {
    {"name", .describe = detail_name},
    {"why", TEXT(why)},
    {"server", TEXT(server)},
    {"fence", TEXT(fence)},
    {"who", TEXT(who)},
    {"command", .describe = detail_command},
    {"holder", .describe = detail_holder},
    {"by", .describe = detail_by},
    /* The head of the queue waits for the holder alone. */
    {"position", NUMBER(position, 2)},
    {"count", NUMBER(count, 1)},
    {"permits", NUMBER(permits, INT64_MIN)},
    {"ms", NUMBER(ms, INT64_MIN)},
    {"seconds", .describe = detail_seconds},
    {"age", .describe = detail_age},
    {"until", .describe = detail_until},
    {"waited", .describe = detail_waited},
    {"left", .describe = detail_left},
    {"status", .describe = detail_status},
    {"reason", .describe = detail_reason},
};

static const char *
describe_detail(struct message *message, const struct detail *detail)
{
	const char *event = (const char *)message->event;
	const char *text = NULL;
	int64_t number = 0;

	message->room[0] = '\0';
	if (detail->text != 0) {
		memcpy(&text, event + detail->text, sizeof(text));
		return text != NULL ? text : "";
	}
	if (detail->describe != NULL) {
		detail->describe(message);
		return message->room;
	}
	memcpy(&number, event + detail->number, sizeof(number));
	if (number >= detail->least)
		snprintf(message->room, ROOM, "%" PRId64, number);
	return message->room;
}

/* The detail whose word ends at the brace. An unknown word is to be noticed. */
static const char *
find_detail(struct message *message, const char *word)
{
	size_t length = strcspn(word, "}");

	for (size_t i = 0; i < sizeof(detail_rows) / sizeof(*detail_rows); i++)
		if (strlen(detail_rows[i].word) == length &&
		    strncmp(detail_rows[i].word, word, length) == 0)
			return describe_detail(message, &detail_rows[i]);
	return "{?}";
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

static bool
may_draw(const struct event_text *state)
{
	enum opts_progress when = (enum opts_progress)state->opts->progress;

	if (state->opts->quiet || when == OPTS_PROGRESS_NEVER)
		return false;
	return when == OPTS_PROGRESS_ALWAYS ||
	       tty_find_obstacle(STDERR_FILENO) == NULL;
}

/* Not while we are in the background: then messages are printed. */
static bool
is_seen(const struct event_text *state)
{
	return state->opts->progress == OPTS_PROGRESS_ALWAYS ||
	       terminal_is_foreground(STDERR_FILENO);
}

static void
draw_wait(const struct event_text *state, const struct event *event)
{
	struct event line = *event;
	size_t columns = log_columns();
	char text[TEXT_MAX];

	line.left_ms = left_ms(state->opts, event->ms);
	wait_line_format(&line, columns, text, sizeof(text));
	log_progress(text, columns);
}

/* In place of the wait, until the server replies. */
static void
draw_no_reply(struct event_text *state, const struct event *event)
{
	char message[TEXT_MAX], line[TEXT_MAX + sizeof(LOG_PREFIX)];
	size_t columns = log_columns();

	event_text_format(event, state->opts, message, sizeof(message));
	snprintf(line, sizeof(line), LOG_PREFIX "%s", message);
	escape_shorten(line, ESCAPE_TEXT, columns, message, sizeof(message));
	log_progress(message, columns);
	reminder_stop(&state->reminder);
}

static void
show_waiting(void *arg, const struct event *event)
{
	struct event_text *state = arg;
	struct reminder *reminder = &state->reminder;
	bool drawable = may_draw(state);

	reminder->period_ms = state->opts->quiet ? 0
			      : drawable	 ? SECOND_MS
						 : MINUTE_MS;
	if (drawable && is_seen(state))
		draw_wait(state, event);
	else if (reminder_is_new(reminder) && print_event(state, event))
		state->printed_wait = true;
}

/* A silence is reported once, however long it lasts. A wait that was drawn
 * leaves no trace on the terminal. */
static bool
is_redundant(const struct event_text *state, const struct event *event)
{
	return (event->type == EVENT_NO_REPLY && state->printed_silence) ||
	       (event->type == EVENT_WAITED && !state->printed_wait);
}

static void
event_text_on_event(void *arg, const struct event *event)
{
	struct event_text *state = arg;

	if (event->type == EVENT_NO_REPLY && event->minor &&
	    !state->opts->verbose && may_draw(state) && is_seen(state)) {
		draw_no_reply(state, event);
		return;
	}
	/* The message of what ends the wait replaces the line. */
	if (reminder_take(&state->reminder, event)) {
		state->printed_silence = false;
		return;
	}
	if (is_redundant(state, event))
		return;
	if (print_event(state, event) && event->type == EVENT_NO_REPLY)
		state->printed_silence = state->printed_wait = true;
	if (event->type == EVENT_JOB_STARTED || event->type == EVENT_HELD ||
	    event->type == EVENT_REPLIED || event->type == EVENT_ENDING)
		log_progress_end();
}

static void *
event_text_open(const struct facts *facts, struct loop *loop)
{
	const struct opts *opts = facts->opts;
	struct event_text *state;

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
