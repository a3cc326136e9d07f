/* A row of what is known of something: cells of a table, for people, or an
 * object of JSON (RFC 8259). One function puts all values of a kind of row,
 * each once, by the title of its column and by the name of its member. A title
 * is NULL where the table, and a name where JSON does not have the value. */
#ifndef ROW_H
#define ROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/table.h"

struct row {
	struct table *table; /* its last row; NULL: JSON */
	FILE *out;	     /* of JSON */
	size_t max;	     /* of a text of it: the rest is "..."; 0: all */
	bool has_former;     /* in the object or array that is open */
};

/* An object '{' or an array '[' of JSON; what lies in an array, or outside of
 * all, has an empty name. Nothing happens in a table, where all that is put
 * goes to the same row. */
void row_open(struct row *row, const char *name, char bracket);
void row_close(struct row *row, char bracket);

/* Unknown, null in JSON, is a text that is NULL or empty, a number that is not
 * known, and digits that are none. Titles of a column that the table does not
 * have are ignored. Die when memory is out. */
void row_text(struct row *row, const char *title, const char *name,
    const char *text);
void row_number(struct row *row, const char *title, const char *name,
    bool is_known, int64_t number);
void row_digits(struct row *row, const char *title, const char *name,
    const char *digits);
void row_bool(struct row *row, const char *name, bool value);
void row_null(struct row *row, const char *name);
void row_seconds(struct row *row, const char *name, int64_t ms); /* 1.500 */
/* A text that may be empty, but is known. */
void row_string(struct row *row, const char *name, const char *text);
/* Words for people, in place of what JSON has. */
void row_words(struct row *row, const char *title, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
