#include "lock/release.h"

#include <stdio.h>
#include <string.h>

#include "lock/answer.h"
#include "redis/reply.h"
#include "redis/way.h"

/* A release has the first of these at most, and the second also when its lease
 * has ended: what the run has come to is recorded all the same. */
enum { RELEASE_MS = 10000, RECORD_MS = 1000, WITHDRAW_MS = 300 };

static void send_release(struct lock *lock);
static bool record_end(struct lock *lock);

/* Whether the history gets the end of the run. An outer run records its own. */
static bool
is_recorded(const struct lock *lock)
{
	return lock->release.run.status != REQUEST_NO_JOB &&
	       lock->claim.tier == CLAIM_FULL && lock->claim.outer == NULL &&
	       lock->config->history_ms > 0 && *lock->fence != '\0';
}

static void
note_unrecorded(struct lock *lock, const char *why)
{
	lock->release.unrecorded = true;
	snprintf(lock->no_history, sizeof(lock->no_history), "%s", why);
}

static void
finish_release(struct lock *lock)
{
	if (lock->release.outcome == LOCK_UNCONFIRMED && is_recorded(lock))
		note_unrecorded(lock, lock->error);
	lock_end(lock, lock->failure == 0 ? LOCK_RELEASED : LOCK_FAILED);
}

static void
give_up_within(struct lock *lock, int64_t ms)
{
	int64_t *give_up_at = &lock->release.give_up_at;

	*give_up_at = clock_min(*give_up_at, clock_now() + ms);
	lock_due_at(lock, clock_min(lock->timer.at, *give_up_at));
}

void
release_leave_queue(struct lock *lock)
{
	int64_t deadline = clock_now() + LOCK_REPLY_MS;

	if (!lock->claim.was_queued)
		return;
	lock_ask(lock, request_leave_queue, NULL, deadline);
	lock_ask(lock, request_leave_alive, NULL, deadline);
	lock->queue.position = -1;
	lock->claim.was_queued = false;
}

/* Whether a release that was answered so may succeed later. */
static bool
may_pass(enum verdict verdict)
{
	return verdict == VERDICT_RETRY || verdict == VERDICT_ANEW ||
	       verdict == VERDICT_AGAIN;
}

static void
on_release_error(struct lock *lock, const struct reply *reply,
    const char *words)
{
	enum verdict verdict =
	    lock->failure == 0 ? reply_judge(reply) : reply_judge_error(words);

	/* Otherwise why the lock was withdrawn is to be reported. */
	if (lock->failure == 0)
		lock_note_error(lock, "error from", reply->label, words);
	if (!may_pass(verdict) && lock->claim.tier == CLAIM_FULL &&
	    lock->claim.outer == NULL) {
		if (is_recorded(lock))
			note_unrecorded(lock, lock->error);
		release_leave_queue(lock);
		lock->claim.tier = CLAIM_PLAIN;
		send_release(lock);
		return;
	}
	if (!may_pass(verdict)) {
		finish_release(lock);
		return;
	}
	if (verdict == VERDICT_ANEW || reply->kind == REPLY_NO_ACCESS)
		lock_drop(lock);
	lock_retry(lock, lock->release.give_up_at);
}

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

/* If the lock may have been freed already, or never granted, "not yours" means
 * nothing. The first reply that frees the lock counts. */
static void
on_release_answer(struct lock *lock, const struct answer *answer)
{
	static const enum lock_released outcomes[] = {[ANSWER_NOT_OURS] =
							  LOCK_NOT_HELD,
	    [ANSWER_FREED] = LOCK_FREED,
	    [ANSWER_LEFT] = LOCK_LEFT,
	    [ANSWER_KEPT] = LOCK_KEPT};
	struct lock_release *release = &lock->release;

	lock_ring(lock, &answer->head, *answer->head != '\0');
	if (release->outcome == LOCK_UNCONFIRMED) {
		release->outcome = outcomes[answer->outcome];
		if (answer->outcome == ANSWER_NOT_OURS &&
		    !lock->grant_unknown && !release->is_proven &&
		    clock_now() < lock->valid_until)
			release->outcome = LOCK_WAS_LOST;
		release->kept_until = clock_now() + answer->kept_ms;
	}
	release->unrecorded = release->unrecorded || answer->unrecorded;
	if (release->outcome == LOCK_WAS_LOST ||
	    (release->outcome != LOCK_NOT_HELD && !release->unrecorded) ||
	    !record_end(lock))
		finish_release(lock);
}

