#include "base/row.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/num.h"

#define ELLIPSIS "..."

enum { SECOND_MS = 1000 };

/* Whether the value of a member follows. */
static bool
put_name(struct row *row, const char *name)
{
	if (row->table != NULL || name == NULL)
		return false;
	if (row->has_former)
		putc(',', row->out);
	if (*name != '\0')
		fprintf(row->out, "\"%s\":", name);
	row->has_former = true;
	return true;
}

void
row_open(struct row *row, const char *name, char bracket)
{
	if (!put_name(row, name))
		return;
	putc(bracket, row->out);
	row->has_former = false;
}

void
row_close(struct row *row, char bracket)
{
	if (row->table != NULL)
		return;
	putc(bracket, row->out);
	row->has_former = true;
}

void
row_null(struct row *row, const char *name)
{
	if (put_name(row, name))
		fputs("null", row->out);
}

void
row_string(struct row *row, const char *name, const char *text)
{
	size_t max = row->max > 0 ? row->max : SIZE_MAX, needed = 0;
	char piece[ESCAPE_SIZE];
	bool whole;

	if (!put_name(row, name))
		return;
	for (const char *at = text; *at != '\0' && needed <= max;)
		needed += escape_next(&at, ESCAPE_JSON, piece);
	whole = needed <= max;
	if (!whole)
		max -= strlen(ELLIPSIS);
	putc('"', row->out);
	while (*text != '\0') {
		size_t length = escape_next(&text, ESCAPE_JSON, piece);

		if (length > max)
			break;
		fwrite(piece, 1, length, row->out);
		max -= length;
	}
	fprintf(row->out, "%s\"", whole ? "" : ELLIPSIS);
}

void
row_text(struct row *row, const char *title, const char *name, const char *text)
{
	if (text == NULL || *text == '\0') {
		row_null(row, name);
		return;
	}
	if (row->table != NULL && title != NULL)
		table_set(row->table, title, text);
	row_string(row, name, text);
}

void
row_number(struct row *row, const char *title, const char *name, bool is_known,
    int64_t number)
{
	char text[24];

	if (!is_known) {
		row_null(row, name);
		return;
	}
	snprintf(text, sizeof(text), "%" PRId64, number);
	if (row->table != NULL && title != NULL)
		table_set(row->table, title, text);
	if (put_name(row, name))
		fputs(text, row->out);
}

/* A table has them as they are. */
void
row_digits(struct row *row, const char *title, const char *name,
    const char *digits)
{
	int64_t number = 0;
	bool is_known = num_int(digits, 0, INT64_MAX, &number) == 0;

	row_number(row, NULL, name, is_known, number);
	row_text(row, title, NULL, digits);
}

void
row_seconds(struct row *row, const char *name, int64_t ms)
{
	if (put_name(row, name))
		fprintf(row->out, "%" PRId64 ".%03d", ms / SECOND_MS,
		    (int)(ms % SECOND_MS));
}

void
row_bool(struct row *row, const char *name, bool value)
{
	if (put_name(row, name))
		fputs(value ? "true" : "false", row->out);
}

void
row_words(struct row *row, const char *title, const char *format, ...)
{
	va_list arguments;
	char *words;

	if (row->table == NULL)
		return;
	va_start(arguments, format);
	words = mem_vprintf(format, arguments);
	va_end(arguments);
	table_set(row->table, title, words);
	free(words);
}
