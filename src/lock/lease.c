/* What a held lock does: it is renewed, or lost, or somebody asks for it. See
 * THE LEASE in rlockrun-protocol(7). */
#include "lock/lock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/dice.h"
#include "lock/contact.h"
#include "redis/reply.h"
#include "redis/way.h"

/* A renewal is sent after that part of the ttl. The first one of a vote is
 * early: others may have been silent, or have voted for a contender that has
 * withdrawn since, and until they get the lock, too, it may not outlive the
 * loss of one of the others. */
enum { PART = 3, FIRST_PART = 10 };
/* An order to stop is looked for so often. */
enum { LOOK_MS = 1000, REPLY_MS = 10000 };

int64_t
lease_valid_until(int64_t sent_at, int64_t ttl_ms)
{
	return sent_at + ttl_ms - (ttl_ms / 100 + 2);
}

void
lease_prove(struct lock *lock, int64_t sent_at)
{
	int64_t until = lease_valid_until(sent_at, lock->config->ttl_ms);

	if (until > lock->lease.valid_until)
		lock->lease.valid_until = until;
}

/* Give or take 5%. */
static void
renew_after(struct lock *lock, int64_t sent_at, int64_t after)
{
	lock_due_at(lock,
	    sent_at + after + dice_between(-after / 20, after / 20));
}

void
lease_schedule(struct lock *lock, int64_t sent_at)
{
	renew_after(lock, sent_at, lock->config->ttl_ms / PART);
}

/* A vote whose lease is over is no hurry any more, and its server may be away
 * for hours. */
static void
retry_renewal(struct lock *lock)
{
	if (config_is_vote(lock->config) &&
	    clock_now() >= lock->lease.valid_until)
		lease_schedule(lock, clock_now());
	else
		contact_retry(lock);
}

/* --- renewals ------------------------------------------------------------ */

/* How long a renewal's reply may take before a second connection asks, too. */
static int64_t
overdue_ms(const struct lock *lock)
{
	return lock->config->replicas_ms +
	       clock_min(lock->pace.patience_ms, lock->config->ttl_ms / 4);
}

/* Of the only server the reply is awaited as long as it can prove anything: a
 * slow network is no reason to ask again from the start. A connection that has
 * died unnoticed is what the second one is for.
 *
 * What is known of a long job must not end before the job: it is armed again
 * when half of its life has passed, as most jobs are over by then. */
enum lock_event
lease_send_renewal(struct lock *lock)
{
	bool is_vote = config_is_vote(lock->config);
	int64_t deadline =
	    clock_now() + (is_vote ? overdue_ms(lock) : lock->config->ttl_ms);

	if (lock->pace.again == AGAIN_NO) {
		lock->vote.was_away =
		    lock->vote.was_away || !way_is_up(lock->link->way);
		lock->pace.sent_at = lock->loop->now;
		if (clock_now() >=
		    lock->lease.known_at + claim_life_ms(&lock->claim) / 2) {
			lock->lease.known_at = clock_now();
			contact_ask(lock, request_life, NULL, deadline);
		}
		contact_ask(lock, request_head, lock_on_reply, deadline);
	}
	if (contact_ask(lock, request_renewal, lock_on_reply, deadline) == -1) {
		retry_renewal(lock);
		return ON_LATER;
	}
	if (!is_vote)
		lock_due_at(lock, clock_now() + overdue_ms(lock));
	return ON_NOTHING;
}

/* That is no trouble if round trips always take so long. */
void
lease_note_overdue(struct lock *lock, const struct lock_news *news)
{
	if (news->from == AT_RENEW &&
	    overdue_ms(lock) < 2 * lock->pace.round_trip_ms)
		return;
	contact_note_error(lock, "no answer from", way_label(lock->link->way),
	    strerror(ETIMEDOUT));
	lock->why.answered = false;
	contact_be_patient(lock, 2 * lock->pace.patience_ms);
}

/* On the other connection, a fresh one, unless the renewal on the one in use
 * has failed meanwhile. */
