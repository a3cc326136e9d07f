/* A waiter. The try is claim, heartbeat and poll in one; a doorbell only hints
 * that it is time for one:
 *
 *            +------------- time is up, or any doubt ----------------+
 *            v                                                       |
 *   --> a try is out --busy, queued---> blocked on the doorbell -----+
 *         |  ^    |                         (BLPOP) | rung           |
 *         |  |    |                                 v                |
 *         |  |    |                              (a try)             |
 *         |  |    +--any other way to wait: see queue.h,             |
 *         |  |       the server is busy--> pause (timer) ------------+
 *         |  +--- some keys can't be used: once more without them
 *         +--granted--> HELD
 *
 * A server's script is never interrupted, but its reply may be lost: then the
 * grant is unknown, and we go on as if the lock had been granted to us. */
#include "lock/acquire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "base/moment.h"
#include "lock/answer.h"
#include "lock/lease.h"
#include "lock/release.h"
#include "redis/reply.h"
#include "redis/way.h"

/* So long a reply is awaited at most: an outage may have any number of tries
 * before. */
enum { REPLY_MAX_MS = 10000 };

static void send_try(struct lock *lock);
static void ask_try(struct lock *lock);
static void wait_for_turn(struct lock *lock);

static void
fail_acquire(struct lock *lock, enum lock_failure failure)
{
	lock->failure = failure;
	lock_end(lock, LOCK_FAILED);
}

/* A place in the queue is given up by a release, as by any waiter, so that the
 * next one is notified. Neither must an earlier try be granted later. */
static void
fail_and_leave(struct lock *lock, enum lock_failure failure)
{
	if (lock->queue.position == -1 && lock->claim.former_count == 0) {
		fail_acquire(lock, failure);
		return;
	}
	lock->failure = failure;
	release_withdraw(lock);
}

static int64_t
silence_ends_at(const struct lock *lock)
{
	if (lock->try.silent_since == 0)
		return CLOCK_NEVER;
	return lock->try.silent_since + lock->config->server_timeout_ms;
}

/* Of a vote, the set decides about the next try. */
static void
try_later(struct lock *lock)
{
	if (config_is_vote(lock->config))
		fail_acquire(lock, LOCK_UNAVAILABLE);
	else
		lock_retry(lock, silence_ends_at(lock));
}

/* A server that sends error replies is not silent: a waiter goes on. A run that
 * does not wait gives the server the time it gives a silent one. */
static void
note_sign_of_life(struct lock *lock)
{
	if (lock->config->wait)
		lock->try.silent_since = 0;
}

static void
give_up_acquire(struct lock *lock)
{
	lock_note_obstacle(lock);
	lock->answered = false;
	fail_acquire(lock, LOCK_UNAVAILABLE);
	release_silently(lock);
}

/* --- error replies ---------------------------------------------------- */

/* Other keys than the lock's own may be to blame, or commands that only they
 * need: then it is tried without. False if a policy needs them. */
static bool
try_without_helpers(struct lock *lock)
{
	struct claim *claim = &lock->claim;

	if (claim->tier == CLAIM_PLAIN || claim_needs_helpers(claim))
		return false;
	release_leave_queue(lock);
	claim->tier = CLAIM_PLAIN;
	memcpy(lock->no_queue, lock->error, sizeof(lock->no_queue));
	send_try(lock);
	return true;
}

/* A helper key of a wrong type is somebody's mistake, and deleted. If there is
 * none, it is the lock's own key that holds something else. */
static bool
heal(struct lock *lock)
{
	if (lock->claim.tier == CLAIM_PLAIN || lock->healed)
		return false;
	lock->healed = true;
	lock_ask(lock, request_heal, NULL, clock_now() + LOCK_REPLY_MS);
	send_try(lock);
	return true;
}

