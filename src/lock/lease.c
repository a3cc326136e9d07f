#include "lock/lease.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/dice.h"
#include "lock/answer.h"
#include "lock/release.h"
#include "redis/reply.h"
#include "redis/way.h"

enum { LOOK_MS = 1000, ORDER_REPLY_MS = 10000 }; /* for an order */

/* A renewal is sent after that part of the ttl. The first one of a vote is
 * early: others may have been silent, or have voted for a contender that has
 * withdrawn since, and until they get the lock, too, it may not outlive the
 * loss of one of the others. */
enum { PART = 3, FIRST_PART = 10 };

int64_t
lease_valid_until(int64_t sent_at, int64_t ttl_ms)
{
	return sent_at + ttl_ms - (ttl_ms / 100 + 2);
}

static bool
is_out(const struct lock *lock)
{
	return lock->command != LOCK_NONE_OUT;
}

static void
prove(struct lock *lock, int64_t sent_at)
{
	int64_t until = lease_valid_until(sent_at, lock->config->ttl_ms);

	if (until > lock->valid_until)
		lock->valid_until = until;
}

/* Give or take 5%. */
static void
schedule_renewal(struct lock *lock, int64_t sent_at, int part)
{
	int64_t after = lock->config->ttl_ms / part;

	lock_due_at(lock,
	    sent_at + after + dice_between(-after / 20, after / 20));
}

/* When the lease has ended, it is no surprise: what ended inside it stands. */
static void
lose_lock(struct lock *lock, const char *why)
{
	if (clock_now() < lock->valid_until)
		lock->release.outcome = LOCK_WAS_LOST;
	snprintf(lock->error, sizeof(lock->error), "%s", why);
	lock_end(lock, LOCK_LOST);
}

/* A vote whose lease is over is no hurry any more, and its server may be away
 * for hours. */
static void
retry_renewal(struct lock *lock)
{
	if (config_is_vote(lock->config) && clock_now() >= lock->valid_until)
		schedule_renewal(lock, clock_now(), PART);
	else
		lock_retry(lock, CLOCK_NEVER);
}

/* A refusal says nothing about the lock: passwords and rules change under long
 * jobs, and may change back before the lease ends. So the lease decides, of
 * other errors too. After a refused AUTH or SELECT a value may be about another
 * db. */
static void
on_renewal_error(struct lock *lock, const struct reply *reply)
{
	enum verdict verdict = reply_judge(reply);

	if (verdict == VERDICT_WRONGTYPE) {
		lose_lock(lock, "its key holds something else now");
		return;
	}
	lock_note_error(lock, "error from", reply->label, reply->error);
	lock->answered = false;
	if (verdict == VERDICT_ANEW || reply->kind == REPLY_NO_ACCESS)
		lock_drop(lock);
	retry_renewal(lock);
}

/* If a failover, a restart or DEL has removed a nested run from the others, the
 * release of the outer one would free the lock under it. A renewal touches the
 * lock's key alone (protocol rule R5), so this comes behind it. */
static void
join_again(struct lock *lock)
{
	if (lock->claim.outer != NULL && lock->claim.tier == CLAIM_FULL)
		lock_ask(lock, request_try, NULL,
		    clock_now() + lock->config->ttl_ms);
}

static void ask_renewal(struct lock *lock, int64_t deadline);
static int64_t renewal_ends_at(const struct lock *lock);

/* A yes or a no about the lock itself, from a server that may say so. */
static bool
is_decisive(const struct lock_reply *heard)
{
	return heard->reply.kind == REPLY_VALUE &&
	       answer_vote(&heard->answer) != ANSWER_ABSENT;
}

/* What the reply to a renewal comes to. */
static void
take_renewal(struct lock *lock, const struct lock_reply *heard)
{
	const struct reply *reply = &heard->reply;
	bool ours = answer_vote(&heard->answer) == ANSWER_YES;

	if (lock->state == LOCK_RELEASING && lock->command == LOCK_OUT_TWICE) {
		if (ours)
			prove(lock, reply->sent_at);
		release_go_on(lock);
	}
	if (lock->state != LOCK_HELD)
		return;
	lock->command = LOCK_NONE_OUT;
	if (heard->verdict == VERDICT_AGAIN) {
		if (lock_may_repeat(lock, reply))
			ask_renewal(lock, renewal_ends_at(lock));
		else
			retry_renewal(lock);
	} else if (reply->value != NULL && reply->error != NULL) {
		on_renewal_error(lock, reply);
	} else if (heard->answer.outcome == ANSWER_NONE) {
		lock_note_silence(lock, reply->failure);
		lock_be_patient(lock, 2 * lock->patience_ms);
		retry_renewal(lock);
	} else if (ours) {
		lock_note_reply(lock);
		lock_note_round_trip(lock, reply->sent_at);
		prove(lock, reply->sent_at);
		schedule_renewal(lock, reply->sent_at, PART);
		lock->vote.renewed_at = reply->sent_at;
		lock->vote.was_away = false;
		join_again(lock);
	} else {
		lose_lock(lock, "its key was taken away or has expired");
	}
}

