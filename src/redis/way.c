#include "redis/way.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "redis/dial.h"

enum { READ_BYTES = 16384 };

const struct way_kind way_address = {.locate = NULL};

static void on_way_socket(void *arg, short revents);
static void on_way_timer(void *arg);
static void locate(struct way *way);

/* --- set-up and end ----------------------------------------------------- */

struct way *
way_new_of(struct loop *loop, const struct endpoint *url,
    const struct way_kind *kind, void *place)
{
	struct way *way = calloc(1, sizeof(*way));

	if (way == NULL)
		return NULL;
	way->loop = loop;
	way->url = url;
	way->to = *url;
	way->kind = kind;
	way->place = place;
	way->handshake.greeting = &kind->greeting;
	way->handshake.arg = place;
	way->timer = (struct loop_timer){.on_due = on_way_timer, .arg = way};
	way->stream = (struct stream){.loop = loop,
	    .fd = {.fd = -1, .on_ready = on_way_socket, .arg = way}};
	dial_init(way);
	if (pipeline_init(&way->pipeline) == 0)
		return way;
	free(way);
	return NULL;
}

struct way *
way_new(struct loop *loop, const struct endpoint *url, const char *key)
{
	const struct way_kind *kind = url->cluster	    ? &way_slot
				      : url->master != NULL ? &way_sentinels
							    : &way_address;
	struct way *way = way_new_of(loop, url, kind, NULL);

	if (way == NULL || kind->begin == NULL)
		return way;
	way->place = kind->begin(way, loop, url, key);
	way->handshake.arg = way->place;
	if (way->place != NULL)
		return way;
	way_free(way);
	return NULL;
}

static void
close_all(struct way *way)
{
	if (way->state == WAY_LOCATING && way->kind->cancel != NULL)
		way->kind->cancel(way->place);
	dial_cancel(way);
	loop_timer_remove(way->loop, &way->timer);
	value_reader_free(way->reader);
	way->reader = NULL;
	way->stale = false;
	way->handshake.anew = true;
	way->state = WAY_CLOSED;
}

void
way_free(struct way *way)
{
	if (way == NULL)
		return;
	close_all(way);
	for (size_t i = 0; i < way->moved_count; i++)
		value_free(way->moved[i].received);
	pipeline_fini(&way->pipeline);
	handshake_fini(&way->handshake);
	if (way->place != NULL && way->kind->end != NULL)
		way->kind->end(way->place);
	free(way);
}

/* --- facts -------------------------------------------------------------- */

bool
way_is_up(const struct way *way)
{
	return way->state == WAY_UP;
}

bool
way_is_idle(const struct way *way)
{
	return way->pipeline.count == 0;
}

bool
way_is_clustered(const struct way *way)
{
	return way->url->cluster;
}

bool
way_has_moved(const struct way *way, const struct way *from)
{
	return way->kind->has_moved != NULL && from->kind == way->kind &&
	       way->kind->has_moved(way->place, from->place);
}

int64_t
way_rests_until(const struct way *way)
{
	return rest_until(&way->rest, way->state == WAY_UP, clock_now());
}

const char *
way_error(const struct way *way)
{
	return way->error;
}

const char *
way_host(const struct way *way)
{
	return way->host;
}

const char *
way_label(const struct way *way)
{
	return way->to.label;
}

bool
way_address_text(const struct way *way, char *text, size_t size)
{
	return way->state == WAY_UP && stream_address(&way->stream, text, size);
}

bool
way_describe_tls(const struct way *way, struct tls_session *session)
{
	return way->state == WAY_UP &&
	       stream_describe_tls(&way->stream, session);
}

int64_t
way_ends_at(const struct way *way)
{
	return clock_min(pipeline_deadline(&way->pipeline),
	    way->handshake.greet_by);
}

/* --- giving up ---------------------------------------------------------- */

/* How each reply begins. */
static struct reply
begin_reply(const struct way *way)
{
	struct reply reply = {.kind = REPLY_NONE, .label = way->to.label};

	if (way->handshake.refusal[0] != '\0') {
		reply.kind = REPLY_NO_ACCESS;
		reply.error = way->handshake.refusal;
	}
	return reply;
}

