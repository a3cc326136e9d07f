/* From a place to a connection that is up: the name is resolved, the addresses
 * are tried in turn, and TLS is set up.
 *
 * A failure that could mean that TLS is spoken on one side only goes by way of
 * PROBING, once: the address is asked whether it speaks the other language. A
 * TLS handshake that takes long asks at the same time. */
#ifndef DIAL_H
#define DIAL_H

#include "redis/way_parts.h"

void dial_init(struct way *way);

/* To the place in way->to. Failures are reported in the next turn. */
void dial_start(struct way *way);
void dial_cancel(struct way *way);

/* The time is over in a state before UP. */
void dial_on_timer(struct way *way);

/* When the timer is due before the deadline of a command. */
int64_t dial_due_at(const struct way *way);

/* Whether the address should be probed, after a hang-up. */
bool dial_may_probe(const struct way *way);
void dial_probe(struct way *way);

#endif