static void
on_released(void *arg, const struct reply *reply)
{
	struct lock_link *link = arg;
	struct lock *lock = link->lock;
	struct lock_reply heard;
	const char *error =
	    lock->failure == 0 ? reply->error : value_error(reply->value);

	lock_hear(link, reply, &heard);
	if (lock->state != LOCK_RELEASING)
		return;
	lock->command = LOCK_NONE_OUT;
	if (heard.verdict == VERDICT_AGAIN) {
		if (lock_may_repeat(lock, reply))
			send_release(lock);
		else
			lock_retry(lock, lock->release.give_up_at);
	} else if (error != NULL) {
		on_release_error(lock, reply, error);
	} else if (heard.answer.outcome != ANSWER_NONE) {
		note_replicas(lock, reply);
		on_release_answer(lock, &heard.answer);
	} else {
		if (reply->sent_at != CLOCK_NEVER)
			lock->grant_unknown = true;
		/* Why a run is not due stays in the error. */
		if (lock->failure != LOCK_NOT_DUE)
			lock_note_silence(lock, reply->failure);
		lock_be_patient(lock, 2 * lock->patience_ms);
		lock_retry(lock, lock->release.give_up_at);
	}
}

/* Our own timer comes before the connection's, see on_release_due. */
static void
send_release(struct lock *lock)
{
	int64_t give_up_at = lock->release.give_up_at;
	int64_t overdue_at =
	    clock_now() + lock->patience_ms + lock->config->replicas_ms;
	struct request request;

	lock->command = LOCK_NONE_OUT;
	lock_make_release(lock, &request);
	/* A nested run in the plain tier has nothing to leave. */
	if (request.argc == 0) {
		request_fini(&request);
		lock->release.outcome = LOCK_LEFT;
		give_up_within(lock, 0);
		return;
	}
	if (lock_send(lock->link, &request, on_released,
		clock_min(give_up_at, overdue_at + 1)) == -1) {
		lock_retry(lock, lock->release.give_up_at);
		return;
	}
	lock->command = LOCK_OUT;
	lock_due_at(lock, clock_min(give_up_at, overdue_at));
}

/* A frozen server that lacks the script of the release that is out would find
 * nobody to ask it again when it goes on. So a release follows whose script
 * travels as a text, unless that was so before. */
static void
on_release_due(void *arg)
{
	struct lock *lock = arg;
	bool over = clock_now() >= lock->release.give_up_at;

	if (lock->command == LOCK_OUT) {
		if (!lock->grant_unknown && !config_is_vote(lock->config))
			lock_post_release(lock, false);
		lock_due_at(lock, lock->release.give_up_at);
	}
	if (lock->command == LOCK_OUT_TWICE ||
	    (lock->command == LOCK_NONE_OUT && !over))
		send_release(lock);
	else if (over)
		finish_release(lock);
}

/* For a renewal that is out on two connections: until the first reply, which
 * shows which connection works; and if the lock is to be kept, until the
 * second, as a renewal that is executed after the release would lengthen the
 * lease. */
static bool
must_wait(struct lock *lock)
{
	const struct lock_link *other = lock_other_link(lock);

	if (lock->release.keep_until > clock_now())
		return other->renewal != LINK_QUIET;
	return other->renewal == LINK_AWAITED &&
	       lock->link->renewal == LINK_AWAITED;
}

static void
begin_release(struct lock *lock, int64_t give_up_at)
{
	bool is_out =
	    lock->command == LOCK_OUT || lock->command == LOCK_OUT_TWICE;

	lock->vote.is_planted = false;
	if (is_out && lock->grant_unknown)
		lock_post_release(lock, true);
	lock_enter(lock, LOCK_RELEASING, on_release_due);
	lock->release.outcome = LOCK_UNCONFIRMED;
	lock->release.give_up_at = give_up_at;
	lock->backoff_ms = LOCK_BACKOFF_MIN_MS;
	if (must_wait(lock)) {
		lock->command = LOCK_OUT_TWICE;
		lock_due_at(lock,
		    clock_min(clock_now() + lock->patience_ms, give_up_at));
	} else {
		send_release(lock);
	}
}

static int64_t
release_by(const struct lock *lock)
{
	int64_t now = clock_now();
	int64_t by = clock_min(lock->valid_until, now + RELEASE_MS);

	return by < now + RECORD_MS ? now + RECORD_MS : by;
}

void
release_start(struct lock *lock, int64_t keep_until)
{
	lock->release.keep_until = keep_until;
	begin_release(lock, release_by(lock));
}

void
release_go_on(struct lock *lock)
{
	lock->release.give_up_at = release_by(lock);
	if (!must_wait(lock))
		send_release(lock);
}

void
release_withdraw(struct lock *lock)
{
	begin_release(lock, clock_now() + WITHDRAW_MS);
}

/* --- correction --------------------------------------------------------- */

static void
finish_correction(struct lock *lock, const char *unrecorded)
{
	lock->release.unrecorded = false;
	if (unrecorded != NULL)
		note_unrecorded(lock, unrecorded);
	lock_end(lock, lock->failure == 0 ? LOCK_RELEASED : LOCK_FAILED);
}

static void send_correction(void *arg);

