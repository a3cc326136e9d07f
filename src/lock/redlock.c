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

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dice.h"
#include "base/num.h"
#include "lock/acquire.h"
#include "lock/lease.h"
#include "lock/release.h"
#include "redis/info.h"
#include "redis/reply.h"
#include "redis/way.h"

enum { PATIENCE_MIN_MS = 50, PATIENCE_MAX_MS = 500 };
enum { BACKOFF_MAX_MS = 1000 };
enum { WHY_MAX = 640 };

/* How a server stands to the present round. */
enum vote {
	VOTE_OUT, /* it may still vote */
	VOTE_YES,
	VOTE_NO,
	/* Absent, from here on: no reply, and none the next time either, */
	VOTE_SILENT,
	VOTE_UNREACHABLE,
	/* or a reply that does not count, nor will it the next time. */
	VOTE_FAILED,
	VOTE_UNUSABLE,
};

/* Which server it is, by INFO, once a connection, and how it stands. */
struct identity {
	bool known;
	int64_t started_at; /* or up to a second earlier */
	char run_id[64];
	char label[320];		 /* of the server that replied so */
	char obstacle[SINGLE_WORDS_MAX]; /* why it can never be known, or empty
					  */
	char why[WHY_MAX]; /* it stands so, as it was judged last */
};

struct redlock {
	struct identity *identities; /* as the locks */
	int64_t votes_until;	     /* the present round */
	int64_t rest_until;	     /* between two rounds; 0 in one */
	int64_t silent_since; /* the first round of those without a majority; 0:
			       * the last one had it */
	int64_t backoff_ms;
	int64_t release_until; /* a release that could not be sent is awaited */
	char duplicates[320];  /* never forgotten */
	char label[1024];
	char error[LOCK_ERROR_MAX];
};

/* --- when the votes decide ---------------------------------------------- */

size_t
redlock_majority(size_t size)
{
	return size / 2 + 1;
}

int64_t
redlock_patience_ms(int64_t ttl_ms)
{
	int64_t ms = ttl_ms / 20;

	if (ms < PATIENCE_MIN_MS)
		return PATIENCE_MIN_MS;
	return clock_min(ms, PATIENCE_MAX_MS);
}

bool
redlock_never_agrees(const struct redlock_votes *votes)
{
	return votes->size - votes->permanent < redlock_majority(votes->size);
}

/* A majority grants the lock, or it cannot any more. Then enough votes are
 * waited for to say whether the lock is held by others, or servers have failed.
 */
enum redlock_decision
redlock_decide(const struct redlock_votes *votes)
{
	size_t majority = redlock_majority(votes->size);

	if (votes->yes >= majority)
		return REDLOCK_YES;
	if (votes->yes + votes->out >= majority)
		return REDLOCK_WAIT;
	if (votes->out > 0 && votes->yes + votes->no < majority)
		return REDLOCK_WAIT;
	/* A minority may not have the lock of an outer run yet: only a majority
	 * says that it is gone. */
	if (votes->gone > 0 && votes->no < majority)
		return votes->no + votes->out >= majority ? REDLOCK_WAIT
							  : REDLOCK_FAILED;
	if (votes->no > 0 && votes->yes + votes->no >= majority &&
	    !redlock_never_agrees(votes))
		return REDLOCK_NO;
	return REDLOCK_FAILED;
}

/* A majority has freed it, as replicas know, and the other releases are on
 * their way, or have had their time. */
enum redlock_decision
redlock_decide_release(const struct redlock_releases *releases)
{
	size_t majority = redlock_majority(releases->size);
	bool is_lost = releases->lost >= majority;
	bool is_freed = releases->freed > 0 &&
			releases->freed + releases->denied >= majority;

	if (releases->replicated >= majority && releases->unsent == 0)
		return REDLOCK_YES;
	if (releases->open > 0 && !(releases->over && (is_lost || is_freed)))
		return REDLOCK_WAIT;
	if (is_lost)
		return REDLOCK_NO;
	return is_freed ? REDLOCK_YES : REDLOCK_FAILED;
}

/* --- which server it is -------------------------------------------------- */

/* The server takes the difference of two clocks that are cut to whole seconds:
 * it may be up for a second less. A server that is busy with itself can be
 * asked again. */
