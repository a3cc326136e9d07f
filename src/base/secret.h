/* Memory for passwords and for what is made of them. It belongs to this process
 * alone: a child made by fork(2) finds zeros in it, and no core dump has it.
 * Freeing wipes it. */
#ifndef SECRET_H
#define SECRET_H

#include <stddef.h>

/* Zeroed; NULL with errno. Takes whole pages. */
void *secret_alloc(size_t size);

/* At least that size, with what was in it; NULL with errno, and the old memory
 * as it was. */
void *secret_grow(void *secret, size_t size);

/* A copy of text up to that length; NULL with errno. */
char *secret_copy(const char *text, size_t length);

/* secret may be NULL. */
void secret_free(void *secret);

#endif
