/* TLS on the connection of a way, and whether one side speaks it only: a server
 * without TLS waits in silence for the rest of a TLS greeting, and one with TLS
 * hangs up on anything else, both without a word.
 *
 * A failure that could mean that goes by way of PROBING, once: on a connection
 * of its own the address is asked whether it speaks the other language, by a
 * few bytes that such a server answers at once. A TLS handshake that takes long
 * asks at the same time. */
#ifndef SECURE_H
#define SECURE_H

#include <stdbool.h>

#include "redis/way_parts.h"

/* Redis without TLS sends nothing back to a TLS greeting: it waits for the end
 * of a line. */
#define SECURE_NO_ANSWER \
	"no answer to the TLS handshake, perhaps it does not speak TLS"

/* SECURING: the connection is up when the TLS handshake is done. */
void secure_start(struct way *way);

/* Whether the address should be asked, and asks it, for a second. In the state
 * PROBING the way fails with what comes of it. Cancelling is allowed at any
 * time. */
bool secure_may_probe(const struct way *way);
void secure_probe(struct way *way);
void secure_cancel_probe(struct way *way);

#endif
