/* How the doctor judges: by facts, and by rows, each of which says what some
 * facts mean and what to do about them. Facts are one text of lines
 * "name:value", as INFO has them, of which the first with a name counts. */
#ifndef ROWS_H
#define ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "doctor/findings.h"

/* Where one finds what the server does not say, if no access rule hides it. */
#define ROWS_SEE "look into its configuration, or at its provider's page"

/* Without pointers, which the loader would have to adjust at the start of each
 * run. */
struct judgement {
	/* Empty: the text is what the rows that follow are about. */
	char check[17];
	unsigned char severity; /* or a status */
	/* Terms, all of which must be true: "name" (it has a value),
	 * "name=value" and "name<number", which a version may be, too; '!'
	 * negates. */
	char condition[130];
	/* Templates of base/template.h. The remedy may be empty. */
	char text[144];
	char remedy[200];
};
/* Ends with a heading without a text. */
extern const struct judgement rows_table[];

/* Appends facts, such as "name:%s\n", to a text that is to be freed, or that is
 * NULL so far. */
void rows_put(char **facts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* One that is there, or is not. */
void rows_put_flag(char **facts, const char *name, bool is);
/* The value of such a fact. */
static inline const char *
rows_flag(bool is)
{
	return is ? "1" : "";
}

/* Adds, of each check about that, the first row that applies, unless it is less
 * grave than the findings want. Rows of one check stand together. Returns how
 * many. */
size_t rows_judge(const char *about, const char *facts,
    struct findings *findings);
/* By these facts alone. */
void rows_judge_facts(const char *about, struct findings *findings,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
