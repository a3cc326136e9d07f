#include "sink/metrics_text.h"

#include <string.h>

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

#define HEAD(name, type, help) \
	"# HELP " name " " help "\n# TYPE " name " " type "\n"
#define COUNTER(what, help)       \
	.name = "rlockrun_" what, \
	.head = HEAD("rlockrun_" what, "counter", help)
#define GAUGE(what, help) \
	.name = "rlockrun_" what, .head = HEAD("rlockrun_" what, "gauge", help)
#define SUMMARY(what, help)              \
	.name = "rlockrun_" what "_sum", \
	.head = HEAD("rlockrun_" what, "summary", help)

/* A row without a head belongs to that of the row above it. */
/* clang-format off */
static const struct row {
	const char *name, *head;
	enum unit unit;
} rows[METRICS_VALUE_COUNT] = {
	[METRICS_UNLOCKED] = {COUNTER("unlocked_runs_total",
	    "Jobs started without the lock, as no server could be reached.")},
	[METRICS_LOST] = {COUNTER("lost_total",
	    "Runs that lost the lock under their job.")},
	[METRICS_RENEWAL_FAILURES] = {COUNTER("renewal_failures_total",
	    "Outages in which the lock could not be renewed.")},
	[METRICS_WAIT_SUM] = {SUMMARY("wait_seconds",
	    "Time from the first try until the lock was acquired."),
	    .unit = UNIT_SECONDS},
	[METRICS_WAIT_COUNT] = {.name = "rlockrun_wait_seconds_count"},
	[METRICS_HOLD_SUM] = {SUMMARY("hold_seconds",
	    "Time from acquire to release or loss."), .unit = UNIT_SECONDS},
	[METRICS_HOLD_COUNT] = {.name = "rlockrun_hold_seconds_count"},
	[METRICS_RENEWAL_SUM] = {SUMMARY("renewal_seconds",
	    "Time from sending a renewal to its reply."),
	    .unit = UNIT_SECONDS},
	[METRICS_RENEWAL_COUNT] = {.name = "rlockrun_renewal_seconds_count"},
	[METRICS_LEASE_LEFT] = {GAUGE("lease_left_min_seconds",
	    "The least that was left of the lease when it was renewed, in the "
	    "last run with renewals; 0 if it was lost."),
	    .unit = UNIT_SECONDS},
	[METRICS_LAST_START] = {GAUGE("last_start_timestamp_seconds",
	    "When the last job was started."), .unit = UNIT_SECONDS},
	[METRICS_LAST_END] = {GAUGE("last_end_timestamp_seconds",
	    "When the last run ended that was not skipped."),
	    .unit = UNIT_SECONDS},
	[METRICS_LAST_SUCCESS] = {GAUGE("last_success_timestamp_seconds",
	    "When the last job ended with status 0."), .unit = UNIT_SECONDS},
	[METRICS_LAST_LOST] = {GAUGE("last_lost_timestamp_seconds",
	    "When the lock was last lost under a job."), .unit = UNIT_SECONDS},
	[METRICS_LAST_STATUS] = {GAUGE("last_status",
	    "Exit status of the last run that was not skipped.")},
	[METRICS_WAITING] = {GAUGE("waiting_runs",
	    "Runs that wait for the lock now.")},
	[METRICS_WAITING_SINCE] = {GAUGE("waiting_since_timestamp_seconds",
	    "Since when the first of them waits."), .unit = UNIT_SECONDS},
	[METRICS_HOLDING] = {GAUGE("holding_runs",
	    "Runs that hold the lock now.")},
	[METRICS_HELD_SINCE] = {GAUGE("held_since_timestamp_seconds",
	    "Since when the first of them holds it."), .unit = UNIT_SECONDS},
	[METRICS_UPDATED] = {GAUGE("updated_timestamp_seconds",
	    "When this was written: every 30 s while a run waits or holds."),
	    .unit = UNIT_SECONDS},
};
/* clang-format on */

#define ENDED "rlockrun_runs_total"
#define ENDED_HEAD HEAD(ENDED, "counter", "Runs that have ended, by reason.")

/* --- values ----------------------------------------------------------- */

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

/* Of its own, since printf(3) takes longer than all the rest of a short run's
 * metrics. */
