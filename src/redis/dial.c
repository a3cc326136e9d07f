#include "redis/dial.h"

#include <errno.h>
#include <string.h>

#include "redis/exchange.h"
#include "redis/tls/secure.h"

#define NO_NAME "cannot resolve"

void
dial_cancel(struct way *way)
{
	if (way->state == WAY_RESOLVING)
		resolve_cancel(&way->dial.resolve);
	race_cancel(&way->dial.race);
	secure_cancel_probe(way);
	stream_close(&way->stream);
}

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
		way_note_permanence(way, resolve_is_permanent(answer->error));
		way_fail(way, NO_NAME, resolve_failure(answer->error),
		    resolve_advice(answer->error));
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
		way_fail_soon(way, NO_NAME, strerror(errno), NULL);
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
	way->dial.probe =
	    (struct stream){.loop = way->loop, .fd = {.fd = -1, .arg = way}};
	way->dial.race = (struct race){.loop = way->loop,
	    .winner = &way->stream,
	    .on_end = on_raced,
	    .arg = way};
}

/* The end, a probe, or the addresses that are left. */
void
dial_on_timer(struct way *way)
{
	bool is_securing = way->state == WAY_SECURING;
	const char *why = is_securing ? SECURE_NO_ANSWER : strerror(ETIMEDOUT);
	const char *advice = is_securing ? NULL : stream_advice(ETIMEDOUT);

	if (way->state == WAY_RESOLVING) {
		way_fail(way, NO_NAME, "the name server does not answer",
		    RESOLVE_CHECK_DNS);
	} else if (clock_now() >= way_ends_at(way)) {
		way_fail(way, WAY_NO_CONNECTION, why, advice);
	} else if (clock_now() < way->dial.secure_by) {
		secure_probe(way);
		way_set_timer(way);
	} else {
		way_describe(way, WAY_NO_CONNECTION, why, advice);
		dial_cancel(way);
		connect_to_any(way);
	}
}
