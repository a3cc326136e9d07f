/* Members of a JSON object (RFC 8259), on a stream: ,"name":value */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

void json_text(FILE *out, const char *name, const char *text);

/* null if the text is empty, or the number unknown. */
void json_text_if_any(FILE *out, const char *name, const char *text);
void json_integer(FILE *out, const char *name, bool known, int64_t value);
/* The text becomes a number; if it is none, it is unknown. */
void json_number(FILE *out, const char *name, const char *text);

#endif
