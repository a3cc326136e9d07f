/* The table that is played, and what is expected of it next. */
#ifndef TABLE_H
#define TABLE_H

#include <stdbool.h>

#include "text.h"

enum { VARIABLES = 16 };

struct table {
	const char *path;
	struct lines lines;
	int at;		      /* the line that is read next */
	struct lines written; /* the table with what was printed */
	char folder[64];      /* of the test, its working directory */
	const char *name;     /* of the test; NULL: before the first */
	bool is_chosen, differs;
	char *variables[VARIABLES]; /* of all its runs */
	int variable_count;
};

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): one table at a time */
extern struct table table;

_Noreturn void table_refuse(const char *line, const char *why);
/* The lines behind the current one that begin with one of these characters. */
int table_count_expected(const char *kinds);
/* Compares with these lines, and moves behind them. */
void table_compare(const struct lines *got, const char *kinds);

#endif
