/* What INFO and CLUSTER INFO answer: lines of "name:value". A missing text,
 * NULL, has no lines. Pure. */
#ifndef INFO_H
#define INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value with that name, cut to the size; empty if there is none. */
void info_text(const char *info, const char *name, char *text, size_t size);

/* -1 if there is none, or it is not a number from 0. */
int64_t info_number(const char *info, const char *name);

bool info_is(const char *info, const char *name, const char *value);

/* How many replicas are online; -1 without INFO. */
int64_t info_online_replicas(const char *info);

#endif
