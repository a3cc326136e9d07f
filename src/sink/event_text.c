/* In a message {fact} stands for a fact of the event, and <is|are> for its
 * first word if the fact before it is 1 or a single name, otherwise for its
 * second word. A part in brackets is left out if a fact in it is unknown. Names
 * of locks and files come in quotes, so that a name cannot be taken for a part
 * of the message. */
#include "sink/event_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "job/terminal.h"
#include "run/ending.h"
#include "sink/reminder.h"
#include "sink/wait_line.h"

enum {
	TEXT_MAX = 4080, /* with prefix and newline not more than PIPE_BUF */
	NAME_SIZE = 2048,
	FACT_MAX = HOLDER_LOCK_TEXT_MAX,
	TENTH_MS = 100,
	SECOND_MS = 1000,
	MINUTE_MS = 60000
};

/* clang-format off */
static const struct {
	enum level level;
	const char *message;
} rows[EVENT_COUNT] = {
	[EVENT_DELAYED] = {LEVEL_INFO,
	    "{name}: the first try comes in {seconds} s"},
	[EVENT_BEGUN] = {LEVEL_LOG, "{name}: acquiring the lock"},
	[EVENT_TWO_SERVERS] = {LEVEL_WARNING,
	    "with 2 servers no lock can be acquired while one of them is "
	    "unreachable; use 3"},
	[EVENT_EVEN_SERVERS] = {LEVEL_WARNING,
	    "{count} servers tolerate no more failures than one server fewer"},
	[EVENT_LIKE_GLOB] = {LEVEL_WARNING,
	    "{name}: --hold uses this as a plain name and expands no globs"},
	[EVENT_UNUSABLE_SERVER] = {LEVEL_WARNING, "{name}: {why}"},
	[EVENT_WAITING] = {LEVEL_BUSY,
	    "{name} {holder}; waiting[ for {waited}][, {left} left][, position "
	    "{position} in the queue]"},
	[EVENT_NO_REPLY] = {LEVEL_WARNING, "[{name}: ]{why}; trying again"},
	[EVENT_WAITED] = {LEVEL_BUSY, "{name}: acquired after {age}"},
	[EVENT_NOT_REREAD] = {LEVEL_WARNING,
	    "{why}; using what was read before"},
	[EVENT_NO_QUEUE] = {LEVEL_WARNING,
	    "{name}: the queue cannot be used: {why}"},
	[EVENT_NO_HISTORY] = {LEVEL_WARNING,
	    "{name}: the run is not recorded: {why}"},
	[EVENT_NEST_HIDDEN] = {LEVEL_WARNING,
	    "{name}: the outer run cannot see this one: {why}"},
	[EVENT_NEST_UNCOUNTED] = {LEVEL_WARNING,
	    "{name}: nested runs cannot be counted: {why}"},
	[EVENT_LOST_EARLY] = {LEVEL_WARNING,
	    "{name} was lost while others were waited for; starting over"},
	[EVENT_ACQUIRED] = {LEVEL_INFO,
	    "{name}: acquired on {server}, fence {fence}, lease {ms} ms"},
	[EVENT_JOINED] = {LEVEL_INFO,
	    "{name}: joined the run that holds it on {server}, fence {fence}, "
	    "lease {ms} ms"},
	[EVENT_PERMITS_DIFFER] = {LEVEL_WARNING,
	    "{name}: {permits} permit<|s> here, but another holder was started "
	    "with {count}"},
	[EVENT_SUCCESS_AHEAD] = {LEVEL_WARNING,
	    "{name}: the last success lies {age} in the future by the clock of "
	    "the server; --once-per ignores it"},
	[EVENT_UNLOCKED] = {LEVEL_WARNING,
	    "{name}: {why}; running without the lock"},
	[EVENT_JOB_STARTED] = {LEVEL_LOG, "{name}: starting the job"},
	[EVENT_RENEWAL_FAILED] = {LEVEL_WARNING,
	    "{name}: cannot renew the lock, which lasts for another {seconds} "
	    "s: {why}"},
	[EVENT_RENEWED_AGAIN] = {LEVEL_WARNING, "{name}: renewed again"},
	[EVENT_PAUSED] = {LEVEL_WARNING,
	    "{name}: rlockrun was paused for at least {seconds} s"},
	[EVENT_HELD_LONG] = {LEVEL_WARNING, "{name} <has|have> been held for {age}"},
	[EVENT_GUARD_STUCK] = {LEVEL_WARNING,
	    "{name}: the guard did not act in time; killing it and the job"},
	[EVENT_JOB_STOPPING] = {LEVEL_LOG, "{name}: stopping the job"},
	[EVENT_JOB_ENDED] = {LEVEL_LOG, "{name}: the job ended with {status}"},
	[EVENT_RELEASED] = {LEVEL_INFO, "{name}: released"},
	[EVENT_KEPT] = {LEVEL_INFO, "{name}: kept until {until}"},
	[EVENT_LEFT] = {LEVEL_INFO, "{name}: still held by other runs"},
	[EVENT_HELD] = {LEVEL_INFO, "{name}: held until {until}"},
	[EVENT_UNCONFIRMED] = {LEVEL_WARNING,
	    "{name}: cannot confirm the release, the lock may last for its "
	    "ttl: {why}"},
	[EVENT_ENDED] = {LEVEL_LOG,
	    "{name}: ended with {status}, reason {reason}"},
	[EVENT_REPLIED] = {LEVEL_LOG, "[{name}: ]the server replies again"},
	[EVENT_NOT_SHOWN] = {LEVEL_WARNING, "{name}: {why}"},
	[EVENT_SLOT_MOVING] = {LEVEL_WARNING,
	    "{name}: its slot is moving to another node"},
	[EVENT_LISTED] = {LEVEL_BUSY,
	    "{count} <lock|locks> found on {server}"},
	[EVENT_NONE_LISTED] = {LEVEL_BUSY, "no locks found on {server}"},
	[EVENT_FORCED] = {LEVEL_WARNING,
	    "{name}: released, it was held by {who}"},
	[EVENT_FORCE_AGAIN] = {LEVEL_WARNING,
	    "{name}: {count} <other still holds|others still hold> it; release "
	    "it again"},
	[EVENT_FORCE_FREE] = {LEVEL_WARNING, "{name} is already free[; {why}]"},
	[EVENT_FORCE_LATE] = {LEVEL_WARNING,
	    "{name}: it has another holder by now; nothing was changed"},
	[EVENT_FORCE_OTHER_TOKEN] = {LEVEL_WARNING,
	    "{name} is held by {who}, not with that token; nothing was "
	    "changed"},
	[EVENT_FORCE_DECLINED] = {LEVEL_WARNING,
	    "{name}: nothing was changed"},
	[EVENT_NOT_EXTENDED] = {LEVEL_WARNING,
	    "{name} is held by {who}, which is not a --hold; nothing was "
	    "changed"},
	[EVENT_NOT_WOKEN] = {LEVEL_WARNING,
	    "{name}: cannot notify the next waiter: {why}"},
	[EVENT_NO_OUTPUT] = {LEVEL_WARNING,
	    "cannot write to stdout: {why}"},
};
/* clang-format on */

