#include "redis/way.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dice.h"
#include "base/secret.h"
#include "redis/socket.h"
#include "redis/tls/tls_stream.h"
#include "redis/way_kind.h"
#include "redis/way_parts.h"

/* A connection that is shorter does not last; and the pauses after it. */
enum { SOON_MS = 1000, REST_MIN_MS = 100, REST_MAX_MS = 1000 };

const struct way_kind way_address = {.locate = NULL};

static void on_way_timer(void *arg);
static void on_raced(void *arg, int error);
static void on_resolved(void *arg, const struct resolve_answer *answer);
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
	way->stream =
	    (struct stream){.loop = loop, .fd = {.fd = -1, .arg = way}};
	way->dial.resolve = (struct resolve){.loop = way->loop,
	    .on_answer = on_resolved,
	    .arg = way};
	way->dial.probe =
	    (struct stream){.loop = way->loop, .fd = {.fd = -1, .arg = way}};
	way->dial.race = (struct race){.loop = way->loop,
	    .winner = &way->stream,
	    .on_end = on_raced,
	    .arg = way};
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
cancel_dial(struct way *way)
{
	if (way->state == WAY_RESOLVING)
		resolve_cancel(&way->dial.resolve);
	race_cancel(&way->dial.race);
	stream_close(&way->dial.probe);
	stream_close(&way->stream);
}

