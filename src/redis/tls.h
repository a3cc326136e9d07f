/* TLS on a non-blocking descriptor: handshake, read, write; never a SIGPIPE.
 * OpenSSL is loaded when the first context is made, so that a run without TLS
 * does not pay for it. No type of OpenSSL leaves this module.
 *
 * The server's certificate chain and its host name or address are always
 * verified, and nothing older than TLS 1.2 is spoken. */
#ifndef TLS_H
#define TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TLS_ERROR_MAX 512

/* PEM files, each may be NULL. */
struct tls_config {
	const char *ca_file;   /* trusted alone; else the system's CAs are */
	const char *cert_file; /* our own, with the chain that leads to it */
	const char *key_file;  /* its key; NULL: in cert_file, too */
};

/* What all sessions of a run share. */
struct tls_context;
/* One session. */
struct tls;

/* 0; -1 when OpenSSL is missing; 1 when a file is wrong. Without a context
 * error, of TLS_ERROR_MAX bytes, gives the reason in one line. */
int tls_context_new(struct tls_context **context,
    const struct tls_config *config, char *error);
void tls_context_free(struct tls_context *context);

/* A session on a connected descriptor, which stays the caller's. The host is
 * what the certificate must be for, a name or an address. NULL when memory is
 * out. */
struct tls *tls_new(struct tls_context *context, int fd, const char *host);

/* Says goodbye where that can be done at once, and frees the session. */
void tls_free(struct tls *tls);

/* To be called when the descriptor is ready, until it returns 0. -1 with errno:
 * EAGAIN, to be called again when it can be read, or written if tls_unsent;
 * otherwise it failed, and tls_error is the reason. */
int tls_handshake(struct tls *tls);

/* As recv(2) and send(2). A failure of TLS itself is EPROTO, and
 * tls_error is the reason. Writing nothing sends what is left from before. */
ssize_t tls_read(struct tls *tls, void *data, size_t size);
ssize_t tls_write(struct tls *tls, const void *data, size_t size);

/* Whether more can be read although the descriptor is not ready, and whether
 * what was taken by tls_write still waits for it. */
bool tls_unread(const struct tls *tls);
bool tls_unsent(const struct tls *tls);

/* Why it failed, in a few words about the server. */
const char *tls_error(const struct tls *tls);

/* Whether it fails again until a certificate, an option or the server is
 * changed. */
bool tls_is_permanent(const struct tls *tls);

#endif
