/* The end of a lock: released after it was held, or withdrawn earlier. */
#include "lock/lock.h"

#include <stdio.h>
#include <string.h>

#include "lock/contact.h"
#include "redis/reply.h"
#include "redis/way.h"

/* A release has the first of these at most, and the second also when its lease
 * has ended: what the run has come to is recorded all the same. */
enum { RELEASE_MS = 10000, RECORD_MS = 1000, WITHDRAW_MS = 300 };

/* Whether the history gets the end of the run. An outer run records its own. */
static bool
is_recorded(const struct lock *lock)
{
	return lock->release.run.status != REQUEST_NO_JOB &&
	       lock->claim.tier == CLAIM_FULL && lock->claim.outer == NULL &&
	       lock->config->history_ms > 0 && *lock->grant.fence != '\0';
}

static void
note_unrecorded(struct lock *lock, const char *why)
{
	lock->release.unrecorded = true;
	snprintf(lock->why.cost, sizeof(lock->why.cost), "%s", why);
}

/* --- beginning ---------------------------------------------------------- */

/* What was out when this happened. */
static bool
was_out(const struct lock_news *news)
{
	return news->heard == NULL &&
	       (news->from == AT_TRY || news->from == AT_RENEW ||
		   news->from == AT_TWICE || news->from == AT_AWAIT ||
		   news->from == AT_FREE);
}

static void
begin_release(struct lock *lock, const struct lock_news *news,
    int64_t give_up_at)
{
	if (was_out(news) && lock->debt == DEBT_MAYBE)
		contact_post_release(lock, true);
	lock->release.outcome = LOCK_UNCONFIRMED;
	lock->release.give_up_at = give_up_at;
	lock->pace.backoff_ms = CONTACT_BACKOFF_MIN_MS;
	lock_due_at(lock,
	    clock_min(clock_now() + lock->pace.patience_ms, give_up_at));
}

static int64_t
release_by(const struct lock *lock)
{
	int64_t now = clock_now();
	int64_t by = clock_min(lock->lease.valid_until, now + RELEASE_MS);

	return by < now + RECORD_MS ? now + RECORD_MS : by;
}

void
release_begin(struct lock *lock, const struct lock_news *news)
{
	begin_release(lock, news, release_by(lock));
}

void
release_undo(struct lock *lock, const struct lock_news *news)
{
	begin_release(lock, news, clock_now() + WITHDRAW_MS);
}

/* For a renewal that is out on two connections: until the first reply, which
 * shows which connection works; and if the lock is to be kept, until the
 * second, as a renewal that is executed after the release would lengthen the
 * lease. */
enum lock_event
release_await(struct lock *lock)
{
	const struct lock_link *other = lock_other_link(lock);
	bool keeps = lock->release.keep_until > clock_now();

	if (lock->release.give_up_at == 0)
		return ON_NO_NEED;
	if (other->renewal == LINK_QUIET)
		return ON_READY;
	return keeps || (other->renewal == LINK_AWAITED &&
			    lock->link->renewal == LINK_AWAITED)
		   ? ON_NOTHING
		   : ON_READY;
}

void
release_go_on(struct lock *lock, const struct lock_news *news)
{
	if (news->event == ON_OURS)
		lease_prove(lock, news->heard->reply.sent_at);
	lock->release.give_up_at = release_by(lock);
}

/* --- the release -------------------------------------------------------- */

static void
give_up_within(struct lock *lock, int64_t ms)
{
	int64_t *give_up_at = &lock->release.give_up_at;

	*give_up_at = clock_min(*give_up_at, clock_now() + ms);
	lock_due_at(lock, clock_min(lock->timer.at, *give_up_at));
}

/* Our own timer comes before the connection's, see release_repeat. A nested run
 * in the plain tier has nothing to leave. */
enum lock_event
release_send(struct lock *lock)
{
	int64_t give_up_at = lock->release.give_up_at;
	int64_t overdue_at =
	    clock_now() + lock->pace.patience_ms + lock->config->replicas_ms;
	struct request request;

	contact_make_release(lock, &request);
	if (request.argc == 0) {
		request_fini(&request);
		lock->release.outcome = LOCK_LEFT;
		give_up_within(lock, 0);
		return ON_LATER;
	}
	if (contact_send(lock->link, &request, lock_on_reply,
		clock_min(give_up_at, overdue_at + 1)) == -1) {
		contact_retry(lock);
		return ON_LATER;
	}
	lock_due_at(lock, clock_min(give_up_at, overdue_at));
	return ON_NOTHING;
}

