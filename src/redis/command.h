/* A command on its way to a server: filled in once, by whoever asks, and
 * encoded when it is sent. Until then it and its words may live on the stack.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/reply.h"
#include "redis/script.h"
#include "redis/value.h"

struct command {
	const struct script *script; /* NULL: a plain command */
	/* The list ends with NULL. With a script what follows it: the number of
	 * keys, the keys, the arguments. */
	const char *const *words;
	int64_t deadline; /* absolute: connecting and answer together */
	/* Until then the answer counts, which may also come later; 0: until the
	 * deadline. All addresses of the server are tried in time for it. */
	int64_t counts_until;
	/* Called once, by the loop or inside a call that gives the connection
	 * up (way_drop, way_doubt, way_reject), never inside way_send. NULL:
	 * the reply does not matter. Then a script travels as a text, as nobody
	 * could ask again. */
	reply_handler *on_reply;
	void *arg;
	int tag; /* given back in the reply */
	/* Of its answer; 0, 0: what suits commands about one lock. */
	struct value_limits limits;
	/* What the reply to the same command has asked for; AGAIN_AS_TEXT:
	 * there is no time for NOSCRIPT. */
	enum again again;
	bool more; /* another one is sent at once: one write for both */
	/* Above 0: WAIT for so many replicas, at most so long, follows in the
	 * same write. on_reply is called when both are answered. */
	int replicas;
	int64_t replicas_ms;
};

#endif