/* Not one that refuses us, unless it may pass. */
static void
on_try_error(struct lock *lock, const struct reply *reply)
{
	lock_note_error(lock, "error from", reply->label, reply->error);
	lock->answered = false;
	switch (reply_judge(reply)) {
	case VERDICT_REFUSED:
		if (!try_without_helpers(lock))
			fail_and_leave(lock, LOCK_REFUSED);
		break;
	case VERDICT_WRONGTYPE:
		if (!heal(lock))
			fail_and_leave(lock, LOCK_NOT_A_LOCK);
		break;
	case VERDICT_REPORT:
		fail_and_leave(lock, LOCK_ERROR);
		break;
	case VERDICT_ANEW:
		lock_drop(lock);
		/* FALLTHROUGH */
	default: /* VERDICT_RETRY */
		note_sign_of_life(lock);
		if (reply->kind == REPLY_NO_ACCESS)
			lock_drop(lock);
		try_later(lock);
		break;
	}
}

/* --- waiting ---------------------------------------------------------- */

/* Whatever ends the wait, the next try shows what it was worth. */
static void
on_doorbell(void *arg, const struct reply *reply)
{
	struct lock *lock = ((struct lock_link *)arg)->lock;
	const char *error = value_error(reply->value);

	if (lock->state != LOCK_ACQUIRING)
		return;
	lock->command = LOCK_NONE_OUT;
	if (reply_judge(reply) == VERDICT_AGAIN) {
		if (lock_may_repeat(lock, reply))
			wait_for_turn(lock);
		else
			lock_retry(lock, silence_ends_at(lock));
		return;
	}
	if (error == NULL) {
		if (answer_is_ring(reply->value))
			lock->queue.watches_head = true;
		send_try(lock);
		return;
	}
	/* In the words of Redis before 6. */
	if (!lock->queue.whole_seconds &&
	    reply_is(error, "ERR timeout is not an integer")) {
		lock->queue.whole_seconds = true;
		wait_for_turn(lock);
		return;
	}
	lock_note_error(lock, "error from", reply->label, error);
	switch (reply_judge_error(error)) {
	case VERDICT_ANEW:
		lock_drop(lock);
		/* FALLTHROUGH */
	case VERDICT_RETRY:
		lock_retry(lock, silence_ends_at(lock));
		break;
	default:
		memcpy(lock->no_queue, lock->error, sizeof(lock->no_queue));
		lock_due_in(lock, queue_refuse_doorbell(&lock->queue));
		break;
	}
}

static void
wait_for_turn(struct lock *lock)
{
	int64_t ms = queue_wait_ms(&lock->queue, &lock->holder);
	int64_t deadline = clock_now() + ms + lock->patience_ms;
	struct request request;

	lock_due_in(lock, ms);
	if (lock->queue.way != QUEUE_DOORBELL) {
		lock->again = AGAIN_NO;
		return;
	}
	request_doorbell(&request, &lock->claim, ms);
	if (lock_send(lock->link, &request, on_doorbell, deadline) == -1) {
		lock_due_in(lock, LOCK_BACKOFF_MIN_MS);
		return;
	}
	lock->command = LOCK_ON_DOORBELL;
	lock_due_at(lock, CLOCK_NEVER);
}

/* --- replies ---------------------------------------------------------- */

static void
ring_ahead(struct lock *lock, const struct answer_waiters *waiters)
{
	if (waiters->count > 0)
		lock->queue.watches_head = true;
	lock_ring(lock, waiters->names, waiters->count);
}

/* Only the first waiter gives the order, with its try; a pause is none to ask.
 */
static enum holder_order
find_order(const struct lock *lock)
{
	if (!lock->config->replace || lock->holder.count == 0 ||
	    lock->holder.state == HOLDER_PAUSED)
		return HOLDER_NOT_ASKED;
	if (!lock->holder.replaceable)
		return HOLDER_IRREPLACEABLE;
	return lock->queue.position == 0 ? HOLDER_ASKED : HOLDER_NOT_ASKED;
}

