/* A waiter with a place in the queue: waits for its next try, on its doorbell
 * if it can. A doorbell only hints that it is time for one. */
#include "lock/contact.h"
#include "lock/lock.h"

enum lock_event
bell_send(struct lock *lock)
{
	int64_t ms = queue_wait_ms(&lock->queue, &lock->holder);
	int64_t deadline = clock_now() + ms + lock->pace.patience_ms;
	struct request request;

	lock_due_at(lock, clock_now() + ms);
	if (lock->queue.way != QUEUE_DOORBELL) {
		lock->pace.again = AGAIN_NO;
		return ON_LATER;
	}
	request_doorbell(&request, &lock->claim, ms);
	if (contact_send(lock->link, &request, lock_on_reply, deadline) == -1) {
		lock_due_at(lock, clock_now() + CONTACT_BACKOFF_MIN_MS);
		return ON_LATER;
	}
	lock_due_at(lock, CLOCK_NEVER);
	return ON_NOTHING;
}

void
bell_note_ring(struct lock *lock, const struct lock_news *news)
{
	if (news->event == ON_FRACTION)
		lock->queue.whole_seconds = true;
	else if (answer_is_ring(news->heard->reply.value))
		lock->queue.watches_head = true;
}

void
bell_lose(struct lock *lock, const struct lock_news *news)
{
	contact_note_error(lock, "error from", news->heard->reply.label,
	    value_error(news->heard->reply.value));
	contact_lose_queue(lock);
	lock_due_at(lock, clock_now() + queue_refuse_doorbell(&lock->queue));
}
