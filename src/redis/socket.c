#include "redis/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

/* A peer that has vanished is noticed even when nothing is sent. */
enum { KEEPALIVE_IDLE_S = 15, KEEPALIVE_INTERVAL_S = 5, KEEPALIVE_COUNT = 3 };
enum { USER_TIMEOUT_MS = 20000 };

int
socket_open(const struct resolve_address *to)
{
	static const struct {
		int level, name, value;
	} tuned[] = {
	    {IPPROTO_TCP, TCP_NODELAY, 1},
	    {SOL_SOCKET, SO_KEEPALIVE, 1},
	    {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
	    {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
	    {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT},
	    {IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS},
	};
	int fd = socket(to->addr.ss_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd == -1 || to->addr.ss_family == AF_UNIX)
		return fd;
	/* Each is a help that the deadlines do not depend on. */
	for (size_t i = 0; i < sizeof(tuned) / sizeof(*tuned); i++)
		setsockopt(fd, tuned[i].level, tuned[i].name, &tuned[i].value,
		    sizeof(tuned[i].value));
	return fd;
}

void
socket_close(int fd)
{
	close(fd);
}

int
socket_connect(int fd, const struct resolve_address *to)
{
	if (connect(fd, (const struct sockaddr *)&to->addr, to->length) == 0)
		return 1;
	return errno == EINPROGRESS ? 0 : -1;
}

int
socket_error(int fd)
{
	int error = 0;
	socklen_t size = sizeof(error);

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	return error;
}

ssize_t
socket_read(int fd, void *data, size_t size)
{
	return recv(fd, data, size, 0);
}

ssize_t
socket_write(int fd, const void *data, size_t size)
{
	return send(fd, data, size, MSG_NOSIGNAL);
}

bool
socket_address(int fd, char *text, size_t size)
{
	struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
	socklen_t length = sizeof(peer);
	const void *address = &((struct sockaddr_in *)&peer)->sin_addr;

	if (getpeername(fd, (struct sockaddr *)&peer, &length) == -1)
		return false;
	if (peer.ss_family == AF_INET6)
		address = &((struct sockaddr_in6 *)&peer)->sin6_addr;
	return peer.ss_family != AF_UNIX && inet_ntop(peer.ss_family, address,
						text, (socklen_t)size) != NULL;
}
