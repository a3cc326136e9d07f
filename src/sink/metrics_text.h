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

/* label is that of metrics_name_label. The text is never longer than this, NUL
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
