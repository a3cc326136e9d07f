/* A lock that is held as a row of a table. */
#ifndef LIST_ROW_H
#define LIST_ROW_H

#include "admin/query.h"

enum list_column {
	LIST_NAME,
	LIST_KIND,
	LIST_HOLDER,
	LIST_PID,
	LIST_USER,
	LIST_HELD,
	LIST_TTL,
	LIST_WAITING,
	LIST_FENCE,
	LIST_LABEL,
	LIST_COLUMNS,
};

extern const char *const list_titles[LIST_COLUMNS];

/* The cells point into the row and into what it was made from. */
struct list_row {
	const char *cells[LIST_COLUMNS];
	char kind[64];
	char held[32];
	char left[48];
	char waiting[24];
};

void list_row_describe(struct list_row *row, const struct look *look,
    const char *name);

#endif
