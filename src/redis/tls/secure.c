/* A server without TLS waits in silence for the rest of a TLS greeting, and one
 * with TLS hangs up on anything else, both without a word.
 *
 * A failure that could mean that goes by way of PROBING, once: on a connection
 * of its own the address is asked whether it speaks the other language, by a
 * few bytes that such a server answers at once. A TLS handshake that takes long
 * asks at the same time. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "redis/socket.h"
#include "redis/tls/tls_stream.h"
#include "redis/way_parts.h"

/* A TLS handshake that is not answered for so long is probed, and after a
 * hang-up a probe has so long. */
enum { SILENCE_MS = 1000, PROBE_MS = 1000 };

/* --- probing ------------------------------------------------------------ */

/* What a server that speaks the language answers also to a client that is not
 * logged in: Redis answers PING, and TLS an empty ClientHello by an alert (RFC
 * 8446, 6.2). */
static const char redis_greeting[] = {'P', 'I', 'N', 'G', '\r', '\n'};
static const char tls_greeting[] = {0x16, 3, 1, 0, 4, 1, 0, 0, 0};

bool
secure_may_probe(const struct way *way)
{
	return way->contact == WAY_NEVER_MET && way->to.transport == URL_TCP;
}

static void
end_probe(struct way *way, bool speaks)
{
	stream_close(&way->dial.probe);
	way_note_permanence(way, speaks);
	if (speaks && way->to.tls)
		way_describe(way, WAY_NO_CONNECTION, "it does not speak TLS",
		    NULL);
	else if (speaks)
		way_describe(way, WAY_NOT_REDIS, "it speaks TLS", NULL);
	if (speaks || way->state == WAY_PROBING)
		way_give_up(way);
}

static void
on_probe_socket(void *arg, short revents)
{
	struct way *way = arg;
	struct loop_fd *fd = &way->dial.probe.fd;
	char in[16];
	ssize_t got;

	if (revents & POLLOUT) {
		fd->events = POLLIN;
		if (way->to.tls)
			socket_write(fd->fd, redis_greeting,
			    sizeof(redis_greeting));
		else
			socket_write(fd->fd, tls_greeting,
			    sizeof(tls_greeting));
		return;
	}
	got = socket_read(fd->fd, in, sizeof(in));
	if (got == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	end_probe(way,
	    got > 0 && (way->to.tls ? *in == '+' || *in == '-'
				    : tls_stream_is_alert(in, (size_t)got)));
}

void
secure_probe(struct way *way)
{
	struct dial *dial = &way->dial;
	struct race *race = &dial->race;

	way->contact = WAY_PROBED;
	dial->probe_at =
	    way->state == WAY_PROBING ? clock_now() + PROBE_MS : CLOCK_NEVER;
	dial->probe.fd.on_ready = on_probe_socket;
	if (stream_open(&dial->probe, &race->lanes[race->won].address) == -1 &&
	    way->state == WAY_PROBING)
		dial->probe_at = clock_now();
}

/* --- TLS ---------------------------------------------------------------- */

/* Commands wait for the TLS handshake, not for the socket. */
static void
shake_hands(struct way *way)
{
	struct stream *stream = &way->stream;

	if (tls_stream_handshake(stream->tls) == 0) {
		stream_close(&way->dial.probe);
		exchange_begin(way);
	} else if (errno == EAGAIN) {
		way_describe(way, WAY_NO_CONNECTION, SECURE_NO_ANSWER, NULL);
		stream_watch(stream, false);
	} else {
		way_note_permanence(way,
		    tls_stream_is_permanent(stream->tls, errno));
		way_fail_soon(way, WAY_NO_CONNECTION,
		    tls_stream_error(stream->tls, errno), NULL);
	}
}

static void
on_securing_socket(void *arg, short revents)
{
	struct way *way = arg;

	(void)revents;
	if (way->state == WAY_SECURING)
		shake_hands(way);
	way_set_timer(way);
}

/* The addresses that are left share the time that is left. */
void
secure_start(struct way *way)
{
	const struct endpoint *to = &way->to;
	struct stream *stream = &way->stream;
	int64_t now = clock_now(), left_ms = way_ends_at(way) - now;

	way->state = WAY_SECURING;
	tls_context_refresh(to->tls_context, way->handshake.anew);
	way->dial.secure_by =
	    now + left_ms / (int64_t)race_left(&way->dial.race);
	way->dial.probe_at =
	    secure_may_probe(way) ? now + SILENCE_MS : CLOCK_NEVER;
	stream->fd.on_ready = on_securing_socket;
	stream->tls = tls_stream_new(to->tls_context, stream->fd.fd, to->host);
	if (stream->tls == NULL)
		way_fail_soon(way, WAY_NO_CONNECTION, strerror(ENOMEM), NULL);
	else
		shake_hands(way);
}