static void
note_place(struct lock *lock, const struct answer *answer)
{
	struct claim *claim = &lock->claim;

	if (answer->position >= 0)
		claim->was_queued = true;
	if (answer->position >= 0 && *answer->ticket != '\0')
		snprintf(claim->ticket, sizeof(claim->ticket), "%s",
		    answer->ticket);
}

/* Outside the full tier nobody queues. */
static bool
is_queue_full(const struct lock *lock, const struct answer *answer)
{
	return answer->position == -1 && lock->claim.tier == CLAIM_FULL;
}

static void
on_busy(struct lock *lock, const struct answer *answer)
{
	bool waits = lock->config->wait && !config_is_vote(lock->config);

	lock_note_reply(lock);
	lock->queue.position = answer->position;
	lock->queue.length = answer->waiting;
	note_place(lock, answer);
	lock->holder = answer->holder;
	lock->holder.permits_here = claim_permits(&lock->claim);
	lock->holder.order = find_order(lock);
	ring_ahead(lock, &answer->to_notify);
	if (!waits || is_queue_full(lock, answer))
		fail_acquire(lock, LOCK_BUSY);
	else
		wait_for_turn(lock);
}

/* Another run has succeeded not long ago, or with the same id. */
static void
on_not_due(struct lock *lock, const struct answer *answer)
{
	char at[32], age[32], id[4 * LIMIT_LABEL + 4];

	lock_note_reply(lock);
	moment_describe_time(-answer->ago_ms, at, sizeof(at));
	moment_describe_age(answer->ago_ms, age, sizeof(age));
	escape_quote(answer->by_id ? lock->config->once_id : "", id,
	    sizeof(id));
	snprintf(lock->error, sizeof(lock->error),
	    "last succeeded%s%s on %.255s at %s, %s ago",
	    answer->by_id ? " with the id " : "", answer->by_id ? id : "",
	    answer->holder.host, at, age);
	fail_and_leave(lock, LOCK_NOT_DUE);
}

/* A run with --newest came later. */
static void
on_overtaken(struct lock *lock, const struct answer *answer)
{
	lock_note_reply(lock);
	lock->by = answer->by;
	fail_and_leave(lock, LOCK_OVERTAKEN);
}

/* A grant that arrives so late that little is left of it is asked for again:
 * the own token is granted anew. Of a vote, a renewal is due at once. */
static void
on_granted(struct lock *lock, const struct answer *answer,
    const struct reply *reply)
{
	int64_t sent_at = reply->sent_at;

	if (!config_is_vote(lock->config) &&
	    clock_now() > sent_at + lock->config->ttl_ms / 2) {
		lock_note_error(lock, "too slow for this ttl", reply->label,
		    "the answer came when half of the lease was over");
		lock->answered = false;
		lock_retry(lock, silence_ends_at(lock));
		return;
	}
	lock_note_reply(lock);
	claim_expect_head(&lock->claim, answer->head);
	/* The outer run does not wait for a run that it cannot see. */
	if (*answer->uncounted != '\0') {
		lock_note_error(lock, "error from", reply->label,
		    answer->uncounted);
		memcpy(lock->no_queue, lock->error, sizeof(lock->no_queue));
	}
	lock->permits = answer->permits;
	lock->success_ahead_ms = answer->ahead_ms;
	lock_ring(lock, answer->to_notify.names, answer->to_notify.count);
	lock_note_round_trip(lock, sent_at);
	lease_begin(lock, sent_at);
}

/* What too few replicas have is freed at once: nobody is to hold it. The next
 * try names that token, in case the release is lost. */
