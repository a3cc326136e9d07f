/* Sentences with gaps, as tables of messages hold them. {word} stands for a
 * value, and <one|many> for the first of its words if the value before it is 1,
 * otherwise for the second. A part in brackets is left out if a value in it is
 * unknown. Values are filled in as they are. */
#ifndef TEMPLATE_H
#define TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

/* The value of a word, which may point into what arg is and last until the next
 * call; empty if it is unknown. *many is true, unless this makes it false for a
 * single one that is not written as 1. */
typedef const char *template_value(void *arg, const char *word, bool *many);

/* size is at least 1; what does not fit is cut off. */
void template_fill(const char *template, template_value *value, void *arg,
    char *text, size_t size);

#endif
