#include "redis/dial.h"

#include <errno.h>
#include <string.h>

#include "redis/exchange.h"
#include "redis/tls/tls_stream.h"

/* A TLS handshake that is not answered for so long is probed. */
enum { SILENCE_MS = 1000 };

#define NO_NAME "cannot resolve"

/* Redis without TLS sends nothing back to a TLS greeting: it waits for the end
 * of a line. */
#define NO_HANDSHAKE \
	"no answer to the TLS handshake, perhaps it does not speak TLS"

static void
close_stream(struct way *way)
{
	race_cancel(&way->dial.race);
	probe_cancel(&way->dial.probe);
	stream_close(&way->stream);
}

void
dial_cancel(struct way *way)
{
	if (way->state == WAY_RESOLVING)
		resolve_cancel(&way->dial.resolve);
	close_stream(way);
}

/* --- probing ------------------------------------------------------------ */

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

static void
start_probe(struct way *way)
{
	way->contact = WAY_PROBED;
	way->dial.probe_at = CLOCK_NEVER;
	way->dial.probe = (struct probe){.loop = way->loop,
	    .language = way->to.tls ? PROBE_REDIS : PROBE_TLS,
	    .on_answer = on_probed,
	    .arg = way};
	probe_start(&way->dial.probe, race_address(&way->dial.race));
}

bool
dial_may_probe(const struct way *way)
{
	return way->contact == WAY_NEVER_MET && way->to.transport == URL_TCP;
}

void
dial_probe(struct way *way)
{
	close_stream(way);
	way->state = WAY_PROBING;
	start_probe(way);
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
		way_describe(way, WAY_NO_CONNECTION, NO_HANDSHAKE, NULL);
		stream_watch(stream, false);
	} else {
		way_note_permanence(way, stream_is_permanent(stream, errno));
		way_fail_soon(way, WAY_NO_CONNECTION,
		    stream_error(stream, errno));
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
static void
start_tls(struct way *way)
{
	const struct endpoint *to = &way->to;
	struct stream *stream = &way->stream;
	int64_t now = clock_now(), left_ms = way_ends_at(way) - now;

	way->state = WAY_SECURING;
	tls_context_refresh(to->tls_context, way->handshake.anew);
	way->dial.secure_by =
	    now + left_ms / (int64_t)race_left(&way->dial.race);
	way->dial.probe_at =
	    dial_may_probe(way) ? now + SILENCE_MS : CLOCK_NEVER;
	stream->fd.on_ready = on_securing_socket;
	stream->tls = tls_stream_new(to->tls_context, stream->fd.fd, to->host);
	if (stream->tls == NULL)
		way_fail_soon(way, WAY_NO_CONNECTION, strerror(ENOMEM));
	else
		shake_hands(way);
}

/* --- addresses ---------------------------------------------------------- */

static void
on_raced(void *arg, int error)
{
	struct way *way = arg;

	if (error != 0) {
		way_describe(way, WAY_NO_CONNECTION, strerror(error),
		    stream_advice(error));
		way_give_up_soon(way);
	} else if (way->to.tls) {
		start_tls(way);
	} else {
		exchange_begin(way);
	}
	way_set_timer(way);
}

static void
connect_to_any(struct way *way)
{
	struct dial *dial = &way->dial;
	int rc;

	way->state = WAY_CONNECTING;
	rc = race_go(&dial->race,
	    clock_min(dial->counts_until, way_ends_at(way)));
	if (rc != 0)
		on_raced(way, rc == 1 ? 0 : errno);
	else
		way_set_timer(way);
}

static void
on_resolved(void *arg, const struct resolve_answer *answer)
{
	struct way *way = arg;

	way->state = WAY_CONNECTING;
	if (answer->error != 0) {
		way_describe(way, NO_NAME, resolve_failure(answer->error),
		    resolve_advice(answer->error));
		way_note_permanence(way, resolve_is_permanent(answer->error));
		way_give_up(way);
		return;
	}
	race_enter(&way->dial.race, answer);
	connect_to_any(way);
}

void
dial_start(struct way *way)
{
	struct resolve_answer at_once;
	int resolved = resolve_start(&way->dial.resolve, &way->to, &at_once);

	if (resolved == -1) {
		way_fail_soon(way, NO_NAME, strerror(errno));
	} else if (resolved == 0) {
		way->state = WAY_RESOLVING;
	} else {
		race_enter(&way->dial.race, &at_once);
		connect_to_any(way);
	}
}

void
dial_init(struct way *way)
{
	way->dial.resolve = (struct resolve){.loop = way->loop,
	    .on_answer = on_resolved,
	    .arg = way};
	way->dial.race = (struct race){.loop = way->loop,
	    .winner = &way->stream,
	    .on_end = on_raced,
	    .arg = way};
}

/* --- time --------------------------------------------------------------- */

int64_t
dial_due_at(const struct way *way)
{
	return way->state == WAY_SECURING
		   ? clock_min(way->dial.secure_by, way->dial.probe_at)
		   : CLOCK_NEVER;
}

/* The end, a probe, or the addresses that are left. */
void
dial_on_timer(struct way *way)
{
	bool is_securing = way->state == WAY_SECURING;
	const char *why = is_securing ? NO_HANDSHAKE : strerror(ETIMEDOUT);
	const char *advice = is_securing ? NULL : stream_advice(ETIMEDOUT);

	if (way->state == WAY_RESOLVING) {
		way_fail(way, NO_NAME,
		    "the name server does not answer (" RESOLVE_CHECK_DNS ")");
	} else if (clock_now() >= way_ends_at(way)) {
		way_describe(way, WAY_NO_CONNECTION, why, advice);
		way_give_up(way);
	} else if (clock_now() < way->dial.secure_by) {
		start_probe(way);
		way_set_timer(way);
	} else {
		way_describe(way, WAY_NO_CONNECTION, why, advice);
		close_stream(way);
		connect_to_any(way);
	}
}
