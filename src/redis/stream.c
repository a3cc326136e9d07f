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

void
stream_watch(struct stream *stream, bool writes)
{
	stream->fd.events = writes || tls_stream_has_unsent(stream->tls)
				? POLLIN | POLLOUT
				: POLLIN;
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
