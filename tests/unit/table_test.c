/* Columns that fit what is in them; rows that are held back, and for how long.
 */
#include "base/table.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

/* So many x. */
static const char *
wide(int columns)
{
	static char text[64];

	snprintf(text, sizeof(text), "%.*s", columns,
	    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	return text;
}

static void
test_columns(void)
{
	struct table table;
	char *text = NULL, want[512];
	size_t size = 0;

	table_init(&table, "A WIDE LAST");
	table.out = open_memstream(&text, &size);
	table_add(&table);
	table_set(&table, "WIDE", wide(48));
	table_set(&table, "LAST", "z");
	table_set(&table, "LAST", "a\n");
	table_set(&table, "NONE", "ignored");
	table_add(&table);
	table_set(&table, "A", "\u540c");
	table_set(&table, "WIDE", wide(49));
	table_add(&table);
	table_print_due(&table);
	fflush(table.out);
	is_int((int64_t)size, 0, "nothing is printed too soon");
	table_print(&table);
	snprintf(want, sizeof(want), "A   WIDE%46sLAST\n-   %s  a\\n\n", "",
	    wide(48));
	snprintf(want + strlen(want), sizeof(want) - strlen(want),
	    "\u540c  %s  -\n-   -%49s-\n", wide(49), "");
	is_text(text, want, "columns");
	table_add(&table);
	table_set(&table, "A", "b");
	table_print(&table);
	snprintf(want, sizeof(want), "b   -%49s-\n", "");
	is_text(text + size - strlen(want), want, "later rows have the same");
	fclose(table.out);
	free(text);
}

/* The most columns, and a long list of titles. */
static void
test_titles(void)
{
	struct table table;
	char *text = NULL;
	size_t size = 0;

	table_init(&table, "A B C D E F G H I J K");
	table.out = open_memstream(&text, &size);
	is_int((int64_t)table.columns, TABLE_COLUMNS, "the most columns");
	table_print(&table);
	is_text(text, "A  B  C  D  E  F  G  H  I  J\n", "their titles");
	fclose(table.out);
	free(text);
}

static void
test_sort(void)
{
	struct table table;
	char *text = NULL, name[8], want[512] = "T\n";
	size_t size = 0;

	table_init(&table, "T");
	table.out = open_memstream(&text, &size);
	for (int i = 70; i > 0; i--) {
		table_add(&table);
		snprintf(name, sizeof(name), "%02d", i);
		table_set(&table, "T", name);
	}
	for (int i = 1; i <= 70; i++)
		snprintf(want + strlen(want), sizeof(want) - strlen(want),
		    "%02d\n", i);
	table_sort(&table);
	table_print(&table);
	is_text(text, want, "sorted below the titles");
	table_sort(&table);
	table_print(&table);
	is_int((int64_t)size, (int64_t)strlen(want), "no row is left");
	fclose(table.out);
	free(text);
}

/* What is written to stdout meanwhile, until end_stdout. */
static int
begin_stdout(int *saved)
{
	char path[] = "/tmp/table_test.XXXXXX";
	int file = mkstemp(path);

	unlink(path);
	fflush(stdout);
	*saved = dup(STDOUT_FILENO);
	dup2(file, STDOUT_FILENO);
	return file;
}

static int
end_stdout(int file, int saved)
{
	off_t length;

	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	length = lseek(file, 0, SEEK_END);
	close(file);
	return (int)length;
}

/* Bytes on stdout of a table whose first row is so old; again if that took
 * long. */
static int
print_due(int64_t age_ms)
{
	int64_t begun;
	int length;

	do {
		struct table table;
		int saved, file = begin_stdout(&saved);

		table_init(&table, "TITLE");
		begun = clock_now();
		table.since = begun - age_ms;
		table_print_due(&table);
		length = end_stdout(file, saved);
		table.out = fopen("/dev/null", "w");
		table_print(&table);
		fclose(table.out);
	} while (clock_now() - begun > 200);
	return length;
}

static void
test_held_back(void)
{
	struct table table;
	int saved, file = begin_stdout(&saved);
	size_t left;

	table_init(&table, "T");
	for (int i = 0; i < TABLE_ROWS - 1; i++)
		table_add(&table);
	left = table.rows;
	table_add(&table);
	is_int(end_stdout(file, saved), 2 * TABLE_ROWS,
	    "as many rows as are held back are printed");
	is_int((int64_t)left, TABLE_ROWS, "  and not before");
	is_int((int64_t)table.rows, 1, "  but the last one");
	table.out = fopen("/dev/null", "w");
	for (int i = 0; i < TABLE_ROWS; i++)
		table_add(&table);
	is_int((int64_t)table.rows, TABLE_ROWS + 1, "elsewhere all are kept");
	table_print(&table);
	fclose(table.out);
	is_int(print_due(500), (int)strlen("TITLE\n"), "printed after 500 ms");
	is_int(print_due(250), 0, "and not before");
}

int
main(void)
{
	test_columns();
	test_titles();
	test_sort();
	test_held_back();
	return tap_done();
}
