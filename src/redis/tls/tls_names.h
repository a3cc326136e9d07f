/* Whom a certificate names, in words for a message. */
#ifndef TLS_NAMES_H
#define TLS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "redis/tls/tls_context.h"

/* Whether verification failed because the certificate is for another host. */
bool tls_names_mismatch(long result);

/* Writes the host names and addresses of the subjectAltName, each in quotes:
 * the first five of them, fewer if they are long, and how many more there are;
 * then what to do. Without any: the common name, and that it does not count.
 * size is at least 256. */
void tls_names_describe(const struct library *lib, X509 *certificate,
    char *text, size_t size);

#endif
