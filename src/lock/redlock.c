/* To acquire the lock takes rounds:
 *
 *   --> all are tried --enough agree in time--> HELD
 *        ^        |
 *        |        +--too few for good, or too long--> FAILED
 *        |        v
 *        +-- what was granted is released, and we rest: then a fresh token
 *
 * A server that owes the reply to an earlier try is left out: a frozen one
 * would execute all of them when it goes on. */
#include "lock/redlock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dice.h"
#include "lock/contact.h"
#include "redis/reply.h"
#include "redis/way.h"

enum { BACKOFF_MAX_MS = 1000 };

struct redlock {
	struct vote votes[REDLOCK_SERVERS_MAX]; /* as the locks */
	int64_t votes_until;			/* the present round */
	int64_t rest_until;   /* between two rounds; 0 in one */
	int64_t silent_since; /* the first round of those without a majority; 0:
			       * the last one had it */
	int64_t gone_since;   /* a majority lacks the lock of the outer run */
	int64_t backoff_ms;
	int64_t release_until; /* a release that could not be sent is awaited */
	char duplicates[320];  /* never forgotten */
	char label[1024];
	char error[LOCK_ERROR_MAX];
};

/* --- how the servers stand --------------------------------------------- */

static void
find_duplicates(const struct set *set)
{
	struct redlock *redlock = set->redlock;

	for (size_t i = 0; i < set->count; i++)
		for (size_t j = 0; j < i; j++) {
			const struct vote *a = &redlock->votes[j];
			const struct vote *b = &redlock->votes[i];

			if (a->known && b->known &&
			    strcmp(a->run_id, b->run_id) == 0)
				snprintf(redlock->duplicates,
				    sizeof(redlock->duplicates),
				    "%.120s and %.120s are the same server",
				    a->label, b->label);
		}
}

static enum vote_kind
judge_vote(const struct set *set, size_t i)
{
	return vote_judge(&set->redlock->votes[i], &set->locks[i],
	    set->loop->now >= set->redlock->votes_until);
}

/* Why there is no majority, by each server. */
static void
explain_votes(struct set *set)
{
	char *error = set->redlock->error;
	size_t size = sizeof(set->redlock->error);

	snprintf(error, size, "no majority of %zu servers", set->count);
	for (size_t i = 0; i < set->count; i++) {
		struct vote *vote = &set->redlock->votes[i];
		size_t length = strlen(error);

		if (set->state == LOCK_ACQUIRING)
			judge_vote(set, i);
		else
			vote_explain(vote, &set->locks[i]);
		snprintf(error + length, size - length, "%s%s",
		    i == 0 ? ": " : "; ", vote->why);
	}
}

static struct votes
count_votes(const struct set *set)
{
	struct votes votes = {.size = set->count};

	for (size_t i = 0; i < set->count; i++) {
		const struct lock *lock = &set->locks[i];
		enum vote_kind vote = judge_vote(set, i);

		votes.out += vote == VOTE_OUT;
		votes.yes += vote == VOTE_YES;
		votes.no += vote == VOTE_NO;
		votes.gone += vote == VOTE_NO && lock->failure == LOCK_NO_OUTER;
		votes.permanent +=
		    vote == VOTE_UNREACHABLE || vote == VOTE_UNUSABLE;
		votes.answered += vote != VOTE_OUT && vote != VOTE_SILENT &&
				  vote != VOTE_UNREACHABLE;
	}
	return votes;
}

struct redlock_faults
redlock_faults(const struct set *set)
{
	struct redlock_faults faults = {.duplicates = NULL};
	struct redlock *redlock = set->redlock;

	if (redlock == NULL)
		return faults;
	find_duplicates(set);
	if (redlock->duplicates[0] != '\0')
		faults.duplicates = redlock->duplicates;
	for (size_t i = 0; i < set->count; i++) {
		enum vote_kind vote = judge_vote(set, i);

		if (vote == VOTE_UNREACHABLE || vote == VOTE_UNUSABLE)
			faults.unusable[i] = redlock->votes[i].why;
	}
	return faults;
}

