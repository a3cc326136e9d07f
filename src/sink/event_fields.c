#include "sink/event_fields.h"

#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "base/escape.h"
#include "base/num.h"
#include "sink/holder_text.h"

enum {
	ROOM = sizeof(((struct event_fields *)NULL)->room),
	KEYS_SHARE = 8, /* that of each key in a list of them */
	TENTH_MS = 100,
	SECOND_MS = 1000,
	MINUTE_MS = 60000
};

/* --- the table ---------------------------------------------------------- */

/* Names of locks and commands are quoted in messages, so that a name cannot be
 * taken for a part of the message. */
enum form {
	/* Texts. */
	FORM_TEXT,
	FORM_UNSAFE, /* a hook must not have to fear what is in it */
	FORM_QUOTED,
	FORM_DIGITS, /* in JSON a number, or unknown */
	FORM_NAMES,
	/* Holders. */
	FORM_LOCK, /* as the rest of a sentence about the lock */
	FORM_HOLDER,
	FORM_BY,
	/* Numbers, which are unknown below the least. */
	FORM_NUMBER,
	FORM_MS,       /* in JSON seconds */
	FORM_EVENT_MS, /* likewise, by the name in the row of the event */
	FORM_SECONDS,
	FORM_DURATION, /* as an option takes it */
	FORM_AGE,
	FORM_UNTIL,
	FORM_STATUS,
};

/* Where a field lies: texts of FROM_FIELDS are pointers, others are arrays. */
enum from { FROM_FIELDS, FROM_LOCK, FROM_HOLDER, FROM_BY, FROM_SELF };

#define AT(from_, type, member) \
	.from = FROM_##from_, .at = offsetof(struct type, member)
#define FIELDS(member) AT(FIELDS, event_fields, member)
#define LOCK(member) AT(LOCK, facts_lock, member)
#define HOLDER(member) AT(HOLDER, holder, member)
#define BY(member) AT(BY, holder_by, member)
#define SELF(member) AT(SELF, holder, member)

/* In the order of JSON. The texts lie in the row, since pointers would have to
 * be relocated when the program starts. */
