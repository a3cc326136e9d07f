#include "base/row.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

/* All that a row can be given. */
static void
put_all(struct row *row)
{
	row_open(row, "", '{');
	row_text(row, "TEXT", "text", "a \"b\"\n");
	row_text(row, "NONE", "none", "");
	row_text(row, NULL, "null", NULL);
	row_string(row, "empty", "");
	row_number(row, "NUMBER", "number", true, -7);
	row_number(row, "UNKNOWN", "unknown", false, 7);
	row_digits(row, "DIGITS", "digits", "42");
	row_digits(row, "PID", "pid", "?");
	row_bool(row, "yes", true);
	row_seconds(row, "seconds", 1500);
	row_words(row, "WORDS", "%d words", 2);
	row_text(row, "OTHER", NULL, "no column");
	row_open(row, "list", '[');
	row_string(row, "", "one");
	row_open(row, "", '{');
	row_close(row, '}');
	row_open(row, "", '{');
	row_bool(row, "no", false);
	row_close(row, '}');
	row_close(row, ']');
	row_null(row, "last");
	row_close(row, '}');
}

static void
test_json(void)
{
	char *text = NULL;
	size_t size = 0;
	struct row row = {.out = open_memstream(&text, &size)};

	put_all(&row);
	fclose(row.out);
	is_text(text,
	    "{\"text\":\"a \\\"b\\\"\\n\",\"none\":null,\"null\":null,"
	    "\"empty\":\"\",\"number\":-7,\"unknown\":null,\"digits\":42,"
	    "\"pid\":null,\"yes\":true,\"seconds\":1.500,\"list\":[\"one\",{},"
	    "{\"no\":false}],\"last\":null}",
	    "as JSON");
	free(text);
	row = (struct row){.out = open_memstream(&text, &size), .max = 8};
	row_string(&row, "", "12345678");
	row_string(&row, "", "123456789");
	row_string(&row, "", "1234\"6789");
	fclose(row.out);
	is_text(text, "\"12345678\",\"12345...\",\"1234...\"",
	    "texts that are too long");
	free(text);
}

static void
test_table(void)
{
	static const char wanted[] = "a \"b\"\\n|-|-7|-|42|?|2 words";
	struct table table;
	struct row row = {.table = &table};
	char got[256] = "";

	table_init(&table, "TEXT NONE NUMBER UNKNOWN DIGITS PID WORDS");
	table_add(&table);
	put_all(&row);
	for (size_t i = 0; i < table.columns; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s",
		    i > 0 ? "|" : "", table.cell[1][i]);
	is_text(got, wanted, "as cells");
	table.out = fopen("/dev/null", "w");
	table_print(&table);
	fclose(table.out);
}

int
main(void)
{
	test_json();
	test_table();
	return tap_done();
}
