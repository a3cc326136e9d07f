#include "sink/log_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/num.h"
#include "sink/event_text.h"

enum {
	HEAD_MAX = 128,
	MESSAGE_MAX = LOG_LINE_MAX - HEAD_MAX - 8,
	TEXT_MAX = 1024, /* of a field of JSON */
	TEXT_MIN = 32,
	KEYS_SHARE = 8, /* that of each key in a list of them */
	SECOND_MS = 1000,
};

/* clang-format off */
static const struct {
	const char *name;
	int priority; /* of syslog(3) */
} levels[LEVEL_COUNT] = {
	[LEVEL_LOG] = {"info", LOG_INFO},
	[LEVEL_INFO] = {"info", LOG_INFO},
	[LEVEL_BUSY] = {"notice", LOG_NOTICE},
	[LEVEL_WARNING] = {"warning", LOG_WARNING},
	[LEVEL_ERROR] = {"error", LOG_ERR},
};
/* clang-format on */

/* --- parts ------------------------------------------------------------- */

/* RFC 3339, in UTC. */
static void
describe_time(char *text, size_t size)
{
	int64_t now_ms = clock_epoch();
	time_t now = (time_t)(now_ms / SECOND_MS);
	struct tm utc;
	size_t length;

	gmtime_r(&now, &utc);
	length = strftime(text, size, "%FT%T", &utc);
	snprintf(text + length, size - length, ".%03dZ",
	    (int)(now_ms % SECOND_MS));
}

/* With what the last event of a run says beside that. It is safe to show, also
 * when a program has read it from JSON. */
static void
describe_message(const struct log_line *line, const struct event *event,
    char text[MESSAGE_MAX])
{
	int64_t waited_ms = facts_waited_ms(line->facts);
	int64_t held_ms = facts_held_ms(line->facts);
	char raw[MESSAGE_MAX];
	size_t length;

	event_text_format(event, line->facts->opts, raw, sizeof(raw));
	length = strlen(raw);
	if (event->type == EVENT_ENDED && waited_ms >= 0)
		length += (size_t)snprintf(raw + length, sizeof(raw) - length,
		    ", waited %.3f s", (double)waited_ms / SECOND_MS);
	if (event->type == EVENT_ENDED && held_ms >= 0 && length < sizeof(raw))
		snprintf(raw + length, sizeof(raw) - length, ", held %.3f s",
		    (double)held_ms / SECOND_MS);
	escape_shorten(raw, ESCAPE_TEXT, SIZE_MAX, text, MESSAGE_MAX);
}

/* The lock that the event is about, or NULL: several. */
static const char *
name_of_lock(const struct opts *opts, const struct event *event)
{
	if (event->name != NULL)
		return event->name;
	return opts->key_count == 1 ? opts->keys[0].name : NULL;
}

/* --- JSON --------------------------------------------------------------- */

/* A line that is being written. */
struct json_line {
	FILE *out;
	const struct log_line *line;
	const struct event *event;
	size_t max; /* of each text */
};

/* What is not known has no field. */
static void
put_json_text(const struct json_line *json, const char *name, const char *text)
{
	if (text == NULL || *text == '\0')
		return;
	fprintf(json->out, ",\"%s\":", name);
	json_string(json->out, text, json->max);
}

static void
put_json_number(const struct json_line *json, const char *name,
    const char *text)
{
	int64_t value;

	if (num_int(text, 0, INT64_MAX, &value) == 0)
		json_integer(json->out, name, true, value);
}

static void
put_json_seconds(const struct json_line *json, const char *name, int64_t ms)
{
	if (*name != '\0' && ms >= 0)
		fprintf(json->out, ",\"%s\":%" PRId64 ".%03d", name,
		    ms / SECOND_MS, (int)(ms % SECOND_MS));
}

static void
put_json_keys(const struct json_line *json)
{
	const struct opts *opts = json->line->facts->opts;
	const char *name = name_of_lock(opts, json->event);

	if (name != NULL) {
		put_json_text(json, "key", name);
		return;
	}
	fprintf(json->out, ",\"keys\":[");
	for (size_t i = 0; i < opts->key_count; i++) {
		fprintf(json->out, "%s", i > 0 ? "," : "");
		json_string(json->out, opts->keys[i].name,
		    json->max / KEYS_SHARE);
	}
	fprintf(json->out, "]");
}

/* The only server is known before it has granted the lock. */
static void
put_json_lock(const struct json_line *json)
{
	const struct facts *facts = json->line->facts;
	const struct opts *opts = facts->opts;
	const struct facts_lock *lock =
	    facts_find(facts, name_of_lock(opts, json->event));
	const char *server = json->event->server;

	if (server == NULL && lock != NULL && *lock->server != '\0')
		server = lock->server;
	if (server == NULL && opts->server_count == 1)
		server = opts->servers[0].label;
	put_json_text(json, "label", opts->label);
	put_json_text(json, "server", server);
	if (lock == NULL)
		return;
	put_json_text(json, "token", lock->token);
	put_json_number(json, "fence", lock->fence);
}

