/* How the doctor judges: by facts, and by rows, each of which says what some
 * facts mean and what to do about them. Facts are one text of lines
 * "name:value", as INFO has them, of which the first with a name counts. */
#ifndef ROWS_H
#define ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "doctor/findings.h"

/* What rows are about. */
enum about {
	ABOUT_FAILURE,	   /* why a server is not examined */
	ABOUT_TLS,	   /* the connection */
	ABOUT_CERTIFICATE, /* one of two */
	ABOUT_WRITES,	   /* whether it accepts them now */
	ABOUT_TIMES,	   /* round trips, and its clock */
	ABOUT_SLOTS,	   /* of a cluster */
	ABOUT_NODES,	   /* of a cluster, when they are not known */
	ABOUT_ADDRESS,	   /* of the primary, by one sentinel */
	ABOUT_STATE,	   /* of the primary, likewise */
	ABOUT_QUORUM,	   /* of sentinels, likewise */
	ABOUT_SENTINELS,   /* all of them */
	ABOUT_NAMED,	   /* those in the URL */
	ABOUT_MAJORITY,	   /* of several servers */
	ABOUT_SAID,	   /* by one of them */
	ABOUT_PAIR,	   /* two of them */
	ABOUT_AGE,	   /* of one of them */
	ABOUT_ALL,	   /* of them, in the end */
	ABOUT_USELESS,	   /* a server from which no run gets a lock */
	ABOUT_SERVER,	   /* what it is */
	ABOUT_KEPT,	   /* what it keeps of what it has acknowledged */
	ABOUT_OTHERS,	   /* its replicas and clients */
	ABOUT_KEYS,	   /* that are not examined */
	ABOUT_ACCESS,	   /* if nothing is denied */
	ABOUT_REPLICA,	   /* one of those, before what it keeps */
	ABOUT_UNNAMED,	   /* those of which only the number is known */
	ABOUT_PROMOTION,   /* of one */
	ABOUT_CLOCK,	   /* of one */
	ABOUT_GOOD,	   /* one */
	ABOUT_HOST,	   /* this one */
	ABOUT_LOG,	   /* where logs go */
	ABOUT_METRICS,	   /* where metrics go */
};

/* Without pointers, which the loader would have to adjust at the start of each
 * run. */
struct row {
	char check[17];
	unsigned char severity; /* or a status */
	/* Terms, all of which must be true: "name" (it has a value),
	 * "name=value" and "name<number"; '!' negates. */
	char condition[130];
	/* In both, {name} is its value. The remedy may be empty. */
	char text[144];
	char remedy[200];
};
/* All that are about one thing, in order. */
extern const struct rows {
	const struct row *list;
	size_t count;
} rows_about[];

/* Appends a fact to a text that is to be freed, or that is NULL so far. */
void rows_put(char **facts, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* One that is there, or is not. */
void rows_put_flag(char **facts, const char *name, bool is);
/* Those of INFO. */
void rows_put_lines(char **facts, const char *info);

/* Adds, of each check about that, the first row that applies, if it is of that
 * severity or graver. Rows of one check stand together. Returns how many. */
size_t rows_judge(enum about about, int severity, const char *facts,
    struct findings *findings);

#endif
