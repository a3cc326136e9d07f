#include <errno.h>
#include <poll.h>
#include <string.h>

#include "redis/socket.h"
#include "redis/tls/tls_stream.h"
#include "redis/way_kind.h"
#include "redis/way_parts.h"

enum { READ_BYTES = 16384 };

void
exchange_leave(struct way *way)
{
	if (!way->stale || pipeline_is_owed(&way->pipeline))
		return;
	pipeline_empty(&way->pipeline);
	way_close(way);
}

/* --- writing ------------------------------------------------------------ */

void
exchange_flush(struct way *way)
{
	struct pipeline *pipeline = &way->pipeline;
	struct stream *stream = &way->stream;
	ssize_t sent;

	if (pipeline->out_length == 0 && !tls_stream_has_unsent(stream->tls))
		return;
	pipeline_stamp(pipeline);
	sent = stream->tls != NULL ? tls_stream_write(stream->tls,
					 pipeline->out, pipeline->out_length)
				   : socket_write(stream->fd.fd, pipeline->out,
					 pipeline->out_length);
	/* A server that has hung up may have sent the reason before: it is read
	 * in the next turn, then the end of the connection. */
	if (sent == -1 && (errno == EPIPE || errno == ECONNRESET)) {
		stream->fd.events = POLLIN;
		return;
	}
	if (sent == -1 && errno != EAGAIN && errno != EINTR) {
		way_note_permanence(way,
		    tls_stream_is_permanent(stream->tls, errno));
		way_fail_soon(way, "lost the connection to",
		    tls_stream_error(stream->tls, errno), NULL);
		return;
	}
	if (sent > 0)
		pipeline_wrote(pipeline, (size_t)sent);
	stream_watch(stream, pipeline->out_length > 0);
}

/* --- reading ------------------------------------------------------------ */

/* What a value says about the server, and what is to be asked again there. That
 * is never the command before WAIT, which was run, whatever WAIT is told. */
static enum again
heed(struct way *way, const char *error)
{
	bool greets = way->pipeline.pending[0].arg == &way->handshake;
	bool answers_wait = way->pipeline.first != NULL;
	enum again again = AGAIN_NO;

	way->contact = WAY_HAS_ANSWERED;
	way->permanent = false;
	race_confirm(&way->dial.race);
	if (error == NULL)
		way->handshake.complaint[0] = '\0';
	if (way->kind->heed != NULL && !greets)
		again = way->kind->heed(way->place, error);
	if (again == AGAIN_AT_OWNER ||
	    (error != NULL && way->kind->locate != NULL &&
		reply_is_doubtful(error)))
		way->stale = true;
	return answers_wait ? AGAIN_NO : again;
}

/* A connection that is left is closed before the handler is called, so that it
 * can send to the next one. If the key has another owner, the commands behind
 * this one would be told so, too: all are asked again, in their order. */
static void
way_deliver(struct way *way, struct value *value)
{
	struct delivery delivery = {
	    .reply = handshake_reply(&way->handshake, way->to.label)};

	delivery.reply.again = heed(way, value_error(value));
	if (delivery.reply.again == AGAIN_AT_OWNER) {
		way_end(way, value_error(value));
		value_free(value);
		return;
	}
	pipeline_take(&way->pipeline, value, &delivery);
	exchange_leave(way);
	if (delivery.on_reply != NULL)
		delivery.on_reply(delivery.arg, &delivery.reply);
	value_free(delivery.first);
	value_free(delivery.received);
	if (way->handshake.misfit != NULL)
		way_fail(way, "cannot use", way->handshake.misfit, NULL);
	else if (way->state == WAY_UP && handshake_hangs_up(&way->handshake))
		way_hang_up(way, 0);
}

static void
take_bytes(struct way *way, const char *in, size_t length)
{
	const char *other = NULL;

	if (*in == '<' || (length >= 5 && memcmp(in, "HTTP/", 5) == 0))
		other = "it speaks HTTP";
	else if (tls_stream_is_alert(in, length))
		other = "it speaks TLS";
	if (other != NULL && value_reader_is_empty(way->reader)) {
		way_note_permanence(way, true);
		way_fail(way, WAY_NOT_REDIS, other, NULL);
	} else if (value_reader_feed(way->reader, in, length) == -1) {
		way_fail(way, "cannot read from", strerror(ENOMEM), NULL);
	}
}

/* NULL when more bytes are needed, or these were not asked for. */
static struct value *
next_value(struct way *way)
{
	struct value *value = NULL;
	int parsed = value_reader_next(way->reader,
	    pipeline_limits(&way->pipeline), &value);

	if (parsed == -1)
		way_fail(way, WAY_NOT_REDIS, value_reader_error(way->reader),
		    NULL);
	if (parsed != 1 || way->pipeline.count > 0)
		return value;
	value_free(value);
	way_fail(way, WAY_NOT_REDIS, "it sends what was not asked for", NULL);
	return NULL;
}

/* What TLS has read ahead makes no socket ready. The reader may go while a
 * handler runs, when that gives the connection up. */
static void
on_way_socket(void *arg, short revents)
{
	struct way *way = arg;
	bool reads = (revents & ~POLLOUT) != 0;
	char in[READ_BYTES];
	struct value *value;

	if (way->state == WAY_UP && (revents & POLLOUT))
		exchange_flush(way);
	while (way->state == WAY_UP && reads) {
		struct tls_stream *tls = way->stream.tls;
		ssize_t got = tls != NULL ? tls_stream_read(tls, in, sizeof(in))
					  : socket_read(way->stream.fd.fd, in,
						sizeof(in));

		if (got > 0)
			take_bytes(way, in, (size_t)got);
		else if (got == 0 || (errno != EAGAIN && errno != EINTR))
			way_hang_up(way, got == 0 ? 0 : errno);
		while (
		    way->state == WAY_UP && (value = next_value(way)) != NULL)
			way_deliver(way, value);
		reads = got > 0 && tls_stream_has_unread(way->stream.tls);
	}
	if (way->state == WAY_UP) {
		stream_watch(&way->stream, way->pipeline.out_length > 0);
		exchange_leave(way);
	}
	way_set_timer(way);
}

void
exchange_begin(struct way *way)
{
	way->state = WAY_UP;
	way->stream.fd.on_ready = on_way_socket;
	way->stream.fd.events = POLLIN;
	way->reader = value_reader_new();
	if (way->reader == NULL)
		way_fail_soon(way, WAY_NO_CONNECTION, strerror(ENOMEM), NULL);
	else
		exchange_flush(way);
}
