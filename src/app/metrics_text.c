#include "app/metrics_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/exitcode.h"

#define END "# end"
/* Beyond that Prometheus, which has floating point numbers, would round. */
#define VALUE_MAX (INT64_C(1) << 53)

enum {
	LINE_ROOM = 160, /* of a sample, without the label */
	HEAD_ROOM = 320, /* of HELP and TYPE */
	RUN_ROOM = 64,
	SECOND_MS = 1000
};

enum unit { UNIT_COUNT, UNIT_SECONDS };

/* A row without a type continues the family above it. */
/* clang-format off */
static const struct row {
	const char *family, *suffix, *type, *help;
	enum unit unit;
} rows[METRICS_VALUE_COUNT] = {
	[METRICS_UNLOCKED] = {"rlockrun_unlocked_runs_total", "", "counter",
	    "Jobs started without the lock, as no server could be reached.",
	    UNIT_COUNT},
	[METRICS_LOST] = {"rlockrun_lost_total", "", "counter",
	    "Runs that lost the lock under their job.", UNIT_COUNT},
	[METRICS_RENEWAL_FAILURES] = {"rlockrun_renewal_failures_total", "",
	    "counter", "Outages in which the lock could not be renewed.",
	    UNIT_COUNT},
	[METRICS_WAIT_SUM] = {"rlockrun_wait_seconds", "_sum", "summary",
	    "Time from the first try until the lock was acquired.",
	    UNIT_SECONDS},
	[METRICS_WAIT_COUNT] = {"rlockrun_wait_seconds", "_count", NULL, NULL,
	    UNIT_COUNT},
	[METRICS_HOLD_SUM] = {"rlockrun_hold_seconds", "_sum", "summary",
	    "Time from acquire to release or loss.", UNIT_SECONDS},
	[METRICS_HOLD_COUNT] = {"rlockrun_hold_seconds", "_count", NULL, NULL,
	    UNIT_COUNT},
	[METRICS_RENEWAL_SUM] = {"rlockrun_renewal_seconds", "_sum", "summary",
	    "Time from sending a renewal to its reply.", UNIT_SECONDS},
	[METRICS_RENEWAL_COUNT] = {"rlockrun_renewal_seconds", "_count", NULL,
	    NULL, UNIT_COUNT},
	[METRICS_LEASE_LEFT] = {"rlockrun_lease_left_min_seconds", "", "gauge",
	    "The least that was left of the lease when it was renewed, in the "
	    "last run with renewals; 0 if it was lost.", UNIT_SECONDS},
	[METRICS_LAST_START] = {"rlockrun_last_start_timestamp_seconds", "",
	    "gauge", "When the last job was started.", UNIT_SECONDS},
	[METRICS_LAST_END] = {"rlockrun_last_end_timestamp_seconds", "",
	    "gauge", "When the last run ended that was not skipped.",
	    UNIT_SECONDS},
	[METRICS_LAST_SUCCESS] = {"rlockrun_last_success_timestamp_seconds",
	    "", "gauge", "When the last job ended with status 0.",
	    UNIT_SECONDS},
	[METRICS_LAST_LOST] = {"rlockrun_last_lost_timestamp_seconds", "",
	    "gauge", "When the lock was last lost under a job.", UNIT_SECONDS},
	[METRICS_LAST_STATUS] = {"rlockrun_last_status", "", "gauge",
	    "Exit status of the last run that was not skipped.", UNIT_COUNT},
	[METRICS_WAITING] = {"rlockrun_waiting_runs", "", "gauge",
	    "Runs that wait for the lock now.", UNIT_COUNT},
	[METRICS_WAITING_SINCE] = {"rlockrun_waiting_since_timestamp_seconds",
	    "", "gauge", "Since when the first of them waits.", UNIT_SECONDS},
	[METRICS_HOLDING] = {"rlockrun_holding_runs", "", "gauge",
	    "Runs that hold the lock now.", UNIT_COUNT},
	[METRICS_HELD_SINCE] = {"rlockrun_held_since_timestamp_seconds", "",
	    "gauge", "Since when the first of them holds it.", UNIT_SECONDS},
	[METRICS_UPDATED] = {"rlockrun_updated_timestamp_seconds", "", "gauge",
	    "When this was written: every 30 s while a run waits or holds.",
	    UNIT_SECONDS},
};
/* clang-format on */

#define ENDED "rlockrun_runs_total"
#define ENDED_HELP "Runs that have ended, by reason."

/* --- values ----------------------------------------------------------- */

