/* How far apart two texts are, to find out what a mistyped one was meant to be.
 */
#ifndef EDITS_H
#define EDITS_H

#include <stdbool.h>

/* Whether at most so many edits turn one text into the other: adding, removing
 * or replacing a character, or swapping two. */
bool edits_suffice(const char *one, const char *other, int edits);

#endif
