#include "redis/tls/secure.h"

#include <errno.h>
#include <string.h>

#include "redis/exchange.h"
#include "redis/tls/tls_stream.h"

/* A TLS handshake that is not answered for so long is probed. */
enum { SILENCE_MS = 1000 };

/* --- probing ------------------------------------------------------------ */

bool
secure_may_probe(const struct way *way)
{
	return way->contact == WAY_NEVER_MET && way->to.transport == URL_TCP;
}

static void
on_probed(void *arg, bool speaks)
{
	struct way *way = arg;

	way_note_permanence(way, speaks);
	if (speaks && way->to.tls)
		way_describe(way, WAY_NO_CONNECTION, "it does not speak TLS",
		    NULL);
	else if (speaks)
		way_describe(way, WAY_NOT_REDIS, "it speaks TLS", NULL);
	if (speaks || way->state == WAY_PROBING)
		way_give_up(way);
}

void
secure_probe(struct way *way)
{
	way->contact = WAY_PROBED;
	way->dial.probe_at = CLOCK_NEVER;
	way->dial.probe = (struct probe){.loop = way->loop,
	    .language = way->to.tls ? PROBE_REDIS : PROBE_TLS,
	    .on_answer = on_probed,
	    .arg = way};
	probe_start(&way->dial.probe, race_address(&way->dial.race));
}

/* --- TLS ---------------------------------------------------------------- */

/* Commands wait for the TLS handshake, not for the socket. */
static void
shake_hands(struct way *way)
{
	struct stream *stream = &way->stream;

	if (tls_stream_handshake(stream->tls) == 0) {
		probe_cancel(&way->dial.probe);
		exchange_begin(way);
	} else if (errno == EAGAIN) {
		way_describe(way, WAY_NO_CONNECTION, SECURE_NO_ANSWER, NULL);
		stream_watch(stream, false);
	} else {
		way_note_permanence(way, stream_is_permanent(stream, errno));
		way_fail_soon(way, WAY_NO_CONNECTION,
		    stream_error(stream, errno), NULL);
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