bool
metrics_is_skip(int reason)
{
	return reason != METRICS_JOB_FAILED &&
	       ending_rows[reason].status == EXITCODE_BUSY;
}

static bool
is_counter(enum metrics_value value)
{
	return value < METRICS_LEASE_LEFT;
}

void
metrics_init(struct metrics *metrics)
{
	*metrics = (struct metrics){.run_count = 0};
	for (enum metrics_value i = 0; i < METRICS_VALUE_COUNT; i++)
		metrics->values[i] = is_counter(i) ? 0 : METRICS_UNKNOWN;
}

void
metrics_add(struct metrics *metrics, const struct metrics *changes)
{
	for (int i = 0; i < METRICS_REASON_COUNT; i++)
		metrics->ended[i] += changes->ended[i];
	for (enum metrics_value i = 0; i < METRICS_VALUE_COUNT; i++) {
		if (is_counter(i))
			metrics->values[i] += changes->values[i];
		else if (changes->values[i] != METRICS_UNKNOWN)
			metrics->values[i] = changes->values[i];
	}
}

void
metrics_count_runs(struct metrics *metrics, int64_t now_ms)
{
	int64_t *values = metrics->values;

	values[METRICS_WAITING] = values[METRICS_HOLDING] = 0;
	values[METRICS_WAITING_SINCE] = METRICS_UNKNOWN;
	values[METRICS_HELD_SINCE] = METRICS_UNKNOWN;
	values[METRICS_UPDATED] = now_ms;
	for (size_t i = 0; i < metrics->run_count; i++) {
		const struct metrics_run *run = &metrics->runs[i];
		enum metrics_value since =
		    run->holds ? METRICS_HELD_SINCE : METRICS_WAITING_SINCE;

		values[run->holds ? METRICS_HOLDING : METRICS_WAITING]++;
		if (values[since] == METRICS_UNKNOWN ||
		    run->since_ms < values[since])
			values[since] = run->since_ms;
	}
}

/* --- writing ---------------------------------------------------------- */

struct text {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) static void
put(struct text *text, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text->at, text->left, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= text->left)
		length = (int)(text->left - 1);
	text->at += length;
	text->left -= (size_t)length;
}

