/* Names to addresses without blocking. A name is looked up by a short-lived
 * helper process, since getaddrinfo(3) can hang for as long as a name server
 * likes. It is a child of this process, and is reaped by whoever handles
 * SIGCHLD here, if anybody does. */
#ifndef RESOLVE_H
#define RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/loop.h"
#include "redis/url.h"

#define RESOLVE_MAX 16 /* addresses of one name that are tried */
#define RESOLVE_CHECK_DNS "check the name servers of this host"

struct resolve_address {
	socklen_t length;
	struct sockaddr_storage addr;
};

struct resolve_answer {
	int error; /* 0, or a code for resolve_failure */
	size_t count;
	struct resolve_address address[RESOLVE_MAX];
};

struct resolve {
	struct loop *loop;
	struct loop_fd pipe;
	void (*on_answer)(void *arg, const struct resolve_answer *answer);
	void *arg;
};

/* Looks the endpoint's host up; the caller has set loop, on_answer and arg. 0,
 * and on_answer is called once: before this returns, and without an error, for
 * a numeric address and a socket in the file system; otherwise later, unless
 * resolve_cancel comes first. -1 with errno when no helper could be started, or
 * the address has a zone that is no interface: ENODEV. */
int resolve_start(struct resolve *resolve, const struct endpoint *endpoint);
void resolve_cancel(struct resolve *resolve);

/* Why a name has no address, and what to do; permanent: no name has one here,
 * as there is no resolver. */
const char *resolve_failure(int error, const char **advice, bool *permanent);

/* For the helper process. The first one blocks: resolve_libc.c. The second one
 * is 1, 0 if host is not a numeric address, or -1 with errno if that has the
 * zone of an interface that does not exist ("fe80::1%eth0"). */
void resolve_look_up(const char *host, int port, struct resolve_answer *answer);
int resolve_numeric(const char *host, int port,
    struct resolve_address *address);

#endif
