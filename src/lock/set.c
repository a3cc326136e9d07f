/* Within ACQUIRING:
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
#include "lock/acquire.h"
#include "lock/lease.h"
#include "lock/release.h"

/* --- set-up ----------------------------------------------------------- */

static void
look_at(struct set *set, const struct lock *lock)
{
	set->about = lock;
	set->error = lock->error;
}

static int
by_key(const void *a, const void *b)
{
	const struct lock *left = a;
	const struct lock *right = b;

	return strcmp(left->config->key, right->config->key);
}

int
set_init(struct set *set, struct loop *loop, const struct lock_config *configs,
    size_t count)
{
	*set = (struct set){.loop = loop,
	    .configs = configs,
	    .count = count,
	    .keys = count};
	set->locks = calloc(count, sizeof(*set->locks));
	if (set->locks == NULL)
		return -1;
	look_at(set, set->locks);
	/* A lock that is in use can't be moved any more. */
	for (size_t i = 0; i < count; i++)
		set->locks[i].config = &configs[i];
	/* Of a single one of that size, glibc would ask how much memory there
	 * is. */
	if (count > 1)
		qsort(set->locks, count, sizeof(*set->locks), by_key);
	for (size_t i = 0; i < count; i++)
		if (lock_init(&set->locks[i], loop, set->locks[i].config) == -1)
			return -1;
	return 0;
}

void
set_fini(struct set *set)
{
	for (size_t i = 0; set->locks != NULL && i < set->count; i++)
		lock_fini(&set->locks[i]);
	free(set->locks);
}

const struct lock *
set_lock(const struct set *set, size_t key)
{
	const struct lock *lock = set->locks;

	while (lock->config != &set->configs[key])
		lock++;
	return lock;
}

const char *
set_label(const struct set *set, size_t key)
{
	return quorum_label(set_lock(set, key)->quorum);
}

bool
set_is_majority(const struct set *set)
{
	return set->configs->server_count > 1;
}

bool
set_is_calm(const struct set *set)
{
	const char *why;

	return set->about->answered &&
	       quorum_rests_until(set->about->quorum, &why) == 0;
}

/* --- what all phases share -------------------------------------------- */

/* Nothing is under way. */
static bool
all_settled(const struct set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		enum lock_state state = set->locks[i].state;

		if (state == LOCK_ACQUIRING || state == LOCK_HELD ||
		    state == LOCK_RELEASING)
			return false;
	}
	return true;
}

static int64_t
first_end(const struct set *set)
{
	int64_t end = CLOCK_NEVER;

	for (size_t i = 0; i < set->count; i++)
		end = clock_min(end, set->locks[i].valid_until);
	return end;
}

static const struct lock *
find_lost(const struct set *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->locks[i].state == LOCK_LOST)
			return &set->locks[i];
	return NULL;
}

/* A run that had a job is never withdrawn, even when its lease has ended. */
static void
release_one(struct lock *lock, int64_t keep_until)
{
	bool had_job = lock->release.run.status != REQUEST_NO_JOB;

	if (lock->state == LOCK_LOST)
		release_lost(lock);
	else if (lock->state == LOCK_HELD &&
		 (had_job || clock_now() < lock->valid_until))
		release_start(lock, keep_until);
	else if (lock->state == LOCK_HELD)
		release_at_once(lock);
}

/* --- acquire ---------------------------------------------------------- */

/* A token is never used again after a loss, nor after a release that may still
 * be on its way. Nothing is held here, and there is no job. */
static void
start_over(struct set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct lock_config *config = set->locks[i].config;
		char name[LOCK_ERROR_MAX];

		lock_fini(&set->locks[i]);
		if (lock_init(&set->locks[i], set->loop, config) == 0)
			continue;
		escape_quote(config->name, name, sizeof(name));
		log_die(EXITCODE_RESOURCE, "%s: cannot prepare the lock: %s",
		    name, strerror(errno));
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

		if (lock->state == LOCK_ACQUIRING ||
		    (lock->state == LOCK_HELD && !lock->answered))
			release_at_once(lock);
		else
			release_one(lock, 0);
	}
}

static void step_held(struct set *set);

/* The last one is held only while all leases are fresh: a lease that was taken
 * long ago and cannot be renewed would stop the job as soon as it has started.
 */
