/* What --doctor has found: rows, each about one subject, as text, in colour on
 * a terminal, or as one line of JSON. */
#ifndef FINDINGS_H
#define FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

/* How grave it is. An error is added with the exit status that a run would have
 * in its place, which is above all of these. */
enum {
	FINDING_OK,
	FINDING_NOTE,	 /* worth knowing */
	FINDING_UNKNOWN, /* not checked, as the server does not say it */
	FINDING_WARNING, /* a promise depends on it */
	FINDING_ERROR,	 /* no run would get a lock, or the server loses it */
	FINDINGS
};

struct finding {
	char *subject;	   /* a server, or what else it is about */
	const char *check; /* the same word in all versions */
	int severity;
	int status;	 /* of an error */
	bool is_unknown; /* the first one of its check */
	char *text;	 /* what was measured */
	char *remedy;	 /* or empty */
};

struct findings {
	struct finding *list;
	size_t count, printed;
	bool is_json;		 /* to be set before */
	size_t counts[FINDINGS]; /* of each severity; checks that are unknown */
	const char *subject;	 /* of those that are added, to be set before */
	int least;		 /* what is less grave is not added */
};

/* Adds a row with a remedy, which may be empty. Dies when memory is out. */
void findings_add(struct findings *findings, int severity, const char *check,
    const char *text, const char *remedy);

/* The status of the first error from that index on, or 0. */
int findings_status(const struct findings *findings, size_t from);

/* Prints those that are not printed yet, below their subjects; and at the end
 * how many there are, and what was not checked. JSON has all of it, at the end.
 * ferror(3) on stdout shows a failure. */
void findings_print_new(struct findings *findings);
void findings_print_end(const struct findings *findings, int status);

void findings_fini(struct findings *findings);

#endif