/* The last part of each message about the end of a run. */
static const char *const thens[EVENT_THEN_COUNT] = {
    [EVENT_THEN_NOT_STARTED] = OPTS_NOT_STARTED,
    [EVENT_THEN_STOPPED] = "stopping the job",
    [EVENT_THEN_KILLED] = "the job was killed",
    [EVENT_THEN_CONTINUES] = "the job continues without it",
};

/* --- a message -------------------------------------------------------- */

enum { FACTS = 18 };

struct message_facts {
	char name[NAME_SIZE], command[NAME_SIZE];
	char holder[FACT_MAX];
	char position[24], count[24], permits[24], ms[24];
	char seconds[24], age[32], until[32];
	char waited[32], left[32];
	char status[40];
	bool several; /* names */
	struct {
		const char *word;
		const char *text; /* NULL or empty: unknown */
	} list[FACTS];
};

static void
describe_names(const struct event *event, const struct opts *opts, char *text,
    size_t size)
{
	size_t length = 0;

	if (event->name != NULL) {
		escape_quote(event->name, text, size);
		return;
	}
	text[0] = '\0';
	for (size_t i = 0; i < opts->key_count; i++) {
		if (i > 0)
			snprintf(text + length, size - length, ", ");
		length += strlen(text + length);
		if (size - length < sizeof("\"\""))
			return;
		escape_quote(opts->keys[i].name, text + length, size - length);
		length += strlen(text + length);
	}
}

