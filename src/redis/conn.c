/* States of a connection:
 *
 *   CLOSED --send--> LOCATING --> RESOLVING --> CONNECTING --> SECURING --> UP
 *      ^           (locator) |            |    |  next |      (TLS)         |
 *      |                     |            |    +address+         |          |
 *      +---------------------+--- any failure ------+------------+----------+
 *
 * A failure that could mean that TLS is spoken on one side only goes by way of
 * PROBING, once: the address is asked whether it speaks the other language. A
 * handshake that takes long asks at the same time.
 *
 * If nothing was written when it fails, and the locator knows other places, it
 * goes back to LOCATING: the commands wait for the next place.
 *
 * A failure that is found while a command is being sent goes by way of FAILED:
 * it is reported by a timer that is due at once, so that no handler runs inside
 * conn_send. */
#include "redis/conn.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "redis/race.h"
#include "redis/resolve.h"
#include "redis/rest.h"
#include "redis/stream.h"
#include "redis/tls/probe.h"
#include "redis/value.h"

enum { READ_BYTES = 16384 };
enum { LABEL_MAX = 1024, HOST_MAX = 256 };

/* A TLS handshake that is not answered for so long is probed. */
enum { SILENCE_MS = 1000 };

enum conn_state {
	CONN_CLOSED,
	CONN_LOCATING,
	CONN_RESOLVING,
	CONN_CONNECTING,
	CONN_SECURING,
	CONN_UP,
	CONN_PROBING,
	CONN_FAILED,
};

/* What is known about the server, on whatever connection. */
enum conn_contact { CONN_NEVER_MET, CONN_PROBED, CONN_HAS_ANSWERED };

/* What is needed until the connection is up. */
struct dial {
	struct resolve resolve;
	struct race race;
	int64_t counts_until; /* of the command that opens the connection */
	int64_t secure_by;    /* a TLS handshake, before the next address */
	int64_t probe_at; /* if the TLS handshake is not answered until then */
	struct probe probe;
};

struct conn {
	struct loop *loop;
	const struct endpoint *url;
	const struct conn_locator *locator; /* NULL: the URL is the server */
	void *locator_arg;
	struct endpoint to; /* the URL, or what was found; borrows from it */
	char host[HOST_MAX];
	char label[LABEL_MAX];
	enum conn_state state;
	enum conn_contact contact;
	bool permanent; /* the last failure will happen again */
	bool stale;	/* look for the server anew when no reply is awaited */
	bool received;	/* any bytes on this connection */
	struct dial dial;
	struct rest rest;
	struct stream stream;
	struct loop_timer timer;
	struct handshake handshake;
	struct pipeline pipeline;
	struct value_reader *reader;
	char error[REPLY_FAILURE_MAX];
};

static void on_resolved(void *arg, const struct resolve_answer *answer);
static void on_conn_socket(void *arg, short revents);
static void on_timer(void *arg);
static void on_raced(void *arg, int error);
static void connect_to_any(struct conn *conn);
static void give_up(struct conn *conn);
static void locate(struct conn *conn);
static void set_timer(struct conn *conn);

struct conn *
conn_new(struct loop *loop, const struct endpoint *url)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (conn == NULL)
		return NULL;
	conn->loop = loop;
	conn->url = url;
	conn->to = *url;
	conn->timer = (struct loop_timer){.on_due = on_timer, .arg = conn};
	conn->dial.resolve = (struct resolve){.loop = loop,
	    .on_answer = on_resolved,
	    .arg = conn};
	conn->stream = (struct stream){.loop = loop,
	    .fd = {.fd = -1, .on_ready = on_conn_socket, .arg = conn}};
	conn->dial.race = (struct race){.loop = loop,
	    .winner = &conn->stream,
	    .on_end = on_raced,
	    .arg = conn};
	if (pipeline_init(&conn->pipeline) == -1) {
		free(conn);
		return NULL;
	}
	return conn;
}

void
conn_set_locator(struct conn *conn, const struct conn_locator *locator,
    void *arg)
{
	conn->locator = locator;
	conn->locator_arg = arg;
	conn->handshake.greeting = &locator->greeting;
	conn->handshake.arg = arg;
}

bool
conn_is_up(const struct conn *conn)
{
	return conn->state == CONN_UP;
}