static void
go_on(struct set *set)
{
	const struct lock *lock = &set->locks[set->at];
	int64_t left_ms;

	if (lock->state != LOCK_HELD)
		return;
	if (set->at + 1 < set->count) {
		look_at(set, &set->locks[++set->at]);
		acquire_start(&set->locks[set->at]);
		return;
	}
	left_ms = first_end(set) - clock_now();
	if (set->count == 1 || left_ms >= lock->config->ttl_ms / 3) {
		set->state = LOCK_HELD;
		set->acquired_at = lock->acquired_at;
		step_held(set);
	} else if (left_ms <= 0) {
		back_out(set);
	}
}

static void
step_acquiring(struct set *set)
{
	const struct lock *lost = find_lost(set);
	const struct lock *current = &set->locks[set->at];

	if (!set->backing_out && lost != NULL)
		set->lost_early = lost->config;
	if (!set->backing_out && (lost != NULL || current->failure != 0))
		back_out(set);
	else if (!set->backing_out)
		go_on(set);
	if (set->backing_out && all_settled(set)) {
		set->failure = current->failure;
		if (set->failure != 0)
			set->state = LOCK_FAILED;
		else
			start_over(set);
	}
	set->answered = set->about->answered;
}

void
set_acquire(struct set *set)
{
	set->state = LOCK_ACQUIRING;
	set->at = 0;
	set->backing_out = false;
	look_at(set, set->locks);
	acquire_start(&set->locks[0]);
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

		if (lock->valid_until >= wanted)
			continue;
		set->confirmed = false;
		if (lease_renewal_at(lock) != CLOCK_NEVER)
			lease_renew(lock);
	}
}

/* All are renewed with the one whose turn comes first, so that we wake up once
 * for all. They are about the lock whose lease is in the greatest danger. */
static void
step_held(struct set *set)
{
	const struct lock *lost = find_lost(set);
	const struct lock *worst = &set->locks[0];
	int64_t renewal_at = CLOCK_NEVER;

	set->answered = true;
	set->valid_until = first_end(set);
	for (size_t i = 0; i < set->count; i++) {
		const struct lock *lock = &set->locks[i];

		set->answered = set->answered && lock->answered;
		renewal_at = clock_min(renewal_at, lease_renewal_at(lock));
		if (lock->answered != worst->answered
			? !lock->answered
			: lock->valid_until < worst->valid_until)
			worst = lock;
	}
	look_at(set, lost != NULL ? lost : worst);
	if (lost != NULL)
		set->state = LOCK_LOST;
	for (size_t i = 0; set->count > 1 && i < set->count; i++)
		lease_renew_at(&set->locks[i], renewal_at);
	if (set->confirm_since != 0)
		confirm_leases(set);
}

void
set_renew(struct set *set)
{
	for (size_t i = 0; i < set->count; i++)
		lease_renew(&set->locks[i]);
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
		bool releasing = lock->state == LOCK_RELEASING;

		if (outcome == LOCK_WAS_LOST) {
			set->outcome = LOCK_WAS_LOST;
			look_at(set, lock);
		} else if (releasing || outcome == LOCK_UNCONFIRMED) {
			set->answered = set->answered && lock->answered;
			if (set->outcome == LOCK_WAS_LOST)
				continue;
			look_at(set, lock);
			if (!releasing)
				set->outcome = LOCK_UNCONFIRMED;
		}
	}
	if (all_settled(set))
		set->state = LOCK_RELEASED;
}

void
set_release(struct set *set, int64_t keep_until, const struct request_run *run)
{
	set->state = LOCK_RELEASING;
	for (size_t i = set->count; i-- > 0;) {
		set->locks[i].release.run = *run;
		set->locks[i].release.is_proven = set->confirmed;
		release_one(&set->locks[i], keep_until);
	}
	step_releasing(set);
}

void
set_correct(struct set *set, const struct request_run *run)
{
	set->state = LOCK_RELEASING;
	for (size_t i = 0; i < set->count; i++)
		release_correct(&set->locks[i], run);
	step_releasing(set);
}

void
set_skip(struct set *set)
{
	set->locks[set->at].release.is_skip = true;
	set_cancel(set);
}

void
set_cancel(struct set *set)
{
	if (set->state == LOCK_RELEASED)
		return;
	set->state = LOCK_RELEASING;
	for (size_t i = set->count; i-- > 0;)
		release_at_once(&set->locks[i]);
	step_releasing(set);
}

void
set_step(struct set *set)
{
	if (set->state == LOCK_ACQUIRING)
		step_acquiring(set);
	else if (set->state == LOCK_HELD || set->state == LOCK_LOST)
		step_held(set);
	else if (set->state == LOCK_RELEASING)
		step_releasing(set);
}
