#include "sink/metrics_text.h"

#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "lock/limit.h"

#define PREFIX "rlockrun-"
#define PLAIN                        \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"abcdefghijklmnopqrstuvwxyz0123456789._:-"
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define END "# end"
/* Beyond that Prometheus, which has floating point numbers, would round. */
#define VALUE_MAX (INT64_C(1) << 53)

enum {
	LINE_ROOM = 160, /* of a sample, without the label */
	RUN_ROOM = 64,
	SECOND_MS = 1000
};

/* Of the part behind the prefix: whole, or before a digest. */
enum { WHOLE_MAX = 200, BEGINNING_MAX = 120 };

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

/* A row without a head belongs to that of the row above it. The texts lie in
 * the row, since pointers would have to be relocated when the program starts.
 */
/* clang-format off */
static const struct row {
	char name[48], head[256]; /* HELP and TYPE */
	enum unit unit;
} rows[METRICS_ENDED + 1] = {
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
	[METRICS_EXPECT] = {GAUGE("expect_seconds",
	    "The time in which a success is due (--expect); 0: none is."),
	    .unit = UNIT_SECONDS},
	[METRICS_EXPECT_SINCE] = {GAUGE("expect_since_timestamp_seconds",
	    "When that was first stated."), .unit = UNIT_SECONDS},
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
	[METRICS_ENDED] = {COUNTER("runs_total",
	    "Runs that have ended, by reason.")},
};
/* clang-format on */

/* --- the key ----------------------------------------------------------- */

/* Returns the length of what fits. */
static size_t
encode_name(const char *key, size_t max, char *text)
{
	size_t length = 0;

	for (; *key != '\0'; key++) {
		bool plain = strchr(PLAIN, *key) != NULL;
		size_t added = plain ? 1 : strlen("%XX");

		if (added > max - length)
			break;
		if (plain)
			text[length] = *key;
		else
			sprintf(text + length, "%%%02X", (unsigned char)*key);
		length += added;
	}
	text[length] = '\0';
	return *key == '\0' ? length : max + 1;
}

void
metrics_text_name(const char *key, char name[METRICS_NAME_SIZE])
{
	char *part = stpcpy(name, PREFIX);

	if (encode_name(key, WHOLE_MAX, part) <= WHOLE_MAX)
		return;
	encode_name(key, BEGINNING_MAX, part);
	part += strlen(part);
	*part++ = '~';
	sha256_hex(key, strlen(key), part);
}

/* escape_next writes \n, \t and \xNN; whatever else begins with a backslash is
 * a backslash. */
static char *
put_label_escape(char *end, char kind, unsigned char byte)
{
	if (kind == 'n')
		return stpcpy(end, "\\n");
	return end + sprintf(end, REPLACEMENT "%02x", byte);
}

char *
metrics_text_label(const char *key)
{
	enum { MAX = 3 * (sizeof(REPLACEMENT "xx") - 1) };
	char *label = mem_alloc(strlen(key) * MAX + 1);
	char *end = label;

	while (*key != '\0') {
		unsigned char byte = (unsigned char)*key;
		char out[ESCAPE_SIZE];
		size_t length = escape_next(&key, ESCAPE_TEXT, out);

		if (*out == '\\' && length > 1) {
			end = put_label_escape(end, out[1], byte);
		} else if (length == strlen(REPLACEMENT) &&
			   memcmp(out, REPLACEMENT, length) == 0) {
			for (size_t i = 0; i < length; i++)
				end = put_label_escape(end, 'x',
				    (unsigned char)out[i]);
		} else {
			if (*out == '"' || *out == '\\')
				*end++ = '\\';
			memcpy(end, out, length);
			end += length;
		}
	}
	return label;
}

/* --- values ----------------------------------------------------------- */

