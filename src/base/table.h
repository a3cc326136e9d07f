/* A table, also of endless rows: on stdout they are held back until the widths
 * of their columns are known, but only for a short time, and only so many. */
#ifndef TABLE_H
#define TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_COLUMNS 10
#define TABLE_ROWS 200 /* held back at most */

enum { TABLE_TITLES = 96 };

struct table {
	/* stdout, unless the owner sets another one after table_init, which
	 * gets nothing before table_print. */
	FILE *out;
	char titles[TABLE_TITLES];
	const char *title[TABLE_COLUMNS];
	size_t columns;
	size_t width[TABLE_COLUMNS];
	size_t rows, room;
	int64_t since;		      /* when the first of them was added */
	char *(*cell)[TABLE_COLUMNS]; /* escaped; until they are printed */
};

/* Begins with a row of titles, given with blanks between them. */
void table_init(struct table *table, const char *titles);

/* Adds a row of cells that show "-". These two die when memory is out. */
void table_add(struct table *table);
/* Replaces a cell of the last row by a copy, escaped for a terminal, if there
 * is such a column. */
void table_set(struct table *table, const char *title, const char *text);

/* Sorts all rows that are held back by the first column: but for the titles,
 * which must be among them. */
void table_sort(struct table *table);

/* Prints all rows that are held back. ferror(3) shows a failure. */
void table_print(struct table *table);
/* Likewise, if the first has been held back long enough. To be called from time
 * to time. */
void table_print_due(struct table *table);

#endif
