/* Times and ages, for people. */
#ifndef MOMENT_H
#define MOMENT_H

#include <stddef.h>
#include <stdint.h>

/* The wall clock's time in so many ms, or before: "12:03:11". */
void moment_describe_time(int64_t ms_from_now, char *text, size_t size);

/* "42s", "3m12s", "1h02m", "2d05h"; what is below zero counts as zero. */
void moment_describe_age(int64_t ms, char *text, size_t size);

#endif
