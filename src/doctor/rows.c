#include "doctor/rows.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "redis/info.h"

enum { FACT_SIZE = 2048 }; /* longer values are cut */

void
rows_put(char **facts, const char *name, const char *format, ...)
{
	char *former = *facts;
	va_list arguments;
	char *value;

	va_start(arguments, format);
	value = mem_vprintf(format, arguments);
	va_end(arguments);
	*facts =
	    mem_printf("%s%s:%s\n", former != NULL ? former : "", name, value);
	free(former);
	free(value);
}

void
rows_put_flag(char **facts, const char *name, bool is)
{
	if (is)
		rows_put(facts, name, "1");
}

void
rows_put_lines(char **facts, const char *info)
{
	char *former = *facts;

	*facts = mem_printf("%s%s\n", former != NULL ? former : "", info);
	free(former);
}

static bool
is_true(const char *term, const char *facts)
{
	bool negated = *term == '!';
	const char *operand = term + strcspn(term, "=<");
	char name[FACT_SIZE], value[FACT_SIZE];
	int64_t number, limit;
	bool is = false;

	term += negated;
	snprintf(name, sizeof(name), "%.*s", (int)(operand - term), term);
	info_text(facts, name, value, sizeof(value));
	if (*operand == '\0')
		is = *value != '\0';
	else if (*operand == '=')
		is = strcmp(value, operand + 1) == 0;
	else if (num_int(value, 0, INT64_MAX, &number) == 0 &&
		 num_int(operand + 1, 0, INT64_MAX, &limit) == 0)
		is = number < limit;
	return is != negated;
}

static bool
applies(const struct row *row, const char *facts)
{
	char terms[sizeof(row->condition)], *rest = terms;
	const char *term;

	memcpy(terms, row->condition, sizeof(terms));
	while ((term = strsep(&rest, " ")) != NULL)
		if (*term != '\0' && !is_true(term, facts))
			return false;
	return true;
}

/* To be freed. A value is not looked into. */
static char *
fill_values(const char *text, const char *facts)
{
	char *filled = mem_strdup("");

	while (*text != '\0') {
		int plain = (int)strcspn(text, "{");
		const char *named = text + plain + (text[plain] == '{');
		int length = (int)strcspn(named, "}");
		char name[FACT_SIZE], value[FACT_SIZE], *longer;

		snprintf(name, sizeof(name), "%.*s", length, named);
		info_text(facts, name, value, sizeof(value));
		longer = mem_printf("%s%.*s%s", filled, plain, text, value);
		free(filled);
		filled = longer;
		text = named + length + (named[length] == '}');
	}
	return filled;
}

size_t
rows_judge(enum about about, int severity, const char *facts,
    struct findings *findings)
{
	const struct row *row = rows_about[about].list;
	const struct row *end = row + rows_about[about].count;
	const char *judged = "";
	size_t added = 0;

	for (; row < end; row++) {
		char *text, *remedy;

		if (strcmp(row->check, judged) == 0 || !applies(row, facts))
			continue;
		judged = row->check;
		if (row->severity < severity)
			continue;
		text = fill_values(row->text, facts);
		remedy = fill_values(row->remedy, facts);
		findings_add(findings, row->severity, row->check,
		    *remedy != '\0' ? remedy : NULL, "%s", text);
		free(text);
		free(remedy);
		added++;
	}
	return added;
}