/* clang-format off */
static const struct field {
	char word[10], json[16], variable[12];
	enum form form;
	enum from from;
	size_t at;
	int64_t least;
} fields_table[] = {
	{"", "", "EVENT", FORM_TEXT, FIELDS(hook)},
	{"", "level", "", FORM_TEXT, FIELDS(level)},
	{"", "event", "", FORM_TEXT, FIELDS(word)},
	{"", "message", "MESSAGE", FORM_UNSAFE, FIELDS(message)},
	{"name", "key", "KEY", FORM_NAMES, FIELDS(event.name)},
	{"", "label", "LABEL", FORM_TEXT, FIELDS(label)},
	{"server", "server", "", FORM_TEXT, FIELDS(event.server)},
	{"", "", "SERVER", FORM_TEXT, LOCK(server)},
	{"", "token", "SHORT_TOKEN", FORM_TEXT, LOCK(token)},
	{"fence", "", "", FORM_TEXT, FIELDS(event.fence)},
	{"", "fence", "FENCE", FORM_DIGITS, LOCK(fence)},
	{"", "waited_seconds", "WAITED_MS", FORM_MS, FIELDS(waited_ms)},
	{"", "held_seconds", "HELD_MS", FORM_MS, FIELDS(held_ms)},
	{"ms", "", "", FORM_EVENT_MS, FIELDS(event.ms)},
	{"seconds", "", "", FORM_SECONDS, FIELDS(event.ms), .least = INT64_MIN},
	{"age", "", "", FORM_DURATION, FIELDS(event.ms), .least = INT64_MIN},
	{"until", "", "", FORM_UNTIL, FIELDS(event.ms), .least = INT64_MIN},
	{"waited", "", "", FORM_AGE, FIELDS(waiting_ms)},
	{"left", "", "", FORM_AGE, FIELDS(left_ms)},
	{"reason", "reason", "REASON", FORM_TEXT, FIELDS(reason)},
	{"status", "", "", FORM_STATUS, FIELDS(status)},
	{"", "status", "STATUS", FORM_NUMBER, FIELDS(status)},
	{"", "signal", "", FORM_NUMBER, FIELDS(signal)},
	/* The head of the queue waits for the holder alone. */
	{"position", "", "", FORM_NUMBER, FIELDS(event.position), .least = 2},
	{"", "position", "", FORM_NUMBER, FIELDS(event.position), .least = 1},
	{"count", "", "", FORM_NUMBER, FIELDS(event.count), .least = 1},
	{"permits", "", "", FORM_NUMBER, FIELDS(event.permits), .least = INT64_MIN},
	{"why", "", "", FORM_TEXT, FIELDS(event.why)},
	{"who", "", "", FORM_TEXT, FIELDS(event.who)},
	{"command", "", "", FORM_QUOTED, FIELDS(event.command)},
	{"holder", "", "", FORM_LOCK, FIELDS(event.holder)},
	{"", "", "HOLDER", FORM_HOLDER, FIELDS(holder)},
	{"", "holder_host", "", FORM_TEXT, HOLDER(host)},
	{"", "holder_pid", "", FORM_DIGITS, HOLDER(pid)},
	{"", "holder_user", "", FORM_TEXT, HOLDER(user)},
	{"", "holder_label", "", FORM_TEXT, HOLDER(label)},
	{"by", "", "", FORM_BY, FIELDS(event.by)},
	{"", "by_host", "", FORM_TEXT, BY(host)},
	{"", "by_pid", "", FORM_DIGITS, BY(pid)},
	{"", "by_label", "", FORM_TEXT, BY(label)},
	{"", "host", "", FORM_TEXT, SELF(host)},
	{"", "pid", "", FORM_DIGITS, SELF(pid)},
};
/* clang-format on */

static const struct field *const end =
    &fields_table[sizeof(fields_table) / sizeof(*fields_table)];

/* --- what is known -------------------------------------------------------- */

/* The lock that the event is about, or NULL: several. */
static const char *
name_of_lock(const struct event_fields *fields)
{
	const struct opts *opts = fields->facts->opts;

	if (fields->event.name != NULL)
		return fields->event.name;
	return opts->key_count == 1 ? opts->keys[0].name : NULL;
}

int64_t
event_fields_left_ms(const struct opts *opts, int64_t waited_ms)
{
	int64_t left_ms = opts->wait_ms - waited_ms;

	if (opts->wait_ms <= 0)
		return -1;
	return left_ms > 0 ? left_ms : 0;
}

void
event_fields_init(struct event_fields *fields, const struct facts *facts,
    const struct event *event)
{
	const struct opts *opts = facts->opts;
	const struct holder *holder = event->holder;
	bool is_over =
	    event->type == EVENT_ENDING || event->type == EVENT_ENDED;
	bool has_status = is_over || event->type == EVENT_JOB_ENDED;
	/* When waiting starts, neither says anything new. */
	bool has_waited = event->ms >= MINUTE_MS;
	int64_t left_ms = event_fields_left_ms(opts, event->ms);

	fields->self = NULL;
	fields->level = fields->message = fields->hook = NULL;
	fields->event = *event;
	fields->facts = facts;
	fields->lock = facts_find(facts, name_of_lock(fields));
	fields->holder =
	    holder != NULL && holder_is_known(holder) ? holder : NULL;
	fields->word = event_rows[event->type].word;
	fields->reason = is_over ? event_rows[event->ending].word : NULL;
	fields->label = opts->lock.label;
	fields->waited_ms = facts_waited_ms(facts);
	fields->held_ms = facts_held_ms(facts);
	fields->waiting_ms = has_waited ? event->ms : -1;
	fields->left_ms =
	    has_waited && left_ms >= 0 ? left_ms + SECOND_MS - 1 : -1;
	fields->status = has_status ? event_shell_status(event->status) : -1;
	fields->signal = has_status && event->status < 0 ? -event->status : -1;
	/* The only server is known before it has granted the lock. */
	if (event->server == NULL && fields->lock != NULL &&
	    *fields->lock->server != '\0')
		fields->event.server = fields->lock->server;
	else if (event->server == NULL && opts->server_count == 1)
		fields->event.server = opts->servers[0].label;
}

