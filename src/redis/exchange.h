/* On a connection that is up: commands are written, and replies are read and
 * delivered. */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include "redis/way_parts.h"

/* The connection is ready: what waits is written. */
void exchange_begin(struct way *way);

/* Writes what waits, as much as the socket takes. */
void exchange_flush(struct way *way);

/* Closes a connection that is stale, unless it owes a reply or has something to
 * write. What nobody awaits has been written, and travels. */
void exchange_leave(struct way *way);

#endif