/* --- rounds ------------------------------------------------------------ */

static int64_t
silence_ends_at(const struct set *set)
{
	if (set->redlock->silent_since == 0)
		return CLOCK_NEVER;
	return set->redlock->silent_since + set->configs->server_timeout_ms;
}

static void
begin_round(struct set *set)
{
	const struct lock_config *config = set->configs;
	struct redlock *redlock = set->redlock;
	int64_t now = clock_now();

	if (redlock->silent_since == 0)
		redlock->silent_since = now;
	redlock->rest_until = 0;
	redlock->votes_until = clock_min(silence_ends_at(set),
	    now + config->replicas_ms + config->vote_ms);
	loop_timer_set(set->loop, &set->timer, redlock->votes_until);
	for (size_t i = 0; i < set->count; i++) {
		struct lock *lock = &set->locks[i];

		if (lock_phase(lock) == LOCK_RELEASING || lock->vote.is_out)
			continue;
		vote_introduce(&redlock->votes[i], lock);
		lock_order(lock, ON_ACQUIRE);
	}
}

/* Ends it for good: what was granted is released, and shortly awaited. */
static void
fail_rounds(struct set *set, enum lock_failure failure)
{
	set->failure = failure;
	set->backing_out = true;
	for (size_t i = set->count; i-- > 0;)
		lock_order(&set->locks[i], ON_WITHDRAW);
	if (set_is_settled(set))
		set->state = LOCK_FAILED;
}

/* What a minority has granted is freed at once: nobody is to hold it. The next
 * try names that token, in case the release is lost or refused: it would
 * otherwise find the lock held by ourselves. False if nothing can be tried any
 * more. */
static bool
withdraw_round(struct set *set)
{
	struct redlock *redlock = set->redlock;
	bool granted = false;

	for (size_t i = 0; i < set->count; i++) {
		struct lock *lock = &set->locks[i];
		bool held = lock_phase(lock) == LOCK_HELD;
		bool unknown = lock_phase(lock) == LOCK_ACQUIRING ||
			       (lock_phase(lock) == LOCK_FAILED &&
				   lock->debt == DEBT_MAYBE);

		granted = granted || unknown || held;
		if (held && way_is_up(lock->link->way))
			lock_order(lock, ON_WITHDRAW);
		else if (held || unknown)
			lock_order(lock, ON_BEHIND);
	}
	if (!granted || set->locks->claim.outer != NULL)
		return true;
	if (!claim_supersede_token(&set->locks->claim)) {
		reply_describe(redlock->error, sizeof(redlock->error),
		    "cannot try again at", redlock->label,
		    "there is no randomness for a token");
		fail_rounds(set, LOCK_ERROR);
		return false;
	}
	for (size_t i = 1; i < set->count; i++)
		claim_adopt_token(&set->locks[i].claim,
		    set->locks->claim.token);
	return true;
}

static void
rest(struct set *set, int64_t ms)
{
	struct redlock *redlock = set->redlock;

	redlock->rest_until = clock_min(clock_now() + ms, silence_ends_at(set));
	loop_timer_set(set->loop, &set->timer, redlock->rest_until);
}

/* From here on the lock is claimed as our own. */
static void
forget_outer(struct set *set)
{
	if (!withdraw_round(set))
		return;
	for (size_t i = 0; i < set->count; i++)
		claim_forget_outer(&set->locks[i].claim);
	rest(set, 0);
}

/* The lock is held by others, or the outer run has ended: in the words of the
 * first that said so. */
