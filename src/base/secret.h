/* Memory for passwords and for data derived from them. A child made by fork(2)
 * finds zeros in it, and core dumps do not contain it. Freeing wipes it. */
#ifndef SECRET_H
#define SECRET_H

#include <stddef.h>

/* Zeroed; NULL with errno. Uses whole pages. */
void *secret_alloc(size_t size);

/* At least that size, with the former contents. NULL with errno: then the old
 * memory is unchanged. Not of shared memory. */
void *secret_grow(void *secret, size_t size);

/* The same memory for another owner, who calls secret_free, too. */
void *secret_share(void *secret);

/* secret may be NULL, here and above. */
void secret_free(void *secret);

#endif