void
way_close(struct way *way)
{
	if (way->state == WAY_LOCATING && way->kind->cancel != NULL)
		way->kind->cancel(way->place);
	cancel_dial(way);
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
	way_close(way);
	pipeline_fini(&way->pipeline);
	secret_free(way->handshake.password);
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
way_has_moved(const struct way *way, const struct way *from)
{
	return way->kind->has_moved != NULL && from->kind == way->kind &&
	       way->kind->has_moved(way->place, from->place);
}

int64_t
way_rests_until(const struct way *way)
{
	bool lasts =
	    way->state == WAY_UP && clock_now() - way->opened_at >= SOON_MS;

	return lasts ? 0 : way->rests_until;
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
	return way->state == WAY_UP &&
	       socket_address(way->stream.fd.fd, text, size);
}

bool
way_describe_tls(const struct way *way, struct tls_session *session)
{
	return way->state == WAY_UP &&
	       tls_stream_describe(way->stream.tls, session);
}

int64_t
way_ends_at(const struct way *way)
{
	return clock_min(pipeline_deadline(&way->pipeline),
	    way->handshake.greet_by);
}

/* --- giving up ---------------------------------------------------------- */

/* A handler may send anew, which changes all that a reply points at: so that is
 * copied before. */
void
way_end(struct way *way, const char *moved)
{
	struct pipeline left = way->pipeline;
	struct reply reply = handshake_reply(&way->handshake, way->to.label);
	char refusal[sizeof(way->handshake.refusal)];
	char failure[sizeof(way->error)];

	memcpy(refusal, way->handshake.refusal, sizeof(refusal));
	memcpy(failure, way->error, sizeof(failure));
	if (reply.kind == REPLY_NO_ACCESS) {
		reply.error = refusal;
	} else if (moved != NULL) {
		reply.kind = REPLY_ERROR;
		reply.error = moved;
	}
	reply.again = moved != NULL ? AGAIN_AT_OWNER : AGAIN_NO;
	reply.failure = failure;
	reply.permanent = way->permanent;
	pipeline_empty(&way->pipeline);
	way_close(way);
	for (size_t i = 0; i < left.count; i++) {
		const struct pending *pending = &left.pending[i];

		reply.sent_at = pending->sent_at;
		reply.tag = pending->tag;
		if (pending->on_reply != NULL)
			pending->on_reply(pending->arg, &reply);
	}
}

void
way_drop(struct way *way)
{
	way_end(way, NULL);
}

void
way_doubt(struct way *way)
{
	if (way->url->master != NULL)
		way_drop(way);
}

void
way_leave(struct way *way)
{
	way->stale = way->state != WAY_CLOSED;
	if (way->state == WAY_UP)
		exchange_leave(way);
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
	way_close(way);
	locate(way);
	way_set_timer(way);
}

void
way_fail(struct way *way, const char *what, const char *why, const char *advice)
{
	way_describe(way, what, why, advice);
	way_give_up(way);
}

void
way_fail_soon(struct way *way, const char *what, const char *why,
    const char *advice)
{
	way_describe(way, what, why, advice);
	way->state = WAY_FAILED;
	loop_timer_set(way->loop, &way->timer, clock_now());
}

/* Unless the probe finds out that it speaks TLS. Some proxies hang up in place
 * of an error reply, as twemproxy does. */
#define NO_REPLY                                                         \
	"closed without a reply, perhaps by a proxy that does not know " \
	"CLIENT SETNAME"

/* A server, or a proxy, that hangs up soon after it has accepted would
 * otherwise get a storm of connections: no retry backs off that has a reply to
 * each first command. */
static void
begin_rest(struct way *way)
{
	int64_t now = clock_now();

	if (now - way->opened_at >= SOON_MS) {
		way->rest_ms = way->rests_until = 0;
		return;
	}
	way->rest_ms = way->rest_ms == 0
			   ? REST_MIN_MS
			   : clock_min(way->rest_ms * 2, REST_MAX_MS);
	way->rests_until =
	    now + dice_between(way->rest_ms - way->rest_ms / 5, way->rest_ms);
}

/* A TLS server mostly hangs up without an alert on a client that does not begin
 * with TLS. */
void
way_hang_up(struct way *way, int error)
{
	bool no_reply = value_reader_is_empty(way->reader) && !way->to.tls &&
			way->to.transport == URL_TCP &&
			way->contact != WAY_HAS_ANSWERED &&
			(error == 0 || error == ECONNRESET);
	const char *why = "closed by the server", *advice = NULL;

	begin_rest(way);
	if (no_reply) {
		why = NO_REPLY;
	} else if (way->handshake.complaint[0] != '\0') {
		why = way->handshake.complaint;
		advice = reply_advise(why);
	} else if (error != 0) {
		why = tls_stream_error(way->stream.tls, error);
	}
	way_note_permanence(way,
	    tls_stream_is_permanent(way->stream.tls, error));
	way_describe(way, "lost the connection to", why, advice);
	if (!no_reply || !secure_may_probe(way)) {
		way_give_up(way);
		return;
	}
	cancel_dial(way);
	way->state = WAY_PROBING;
	secure_probe(way);
}

void
way_reject(struct way *way)
{
	way_fail(way, "unexpected answer from", "not that of our script", NULL);
}

void
way_set_timer(struct way *way)
{
	int64_t at = way_ends_at(way);

	if (way->state == WAY_SECURING)
		at = clock_min(at, way->dial.secure_by);
	if (way->state == WAY_SECURING || way->state == WAY_PROBING)
		at = clock_min(at, way->dial.probe_at);
	if (way->state != WAY_FAILED)
		loop_timer_set(way->loop, &way->timer, at);
}

/* --- dialling ----------------------------------------------------------- */

#define NO_NAME "cannot resolve"

static void
on_raced(void *arg, int error)
{
	struct way *way = arg;

	if (error != 0)
		way_fail_soon(way, WAY_NO_CONNECTION, strerror(error),
		    stream_advice(error));
	else if (way->to.tls)
		secure_start(way);
	else
		exchange_begin(way);
	way_set_timer(way);
}

static void
connect_to_any(struct way *way)
{
	way->state = WAY_CONNECTING;
	race_go(&way->dial.race,
	    clock_min(way->dial.counts_until, way_ends_at(way)));
	way_set_timer(way);
}

static void
on_resolved(void *arg, const struct resolve_answer *answer)
{
	struct way *way = arg;
	const char *why, *advice;
	bool permanent;

	way->state = WAY_CONNECTING;
	if (answer->error != 0) {
		why = resolve_failure(answer->error, &advice, &permanent);
		way_note_permanence(way, permanent);
		way_fail(way, NO_NAME, why, advice);
		return;
	}
	race_enter(&way->dial.race, answer);
	connect_to_any(way);
}

static void
dial(struct way *way)
{
	way->state = WAY_RESOLVING;
	if (resolve_start(&way->dial.resolve, &way->to) == -1)
		way_fail_soon(way, NO_NAME, strerror(errno), NULL);
}

/* The end, a probe, or the addresses that are left. */
static void
on_dial_timer(struct way *way)
{
	bool is_securing = way->state == WAY_SECURING;
	const char *why = is_securing ? SECURE_NO_ANSWER : strerror(ETIMEDOUT);
	const char *advice = is_securing ? NULL : stream_advice(ETIMEDOUT);

	if (clock_now() >= way_ends_at(way)) {
		way_fail(way, WAY_NO_CONNECTION, why, advice);
	} else if (clock_now() < way->dial.secure_by) {
		secure_probe(way);
		way_set_timer(way);
	} else {
		way_describe(way, WAY_NO_CONNECTION, why, advice);
		cancel_dial(way);
		connect_to_any(way);
	}
}

#define NOT_FOUND "cannot find the primary of"

static void
on_way_timer(void *arg)
{
	struct way *way = arg;

	switch (way->state) {
	case WAY_LOCATING:
		way_fail(way, NOT_FOUND, "no sentinel answers in time", NULL);
		break;
	case WAY_RESOLVING:
		way_fail(way, NO_NAME, "the name server does not answer",
		    RESOLVE_CHECK_DNS);
		break;
	case WAY_CONNECTING:
	case WAY_SECURING:
		on_dial_timer(way);
		break;
	case WAY_UP:
		way_fail(way, "no answer from", strerror(ETIMEDOUT), NULL);
		break;
	default:
		way_give_up(way);
		break;
	}
}

/* --- finding ------------------------------------------------------------ */

static void
locate(struct way *way)
{
	way->permanent = false;
	way->handshake.greet_by = CLOCK_NEVER;
	if (way->kind->locate == NULL) {
		dial(way);
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
	dial(way);
	way_set_timer(way);
}

void
way_not_found(struct way *way, const char *why, bool refused, bool permanent)
{
	if (refused && (permanent || way->contact != WAY_HAS_ANSWERED))
		handshake_refuse(&way->handshake, why);
	way_note_permanence(way, permanent || refused);
	way_fail_soon(way, NOT_FOUND, why, NULL);
}

/* --- sending ------------------------------------------------------------ */

/* The words of AUTH are formatted when it opens: the stack is wiped. */
int
way_send(struct way *way, const struct command *command)
{
	size_t queued, length;
	bool opening;

	if (command->again == AGAIN_ASKING && way->kind->asked != NULL)
		way = way->kind->asked(way->place);
	queued = way->pipeline.count;
	length = way->pipeline.out_length;
	opening = way->state == WAY_CLOSED;
	if ((opening && handshake_send(&way->handshake, &way->pipeline,
			    &way->to, command->deadline) == -1) ||
	    pipeline_add(&way->pipeline, command) == -1) {
		pipeline_cut(&way->pipeline, queued, length);
		snprintf(way->error, sizeof(way->error), "%s",
		    strerror(ENOMEM));
		return -1;
	}
	if (opening) {
		secret_wipe_stack();
		way->opened_at = clock_now();
		way->dial.counts_until = command->counts_until > 0
					     ? command->counts_until
					     : command->deadline;
		locate(way);
	} else if (way->state == WAY_UP && !command->more) {
		exchange_flush(way);
	}
	way_set_timer(way);
	return 0;
}
