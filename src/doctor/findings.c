#include "doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static struct finding *
add_room(struct findings *findings)
{
	size_t room = findings->room == 0 ? 32 : findings->room * 2;
	struct finding *list;

	if (findings->count < findings->room)
		return &findings->list[findings->count++];
	list = mem_alloc(room * sizeof(*list));
	if (findings->count > 0)
		memcpy(list, findings->list, findings->count * sizeof(*list));
	free(findings->list);
	findings->list = list;
	findings->room = room;
	return &list[findings->count++];
}

__attribute__((format(printf, 1, 0))) static char *
print(const char *format, va_list arguments)
{
	va_list measured;
	char *text;
	int length;

	va_copy(measured, arguments);
	length = vsnprintf(NULL, 0, format, measured);
	va_end(measured);
	text = mem_alloc((size_t)(length < 0 ? 0 : length) + 1);
	vsnprintf(text, (size_t)(length < 0 ? 0 : length) + 1, format,
	    arguments);
	return text;
}

__attribute__((format(printf, 3, 0))) static void
fill(struct findings *findings, struct finding finding, const char *format,
    va_list arguments)
{
	finding.subject = mem_strdup(findings->subject);
	finding.text = print(format, arguments);
	*add_room(findings) = finding;
}

void
findings_add(struct findings *findings, enum finding_severity severity,
    const char *check, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fill(findings, (struct finding){.severity = severity, .check = check},
	    format, arguments);
	va_end(arguments);
}

void
findings_add_error(struct findings *findings, int status, const char *check,
    const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fill(findings,
	    (struct finding){.severity = FINDING_ERROR,
		.status = status,
		.check = check},
	    format, arguments);
	va_end(arguments);
}

void
findings_set_remedy(struct findings *findings, const char *format, ...)
{
	struct finding *last = &findings->list[findings->count - 1];
	va_list arguments;

	va_start(arguments, format);
	free(last->remedy);
	last->remedy = print(format, arguments);
	va_end(arguments);
}

size_t
findings_count(const struct findings *findings, enum finding_severity severity)
{
	size_t count = 0;

	for (size_t i = 0; i < findings->count; i++)
		count += findings->list[i].severity == severity;
	return count;
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