bool
conn_is_idle(const struct conn *conn)
{
	return conn->pipeline.queued == 0;
}

const char *
conn_error(const struct conn *conn)
{
	return conn->error;
}

int64_t
conn_rests_until(const struct conn *conn)
{
	return rest_until(&conn->rest, conn->state == CONN_UP, clock_now());
}

const char *
conn_host(const struct conn *conn)
{
	return conn->host;
}

const char *
conn_label(const struct conn *conn)
{
	return conn->to.label;
}

bool
conn_address(const struct conn *conn, char *text, size_t size)
{
	return conn->state == CONN_UP &&
	       stream_address(&conn->stream, text, size);
}

bool
conn_describe_tls(const struct conn *conn, struct tls_session *session)
{
	return conn->state == CONN_UP &&
	       stream_describe_tls(&conn->stream, session);
}

/* --- closing ---------------------------------------------------------- */

static void
close_stream(struct conn *conn)
{
	race_cancel(&conn->dial.race);
	probe_cancel(&conn->dial.probe);
	stream_close(&conn->stream);
}

static void
close_all(struct conn *conn)
{
	if (conn->state == CONN_LOCATING && conn->locator->cancel != NULL)
		conn->locator->cancel(conn->locator_arg);
	if (conn->state == CONN_RESOLVING)
		resolve_cancel(&conn->dial.resolve);
	close_stream(conn);
	loop_timer_remove(conn->loop, &conn->timer);
	value_reader_free(conn->reader);
	conn->reader = NULL;
	conn->stale = false;
	conn->handshake.anew = true;
	conn->state = CONN_CLOSED;
}

void
conn_free(struct conn *conn)
{
	if (conn == NULL)
		return;
	close_all(conn);
	pipeline_fini(&conn->pipeline);
	handshake_fini(&conn->handshake);
	free(conn);
}

/* How each reply begins. */
static struct reply
begin_reply(const struct conn *conn)
{
	struct reply reply = {.kind = REPLY_NONE, .label = conn->to.label};

	if (conn->handshake.refusal[0] != '\0') {
		reply.kind = REPLY_NO_ACCESS;
		reply.error = conn->handshake.refusal;
	}
	return reply;
}

/* What nobody awaits has been written, and travels. */
static void
close_if_stale(struct conn *conn)
{
	struct pending drained[PIPELINE_MAX];

	if (!conn->stale || pipeline_is_awaited(&conn->pipeline))
		return;
	pipeline_drain(&conn->pipeline, drained);
	close_all(conn);
}

void
conn_leave(struct conn *conn)
{
	conn->stale = conn->state != CONN_CLOSED;
	if (conn->state == CONN_UP)
		close_if_stale(conn);
}

/* A handler may send anew, so that all it is given is copied before. */
void
conn_drop(struct conn *conn)
{
	struct pending drained[PIPELINE_MAX];
	size_t count = pipeline_drain(&conn->pipeline, drained);
	struct reply reply = begin_reply(conn);
	char refusal[sizeof(conn->handshake.refusal)];
	char failure[sizeof(conn->error)];

	memcpy(refusal, conn->handshake.refusal, sizeof(refusal));
	memcpy(failure, conn->error, sizeof(failure));
	reply.error = reply.error == NULL ? NULL : refusal;
	reply.failure = failure;
	reply.permanent = conn->permanent;
	close_all(conn);
	for (size_t i = 0; i < count; i++) {
		reply.sent_at = drained[i].sent_at;
		if (drained[i].on_reply != NULL)
			drained[i].on_reply(drained[i].arg, &reply);
	}
}

/* --- failing ---------------------------------------------------------- */

static int64_t
ends_at(const struct conn *conn)
{
	return clock_min(pipeline_deadline(&conn->pipeline),
	    conn->handshake.greet_by);
}

/* The words of AUTH and of the commands wait for the next place. */
static void
give_up(struct conn *conn)
{
	bool others = false;

	if (conn->locator != NULL && conn->locator->miss != NULL)
		others =
		    conn->locator->miss(conn->locator_arg, &conn->permanent);
	if (!others || conn->state == CONN_UP ||
	    !pipeline_is_unsent(&conn->pipeline) ||
	    clock_now() >= pipeline_deadline(&conn->pipeline)) {
		conn_drop(conn);
		return;
	}
	close_all(conn);
	locate(conn);
	set_timer(conn);
}

