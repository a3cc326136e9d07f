/* Text to number: the whole string or an error, never a part of it. */
#ifndef NUM_H
#define NUM_H

#include <stddef.h>
#include <stdint.h>

/* Decimal digits only (no sign, no blanks), min <= *out <= max.
 * 0, or -1 with *out untouched. */
int num_int(const char *text, int64_t min, int64_t max, int64_t *out);

/* The same for the first length characters, all of which are digits, from 0 on.
 */
int num_digits(const char *text, size_t length, int64_t max, int64_t *out);

#endif
