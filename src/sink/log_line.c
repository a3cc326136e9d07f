#include "sink/log_line.h"

#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "base/clock.h"
#include "base/escape.h"
#include "sink/event_fields.h"
#include "sink/event_text.h"

enum {
	HEAD_MAX = 128,
	MESSAGE_MAX = LOG_LINE_MAX - HEAD_MAX - 8,
	TEXT_MAX = 1024, /* of a field of JSON */
	TEXT_MIN = 32,
	TIME_SIZE = 64,
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

	event_text_format(event, line->facts, raw, sizeof(raw));
	length = strlen(raw);
	if (event->type == EVENT_ENDED && waited_ms >= 0)
		length += (size_t)snprintf(raw + length, sizeof(raw) - length,
		    ", waited %.3f s", (double)waited_ms / SECOND_MS);
	if (event->type == EVENT_ENDED && held_ms >= 0 && length < sizeof(raw))
		snprintf(raw + length, sizeof(raw) - length, ", held %.3f s",
		    (double)held_ms / SECOND_MS);
	escape_shorten(raw, ESCAPE_TEXT, SIZE_MAX, text, MESSAGE_MAX);
}

/* --- JSON --------------------------------------------------------------- */

/* Whether there was memory for it, and no text has to be shorter. */
static bool
try_json(const struct event_fields *fields, size_t max, char *text, size_t size)
{
	struct row row = {.out = fmemopen(text, size, "w"), .max = max};
	char now[TIME_SIZE];
	bool fits;

	if (row.out == NULL)
		return false;
	describe_time(now, sizeof(now));
	row_open(&row, "", '{');
	row_string(&row, "time", now);
	event_fields_put(fields, &row);
	row_close(&row, '}');
	fits = fflush(row.out) == 0 && ftell(row.out) < (long)size;
	return fclose(row.out) == 0 && fits;
}

static void
put_json(const struct log_line *line, const struct event *event,
    const char *message, char *text, size_t size)
{
	struct event_fields fields;
	size_t max = LOG_LINE_MAX;

	event_fields_init(&fields, line->facts, event);
	fields.level = levels[event_level(event)].name;
	fields.message = message;
	fields.self = &line->self;
	while (!try_json(&fields, max, text, size)) {
		text[0] = '\0';
		max = max > TEXT_MAX ? TEXT_MAX : max / 2;
		if (max < TEXT_MIN)
			return;
	}
}

/* ------------------------------------------------------------------------ */

static void
put_line_head(const struct log_line *line, enum level level,
    char text[HEAD_MAX])
{
	char now[TIME_SIZE];
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
