/* SHA-256 (FIPS 180-4), for names that must not collide. Not for secrets. */
#ifndef SHA256_H
#define SHA256_H

#include <stddef.h>

enum { SHA256_HEX_SIZE = 65 }; /* 64 digits and a NUL */

/* The digest of these bytes, in lower case. Allocates nothing. */
void sha256_hex(const void *bytes, size_t length, char hex[SHA256_HEX_SIZE]);

#endif