#define NOT_FOUND "cannot find the primary of"
#define NO_CONNECTION "cannot connect to"
#define NO_NAME "cannot resolve"
#define NOT_REDIS "no Redis server at"

/* Redis without TLS sends nothing back to a TLS greeting: it waits for the end
 * of a line. */
#define NO_HANDSHAKE \
	"no answer to the TLS handshake, perhaps it does not speak TLS"

/* Unless the probe finds out that it speaks TLS. Some proxies hang up in place
 * of an error reply, as twemproxy does. */
#define NO_REPLY                                                         \
	"closed without a reply, perhaps by a proxy that does not know " \
	"CLIENT SETNAME"

#define DEFAULT_SERVER \
	"this is the default server: name yours by -r or RLOCKRUN_REDIS"

/* The advice may be NULL. */
static void
conn_describe(struct conn *conn, const char *what, const char *why,
    const char *advice)
{
	if (conn->url->is_default && conn->contact != CONN_HAS_ANSWERED)
		advice = DEFAULT_SERVER;
	snprintf(conn->error, sizeof(conn->error), "%s %.512s: %.640s%s%s%s",
	    what, conn->to.label, why, advice != NULL ? " (" : "",
	    advice != NULL ? advice : "", advice != NULL ? ")" : "");
}

static void
conn_fail(struct conn *conn, const char *what, const char *why)
{
	conn_describe(conn, what, why, NULL);
	give_up(conn);
}

void
conn_reject(struct conn *conn)
{
	conn_fail(conn, "unexpected answer from", "not that of our script");
}

static void
conn_fail_next_turn(struct conn *conn)
{
	conn->state = CONN_FAILED;
	loop_timer_set(conn->loop, &conn->timer, clock_now());
}

static void
conn_fail_soon(struct conn *conn, const char *what, const char *why)
{
	conn_describe(conn, what, why, NULL);
	conn_fail_next_turn(conn);
}

/* Never once the server has answered, as the cause may be undone. */
static void
note_permanence(struct conn *conn, bool permanent)
{
	conn->permanent = permanent && conn->contact != CONN_HAS_ANSWERED;
}

/* --- probing ---------------------------------------------------------- */

static void
on_probed(void *arg, bool speaks)
{
	struct conn *conn = arg;

	note_permanence(conn, speaks);
	if (speaks && conn->to.tls)
		conn_describe(conn, NO_CONNECTION, "it does not speak TLS",
		    NULL);
	else if (speaks)
		conn_describe(conn, NOT_REDIS, "it speaks TLS", NULL);
	if (speaks || conn->state == CONN_PROBING)
		give_up(conn);
}

static void
start_probe(struct conn *conn)
{
	conn->contact = CONN_PROBED;
	conn->dial.probe_at = CLOCK_NEVER;
	conn->dial.probe = (struct probe){.loop = conn->loop,
	    .language = conn->to.tls ? PROBE_REDIS : PROBE_TLS,
	    .on_answer = on_probed,
	    .arg = conn};
	probe_start(&conn->dial.probe, race_address(&conn->dial.race));
}

static bool
may_probe(const struct conn *conn)
{
	return conn->contact == CONN_NEVER_MET && conn->to.transport == URL_TCP;
}

/* --- time ------------------------------------------------------------- */

static void
set_timer(struct conn *conn)
{
	int64_t at = ends_at(conn);

	if (conn->state == CONN_FAILED)
		return;
	if (conn->state == CONN_SECURING)
		at = clock_min(at,
		    clock_min(conn->dial.secure_by, conn->dial.probe_at));
	loop_timer_set(conn->loop, &conn->timer, at);
}

/* The end, a probe, or the addresses that are left. */
static void
on_connecting_late(struct conn *conn)
{
	bool is_securing = conn->state == CONN_SECURING;
	const char *why = is_securing ? NO_HANDSHAKE : strerror(ETIMEDOUT);
	const char *advice = is_securing ? NULL : stream_advice(ETIMEDOUT);

	if (clock_now() >= ends_at(conn)) {
		conn_describe(conn, NO_CONNECTION, why, advice);
		give_up(conn);
	} else if (clock_now() < conn->dial.secure_by) {
		start_probe(conn);
		set_timer(conn);
	} else {
		conn_describe(conn, NO_CONNECTION, why, advice);
		close_stream(conn);
		connect_to_any(conn);
	}
}