/* A handler may send anew, so that all it is given is copied before. */
void
way_drop(struct way *way)
{
	struct pending dropped[PIPELINE_MAX];
	size_t count = way->pipeline.count, moved_count = way->moved_count;
	struct delivery moved[PIPELINE_MAX];
	struct reply reply = begin_reply(way);
	char refusal[sizeof(way->handshake.refusal)];
	char failure[sizeof(way->error)];

	memcpy(dropped, way->pipeline.pending, sizeof(dropped));
	memcpy(moved, way->moved, sizeof(moved));
	way->moved_count = 0;
	memcpy(refusal, way->handshake.refusal, sizeof(refusal));
	memcpy(failure, way->error, sizeof(failure));
	reply.error = reply.error == NULL ? NULL : refusal;
	reply.failure = failure;
	reply.permanent = way->permanent;
	pipeline_empty(&way->pipeline);
	close_all(way);
	for (size_t i = 0; i < moved_count; i++) {
		reply.sent_at = CLOCK_NEVER; /* it was not run */
		reply.tag = moved[i].reply.tag;
		moved[i].on_reply(moved[i].arg, &reply);
		value_free(moved[i].received);
	}
	for (size_t i = 0; i < count; i++) {
		const struct pending *pending = &dropped[i];

		reply.sent_at = pending->sent_at;
		reply.tag = pending->tag;
		if (pending->on_reply != NULL)
			pending->on_reply(pending->arg, &reply);
	}
}

void
way_doubt(struct way *way)
{
	if (way->url->master != NULL)
		way_drop(way);
}

static bool
owes_nothing(const struct way *way)
{
	return !pipeline_is_awaited(&way->pipeline) &&
	       way->pipeline.out.length == 0;
}

/* What nobody awaits has been written, and travels. Those whose command has
 * another owner are asked again together, in their order: before that they
 * would reach the old one once more. */
static void
leave_if_stale(struct way *way)
{
	struct delivery moved[PIPELINE_MAX];
	size_t count = way->moved_count;

	if (!way->stale || !owes_nothing(way))
		return;
	memcpy(moved, way->moved, sizeof(moved));
	way->moved_count = 0;
	pipeline_empty(&way->pipeline);
	close_all(way);
	for (size_t i = 0; i < count; i++)
		pipeline_deliver(&moved[i]);
}

void
way_leave(struct way *way)
{
	way->stale = way->state != WAY_CLOSED;
	if (way->state == WAY_UP)
		leave_if_stale(way);
}

#define DEFAULT_SERVER \
	"this is the default server: name yours by -r or RLOCKRUN_REDIS"

void
way_describe(struct way *way, const char *what, const char *why,
    const char *advice)
{
	if (way->url->is_default && way->contact != WAY_HAS_ANSWERED)
		advice = DEFAULT_SERVER;
	snprintf(way->error, sizeof(way->error), "%s %.512s: %.640s%s%s%s",
	    what, way->to.label, why, advice != NULL ? " (" : "",
	    advice != NULL ? advice : "", advice != NULL ? ")" : "");
}

void
way_note_permanence(struct way *way, bool permanent)
{
	way->permanent = permanent && way->contact != WAY_HAS_ANSWERED;
}

/* The words of AUTH and of the commands wait for the next place. */
void
way_give_up(struct way *way)
{
	int64_t ends_at;
	bool others = false;

	if (way->kind->miss != NULL)
		others = way->kind->miss(way->place, &way->permanent);
	way->handshake.greet_by = CLOCK_NEVER;
	ends_at = way_ends_at(way);
	if (!others || way->state == WAY_UP ||
	    !pipeline_is_unsent(&way->pipeline) || clock_now() >= ends_at) {
		way_drop(way);
		return;
	}
	close_all(way);
	locate(way);
	way_set_timer(way);
}

void
way_give_up_soon(struct way *way)
{
	way->state = WAY_FAILED;
	loop_timer_set(way->loop, &way->timer, clock_now());
}

void
way_fail(struct way *way, const char *what, const char *why)
{
	way_describe(way, what, why, NULL);
	way_give_up(way);
}

void
way_fail_soon(struct way *way, const char *what, const char *why)
{
	way_describe(way, what, why, NULL);
	way_give_up_soon(way);
}

void
way_reject(struct way *way)
{
	way_fail(way, "unexpected answer from", "not that of our script");
}

void
way_set_timer(struct way *way)
{
	if (way->state != WAY_FAILED)
		loop_timer_set(way->loop, &way->timer,
		    clock_min(way_ends_at(way), dial_due_at(way)));
}

#define NOT_FOUND "cannot find the primary of"

static void
on_way_timer(void *arg)
{
	struct way *way = arg;

	switch (way->state) {
	case WAY_LOCATING:
		way_fail(way, NOT_FOUND, "no sentinel answers in time");
		break;
	case WAY_RESOLVING:
	case WAY_CONNECTING:
	case WAY_SECURING:
		dial_on_timer(way);
		break;
	case WAY_UP:
		way_fail(way, "no answer from", strerror(ETIMEDOUT));
		break;
	default:
		way_give_up(way);
		break;
	}
}

