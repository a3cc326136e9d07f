/* A connected socket, with TLS on it or without: non-blocking, close-on-exec,
 * never a SIGPIPE. */
#ifndef STREAM_H
#define STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/loop.h"
#include "redis/resolve.h"
#include "redis/tls/tls.h"

struct tls_stream;

/* The owner sets the first member, and on_ready and arg of fd. */
struct stream {
	struct loop *loop;
	struct loop_fd fd;
	struct tls_stream *tls; /* NULL without */
};

/* Begins to connect, and watches the socket: 1 connected, 0 under way until it
 * can be written, -1 with errno. stream_close is due in each case. */
int stream_open(struct stream *stream, const struct resolve_address *to);
void stream_close(struct stream *stream);

/* From now on the connection, still without TLS, is that of the other stream,
 * which is closed. */
void stream_move(struct stream *to, struct stream *from);

/* What came of a connection that was under way: 0, or an errno. */
int stream_connected(const struct stream *stream);

/* What to do about that errno, if connecting failed with it; NULL if that is
 * not known. */
const char *stream_advice(int error);

/* From now on with TLS. The host is what the certificate must be for, a name,
 * whose final dot does not count, or an address, whose zone does not. 0, or -1
 * when memory is out. */
int stream_start_tls(struct stream *stream, struct tls_context *context,
    const char *host);

/* To be called when the socket is ready, until it returns 0. -1 with errno:
 * EAGAIN, to be called again when the socket can be read, or written if
 * stream_has_unsent; otherwise it failed. */
int stream_handshake(struct stream *stream);

/* As recv(2) and send(2). A failure of TLS itself is EPROTO. What TLS holds
 * back goes along with any write, which may be empty. */
ssize_t stream_read(struct stream *stream, void *data, size_t size);
ssize_t stream_write(struct stream *stream, const void *data, size_t size);

/* Whether TLS holds back bytes that are to be sent, or has some that are to be
 * read although the socket is not ready. */
bool stream_has_unsent(const struct stream *stream);
bool stream_has_unread(const struct stream *stream);

/* The address that it is connected to; false for a unix socket. */
bool stream_address(const struct stream *stream, char *text, size_t size);

/* Whether there is a TLS session, and what it came to. */
bool stream_describe_tls(const struct stream *stream,
    struct tls_session *session);

/* What that errno means, in a few words about the server. */
const char *stream_error(const struct stream *stream, int error);

/* Whether it will fail so until a certificate, an option or the server is
 * changed. */
bool stream_is_permanent(const struct stream *stream, int error);

#endif