static void
on_timer(void *arg)
{
	struct conn *conn = arg;

	if (conn->state == CONN_LOCATING)
		conn_fail(conn, NOT_FOUND, "no sentinel answers in time");
	else if (conn->state == CONN_RESOLVING)
		conn_fail(conn, NO_NAME,
		    "the name server does not answer (" RESOLVE_CHECK_DNS ")");
	else if (conn->state == CONN_UP)
		conn_fail(conn, "no answer from", strerror(ETIMEDOUT));
	else if (conn->state == CONN_CONNECTING || conn->state == CONN_SECURING)
		on_connecting_late(conn);
	else
		give_up(conn);
}

/* --- writing ---------------------------------------------------------- */

/* Commands wait for the TLS handshake, not for the socket. */
static void
watch_socket(struct conn *conn)
{
	bool unsent = stream_has_unsent(&conn->stream) ||
		      (conn->state == CONN_UP && conn->pipeline.out_length > 0);

	conn->stream.fd.events = unsent ? POLLIN | POLLOUT : POLLIN;
}

static void
flush(struct conn *conn)
{
	struct pipeline *pipeline = &conn->pipeline;
	ssize_t sent;

	if (pipeline->out_length == 0 && !stream_has_unsent(&conn->stream))
		return;
	pipeline_stamp(pipeline);
	sent = stream_write(&conn->stream, pipeline->out, pipeline->out_length);
	/* A server that has hung up may have sent the reason before: receive()
	 * reads it in the next turn, then the end of the connection. */
	if (sent == -1 && (errno == EPIPE || errno == ECONNRESET)) {
		conn->stream.fd.events = POLLIN;
		return;
	}
	if (sent == -1 && errno != EAGAIN && errno != EINTR) {
		note_permanence(conn,
		    stream_is_permanent(&conn->stream, errno));
		conn_fail_soon(conn, "lost the connection to",
		    stream_error(&conn->stream, errno));
		return;
	}
	if (sent > 0)
		pipeline_wrote(pipeline, (size_t)sent);
	watch_socket(conn);
}

/* --- reading ---------------------------------------------------------- */

/* error is 0 at the end of file. A TLS server mostly hangs up without an alert
 * on a client that does not begin with TLS. */
static void
on_hang_up(struct conn *conn, int error)
{
	bool no_reply = !conn->received && !conn->to.tls &&
			conn->to.transport == URL_TCP &&
			conn->contact != CONN_HAS_ANSWERED &&
			(error == 0 || error == ECONNRESET);
	const char *why = "closed by the server", *advice = NULL;

	rest_hang_up(&conn->rest, clock_now());
	if (no_reply)
		why = NO_REPLY;
	else if (conn->handshake.complaint[0] != '\0')
		why = conn->handshake.complaint;
	else if (error != 0)
		why = stream_error(&conn->stream, error);
	if (why == conn->handshake.complaint)
		advice = reply_advise(why);
	note_permanence(conn, stream_is_permanent(&conn->stream, error));
	conn_describe(conn, "lost the connection to", why, advice);
	if (!no_reply || !may_probe(conn)) {
		give_up(conn);
		return;
	}
	close_stream(conn);
	conn->state = CONN_PROBING;
	start_probe(conn);
}

/* Closed before the handler is called, so that it can send to the next one. */
static void
take_reply(struct conn *conn, struct value *value)
{
	const struct conn_locator *locator = conn->locator;
	const char *error = value_error(value);
	struct delivery delivery = {.reply = begin_reply(conn)};
	bool ours = conn->pipeline.queue[0].arg == &conn->handshake;

	conn->contact = CONN_HAS_ANSWERED;
	conn->permanent = false;
	race_confirm(&conn->dial.race);
	if (error == NULL)
		conn->handshake.complaint[0] = '\0';
	else if (locator != NULL && reply_is_doubtful(error))
		conn->stale = true;
	if (locator != NULL && locator->heed != NULL && !ours)
		delivery.reply.again = locator->heed(conn->locator_arg, error);
	if (delivery.reply.again == AGAIN_AT_OWNER)
		conn->stale = true;
	pipeline_take(&conn->pipeline, value, &delivery);
	close_if_stale(conn);
	pipeline_deliver(&delivery);
	if (conn->handshake.misfit != NULL)
		conn_fail(conn, "cannot use", conn->handshake.misfit);
	else if (conn->state == CONN_UP && handshake_hangs_up(&conn->handshake))
		on_hang_up(conn, 0);
}

