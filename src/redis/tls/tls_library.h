/* OpenSSL as it comes to the program. Its functions are loaded from a shared
 * library when the first context is made (tls_loaded.c), or linked
 * (tls_linked.c). It is that of this system (tls_system.c), or a part of the
 * program that goes to others (`make static`, tls_static.c). */
#ifndef TLS_LIBRARY_H
#define TLS_LIBRARY_H

#include <stdint.h>

#include "redis/tls/tls_context.h"

/* 0; -1 when OpenSSL cannot be used. An error, here and below, is of
 * TLS_ERROR_MAX bytes. */
int tls_library_fill(struct library *lib, char *error);

/* To be called before OpenSSL allocates anything. Returns options for
 * OPENSSL_init_crypto(3), beside others. */
uint64_t tls_library_prepare(void);

/* What openssl.cnf does not say. */
void tls_library_set_policy(const struct library *lib, SSL_CTX *ctx);

/* The certificate authorities of the system: those in its folder, where OpenSSL
 * looks for one when it needs it. 0, or 1 if there are none, in no file either.
 */
int tls_library_trust_folder(const struct library *lib, SSL_CTX *ctx,
    char *error);

/* Adds those in its file. 0, or -1 if there are none. */
int tls_library_trust_file(const struct library *lib, X509_STORE *store);

#endif
