/* Names to addresses without blocking. A name is looked up by a short-lived
 * helper process, since getaddrinfo(3) can hang for as long as a name server
 * likes. */
#ifndef RESOLVE_H
#define RESOLVE_H

#include <stddef.h>
#include <sys/socket.h>

#include "base/loop.h"

#define RESOLVE_MAX 16 /* addresses of one name that are tried */

struct resolve_address {
	socklen_t length;
	struct sockaddr_storage addr;
};

struct resolve_answer {
	int error; /* 0, or a code for gai_strerror(3) */
	size_t count;
	struct resolve_address address[RESOLVE_MAX];
};

struct resolve {
	struct loop *loop;
	struct loop_fd pipe;
	void (*on_answer)(void *arg, const struct resolve_answer *answer);
	void *arg;
};

/* The address of a socket in the file system. */
void resolve_path(const char *path, struct resolve_address *address);

/* Whether host is a numeric address: then *address is filled in. */
bool resolve_numeric(const char *host, int port,
    struct resolve_address *address);

/* Looks host up; the caller has set loop, on_answer and arg. on_answer is
 * called once, never before this returns, unless resolve_cancel comes first.
 * 0, or -1 with errno when no helper could be started. */
int resolve_start(struct resolve *resolve, const char *host, int port);
void resolve_cancel(struct resolve *resolve);

#endif
