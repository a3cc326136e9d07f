#include "doctor/findings.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/row.h"

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

/* --- the list --------------------------------------------------------- */

void
findings_add(struct findings *findings, int severity, const char *check,
    const char *text, const char *remedy)
{
	bool is_error = severity >= FINDING_ERROR;
	struct finding *added;

	findings->list = mem_realloc(findings->list,
	    (findings->count + 1) * sizeof(*findings->list));
	added = &findings->list[findings->count];
	*added = (struct finding){.subject = mem_strdup(findings->subject),
	    .check = check,
	    .severity = is_error ? FINDING_ERROR : severity,
	    .status = is_error ? severity : 0,
	    .is_unknown = severity == FINDING_UNKNOWN,
	    .text = mem_strdup(text),
	    .remedy = mem_strdup(remedy)};
	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].is_unknown &&
		    strcmp(findings->list[i].check, check) == 0)
			added->is_unknown = false;
	findings->count++;
	findings->counts[added->severity] +=
	    severity != FINDING_UNKNOWN || added->is_unknown;
}

int
findings_status(const struct findings *findings, size_t from)
{
	for (size_t i = from; i < findings->count; i++)
		if (findings->list[i].status != 0)
			return findings->list[i].status;
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
findings_print_new(struct findings *findings)
{
	const char *refused = getenv("NO_COLOR"), *subject = NULL;
	bool colour = log_find_obstacle(STDOUT_FILENO) == NULL &&
		      (refused == NULL || *refused == '\0');

	for (; findings->printed < findings->count && !findings->is_json;
	     findings->printed++) {
		const struct finding *finding =
		    &findings->list[findings->printed];
		const char *name = severities[finding->severity].name;

		if (subject == NULL || strcmp(subject, finding->subject) != 0) {
			subject = finding->subject;
			printf("%s%s", findings->printed > 0 ? "\n" : "",
			    colour ? BOLD : "");
			put_escaped(subject, colour ? PLAIN : "");
		}
		printf("  %s%s%s%*s%-*s ",
		    colour ? severities[finding->severity].colour : "", name,
		    colour ? PLAIN : "", SEVERITY_WIDTH - (int)strlen(name), "",
		    CHECK_WIDTH, finding->check);
		put_escaped(finding->text, "");
		if (*finding->remedy == '\0')
			continue;
		printf("%*s-> ", 2 + SEVERITY_WIDTH + CHECK_WIDTH + 1, "");
		put_escaped(finding->remedy, "");
	}
	fflush(stdout);
}

/* --- JSON ------------------------------------------------------------- */

static void
print_as_json(const struct findings *findings, int status)
{
	const size_t *counts = findings->counts;
	struct row row = {.out = stdout};

	row_open(&row, "", '{');
	row_open(&row, "findings", '[');
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->list[i];

		row_open(&row, "", '{');
		row_string(&row, "subject", finding->subject);
		row_string(&row, "check", finding->check);
		row_string(&row, "severity",
		    severities[finding->severity].name);
		row_string(&row, "text", finding->text);
		row_text(&row, NULL, "remedy", finding->remedy);
		row_close(&row, '}');
	}
	row_close(&row, ']');
	row_number(&row, NULL, "errors", true, (int64_t)counts[FINDING_ERROR]);
	row_number(&row, NULL, "warnings", true,
	    (int64_t)counts[FINDING_WARNING]);
	row_number(&row, NULL, "notes", true, (int64_t)counts[FINDING_NOTE]);
	row_open(&row, "unknown", '[');
	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].is_unknown)
			row_string(&row, "", findings->list[i].check);
	row_close(&row, ']');
	row_number(&row, NULL, "status", true, status);
	row_close(&row, '}');
	putchar('\n');
}

/* --- the end ----------------------------------------------------------- */

void
findings_print_end(const struct findings *findings, int status)
{
	static const int counted[] = {FINDING_ERROR, FINDING_WARNING,
	    FINDING_NOTE};
	const char *separator = "\n";

	if (findings->is_json) {
		print_as_json(findings, status);
		return;
	}
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
		size_t count = findings->counts[counted[i]];

		if (count == 0 && counted[i] == FINDING_NOTE)
			continue;
		printf("%s%zu %s%s", separator, count,
		    severities[counted[i]].name, count == 1 ? "" : "s");
		separator = ", ";
	}
	separator = ": ";
	if (findings->counts[FINDING_UNKNOWN] > 0)
		printf(", %zu not checked", findings->counts[FINDING_UNKNOWN]);
	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].is_unknown) {
			printf("%s%s", separator, findings->list[i].check);
			separator = ", ";
		}
	putchar('\n');
}
