/* Text from the server and from others, made fit to be shown. Escaped are
 * control characters (a terminal obeys them), characters that reorder or hide
 * text, and bytes that are not UTF-8. */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#define ESCAPE_SIZE 16 /* room for one character or escape, and a NUL */

enum escape_style {
	ESCAPE_TEXT, /* \n, \t, \x1b for each byte */
	/* In a string of JSON (RFC 8259): \u001b for such a character, two of
	 * them above U+FFFF. A byte that is not UTF-8 becomes \u00XX with its
	 * value. */
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