static void
on_denied(struct set *set)
{
	struct redlock *redlock = set->redlock;
	struct lock *lock = set->locks;

	while (lock->failure != LOCK_BUSY && lock->failure != LOCK_NO_OUTER &&
	       lock->failure != LOCK_OTHER_KIND)
		lock++;
	set->about = lock;
	set->answered = true;
	redlock->silent_since = 0;
	redlock->backoff_ms = CONTACT_BACKOFF_MIN_MS;
	if (lock->failure == LOCK_OTHER_KIND) {
		fail_rounds(set, LOCK_OTHER_KIND);
	} else if (lock->failure == LOCK_BUSY && !lock->config->wait) {
		fail_rounds(set, LOCK_BUSY);
	} else if (lock->failure == LOCK_BUSY) {
		int64_t ms = queue_wait_ms(&lock->queue, &lock->holder);

		if (withdraw_round(set))
			rest(set, ms);
	} else {
		forget_outer(set);
	}
}

/* In the words of the first of those that make a majority impossible. */
static void
on_never(struct set *set)
{
	struct redlock *redlock = set->redlock;
	const struct lock *lock;
	size_t i = 0;
	enum vote_kind vote;

	while ((vote = judge_vote(set, i)) != VOTE_UNREACHABLE &&
	       vote != VOTE_UNUSABLE)
		i++;
	lock = &set->locks[i];
	set->about = lock;
	if (vote == VOTE_UNREACHABLE) {
		fail_rounds(set, LOCK_UNAVAILABLE);
	} else if (lock_phase(lock) == LOCK_HELD) {
		reply_describe(redlock->error, sizeof(redlock->error),
		    "refused by", way_label(lock->link->way),
		    redlock->votes[i].obstacle);
		fail_rounds(set, LOCK_REFUSED);
	} else {
		memcpy(redlock->error, lock->why.text, sizeof(redlock->error));
		fail_rounds(set, lock->failure);
	}
}

/* A majority that sends error replies is not silent: a waiter goes on. A run
 * that does not wait gives the servers the time it gives silent ones.
 *
 * An outer run that a majority lacks gets the lock back there within its ttl,
 * or has lost it. To forget it earlier could mean to wait for it, as it waits
 * for its job. Its ttl is not known, so the longest time of our own stands for
 * it: after that nobody is waited for who may never come, or whose lock on a
 * minority we keep alive by joining it. */
static void
on_no_majority(struct set *set, const struct votes *votes)
{
	const struct lock_config *config = set->configs;
	struct redlock *redlock = set->redlock;
	int64_t ms = redlock->backoff_ms;
	bool is_gone = votes->gone >= set->need;

	set->answered = false;
	explain_votes(set);
	if (votes_never_agree(votes)) {
		on_never(set);
		return;
	}
	if (is_gone && redlock->gone_since == 0)
		redlock->gone_since = set->loop->now;
	if (is_gone && set->loop->now >= redlock->gone_since + config->ttl_ms &&
	    set->loop->now >= redlock->gone_since + config->server_timeout_ms) {
		forget_outer(set);
		return;
	}
	if (is_gone || (votes->answered >= set->need && config->wait))
		redlock->silent_since = 0;
	if (set->loop->now >= silence_ends_at(set)) {
		fail_rounds(set, LOCK_UNAVAILABLE);
		return;
	}
	redlock->backoff_ms = clock_min(2 * ms, BACKOFF_MAX_MS);
	if (withdraw_round(set))
		rest(set, dice_between(ms - ms / 5, ms));
}

static void
majority_step_acquiring(struct set *set)
{
	struct redlock *redlock = set->redlock;
	struct votes votes;
	enum votes_decision decision;

	if (set->backing_out) {
		if (set_is_settled(set))
			set->state = LOCK_FAILED;
		return;
	}
	if (redlock->rest_until != 0) {
		if (set->loop->now >= silence_ends_at(set))
			fail_rounds(set, LOCK_UNAVAILABLE);
		else if (set->loop->now >= redlock->rest_until)
			begin_round(set);
		return;
	}
	votes = count_votes(set);
	decision = votes_decide(&votes);
	if (decision == VOTES_WAIT)
		return;
	find_duplicates(set);
	if (redlock->duplicates[0] != '\0') {
		memcpy(redlock->error, redlock->duplicates,
		    sizeof(redlock->duplicates));
		fail_rounds(set, LOCK_MISCONFIGURED);
	} else if (decision == VOTES_YES) {
		set_hold(set);
	} else if (decision == VOTES_NO) {
		on_denied(set);
	} else {
		on_no_majority(set, &votes);
	}
}

