#include "table.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): one table at a time */
struct table table;

_Noreturn void
table_refuse(const char *line, const char *why)
{
	fprintf(stderr, "%s:%d: %s: %s\n", table.path,
	    table.at > 0 ? table.lines.numbers[table.at - 1] : 0, line, why);
	fflush(stdout);
	_exit(2);
}

/* --- what is expected --------------------------------------------------- */

int
table_count_expected(const char *kinds)
{
	int i = table.at;

	while (i < table.lines.count && table.lines.all[i][0] != '\0' &&
	       strchr(kinds, table.lines.all[i][0]) != NULL)
		i++;
	return i - table.at;
}

/* Without the lines at both ends that match. */
static void
print_difference(char *const *want, int wants, char *const *got, int gots)
{
	printf("# %s:%d: %s\n", table.path, table.lines.numbers[table.at - 1],
	    table.lines.all[table.at - 1]);
	while (wants > 0 && gots > 0 && text_matches(*want, *got))
		want++, got++, wants--, gots--;
	while (wants > 0 && gots > 0 &&
	       text_matches(want[wants - 1], got[gots - 1]))
		wants--, gots--;
	for (int i = 0; i < wants; i++)
		printf("#   expected %s\n", want[i]);
	for (int i = 0; i < gots; i++)
		printf("#   printed  %s\n", got[i]);
}

void
table_compare(const struct lines *got, const char *kinds)
{
	char **lines = table.lines.all + table.at;
	int count = table_count_expected(kinds);
	char **want = world_alloc((size_t)(count + 1) * sizeof(*want));
	bool same;

	for (int i = 0; i < count; i++)
		want[i] = text_repeat(lines[i]);
	same = text_match(want, count, got->all, got->count);
	if (!same) {
		table.differs = true;
		print_difference(want, count, got->all, got->count);
	}
	for (int i = 0; i < (same ? count : got->count); i++)
		lines_add(&table.written,
		    same || (count == got->count &&
				text_matches(want[i], got->all[i]))
			? lines[i]
			: got->all[i]);
	table.at += count;
}