/* --- writing ------------------------------------------------------------ */

/* Commands wait for the TLS handshake, not for the socket. */
void
way_watch_socket(struct way *way)
{
	bool unsent = stream_has_unsent(&way->stream) ||
		      (way->state == WAY_UP && way->pipeline.out.length > 0);

	way->stream.fd.events = unsent ? POLLIN | POLLOUT : POLLIN;
}

static void
way_flush(struct way *way)
{
	struct pipeline *pipeline = &way->pipeline;
	ssize_t sent;

	if (pipeline->out.length == 0 && !stream_has_unsent(&way->stream))
		return;
	pipeline_stamp(pipeline);
	sent = stream_write(&way->stream, pipeline->out.bytes,
	    pipeline->out.length);
	/* A server that has hung up may have sent the reason before: receive()
	 * reads it in the next turn, then the end of the connection. */
	if (sent == -1 && (errno == EPIPE || errno == ECONNRESET)) {
		way->stream.fd.events = POLLIN;
		return;
	}
	if (sent == -1 && errno != EAGAIN && errno != EINTR) {
		way_note_permanence(way,
		    stream_is_permanent(&way->stream, errno));
		way_fail_soon(way, "lost the connection to",
		    stream_error(&way->stream, errno));
		return;
	}
	if (sent > 0)
		out_wrote(&pipeline->out, (size_t)sent);
	way_watch_socket(way);
}

void
way_opened(struct way *way)
{
	way->state = WAY_UP;
	way->stream.fd.events = POLLIN;
	way->received = false;
	way->reader = value_reader_new();
	if (way->reader == NULL)
		way_fail_soon(way, WAY_NO_CONNECTION, strerror(ENOMEM));
	else
		way_flush(way);
}

/* --- reading ------------------------------------------------------------ */

/* Unless the probe finds out that it speaks TLS. Some proxies hang up in place
 * of an error reply, as twemproxy does. */
#define NO_REPLY                                                         \
	"closed without a reply, perhaps by a proxy that does not know " \
	"CLIENT SETNAME"

/* error is 0 at the end of file. A TLS server mostly hangs up without an alert
 * on a client that does not begin with TLS. */
static void
on_hang_up(struct way *way, int error)
{
	bool no_reply = !way->received && !way->to.tls &&
			way->to.transport == URL_TCP &&
			way->contact != WAY_HAS_ANSWERED &&
			(error == 0 || error == ECONNRESET);
	const char *why = "closed by the server", *advice = NULL;

	rest_hang_up(&way->rest, clock_now());
	if (no_reply)
		why = NO_REPLY;
	else if (way->handshake.complaint[0] != '\0')
		why = way->handshake.complaint;
	else if (error != 0)
		why = stream_error(&way->stream, error);
	if (why == way->handshake.complaint)
		advice = reply_advise(why);
	way_note_permanence(way, stream_is_permanent(&way->stream, error));
	way_describe(way, "lost the connection to", why, advice);
	if (no_reply && dial_may_probe(way))
		dial_probe(way);
	else
		way_give_up(way);
}

/* What a value says about the server, and what is to be asked again there. */
static enum again
heed(struct way *way, const char *error)
{
	bool greets = way->pipeline.pending[0].arg == &way->handshake;
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
	return again;
}

/* A connection that is left is closed before the handler is called, so that it
 * can send to the next one. */
static void
way_deliver(struct way *way, struct value *value)
{
	struct delivery delivery = {.reply = begin_reply(way)};

	delivery.reply.again = heed(way, value_error(value));
	pipeline_take(&way->pipeline, value, &delivery);
	if (delivery.reply.again == AGAIN_AT_OWNER &&
	    delivery.on_reply != NULL && way->moved_count < PIPELINE_MAX &&
	    !owes_nothing(way)) {
		way->moved[way->moved_count++] = delivery;
		return;
	}
	leave_if_stale(way);
	pipeline_deliver(&delivery);
	if (way->handshake.misfit != NULL)
		way_fail(way, "cannot use", way->handshake.misfit);
	else if (way->state == WAY_UP && handshake_hangs_up(&way->handshake))
		on_hang_up(way, 0);
}

