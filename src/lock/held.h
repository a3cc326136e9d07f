/* RLOCKRUN_HELD: which locks those above us hold, for nested runs. Entries
 * "<kind>:<token>:<key>" with blanks between them; what is no printable ASCII
 * in a key, and '%', is percent-encoded. */
#ifndef HELD_H
#define HELD_H

#include "lock/kind.h"
#include "lock/token.h"

/* Of which kind key is held there, and by which token; NULL when it isn't. held
 * may be NULL, or anything that somebody put there. */
const struct kind *held_find(const char *held, const char *key,
    char token[TOKEN_SIZE]);

/* The list with that entry, in place of any with the same key; to be freed.
 * NULL when memory is out. */
char *held_with(const char *held, const char *key, const struct kind *kind,
    const char *token);

#endif
