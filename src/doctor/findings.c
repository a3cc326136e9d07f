#include "doctor/findings.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/row.h"
#include "base/tty.h"

enum { SEVERITY_WIDTH = 9, CHECK_WIDTH = 18 };

static const struct {
	char name[8], colour[8];
} severities[] = {
    [FINDING_OK] = {"ok", "\033[32m"},
    [FINDING_NOTE] = {"note", "\033[36m"},
    [FINDING_UNKNOWN] = {"unknown", "\033[35m"},
    [FINDING_WARNING] = {"warning", "\033[33m"},
    [FINDING_ERROR] = {"error", "\033[31m"},
};

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

static int
severity_of(const struct finding *finding)
{
	return finding->severity < FINDING_ERROR ? finding->severity
						 : FINDING_ERROR;
}

/* --- the list --------------------------------------------------------- */

void
findings_add(struct findings *findings, int severity, const char *check,
    const char *remedy, const char *format, ...)
{
	size_t size = (findings->count + 1) * sizeof(*findings->list);
	va_list arguments;

	findings->list = mem_realloc(findings->list, size);
	va_start(arguments, format);
	findings->list[findings->count++] =
	    (struct finding){.subject = mem_strdup(findings->subject),
		.check = check,
		.severity = severity,
		.text = mem_vprintf(format, arguments),
		.remedy = remedy != NULL ? mem_strdup(remedy) : NULL};
	va_end(arguments);
}

void
findings_set_remedy(struct findings *findings, const char *format, ...)
{
	struct finding *last = &findings->list[findings->count - 1];
	va_list arguments;

	va_start(arguments, format);
	free(last->remedy);
	last->remedy = mem_vprintf(format, arguments);
	va_end(arguments);
}

size_t
findings_count(const struct findings *findings, int severity)
{
	size_t count = 0;

	for (size_t i = 0; i < findings->count; i++)
		count += severity_of(&findings->list[i]) == severity;
	return count;
}

int
findings_status(const struct findings *findings, size_t from)
{
	for (size_t i = from; i < findings->count; i++)
		if (findings->list[i].severity >= FINDING_ERROR)
			return findings->list[i].severity;
	return 0;
}

void
findings_fini(struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		free(findings->list[i].subject);
		free(findings->list[i].text);
		free(findings->list[i].remedy);
	}
	free(findings->list);
}

/* --- text ------------------------------------------------------------- */

static void
put_escaped(const char *text, const char *end)
{
	char *escaped = escape_text(text, ESCAPE_TEXT);

	printf("%s%s\n", escaped, end);
	free(escaped);
}

void
findings_print(const struct findings *findings, size_t from)
{
	const char *refused = getenv("NO_COLOR"), *subject = NULL;
	bool colour = tty_find_obstacle(STDOUT_FILENO) == NULL &&
		      (refused == NULL || *refused == '\0');

	for (size_t i = from; i < findings->count; i++) {
		const struct finding *finding = &findings->list[i];
		int severity = severity_of(finding);
		const char *name = severities[severity].name;

		if (subject == NULL || strcmp(subject, finding->subject) != 0) {
			subject = finding->subject;
			printf("%s%s", i > 0 ? "\n" : "", colour ? BOLD : "");
			put_escaped(subject, colour ? PLAIN : "");
		}
		printf("  %s%s%s%*s%-*s ",
		    colour ? severities[severity].colour : "", name,
		    colour ? PLAIN : "", SEVERITY_WIDTH - (int)strlen(name), "",
		    CHECK_WIDTH, finding->check);
		put_escaped(finding->text, "");
		if (finding->remedy == NULL)
			continue;
		printf("%*s-> ", 2 + SEVERITY_WIDTH + CHECK_WIDTH + 1, "");
		put_escaped(finding->remedy, "");
	}
	fflush(stdout);
}

static void
put_count(size_t count, const char *noun, const char *separator)
{
	printf("%s%zu %s%s", separator, count, noun, count == 1 ? "" : "s");
}

/* The next check from that index on which found that something is unknown, each
 * once, also if several servers do not say it; or NULL. */
static const char *
next_unknown(const struct findings *findings, size_t *at)
{
	while (*at < findings->count) {
		const struct finding *one = &findings->list[(*at)++];
		const struct finding *same = findings->list;

		if (one->severity != FINDING_UNKNOWN)
			continue;
		while (same->severity != FINDING_UNKNOWN ||
		       strcmp(same->check, one->check) != 0)
			same++;
		if (same == one)
			return one->check;
	}
	return NULL;
}

static void
put_unknown(const struct findings *findings)
{
	const char *check, *separator = ": ";
	size_t at = 0, count = 0;

	while (next_unknown(findings, &at) != NULL)
		count++;
	if (count == 0)
		return;
	printf(", %zu not checked", count);
	for (at = 0; (check = next_unknown(findings, &at)) != NULL;
	     separator = ", ")
		printf("%s%s", separator, check);
}

void
findings_print_summary(const struct findings *findings)
{
	size_t notes = findings_count(findings, FINDING_NOTE);

	putchar('\n');
	put_count(findings_count(findings, FINDING_ERROR), "error", "");
	put_count(findings_count(findings, FINDING_WARNING), "warning", ", ");
	if (notes > 0)
		put_count(notes, "note", ", ");
	put_unknown(findings);
	putchar('\n');
}

/* --- JSON ------------------------------------------------------------- */

void
findings_print_json(const struct findings *findings, int status)
{
	struct row row = {.out = stdout};
	const char *check;
	size_t at = 0;

	row_open(&row, "", '{');
	row_open(&row, "findings", '[');
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->list[i];

		row_open(&row, "", '{');
		row_string(&row, "subject", finding->subject);
		row_string(&row, "check", finding->check);
		row_string(&row, "severity",
		    severities[severity_of(finding)].name);
		row_string(&row, "text", finding->text);
		row_text(&row, NULL, "remedy", finding->remedy);
		row_close(&row, '}');
	}
	row_close(&row, ']');
	row_number(&row, NULL, "errors", true,
	    (int64_t)findings_count(findings, FINDING_ERROR));
	row_number(&row, NULL, "warnings", true,
	    (int64_t)findings_count(findings, FINDING_WARNING));
	row_number(&row, NULL, "notes", true,
	    (int64_t)findings_count(findings, FINDING_NOTE));
	row_open(&row, "unknown", '[');
	while ((check = next_unknown(findings, &at)) != NULL)
		row_string(&row, "", check);
	row_close(&row, ']');
	row_number(&row, NULL, "status", true, status);
	row_close(&row, '}');
	putchar('\n');
}
