/* Text to number: the whole string or an error, never a part of it. */
#ifndef NUM_H
#define NUM_H

#include <stdint.h>

/* The longest duration: ten years. */
#define NUM_DURATION_MAX_MS (INT64_C(3653) * 24 * 60 * 60 * 1000)

/* Decimal digits only (no sign, no blanks), min <= *out <= max.
 * 0, or -1 with *out untouched. */
int num_int(const char *text, int64_t min, int64_t max, int64_t *out);

/* DUR of rlockrun(1): a decimal number, fractions allowed ("1.5", ".5"), with
 * an optional unit ms, s, m, h or d (none = seconds); result in milliseconds,
 * rounded up so that nothing above zero becomes zero, at most
 * NUM_DURATION_MAX_MS. No sign, blanks or exponent. 0, or -1 with *ms
 * untouched. */
int num_duration(const char *text, int64_t *ms);

#endif
