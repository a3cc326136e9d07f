/* How a server is found: what an address, sentinels and the slot of a cluster
 * have different, and what they say to the way that asks them. */
#ifndef WAY_KIND_H
#define WAY_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "redis/handshake.h"
#include "redis/reply.h"
#include "redis/url.h"

struct way;

/* Any member may be NULL: then the URL is the only place, which is never left.
 */
struct way_kind {
	/* Returns what the other functions get, NULL when memory is out. */
	void *(*begin)(struct way *way, struct loop *loop,
	    const struct endpoint *url, const char *key);
	void (*end)(void *place);
	/* Each time that the way opens: answers by way_found or way_not_found,
	 * perhaps before it returns, in time for the deadline. */
	void (*locate)(void *place, int64_t deadline);
	void (*cancel)(void *place); /* NULL if locate answers at once */
	struct greeting greeting;    /* judge gets the place */
	/* What the answer to a command says about the place; error is NULL if
	 * it is a value. After AGAIN_AT_OWNER the connection is left, as it is
	 * after an error which is doubtful: reply_is_doubtful. */
	enum again (*heed)(void *place, const char *error);
	/* That place did not answer, nor will it the next time if permanent:
	 * set to whether that is true of all places. Returns whether another
	 * one is to be tried. */
	bool (*miss)(void *place, bool *permanent);
	/* The way for a command after AGAIN_ASKING. */
	struct way *(*asked)(void *place);
	/* See way_has_moved. */
	bool (*has_moved)(const void *place, const void *from);
};

extern const struct way_kind way_address, way_sentinels, way_slot;

/* A way of that kind, whose place is there already. */
struct way *way_new_of(struct loop *loop, const struct endpoint *url,
    const struct way_kind *kind, void *place);

/* greeted_by: CLOCK_NEVER, or when the greeting must be answered, so that there
 * is time for another server. */
void way_found(struct way *way, const char *host, int port, int64_t greeted_by);

/* refused: by all that answered and might know the server, which is a refusal
 * unless the server has answered before and others might know it, too.
 * permanent: nor will it be found the next time. */
void way_not_found(struct way *way, const char *why, bool refused,
    bool permanent);

/* Has the server found anew, as soon as no reply is awaited from this one. */
void way_leave(struct way *way);

/* Whether no command is unanswered. */
bool way_is_idle(const struct way *way);

#endif
