/* A table, also of endless rows: on stdout they are held back until the widths
 * of their columns are known, but only for a short time, and only so many. */
#ifndef TABLE_H
#define TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_COLUMNS 10
#define TABLE_ROWS 200 /* held back at most */

struct table {
	/* stdout, unless the owner sets another one after table_init, which
	 * gets nothing before table_print. */
	FILE *out;
	size_t columns;
	size_t width[TABLE_COLUMNS];
	size_t rows, room;
	int64_t since;		      /* when the first of them was added */
	char *(*cell)[TABLE_COLUMNS]; /* escaped; until they are printed */
};

/* Begins with a row of titles. */
void table_init(struct table *table, const char *const *titles, size_t columns);

/* Adds a row of copies, escaped for a terminal. Dies when memory is out. */
void table_add(struct table *table, const char *const *cells);

/* Sorts all rows that are held back by the first column: but for the titles,
 * which must be among them. */
void table_sort(struct table *table);

/* What a cell shows of a text that may be empty. */
const char *table_or_dash(const char *text);

/* Prints all rows that are held back. ferror(3) shows a failure. */
void table_print(struct table *table);
/* Likewise, if the first has been held back long enough. To be called from time
 * to time. */
void table_print_due(struct table *table);

#endif
