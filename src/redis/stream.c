#include "redis/stream.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "redis/socket.h"
#include "redis/tls/tls_stream.h"

int
stream_open(struct stream *stream, const struct resolve_address *to)
{
	stream->fd.fd = socket_open(to);
	stream->fd.events = POLLOUT;
	if (stream->fd.fd == -1)
		return -1;
	loop_add(stream->loop, &stream->fd);
	return socket_connect(stream->fd.fd, to);
}

void
stream_move(struct stream *to, struct stream *from)
{
	loop_remove(from->loop, &from->fd);
	to->fd.fd = from->fd.fd;
	to->fd.events = from->fd.events;
	from->fd.fd = -1;
	loop_add(to->loop, &to->fd);
}

int
stream_connected(const struct stream *stream)
{
	return socket_error(stream->fd.fd);
}

const char *
stream_advice(int error)
{
	switch (error) {
	case ECONNREFUSED:
		return "check the address, and that the server is running";
	case ENOENT:
		return "check the path, and that the server is running";
	case EACCES:
		return "check the permissions of the socket";
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
		return "check the address, the network and firewalls";
	case EINVAL:
		return "a link-local address requires its zone, as in "
		       "[fe80::1%25eth0]";
	default:
		return NULL;
	}
}

int
stream_start_tls(struct stream *stream, struct tls_context *context,
    const char *host)
{
	stream->tls = tls_stream_new(context, stream->fd.fd, host);
	return stream->tls == NULL ? -1 : 0;
}

int
stream_handshake(struct stream *stream)
{
	return tls_stream_handshake(stream->tls);
}

ssize_t
stream_read(struct stream *stream, void *data, size_t size)
{
	return stream->tls != NULL ? tls_stream_read(stream->tls, data, size)
				   : socket_read(stream->fd.fd, data, size);
}

ssize_t
stream_write(struct stream *stream, const void *data, size_t size)
{
	return stream->tls != NULL ? tls_stream_write(stream->tls, data, size)
				   : socket_write(stream->fd.fd, data, size);
}

bool
stream_has_unread(const struct stream *stream)
{
	return stream->tls != NULL && tls_stream_has_unread(stream->tls);
}

bool
stream_has_unsent(const struct stream *stream)
{
	return stream->tls != NULL && tls_stream_has_unsent(stream->tls);
}

bool
stream_address(const struct stream *stream, char *text, size_t size)
{
	return socket_address(stream->fd.fd, text, size);
}

bool
stream_describe_tls(const struct stream *stream, struct tls_session *session)
{
	return stream->tls != NULL && tls_stream_describe(stream->tls, session);
}

const char *
stream_error(const struct stream *stream, int error)
{
	const char *why =
	    stream->tls != NULL ? tls_stream_error(stream->tls) : NULL;

	return why != NULL ? why : strerror(error);
}

bool
stream_is_permanent(const struct stream *stream, int error)
{
	return stream->tls != NULL && error == EPROTO &&
	       tls_stream_is_permanent(stream->tls);
}

void
stream_close(struct stream *stream)
{
	loop_remove(stream->loop, &stream->fd);
	if (stream->tls != NULL)
		tls_stream_free(stream->tls);
	stream->tls = NULL;
	if (stream->fd.fd != -1)
		socket_close(stream->fd.fd);
	stream->fd.fd = -1;
}
