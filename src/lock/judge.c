/* A reply becomes one event before anything is decided: see lock.h. */
#include <stdio.h>

#include "lock/lock.h"
#include "redis/reply.h"

/* How often the same may be asked again. */
enum { REPEATS_MAX = 5 };

/* Of the errors of WAIT a refusal counts as one, as it will be refused the next
 * time, too. Others pass, such as that of a primary that is being replaced. */
static void
count_replicas(struct lock *lock, struct lock_reply *heard)
{
	struct reply *reply = &heard->reply;
	const char *error = value_error(reply->acks), *label = reply->label;
	char why[ANSWER_WHY_MAX];

	if (reply->kind != REPLY_VALUE ||
	    (heard->answer.outcome != ANSWER_GRANTED &&
		heard->answer.outcome != ANSWER_RENEWED) ||
	    !answer_lacks_replicas(reply->acks, lock->config->replicas, why))
		return;
	if (error != NULL && reply_judge_error(error) == VERDICT_REFUSED) {
		reply->kind = REPLY_NO_ACCESS;
		reply->error = error;
		reply->label = heard->label;
		snprintf(heard->label, sizeof(heard->label),
		    "%.400s: " ANSWER_NEEDS_WAIT, label);
		return;
	}
	lock->is_unsafe = true;
	reply->kind = REPLY_TOO_FEW;
	reply->value = NULL;
	reply->failure = heard->failure;
	snprintf(heard->failure, sizeof(heard->failure), "%s %.512s: %s",
	    config_is_vote(lock->config) ? "not counted" : "not safe on", label,
	    why);
	heard->answer.outcome = ANSWER_NONE;
}

bool
lock_hear(struct lock *lock, const struct reply *reply,
    struct lock_reply *heard)
{
	bool is_ours;

	heard->reply = *reply;
	is_ours = answer_read(&heard->answer, (enum answer_to)reply->tag,
		      reply->value) ||
		  reply->value == NULL || value_error(reply->value) != NULL;
	count_replicas(lock, heard);
	heard->verdict = reply_judge(&heard->reply);
	if (!is_ours && heard->verdict == VERDICT_VALUE)
		heard->verdict = VERDICT_SILENT;
	return is_ours;
}

/* --- by question -------------------------------------------------------- */

/* A busy lock is waited for with a place in the queue. Outside the full tier
 * nobody queues; in it, one without a place has found the queue full. */
static enum lock_event
judge_try_answer(const struct lock *lock, const struct lock_reply *heard)
{
	bool is_vote = config_is_vote(lock->config);
	int64_t late_ms = lock->config->ttl_ms / 2;

	switch (heard->answer.outcome) {
	case ANSWER_GRANTED:
		return !is_vote && clock_now() - late_ms > heard->reply.sent_at
			   ? ON_LATE
			   : ON_GRANTED;
	case ANSWER_BUSY:
		return lock->config->wait && !is_vote &&
			       (heard->answer.position != -1 ||
				   lock->claim.tier != CLAIM_FULL)
			   ? ON_BUSY
			   : ON_SKIP;
	case ANSWER_NOT_HELD:
		return is_vote ? ON_SKIP : ON_NO_OUTER;
	default: /* NOT_DUE, OVERTAKEN, OTHER_KIND */
		return ON_SKIP;
	}
}

/* Where AUTH or SELECT was refused the script may have run all the same, as an
 * open default user or in db 0. A helper key of a wrong type is somebody's
 * mistake; if there is none, it is the lock's own key that holds something
 * else. Of keys and commands that are denied, the lock's own may be no part. */
