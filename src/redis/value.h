/* What a server answered, parsed: a text, an integer, nil, an array of values,
 * or an error. The accessors also accept NULL, for an answer that is missing,
 * and a value of another type than the one they ask for. */
#ifndef VALUE_H
#define VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct value;

/* The text of an error, without the leading '-' and without the place in a
 * script where it arose; NULL if it is no error. */
const char *value_error(const struct value *value);
/* Removes that place from the text of an error in another value, where a script
 * has put what it caught. */
void value_strip_place(char *error);
/* A bulk string, up to its first NUL; NULL for others, such as the status
 * "OK". */
const char *value_text(const struct value *value);
bool value_integer(const struct value *value, int64_t *number);
bool value_is_nil(const struct value *value);

/* An element of an array, from 0; NULL when there is none. */
const struct value *value_at(const struct value *value, size_t index);

/* The number of elements; false and 0 when it is not an array. */
bool value_count(const struct value *value, size_t *count);

/* --- decoding ------------------------------------------------------------- */

/* Reads an array that a server has sent, one element after the other. An
 * element that does not fit makes the cursor bad, and is taken for the least
 * value, or for an empty text. So a decoder takes all that it expects and asks
 * once, at the end, whether that was there and nothing else. Texts lie in the
 * value. */
struct cursor {
	const struct value *array;
	size_t count;
	size_t at;
	bool bad;
};

/* Bad from the beginning if the value is no array, or NULL. */
struct cursor cursor_of(const struct value *array);

/* Whether there is another element, and none was bad. */
bool cursor_has_more(const struct cursor *cursor);
/* Whether all elements were taken, and none was bad. */
bool cursor_is_done(const struct cursor *cursor);

const struct value *cursor_take(struct cursor *cursor);
int64_t cursor_integer(struct cursor *cursor, int64_t min, int64_t max);
bool cursor_flag(struct cursor *cursor); /* 0 or 1 */
/* Of at most max bytes. */
const char *cursor_text(struct cursor *cursor, size_t max);

/* --- parsing -------------------------------------------------------------- */

/* Parses the bytes of one connection. */
struct value_reader;

/* Of an answer, and of each array in it. */
struct value_limits {
	size_t bytes;
	size_t elements;
};

/* NULL when memory is out. */
struct value_reader *value_reader_new(void);
void value_reader_free(struct value_reader *reader);

/* 0, or -1 when memory is out. */
int value_reader_feed(struct value_reader *reader, const char *bytes,
    size_t length);

/* 1 and the next value, which is the caller's; 0 when more bytes are needed; -1
 * when these are not the protocol of Redis, or beyond the limits. */
int value_reader_next(struct value_reader *reader, struct value_limits limits,
    struct value **value);

/* Whether no value has begun. */
bool value_reader_is_empty(const struct value_reader *reader);

/* Why value_reader_next failed. */
const char *value_reader_error(const struct value_reader *reader);

/* Name and version of the library behind this, and which of its files it is. */
const char *value_library(void);

void value_free(struct value *value); /* NULL is ignored */

#endif