static void
on_info(void *arg, const struct reply *reply)
{
	struct identity *identity = arg;
	const char *info = value_text(reply->value);
	const char *error = value_error(reply->value);
	int64_t seconds = info_number(info, "uptime_in_seconds");

	info_text(info, "run_id", identity->run_id, sizeof(identity->run_id));
	identity->obstacle[0] = '\0';
	identity->known = identity->run_id[0] != '\0' && seconds >= 0 &&
			  seconds <= NUM_DURATION_MAX_MS / 1000;
	if (identity->known) {
		identity->started_at =
		    clock_now() - (seconds > 0 ? seconds - 1 : 0) * 1000;
		snprintf(identity->label, sizeof(identity->label), "%s",
		    reply->label);
	} else if (reply->value != NULL &&
		   (error == NULL ||
		       reply_judge_error(error) != VERDICT_RETRY)) {
		snprintf(identity->obstacle, sizeof(identity->obstacle),
		    "cannot be identified by INFO (+info): %s",
		    error != NULL ? error : "no run_id and no uptime in it");
	}
}

/* In the same write as the first try on a connection. */
static void
introduce(const struct set *set, size_t i)
{
	static const char *const words[] = {"INFO", "server", NULL};
	const struct lock *lock = &set->locks[i];
	struct identity *identity = &set->redlock->identities[i];
	const struct command command = {.words = words,
	    .deadline = clock_now() + 2 * lock->config->try_ms +
			lock->config->replicas_ms,
	    .counts_until = set->redlock->votes_until,
	    .on_reply = on_info,
	    .arg = identity,
	    .more = true};

	identity->known = identity->known && single_is_up(lock->single);
	if (!identity->known)
		way_send(single_server(lock->single), &command, 1);
}

static void
find_duplicates(const struct set *set)
{
	struct redlock *redlock = set->redlock;

	for (size_t i = 0; i < set->count; i++)
		for (size_t j = 0; j < i; j++) {
			const struct identity *a = &redlock->identities[j];
			const struct identity *b = &redlock->identities[i];

			if (a->known && b->known &&
			    strcmp(a->run_id, b->run_id) == 0)
				snprintf(redlock->duplicates,
				    sizeof(redlock->duplicates),
				    "%.120s and %.120s are the same server",
				    a->label, b->label);
		}
}

/* --- how a server stands -------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void
explain(struct identity *identity, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(identity->why, sizeof(identity->why), format, arguments);
	va_end(arguments);
}

/* One server behind two addresses would be a majority of itself. In a cluster
 * another node may have answered than the one that was identified. A server
 * whose connection has ended may have restarted, and forgotten the grant. */
static enum vote
judge_grant(const struct lock *lock, struct identity *identity)
{
	const char *label = single_label(lock->single);
	int64_t up_ms = clock_now() - identity->started_at;

	if (identity->obstacle[0] != '\0') {
		explain(identity, "not counted %.120s: %.180s", label,
		    identity->obstacle);
		return VOTE_UNUSABLE;
	}
	if (!identity->known ||
	    strncmp(identity->label, label, sizeof(identity->label) - 1) != 0)
		explain(identity,
		    "not counted %.120s: it is not identified yet", label);
	else if (up_ms < lock->config->min_uptime_ms)
		explain(identity,
		    "not counted %.120s: up for %.1f s only, so it abstains "
		    "(--min-uptime)",
		    label, (double)up_ms / 1000);
	else if (!single_is_up(lock->single))
		explain(identity,
		    "not counted %.120s: its connection has ended since",
		    label);
	else if (clock_now() >= lock->valid_until)
		explain(identity, "not counted %.120s: its lease has ended",
		    label);
	else {
		explain(identity, "%s agrees", label);
		return VOTE_YES;
	}
	return VOTE_FAILED;
}