static bool
is_counter(enum metrics_value value)
{
	return value < METRICS_LEASE_LEFT || value >= METRICS_ENDED;
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
	int64_t since_ms = metrics->values[METRICS_EXPECT_SINCE];
	int64_t now_ms = changes->values[METRICS_EXPECT_SINCE];

	/* Without a success the period counts from its first statement. One in
	 * the future is none: the clock was stepped. */
	if (since_ms == METRICS_UNKNOWN ||
	    (now_ms != METRICS_UNKNOWN && since_ms > now_ms + LIMIT_CLOCKS_MS))
		since_ms = now_ms;
	if (changes->values[METRICS_EXPECT] == 0)
		since_ms = METRICS_UNKNOWN;
	for (enum metrics_value i = 0; i < METRICS_VALUE_COUNT; i++) {
		if (is_counter(i))
			metrics->values[i] += changes->values[i];
		else if (changes->values[i] != METRICS_UNKNOWN)
			metrics->values[i] = changes->values[i];
	}
	metrics->values[METRICS_EXPECT_SINCE] = since_ms;
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

/* --- samples ---------------------------------------------------------- */

/* The texts before its number, as they are written and as they are read. */
struct sample {
	const char *parts[10]; /* ends with NULL */
	enum unit unit;
};

static void
describe_sample(struct sample *sample, enum metrics_value value,
    const char *label)
{
	static const char outcomes[EVENT_OUTCOME_COUNT][12] = {
	    [EVENT_OUTCOME_FAILURE] = "failure",
	    [EVENT_OUTCOME_SUCCESS] = "success",
	    [EVENT_OUTCOME_BUSY] = "skipped",
	    [EVENT_OUTCOME_SKIPPED] = "skipped",
	    [EVENT_OUTCOME_REPLACED] = "replaced",
	    [EVENT_OUTCOME_LOST] = "lost",
	};
	bool failed = value == METRICS_JOB_FAILED;
	bool ended = value >= METRICS_ENDED;
	const struct row *row = &rows[ended ? METRICS_ENDED : value];
	const struct event_row *ending;

	*sample =
	    (struct sample){.parts = {row->name, "{key=\"", label, "\"} "},
		.unit = row->unit};
	if (!ended)
		return;
	ending = &event_rows[failed ? ENDING_JOB : value - METRICS_ENDED];
	sample->parts[3] = "\",outcome=\"";
	sample->parts[4] =
	    outcomes[failed ? EVENT_OUTCOME_FAILURE : ending->outcome];
	sample->parts[5] = "\",reason=\"";
	sample->parts[6] = ending->word;
	sample->parts[7] = "\"} ";
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

/* The ends of jobs from the start, so that their first increase is seen; others
 * once they have happened. */
static void
put_samples(struct text *text, const struct metrics *metrics,
    enum metrics_value from, enum metrics_value to, const char *label)
{
	for (enum metrics_value i = from; i < to; i++) {
		int64_t number = metrics->values[i];
		bool happens = i >= METRICS_ENDED &&
			       i != METRICS_ENDED + ENDING_JOB &&
			       i != METRICS_JOB_FAILED;
		struct sample sample;

		if (i <= METRICS_ENDED)
			put_part(text, rows[i].head);
		if (happens ? number <= 0 : number == METRICS_UNKNOWN)
			continue;
		describe_sample(&sample, i, label);
		for (size_t j = 0; sample.parts[j] != NULL; j++)
			put_part(text, sample.parts[j]);
		if (sample.unit == UNIT_SECONDS) {
			put_digits(text, number / SECOND_MS, 1);
			put_part(text, ".");
			put_digits(text, number % SECOND_MS, 3);
		} else {
			put_digits(text, number, 1);
		}
		put_part(text, "\n");
	}
}

size_t
metrics_text_room(const char *label)
{
	return METRICS_VALUE_COUNT * (strlen(label) + LINE_ROOM) +
	       sizeof(rows) + (size_t)METRICS_RUNS_MAX * RUN_ROOM +
	       sizeof(END "\n");
}

size_t
metrics_text_write(const struct metrics *metrics, const char *label, char *text,
    size_t size)
{
	struct text rest = {text, size};

	put_samples(&rest, metrics, METRICS_ENDED, METRICS_VALUE_COUNT, label);
	put_samples(&rest, metrics, 0, METRICS_ENDED, label);
	for (size_t i = 0; i < metrics->run_count; i++) {
		const struct metrics_run *run = &metrics->runs[i];

		put_part(&rest, "# run ");
		put_digits(&rest, run->byte, 1);
		put_part(&rest, run->holds ? " holds " : " waits ");
		put_digits(&rest, run->since_ms, 1);
		put_part(&rest, "\n");
	}
	put_part(&rest, END "\n");
	return (size_t)(rest.at - text);
}

/* --- reading ---------------------------------------------------------- */

/* Whether *at begins with this: then moves on behind it. */
static bool
match(const char **at, const char *text)
{
	size_t length = strlen(text);

	if (strncmp(*at, text, length) != 0)
		return false;
	*at += length;
	return true;
}

static bool
read_digits(const char **at, int64_t max, int64_t *number)
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
read_value(const char *at, enum unit unit, int64_t *value)
{
	int64_t number, part = 0;

	if (!read_digits(&at, VALUE_MAX / SECOND_MS, &number))
		return false;
	if (unit == UNIT_SECONDS) {
		const char *point = at;

		if (!match(&at, ".") ||
		    !read_digits(&at, SECOND_MS - 1, &part) ||
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
skip_letters(const char **at)
{
	size_t length = strspn(*at, "abcdefghijklmnopqrstuvwxyz_");

	*at += length;
	return length > 0;
}

/* A sample that only a later version has, and which is dropped: that version
 * counts it anew. */
static bool
is_later(const char *at, const char *label)
{
	int64_t number;

	if (!match(&at, "rlockrun_") || !skip_letters(&at) ||
	    !match(&at, "{key=\"") || !match(&at, label) || !match(&at, "\""))
		return false;
	while (match(&at, ","))
		if (!skip_letters(&at) || !match(&at, "=\"") ||
		    !skip_letters(&at) || !match(&at, "\""))
			return false;
	return match(&at, "} ") && (read_value(at, UNIT_COUNT, &number) ||
				       read_value(at, UNIT_SECONDS, &number));
}

/* They usually come in order: *next is the one that is tried first. */
static bool
read_sample(struct metrics *metrics, const char *label, const char *line,
    enum metrics_value *next)
{
	for (int tried = 0; tried < METRICS_VALUE_COUNT; tried++) {
		enum metrics_value value = *next;
		const char *at = line;
		struct sample sample;
		size_t i = 0;

		*next = (value + 1) % METRICS_VALUE_COUNT;
		describe_sample(&sample, value, label);
		while (sample.parts[i] != NULL && match(&at, sample.parts[i]))
			i++;
		if (sample.parts[i] == NULL)
			return read_value(at, sample.unit,
			    &metrics->values[value]);
	}
	return is_later(line, label);
}

static bool
read_comment(struct metrics *metrics, const char *line)
{
	struct metrics_run run;
	int64_t byte;

	if (match(&line, "# HELP rlockrun_") ||
	    match(&line, "# TYPE rlockrun_"))
		return true;
	if (!match(&line, "# run ") ||
	    !read_digits(&line, METRICS_RUNS_MAX, &byte) || byte == 0)
		return false;
	run.byte = (int)byte;
	run.holds = match(&line, " holds ");
	if ((!run.holds && !match(&line, " waits ")) ||
	    !read_value(line, UNIT_COUNT, &run.since_ms))
		return false;
	for (size_t i = 0; i < metrics->run_count; i++)
		if (metrics->runs[i].byte == run.byte)
			return false;
	metrics->runs[metrics->run_count++] = run;
	return true;
}

/* Only what has a newline is a line. */
bool
metrics_text_read(struct metrics *metrics, const char *label, char *text)
{
	enum metrics_value next = METRICS_ENDED;
	bool ended = false, damaged = false;
	char *rest = text, *line;

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
