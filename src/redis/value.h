/* What a server answered, parsed: a text, an integer, nil, an array of values,
 * or an error. The accessors also accept NULL, for an answer that is missing,
 * and a value of another type than the one they ask for. */
#ifndef VALUE_H
#define VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct value;

/* The text of an error, without the leading '-'; else NULL. */
const char *value_error(const struct value *value);
const char *value_text(const struct value *value); /* or NULL */
bool value_integer(const struct value *value, int64_t *number);
bool value_is_nil(const struct value *value);

/* An element of an array, from 0; NULL when there is none. */
const struct value *value_at(const struct value *value, size_t index);

/* The number of elements; false and 0 when it is not an array. */
bool value_count(const struct value *value, size_t *count);

/* A copy for the caller to free, two levels deep: an array inside an array is
 * empty in it. NULL when memory is out, and for NULL. */
struct value *value_copy(const struct value *value);
void value_free(struct value *value);

#endif