static enum vote
judge_vote(const struct set *set, size_t i)
{
	const struct lock *lock = &set->locks[i];
	struct identity *identity = &set->redlock->identities[i];
	const char *label = single_label(lock->single);

	if (lock->state == LOCK_HELD)
		return judge_grant(lock, identity);
	if (lock->state == LOCK_ACQUIRING &&
	    set->loop->now < set->redlock->votes_until) {
		explain(identity, "%s has not answered", label);
		return VOTE_OUT;
	}
	if (lock->state == LOCK_ACQUIRING)
		explain(identity, "no answer from %.120s: not within its time",
		    label);
	/* One that is left out of this round stands as before. */
	if (lock->failure == 0)
		return VOTE_SILENT;
	switch (lock->failure) {
	case LOCK_BUSY:
	case LOCK_NO_OUTER:
	case LOCK_OTHER_KIND:
		explain(identity, "%s denies it", label);
		return VOTE_NO;
	case LOCK_UNAVAILABLE:
		explain(identity, "%s", lock->error);
		if (lock->try.permanent)
			return VOTE_UNREACHABLE;
		return lock->try.silent_since == 0 ? VOTE_FAILED : VOTE_SILENT;
	default:
		explain(identity, "%s", lock->error);
		return VOTE_UNUSABLE;
	}
}

/* How it stands to a renewal, or a release. */
static void
describe_lock(const struct lock *lock, struct identity *identity)
{
	const char *label = single_label(lock->single);
	bool is_ours =
	    lock->state == LOCK_HELD || lock->release.outcome >= LOCK_FREED;
	bool denies = lock->state == LOCK_LOST ||
		      (lock->state == LOCK_RELEASED &&
			  lock->release.outcome != LOCK_UNCONFIRMED);

	if (!lock->answered)
		explain(identity, "%s", lock->error);
	else if (lock->command == LOCK_OUT)
		explain(identity, "%s has not answered", label);
	else if (is_ours)
		explain(identity, "%s agrees", label);
	else if (denies)
		explain(identity, "%s denies it", label);
	else
		explain(identity, "%s", lock->error);
}

/* Why there is no majority, by each server. */
static void
explain_votes(struct set *set)
{
	char *error = set->redlock->error;
	size_t size = sizeof(set->redlock->error);

	snprintf(error, size, "no majority of %zu servers", set->count);
	for (size_t i = 0; i < set->count; i++) {
		struct identity *identity = &set->redlock->identities[i];
		size_t length = strlen(error);

		if (set->state == LOCK_ACQUIRING)
			judge_vote(set, i);
		else
			describe_lock(&set->locks[i], identity);
		snprintf(error + length, size - length, "%s%s",
		    i == 0 ? ": " : "; ", identity->why);
	}
}

static struct redlock_votes
count_votes(const struct set *set)
{
	struct redlock_votes votes = {.size = set->count};

	for (size_t i = 0; i < set->count; i++) {
		enum vote vote = judge_vote(set, i);

		votes.out += vote == VOTE_OUT;
		votes.yes += vote == VOTE_YES;
		votes.no += vote == VOTE_NO;
		votes.gone +=
		    vote == VOTE_NO && set->locks[i].failure == LOCK_NO_OUTER;
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
		enum vote vote = judge_vote(set, i);

		if (vote == VOTE_UNREACHABLE || vote == VOTE_UNUSABLE)
			faults.unusable[i] = redlock->identities[i].why;
	}
	return faults;
}

/* --- rounds ----------------------------------------------------------------
 */

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

		if (lock->state == LOCK_RELEASING || lock->try.is_out)
			continue;
		lock_begin_anew(lock);
		introduce(set, i);
		acquire_start(lock);
	}
}

/* Ends it for good: what was granted is released, and shortly awaited. */
static void
fail_rounds(struct set *set, enum lock_failure failure)
{
	set->failure = failure;
	set->backing_out = true;
	for (size_t i = set->count; i-- > 0;)
		release_at_once(&set->locks[i]);
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
		bool held = lock->state == LOCK_HELD;
		bool unknown =
		    lock->state == LOCK_ACQUIRING ||
		    (lock->state == LOCK_FAILED && lock->grant_unknown);

		granted = granted || unknown || held;
		if (held && single_is_up(lock->single))
			release_at_once(lock);
		else if (held || unknown)
			release_behind(lock);
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
	redlock->backoff_ms = LOCK_BACKOFF_MIN_MS;
	if (lock->failure == LOCK_OTHER_KIND) {
		fail_rounds(set, LOCK_OTHER_KIND);
	} else if (lock->failure == LOCK_BUSY && !lock->config->wait) {
		fail_rounds(set, LOCK_BUSY);
	} else if (lock->failure == LOCK_BUSY) {
		int64_t ms = queue_wait_ms(&lock->queue, &lock->holder);

		if (withdraw_round(set))
			rest(set, ms);
	} else if (withdraw_round(set)) {
		for (size_t i = 0; i < set->count; i++)
			claim_forget_outer(&set->locks[i].claim);
		rest(set, 0);
	}
}