static enum lock_event
judge_try(const struct lock *lock, const struct lock_reply *heard)
{
	bool is_granted = heard->answer.outcome == ANSWER_GRANTED;
	bool is_shut = heard->reply.kind == REPLY_NO_ACCESS;
	bool is_full = lock->claim.tier == CLAIM_FULL;

	if (lock->state == AT_PLANT)
		return is_granted && !is_shut &&
			       *heard->answer.uncounted == '\0'
			   ? ON_GRANTED
			   : ON_TROUBLE;
	if (is_shut && (is_granted || heard->verdict != VERDICT_RETRY))
		return ON_SHUT;
	switch (heard->verdict) {
	case VERDICT_VALUE:
		return judge_try_answer(lock, heard);
	case VERDICT_SILENT:
		return ON_SILENT;
	case VERDICT_DEAD:
		return config_is_vote(lock->config) ? ON_SILENT : ON_DEAD;
	case VERDICT_WRONGTYPE:
		return is_full && !lock->healed ? ON_SPOILT : ON_REFUSED;
	case VERDICT_REFUSED:
		return is_full && !claim_needs_helpers(&lock->claim)
			   ? ON_DENIED
			   : ON_REFUSED;
	case VERDICT_REPORT:
		return ON_REFUSED;
	default:
		return ON_TROUBLE;
	}
}

static bool
may_pass(enum verdict verdict)
{
	return verdict == VERDICT_RETRY || verdict == VERDICT_ANEW ||
	       verdict == VERDICT_AGAIN;
}

/* Whatever ends the wait, the next try shows what it was worth. */
static enum lock_event
judge_bell(const struct lock *lock, const struct lock_reply *heard)
{
	const char *error = value_error(heard->reply.value);

	if (heard->verdict == VERDICT_AGAIN)
		return ON_TROUBLE;
	if (error == NULL)
		return ON_BELL;
	/* In the words of Redis before 6. */
	if (!lock->queue.whole_seconds &&
	    reply_is(error, "ERR timeout is not an integer"))
		return ON_FRACTION;
	return may_pass(reply_judge_error(error)) ? ON_TROUBLE : ON_REFUSED;
}

/* Of a lock that has failed only what the script has come to matters. */
static enum lock_event
judge_release(const struct lock *lock, const struct lock_reply *heard)
{
	bool has_failed = lock->failure != 0;
	const char *error =
	    has_failed ? value_error(heard->reply.value) : heard->reply.error;

	if (heard->verdict == VERDICT_AGAIN)
		return ON_TROUBLE;
	if (error == NULL)
		return heard->answer.outcome != ANSWER_NONE ? ON_FREED
							    : ON_SILENT;
	if (may_pass(has_failed ? reply_judge_error(error) : heard->verdict))
		return ON_TROUBLE;
	return lock->claim.tier == CLAIM_FULL && lock->claim.outer == NULL
		   ? ON_DENIED
		   : ON_REFUSED;
}

/* To a renewal a refusal says nothing about the lock: passwords and rules
 * change under long jobs, and may change back before the lease ends. So the
 * lease decides, of other errors too. After a refused AUTH or SELECT a value
 * may be about another db. */
enum lock_event
lock_judge(const struct lock *lock, const struct lock_reply *heard)
{
	enum verdict verdict = heard->verdict;
	enum answer_outcome outcome = heard->answer.outcome;

	if (verdict == VERDICT_AGAIN && lock->pace.repeats < REPEATS_MAX)
		return ON_AGAIN;
	switch (heard->reply.tag) {
	case ANSWER_TO_BELL:
		return judge_bell(lock, heard);
	case ANSWER_TO_RENEWAL:
		if (verdict == VERDICT_WRONGTYPE)
			return ON_GONE;
		if (verdict != VERDICT_VALUE)
			return ON_TROUBLE;
		return outcome == ANSWER_NOT_OURS ? ON_GONE : ON_OURS;
	case ANSWER_TO_RELEASE:
	case ANSWER_TO_PLAIN_RELEASE:
		return judge_release(lock, heard);
	case ANSWER_TO_RECORD:
		if (outcome != ANSWER_NONE)
			return ON_FREED;
		return clock_now() < lock->release.give_up_at &&
			       (heard->reply.error == NULL || may_pass(verdict))
			   ? ON_TROUBLE
			   : ON_REFUSED;
	default:
		return judge_try(lock, heard);
	}
}