static void
on_corrected(void *arg, const struct reply *reply)
{
	struct lock_link *link = arg;
	struct lock *lock = link->lock;
	struct lock_reply heard;

	lock_hear(link, reply, &heard);
	if (lock->state != LOCK_RELEASING)
		return;
	if (heard.verdict == VERDICT_AGAIN && lock_may_repeat(lock, reply)) {
		send_correction(lock);
		return;
	}
	lock->answered = reply->value != NULL;
	if (reply->error != NULL)
		lock_note_error(lock, "error from", reply->label, reply->error);
	else if (heard.answer.outcome == ANSWER_NONE)
		lock_note_silence(lock, reply->failure);
	if (heard.answer.outcome != ANSWER_NONE)
		finish_correction(lock, heard.answer.unrecorded
					    ? "the server has refused it"
					    : NULL);
	else if ((reply->error != NULL && !may_pass(heard.verdict)) ||
		 clock_now() >= lock->release.give_up_at)
		finish_correction(lock, lock->error);
	else
		lock_retry(lock, lock->release.give_up_at);
}

static void
send_correction(void *arg)
{
	struct lock *lock = arg;
	int64_t deadline = clock_min(lock->release.give_up_at,
	    clock_now() + lock->patience_ms);
	struct request request;

	lock->release.is_late = true;
	lock_make_release(lock, &request);
	lock_due_at(lock, CLOCK_NEVER);
	if (lock_send(lock->link, &request, on_corrected, deadline) == -1)
		finish_correction(lock, lock->error);
}

static void
begin_correction(struct lock *lock, int64_t ms)
{
	lock_enter(lock, LOCK_RELEASING, send_correction);
	lock->release.give_up_at = clock_now() + ms;
	lock->backoff_ms = LOCK_BACKOFF_MIN_MS;
	send_correction(lock);
}

/* A release that has found the lock gone has recorded nothing, nor has one
 * whose record the server has refused, and none follows a lock that is LOST.
 * Only we know whether the job has ended inside the lease. The end of a lock
 * that the release finds lost is left to the run, which corrects it. */
static bool
record_end(struct lock *lock)
{
	if (!is_recorded(lock))
		return false;
	begin_correction(lock, RECORD_MS);
	return true;
}

void
release_lost(struct lock *lock)
{
	bool was_lost = lock->release.outcome == LOCK_WAS_LOST;

	/* A success under a lost lock is none. */
	if (!was_lost || lock->release.run.status != 0)
		record_end(lock);
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
	begin_correction(lock, WITHDRAW_MS);
}

/* --- withdrawal --------------------------------------------------------- */

/* A connection that is blocked, on the doorbell or until replicas have a grant,
 * executes nothing that is sent behind, so a fresh one is needed. */
static bool
leave_blocked(struct lock *lock)
{
	bool waits = lock->command == LOCK_OUT && lock->config->replicas > 0 &&
		     way_is_up(lock->link->way);

	if (lock->command != LOCK_ON_DOORBELL && !waits)
		return false;
	lock->state = LOCK_RELEASING;
	lock_drop(lock);
	return true;
}

/* A release follows a try that is still out, so that a frozen server frees the
 * lock right after it has granted it. */
void
release_silently(struct lock *lock)
{
	bool may_be_ours = lock->grant_unknown || lock->command == LOCK_OUT;

	lock->grant_unknown = true;
	if (may_be_ours && leave_blocked(lock))
		release_withdraw(lock);
	else if (may_be_ours && way_is_up(lock->link->way))
		begin_release(lock, clock_now());
	else
		lock_drop(lock);
}

void
release_behind(struct lock *lock)
{
	lock_post_release(lock, false);
	lock->grant_unknown = true;
	lock->vote.is_planted = false;
	lock->command = LOCK_NONE_OUT;
	lock_end(lock, LOCK_RELEASED);
}

bool
release_is_unsent(const struct lock *lock)
{
	if (lock->state != LOCK_RELEASING)
		return false;
	return way_is_up(lock->link->way) ? lock->vote.is_out
					  : lock->acquired_at != 0;
}

/* Nothing overtakes a try that is out on its own connection. One that was sent
 * on an earlier connection may still come later: that costs others a ttl and
 * can't be helped. */
void
release_at_once(struct lock *lock)
{
	bool may_be_ours = lock->state == LOCK_HELD || lock->grant_unknown ||
			   lock->command == LOCK_OUT ||
			   lock->command == LOCK_OUT_TWICE;
	bool queued = lock->queue.position != -1 &&
		      (lock->answered || lock->claim.former_count > 0);
	bool left;

	if (lock->state == LOCK_RELEASING)
		give_up_within(lock, WITHDRAW_MS);
	if (lock->state == LOCK_RELEASING || lock->state == LOCK_RELEASED)
		return;
	lock_note_obstacle(lock);
	lock->grant_unknown = true;
	left = leave_blocked(lock);
	if ((may_be_ours && (left || way_is_up(lock->link->way))) || queued) {
		release_withdraw(lock);
		return;
	}
	if (may_be_ours && lock->release.outcome == LOCK_NOT_HELD)
		lock->release.outcome = LOCK_UNCONFIRMED;
	finish_release(lock);
	lock_drop(lock); /* a try that isn't sent never is */
}
