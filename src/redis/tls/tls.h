/* Loads OpenSSL, and the certificates for it. Both take as long as many round
 * trips, and so begin when the first connection is under way: a run without TLS
 * does not pay for it. The files are read again when a connection is made and
 * one of them has changed: see reread.h.
 *
 * The server's certificate chain and its host name or address are always
 * verified, and nothing older than TLS 1.2 is spoken. */
#ifndef TLS_H
#define TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"

#define TLS_ERROR_MAX 512

/* PEM files, each may be NULL. The paths must outlive the context. */
struct tls_config {
	const char *ca_file;   /* trusted alone; else the system's CAs are */
	const char *cert_file; /* our own, with the chain that leads to it */
	const char *key_file;  /* its key; NULL: in cert_file, too */
	/* Called instead of returning: status is -1 when OpenSSL is missing, 1
	 * when a file is wrong. The reason is one line. */
	void (*die)(int status, const char *why);
};

/* What all sessions of a run share. */
struct tls_context;

/* NULL without memory. */
struct tls_context *tls_context_new(const struct tls_config *config);
void tls_context_free(struct tls_context *context);

/* All is loaded in the first turn of the loop, whatever comes of connecting, so
 * that a file that is wrong is always reported; at once without a loop (NULL),
 * or if a file may block, as a pipe does. */
void tls_context_begin(struct tls_context *context, struct loop *loop);

/* To be called before a session is made. If certificate and key do not fit, or
 * a file cannot be used, the former contents of all files are kept. anew: see
 * reread.h. Never blocks. */
void tls_context_refresh(struct tls_context *context, bool anew);

/* For its on_failure and arg. */
struct reread *tls_context_reread(struct tls_context *context);

/* What a session came to; texts that are not known are empty. */
struct tls_session {
	char protocol[16];
	char cipher[64];
	/* The certificates of the server and of ours, until when they are
	 * valid: negative, they have expired. */
	struct tls_expiry {
		bool known;
		int64_t in_s;
	} server_expiry, own_expiry;
};

/* OpenSSL's version and where it comes from, or why there is none: at most
 * TLS_ERROR_MAX bytes. */
void tls_describe_library(char *text);

#endif