static void
on_try_silence(struct lock *lock, const struct reply *reply)
{
	bool is_vote = config_is_vote(lock->config);
	bool may_come_late = reply->sent_at != CLOCK_NEVER;

	if (reply->kind == REPLY_TOO_FEW)
		lock_post_release(lock, false);
	lock->grant_unknown = lock->grant_unknown || may_come_late;
	lock->try.reply_ms = clock_min(2 * lock->try.reply_ms, REPLY_MAX_MS);
	lock->vote.is_permanent = reply->permanent;
	lock_note_silence(lock, reply->failure);
	if (reply->kind == REPLY_TOO_FEW)
		note_sign_of_life(lock);
	if (may_come_late && lock->claim.outer == NULL && !is_vote &&
	    !claim_supersede_token(&lock->claim))
		fail_acquire(lock, LOCK_ERROR);
	else if (reply->permanent && !is_vote)
		give_up_acquire(lock);
	else
		try_later(lock);
}

static void
on_try_answer(struct lock *lock, const struct answer *answer,
    const struct reply *reply)
{
	switch (answer->outcome) {
	case ANSWER_BUSY:
		on_busy(lock, answer);
		break;
	case ANSWER_GRANTED:
		on_granted(lock, answer, reply);
		break;
	case ANSWER_NOT_DUE:
		on_not_due(lock, answer);
		break;
	case ANSWER_OVERTAKEN:
		on_overtaken(lock, answer);
		break;
	case ANSWER_NOT_HELD: /* the outer run has ended */
		lock_note_reply(lock);
		if (config_is_vote(lock->config)) {
			fail_acquire(lock, LOCK_NO_OUTER);
			break;
		}
		claim_forget_outer(&lock->claim);
		send_try(lock);
		break;
	default: /* ANSWER_OTHER_KIND */
		fail_acquire(lock, LOCK_OTHER_KIND);
		break;
	}
}

static void
on_tried(void *arg, const struct reply *received)
{
	struct lock_link *link = arg;
	struct lock *lock = link->lock;
	struct lock_reply heard;
	const struct answer *answer = &heard.answer;
	const struct reply *reply = &heard.reply;
	bool refused, granted, busy;

	lock_hear(link, received, &heard);
	refused = reply->kind == REPLY_NO_ACCESS;
	granted = answer->outcome == ANSWER_GRANTED;
	busy = answer->outcome == ANSWER_BUSY;
	lock->vote.is_out = false;
	if (lock->state != LOCK_ACQUIRING)
		return;
	lock->command = LOCK_NONE_OUT;
	if (heard.verdict == VERDICT_AGAIN && lock_may_repeat(lock, reply)) {
		ask_try(lock);
		return;
	}
	lock->grant_unknown = lock->grant_unknown || granted ||
			      (refused && busy && answer->position != -1);
	if (granted)
		lock_note_grant(lock, answer);
	if (refused && (granted || heard.verdict == VERDICT_REFUSED ||
			   heard.verdict == VERDICT_AGAIN)) {
		/* The script may have run all the same, as an open default user
		 * or in db 0, and granted the lock or entered the queue. */
		lock_note_error(lock, "refused by", reply->label, reply->error);
		lock->failure = LOCK_REFUSED;
		release_at_once(lock);
	} else if (heard.verdict == VERDICT_VALUE) {
		on_try_answer(lock, answer, reply);
	} else if (heard.verdict == VERDICT_AGAIN) { /* too often */
		try_later(lock);
	} else if (heard.verdict == VERDICT_SILENT ||
		   heard.verdict == VERDICT_DEAD) {
		on_try_silence(lock, reply);
	} else {
		on_try_error(lock, reply);
	}
	if (reply->kind == REPLY_TOO_FEW)
		way_doubt(lock->link->way);
}

/* --- tries ------------------------------------------------------------ */

/* When a fresh connection tries. The first gets a part of the time only, since
 * its reply may have been lost; the later ones get twice as long each, up to
 * REPLY_MAX_MS. */
static int64_t
try_ends_at(const struct lock *lock)
{
	return clock_min(silence_ends_at(lock),
	    lock->try.sent_at + lock->try.reply_ms + lock->config->replicas_ms);
}

/* When a connection that was not up is given up. It gets twice the time: by
 * default it takes 5 s to resolve a name past a dead name server
 * (resolv.conf(5)). */
