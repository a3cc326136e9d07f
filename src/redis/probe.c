#include "redis/probe.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PROBE_MS = 1000 };

struct language {
	const char *words;
	size_t length;
};

/* An empty ClientHello, which is answered by an alert (RFC 8446, 6.2), and what
 * Redis answers also to who isn't logged in. */
static const struct language languages[] = {
    [PROBE_REDIS] = {"PING\r\n", 6},
    [PROBE_TLS] = {"\x16\x03\x01\x00\x04\x01\x00\x00\x00", 9},
};

static bool
is_answer(enum probe_language language, const char *in, ssize_t length)
{
	if (language == PROBE_TLS)
		return length >= 2 && memcmp(in, "\x15\x03", 2) == 0;
	return length >= 1 && (*in == '+' || *in == '-');
}

void
probe_cancel(struct probe *probe)
{
	if (probe->loop == NULL)
		return;
	loop_remove(probe->loop, &probe->socket);
	loop_timer_remove(probe->loop, &probe->timer);
	if (probe->socket.fd != -1)
		close(probe->socket.fd);
	probe->loop = NULL;
}

static void
answer(struct probe *probe, bool speaks)
{
	probe_cancel(probe);
	probe->on_answer(probe->arg, speaks);
}

static void
on_due(void *arg)
{
	answer(arg, false);
}

static void
on_socket(void *arg, short revents)
{
	struct probe *probe = arg;
	const struct language *language = &languages[probe->language];
	char in[16];
	ssize_t got;

	if (revents & POLLOUT) {
		probe->socket.events = POLLIN;
		send(probe->socket.fd, language->words, language->length,
		    MSG_NOSIGNAL);
		return;
	}
	got = recv(probe->socket.fd, in, sizeof(in), 0);
	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	answer(probe, is_answer(probe->language, in, got));
}

void
probe_start(struct probe *probe, const struct resolve_address *address)
{
	int64_t wait_ms = PROBE_MS;
	int fd = socket(address->addr.ss_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	probe->socket = (struct loop_fd){.fd = fd,
	    .events = POLLOUT,
	    .on_ready = on_socket,
	    .arg = probe};
	probe->timer = (struct loop_timer){.on_due = on_due, .arg = probe};
	if (fd != -1)
		loop_add(probe->loop, &probe->socket);
	if (fd == -1 || (connect(fd, (const struct sockaddr *)&address->addr,
			     address->length) == -1 &&
			    errno != EINPROGRESS))
		wait_ms = 0;
	loop_timer_set(probe->loop, &probe->timer, clock_now() + wait_ms);
}