static void
majority_begin(struct set *set)
{
	struct redlock *redlock = set->redlock;

	snprintf(redlock->error, sizeof(redlock->error),
	    "no answer from %.512s", redlock->label);
	redlock->backoff_ms = CONTACT_BACKOFF_MIN_MS;
	begin_round(set);
}

/* --- hold -------------------------------------------------------------- */

/* Whether so many have renewed the lock since that time, all at once. Without a
 * majority another client may have taken it meanwhile. */
static bool
is_agreed_since(const struct set *set, int64_t at)
{
	size_t agreed = 0;

	for (size_t i = 0; i < set->count; i++)
		agreed += lock_phase(&set->locks[i]) == LOCK_HELD &&
			  set->locks[i].why.answered &&
			  set->locks[i].vote.renewed_at != 0 &&
			  set->locks[i].vote.renewed_at >= at;
	return agreed >= set->need;
}

/* A server that has come back without the lock gets it again, and so does one
 * that was silent, or had voted for others, when it was acquired. A nested run
 * joins its outer run there as soon as that has got it. A server that was away
 * has just forgotten the lock, so nobody else can have taken it from there. */
static void
plant(struct set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		struct lock *lock = &set->locks[i];
		bool lacks = lock_phase(lock) == LOCK_LOST ||
			     lock_phase(lock) == LOCK_FAILED ||
			     lock_phase(lock) == LOCK_RELEASED;

		if (lacks && !lock->vote.is_out &&
		    ((lock->vote.was_away && lock->timer.at == CLOCK_NEVER) ||
			is_agreed_since(set, lock->pace.sent_at)))
			lock_order(lock, ON_PLANT);
	}
}

static void
majority_step_held(struct set *set)
{
	struct redlock *redlock = set->redlock;

	if (set->state == LOCK_LOST)
		memcpy(redlock->error, set->about->why.text,
		    sizeof(redlock->error));
	else if (!set->answered)
		explain_votes(set);
	set->error = redlock->error;
	/* What is denied by one of them is reported. */
	for (size_t i = 0; i < set->count; i++)
		if (lock_phase(&set->locks[i]) == LOCK_HELD &&
		    (lock_phase(set->about) != LOCK_HELD ||
			(!set->about->why.no_queue &&
			    set->locks[i].why.no_queue)))
			set->about = &set->locks[i];
	if (set->state == LOCK_HELD)
		plant(set);
	for (size_t i = 0; set->state == LOCK_LOST && i < set->count; i++)
		if (lock_phase(&set->locks[i]) == LOCK_LOST)
			lock_due_at(&set->locks[i], CLOCK_NEVER);
}

/* --- release ----------------------------------------------------------- */

/* Not of a server that surely does not have it: it has said so, or has never
 * been heard of. */
static void
release(struct set *set, struct lock *lock, int64_t keep_until)
{
	struct redlock *redlock = set->redlock;
	bool ends_run = lock->release.run.status != REQUEST_NO_JOB;

	redlock->release_until = clock_now() + lock->config->vote_ms +
				 (ends_run ? lock->config->replicas_ms : 0);
	loop_timer_set(set->loop, &set->timer, redlock->release_until);
	/* What a server keeps has a record, also if its grant comes too late.
	 */
	for (size_t i = 0; i < set->count && *lock->claim.fence == '\0'; i++)
		claim_share_grant(&lock->claim, &set->locks[i].claim);
	if (lock_phase(lock) == LOCK_HELD ||
	    lock_phase(lock) == LOCK_ACQUIRING || lock->debt == DEBT_MAYBE ||
	    lock->vote.is_out) {
		lock->release.keep_until = keep_until;
		lock_order(lock, ON_RELEASE);
		return;
	}
	lock_due_at(lock, CLOCK_NEVER); /* it is planted no more */
	if (lock_phase(lock) != LOCK_LOST && lock->failure != LOCK_BUSY)
		lock->release.outcome = LOCK_UNCONFIRMED;
}