static int64_t
connect_ends_at(const struct lock *lock)
{
	return clock_min(silence_ends_at(lock),
	    try_ends_at(lock) + lock->try.reply_ms);
}

/* A server may reply to each try and hang up before the doorbell, as one does
 * that evicts clients. The reply stays the last contact: our place in the queue
 * is to be given up if the wait ends now. */
static bool
must_rest(struct lock *lock)
{
	int64_t until = way_rests_until(lock->link->way);

	if (clock_now() >= until || way_is_up(lock->link->way) ||
	    config_is_vote(lock->config))
		return false;
	snprintf(lock->error, sizeof(lock->error), "%s",
	    way_error(lock->link->way));
	lock_due_at(lock, clock_min(until, silence_ends_at(lock)));
	return true;
}

/* Our own timers come before the connection's: they send an undo behind the
 * try. How long a vote is awaited, its set knows. */
static void
ask_try(struct lock *lock)
{
	int64_t ends_at = way_is_up(lock->link->way) ? try_ends_at(lock)
						     : connect_ends_at(lock);

	if (lock_ask(lock, request_try, on_tried, ends_at + 1) == -1) {
		try_later(lock);
		return;
	}
	lock->command = LOCK_OUT;
	lock->vote.is_out = true;
	lock_due_at(lock,
	    config_is_vote(lock->config) ? CLOCK_NEVER : try_ends_at(lock));
}

static void
send_try(struct lock *lock)
{
	const struct claim *claim = &lock->claim;

	/* The name of the lock may have no place for the keys of a policy. */
	if (claim->tier == CLAIM_PLAIN && claim_needs_helpers(claim)) {
		memcpy(lock->error, lock->no_queue, sizeof(lock->error));
		fail_acquire(lock, LOCK_MISCONFIGURED);
		return;
	}
	if (must_rest(lock))
		return;
	lock->try.sent_at = clock_now();
	if (lock->try.silent_since == 0) {
		lock->try.silent_since = lock->try.sent_at;
		lock->try.reply_ms = lock->config->try_ms;
	}
	lock->claim.was_queued =
	    lock->claim.was_queued || lock->claim.asked_at != 0;
	if (lock->claim.tier == CLAIM_PLAIN && lock->claim.outer == NULL)
		lock_drop_former(lock);
	ask_try(lock);
	if (lock->command == LOCK_OUT && lock->claim.asked_at == 0)
		lock->claim.asked_at = lock->try.sent_at;
}

/* An undo follows the try on its connection, so that a late try leaves nothing
 * behind. A waiter with a position in the queue sends none: the undo would give
 * up the position. A connection that is not up ends by itself, and its error
 * says how far it came. */
static void
abandon_try(struct lock *lock)
{
	bool late = clock_now() >= connect_ends_at(lock);

	lock_due_at(lock, late ? silence_ends_at(lock) : connect_ends_at(lock));
	if (!way_is_up(lock->link->way))
		return;
	if (lock->queue.position == -1 && lock->config->replicas == 0)
		lock_post_release(lock, false);
	lock_drop(lock);
	lock_note_error(lock, "no answer from", way_label(lock->link->way),
	    strerror(ETIMEDOUT));
}

static void
on_try_due(void *arg)
{
	struct lock *lock = arg;

	if (clock_now() >= silence_ends_at(lock))
		give_up_acquire(lock);
	else if (lock->command == LOCK_OUT)
		abandon_try(lock);
	else
		send_try(lock);
}

void
acquire_start(struct lock *lock)
{
	lock_enter(lock, LOCK_ACQUIRING, on_try_due);
	snprintf(lock->error, sizeof(lock->error), "no answer from %.512s",
	    way_label(lock->link->way));
	lock->backoff_ms = LOCK_BACKOFF_MIN_MS;
	lock->patience_ms = LOCK_REPLY_MS;
	send_try(lock);
}
