/* Members of a JSON object (RFC 8259), on a stream: ,"name":value. Allocates
 * nothing. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A text alone, in quotes. What needs more than max bytes is cut, and ends in
 * "...". */
void json_string(FILE *out, const char *text, size_t max);
#define JSON_WHOLE SIZE_MAX

void json_text(FILE *out, const char *name, const char *text);
void json_bool(FILE *out, const char *name, bool value);

/* null if the text is empty, or the number unknown. */
void json_text_if_any(FILE *out, const char *name, const char *text);
void json_integer(FILE *out, const char *name, bool known, int64_t value);
/* The text becomes a number; if it is none, it is unknown. */
void json_number(FILE *out, const char *name, const char *text);

#endif
