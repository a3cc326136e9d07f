/* What is known of the runs of a lock on this host, and its form as text:
 * Prometheus' text format, of which a comment lists the runs that wait or hold.
 * Text is read only as it was written: this is no parser for others' metrics.
 */
#ifndef METRICS_TEXT_H
#define METRICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/event.h"

/* With the endings of metrics_file.c at most 255 bytes. */
enum { METRICS_NAME_SIZE = 240 };

/* A lock's key as a part of a file name: different keys have different ones.
 * "rlockrun-" and the key: bytes other than letters, digits and "._:-" become
 * %XX. Of a longer key there is the beginning, then ~ and a digest. Neither is
 * a name in the plain form, nor does it begin with a dot or have a slash. */
void metrics_text_name(const char *key, char name[METRICS_NAME_SIZE]);

/* Likewise as a label: the text between the quotes of a label of Prometheus'
 * text format, to be freed: \n, \" and \\ are escaped. Bytes that are not UTF-8
 * and what escape_next finds unsafe become U+FFFD, each followed by two
 * hexadecimal digits; so does U+FFFD itself. Dies when memory is out. */
char *metrics_text_label(const char *key);

/* Times and durations are in milliseconds, points in time since the epoch. */
enum metrics_value {
	/* Counters, at first 0. */
	METRICS_UNLOCKED,
	METRICS_LOST,
	METRICS_RENEWAL_FAILURES,
	METRICS_WAIT_SUM,
	METRICS_WAIT_COUNT,
	METRICS_HOLD_SUM,
	METRICS_HOLD_COUNT,
	METRICS_RENEWAL_SUM,
	METRICS_RENEWAL_COUNT,
	/* Gauges, at first METRICS_UNKNOWN. */
	METRICS_LEASE_LEFT,
	METRICS_LAST_START,
	METRICS_LAST_END,
	METRICS_LAST_SUCCESS,
	METRICS_LAST_LOST,
	METRICS_LAST_STATUS,
	METRICS_EXPECT,
	METRICS_EXPECT_SINCE, /* see metrics_add */
	/* metrics_count_runs sets these. */
	METRICS_WAITING,
	METRICS_WAITING_SINCE,
	METRICS_HOLDING,
	METRICS_HELD_SINCE,
	METRICS_UPDATED,
	/* Counters again: so many runs have ended for the ending_reason that is
	 * added to this, */
	METRICS_ENDED,
	METRICS_JOB_FAILED = METRICS_ENDED + ENDING_COUNT, /* by themselves */
	METRICS_VALUE_COUNT,
};

#define METRICS_UNKNOWN (-1)

enum { METRICS_RUNS_MAX = 64 };

/* A run that waits or holds. Its byte, from 1, is that of the lock file which
 * it has for itself while it does. */
struct metrics_run {
	int byte;
	bool holds;
	int64_t since_ms;
};

struct metrics {
	int64_t values[METRICS_VALUE_COUNT];
	struct metrics_run runs[METRICS_RUNS_MAX];
	size_t run_count;
};

void metrics_init(struct metrics *metrics);

/* Adds to the counters those of changes, and takes over the gauges that are
 * known there. METRICS_EXPECT_SINCE stays, unless it lies more than a minute
 * ahead of the new one, and ends when METRICS_EXPECT becomes 0. Its runs are
 * none of these. */
void metrics_add(struct metrics *metrics, const struct metrics *changes);

/* From its runs, and the time. */
void metrics_count_runs(struct metrics *metrics, int64_t now_ms);

/* label is that of metrics_text_label. The text is never longer than this, NUL
 * included. */
size_t metrics_text_room(const char *label);

/* Returns the length. */
size_t metrics_text_write(const struct metrics *metrics, const char *label,
    char *text, size_t size);

/* Cuts the text at its newlines. Lines that are not as metrics_text_write would
 * write them for this label are ignored. Whether there were any, other than
 * samples of a later version, or the end is missing: then something may not be
 * counted any more. */
bool metrics_text_read(struct metrics *metrics, const char *label, char *text);

#endif