struct text {
	char *at;
	size_t left; /* at least 1, for the NUL */
};

static void
put_part(struct text *text, const char *part)
{
	size_t length = strlen(part);

	if (length >= text->left)
		length = text->left - 1;
	memcpy(text->at, part, length);
	text->at += length;
	text->left -= length;
	*text->at = '\0';
}

/* With at least so many digits. */
static void
put_digits(struct text *text, int64_t number, int digits)
{
	char part[24], *first = part + sizeof(part) - 1;

	*first = '\0';
	for (; digits > 0 || number > 0; digits--, number /= 10)
		*--first = (char)('0' + number % 10);
	put_part(text, first);
}

static void
put_name(struct text *text, const char *name, const char *label)
{
	put_part(text, name);
	put_part(text, "{key=\"");
	put_part(text, label);
	put_part(text, "\"");
}

static void
put_value(struct text *text, const struct row *row, int64_t value,
    const char *label)
{
	put_name(text, row->name, label);
	put_part(text, "} ");
	if (row->unit == UNIT_SECONDS) {
		put_digits(text, value / SECOND_MS, 1);
		put_part(text, ".");
		put_digits(text, value % SECOND_MS, 3);
	} else {
		put_digits(text, value, 1);
	}
	put_part(text, "\n");
}

static const char *
outcome_of(int reason)
{
	static const char words[EVENT_OUTCOME_COUNT][12] = {
	    [EVENT_OUTCOME_FAILURE] = "failure",
	    [EVENT_OUTCOME_SUCCESS] = "success",
	    [EVENT_OUTCOME_BUSY] = "skipped",
	    [EVENT_OUTCOME_NOT_DUE] = "skipped",
	    [EVENT_OUTCOME_LOST] = "lost",
	};

	return words[reason == METRICS_JOB_FAILED ? EVENT_OUTCOME_FAILURE
						  : event_rows[reason].outcome];
}

static const char *
word_of(int reason)
{
	return event_rows[reason == METRICS_JOB_FAILED ? ENDING_JOB : reason]
	    .word;
}

static void
put_reason(struct text *text, int reason, int64_t ended, const char *label)
{
	put_name(text, ENDED, label);
	put_part(text, ",outcome=\"");
	put_part(text, outcome_of(reason));
	put_part(text, "\",reason=\"");
	put_part(text, word_of(reason));
	put_part(text, "\"} ");
	put_digits(text, ended, 1);
	put_part(text, "\n");
}

/* Those of jobs from the start, so that their first increase is seen. */
static void
put_ended(struct text *text, const struct metrics *metrics, const char *label)
{
	put_part(text, ENDED_HEAD);
	for (int i = 0; i < METRICS_REASON_COUNT; i++)
		if (metrics->ended[i] > 0 || i == ENDING_JOB ||
		    i == METRICS_JOB_FAILED)
			put_reason(text, i, metrics->ended[i], label);
}

static void
put_runs(struct text *text, const struct metrics *metrics)
{
	for (size_t i = 0; i < metrics->run_count; i++) {
		const struct metrics_run *run = &metrics->runs[i];

		put_part(text, "# run ");
		put_digits(text, run->byte, 1);
		put_part(text, run->holds ? " holds " : " waits ");
		put_digits(text, run->since_ms, 1);
		put_part(text, "\n");
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

		if (row->head != NULL)
			put_part(&rest, row->head);
		if (metrics->values[i] != METRICS_UNKNOWN)
			put_value(&rest, row, metrics->values[i], label);
	}
	put_runs(&rest, metrics);
	put_part(&rest, END "\n");
	return (size_t)(rest.at - text);
}

/* --- reading ---------------------------------------------------------- */

/* Whether *at begins with this: then moves on behind it. */
static bool
take_part(const char **at, const char *text)
{
	size_t length = strlen(text);

	if (strncmp(*at, text, length) != 0)
		return false;
	*at += length;
	return true;
}

