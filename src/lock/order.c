/* Whether the holder is to stop, for --replaceable: the first waiter has said
 * so in :i, which is looked at from time to time. */
#include <string.h>

#include "lock/contact.h"
#include "lock/lock.h"

enum { LOOK_MS = 1000, REPLY_MS = 10000 };

static void
ask_for_order(struct lock *lock)
{
	lock->order.is_out = contact_ask(lock, request_order, lock_on_reply,
				 clock_now() + REPLY_MS) == 0;
}

/* Ignores an order for another holder; a reply that is none has no token. Who
 * is ordered is not asked again. */
void
order_note(struct lock *lock, const struct lock_reply *heard)
{
	lock->order.is_out = false;
	if (lock_phase(lock) != LOCK_HELD)
		return;
	if (lock_judge(lock, heard) == ON_AGAIN) {
		lock_follow(lock, &(struct lock_news){.heard = heard});
		ask_for_order(lock);
	} else if (heard->verdict == VERDICT_AGAIN) {
		contact_note_trouble(lock, heard);
	}
	if (strcmp(heard->answer.ordered, lock->claim.token) != 0)
		return;
	lock->order.by = heard->answer.by;
	lock->order.ordered = true;
}

/* Not asked again while the reply is missing. */
static void
on_order_due(void *arg)
{
	struct lock *lock = arg;

	if (lock_phase(lock) != LOCK_HELD || lock->order.ordered)
		return;
	if (!lock->order.is_out)
		ask_for_order(lock);
	loop_timer_set(lock->loop, &lock->order.timer, clock_now() + LOOK_MS);
}

/* The outer run obeys for those that are nested in it. */
void
order_begin(struct lock *lock)
{
	if (!lock->config->replaceable || lock->claim.outer != NULL)
		return;
	lock->order.timer =
	    (struct loop_timer){.on_due = on_order_due, .arg = lock};
	loop_timer_set(lock->loop, &lock->order.timer, clock_now() + LOOK_MS);
}