static void
put_json_others(const struct json_line *json)
{
	const struct holder *holder = json->event->holder;
	const struct holder_by *by = json->event->by;

	if (json->event->position > 0)
		json_integer(json->out, "position", true,
		    json->event->position);
	if (holder != NULL && holder_is_known(holder)) {
		put_json_text(json, "holder_host", holder->host);
		put_json_number(json, "holder_pid", holder->pid);
		put_json_text(json, "holder_user", holder->user);
		put_json_text(json, "holder_label", holder->label);
	}
	if (by != NULL) {
		put_json_text(json, "by_host", by->host);
		put_json_number(json, "by_pid", by->pid);
		put_json_text(json, "by_label", by->label);
	}
}

static void
put_json_end(const struct json_line *json)
{
	const struct event *event = json->event;

	if (event->type != EVENT_ENDING && event->type != EVENT_ENDED &&
	    event->type != EVENT_JOB_ENDED)
		return;
	if (event->type != EVENT_JOB_ENDED)
		put_json_text(json, "reason", event_rows[event->ending].word);
	json_integer(json->out, "status", true,
	    event_shell_status(event->status));
	if (event->status < 0)
		json_integer(json->out, "signal", true, -event->status);
}

static void
put_json_fields(const struct json_line *json, const char *message)
{
	const struct log_line *line = json->line;
	const struct event *event = json->event;
	char now[sizeof("2038-01-19T03:14:07.000Z") + 16];

	describe_time(now, sizeof(now));
	fprintf(json->out, "{\"time\":\"%s\"", now);
	put_json_text(json, "level", levels[event_level(event)].name);
	put_json_text(json, "event", event_rows[event->type].word);
	put_json_text(json, "message", message);
	put_json_keys(json);
	put_json_lock(json);
	put_json_seconds(json, "waited_seconds", facts_waited_ms(line->facts));
	put_json_seconds(json, "held_seconds", facts_held_ms(line->facts));
	put_json_seconds(json, event_rows[event->type].ms, event->ms);
	put_json_end(json);
	put_json_others(json);
	put_json_text(json, "host", line->self.host);
	put_json_number(json, "pid", line->self.pid);
	fprintf(json->out, "}");
}

/* Whether there was memory for it, and no text has to be shorter. */
static bool
try_json(const struct json_line *json, const char *message, char *text,
    size_t size)
{
	struct json_line written = *json;
	bool fits;

	written.out = fmemopen(text, size, "w");
	if (written.out == NULL)
		return false;
	put_json_fields(&written, message);
	fits = fflush(written.out) == 0 && ftell(written.out) < (long)size;
	return fclose(written.out) == 0 && fits;
}

static void
put_json(const struct log_line *line, const struct event *event,
    const char *message, char *text, size_t size)
{
	struct json_line json = {.line = line,
	    .event = event,
	    .max = LOG_LINE_MAX};

	while (!try_json(&json, message, text, size)) {
		text[0] = '\0';
		json.max = json.max > TEXT_MAX ? TEXT_MAX : json.max / 2;
		if (json.max < TEXT_MIN)
			return;
	}
}

/* ------------------------------------------------------------------------ */

static void
put_line_head(const struct log_line *line, enum level level,
    char text[HEAD_MAX])
{
	char now[64];
	struct tm local;
	time_t seconds = (time_t)(clock_epoch() / SECOND_MS);

	if (line->head == LOG_LINE_DATED) {
		describe_time(now, sizeof(now));
		snprintf(text, HEAD_MAX, "%s rlockrun[%s] %s: ", now,
		    line->self.pid, levels[level].name);
		return;
	}
	localtime_r(&seconds, &local);
	strftime(now, sizeof(now), "%b %e %T", &local);
	snprintf(text, HEAD_MAX,
	    "<%d>%s rlockrun[%s]: ", LOG_CRON | levels[level].priority, now,
	    line->self.pid);
}

size_t
log_line_format(const struct log_line *line, const struct event *event,
    char text[LOG_LINE_MAX])
{
	enum level level = event_level(event);
	char message[MESSAGE_MAX];
	size_t length;

	if (level == LEVEL_NONE)
		return 0;
	text[0] = '\0';
	if (!line->json || line->head == LOG_LINE_SYSLOG)
		put_line_head(line, level, text);
	length = strlen(text);
	describe_message(line, event, message);
	if (line->json)
		put_json(line, event, message, text + length,
		    LOG_LINE_MAX - length - strlen("\n"));
	else
		snprintf(text + length, LOG_LINE_MAX - length - strlen("\n"),
		    "%s", message);
	if (text[length] == '\0')
		return 0;
	length += strlen(text + length);
	text[length++] = '\n';
	return length;
}
