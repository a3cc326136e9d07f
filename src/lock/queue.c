#include "lock/queue.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/dice.h"
#include "lock/limit.h"

enum { POLL_MIN_MS = 50, POLL_MAX_MS = 250 };
enum { FOREIGN_MIN_MS = 100, FOREIGN_MAX_MS = 500 };
enum { AFTER_END_MS = 100 };

void
queue_init(struct queue *queue)
{
	*queue = (struct queue){.position = -1, .poll_ms = FOREIGN_MIN_MS};
}

/* The first waiters wake one after the other when the lease ends: nobody
 * notifies them if the holder has died. */
static int64_t
heartbeat_ms(const struct queue *queue, const struct holder *holder)
{
	static const int64_t after_end_ms[] = {2, 50, AFTER_END_MS};
	const int64_t first = sizeof(after_end_ms) / sizeof(*after_end_ms);
	int64_t after_ms = queue->position < first
			       ? after_end_ms[queue->position]
			       : AFTER_END_MS;
	int64_t beat = queue->position < LIMIT_NEXT_POSITIONS
			   ? LIMIT_HEARTBEAT_NEXT_MS
			   : LIMIT_HEARTBEAT_MS;
	int64_t ms = dice_between(beat - beat / 10, beat + beat / 10);

	/* A waiter is not dead before three heartbeats. */
	if (queue->whole_seconds && ms < 1000)
		ms = 1000;
	if ((queue->position >= first && !queue->watches_head) ||
	    holder->left_ms < 0)
		return ms;
	return clock_min(ms, holder->left_ms + after_ms);
}

/* Rounded down. The head must notice the end of the lease, and the next ones
 * that the lock is free and its head does not come. Nobody else has to be in
 * time: a doorbell for a whole second is better than none. */
static int64_t
to_whole_seconds(struct queue *queue, const struct holder *holder, int64_t ms)
{
	if (ms >= 1000)
		return ms - ms % 1000;
	if (queue->position > 0 && !holder->others_queued)
		return 1000;
	queue->way = QUEUE_LAST_SECOND;
	return queue->position == 0 ? clock_min(ms, POLL_MIN_MS) : ms;
}

int64_t
queue_wait_ms(struct queue *queue, const struct holder *holder)
{
	int64_t ms = queue->poll_ms;

	if (queue->position == -1)
		queue->way = QUEUE_OUTSIDE;
	else if (queue->way != QUEUE_NO_DOORBELL)
		queue->way =
		    queue->position == 0 && holder->state == HOLDER_FOREIGN
			? QUEUE_FOREIGN
			: QUEUE_DOORBELL;
	if (!holder->others_queued)
		queue->watches_head = false;
	if (queue->way == QUEUE_DOORBELL) {
		queue->poll_ms = FOREIGN_MIN_MS;
		ms = heartbeat_ms(queue, holder);
		return queue->whole_seconds
			   ? to_whole_seconds(queue, holder, ms)
			   : ms;
	}
	if (queue->way == QUEUE_FOREIGN) {
		queue->poll_ms = clock_min(ms * 2, FOREIGN_MAX_MS);
		ms = dice_between(ms - ms / 5, ms);
	} else {
		ms = dice_between(POLL_MIN_MS, POLL_MAX_MS);
	}
	return holder->left_ms < 0 ? ms : clock_min(ms, holder->left_ms + 2);
}

int64_t
queue_refuse_doorbell(struct queue *queue)
{
	queue->way = QUEUE_NO_DOORBELL;
	return POLL_MIN_MS;
}
