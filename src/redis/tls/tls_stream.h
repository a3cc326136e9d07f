/* TLS on a connected socket, for a stream. OpenSSL works on two memory BIOs,
 * and the descriptor is read and written here: its own socket BIO writes with
 * write(2), which raises SIGPIPE. */
#ifndef TLS_STREAM_H
#define TLS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "redis/tls/tls.h"

struct tls_stream;

/* On a socket that is connected. The host is what the certificate must be for:
 * a name, whose final dot does not count, or an address, whose zone does not.
 * NULL when memory is out. */
struct tls_stream *tls_stream_new(struct tls_context *context, int fd,
    const char *host);
/* Sends close_notify if that can be done at once. */
void tls_stream_free(struct tls_stream *tls);

/* To be called when the socket is ready, until it returns 0. -1 with errno:
 * EAGAIN, to be called again when the socket can be read, or written if
 * tls_stream_has_unsent; otherwise it failed. */
int tls_stream_handshake(struct tls_stream *tls);

/* As recv(2) and send(2). A failure of TLS itself is EPROTO. What TLS holds
 * back goes along with any write, which may be empty. */
ssize_t tls_stream_read(struct tls_stream *tls, void *data, size_t size);
ssize_t tls_stream_write(struct tls_stream *tls, const void *data, size_t size);

/* Whether it holds back bytes that are to be sent, or has some that are to be
 * read although the socket is not ready; whether there is a session, and what
 * it came to. Without TLS, as NULL, there is none of it. */
bool tls_stream_has_unsent(const struct tls_stream *tls);
bool tls_stream_has_unread(const struct tls_stream *tls);
bool tls_stream_describe(const struct tls_stream *tls,
    struct tls_session *session);

/* Whether a server that was greeted by something else than TLS answers so. */
bool tls_stream_is_alert(const char *in, size_t length);

/* For a failure with that errno, also without TLS: what it means, in a few
 * words about the server; and whether it will fail so until a certificate, an
 * option or the server is changed. */
const char *tls_stream_error(const struct tls_stream *tls, int error);
bool tls_stream_is_permanent(const struct tls_stream *tls, int error);

#endif
