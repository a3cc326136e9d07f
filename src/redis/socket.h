/* The socket of a connection: non-blocking, close-on-exec, never a SIGPIPE. All
 * calls of the kernel about such sockets stand here, as the simulation has a
 * network of its own in their place. */
#ifndef SOCKET_H
#define SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "redis/names/resolve.h"

/* A socket for that address, or -1 with errno. */
int socket_open(const struct resolve_address *to);
void socket_close(int fd);

/* 1 connected, 0 under way until it can be written, -1 with errno. */
int socket_connect(int fd, const struct resolve_address *to);

/* What came of a connection that was under way: 0, or an errno. */
int socket_error(int fd);

/* As recv(2) and send(2). */
ssize_t socket_read(int fd, void *data, size_t size);
ssize_t socket_write(int fd, const void *data, size_t size);

/* The address that it is connected to; false for a unix socket. */
bool socket_address(int fd, char *text, size_t size);

#endif
