/* A run of the history as a row of a table. */
#ifndef RUN_ROW_H
#define RUN_ROW_H

#include "admin/query.h"

enum run_column {
	RUN_STARTED,
	RUN_TOOK,
	RUN_WAITED,
	RUN_STATUS,
	RUN_REASON,
	RUN_HOST,
	RUN_PID,
	RUN_USER,
	RUN_FENCE,
	RUN_LABEL,
	RUN_COLUMNS,
};

/* Without pointers, which the loader would have to adjust at the start of each
 * run. */
extern const char run_row_titles[RUN_COLUMNS][8];

/* The cells point into the row and into the run. */
struct run_row {
	const char *cells[RUN_COLUMNS];
	char started[32];
	char took[32];
	char waited[32];
	char status[16];
};

/* now_ms: by the server's clock. */
void run_row_describe(struct run_row *row, const struct look_run *run,
    int64_t now_ms);

#endif
