/* How a waiter waits for its next try. Pure but for chance. See QUEUE
 * AND DOORBELLS in rlockrun-protocol(7). */
#ifndef QUEUE_H
#define QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/holder.h"

enum queue_way {
	/* No position in the queue: polls. */
	QUEUE_OUTSIDE,
	/* Has a position and blocks on its doorbell. */
	QUEUE_DOORBELL,
	/* Head of the queue, behind another client's lock: its release notifies
	 * nobody, so the waiter polls, less and less often. */
	QUEUE_FOREIGN,
	/* Has a position, but the server refuses the doorbell: polls. */
	QUEUE_NO_DOORBELL,
	/* Has a position and less than a second to wait, but the server blocks
	 * for whole seconds: the head polls, others just wait. */
	QUEUE_LAST_SECOND,
};

struct queue {
	enum queue_way way;
	int64_t position; /* from 0; -1: none */
	int64_t length;
	int64_t poll_ms; /* of QUEUE_FOREIGN */
	/* Notices if the head misses its second. To be set when this waiter was
	 * rung, or has to notify others: if there are others ahead of it, these
	 * may be dead. */
	bool watches_head;
	/* Before Redis 6 a server knows no timeout with a fraction. */
	bool whole_seconds;
};

void queue_init(struct queue *queue);

/* Chooses the way to wait, given the reply to the last try, and returns how
 * long until the next one at the latest. Each try is a heartbeat, too. */
int64_t queue_wait_ms(struct queue *queue, const struct holder *holder);

/* The server does not permit the doorbell; returns how long until the next try.
 */
int64_t queue_refuse_doorbell(struct queue *queue);

#endif
