/* A connected socket, with TLS on it or without: non-blocking, close-on-exec,
 * never a SIGPIPE. */
#ifndef STREAM_H
#define STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/loop.h"
#include "redis/names/resolve.h"
#include "redis/tls/tls.h"

struct tls_stream;

/* The owner sets the first member, and on_ready and arg of fd. */
struct stream {
	struct loop *loop;
	struct loop_fd fd;
	struct tls_stream *tls; /* of the owner, or NULL; closed with it */
};

/* Begins to connect, and watches the socket: 1 connected, 0 under way until it
 * can be written, -1 with errno. stream_close is due in each case. */
int stream_open(struct stream *stream, const struct resolve_address *to);
void stream_close(struct stream *stream);

/* From now on the connection, still without TLS, is that of the other stream,
 * which is closed. */
void stream_move(struct stream *to, struct stream *from);

/* What to do about that errno, if connecting failed with it; NULL if that is
 * not known. */
const char *stream_advice(int error);

/* Has it watched until it can be read, and written if bytes wait: of the owner,
 * or held back by TLS. */
void stream_watch(struct stream *stream, bool writes);

#endif
