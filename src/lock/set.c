/* Within ACQUIRING, of several keys:
 *
 *   --> try the next --held--> all held and fresh? --> HELD
 *         ^    |                  |
 *         |    +--failed----------|------> back out: release the held
 *         |                       |          |              |
 *         |                       +--lost--->+              +--> FAILED
 *         |                                  |
 *         +------- with new tokens ----------+
 */
#include "lock/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "redis/way.h"

/* --- set-up ----------------------------------------------------------- */

static void
be_about(struct set *set, const struct lock *lock)
{
	set->about = lock;
	set->error = lock->why.text;
}

static int
by_key(const void *a, const void *b)
{
	const struct lock *left = a;
	const struct lock *right = b;

	return strcmp(left->config->key, right->config->key);
}

int
set_init(struct set *set, struct loop *loop, const struct set_rule *rule,
    const struct lock_config *configs, size_t count)
{
	*set = (struct set){.loop = loop,
	    .rule = rule,
	    .configs = configs,
	    .count = count,
	    .keys = count,
	    .need = count,
	    .fatal = 1};
	set->locks = calloc(count, sizeof(*set->locks));
	if (set->locks == NULL)
		return -1;
	be_about(set, set->locks);
	/* A lock that is in use can't be moved any more. */
	for (size_t i = 0; i < count; i++)
		set->locks[i].config = &configs[i];
	/* Of a single one of that size, glibc would ask how much memory there
	 * is. */
	if (count > 1 && rule == &rule_all)
		qsort(set->locks, count, sizeof(*set->locks), by_key);
	for (size_t i = 0; i < count; i++)
		if (lock_init(&set->locks[i], loop, set->locks[i].config) == -1)
			return -1;
	return rule->init != NULL ? rule->init(set) : 0;
}

void
set_fini(struct set *set)
{
	for (size_t i = 0; set->locks != NULL && i < set->count; i++)
		lock_fini(&set->locks[i]);
	if (set->loop != NULL)
		loop_timer_remove(set->loop, &set->timer);
	free(set->redlock);
	free(set->locks);
}

const struct lock *
set_lock(const struct set *set, size_t key)
{
	const struct lock *lock = set->locks;

	if (set_is_majority(set))
		return set->about;
	while (lock->config != &set->configs[key])
		lock++;
	return lock;
}

bool
set_is_majority(const struct set *set)
{
	return set->rule != &rule_all;
}

/* --- what all phases share -------------------------------------------- */

bool
set_is_settled(const struct set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		enum lock_phase phase = lock_phase(&set->locks[i]);

		if (phase == LOCK_ACQUIRING || phase == LOCK_HELD ||
		    phase == LOCK_RELEASING)
			return false;
	}
	return true;
}

static int
by_time(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left < right) - (left > right);
}

/* The k-th latest of the leases is that of the set. */
static int64_t
proven_until(const struct set *set)
{
	int64_t leases[SET_LOCKS_MAX] = {0};

	for (size_t i = 0; i < set->count; i++)
		leases[i] = set->locks[i].lease.valid_until;
	qsort(leases, set->count, sizeof(*leases), by_time);
	return leases[set->need - 1];
}

static const struct lock *
find_lost(const struct set *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (lock_phase(&set->locks[i]) == LOCK_LOST)
			return &set->locks[i];
	return NULL;
}

/* A run that had a job is never withdrawn, even when its lease has ended. */
static void
release_one(struct set *set, struct lock *lock, int64_t keep_until)
{
	bool had_job = lock->release.run.status != REQUEST_NO_JOB;

	(void)set;
	if (lock_phase(lock) == LOCK_LOST)
		release_lost(lock);
	else if (lock_phase(lock) == LOCK_HELD &&
		 (had_job || clock_now() < lock->lease.valid_until)) {
		lock->release.keep_until = keep_until;
		lock_order(lock, ON_RELEASE);
	} else if (lock_phase(lock) == LOCK_HELD)
		lock_order(lock, ON_WITHDRAW);
}

/* --- acquire ---------------------------------------------------------- */

/* A token is never used again after a loss, nor after a release that may still
 * be on its way. The next try only names that of a lock which was had: it may
 * have been renewed unheard, and would keep us out. Nothing is held here, and
 * there is no job. */