static void
put_head(struct text *text, const char *name, const char *type,
    const char *help)
{
	put(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
put_value(struct text *text, const struct row *row, int64_t value,
    const char *label)
{
	put(text, "%s%s{key=\"%s\"} ", row->family, row->suffix, label);
	if (row->unit == UNIT_SECONDS)
		put(text, "%" PRId64 ".%03" PRId64 "\n", value / SECOND_MS,
		    value % SECOND_MS);
	else
		put(text, "%" PRId64 "\n", value);
}

static const char *
outcome_of(int reason)
{
	if (reason == ENDING_JOB)
		return "success";
	if (metrics_is_skip(reason))
		return "skipped";
	return reason != METRICS_JOB_FAILED && ending_rows[reason].lost
		   ? "lost"
		   : "failure";
}

static const char *
word_of(int reason)
{
	return ending_rows[reason == METRICS_JOB_FAILED ? ENDING_JOB : reason]
	    .word;
}

/* Those of jobs from the start, so that their first increase is seen. */
static void
put_ended(struct text *text, const struct metrics *metrics, const char *label)
{
	put_head(text, ENDED, "counter", ENDED_HELP);
	for (int i = 0; i < METRICS_REASON_COUNT; i++)
		if (metrics->ended[i] > 0 || i == ENDING_JOB ||
		    i == METRICS_JOB_FAILED)
			put(text,
			    ENDED "{key=\"%s\",outcome=\"%s\",reason=\"%s\"} "
				  "%" PRId64 "\n",
			    label, outcome_of(i), word_of(i),
			    metrics->ended[i]);
}

static void
put_runs(struct text *text, const struct metrics *metrics)
{
	for (size_t i = 0; i < metrics->run_count; i++) {
		const struct metrics_run *run = &metrics->runs[i];

		put(text, "# run %d %s %" PRId64 "\n", run->slot,
		    run->holds ? "holds" : "waits", run->since_ms);
	}
}

size_t
metrics_text_room(const char *label)
{
	enum { SAMPLES = METRICS_VALUE_COUNT + METRICS_REASON_COUNT };

	return SAMPLES * (strlen(label) + LINE_ROOM) +
	       (size_t)(METRICS_VALUE_COUNT + 1) * HEAD_ROOM +
	       (size_t)METRICS_RUNS_MAX * RUN_ROOM + sizeof(END "\n");
}

size_t
metrics_text_write(const struct metrics *metrics, const char *label, char *text,
    size_t size)
{
	struct text rest = {text, size};

	put_ended(&rest, metrics, label);
	for (enum metrics_value i = 0; i < METRICS_VALUE_COUNT; i++) {
		const struct row *row = &rows[i];

		if (row->type != NULL)
			put_head(&rest, row->family, row->type, row->help);
		if (metrics->values[i] != METRICS_UNKNOWN)
			put_value(&rest, row, metrics->values[i], label);
	}
	put_runs(&rest, metrics);
	put(&rest, END "\n");
	return (size_t)(rest.at - text);
}

/* --- reading ---------------------------------------------------------- */

/* Whether *at begins with this: then moves on behind it. */
static bool
take(const char **at, const char *text)
{
	size_t length = strlen(text);

	if (strncmp(*at, text, length) != 0)
		return false;
	*at += length;
	return true;
}

static bool
take_number(const char **at, int64_t max, int64_t *number)
{
	size_t digits = strspn(*at, "0123456789");

	*number = 0;
	for (const char *end = *at + digits; *at < end; ++*at) {
		*number = *number * 10 + (**at - '0');
		if (*number > max)
			return false;
	}
	return digits > 0;
}

/* The rest of the line. */
static bool
take_value(const char *at, enum unit unit, int64_t *value)
{
	int64_t number, part = 0;

	if (!take_number(&at, VALUE_MAX / SECOND_MS, &number))
		return false;
	if (unit == UNIT_SECONDS) {
		const char *point = at;

		if (!take(&at, ".") ||
		    !take_number(&at, SECOND_MS - 1, &part) ||
		    at - point != sizeof("999"))
			return false;
		number = number * SECOND_MS + part;
	}
	if (*at != '\0')
		return false;
	*value = number;
	return true;
}

static bool
take_name(const char **at, const char *family, const char *suffix,
    const char *label)
{
	return take(at, family) && take(at, suffix) && take(at, "{key=\"") &&
	       take(at, label) && take(at, "\"");
}

static bool
read_ended(struct metrics *metrics, const char *label, const char *line)
{
	if (!take_name(&line, ENDED, "", label))
		return false;
	for (int i = 0; i < METRICS_REASON_COUNT; i++) {
		const char *at = line;

		if (take(&at, ",outcome=\"") && take(&at, outcome_of(i)) &&
		    take(&at, "\",reason=\"") && take(&at, word_of(i)) &&
		    take(&at, "\"} "))
			return take_value(at, UNIT_COUNT, &metrics->ended[i]);
	}
	return false;
}

static bool
read_value(struct metrics *metrics, const char *label, const char *line)
{
	for (enum metrics_value i = 0; i < METRICS_VALUE_COUNT; i++) {
		const struct row *row = &rows[i];
		const char *at = line;

		if (take_name(&at, row->family, row->suffix, label) &&
		    take(&at, "} "))
			return take_value(at, row->unit, &metrics->values[i]);
	}
	return false;
}

static bool
read_run(struct metrics *metrics, const char *line)
{
	struct metrics_run run;
	int64_t slot;

	if (!take(&line, "# run ") ||
	    !take_number(&line, METRICS_RUNS_MAX, &slot) || slot == 0)
		return false;
	run.slot = (int)slot;
	run.holds = take(&line, " holds ");
	if ((!run.holds && !take(&line, " waits ")) ||
	    !take_value(line, UNIT_COUNT, &run.since_ms))
		return false;
	for (size_t i = 0; i < metrics->run_count; i++)
		if (metrics->runs[i].slot == run.slot)
			return false;
	metrics->runs[metrics->run_count++] = run;
	return true;
}

static bool
read_line(struct metrics *metrics, const char *label, const char *line)
{
	return read_value(metrics, label, line) ||
	       read_ended(metrics, label, line) || read_run(metrics, line) ||
	       take(&line, "# HELP rlockrun_") ||
	       take(&line, "# TYPE rlockrun_");
}

/* Only what has a newline is a line. */
bool
metrics_text_read(struct metrics *metrics, const char *label, char *text)
{
	bool ended = false, damaged = false;
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")) != NULL && rest != NULL) {
		bool is_end = strcmp(line, END) == 0;

		damaged |=
		    ended || (!is_end && !read_line(metrics, label, line));
		ended |= is_end;
	}
	return damaged || !ended || *line != '\0';
}