/* The reader may go while a handler runs, when that gives the connection up. */
static void
parse_values(struct conn *conn)
{
	while (conn->state == CONN_UP) {
		struct value *value;
		int parsed = value_reader_next(conn->reader,
		    pipeline_limits(&conn->pipeline), &value);

		if (parsed == 0)
			break;
		if (parsed == -1) {
			conn_fail(conn, NOT_REDIS,
			    value_reader_error(conn->reader));
		} else if (conn->pipeline.queued > 0) {
			take_reply(conn, value);
		} else {
			value_free(value);
			conn_fail(conn, NOT_REDIS,
			    "it sends what was not asked for");
		}
	}
}

static void
take_bytes(struct conn *conn, const char *in, size_t length)
{
	const char *other = value_reader_is_empty(conn->reader)
				? probe_recognize(in, length)
				: NULL;

	conn->received = true;
	if (other != NULL) {
		note_permanence(conn, true);
		conn_fail(conn, NOT_REDIS, other);
	} else if (value_reader_feed(conn->reader, in, length) == -1) {
		conn_fail(conn, "cannot read from", strerror(ENOMEM));
	} else {
		parse_values(conn);
	}
}

/* What TLS has read ahead makes no socket ready. */
static void
receive(struct conn *conn)
{
	char in[READ_BYTES];

	do {
		ssize_t got = stream_read(&conn->stream, in, sizeof(in));
		if (got == -1 && (errno == EAGAIN || errno == EINTR))
			break;
		if (got <= 0) {
			on_hang_up(conn, got == 0 ? 0 : errno);
			return;
		}
		take_bytes(conn, in, (size_t)got);
	} while (conn->state == CONN_UP && stream_has_unread(&conn->stream));
	if (conn->state == CONN_UP)
		watch_socket(conn);
}

/* --- connecting ------------------------------------------------------- */

static void
on_conn_ready(struct conn *conn)
{
	probe_cancel(&conn->dial.probe);
	conn->state = CONN_UP;
	conn->stream.fd.events = POLLIN;
	conn->received = false;
	conn->reader = value_reader_new();
	if (conn->reader == NULL)
		conn_fail_soon(conn, NO_CONNECTION, strerror(ENOMEM));
	else
		flush(conn);
}

static void
secure(struct conn *conn)
{
	struct stream *stream = &conn->stream;

	if (stream_handshake(stream) == 0) {
		on_conn_ready(conn);
	} else if (errno == EAGAIN) {
		conn_describe(conn, NO_CONNECTION, NO_HANDSHAKE, NULL);
		watch_socket(conn);
	} else {
		note_permanence(conn, stream_is_permanent(stream, errno));
		conn_fail_soon(conn, NO_CONNECTION,
		    stream_error(stream, errno));
	}
}

/* The addresses that are left share the time that is left. */
static int64_t
handshake_ends_at(const struct conn *conn)
{
	int64_t now = clock_now();
	int64_t left_ms = ends_at(conn) - now;

	return now + left_ms / (int64_t)race_left(&conn->dial.race);
}

static void
on_connected(struct conn *conn)
{
	const struct endpoint *to = &conn->to;

	if (!to->tls) {
		on_conn_ready(conn);
		return;
	}
	conn->state = CONN_SECURING;
	tls_context_refresh(to->tls_context, conn->handshake.anew);
	conn->dial.secure_by = handshake_ends_at(conn);
	conn->dial.probe_at =
	    may_probe(conn) ? clock_now() + SILENCE_MS : CLOCK_NEVER;
	if (stream_start_tls(&conn->stream, to->tls_context, to->host) == -1)
		conn_fail_soon(conn, NO_CONNECTION, strerror(ENOMEM));
	else
		secure(conn);
}

static void
on_conn_socket(void *arg, short revents)
{
	struct conn *conn = arg;

	if (conn->state == CONN_FAILED)
		return;
	if (conn->state == CONN_SECURING) {
		secure(conn);
	} else {
		if (revents & POLLOUT)
			flush(conn);
		if (revents & ~POLLOUT)
			receive(conn);
	}
	set_timer(conn);
}