static struct votes_releases
count_releases(const struct set *set)
{
	struct votes_releases releases = {.size = set->count,
	    .over = set->loop->now >= set->redlock->release_until};

	for (size_t i = 0; i < set->count; i++) {
		const struct lock *lock = &set->locks[i];
		enum lock_released outcome = lock->release.outcome;
		bool is_open = lock_phase(lock) == LOCK_RELEASING;
		bool is_freed = !is_open && outcome >= LOCK_FREED;

		releases.open += is_open;
		releases.unsent += release_is_unsent(lock);
		releases.freed += is_freed;
		releases.replicated +=
		    is_freed && lock->release.unreplicated[0] == '\0';
		releases.denied +=
		    !is_open && !is_freed && outcome != LOCK_UNCONFIRMED;
		releases.lost +=
		    lock_phase(lock) == LOCK_LOST || outcome == LOCK_WAS_LOST;
	}
	return releases;
}

/* In the words of the first that has freed it. */
static void
note_released(struct set *set, const struct votes_releases *releases)
{
	struct lock *lock = set->locks;
	char *why;

	while (lock_phase(lock) == LOCK_RELEASING ||
	       lock->release.outcome < LOCK_FREED)
		lock++;
	set->about = lock;
	set->outcome = lock->release.outcome;
	why = lock->release.unreplicated;
	if (set->configs->replicas > 0 && releases->replicated < set->need)
		snprintf(why, sizeof(lock->release.unreplicated),
		    "too few replicas have confirmed the release");
	else
		why[0] = '\0';
}

static void
majority_step_releasing(struct set *set)
{
	const struct votes_releases releases = count_releases(set);
	enum votes_decision decision = votes_decide_release(&releases);
	size_t heard = 0;

	for (size_t i = 0; i < set->count; i++)
		heard += lock_phase(&set->locks[i]) != LOCK_RELEASING ||
			 set->locks[i].why.answered;
	set->answered = heard >= set->need;
	if (!set->answered || decision == VOTES_FAILED)
		explain_votes(set);
	if (decision == VOTES_WAIT)
		return;
	set->state = LOCK_RELEASED;
	if (decision == VOTES_YES)
		note_released(set, &releases);
	else
		set->outcome =
		    decision == VOTES_NO ? LOCK_WAS_LOST : LOCK_UNCONFIRMED;
}

/* --- set-up ------------------------------------------------------------ */

static int
init(struct set *set)
{
	struct redlock *redlock = calloc(1, sizeof(*redlock));

	set->redlock = redlock;
	set->keys = 1;
	set->need = set->fatal = votes_majority(set->count);
	if (redlock == NULL)
		return -1;
	set->error = redlock->error;
	set->label = redlock->label;
	for (size_t i = 0; i < set->count; i++) {
		size_t length = strlen(redlock->label);

		snprintf(redlock->label + length,
		    sizeof(redlock->label) - length, "%s%s", i > 0 ? ", " : "",
		    set->configs[i].server->label);
		claim_share(&set->locks[i].claim, &set->locks->claim);
	}
	return 0;
}

static void
explain_wait(struct set *set)
{
	if (set->state == LOCK_ACQUIRING && set->redlock->rest_until == 0 &&
	    !set->backing_out)
		explain_votes(set);
}

const struct set_rule rule_majority = {.init = init,
    .begin = majority_begin,
    .step_acquiring = majority_step_acquiring,
    .step_held = majority_step_held,
    .release = release,
    .step_releasing = majority_step_releasing,
    .explain = explain_wait};
