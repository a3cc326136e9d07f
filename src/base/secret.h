/* Memory for passwords and for data derived from them. A child made by fork(2)
 * finds zeros in it, and core dumps do not contain it. Freeing wipes it. A
 * process without secrets pays nothing for this. */
#ifndef SECRET_H
#define SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed; NULL with errno. Uses whole pages. */
void *secret_alloc(size_t size);

/* For data with which a secret may be mixed: the same, but not zeroed, and from
 * malloc(3) if this process has no secret yet. */
void *secret_alloc_mixed(size_t size);

/* Notes that there is a secret in other memory, even if only for a moment. */
void secret_note(void);

/* Whether there has been a secret in this process. */
bool secret_was_here(void);

/* The length of the text without the end of a line: CR, LF or both. Secrets are
 * often made by echo. */
size_t secret_length(const char *text, size_t length);

/* Returns memory of at least that size, with the former contents: the same, or
 * a larger one of secret_alloc, and then the old one is freed. NULL with errno:
 * the old one is unchanged. Not for memory that is shared. */
void *secret_grow(void *secret, size_t size);

/* The same memory for another owner, who calls secret_free, too. */
void *secret_share(void *secret);

/* secret may be NULL, here and above. */
void secret_free(void *secret);

/* Wipes what functions that have returned left on the stack, if this process
 * has had a secret. The dynamic linker saves vector registers there, which
 * string functions use for passwords. */
void secret_wipe_stack(void);

/* To be called first, by a main that has next to no variables. Before main the
 * C library reads argv[0] into vectors, which take in the arguments behind it,
 * and the dynamic linker saves these on the stack. There a frame that lives as
 * long as the program would keep them in a gap. */
void secret_wipe_start(void);

#endif
