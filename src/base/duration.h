/* Durations as people write them; and times and ages, for people. */
#ifndef DURATION_H
#define DURATION_H

#include <stddef.h>
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

/* The wall clock's time in so many ms, or before: "12:03:11". */
void duration_describe_time(int64_t ms_from_now, char *text, size_t size);

/* "42s", "3m12s", "1h02m", "2d05h"; what is below zero counts as zero. */
void duration_describe_age(int64_t ms, char *text, size_t size);

#endif