/* NULL if it is unknown. */
static const char *
text_at(const struct event_fields *fields, const struct field *row)
{
	const void *const from[] = {[FROM_FIELDS] = fields,
	    [FROM_LOCK] = fields->lock,
	    [FROM_HOLDER] = fields->holder,
	    [FROM_BY] = fields->event.by,
	    [FROM_SELF] = fields->self};
	const char *owner = from[row->from];
	const char *text;

	if (owner == NULL)
		return NULL;
	text = owner + row->at;
	if (row->from == FROM_FIELDS)
		memcpy(&text, owner + row->at, sizeof(text));
	return text != NULL && *text != '\0' ? text : NULL;
}

static int64_t
number_at(const struct event_fields *fields, const struct field *row)
{
	int64_t number;

	memcpy(&number, (const char *)fields + row->at, sizeof(number));
	return number;
}

/* --- in words ------------------------------------------------------------- */

static void
quote_names(struct event_fields *fields)
{
	const struct opts *opts = fields->facts->opts;
	char *room = fields->room;
	size_t length = 0;

	if (fields->event.name != NULL) {
		escape_quote(fields->event.name, room, ROOM);
		return;
	}
	for (size_t i = 0; i < opts->key_count; i++) {
		if (i > 0)
			snprintf(room + length, ROOM - length, ", ");
		length += strlen(room + length);
		if (ROOM - length < sizeof("\"\""))
			return;
		escape_quote(opts->keys[i].name, room + length, ROOM - length);
		length += strlen(room + length);
	}
}

static void
describe_number(const struct event_fields *fields, enum form form,
    int64_t number, char *room)
{
	if (form == FORM_SECONDS)
		snprintf(room, ROOM, "%.1f", (double)number / SECOND_MS);
	else if (form == FORM_DURATION && number > 0 && number < SECOND_MS)
		snprintf(room, ROOM, "%" PRId64 "ms", number);
	else if (form == FORM_DURATION && number < MINUTE_MS &&
		 number % SECOND_MS >= TENTH_MS)
		snprintf(room, ROOM, "%" PRId64 ".%" PRId64 "s",
		    number / SECOND_MS, number % SECOND_MS / TENTH_MS);
	else if (form == FORM_DURATION || form == FORM_AGE)
		duration_describe_age(number, room, ROOM);
	else if (form == FORM_UNTIL)
		duration_describe_time(number, room, ROOM);
	else if (form == FORM_STATUS && fields->signal > 0)
		snprintf(room, ROOM, "status %" PRId64 " (signal %" PRId64 ")",
		    number, fields->signal);
	else
		snprintf(room, ROOM, "%s%" PRId64,
		    form == FORM_STATUS ? "status " : "", number);
}

/* Empty if it is unknown. */
static const char *
describe(struct event_fields *fields, const struct field *row)
{
	const struct event *event = &fields->event;
	const char *text = NULL;
	char *room = fields->room;

	*room = '\0';
	if (row->form <= FORM_DIGITS)
		text = text_at(fields, row);
	if (row->form == FORM_QUOTED && text != NULL)
		escape_quote(text, room, ROOM);
	else if (text != NULL)
		return text;
	else if (row->form == FORM_NAMES)
		quote_names(fields);
	else if (row->form == FORM_LOCK && event->holder != NULL)
		holder_text_format_lock(event->holder, room, ROOM);
	else if (row->form == FORM_HOLDER && fields->holder != NULL)
		holder_text_format(fields->holder, room, ROOM);
	else if (row->form == FORM_BY && event->by != NULL)
		holder_text_format_by(event->by, room, ROOM);
	else if (row->form >= FORM_NUMBER &&
		 number_at(fields, row) >= row->least)
		describe_number(fields, row->form, number_at(fields, row),
		    room);
	return room;
}

