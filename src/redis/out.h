/* Bytes that are to be written, of commands as redis.io's "Redis serialization
 * protocol specification" has them. They live in memory of secret.h, as AUTH is
 * among them, and are wiped when they are written or cut off. The memory is
 * kept, so that a new connection needs none while a job runs. */
#ifndef OUT_H
#define OUT_H

#include <stddef.h>

struct out {
	char *bytes;
	size_t length;
};

/* 0, or -1 when memory is out. */
int out_init(struct out *out);
void out_fini(struct out *out);

/* Adds an array of bulk strings: the two words of head, unless it is NULL, and
 * those of the list, which ends with NULL. 0, or -1 when memory is out: then
 * nothing is added. */
int out_put(struct out *out, const char *const head[2],
    const char *const *words);

/* Wipes all behind that length. */
void out_cut(struct out *out, size_t length);

/* So many bytes are written. */
void out_wrote(struct out *out, size_t length);

#endif