void
release_hurry(struct lock *lock, const struct lock_news *news)
{
	(void)news;
	give_up_within(lock, WITHDRAW_MS);
}

/* A frozen server that lacks the script of the release that is out would find
 * nobody to ask it again when it goes on. So a release follows whose script
 * travels as a text, unless that was so before. */
void
release_repeat(struct lock *lock, const struct lock_news *news)
{
	(void)news;
	if (lock->debt != DEBT_MAYBE && !config_is_vote(lock->config))
		contact_post_release(lock, false);
	lock_due_at(lock, lock->release.give_up_at);
}

static void
give_up(struct lock *lock)
{
	if (lock->release.outcome == LOCK_UNCONFIRMED && is_recorded(lock))
		note_unrecorded(lock, lock->why.text);
}

void
release_over(struct lock *lock, const struct lock_news *news)
{
	lock->vote.is_unheard = news->from == AT_FREE;
	if (lock->vote.is_unheard)
		release_repeat(lock, news);
	give_up(lock);
}

/* --- its replies -------------------------------------------------------- */

/* A failover may forget a release that too few replicas have. */
static void
note_replicas(struct lock *lock, const struct reply *reply)
{
	char *why = lock->release.unreplicated;
	size_t size = sizeof(lock->release.unreplicated);
	int count = answer_replicas(reply->acks);
	int wanted = lock->config->replicas;

	why[0] = '\0';
	if (reply->acks != NULL && count < wanted)
		snprintf(why, size,
		    "%d of %d replicas have confirmed the release", count,
		    wanted);
}

static void
record_within(struct lock *lock, int64_t ms)
{
	lock->release.give_up_at = clock_now() + ms;
	lock->pace.backoff_ms = CONTACT_BACKOFF_MIN_MS;
}

/* If the lock may have been freed already, or never granted, "not yours" means
 * nothing. The first reply that frees the lock counts. A release that has found
 * the lock gone has recorded nothing, nor has one whose record the server has
 * refused. Only we know whether the job has ended inside the lease. The end of
 * a lock that the release finds lost is left to the run, which corrects it. */
void
release_note_answer(struct lock *lock, const struct lock_news *news)
{
	static const enum lock_released outcomes[] = {[ANSWER_NOT_OURS] =
							  LOCK_NOT_HELD,
	    [ANSWER_FREED] = LOCK_FREED,
	    [ANSWER_LEFT] = LOCK_LEFT,
	    [ANSWER_KEPT] = LOCK_KEPT};
	const struct answer *answer = &news->heard->answer;
	struct lock_release *release = &lock->release;

	note_replicas(lock, &news->heard->reply);
	contact_ring(lock, &answer->head, *answer->head != '\0');
	if (release->outcome == LOCK_UNCONFIRMED) {
		release->outcome = outcomes[answer->outcome];
		if (answer->outcome == ANSWER_NOT_OURS &&
		    lock->debt == DEBT_OURS && !release->is_proven &&
		    clock_now() < lock->lease.valid_until)
			release->outcome = LOCK_WAS_LOST;
		release->kept_until = clock_now() + answer->kept_ms;
	}
	release->unrecorded = release->unrecorded || answer->unrecorded;
	release->give_up_at = 0;
	if (release->outcome != LOCK_WAS_LOST && is_recorded(lock) &&
	    (release->outcome == LOCK_NOT_HELD || release->unrecorded))
		record_within(lock, RECORD_MS);
}

/* Of a lock that has failed, why it was withdrawn is to be reported. */
void
release_tell(struct lock *lock, const struct lock_news *news)
{
	if (lock->failure == 0)
		contact_note_error(lock, "error from", news->heard->reply.label,
		    news->heard->reply.error);
}

void
release_lower_tier(struct lock *lock, const struct lock_news *news)
{
	release_tell(lock, news);
	if (is_recorded(lock))
		note_unrecorded(lock, lock->why.text);
	contact_leave_queue(lock);
	lock->claim.tier = CLAIM_PLAIN;
}

/* Why a run is not due stays in the error. */
void
release_note_silence(struct lock *lock, const struct lock_news *news)
{
	const struct reply *reply = &news->heard->reply;

	if (reply->sent_at != CLOCK_NEVER)
		lock->debt = DEBT_MAYBE;
	if (lock->failure != LOCK_NOT_DUE)
		contact_note_silence(lock, reply->failure);
	contact_be_patient(lock, 2 * lock->pace.patience_ms);
	contact_retry(lock);
}

/* --- the record --------------------------------------------------------- */

