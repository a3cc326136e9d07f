/* From a place to a connection that is up: the name is resolved, the addresses
 * are tried in turn, and TLS is set up, as tls/secure.h says. */
#ifndef DIAL_H
#define DIAL_H

#include "redis/way_parts.h"

void dial_init(struct way *way);

/* To the place in way->to. Failures are reported in the next turn. */
void dial_start(struct way *way);
void dial_cancel(struct way *way);

/* The time is over in a state before UP. */
void dial_on_timer(struct way *way);

#endif
