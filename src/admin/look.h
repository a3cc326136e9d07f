/* What a server shows of one lock, in words for people. */
#ifndef LOOK_H
#define LOOK_H

#include "admin/client.h"

#define LOOK_PLACE_MAX 2048 /* of look_describe_place */

/* Whether there is no trace of a lock of that name: no holder, no waiter, no
 * former run and no note. A helper key that could not be read may have one. */
bool look_is_unknown(const struct look *look);

/* What ends the noun. */
static inline const char *
look_plural(int64_t count)
{
	return count == 1 ? "" : "s";
}

/* The holders, in a few words. */
void look_describe_holders(const struct look *look, char *text, size_t size);

/* "exclusive", "3 shared", "2/3 permits". */
void look_describe_kind(const struct look *look, char *text, size_t size);

/* What is left of a lease: "12.3s", "no limit". */
void look_describe_left(int64_t left_ms, char *text, size_t size);

/* The holder with a record that has held the lock for longest, if that is
 * known; NULL if there is none. */
const struct look_holder *look_oldest(const struct look *look);

/* The holder with that token, or NULL. */
const struct look_holder *look_holder_with(const struct look *look,
    const char *token);

/* Whether a run or a success is known. */
bool look_has_history(const struct look *look);

/* What is wrong with the history of the lock, or NULL. */
const struct look_problem *look_history_problem(const struct look *look);

/* Whether that time, by the server's clock, lies more than a minute ahead: then
 * a clock was stepped, and nothing is known from the time. A little less is as
 * good as now, as for --once-per (LIMIT_CLOCKS_MS). */
bool look_is_ahead(int64_t at_ms, int64_t now_ms);
/* "12:03:11", or "12:03:11 (future)". */
void look_describe_time(int64_t at_ms, int64_t now_ms, char *text, size_t size);
/* "3m12s ago", or "30d00h in the future". */
void look_describe_ago(int64_t at_ms, int64_t now_ms, char *text, size_t size);

/* Whether the next success is overdue. Its time counts from the last one;
 * without one, from when it was first stated; in a record by a version that
 * does not note that, from the first run that is known. LOOK_DUE_UNKNOWN: that
 * time, or a success, lies in the future. *overdue_ms: for how long. */
enum look_due {
	LOOK_DUE_NEVER, /* none is expected */
	LOOK_DUE_LATER,
	LOOK_DUE_OVERDUE,
	LOOK_DUE_UNKNOWN,
};
enum look_due look_due(const struct look *look, int64_t *overdue_ms);

/* The last run that is over, or NULL; and whether it has failed, or left no
 * end. While readers or permits hold the lock, a run without an end may be one
 * of them, and does not count. */
const struct look_run *look_last_over(const struct look *look);
bool look_run_has_failed(const struct look_run *run);

/* "redis://h:6379, db 0, no prefix", of the server with that label. */
void look_describe_place(const struct client *client, const char *server,
    char *text, size_t size);

/* To stdout, a line for each thing that has happened to a lock beside its runs,
 * the newest first; ferror(3) shows whether that could be written. */
void look_print_notes(const struct look *look);

#endif