/* While both replies are awaited, only a yes or a no about the lock itself
 * counts, and none of a server that was the primary before the other connection
 * found a new one. The connection that is not needed any more is closed. */
static void
on_renewed(void *arg, const struct reply *reply)
{
	struct lock_link *link = arg;
	struct lock *lock = link->lock;
	struct lock_link *other = &lock->links[link == &lock->links[0]];
	bool both =
	    link->renewal == LINK_AWAITED && other->renewal == LINK_AWAITED;
	struct lock_reply heard;

	lock_hear(link, reply, &heard);
	if (link->renewal == LINK_IGNORED ||
	    (both && (!is_decisive(&heard) ||
			 way_has_moved(other->way, link->way)))) {
		lock_drop_link(link);
	} else if (link->renewal == LINK_AWAITED) {
		link->renewal = LINK_QUIET;
		if (both)
			other->renewal = LINK_IGNORED;
		lock->link = link;
		take_renewal(lock, &heard);
		if (heard.reply.kind == REPLY_TOO_FEW)
			way_doubt(link->way);
	}
	if (lock->state == LOCK_RELEASING && lock->command == LOCK_OUT_TWICE &&
	    lock_other_link(lock)->renewal == LINK_QUIET)
		release_go_on(lock);
}

/* How long a renewal's reply may take before a second connection asks, too. */
static int64_t
overdue_ms(const struct lock *lock)
{
	return lock->config->replicas_ms +
	       clock_min(lock->patience_ms, lock->config->ttl_ms / 4);
}

static void
on_head(void *arg, const struct reply *reply)
{
	struct lock_link *link = arg;
	struct lock_reply heard;

	lock_hear(link, reply, &heard);
	if (heard.answer.outcome != ANSWER_NONE)
		claim_expect_head(&link->lock->claim, heard.answer.head);
}

/* In the same write as the renewal that follows. What is known of a long job
 * must not end before the job: it is armed again when half of its life has
 * passed, as most jobs are over by then. */
static void
send_with_renewal(struct lock *lock, int64_t deadline)
{
	int64_t life_ms = claim_life_ms(&lock->claim);

	if (clock_now() >= lock->known_at + life_ms / 2) {
		lock->known_at = clock_now();
		lock_ask(lock, request_life, NULL, deadline);
	}
	lock_ask(lock, request_head, on_head, deadline);
}

/* Of the only server the reply is awaited as long as it can prove anything: a
 * slow network is no reason to ask again from the start. A connection that has
 * died unnoticed is what the second one is for. */
static int64_t
renewal_ends_at(const struct lock *lock)
{
	return clock_now() + (config_is_vote(lock->config)
				     ? overdue_ms(lock)
				     : lock->config->ttl_ms);
}

static void
ask_renewal(struct lock *lock, int64_t deadline)
{
	if (lock_ask(lock, request_renewal, on_renewed, deadline) == -1) {
		retry_renewal(lock);
		return;
	}
	lock->command = LOCK_OUT;
	if (!config_is_vote(lock->config))
		lock_due_in(lock, overdue_ms(lock));
}

void
lease_renew(struct lock *lock)
{
	int64_t deadline = renewal_ends_at(lock);

	if (lock->state != LOCK_HELD || is_out(lock))
		return;
	lock->vote.was_away =
	    lock->vote.was_away || !way_is_up(lock->link->way);
	lock->try.sent_at = lock->loop->now;
	send_with_renewal(lock, deadline);
	ask_renewal(lock, deadline);
}

/* On the other connection, a fresh one, unless the renewal in use has failed
 * meanwhile. */
static void
ask_beside(struct lock *lock)
{
	struct lock_link *second = lock_other_link(lock);
	struct request request;

	if (second->way == NULL)
		second->way = way_new(lock->loop, lock->config->server,
		    lock->config->key);
	if (second->way == NULL || lock->link->renewal != LINK_AWAITED) {
		lock_note_silence(lock, NULL);
		return;
	}
	lock_drop_link(second);
	request_renewal(&request, &lock->claim);
	lock_send(second, &request, on_renewed, clock_now() + overdue_ms(lock));
}

/* That is no trouble if round trips always take so long. */
static void
renew_beside(struct lock *lock)
{
	if (lock->command == LOCK_OUT_TWICE ||
	    overdue_ms(lock) >= 2 * lock->round_trip_ms) {
		lock_note_error(lock, "no answer from",
		    way_label(lock->link->way), strerror(ETIMEDOUT));
		lock->answered = false;
		lock_be_patient(lock, 2 * lock->patience_ms);
	}
	lock->command = LOCK_OUT_TWICE;
	ask_beside(lock);
	lock_due_in(lock, overdue_ms(lock));
}

int64_t
lease_renewal_at(const struct lock *lock)
{
	bool planned = lock->state == LOCK_HELD && lock->answered;

	return planned && !is_out(lock) ? lock->timer.at : CLOCK_NEVER;
}

