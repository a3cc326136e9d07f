/* A waiter. The try is claim, heartbeat and poll in one; a doorbell only hints
 * that it is time for one.
 *
 * A server's script is never interrupted, but its reply may be lost: then the
 * grant is unknown, and we go on as if the lock had been granted to us. */
#include "lock/lock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/escape.h"
#include "lock/contact.h"
#include "redis/reply.h"
#include "redis/way.h"

/* So long a reply is awaited at most: an outage may have any number of tries
 * before. */
enum { REPLY_MAX_MS = 10000 };

/* --- tries ------------------------------------------------------------ */

/* When a fresh connection tries. The first gets a part of the time only, since
 * its reply may have been lost; the later ones get twice as long each, up to
 * REPLY_MAX_MS. */
static int64_t
try_ends_at(const struct lock *lock)
{
	return clock_min(lock_ends_at(lock), lock->pace.sent_at +
						 lock->pace.reply_ms +
						 lock->config->replicas_ms);
}

/* When a connection that was not up is given up. It gets twice the time: by
 * default it takes 5 s to resolve a name past a dead name server
 * (resolv.conf(5)). */
static int64_t
connect_ends_at(const struct lock *lock)
{
	return clock_min(lock_ends_at(lock),
	    try_ends_at(lock) + lock->pace.reply_ms);
}

/* Of a vote, the set decides about the next try. */
static void
try_later(struct lock *lock)
{
	if (config_is_vote(lock->config))
		lock->failure = LOCK_UNAVAILABLE;
	else
		contact_retry(lock);
}

/* Whether a try may be sent: the name of the lock may have no place for the
 * keys of a policy. A server may reply to each try and hang up before the
 * doorbell, as one does that evicts clients. That reply stays the last contact:
 * our place in the queue is to be given up if the wait ends now.
 *
 * In the plain tier, what former tries may have got is freed first. */
static bool
begin_try(struct lock *lock)
{
	const struct way *way = lock->link->way;
	struct claim *claim = &lock->claim;
	bool is_plain = claim->tier == CLAIM_PLAIN;
	struct request request;

	if (is_plain && claim_needs_helpers(claim)) {
		memcpy(lock->why.text, lock->why.cost, sizeof(lock->why.text));
		lock->failure = LOCK_MISCONFIGURED;
		return false;
	}
	if (!config_is_vote(lock->config) && !way_is_up(way) &&
	    clock_now() < way_rests_until(way)) {
		snprintf(lock->why.text, sizeof(lock->why.text), "%s",
		    way_error(way));
		lock_due_at(lock,
		    clock_min(way_rests_until(way), lock_ends_at(lock)));
		return false;
	}
	lock->pace.sent_at = clock_now();
	if (lock->pace.silent_since == 0) {
		lock->pace.silent_since = lock->pace.sent_at;
		lock->pace.reply_ms = lock->config->try_ms;
	}
	claim->was_queued = claim->was_queued || claim->asked_at != 0;
	for (size_t i = 0;
	     is_plain && claim->outer == NULL && i < claim->former_count; i++) {
		request_drop_former(&request, claim, i);
		request.command.more = true;
		contact_post(lock, &request);
	}
	return true;
}

/* Our own timers come before the connection's: they send an undo behind the
 * try. How long a vote is awaited, its set knows, which decides after all
 * timers of a turn; a turn may come late. */
enum lock_event
acquire_send_try(struct lock *lock)
{
	bool votes = config_is_vote(lock->config);
	struct request request;
	int64_t ends_at;

	if (lock->pace.again == AGAIN_NO && !begin_try(lock))
		return ON_LATER;
	ends_at = way_is_up(lock->link->way) ? try_ends_at(lock)
					     : connect_ends_at(lock);
	request_try(&request, &lock->claim);
	if (contact_send(lock->link, &request, lock_on_reply,
		ends_at + (votes ? lock->config->vote_ms : 1)) == -1) {
		try_later(lock);
		return ON_LATER;
	}
	lock->vote.is_out = true;
	lock_due_at(lock, votes ? CLOCK_NEVER : try_ends_at(lock));
	if (lock->claim.asked_at == 0)
		lock->claim.asked_at = lock->pace.sent_at;
	return ON_NOTHING;
}

void
acquire_begin(struct lock *lock, const struct lock_news *news)
{
	(void)news;
	lock_due_at(lock, CLOCK_NEVER);
	lock->failure = 0;
	lock->debt = DEBT_NOTHING;
	lock->lease.acquired_at = lock->lease.valid_until = 0;
	lock->vote = (struct lock_vote){.is_out = false};
	lock->release = (struct lock_release){.run.status = REQUEST_NO_JOB};
	lock->pace = (struct lock_pace){.backoff_ms = CONTACT_BACKOFF_MIN_MS,
	    .patience_ms = CONTACT_REPLY_MS,
	    .round_trip_ms = lock->pace.round_trip_ms,
	    .again = lock->pace.again,
	    .repeats = lock->pace.repeats};
	snprintf(lock->why.text, sizeof(lock->why.text),
	    "no answer from %.512s", way_label(lock->link->way));
}

