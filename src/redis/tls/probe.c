#include "redis/tls/probe.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "redis/socket.h"

enum { PROBE_MS = 1000 };

/* What a server that speaks the language answers also to a client that is not
 * logged in: Redis answers PING, and TLS an empty ClientHello by an alert (RFC
 * 8446, 6.2). */
static const struct language {
	const char *words;
	size_t length;
} languages[] = {
    [PROBE_REDIS] = {"PING\r\n", 6},
    [PROBE_TLS] = {"\x16\x03\x01\x00\x04\x01\x00\x00\x00", 9},
};

/* 21, 3 is an alert of any version (RFC 8446, 5.1). */
static bool
is_tls(const char *in, size_t length)
{
	return length >= 2 && memcmp(in, "\x15\x03", 2) == 0;
}

const char *
probe_recognize(const char *in, size_t length)
{
	if (in[0] == '<' || (length >= 5 && memcmp(in, "HTTP/", 5) == 0))
		return "it speaks HTTP";
	return is_tls(in, length) ? "it speaks TLS" : NULL;
}

static bool
is_probe_answer(enum probe_language language, const char *in, size_t length)
{
	if (language == PROBE_TLS)
		return is_tls(in, length);
	return length >= 1 && (*in == '+' || *in == '-');
}

void
probe_cancel(struct probe *probe)
{
	if (probe->loop == NULL)
		return;
	stream_close(&probe->stream);
	loop_timer_remove(probe->loop, &probe->timer);
	probe->loop = NULL;
}

static void
answer(struct probe *probe, bool speaks)
{
	probe_cancel(probe);
	probe->on_answer(probe->arg, speaks);
}

static void
on_probe_due(void *arg)
{
	answer(arg, false);
}

static void
on_probe_socket(void *arg, short revents)
{
	struct probe *probe = arg;
	const struct language *language = &languages[probe->language];
	char in[16];
	ssize_t got;

	if (revents & POLLOUT) {
		probe->stream.fd.events = POLLIN;
		socket_write(probe->stream.fd.fd, language->words,
		    language->length);
		return;
	}
	got = socket_read(probe->stream.fd.fd, in, sizeof(in));
	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	answer(probe,
	    got > 0 && is_probe_answer(probe->language, in, (size_t)got));
}

void
probe_start(struct probe *probe, const struct resolve_address *address)
{
	int opened;

	probe->stream = (struct stream){.loop = probe->loop,
	    .fd = {.on_ready = on_probe_socket, .arg = probe}};
	probe->timer =
	    (struct loop_timer){.on_due = on_probe_due, .arg = probe};
	opened = stream_open(&probe->stream, address);
	loop_timer_set(probe->loop, &probe->timer,
	    opened == -1 ? clock_now() : clock_now() + PROBE_MS);
}
