/* Durations as people write them. */
#ifndef DURATION_H
#define DURATION_H

#include <stdint.h>

/* The longest duration: ten years; and any longer one. */
#define DURATION_MAX_MS (INT64_C(3653) * 24 * 60 * 60 * 1000)
#define DURATION_TOO_LONG (DURATION_MAX_MS + 1)

/* DUR in OPTIONS of rlockrun(1): a decimal number, fractions allowed ("1.5",
 * ".5"), in seconds; or a sum of such numbers, each with its unit ("1h30m", "1h
 * 30m"), none twice. Result in milliseconds, fractions rounded up so that
 * nothing above zero becomes zero. No sign or exponent, no blank but between
 * two parts. 0, or -1 with *ms untouched if the text is no duration. */
int duration_parse(const char *text, int64_t *ms);

/* The inverse, in the largest unit of which it is a whole number: "90s". To be
 * freed. */
char *duration_text(int64_t ms);

#endif
