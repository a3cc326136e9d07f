/* Reads an array that a server has sent, one element after the other. An
 * element that does not fit makes the cursor bad, and is taken for the least
 * value, or for an empty text. So a decoder takes all that it expects and asks
 * once, at the end, whether that was there and nothing else. Texts lie in the
 * value. */
#ifndef CURSOR_H
#define CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/value.h"

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

#endif
