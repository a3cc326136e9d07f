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
table_init(struct table *table, const char *titles)
{
	char *rest;

	*table = (struct table){.out = stdout};
	rest = table->titles;
	snprintf(table->titles, sizeof(table->titles), "%s", titles);
	while (rest != NULL && table->columns < TABLE_COLUMNS)
		table->title[table->columns++] = strsep(&rest, " ");
	table_add(table);
	for (size_t i = 0; i < table->columns; i++)
		table_set(table, table->title[i], table->title[i]);
}

void
table_add(struct table *table)
{
	if (table->rows == TABLE_ROWS && table->out == stdout)
		table_print(table);
	if (table->rows == 0)
		table->since = clock_now();
	if (table->rows == table->room) {
		table->room = table->room > 0 ? table->room * 2 : 16;
		table->cell = mem_realloc(table->cell,
		    table->room * sizeof(*table->cell));
	}
	for (size_t i = 0; i < table->columns; i++)
		table->cell[table->rows][i] = mem_strdup("-");
	table->rows++;
}

void
table_set(struct table *table, const char *title, const char *text)
{
	char **row = table->cell[table->rows - 1];

	for (size_t i = 0; i < table->columns; i++)
		if (strcmp(table->title[i], title) == 0) {
			free(row[i]);
			row[i] = escape_text(text, ESCAPE_TEXT);
		}
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
