#include "doctor/rows.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/template.h"
#include "redis/info.h"

/* What is longer is cut, in a value and in a text with all values. */
enum { FACT_SIZE = 2048, TEXT_SIZE = 4096 };

void
rows_put(char **facts, const char *format, ...)
{
	char *former = *facts, *more;
	va_list arguments;

	va_start(arguments, format);
	more = mem_vprintf(format, arguments);
	va_end(arguments);
	*facts = mem_printf("%s%s", former != NULL ? former : "", more);
	free(former);
	free(more);
}

void
rows_put_flag(char **facts, const char *name, bool is)
{
	if (is)
		rows_put(facts, "%s:1\n", name);
}

/* Whether all terms are true. */
static bool
applies(const struct judgement *row, const char *facts)
{
	char terms[sizeof(row->condition)], *rest = terms, *term;
	char value[FACT_SIZE];

	memcpy(terms, row->condition, sizeof(terms));
	while ((term = strsep(&rest, " ")) != NULL && *term != '\0') {
		bool negated = *term == '!', is;
		char *operand = term + strcspn(term, "=<"), sign = *operand;

		*operand = '\0';
		info_text(facts, term + negated, value, sizeof(value));
		if (sign == '\0')
			is = *value != '\0';
		else if (sign == '=')
			is = strcmp(value, operand + 1) == 0;
		else
			is = isdigit((unsigned char)*value) &&
			     strverscmp(value, operand + 1) < 0;
		if (is == negated)
			return false;
	}
	return true;
}

/* The facts, and room for the value of one of them. */
struct known {
	const char *facts;
	char value[FACT_SIZE];
};

static const char *
find_fact(void *arg, const char *name, bool *many)
{
	struct known *known = arg;

	(void)many;
	info_text(known->facts, name, known->value, sizeof(known->value));
	return known->value;
}

size_t
rows_judge(const char *about, const char *facts, struct findings *findings)
{
	const struct judgement *row = rows_table;
	struct known known = {.facts = facts};
	const char *judged = "";
	size_t added = 0;

	while (*row->check != '\0' || strcmp(row->text, about) != 0)
		row++;
	while (*(++row)->check != '\0') {
		char text[TEXT_SIZE], remedy[TEXT_SIZE];

		if (strcmp(row->check, judged) == 0 || !applies(row, facts))
			continue;
		judged = row->check;
		if (row->severity < findings->least)
			continue;
		template_fill(row->text, find_fact, &known, text, sizeof(text));
		template_fill(row->remedy, find_fact, &known, remedy,
		    sizeof(remedy));
		findings_add(findings, row->severity, row->check, text, remedy);
		added++;
	}
	return added;
}
