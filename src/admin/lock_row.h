/* What is known of a lock, or of one of its runs, as a row: cells of the tables
 * of --list and --history, or an object of JSON (JSON in rlockrun-locks(7)). */
#ifndef LOCK_ROW_H
#define LOCK_ROW_H

#include "admin/client.h"
#include "base/row.h"

/* The columns of the tables. */
#define LOCK_ROW_HELD "NAME KIND HOLDER PID USER HELD TTL WAITING FENCE LABEL"
#define LOCK_ROW_ALL \
	"NAME STATE HOST PID STARTED TOOK STATUS REASON SUCCESS LABEL"
#define LOCK_ROW_RUNS \
	"STARTED TOOK WAITED STATUS REASON HOST PID USER FENCE LABEL"

/* The cells of a table; with --all it has the last run in place of the holder.
 */
void lock_row_put(struct row *row, const struct look *look,
    const struct client *client);

/* now_ms: by the server's clock. */
void lock_row_put_run(struct row *row, const char *name,
    const struct look_run *run, int64_t now_ms);

/* The members that the action shows, to stdout as one line of JSON; ferror(3)
 * shows whether that could be written. */
void lock_row_print_json(const struct look *look, const struct client *client);

/* To stdout, that a lock is paused or resumed, as this word says: as JSON, or,
 * if it is, for people. left_ms: for so long; -1: without an end, or it is not.
 */
void lock_row_print_act(struct client *client, const char *word,
    const char *key, bool is, int64_t left_ms);

#endif