/* The reader may go while a handler runs, when that gives the connection up. */
static void
take_bytes(struct way *way, const char *in, size_t length)
{
	const char *other = value_reader_is_empty(way->reader)
				? probe_recognize(in, length)
				: NULL;

	way->received = true;
	if (other != NULL) {
		way_note_permanence(way, true);
		way_fail(way, WAY_NOT_REDIS, other);
	} else if (value_reader_feed(way->reader, in, length) == -1) {
		way_fail(way, "cannot read from", strerror(ENOMEM));
	}
	while (way->state == WAY_UP) {
		struct value *value;
		int parsed = value_reader_next(way->reader,
		    pipeline_limits(&way->pipeline), &value);

		if (parsed == 0)
			break;
		if (parsed == -1) {
			way_fail(way, WAY_NOT_REDIS,
			    value_reader_error(way->reader));
		} else if (way->pipeline.count > 0) {
			way_deliver(way, value);
		} else {
			value_free(value);
			way_fail(way, WAY_NOT_REDIS,
			    "it sends what was not asked for");
		}
	}
}

/* What TLS has read ahead makes no socket ready. */
static void
receive(struct way *way)
{
	char in[READ_BYTES];

	do {
		ssize_t got = stream_read(&way->stream, in, sizeof(in));
		if (got == -1 && (errno == EAGAIN || errno == EINTR))
			break;
		if (got <= 0) {
			on_hang_up(way, got == 0 ? 0 : errno);
			return;
		}
		take_bytes(way, in, (size_t)got);
	} while (way->state == WAY_UP && stream_has_unread(&way->stream));
	if (way->state == WAY_UP)
		way_watch_socket(way);
}

static void
on_way_socket(void *arg, short revents)
{
	struct way *way = arg;

	if (way->state == WAY_FAILED)
		return;
	if (way->state == WAY_SECURING) {
		dial_on_socket(way);
	} else {
		if (revents & POLLOUT)
			way_flush(way);
		if (revents & ~POLLOUT)
			receive(way);
	}
	if (way->state == WAY_UP)
		leave_if_stale(way);
	way_set_timer(way);
}

/* --- finding ------------------------------------------------------------ */

static void
locate(struct way *way)
{
	way->permanent = false;
	way->handshake.greet_by = CLOCK_NEVER;
	if (way->kind->locate == NULL) {
		dial_start(way);
		return;
	}
	way->to.label = way->url->label;
	way->state = WAY_LOCATING;
	way->kind->locate(way->place, way_ends_at(way));
}

void
way_found(struct way *way, const char *host, int port, int64_t greeted_by)
{
	const struct endpoint *url = way->url;

	snprintf(way->host, sizeof(way->host), "%s", host);
	way->to.host = way->host;
	way->to.port = port;
	way->to.label = way->label;
	endpoint_describe(&way->to, url->cluster ? "cluster" : url->master,
	    way->label, sizeof(way->label));
	way->handshake.greet_by = greeted_by;
	dial_start(way);
	way_set_timer(way);
}

void
way_not_found(struct way *way, const char *why, bool refused, bool permanent)
{
	if (refused && (permanent || way->contact != WAY_HAS_ANSWERED))
		handshake_refuse(&way->handshake, why);
	way_note_permanence(way, permanent || refused);
	way_fail_soon(way, NOT_FOUND, why);
}

/* --- sending ------------------------------------------------------------ */

/* AUTH has just been formatted. */
static void
way_open(struct way *way, const struct command *command)
{
	secret_wipe_stack();
	rest_open(&way->rest, clock_now());
	way->dial.counts_until = command->counts_until > 0
				     ? command->counts_until
				     : command->deadline;
	locate(way);
}

static int
add_handshake(struct way *way, int64_t deadline)
{
	struct handshake_steps steps;

	handshake_begin(&way->handshake, &steps, &way->to, deadline);
	for (size_t i = 0; i < steps.count; i++)
		if (pipeline_add(&way->pipeline, &steps.commands[i]) == -1)
			return -1;
	return 0;
}

int
way_send(struct way *way, const struct command *commands, size_t count)
{
	size_t queued, length;
	bool opening, failed;

	if (commands[count - 1].again == AGAIN_ASKING &&
	    way->kind->asked != NULL)
		way = way->kind->asked(way->place);
	queued = way->pipeline.count;
	length = way->pipeline.out.length;
	opening = way->state == WAY_CLOSED;
	failed = opening && add_handshake(way, commands[0].deadline) == -1;
	for (size_t i = 0; i < count && !failed; i++)
		failed = pipeline_add(&way->pipeline, &commands[i]) == -1;
	if (failed) {
		pipeline_cut(&way->pipeline, queued, length);
		snprintf(way->error, sizeof(way->error), "%s",
		    strerror(ENOMEM));
		return -1;
	}
	if (opening)
		way_open(way, &commands[0]);
	else if (way->state == WAY_UP && !commands[count - 1].more)
		way_flush(way);
	way_set_timer(way);
	return 0;
}