enum lock_event
release_send_record(struct lock *lock)
{
	int64_t deadline = clock_min(lock->release.give_up_at,
	    clock_now() + lock->pace.patience_ms);
	struct request request;

	if (lock->release.give_up_at == 0)
		return ON_NO_NEED;
	lock->release.is_late = true;
	contact_make_release(lock, &request);
	request.command.tag = ANSWER_TO_RECORD;
	lock_due_at(lock, CLOCK_NEVER);
	if (contact_send(lock->link, &request, lock_on_reply, deadline) == 0)
		return ON_NOTHING;
	note_unrecorded(lock, lock->why.text);
	return ON_NO_NEED;
}

void
release_note_record(struct lock *lock, const struct lock_news *news)
{
	const struct reply *reply = &news->heard->reply;

	lock->why.answered = reply->value != NULL;
	if (reply->error != NULL)
		contact_note_error(lock, "error from", reply->label,
		    reply->error);
	else if (news->event != ON_FREED)
		contact_note_silence(lock, reply->failure);
	if (news->event == ON_TROUBLE) {
		contact_retry(lock);
		return;
	}
	lock->release.unrecorded = false;
	if (news->event == ON_REFUSED)
		note_unrecorded(lock, lock->why.text);
	else if (news->heard->answer.unrecorded)
		note_unrecorded(lock, "the server has refused it");
}

/* A success under a lost lock is none. */
void
release_lost(struct lock *lock)
{
	bool was_lost = lock->release.outcome == LOCK_WAS_LOST;

	if ((was_lost && lock->release.run.status == 0) || !is_recorded(lock))
		return;
	record_within(lock, RECORD_MS);
	lock_order(lock, ON_RECORD);
}

/* What a confirmed release has recorded stays. */
void
release_correct(struct lock *lock, const struct request_run *run)
{
	enum lock_released outcome = lock->release.outcome;

	if (!is_recorded(lock) ||
	    (outcome != LOCK_UNCONFIRMED && outcome != LOCK_WAS_LOST))
		return;
	lock->release.run = *run;
	record_within(lock, WITHDRAW_MS);
	lock_order(lock, ON_RECORD);
}

/* --- withdrawal --------------------------------------------------------- */

/* A connection that is blocked, on the doorbell or until replicas have a grant,
 * executes nothing that is sent behind, so a fresh one is needed. */
static bool
leave_blocked(struct lock *lock, const struct lock_news *news)
{
	bool waits = was_out(news) && news->from != AT_TWICE &&
		     lock->config->replicas > 0 && way_is_up(lock->link->way);

	if (news->from != AT_BELL && !waits)
		return false;
	contact_drop(lock);
	return true;
}

/* A release follows a try that is still out, so that a frozen server frees the
 * lock right after it has granted it. */
void
release_silently(struct lock *lock, const struct lock_news *news)
{
	bool may_be_ours = lock->debt == DEBT_MAYBE || was_out(news);

	lock->debt = DEBT_MAYBE;
	if (may_be_ours && leave_blocked(lock, news))
		release_undo(lock, news);
	else if (may_be_ours && way_is_up(lock->link->way))
		begin_release(lock, news, clock_now());
	else
		contact_drop(lock);
}

/* Nothing overtakes a try that is out on its own connection. One that was sent
 * on an earlier connection may still come later: that costs others a ttl and
 * can't be helped. A try that is not sent yet never is. */
void
release_withdraw(struct lock *lock, const struct lock_news *news)
{
	bool may_be_ours = lock->debt >= DEBT_MAYBE || was_out(news);
	bool queued = lock->queue.position != -1 &&
		      (lock->why.answered || lock->claim.former_count > 0);
	bool left;

	contact_note_obstacle(lock);
	lock->debt = DEBT_MAYBE;
	left = leave_blocked(lock, news);
	if ((may_be_ours && (left || way_is_up(lock->link->way))) || queued) {
		release_undo(lock, news);
		return;
	}
	if (may_be_ours && lock->release.outcome == LOCK_NOT_HELD)
		lock->release.outcome = LOCK_UNCONFIRMED;
	give_up(lock);
	lock->release.give_up_at = 0;
	contact_drop(lock);
}

void
release_behind(struct lock *lock, const struct lock_news *news)
{
	(void)news;
	contact_post_release(lock, false);
	lock->debt = DEBT_MAYBE;
}

bool
release_is_unsent(const struct lock *lock)
{
	return lock_phase(lock) == LOCK_RELEASING &&
	       (way_is_up(lock->link->way) ? lock->vote.is_out
					   : lock->lease.acquired_at != 0);
}
