/* Addresses that are none of a name server's, and a socket for one. */
#include "redis/names/resolve.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/un.h>

#include "redis/socket.h"
#include "tap.h"

#define LONGEST "1111:2222:3333:4444:5555:6666:255.255.255.255"

/* Its family, 0 for a name, -1 if its zone is none of here. */
static const struct {
	const char *host;
	int family, scope;
} hosts[] = {
    {"127.0.0.1", AF_INET, 0},
    {"1.2.3", 0, 0},
    {"localhost", 0, 0},
    {"", 0, 0},
    {"::1", AF_INET6, 0},
    {LONGEST, AF_INET6, 0},
    {LONGEST "1", 0, 0},
    {"fe80::1%lo", AF_INET6, 1},
    {"fe80::1%1", AF_INET6, 1},
    {"fe80::1%7654321", AF_INET6, 7654321},
    {"fe80::1%0", -1, 0},
    {"fe80::1%nope", -1, 0},
    {"fe80::1%", -1, 0},
    {"h%lo", 0, 0},
};

static void
test_numbers(void)
{
	for (size_t i = 0; i < LENGTH(hosts); i++) {
		struct resolve_address at = {.length = 0};
		struct sockaddr_in6 v6;
		struct sockaddr_in v4;
		int family = hosts[i].family;
		int rc = resolve_numeric(hosts[i].host, 6379, &at);

		is_int(rc, family > 0 ? 1 : family, hosts[i].host);
		is_int(at.addr.ss_family, family > 0 ? family : 0, "  family");
		memcpy(&v4, &at.addr, sizeof(v4));
		memcpy(&v6, &at.addr, sizeof(v6));
		is_int(at.length,
		    family == AF_INET	 ? sizeof(v4)
		    : family == AF_INET6 ? sizeof(v6)
					 : 0,
		    "  length");
		is_int(ntohs(v4.sin_port), family > 0 ? 6379 : 0, "  port");
		if (family == AF_INET6)
			is_int(v6.sin6_scope_id, hosts[i].scope, "  scope");
	}
}

/* --- the helper --------------------------------------------------------- */

static struct loop loop;
static struct resolve_answer seen;
static int calls;

static void
on_answer(void *arg, const struct resolve_answer *answer)
{
	(void)arg;
	calls++;
	seen = *answer;
}

static int
count_descriptors(void)
{
	int open = 0;

	for (int fd = 0; fd < 64; fd++)
		open += fcntl(fd, F_GETFD) != -1;
	return open;
}

static const struct endpoint named = {.host = (char *)"localhost",
    .port = 6379};

static void
test_helper(void)
{
	struct resolve resolve = {.loop = &loop, .on_answer = on_answer};
	struct sockaddr_in v4;
	int open = count_descriptors();

	is_int(resolve_start(&resolve, &named), 0, "a name");
	is_int(calls, 0, "  takes a while");
	while (calls == 0 && loop_turn(&loop) == 0)
		;
	is_int(seen.error, 0, "  has");
	ok(seen.count >= 1 && seen.count <= 2, "  its addresses");
	memcpy(&v4, &seen.address[0].addr, sizeof(v4));
	is_int(ntohs(v4.sin_port), 6379, "  and the port");
	ok(loop.fds == NULL && resolve.pipe.fd == -1, "  nothing is left");
	resolve_start(&resolve, &named);
	resolve_cancel(&resolve);
	ok(loop.fds == NULL && resolve.pipe.fd == -1, "cancelled: likewise");
	is_int(calls, 1, "  nobody is called");
	is_int(count_descriptors(), open, "  no descriptor is left");
}

static void
test_at_once(void)
{
	const struct endpoint socket = {.transport = URL_UNIX,
	    .host = (char *)"/run/s"};
	struct resolve resolve = {.on_answer = on_answer};
	struct sockaddr_un un;

	calls = 0;
	is_int(resolve_start(&resolve, &socket), 0, "a socket");
	is_int(calls, 1, "  at once");
	memcpy(&un, &seen.address[0].addr, sizeof(un));
	is_text(un.sun_path, "/run/s", "  its path");
	is_int(seen.address[0].length, sizeof(un), "  length");
	is_int((int64_t)seen.count, 1, "  one address");
}

static void
test_look_up(void)
{
	struct resolve_answer answer = {.count = 0};
	const char *advice;
	bool permanent = true;

	resolve_look_up("127.0.0.1", 1, &answer);
	is_int(answer.error, 0, "looked up");
	is_int((int64_t)answer.count, 1, "  once for each transport");
	is_int(answer.address[0].length, sizeof(struct sockaddr_in),
	    "  length");
	ok(*resolve_failure(EAI_AGAIN, &advice, &permanent) != '\0', "failed");
	is_text(advice, RESOLVE_CHECK_DNS, "  for now");
	ok(!permanent, "  perhaps not for ever");
	resolve_failure(EAI_NONAME, &advice, &permanent);
	is_text(advice, "check the host name", "  no such name");
}

/* --- a socket for it ---------------------------------------------------- */

/* A peer that has vanished is noticed: after 15 s and three questions, each 5 s
 * after the other, or 20 s after what was sent. */
static const struct {
	int level, name, value;
} options[] = {
    {IPPROTO_TCP, TCP_NODELAY, 1},
    {SOL_SOCKET, SO_KEEPALIVE, 1},
    {IPPROTO_TCP, TCP_KEEPIDLE, 15},
    {IPPROTO_TCP, TCP_KEEPINTVL, 5},
    {IPPROTO_TCP, TCP_KEEPCNT, 3},
    {IPPROTO_TCP, TCP_USER_TIMEOUT, 20000},
};

static void
test_options(void)
{
	struct resolve_address at;
	int fd;

	resolve_numeric("127.0.0.1", 1, &at);
	fd = socket_open(&at);
	ok(fcntl(fd, F_GETFL) & O_NONBLOCK, "a socket that does not block");
	for (size_t i = 0; i < LENGTH(options); i++) {
		int value = 0;
		socklen_t size = sizeof(value);

		getsockopt(fd, options[i].level, options[i].name, &value,
		    &size);
		is_int(value, options[i].value, "  an option");
	}
	is_int(fcntl(fd, F_GETFD), FD_CLOEXEC, "  is closed in a job");
	socket_close(fd);
	is_int(fcntl(fd, F_GETFD), -1, "  and here");
}

int
main(void)
{
	if (loop_init(&loop) == -1)
		return 1;
	test_numbers();
	test_helper();
	test_at_once();
	test_look_up();
	test_options();
	loop_fini(&loop);
	return tap_done();
}