/* As an option takes it, below a minute with tenths: "500ms", "1.5s". */
static void
describe_duration(int64_t ms, char *text, size_t size)
{
	if (ms > 0 && ms < SECOND_MS)
		snprintf(text, size, "%" PRId64 "ms", ms);
	else if (ms < MINUTE_MS && ms % SECOND_MS >= TENTH_MS)
		snprintf(text, size, "%" PRId64 ".%" PRId64 "s", ms / SECOND_MS,
		    ms % SECOND_MS / TENTH_MS);
	else
		holder_describe_age(ms, text, size);
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

static void
describe_wait(const struct event *event, const struct opts *opts,
    struct message_facts *facts)
{
	int64_t left = left_ms(opts, event->ms);

	holder_describe_age(event->ms, facts->waited, sizeof(facts->waited));
	if (left >= 0)
		holder_describe_age(left + SECOND_MS - 1, facts->left,
		    sizeof(facts->left));
}

/* As a shell shows it. */
static void
describe_status(int status, char *text, size_t size)
{
	if (status < 0)
		snprintf(text, size, "status %d (signal %d)",
		    EXITCODE_SIGNAL - status, -status);
	else
		snprintf(text, size, "status %d", status);
}

static void
describe_facts(struct message_facts *facts, const struct event *event,
    const struct opts *opts)
{
	*facts = (struct message_facts){
	    .list = {{"name", facts->name}, {"why", event->why},
		{"server", event->server}, {"fence", event->fence},
		{"command", facts->command}, {"who", event->who},
		{"holder", facts->holder}, {"position", facts->position},
		{"count", facts->count}, {"permits", facts->permits},
		{"ms", facts->ms}, {"seconds", facts->seconds},
		{"age", facts->age}, {"until", facts->until},
		{"waited", facts->waited}, {"left", facts->left},
		{"status", facts->status},
		{"reason",
		    event->ending != NULL ? event->ending->word : NULL}}};
	describe_names(event, opts, facts->name, sizeof(facts->name));
	facts->several = event->name == NULL && opts->key_count > 1;
	if (event->command != NULL)
		escape_quote(event->command, facts->command,
		    sizeof(facts->command));
	if (event->holder != NULL)
		holder_describe_lock(event->holder, facts->holder,
		    sizeof(facts->holder));
	/* The head of the queue waits for the holder alone. */
	if (event->position > 1)
		snprintf(facts->position, sizeof(facts->position), "%" PRId64,
		    event->position);
	if (event->count > 0)
		snprintf(facts->count, sizeof(facts->count), "%" PRId64,
		    event->count);
	snprintf(facts->permits, sizeof(facts->permits), "%" PRId64,
	    event->permits);
	snprintf(facts->ms, sizeof(facts->ms), "%" PRId64, event->ms);
	snprintf(facts->seconds, sizeof(facts->seconds), "%.1f",
	    (double)event->ms / SECOND_MS);
	describe_duration(event->ms, facts->age, sizeof(facts->age));
	/* When waiting starts, they would say nothing new. */
	if (event->ms >= MINUTE_MS)
		describe_wait(event, opts, facts);
	describe_status(event->status, facts->status, sizeof(facts->status));
	if (event->type == EVENT_KEPT || event->type == EVENT_HELD)
		holder_describe_time(event->ms, facts->until,
		    sizeof(facts->until));
}

/* The fact whose name ends at the brace. An unknown name is to be noticed. */
static const char *
find_fact(const struct message_facts *facts, const char *word)
{
	size_t length = strcspn(word, "}");

	for (int i = 0; i < FACTS; i++) {
		const char *text = facts->list[i].text;

		if (strlen(facts->list[i].word) == length &&
		    strncmp(facts->list[i].word, word, length) == 0)
			return text != NULL ? text : "";
	}
	return "{?}";
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
fill_in(const char *message, const struct message_facts *facts, char *text,
    size_t size)
{
	size_t length = 0, part = 0;
	bool unknown = false, many = false;

	text[0] = '\0';
	for (; *message != '\0'; message++) {
		char letter[2] = {*message, '\0'};
		const char *piece = letter;

		if (choose_word(&message, many))
			continue;
		if (*message == '[') {
			part = length;
			unknown = false;
			continue;
		}
		if (*message == ']') {
			length = unknown ? part : length;
			text[length] = '\0';
			continue;
		}
		if (*message == '{') {
			piece = find_fact(facts, message + 1);
			unknown = unknown || *piece == '\0';
			many = piece == facts->name ? facts->several
						    : strcmp(piece, "1") != 0;
			message = strchr(message, '}');
		}
		snprintf(text + length, size - length, "%s", piece);
		length += strlen(text + length);
	}
}

static const char *
message_for(const struct event *event)
{
	return event->type == EVENT_ENDING ? event->ending->message
					   : rows[event->type].message;
}

enum level
event_text_level(const struct event *event)
{
	if (message_for(event) == NULL)
		return LEVEL_NONE;
	if (event->minor) /* a server that is restarted is back in a moment */
		return event->type == EVENT_NO_REPLY ? LEVEL_BUSY : LEVEL_INFO;
	if (event->type != EVENT_ENDING)
		return rows[event->type].level;
	return event->ending->status == EXITCODE_BUSY ? LEVEL_BUSY
						      : LEVEL_ERROR;
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
	const char *message = message_for(event);
	const char *then = thens[event->then];
	struct message_facts facts;
	char last[64] = "";

	if (event->type == EVENT_ENDING && then != NULL)
		snprintf(last, sizeof(last), "; %s", then);
	describe_facts(&facts, event, opts);
	/* A long name does not push out the last part. */
	fill_in(message != NULL ? message : "", &facts, text,
	    size > strlen(last) ? size - strlen(last) : 1);
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
print(const struct event_text *state, const struct event *event)
{
	char text[TEXT_MAX];

	if (!event_text_is_shown(event_text_level(event), state->opts))
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
	return when == OPTS_PROGRESS_ALWAYS || isatty(STDERR_FILENO);
}

/* Not while we are in the background: then messages are printed. */
static bool
is_seen(const struct event_text *state)
{
	return state->opts->progress == OPTS_PROGRESS_ALWAYS ||
	       terminal_is_foreground(STDERR_FILENO);
}

static void
draw(const struct event_text *state, const struct event *event)
{
	const struct wait_line line = {.name = event->name,
	    .holder = event->holder,
	    .waited_ms = event->ms,
	    .left_ms = left_ms(state->opts, event->ms),
	    .position = event->position};
	size_t columns = log_columns();
	char text[TEXT_MAX];

	wait_line_format(&line, columns, text, sizeof(text));
	log_progress(text, columns);
}

/* In place of the wait, until the server replies. */
static void
draw_silence(struct event_text *state, const struct event *event)
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
		draw(state, event);
	else if (reminder_is_new(reminder) && print(state, event))
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
on_event(void *arg, const struct event *event)
{
	struct event_text *state = arg;

	if (event->type == EVENT_NO_REPLY && event->minor &&
	    !state->opts->verbose && may_draw(state) && is_seen(state)) {
		draw_silence(state, event);
		return;
	}
	/* The message of what ends the wait replaces the line. */
	if (reminder_take(&state->reminder, event)) {
		state->printed_silence = false;
		return;
	}
	if (is_redundant(state, event))
		return;
	if (print(state, event) && event->type == EVENT_NO_REPLY)
		state->printed_silence = state->printed_wait = true;
	if (event->type == EVENT_JOB_STARTED || event->type == EVENT_HELD ||
	    event->type == EVENT_REPLIED || event->type == EVENT_ENDING)
		log_progress_end();
}

static void *
open_text(const struct opts *opts, struct loop *loop)
{
	struct event_text *state;

	if (opts->log_json && opts->log_to == NULL)
		return NULL; /* see event_log */
	state = mem_alloc(sizeof(*state));
	state->opts = opts;
	reminder_init(&state->reminder, loop);
	state->reminder.on_due = show_waiting;
	state->reminder.arg = state;
	return state;
}

static void
close_text(void *arg)
{
	struct event_text *state = arg;

	reminder_stop(&state->reminder);
	free(state);
}

const struct event_sink event_text = {open_text, on_event, close_text};
