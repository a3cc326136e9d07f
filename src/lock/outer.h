/* RLOCKRUN_HELD: which locks the outer runs hold, for nested runs. Entries
 * "<kind>:<token>:<key>" with blanks between them; '%' and all but printable
 * ASCII are percent-encoded in a key. */
#ifndef OUTER_H
#define OUTER_H

#include "lock/kind.h"
#include "lock/token.h"

/* In which kind that key is held, and by which token; NULL if it is not. held
 * may be NULL, or hold anything. */
const struct kind *outer_find(const char *held, const char *key,
    char token[TOKEN_SIZE]);

/* The list with that entry, in place of any with the same key; to be freed.
 * NULL when memory is out. */
char *outer_with(const char *held, const char *key, const struct kind *kind,
    const char *token);

#endif