/* --- answers ---------------------------------------------------------- */

/* A grant that arrives so late that little is left of it is asked for again:
 * the own token is granted anew. Of a vote, a renewal is due at once. */
void
acquire_note_late(struct lock *lock, const struct lock_news *news)
{
	contact_note_grant(lock, &news->heard->answer);
	lock->debt = DEBT_MAYBE;
	contact_note_error(lock, "too slow for this ttl",
	    news->heard->reply.label,
	    "the answer came when half of the lease was over");
	lock->why.answered = false;
	contact_retry(lock);
}

/* The outer run does not wait for a run that it cannot see. */
void
acquire_note_grant(struct lock *lock, const struct lock_news *news)
{
	const struct answer *answer = &news->heard->answer;
	const struct reply *reply = &news->heard->reply;

	contact_note_grant(lock, answer);
	lock->debt = DEBT_OURS;
	claim_expect_head(&lock->claim, answer->head);
	if (*answer->uncounted != '\0') {
		contact_note_error(lock, "error from", reply->label,
		    answer->uncounted);
		contact_lose_queue(lock);
	}
	lock->grant.permits = answer->permits;
	lock->grant.success_ahead_ms = answer->ahead_ms;
	contact_ring(lock, answer->to_notify.names, answer->to_notify.count);
	contact_note_round_trip(lock, reply->sent_at);
	lease_begin(lock, reply->sent_at);
}

/* Only the first waiter gives the order to stop, with its try; a pause is none
 * to ask. */
void
acquire_note_busy(struct lock *lock, const struct lock_news *news)
{
	const struct answer *answer = &news->heard->answer;
	const struct answer_waiters *ahead = &answer->to_notify;
	struct holder *holder = &lock->holder;
	struct claim *claim = &lock->claim;
	bool is_queued = answer->position >= 0;

	contact_note_reply(lock);
	lock->debt = is_queued ? DEBT_QUEUED : DEBT_NOTHING;
	lock->queue.position = answer->position;
	lock->queue.length = answer->waiting;
	claim->was_queued = claim->was_queued || is_queued;
	if (is_queued && *answer->ticket != '\0')
		snprintf(claim->ticket, sizeof(claim->ticket), "%s",
		    answer->ticket);
	*holder = answer->holder;
	holder->permits_here = claim_permits(claim);
	if (lock->config->replace && holder->count > 0 &&
	    holder->state != HOLDER_PAUSED)
		holder->order = !holder->replaceable	? HOLDER_IRREPLACEABLE
				: answer->position == 0 ? HOLDER_ASKED
							: HOLDER_NOT_ASKED;
	if (ahead->count > 0)
		lock->queue.watches_head = true;
	contact_ring(lock, ahead->names, ahead->count);
}

/* Another run has succeeded not long ago, or with the same id. */
static void
describe_success(struct lock *lock, const struct answer *answer)
{
	const char *once_id = answer->by_id ? lock->config->once_id : NULL;
	char at[32], age[32], id[4 * LIMIT_LABEL + 4];

	duration_describe_time(-answer->ago_ms, at, sizeof(at));
	duration_describe_age(answer->ago_ms, age, sizeof(age));
	escape_quote(once_id != NULL ? once_id : "", id, sizeof(id));
	snprintf(lock->why.text, sizeof(lock->why.text),
	    "last succeeded%s%s on %.255s at %s, %s ago",
	    once_id != NULL ? " with the id " : "", once_id != NULL ? id : "",
	    answer->holder.host, at, age);
}

/* A place in the queue is given up by a release, as by any waiter, so that the
 * next one is notified. Neither must an earlier try be granted later. */
static void
fail_and_leave(struct lock *lock, enum lock_failure failure,
    const struct lock_news *news)
{
	lock->failure = failure;
	lock->release.give_up_at = 0;
	if (lock->queue.position != -1 || lock->claim.former_count > 0)
		release_undo(lock, news);
}

void
acquire_skip(struct lock *lock, const struct lock_news *news)
{
	const struct answer *answer = &news->heard->answer;

	lock->release.give_up_at = 0;
	if (answer->outcome == ANSWER_OTHER_KIND) {
		lock->failure = LOCK_OTHER_KIND;
		return;
	}
	contact_note_reply(lock);
	lock->debt = DEBT_NOTHING;
	if (answer->outcome == ANSWER_BUSY) {
		acquire_note_busy(lock, news);
		lock->failure = LOCK_BUSY;
	} else if (answer->outcome == ANSWER_NOT_HELD) {
		lock->failure = LOCK_NO_OUTER;
	} else if (answer->outcome == ANSWER_NOT_DUE) {
		describe_success(lock, answer);
		fail_and_leave(lock, LOCK_NOT_DUE, news);
	} else { /* a run with --newest came later */
		lock->order.by = answer->by;
		fail_and_leave(lock, LOCK_OVERTAKEN, news);
	}
}

/* The outer run has ended. */
void
acquire_forget_outer(struct lock *lock, const struct lock_news *news)
{
	(void)news;
	contact_note_reply(lock);
	lock->debt = DEBT_NOTHING;
	claim_forget_outer(&lock->claim);
}