static void
start_over(struct set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		struct lock *lock = &set->locks[i];
		const struct lock_config *config = lock->config;
		bool was_had =
		    lock->lease.acquired_at != 0 && lock->claim.outer == NULL;
		char name[LOCK_ERROR_MAX], token[TOKEN_SIZE];

		memcpy(token, lock->claim.token, sizeof(token));
		lock_fini(lock);
		if (lock_init(lock, set->loop, config) == -1) {
			escape_quote(config->name, name, sizeof(name));
			log_die(EXITCODE_RESOURCE,
			    "%s: cannot prepare the lock: %s", name,
			    strerror(errno));
		}
		if (was_had)
			claim_remember_token(&lock->claim, token);
	}
	set_acquire(set);
}

/* A lock that has failed may still be releasing what it was granted. */
static void
back_out(struct set *set)
{
	set->backing_out = true;
	for (size_t i = set->count; i-- > 0;) {
		struct lock *lock = &set->locks[i];

		if (lock_phase(lock) == LOCK_ACQUIRING ||
		    (lock_phase(lock) == LOCK_HELD && !lock->why.answered))
			lock_order(lock, ON_WITHDRAW);
		else
			release_one(set, lock, 0);
	}
}

/* The last one is held only while all leases are fresh: a lease that was taken
 * long ago and cannot be renewed would stop the job as soon as it has started.
 */
static void
step_acquiring(struct set *set)
{
	const struct lock *lost = find_lost(set);
	const struct lock *current = &set->locks[set->at];
	int64_t left_ms = proven_until(set) - clock_now();
	bool is_fresh =
	    set->count == 1 || left_ms >= current->config->ttl_ms / 3;

	if (!set->backing_out && lost != NULL)
		set->lost_early = lost->config;
	if (!set->backing_out && (lost != NULL || current->failure != 0)) {
		back_out(set);
	} else if (!set->backing_out && lock_phase(current) == LOCK_HELD) {
		if (set->at + 1 < set->count) {
			be_about(set, &set->locks[++set->at]);
			lock_order(&set->locks[set->at], ON_ACQUIRE);
		} else if (is_fresh) {
			set_hold(set);
		} else if (left_ms <= 0) {
			back_out(set);
		}
	}
	if (set->backing_out && set_is_settled(set)) {
		set->failure = current->failure;
		if (set->failure != 0)
			set->state = LOCK_FAILED;
		else
			start_over(set);
	}
	set->answered = set->about->why.answered;
}

void
set_acquire(struct set *set)
{
	set->state = LOCK_ACQUIRING;
	set->backing_out = false;
	if (set->rule->begin != NULL) {
		set->rule->begin(set);
		return;
	}
	set->at = 0;
	be_about(set, set->locks);
	lock_order(set->locks, ON_ACQUIRE);
}

/* --- hold ------------------------------------------------------------- */

/* A lease that counts from a later time was proven by a later renewal. One that
 * is out may have been answered before the job ended, so it shows nothing. */
static void
confirm_leases(struct set *set)
{
	set->confirmed = true;
	for (size_t i = 0; i < set->count; i++) {
		struct lock *lock = &set->locks[i];
		int64_t wanted =
		    lease_valid_until(set->confirm_since, lock->config->ttl_ms);

		if (lock->lease.valid_until >= wanted)
			continue;
		set->confirmed = false;
		if (lease_renewal_at(lock) != CLOCK_NEVER)
			lock_order(lock, ON_RENEW);
	}
}

/* The lock whose lease is in the greatest danger. */
static const struct lock *
find_worst(const struct set *set)
{
	const struct lock *worst = set->locks;

	for (size_t i = 0; i < set->count; i++) {
		const struct lock *lock = &set->locks[i];

		if (lock->why.answered != worst->why.answered
			? !lock->why.answered
			: lock->lease.valid_until < worst->lease.valid_until)
			worst = lock;
	}
	return worst;
}

/* All are renewed with the one whose turn comes first, so that we wake up once
 * for all. */