/* An unknown word is to be noticed. */
const char *
event_fields_word(void *arg, const char *word, bool *many)
{
	struct event_fields *fields = arg;
	const struct field *row = fields_table;

	while (row < end && strcmp(row->word, word) != 0)
		row++;
	if (row == end)
		return "{?}";
	if (row->form == FORM_NAMES)
		*many = fields->event.name == NULL &&
			fields->facts->opts->key_count > 1;
	return describe(fields, row);
}

/* --- JSON ----------------------------------------------------------------- */

static void
put_names(const struct event_fields *fields, struct row *row)
{
	const struct opts *opts = fields->facts->opts;
	const char *name = name_of_lock(fields);
	size_t max = row->max;

	if (name != NULL) {
		row_string(row, "key", name);
		return;
	}
	row_open(row, "keys", '[');
	row->max /= KEYS_SHARE;
	for (size_t i = 0; i < opts->key_count; i++)
		row_string(row, "", opts->keys[i].name);
	row->max = max;
	row_close(row, ']');
}

void
event_fields_put(const struct event_fields *fields, struct row *row)
{
	for (const struct field *field = fields_table; field < end; field++) {
		const char *name = field->form == FORM_EVENT_MS
				       ? event_rows[fields->event.type].ms
				       : field->json;
		const char *text =
		    field->form < FORM_NAMES ? text_at(fields, field) : NULL;
		int64_t number;

		if (*name == '\0')
			continue;
		if (field->form == FORM_NAMES) {
			put_names(fields, row);
		} else if (field->form == FORM_DIGITS && text != NULL) {
			if (num_int(text, 0, INT64_MAX, &number) == 0)
				row_number(row, NULL, name, true, number);
		} else if (text != NULL) {
			row_string(row, name, text);
		} else if (field->form >= FORM_NUMBER) {
			number = number_at(fields, field);
			if (number >= field->least &&
			    field->form == FORM_NUMBER)
				row_number(row, NULL, name, true, number);
			else if (number >= field->least)
				row_seconds(row, name, number);
		}
	}
}

/* --- the environment of a hook -------------------------------------------- */

/* A text of each of the locks, one a line; nothing if none is known. */
static void
put_of_locks(const struct facts *facts, size_t at, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < facts->opts->key_count; i++)
		any = any || ((const char *)&facts->locks[i])[at] != '\0';
	for (size_t i = 0; any && i < facts->opts->key_count; i++)
		fprintf(out, "%s%s", i > 0 ? "\n" : "",
		    (const char *)&facts->locks[i] + at);
}

static void
put_safe(const char *text, FILE *out)
{
	char piece[ESCAPE_SIZE];

	while (*text != '\0') {
		size_t length = escape_next(&text, ESCAPE_TEXT, piece);

		fwrite(piece, 1, length, out);
	}
}

void
event_fields_environment(struct event_fields *fields, FILE *out)
{
	for (const struct field *row = fields_table; row < end; row++) {
		if (*row->variable == '\0')
			continue;
		fprintf(out, "RLOCKRUN_%s=", row->variable);
		if (row->form == FORM_NAMES)
			fputs(fields->facts->opts->names, out);
		else if (row->from == FROM_LOCK)
			put_of_locks(fields->facts, row->at, out);
		else if (row->form == FORM_UNSAFE || row->form == FORM_HOLDER)
			put_safe(describe(fields, row), out);
		else
			fputs(describe(fields, row), out);
		putc('\0', out);
	}
}
