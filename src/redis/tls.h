/* Loads OpenSSL, and the certificates for it. It is loaded when the first
 * context is made, so that a run without TLS does not pay for it. The files are
 * read again when a connection is made and one of them has changed: see
 * reread.h.
 *
 * The server's certificate chain and its host name or address are always
 * verified, and nothing older than TLS 1.2 is spoken. */
#ifndef TLS_H
#define TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TLS_ERROR_MAX 512

/* PEM files, each may be NULL. The paths must outlive the context. */
struct tls_config {
	const char *ca_file;   /* trusted alone; else the system's CAs are */
	const char *cert_file; /* our own, with the chain that leads to it */
	const char *key_file;  /* its key; NULL: in cert_file, too */
};

/* What all sessions of a run share. */
struct tls_context;

/* 0; -1 when OpenSSL is missing; 1 when a file is wrong. Without a context
 * error, of TLS_ERROR_MAX bytes, gives the reason in one line. */
int tls_context_new(struct tls_context **context,
    const struct tls_config *config, char *error);
void tls_context_free(struct tls_context *context);

/* To be called before a session is made. If certificate and key do not fit, or
 * a file cannot be used, the former contents of all files are kept. anew: see
 * reread.h. Never blocks. */
void tls_context_refresh(struct tls_context *context, bool anew);

/* For its on_failure and arg. */
struct reread *tls_context_reread(struct tls_context *context);

#endif