enum lock_event
lease_send_beside(struct lock *lock)
{
	struct lock_link *second = lock_other_link(lock);
	struct request request;

	if (second->way == NULL)
		second->way = way_new(lock->loop, lock->config->server,
		    lock->config->key);
	if (second->way == NULL || lock->link->renewal != LINK_AWAITED) {
		contact_note_silence(lock, NULL);
	} else {
		lock_drop_link(second);
		request_renewal(&request, &lock->claim);
		contact_send(second, &request, lock_on_reply,
		    clock_now() + overdue_ms(lock));
	}
	lock_due_at(lock, clock_now() + overdue_ms(lock));
	return ON_NOTHING;
}

/* --- replies ------------------------------------------------------------- */

/* If a failover, a restart or DEL has removed a nested run from the others, the
 * release of the outer one would free the lock under it. A renewal touches the
 * lock's key alone (protocol rule R5), so joining again comes behind it. */
void
lease_note_ours(struct lock *lock, const struct lock_news *news)
{
	int64_t sent_at = news->heard->reply.sent_at;

	contact_note_round_trip(lock, sent_at);
	lease_prove(lock, sent_at);
	lease_schedule(lock, sent_at);
	lock->vote.renewed_at = sent_at;
	lock->vote.was_away = false;
	if (lock->claim.outer != NULL && lock->claim.tier == CLAIM_FULL)
		contact_ask(lock, request_try, NULL,
		    clock_now() + lock->config->ttl_ms);
}

/* When the lease has ended, it is no surprise: what ended inside it stands. */
void
lease_note_loss(struct lock *lock, const struct lock_news *news)
{
	bool is_other = news->heard->verdict == VERDICT_WRONGTYPE;

	if (clock_now() < lock->lease.valid_until)
		lock->release.outcome = LOCK_WAS_LOST;
	snprintf(lock->why.text, sizeof(lock->why.text), "%s",
	    is_other ? "its key holds something else now"
		     : "its key was taken away or has expired");
	lock->debt = DEBT_NOTHING;
	lock_due_at(lock, CLOCK_NEVER);
}

void
lease_note_trouble(struct lock *lock, const struct lock_news *news)
{
	const struct lock_reply *heard = news->heard;
	bool is_error =
	    heard->reply.value != NULL && heard->reply.error != NULL;

	lock->why.answered = false;
	if (is_error || heard->verdict == VERDICT_AGAIN) {
		contact_note_trouble(lock, heard);
	} else {
		contact_note_silence(lock, heard->reply.failure);
		contact_be_patient(lock, 2 * lock->pace.patience_ms);
	}
	retry_renewal(lock);
}

int64_t
lease_renewal_at(const struct lock *lock)
{
	return lock->state == AT_HELD && lock->why.answered ? lock->timer.at
							    : CLOCK_NEVER;
}

/* --- orders -------------------------------------------------------------- */

/* Whether the holder is to stop, for --replaceable: the first waiter has said
 * so in :i, which is looked at from time to time. */
static void
ask_for_order(struct lock *lock)
{
	lock->order.is_out = contact_ask(lock, request_order, lock_on_reply,
				 clock_now() + REPLY_MS) == 0;
}

/* Ignores an order for another holder; a reply that is none has no token. Who
 * is ordered is not asked again. */
void
lease_note_order(struct lock *lock, const struct lock_reply *heard)
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

/* --- begin --------------------------------------------------------------- */

/* The outer run obeys for those that are nested in it. */
void
lease_begin(struct lock *lock, int64_t sent_at)
{
	if (lock->config->replaceable && lock->claim.outer == NULL) {
		lock->order.timer =
		    (struct loop_timer){.on_due = on_order_due, .arg = lock};
		loop_timer_set(lock->loop, &lock->order.timer,
		    clock_now() + LOOK_MS);
	}
	lock->lease.acquired_at = lock->lease.known_at = sent_at;
	lease_prove(lock, sent_at);
	renew_after(lock, sent_at,
	    lock->config->ttl_ms /
		(config_is_vote(lock->config) ? FIRST_PART : PART));
}