static void
on_raced(void *arg, int error)
{
	struct conn *conn = arg;

	if (error == 0) {
		on_connected(conn);
	} else {
		conn_describe(conn, NO_CONNECTION, strerror(error),
		    stream_advice(error));
		conn_fail_next_turn(conn);
	}
	set_timer(conn);
}

static void
connect_to_any(struct conn *conn)
{
	struct dial *dial = &conn->dial;
	int rc;

	conn->state = CONN_CONNECTING;
	rc = race_go(&dial->race, clock_min(dial->counts_until, ends_at(conn)));
	if (rc != 0)
		on_raced(conn, rc == 1 ? 0 : errno);
	else
		set_timer(conn);
}

/* --- finding ---------------------------------------------------------- */

static void
on_resolved(void *arg, const struct resolve_answer *answer)
{
	struct conn *conn = arg;

	conn->state = CONN_CONNECTING;
	if (answer->error != 0) {
		conn_describe(conn, NO_NAME, resolve_failure(answer->error),
		    resolve_advice(answer->error));
		note_permanence(conn, resolve_is_permanent(answer->error));
		give_up(conn);
		return;
	}
	race_enter(&conn->dial.race, answer);
	connect_to_any(conn);
}

static void
find_addresses(struct conn *conn)
{
	struct resolve_answer at_once;
	int resolved = resolve_start(&conn->dial.resolve, &conn->to, &at_once);

	if (resolved == -1) {
		conn_fail_soon(conn, NO_NAME, strerror(errno));
	} else if (resolved == 0) {
		conn->state = CONN_RESOLVING;
	} else {
		race_enter(&conn->dial.race, &at_once);
		connect_to_any(conn);
	}
}

void
conn_found(struct conn *conn, const char *host, int port, int64_t greeted_by)
{
	const struct endpoint *url = conn->url;

	snprintf(conn->host, sizeof(conn->host), "%s", host);
	conn->to.host = conn->host;
	conn->to.port = port;
	conn->to.label = conn->label;
	endpoint_describe(&conn->to, url->cluster ? "cluster" : url->master,
	    conn->label, sizeof(conn->label));
	conn->handshake.greet_by = greeted_by;
	find_addresses(conn);
	set_timer(conn);
}

void
conn_not_found(struct conn *conn, const char *why, bool refused, bool permanent)
{
	if (refused && (permanent || conn->contact != CONN_HAS_ANSWERED))
		handshake_refuse(&conn->handshake, why);
	note_permanence(conn, permanent || refused);
	conn_fail_soon(conn, NOT_FOUND, why);
}

/* --- sending ---------------------------------------------------------- */

static void
locate(struct conn *conn)
{
	conn->permanent = false;
	conn->handshake.greet_by = CLOCK_NEVER;
	if (conn->locator == NULL) {
		find_addresses(conn);
		return;
	}
	conn->to.label = conn->url->label;
	conn->state = CONN_LOCATING;
	conn->locator->start(conn->locator_arg,
	    pipeline_deadline(&conn->pipeline));
}

static void
open_conn(struct conn *conn, const struct command *command)
{
	mem_wipe_stack(); /* AUTH has just been formatted */
	rest_open(&conn->rest, clock_now());
	conn->dial.counts_until = command->counts_until > 0
				      ? command->counts_until
				      : command->deadline;
	locate(conn);
}

int
conn_send(struct conn *conn, const struct command *command)
{
	bool opening = conn->state == CONN_CLOSED;
	struct pending drained[PIPELINE_MAX];

	if ((opening && handshake_append(&conn->handshake, &conn->pipeline,
			    &conn->to, command->deadline) == -1) ||
	    pipeline_append(&conn->pipeline, command) == -1) {
		if (opening)
			pipeline_drain(&conn->pipeline, drained);
		snprintf(conn->error, sizeof(conn->error), "%s",
		    strerror(ENOMEM));
		return -1;
	}
	if (opening)
		open_conn(conn, command);
	else if (command->more)
		return 0;
	else if (conn->state == CONN_UP)
		flush(conn);
	set_timer(conn);
	return 0;
}
