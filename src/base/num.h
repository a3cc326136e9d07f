/* Text to number: the whole string or an error, never a part of it. */
#ifndef NUM_H
#define NUM_H

#include <stdint.h>

/* The longest duration: ten years; and any longer one. */
#define NUM_DURATION_MAX_MS (INT64_C(3653) * 24 * 60 * 60 * 1000)
#define NUM_DURATION_TOO_LONG (NUM_DURATION_MAX_MS + 1)

/* Decimal digits only (no sign, no blanks), min <= *out <= max.
 * 0, or -1 with *out untouched. */
int num_int(const char *text, int64_t min, int64_t max, int64_t *out);

/* DUR in OPTIONS of rlockrun(1): a decimal number, fractions allowed ("1.5",
 * ".5"), in seconds; or a sum of such numbers, each with its unit ("1h30m", "1h
 * 30m"), none twice. Result in milliseconds, fractions rounded up so that
 * nothing above zero becomes zero. No sign or exponent, no blank but between
 * two parts. 0, or -1 with *ms untouched if the text is no duration. */
int num_duration(const char *text, int64_t *ms);

/* The inverse, in the largest unit of which it is a whole number: "90s". To be
 * freed. */
char *num_duration_text(int64_t ms);

#endif
