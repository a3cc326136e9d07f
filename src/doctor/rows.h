/* How a check judges: by rows, of what it knows as facts. Facts are one text of
 * lines "name:value", as INFO has them, of which the first with a name counts.
 */
#ifndef ROWS_H
#define ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "doctor/findings.h"

enum { FACT_SIZE = 1025 }; /* longer values are cut */

/* Without pointers, which the loader would have to adjust at the start of each
 * run. */
struct judgement {
	char check[17];
	unsigned char severity; /* or a status */
	/* Terms, all of which must be true: "name" (it has a value),
	 * "name=value" and "name<number"; '!' negates. */
	char condition[80];
	/* Templates: {name} is its value. The remedy may be empty. */
	char text[144];
	char remedy[200];
};

/* Appends to the facts, which are to be freed. A flag that is not set, and a
 * number that is not known, leave no line. */
void rows_put(char **facts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rows_put_flag(char **facts, const char *name, bool is);
void rows_put_number(char **facts, const char *name, bool is_known,
    int64_t number);

/* Adds, of each check, the first row that applies, if it is of that severity or
 * graver. Rows of one check stand together. Returns how many. */
size_t rows_judge(const struct judgement *rows, size_t count, int severity,
    const char *facts, struct findings *findings);

#endif