static bool
take_digits(const char **at, int64_t max, int64_t *number)
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
take_rest(const char *at, enum unit unit, int64_t *value)
{
	int64_t number, part = 0;

	if (!take_digits(&at, VALUE_MAX / SECOND_MS, &number))
		return false;
	if (unit == UNIT_SECONDS) {
		const char *point = at;

		if (!take_part(&at, ".") ||
		    !take_digits(&at, SECOND_MS - 1, &part) ||
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
take_name(const char **at, const char *name, const char *label)
{
	return take_part(at, name) && take_part(at, "{key=\"") &&
	       take_part(at, label) && take_part(at, "\"");
}

/* -1 if the labels are none of ours. */
static int
take_reason(const char **at)
{
	const char *labels = *at;

	for (int i = 0; i < METRICS_REASON_COUNT; i++) {
		*at = labels;
		if (take_part(at, ",outcome=\"") &&
		    take_part(at, outcome_of(i)) &&
		    take_part(at, "\",reason=\"") &&
		    take_part(at, word_of(i)) && take_part(at, "\"} "))
			return i;
	}
	return -1;
}

/* Rows usually come in order: *next is the one that is tried first. NULL if
 * the name is none of them. */
static const struct row *
take_row(const char **at, int *next)
{
	for (int tried = 0; tried < METRICS_VALUE_COUNT; tried++) {
		const struct row *row = &rows[*next];
		const char *end = *at;

		*next = (*next + 1) % METRICS_VALUE_COUNT;
		if (take_part(&end, row->name) && *end == '{') {
			*at = end;
			return row;
		}
	}
	return NULL;
}

/* A sample that only a later version has, and which is dropped: that version
 * counts it anew. */
static bool
is_later(const char *line, const char *label)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
	const char *at = line;
	int64_t number;

	if (!take_part(&at, "rlockrun_"))
		return false;
	at += strspn(at, letters);
	if (!take_name(&at, "", label))
		return false;
	while (take_part(&at, ",")) {
		at += strspn(at, letters);
		if (!take_part(&at, "=\""))
			return false;
		at += strspn(at, letters);
		if (!take_part(&at, "\""))
			return false;
	}
	if (!take_part(&at, "} ") || !take_digits(&at, VALUE_MAX, &number))
		return false;
	return *at == '\0' ||
	       (take_part(&at, ".") && take_digits(&at, VALUE_MAX, &number) &&
		   *at == '\0');
}

static bool
read_sample(struct metrics *metrics, const char *label, const char *line,
    int *next)
{
	const char *at = line;
	const struct row *row = take_row(&at, next);
	int reason;

	if (row != NULL)
		return take_name(&at, "", label) && take_part(&at, "} ") &&
		       take_rest(at, row->unit, &metrics->values[row - rows]);
	reason = take_name(&at, ENDED, label) ? take_reason(&at) : -1;
	if (reason != -1)
		return take_rest(at, UNIT_COUNT, &metrics->ended[reason]);
	return is_later(line, label);
}

static bool
read_run(struct metrics *metrics, const char *line)
{
	struct metrics_run run;
	int64_t byte;

	if (!take_part(&line, "# run ") ||
	    !take_digits(&line, METRICS_RUNS_MAX, &byte) || byte == 0)
		return false;
	run.byte = (int)byte;
	run.holds = take_part(&line, " holds ");
	if ((!run.holds && !take_part(&line, " waits ")) ||
	    !take_rest(line, UNIT_COUNT, &run.since_ms))
		return false;
	for (size_t i = 0; i < metrics->run_count; i++)
		if (metrics->runs[i].byte == run.byte)
			return false;
	metrics->runs[metrics->run_count++] = run;
	return true;
}

static bool
read_comment(struct metrics *metrics, const char *line)
{
	return take_part(&line, "# HELP rlockrun_") ||
	       take_part(&line, "# TYPE rlockrun_") || read_run(metrics, line);
}

/* Only what has a newline is a line. */
bool
metrics_text_read(struct metrics *metrics, const char *label, char *text)
{
	bool ended = false, damaged = false;
	char *rest = text, *line;
	int next = 0;

	for (line = strsep(&rest, "\n"); rest != NULL;
	     line = strsep(&rest, "\n")) {
		bool is_end = strcmp(line, END) == 0;
		bool is_read = *line == '#'
				   ? is_end || read_comment(metrics, line)
				   : read_sample(metrics, label, line, &next);

		damaged |= ended || !is_read;
		ended |= is_end;
	}
	return damaged || !ended || *line != '\0';
}
