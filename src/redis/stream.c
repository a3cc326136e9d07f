#include "redis/stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A peer that has vanished is noticed even when nothing is sent. */
enum { KEEPALIVE_IDLE_S = 15, KEEPALIVE_INTERVAL_S = 5, KEEPALIVE_COUNT = 3 };
enum { USER_TIMEOUT_MS = 20000 };

static void
tune_tcp(int fd)
{
	const struct {
		int level, name, value;
	} tuned[] = {
	    {IPPROTO_TCP, TCP_NODELAY, 1},
	    {SOL_SOCKET, SO_KEEPALIVE, 1},
	    {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
	    {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
	    {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT},
	    {IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS},
	};

	/* Each is a help that the deadlines do not depend on. */
	for (size_t i = 0; i < sizeof(tuned) / sizeof(*tuned); i++)
		setsockopt(fd, tuned[i].level, tuned[i].name, &tuned[i].value,
		    sizeof(tuned[i].value));
}

int
stream_open(struct stream *stream, const struct resolve_address *to)
{
	int fd = socket(to->addr.ss_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	stream->fd.fd = fd;
	stream->fd.events = POLLOUT;
	if (fd == -1)
		return -1;
	if (to->addr.ss_family != AF_UNIX)
		tune_tcp(fd);
	loop_add(stream->loop, &stream->fd);
	if (connect(fd, (const struct sockaddr *)&to->addr, to->length) == 0)
		return 1;
	return errno == EINPROGRESS ? 0 : -1;
}

void
stream_close(struct stream *stream)
{
	loop_remove(stream->loop, &stream->fd);
	tls_free(stream->tls);
	stream->tls = NULL;
	if (stream->fd.fd != -1)
		close(stream->fd.fd);
	stream->fd.fd = -1;
}

int
stream_connected(const struct stream *stream)
{
	int error = 0;
	socklen_t size = sizeof(error);

	getsockopt(stream->fd.fd, SOL_SOCKET, SO_ERROR, &error, &size);
	return error;
}

ssize_t
stream_read(struct stream *stream, void *data, size_t size)
{
	if (stream->tls != NULL)
		return tls_read(stream->tls, data, size);
	return recv(stream->fd.fd, data, size, 0);
}

ssize_t
stream_write(struct stream *stream, const void *data, size_t size)
{
	if (stream->tls != NULL)
		return tls_write(stream->tls, data, size);
	return send(stream->fd.fd, data, size, MSG_NOSIGNAL);
}

bool
stream_has_unsent(const struct stream *stream)
{
	return stream->tls != NULL && tls_unsent(stream->tls);
}

bool
stream_has_unread(const struct stream *stream)
{
	return stream->tls != NULL && tls_unread(stream->tls);
}

const char *
stream_error(const struct stream *stream, int error)
{
	return stream->tls != NULL && error == EPROTO ? tls_error(stream->tls)
						      : strerror(error);
}

bool
stream_is_permanent(const struct stream *stream, int error)
{
	return stream->tls != NULL && error == EPROTO &&
	       tls_is_permanent(stream->tls);
}
