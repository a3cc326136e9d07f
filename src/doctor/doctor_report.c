#include "doctor/doctor_report.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"

enum { SEVERITY_WIDTH = 9, CHECK_WIDTH = 18 };

static const struct {
	char name[8], colour[8];
} severities[FINDING_SEVERITIES] = {
    [FINDING_OK] = {"ok", "\033[32m"},
    [FINDING_NOTE] = {"note", "\033[36m"},
    [FINDING_WARNING] = {"warning", "\033[33m"},
    [FINDING_ERROR] = {"error", "\033[31m"},
};

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

static bool
has_colour(void)
{
	const char *refused = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && (refused == NULL || *refused == '\0') &&
	       term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
}

static void
put_escaped(const char *text, enum escape_style style)
{
	char *escaped = escape_text(text, style);

	fputs(escaped, stdout);
	free(escaped);
}

static void
put_finding(const struct finding *finding, bool colour)
{
	const char *name = severities[finding->severity].name;

	printf("  %s%s%s%*s%-*s ",
	    colour ? severities[finding->severity].colour : "", name,
	    colour ? PLAIN : "", SEVERITY_WIDTH - (int)strlen(name), "",
	    CHECK_WIDTH, finding->check);
	put_escaped(finding->text, ESCAPE_TEXT);
	putchar('\n');
	if (finding->remedy == NULL)
		return;
	printf("%*s-> ", 2 + SEVERITY_WIDTH + CHECK_WIDTH + 1, "");
	put_escaped(finding->remedy, ESCAPE_TEXT);
	putchar('\n');
}

void
doctor_report_text(const struct findings *findings, size_t from)
{
	bool colour = has_colour();
	const char *subject = NULL;

	for (size_t i = from; i < findings->count; i++) {
		const struct finding *finding = &findings->list[i];

		if (subject == NULL || strcmp(subject, finding->subject) != 0) {
			subject = finding->subject;
			printf("%s%s", i > 0 ? "\n" : "", colour ? BOLD : "");
			put_escaped(subject, ESCAPE_TEXT);
			puts(colour ? PLAIN : "");
		}
		put_finding(finding, colour);
	}
	fflush(stdout);
}

static void
put_count(size_t count, const char *noun, const char *separator)
{
	printf("%s%zu %s%s", separator, count, noun, count == 1 ? "" : "s");
}

void
doctor_report_summary(const struct findings *findings)
{
	putchar('\n');
	put_count(findings_count(findings, FINDING_ERROR), "error", "");
	put_count(findings_count(findings, FINDING_WARNING), "warning", ", ");
	put_count(findings_count(findings, FINDING_NOTE), "note", ", ");
	putchar('\n');
}

/* --- JSON ------------------------------------------------------------- */

static void
put_member(const char *name, const char *text)
{
	printf("\"%s\":", name);
	if (text == NULL) {
		fputs("null", stdout);
		return;
	}
	putchar('"');
	put_escaped(text, ESCAPE_JSON);
	putchar('"');
}

static void
put_object(const struct finding *finding)
{
	putchar('{');
	put_member("subject", finding->subject);
	putchar(',');
	put_member("check", finding->check);
	putchar(',');
	put_member("severity", severities[finding->severity].name);
	putchar(',');
	put_member("text", finding->text);
	putchar(',');
	put_member("remedy", finding->remedy);
	putchar('}');
}

void
doctor_report_json(const struct findings *findings, int status)
{
	fputs("{\"findings\":[", stdout);
	for (size_t i = 0; i < findings->count; i++) {
		if (i > 0)
			putchar(',');
		put_object(&findings->list[i]);
	}
	printf("],\"errors\":%zu,\"warnings\":%zu,\"notes\":%zu,"
	       "\"status\":%d}\n",
	    findings_count(findings, FINDING_ERROR),
	    findings_count(findings, FINDING_WARNING),
	    findings_count(findings, FINDING_NOTE), status);
}