/* In the words of the first of those that make a majority impossible. */
static void
on_never(struct set *set)
{
	struct redlock *redlock = set->redlock;
	const struct lock *lock;
	size_t i = 0;
	enum vote vote;

	while ((vote = judge_vote(set, i)) != VOTE_UNREACHABLE &&
	       vote != VOTE_UNUSABLE)
		i++;
	lock = &set->locks[i];
	set->about = lock;
	if (vote == VOTE_UNREACHABLE) {
		fail_rounds(set, LOCK_UNAVAILABLE);
	} else if (lock->state == LOCK_HELD) {
		reply_describe(redlock->error, sizeof(redlock->error),
		    "refused by", single_label(lock->single),
		    redlock->identities[i].obstacle);
		fail_rounds(set, LOCK_REFUSED);
	} else {
		memcpy(redlock->error, lock->error, sizeof(redlock->error));
		fail_rounds(set, lock->failure);
	}
}

/* A majority that sends error replies is not silent: a waiter goes on. A run
 * that does not wait gives the servers the time it gives silent ones. */
static void
on_no_majority(struct set *set, const struct redlock_votes *votes)
{
	struct redlock *redlock = set->redlock;
	int64_t ms = redlock->backoff_ms;

	set->answered = false;
	explain_votes(set);
	if (redlock_never_agrees(votes)) {
		on_never(set);
		return;
	}
	if (votes->answered >= set->need && set->configs->wait)
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
step_acquiring(struct set *set)
{
	struct redlock *redlock = set->redlock;
	struct redlock_votes votes;
	enum redlock_decision decision;

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
	decision = redlock_decide(&votes);
	if (decision == REDLOCK_WAIT)
		return;
	find_duplicates(set);
	if (redlock->duplicates[0] != '\0') {
		memcpy(redlock->error, redlock->duplicates,
		    sizeof(redlock->duplicates));
		fail_rounds(set, LOCK_MISCONFIGURED);
	} else if (decision == REDLOCK_YES) {
		set_hold(set);
	} else if (decision == REDLOCK_NO) {
		on_denied(set);
	} else {
		on_no_majority(set, &votes);
	}
}

static void
begin(struct set *set)
{
	struct redlock *redlock = set->redlock;

	snprintf(redlock->error, sizeof(redlock->error),
	    "no answer from %.512s", redlock->label);
	redlock->backoff_ms = LOCK_BACKOFF_MIN_MS;
	begin_round(set);
}

/* --- hold ------------------------------------------------------------------
 */

/* Whether so many have renewed the lock since that time, all at once. Without a
 * majority another client may have taken it meanwhile. */
static bool
is_agreed_since(const struct set *set, int64_t at)
{
	size_t agreed = 0;

	for (size_t i = 0; i < set->count; i++)
		agreed += set->locks[i].state == LOCK_HELD &&
			  set->locks[i].answered &&
			  set->locks[i].renewed_at != 0 &&
			  set->locks[i].renewed_at >= at;
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
		bool lacks = lock->state == LOCK_LOST ||
			     lock->state == LOCK_FAILED ||
			     lock->state == LOCK_RELEASED;

		if (lacks && !lock->try.is_out &&
		    ((lock->was_away && lock->timer.at == CLOCK_NEVER) ||
			is_agreed_since(set, lock->try.sent_at)))
			lease_plant(lock);
	}
}

static void
step_held(struct set *set)
{
	struct redlock *redlock = set->redlock;

	if (set->state == LOCK_LOST)
		memcpy(redlock->error, set->about->error,
		    sizeof(redlock->error));
	else if (!set->answered)
		explain_votes(set);
	set->error = redlock->error;
	/* What is denied by one of them is reported. */
	for (size_t i = 0; i < set->count; i++)
		if (set->locks[i].state == LOCK_HELD &&
		    (set->about->state != LOCK_HELD ||
			(set->about->no_queue[0] == '\0' &&
			    set->locks[i].no_queue[0] != '\0')))
			set->about = &set->locks[i];
	if (set->state == LOCK_HELD)
		plant(set);
	for (size_t i = 0; set->state == LOCK_LOST && i < set->count; i++)
		if (set->locks[i].state == LOCK_LOST)
			lock_due_at(&set->locks[i], CLOCK_NEVER);
}

