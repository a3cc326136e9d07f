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

/* See stream_start_tls. NULL when memory is out. */
struct tls_stream *tls_stream_new(struct tls_context *context, int fd,
    const char *host);
/* Sends close_notify if that can be done at once. */
void tls_stream_free(struct tls_stream *tls);

/* As those of a stream. */
int tls_stream_handshake(struct tls_stream *tls);
ssize_t tls_stream_read(struct tls_stream *tls, void *data, size_t size);
ssize_t tls_stream_write(struct tls_stream *tls, const void *data, size_t size);
bool tls_stream_has_unsent(const struct tls_stream *tls);
bool tls_stream_has_unread(const struct tls_stream *tls);
bool tls_stream_describe(const struct tls_stream *tls,
    struct tls_session *session);

/* Why it failed, or NULL: the errno says it. */
const char *tls_stream_error(const struct tls_stream *tls);
/* Whether an EPROTO was such a failure as stream_is_permanent means. */
bool tls_stream_is_permanent(const struct tls_stream *tls);

#endif