void
lease_renew_at(struct lock *lock, int64_t at)
{
	if (lease_renewal_at(lock) != CLOCK_NEVER)
		lock_due_at(lock, at);
}

static void
on_lease_due(void *arg)
{
	struct lock *lock = arg;

	if (is_out(lock))
		renew_beside(lock);
	else
		lease_renew(lock);
}

/* --- an order to stop --------------------------------------------------- */

static void on_order(void *arg, const struct reply *reply);

static void
ask_for_order(struct lock *lock)
{
	lock->order_out = lock_ask(lock, request_order, on_order,
			      clock_now() + ORDER_REPLY_MS) == 0;
}

/* Ignores an order for another holder, and a value that is no order. */
static void
on_order(void *arg, const struct reply *reply)
{
	struct lock_link *link = arg;
	struct lock *lock = link->lock;
	struct lock_reply heard;
	const struct answer *answer = &heard.answer;

	lock_hear(link, reply, &heard);
	lock->order_out = false;
	if (lock->state != LOCK_HELD)
		return;
	if (heard.verdict == VERDICT_AGAIN && lock_may_repeat(lock, reply))
		ask_for_order(lock);
	if (answer->outcome == ANSWER_NONE || lock->ordered ||
	    strcmp(answer->ordered, lock->claim.token) != 0)
		return;
	lock->by = answer->by;
	lock->ordered = true;
}

/* Not asked again while the reply is missing. */
static void
on_order_due(void *arg)
{
	struct lock *lock = arg;

	if (lock->state != LOCK_HELD || lock->ordered)
		return;
	if (!lock->order_out)
		ask_for_order(lock);
	loop_timer_set(lock->loop, &lock->order_timer, clock_now() + LOOK_MS);
}

/* The outer run obeys for those that are nested in it. */
static void
look_for_order(struct lock *lock)
{
	if (!lock->config->replaceable || lock->claim.outer != NULL)
		return;
	lock->order_timer =
	    (struct loop_timer){.on_due = on_order_due, .arg = lock};
	loop_timer_set(lock->loop, &lock->order_timer, clock_now() + LOOK_MS);
}

void
lease_begin(struct lock *lock, int64_t sent_at)
{
	look_for_order(lock);
	lock_enter(lock, LOCK_HELD, on_lease_due);
	lock->acquired_at = lock->known_at = sent_at;
	prove(lock, sent_at);
	schedule_renewal(lock, sent_at,
	    config_is_vote(lock->config) ? FIRST_PART : PART);
}

/* --- planting ------------------------------------------------------------ */

static void on_planted(void *arg, const struct reply *reply);

static void
ask_for_plant(struct lock *lock)
{
	lock->vote.is_planted = lock->vote.is_out =
	    lock_ask(lock, request_try, on_planted,
		clock_now() + lock->patience_ms) == 0;
}

/* A grant to a user, or in a db, that is not ours is undone. The next
 * connection may be let in. */
static void
on_planted(void *arg, const struct reply *received)
{
	struct lock_link *link = arg;
	struct lock *lock = link->lock;
	struct lock_reply heard;
	const struct reply *reply = &heard.reply;
	bool granted;

	lock_hear(link, received, &heard);
	granted = heard.answer.outcome == ANSWER_GRANTED;
	lock->vote.is_out = false;
	if (!lock->vote.is_planted)
		return;
	if (heard.verdict == VERDICT_AGAIN && lock_may_repeat(lock, reply)) {
		ask_for_plant(lock);
		return;
	}
	lock->vote.is_planted = false;
	lock->grant_unknown = heard.answer.outcome == ANSWER_NONE;
	if (granted && reply->kind == REPLY_NO_ACCESS)
		lock_post_release(lock, false);
	if (heard.verdict == VERDICT_ANEW || reply->kind == REPLY_NO_ACCESS) {
		lock_drop(lock);
	} else if (granted) {
		lock->failure = 0;
		lock->vote.was_away = false;
		lock->acquired_at = reply->sent_at;
		lock->command = LOCK_NONE_OUT;
		lock_note_reply(lock);
		lock_note_grant(lock, &heard.answer);
		lock_enter(lock, LOCK_HELD, on_lease_due);
		schedule_renewal(lock, clock_now(), PART);
	}
}

/* A contender that does not get it may have had it for a moment. */
static void
on_plant_due(void *arg)
{
	struct lock *lock = arg;

	if (lock->vote.is_out)
		lock_retry(lock, CLOCK_NEVER);
	else
		lease_plant(lock);
}

void
lease_plant(struct lock *lock)
{
	lock->timer.on_due = on_plant_due;
	if (lock->vote.was_away)
		lock_retry(lock, CLOCK_NEVER);
	lock->try.sent_at = clock_now();
	lock->valid_until = lock->vote.renewed_at = 0;
	lock->grant_unknown = true;
	ask_for_plant(lock);
}
