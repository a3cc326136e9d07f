/* The parts of a way, and how it fails: for way.c, exchange.c and tls/secure.c.
 */
#ifndef WAY_PARTS_H
#define WAY_PARTS_H

#include "redis/handshake.h"
#include "redis/names/race.h"
#include "redis/names/resolve.h"
#include "redis/pipeline.h"
#include "redis/stream.h"
#include "redis/url.h"

struct way_kind;

enum { WAY_LABEL_MAX = 1024, WAY_HOST_MAX = 256 };

enum way_state {
	WAY_CLOSED,
	WAY_LOCATING,
	WAY_RESOLVING,
	WAY_CONNECTING,
	WAY_SECURING,
	WAY_UP,
	WAY_PROBING, /* why it failed: see tls/secure.c */
	/* A failure that was found while a command was being sent is reported
	 * by a timer that is due at once, so that no handler runs inside
	 * way_send. */
	WAY_FAILED,
};

/* What is known about the server, on whatever connection. */
enum way_contact { WAY_NEVER_MET, WAY_PROBED, WAY_HAS_ANSWERED };

/* What is needed until the connection is up. */
struct dial {
	struct resolve resolve;
	struct race race;
	int64_t counts_until; /* of the command that opens the connection */
	int64_t secure_by;    /* a TLS handshake, before the next address */
	/* SECURING: if the TLS handshake is not answered until then; PROBING:
	 * the answer to the probe is not awaited longer. */
	int64_t probe_at;
	struct stream probe;
};

struct way {
	struct loop *loop;
	const struct endpoint *url;
	const struct way_kind *kind;
	void *place;	    /* of the kind */
	struct endpoint to; /* the URL, or what was found; borrows from it */
	char host[WAY_HOST_MAX];
	char label[WAY_LABEL_MAX];
	enum way_state state;
	enum way_contact contact;
	bool permanent; /* the last failure will happen again */
	bool stale;	/* find the server anew when no reply is awaited */
	struct dial dial;
	int64_t opened_at;
	int64_t rest_ms; /* the last pause; 0: there was none */
	int64_t rests_until;
	struct stream stream;
	struct loop_timer timer;
	struct handshake handshake;
	struct pipeline pipeline;
	struct value_reader *reader;
	char error[REPLY_FAILURE_MAX];
};

#define WAY_NO_CONNECTION "cannot connect to"
#define WAY_NOT_REDIS "no Redis server at"

/* Ends the connection, or what is done for one. No handler is called. */
void way_close(struct way *way);
/* The same, and gives all that are unanswered a reply: that they were answered
 * by this error, which names another owner, and are to be asked again, or
 * nothing (NULL). */
void way_end(struct way *way, const char *moved);

/* When the first of the commands, or the greeting, must be answered. */
int64_t way_ends_at(const struct way *way);
void way_set_timer(struct way *way);

/* Says why it fails. The advice may be NULL. */
void way_describe(struct way *way, const char *what, const char *why,
    const char *advice);
/* Never once the server has answered, as the cause may be undone. */
void way_note_permanence(struct way *way, bool permanent);

/* Fails, as was described. */
void way_give_up(struct way *way);
/* Both, at once or in the next turn. */
void way_fail(struct way *way, const char *what, const char *why,
    const char *advice);
void way_fail_soon(struct way *way, const char *what, const char *why,
    const char *advice);

/* The other side has ended the connection: an errno, or 0 at the end of file.
 */
void way_hang_up(struct way *way, int error);

/* --- exchange.c: on a connection that is up ------------------------------ */

/* The connection is ready: what waits is written. */
void exchange_begin(struct way *way);

/* Writes what waits, as much as the socket takes. */
void exchange_flush(struct way *way);

/* Closes a connection that is stale, unless it owes a reply or has something to
 * write. What nobody awaits has been written, and travels. */
void exchange_leave(struct way *way);

/* --- tls/secure.c: TLS, and whether one side speaks it only --------------- */

/* Redis without TLS sends nothing back to a TLS greeting: it waits for the end
 * of a line. */
#define SECURE_NO_ANSWER \
	"no answer to the TLS handshake, perhaps it does not speak TLS"

/* SECURING: the connection is up when the TLS handshake is done. */
void secure_start(struct way *way);

/* Whether the address should be asked, and asks it. In the state PROBING that
 * has a second, and the way fails with what comes of it. */
bool secure_may_probe(const struct way *way);
void secure_probe(struct way *way);

#endif
