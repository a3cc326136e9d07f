/* The functions of OpenSSL, in the table of tls_context.h: they are loaded when
 * the first context is made (tls_loaded.c). */
#ifndef TLS_LIBRARY_H
#define TLS_LIBRARY_H

#include "redis/tls_context.h"

/* 0; -1 when OpenSSL cannot be used: error, of TLS_ERROR_MAX bytes, has the
 * reason. */
int tls_library_fill(struct library *lib, char *error);

#endif
