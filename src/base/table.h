/* A table on stdout whose rows may never end: they are held back until their
 * widths are known, but not for long, and not many. */
#ifndef TABLE_H
#define TABLE_H

#include <stddef.h>
#include <stdint.h>

#define TABLE_COLUMNS 9
#define TABLE_ROWS 200 /* at most held back */

struct table {
	size_t columns;
	size_t width[TABLE_COLUMNS];
	size_t rows;
	int64_t since; /* when the first of them came */
	char *cell[TABLE_ROWS][TABLE_COLUMNS];
};

/* With a first row of titles. */
void table_init(struct table *table, const char *const *titles, size_t columns);

/* Adds a row of copies, escaped for a terminal. Dies when memory is out. */
void table_add(struct table *table, const char *const *cells);

/* Prints what has been held back for long enough, to be called from time to
 * time; or all. Whether stdout took it is left to ferror(3). */
void table_print_due(struct table *table);
void table_print(struct table *table);

#endif