/* --- a place in the queue ---------------------------------------------- */

/* Waits for the next try, on the doorbell if it can. A doorbell only hints that
 * it is time for one. */
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

/* --- error replies ---------------------------------------------------- */

static void
note_error(struct lock *lock, const struct lock_news *news)
{
	contact_note_trouble(lock, news->heard);
	lock->why.answered = false;
}

/* The script may have granted the lock, or entered the queue. */
void
acquire_shut_out(struct lock *lock, const struct lock_news *news)
{
	const struct answer *answer = &news->heard->answer;
	const struct reply *reply = &news->heard->reply;
	bool granted = answer->outcome == ANSWER_GRANTED;

	if (granted ||
	    (answer->outcome == ANSWER_BUSY && answer->position != -1))
		lock->debt = DEBT_MAYBE;
	if (granted)
		contact_note_grant(lock, answer);
	contact_note_error(lock, "refused by", reply->label, reply->error);
	lock->failure = LOCK_REFUSED;
	release_withdraw(lock, news);
}

/* Other keys than the lock's own may be to blame, or commands that only they
 * need: then it is tried without. */
void
acquire_fall_back(struct lock *lock, const struct lock_news *news)
{
	note_error(lock, news);
	contact_leave_queue(lock);
	lock->claim.tier = CLAIM_PLAIN;
	contact_lose_queue(lock);
}

/* A helper key of a wrong type is somebody's mistake, and deleted. If there is
 * none, it is the lock's own key that holds something else. */
void
acquire_heal(struct lock *lock, const struct lock_news *news)
{
	struct request request;

	note_error(lock, news);
	lock->healed = true;
	request_heal(&request, &lock->claim);
	contact_post(lock, &request);
}

void
acquire_fail(struct lock *lock, const struct lock_news *news)
{
	enum verdict verdict = news->heard->verdict;

	note_error(lock, news);
	fail_and_leave(lock,
	    verdict == VERDICT_REFUSED	   ? LOCK_REFUSED
	    : verdict == VERDICT_WRONGTYPE ? LOCK_NOT_A_LOCK
					   : LOCK_ERROR,
	    news);
}

/* A server that sends error replies is not silent: a waiter goes on. A run that
 * does not wait gives the server the time it gives a silent one. */
void
acquire_back_off(struct lock *lock, const struct lock_news *news)
{
	note_error(lock, news);
	if (news->heard->verdict != VERDICT_AGAIN && lock->config->wait)
		lock->pace.silent_since = 0;
	try_later(lock);
}

/* --- silence ---------------------------------------------------------- */

/* What too few replicas have is freed at once: nobody is to hold it. The next
 * try names that token, in case the release is lost. */
static void
note_silence(struct lock *lock, const struct reply *reply)
{
	bool is_vote = config_is_vote(lock->config);
	bool is_unsafe = reply->kind == REPLY_TOO_FEW;
	bool may_come_late = reply->sent_at != CLOCK_NEVER;

	if (is_unsafe)
		contact_post_release(lock, false);
	if (may_come_late)
		lock->debt = DEBT_MAYBE;
	lock->pace.reply_ms = clock_min(2 * lock->pace.reply_ms, REPLY_MAX_MS);
	lock->vote.is_permanent = reply->permanent;
	contact_note_silence(lock, reply->failure);
	if (is_unsafe && lock->config->wait)
		lock->pace.silent_since = 0;
	if (may_come_late && lock->claim.outer == NULL && !is_vote &&
	    !claim_supersede_token(&lock->claim))
		lock->failure = LOCK_ERROR;
}

void
acquire_note_silence(struct lock *lock, const struct lock_news *news)
{
	note_silence(lock, &news->heard->reply);
	if (lock->failure == 0)
		try_later(lock);
}

/* On a connection that is up an undo follows the try, so that a late try leaves
 * nothing behind. A waiter with a position in the queue sends none: the undo
 * would give up the position. The try gets its reply when the connection is
 * given up; behind ASK it is on another one, which has its own deadline. A
 * connection that is not up ends by itself, and its error says how far it came.
 */
void
acquire_abandon(struct lock *lock, const struct lock_news *news)
{
	int64_t ends_at = connect_ends_at(lock);

	(void)news;
	lock_due_at(lock,
	    clock_now() >= ends_at ? lock_ends_at(lock) : ends_at);
	if (!way_is_up(lock->link->way))
		return;
	if (lock->queue.position == -1 && lock->config->replicas == 0)
		contact_post_release(lock, false);
	contact_drop(lock);
	contact_note_error(lock, "no answer from", way_label(lock->link->way),
	    strerror(ETIMEDOUT));
}

/* Nobody waits for the reply to the undo, unless the connection was blocked. */
void
acquire_give_up(struct lock *lock, const struct lock_news *news)
{
	lock->release.give_up_at = 0;
	if (news->heard != NULL)
		note_silence(lock, &news->heard->reply);
	if (lock->failure != 0)
		return;
	contact_note_obstacle(lock);
	lock->why.answered = false;
	lock->failure = LOCK_UNAVAILABLE;
	release_silently(lock, news);
}