static void
step_held(struct set *set)
{
	const struct lock *lost = find_lost(set);
	int64_t renewal_at = CLOCK_NEVER;
	size_t losses = 0, answered = 0;

	/* A vote that is planted again has proven nothing, but the majority has
	 * before. */
	if (proven_until(set) > set->valid_until)
		set->valid_until = proven_until(set);
	for (size_t i = 0; i < set->count; i++) {
		const struct lock *lock = &set->locks[i];

		losses += lock_phase(lock) == LOCK_LOST;
		answered += lock_phase(lock) == LOCK_HELD && lock->why.answered;
		renewal_at = clock_min(renewal_at, lease_renewal_at(lock));
	}
	set->answered = answered >= set->need;
	if (losses >= set->fatal)
		set->state = LOCK_LOST;
	be_about(set, set->state == LOCK_LOST ? lost : find_worst(set));
	for (size_t i = 0; set->count > 1 && i < set->count; i++)
		if (lease_renewal_at(&set->locks[i]) != CLOCK_NEVER)
			lock_due_at(&set->locks[i], renewal_at);
	if (set->confirm_since != 0)
		confirm_leases(set);
	if (set->rule->step_held != NULL)
		set->rule->step_held(set);
}

void
set_hold(struct set *set)
{
	set->state = LOCK_HELD;
	for (size_t i = 0; i < set->count; i++)
		if (lock_phase(&set->locks[i]) == LOCK_HELD &&
		    set->locks[i].lease.acquired_at > set->acquired_at)
			set->acquired_at = set->locks[i].lease.acquired_at;
	step_held(set);
}

void
set_renew(struct set *set)
{
	for (size_t i = 0; i < set->count; i++)
		lock_order(&set->locks[i], ON_RENEW);
}

void
set_confirm(struct set *set)
{
	set->confirm_since = clock_now();
	step_held(set);
}

/* --- release ---------------------------------------------------------- */

/* The loss of one weighs more than silence about another. */
static void
step_releasing(struct set *set)
{
	set->answered = true;
	for (size_t i = 0; i < set->count; i++) {
		const struct lock *lock = &set->locks[i];
		enum lock_released outcome = lock->release.outcome;
		bool releasing = lock_phase(lock) == LOCK_RELEASING;

		if (outcome == LOCK_WAS_LOST) {
			set->outcome = LOCK_WAS_LOST;
			be_about(set, lock);
		} else if (releasing || outcome == LOCK_UNCONFIRMED) {
			set->answered = set->answered && lock->why.answered;
			if (set->outcome == LOCK_WAS_LOST)
				continue;
			be_about(set, lock);
			if (!releasing)
				set->outcome = LOCK_UNCONFIRMED;
		}
	}
	if (set_is_settled(set))
		set->state = LOCK_RELEASED;
}

void
set_release(struct set *set, int64_t keep_until, const struct request_run *run)
{
	set->state = LOCK_RELEASING;
	for (size_t i = set->count; i-- > 0;) {
		set->locks[i].release.run = *run;
		set->locks[i].release.is_proven = set->confirmed;
		set->rule->release(set, &set->locks[i], keep_until);
	}
	set->rule->step_releasing(set);
}

void
set_correct(struct set *set, const struct request_run *run)
{
	set->state = LOCK_RELEASING;
	for (size_t i = 0; i < set->count; i++)
		release_correct(&set->locks[i], run);
	set->rule->step_releasing(set);
}

void
set_skip(struct set *set)
{
	for (size_t i = 0; i < set->count; i++)
		set->locks[i].release.is_skip =
		    i == set->at || set_is_majority(set);
	set_cancel(set);
}

void
set_cancel(struct set *set)
{
	if (set->state == LOCK_RELEASED)
		return;
	if (set->rule->explain != NULL)
		set->rule->explain(set);
	set->state = LOCK_RELEASING;
	for (size_t i = set->count; i-- > 0;)
		lock_order(&set->locks[i], ON_WITHDRAW);
	set->rule->step_releasing(set);
}

void
set_step(struct set *set)
{
	if (set->state == LOCK_ACQUIRING)
		set->rule->step_acquiring(set);
	else if (set->state == LOCK_HELD || set->state == LOCK_LOST)
		step_held(set);
	else if (set->state == LOCK_RELEASING)
		set->rule->step_releasing(set);
}

const struct set_rule rule_all = {.step_acquiring = step_acquiring,
    .release = release_one,
    .step_releasing = step_releasing};
