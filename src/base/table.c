#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/mem.h"

enum { WIDTH_MAX = 48, GAP = 2, HOLD_BACK_MS = 500 };

static void
print_row(const struct table *table, char *const *cells)
{
	for (size_t i = 0; i < table->columns; i++) {
		size_t width = escape_columns(cells[i], ESCAPE_TEXT);

		fputs(cells[i], table->out);
		if (i + 1 == table->columns)
			break;
		fprintf(table->out, "%*s", GAP, "");
		for (; width < table->width[i]; width++)
			putc(' ', table->out);
	}
	putc('\n', table->out);
}

void
table_init(struct table *table, const char *const *titles, size_t columns)
{
	*table = (struct table){.columns = columns, .out = stdout};
	table_add(table, titles);
}

void
table_add(struct table *table, const char *const *cells)
{
	char **row;

	if (table->rows == TABLE_ROWS && table->out == stdout)
		table_print(table);
	if (table->rows == 0)
		table->since = clock_now();
	if (table->rows == table->room) {
		table->room = table->room > 0 ? table->room * 2 : 16;
		table->cell = mem_realloc(table->cell,
		    table->room * sizeof(*table->cell));
	}
	row = table->cell[table->rows++];
	for (size_t i = 0; i < table->columns; i++)
		row[i] = escape_text(cells[i], ESCAPE_TEXT);
}

static int
compare_rows(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
table_sort(struct table *table)
{
	if (table->rows > 0)
		qsort(table->cell + 1, table->rows - 1, sizeof(*table->cell),
		    compare_rows);
}

void
table_print_due(struct table *table)
{
	if (table->out == stdout && clock_now() >= table->since + HOLD_BACK_MS)
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
	free(table->cell);
	table->cell = NULL;
	table->rows = table->room = 0;
	fflush(table->out);
}

const char *
table_or_dash(const char *text)
{
	return *text != '\0' ? text : "-";
}
