#include "doctor/rows.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/template.h"
#include "redis/info.h"

enum { TEXT_SIZE = 4096 }; /* with all values */

/* --- facts -------------------------------------------------------------- */

void
rows_put(char **facts, const char *format, ...)
{
	va_list arguments;
	char *more, *longer;

	va_start(arguments, format);
	more = mem_vprintf(format, arguments);
	va_end(arguments);
	longer = mem_printf("%s%s", *facts, more);
	free(*facts);
	free(more);
	*facts = longer;
}

void
rows_put_flag(char **facts, const char *name, bool is)
{
	if (is)
		rows_put(facts, "%s:1\n", name);
}

void
rows_put_number(char **facts, const char *name, bool is_known, int64_t number)
{
	if (is_known)
		rows_put(facts, "%s:%" PRId64 "\n", name, number);
}

/* --- rows --------------------------------------------------------------- */

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
applies(const struct judgement *row, const char *facts)
{
	char terms[sizeof(row->condition)], *rest = terms;
	const char *term;

	memcpy(terms, row->condition, sizeof(terms));
	while ((term = strsep(&rest, " ")) != NULL)
		if (*term != '\0' && !is_true(term, facts))
			return false;
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
rows_judge(const struct judgement *rows, size_t count, int severity,
    const char *facts, struct findings *findings)
{
	struct known known = {.facts = facts};
	const char *former = "";
	size_t added = 0;

	for (const struct judgement *row = rows; row < rows + count; row++) {
		char text[TEXT_SIZE], remedy[TEXT_SIZE];

		if (strcmp(row->check, former) == 0 || !applies(row, facts))
			continue;
		former = row->check;
		if (row->severity < severity)
			continue;
		template_fill(row->text, find_fact, &known, text, sizeof(text));
		template_fill(row->remedy, find_fact, &known, remedy,
		    sizeof(remedy));
		findings_add(findings, row->severity, row->check,
		    *remedy != '\0' ? remedy : NULL, "%s", text);
		added++;
	}
	return added;
}