/* --- release ----------------------------------------------------------------
 */

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
	if (lock->state == LOCK_HELD || lock->state == LOCK_ACQUIRING ||
	    lock->grant_unknown || lock->try.is_out) {
		release_start(lock, keep_until);
		return;
	}
	lock_due_at(lock, CLOCK_NEVER); /* it is planted no more */
	if (lock->state != LOCK_LOST && lock->failure != LOCK_BUSY)
		lock->release.outcome = LOCK_UNCONFIRMED;
}

static struct redlock_releases
count_releases(const struct set *set)
{
	struct redlock_releases releases = {.size = set->count,
	    .over = set->loop->now >= set->redlock->release_until};

	for (size_t i = 0; i < set->count; i++) {
		const struct lock *lock = &set->locks[i];
		enum lock_released outcome = lock->release.outcome;
		bool is_open = lock->state == LOCK_RELEASING;
		bool is_freed = !is_open && outcome >= LOCK_FREED;

		releases.open += is_open;
		releases.unsent += release_is_unsent(lock);
		releases.freed += is_freed;
		releases.replicated +=
		    is_freed && lock->release.unreplicated[0] == '\0';
		releases.denied +=
		    !is_open && !is_freed && outcome != LOCK_UNCONFIRMED;
		releases.lost +=
		    lock->state == LOCK_LOST || outcome == LOCK_WAS_LOST;
	}
	return releases;
}

/* In the words of the first that has freed it. */
static void
note_released(struct set *set, const struct redlock_releases *releases)
{
	struct lock *lock = set->locks;
	char *why;

	while (
	    lock->state == LOCK_RELEASING || lock->release.outcome < LOCK_FREED)
		lock++;
	set->about = lock;
	set->outcome = lock->release.outcome;
	why = lock->release.unreplicated;
	if (releases->replicated < set->need)
		snprintf(why, sizeof(lock->release.unreplicated),
		    "too few replicas have confirmed the release");
	else
		why[0] = '\0';
}

static void
step_releasing(struct set *set)
{
	const struct redlock_releases releases = count_releases(set);
	enum redlock_decision decision = redlock_decide_release(&releases);
	size_t heard = 0;

	for (size_t i = 0; i < set->count; i++)
		heard += set->locks[i].state != LOCK_RELEASING ||
			 set->locks[i].answered;
	set->answered = heard >= set->need;
	if (!set->answered || decision == REDLOCK_FAILED)
		explain_votes(set);
	if (decision == REDLOCK_WAIT)
		return;
	set->state = LOCK_RELEASED;
	if (decision == REDLOCK_YES)
		note_released(set, &releases);
	else
		set->outcome =
		    decision == REDLOCK_NO ? LOCK_WAS_LOST : LOCK_UNCONFIRMED;
}

/* --- set-up ------------------------------------------------------------------
 */

static int
init(struct set *set)
{
	struct redlock *redlock = calloc(1, sizeof(*redlock));

	set->redlock = redlock;
	if (redlock == NULL)
		return -1;
	set->error = redlock->error;
	set->label = redlock->label;
	redlock->identities = calloc(set->count, sizeof(*redlock->identities));
	if (redlock->identities == NULL)
		return -1;
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
fini(struct set *set)
{
	if (set->redlock != NULL)
		free(set->redlock->identities);
	free(set->redlock);
}

static void
explain_wait(struct set *set)
{
	if (set->state == LOCK_ACQUIRING && set->redlock->rest_until == 0 &&
	    !set->backing_out)
		explain_votes(set);
}

const struct set_rule rule_majority = {.need = redlock_majority,
    .init = init,
    .fini = fini,
    .begin = begin,
    .step_acquiring = step_acquiring,
    .step_held = step_held,
    .release = release,
    .step_releasing = step_releasing,
    .explain = explain_wait};
