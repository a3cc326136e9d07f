#include "base/table.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/escape.h"

enum { WIDTH_MAX = 48, GAP = 2, HOLD_BACK_MS = 500 };

static void
print_row(const struct table *table, char *const *cells)
{
	for (size_t i = 0; i < table->columns; i++) {
		size_t width = escape_columns(cells[i], ESCAPE_TEXT);

		fputs(cells[i], stdout);
		if (i + 1 == table->columns)
			break;
		printf("%*s", GAP, "");
		for (; width < table->width[i]; width++)
			putchar(' ');
	}
	putchar('\n');
}

void
table_init(struct table *table, const char *const *titles, size_t columns)
{
	*table = (struct table){.columns = columns};
	table_add(table, titles);
}

void
table_add(struct table *table, const char *const *cells)
{
	char **row;

	if (table->rows == TABLE_ROWS)
		table_print(table);
	if (table->rows == 0)
		table->since = clock_now();
	row = table->cell[table->rows++];
	for (size_t i = 0; i < table->columns; i++)
		row[i] = escape_text(cells[i], ESCAPE_TEXT);
}

void
table_print_due(struct table *table)
{
	if (clock_now() >= table->since + HOLD_BACK_MS)
		table_print(table);
}

/* A single long name does not widen its column for all rows. */
void
table_print(struct table *table)
{
	for (size_t row = 0; row < table->rows; row++)
		for (size_t i = 0; i < table->columns; i++) {
			size_t width =
			    escape_columns(table->cell[row][i], ESCAPE_TEXT);

			if (width > table->width[i] && width <= WIDTH_MAX)
				table->width[i] = width;
		}
	for (size_t row = 0; row < table->rows; row++) {
		print_row(table, table->cell[row]);
		for (size_t i = 0; i < table->columns; i++)
			free(table->cell[row][i]);
	}
	table->rows = 0;
	fflush(stdout);
}
