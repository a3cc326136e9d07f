/* Text from the server and from other sources, made safe to show. Control
 * characters (a terminal obeys them), characters that reorder or hide text, and
 * bytes that are not UTF-8 are escaped. */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#define ESCAPE_SIZE 16 /* room for one character or escape, and a NUL */

enum escape_style {
	ESCAPE_TEXT,   /* \n, \t, \x1b for each byte */
	ESCAPE_QUOTED, /* likewise, and \" and \\: see escape_quote */
	/* In a string of JSON (RFC 8259): \u001b for each character, two of
	 * them above U+FFFF. A byte that is not UTF-8 becomes \u00XX with its
	 * value. */
	ESCAPE_JSON,
};

/* Moves *text, which must not be empty, past its next character, and writes
 * that character to out, escaped if necessary, without a NUL. Returns the
 * number of bytes written. Allocates nothing. */
size_t escape_next(const char **text, enum escape_style style,
    char out[ESCAPE_SIZE]);

/* Writes name in double quotes, for a message: the first quote that has no
 * backslash ends it. size is at least 3; what does not fit is cut off, but not
 * the second quote. Allocates nothing. */
void escape_quote(const char *name, char *text, size_t size);

/* How many columns of a terminal are needed for what escape_next wrote. At
 * least as many as it takes: which characters are wide depends on the terminal.
 */
size_t escape_width(const char *out, size_t length);
/* Likewise for all of the text; ESCAPE_QUOTED is in quotes. */
size_t escape_columns(const char *text, enum escape_style style);

/* Writes as much of the text as fits into these columns, escaped, with "..." in
 * place of the rest; ESCAPE_QUOTED in quotes. If there is no room for a part of
 * it, that is all. size is at least 8; what does not fit is cut off, without
 * "...". Allocates nothing. */
void escape_shorten(const char *text, enum escape_style style, size_t columns,
    char *shortened, size_t size);

/* A copy of at most so many bytes, unescaped, with "..." in place of the rest:
 * no character of it is divided. bytes is at least 3. To be freed. Dies when
 * memory is out. */
char *escape_cut(const char *text, size_t bytes);

/* A copy of text, escaped, ESCAPE_QUOTED in quotes; to be freed. Dies when
 * memory is out. */
char *escape_text(const char *text, enum escape_style style);

#endif
