/* Text from the server and from others, made fit to be shown: control
 * characters (a terminal obeys them) and what is no UTF-8 are escaped. */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#define ESCAPE_SIZE 8 /* room for one character or escape */

enum escape_style {
	ESCAPE_TEXT, /* \n, \t, \x1b for each byte */
	/* In a string of JSON (RFC 8259): \u001b for a control character, and
	 * for a byte that is no UTF-8, \u00XX with its value. */
	ESCAPE_JSON,
};

/* Moves *text, which has not ended, behind its next character, and puts that as
 * it is to be shown into out, without a NUL. The number of bytes put there.
 * Allocates nothing. */
size_t escape_next(const char **text, enum escape_style style,
    char out[ESCAPE_SIZE]);

/* Whether the byte goes on with a character of UTF-8, and takes no column of
 * its own. */
bool escape_continues(char byte);

/* All of text; to be freed. Dies when memory is out. */
char *escape_text(const char *text, enum escape_style style);

#endif
