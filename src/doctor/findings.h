/* What --doctor has found: a list of findings, each about one subject. */
#ifndef FINDINGS_H
#define FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

enum finding_severity {
	FINDING_OK,
	FINDING_NOTE,	 /* worth knowing, or not to be found out */
	FINDING_WARNING, /* a promise depends on it */
	FINDING_ERROR,	 /* no run would get a lock */
	FINDING_SEVERITIES,
};

struct finding {
	char *subject;	   /* a server, or what else it is about */
	const char *check; /* the same word in all versions */
	enum finding_severity severity;
	int status;   /* of an error: that of a run, otherwise 0 */
	char *text;   /* what was measured */
	char *remedy; /* or NULL */
};

struct findings {
	struct finding *list;
	size_t count, room;
	const char *subject; /* of those that are added, to be set before */
};

/* All of these die when memory is out. */
void findings_add(struct findings *findings, enum finding_severity severity,
    const char *check, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds an error that ends a run with this status. */
void findings_add_error(struct findings *findings, int status,
    const char *check, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Sets the remedy of the last one. */
void findings_set_remedy(struct findings *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* How many have that severity. */
size_t findings_count(const struct findings *findings,
    enum finding_severity severity);

/* The status of the first error from that index on, or 0. */
int findings_status(const struct findings *findings, size_t from);

void findings_fini(struct findings *findings);

#endif
