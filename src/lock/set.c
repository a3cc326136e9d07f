/* Within ACQUIRING:
 *
 *   --> try the next --held--> all held and fresh? --> HELD
 *         ^    |                  |
 *         |    +--failed----------|------> back: release what is held
 *         |                       |          |              |
 *         |                       +--lost--->+              +--> FAILED
 *         |                                  |
 *         +------- with new tokens ----------+
 */
#include "lock/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/log.h"
#include "lock/acquire.h"
#include "lock/lease.h"
#include "lock/release.h"

/* --- set-up ----------------------------------------------------------- */

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
	*set = (struct set){.loop = loop, .count = count};
	set->locks = calloc(count, sizeof(*set->locks));
	if (set->locks == NULL)
		return -1;
	set->about = set->locks;
	/* A lock that is in use can't be moved any more. */
	for (size_t i = 0; i < count; i++)
		set->locks[i].config = &configs[i];
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
set_lock(const struct set *set, const struct lock_config *config)
{
	const struct lock *lock = set->locks;

	while (lock->config != config)
		lock++;
	return lock;
}

/* --- what all phases share -------------------------------------------- */

/* Nothing of it is under way. */
static bool
is_settled(const struct lock *lock)
{
	return lock->state == LOCK_IDLE || lock->state == LOCK_LOST ||
	       lock->state == LOCK_RELEASED || lock->state == LOCK_FAILED;
}

static bool
all_settled(const struct set *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (!is_settled(&set->locks[i]))
			return false;
	return true;
}

static const struct lock *
find_lost(const struct set *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->locks[i].state == LOCK_LOST)
			return &set->locks[i];
	return NULL;
}

static void
release(struct lock *lock, int64_t keep_until)
{
	if (lock->state != LOCK_HELD)
		return;
	if (clock_now() < lock->valid_until)
		release_start(lock, keep_until);
	else
		release_at_once(lock);
}

/* They are all renewed with the one whose turn comes first, so that we wake up
 * once for all. */
static void
renew_in_step(struct set *set)
{
	int64_t first_at = CLOCK_NEVER;

	if (set->count == 1)
		return;
	for (size_t i = 0; i < set->count; i++) {
		int64_t at = lease_renewal_at(&set->locks[i]);
		if (at < first_at)
			first_at = at;
	}
	for (size_t i = 0; i < set->count; i++)
		if (lease_renewal_at(&set->locks[i]) != CLOCK_NEVER)
			lease_renew_at(&set->locks[i], first_at);
}

/* Whose lease is in greater danger. */
static bool
is_worse(const struct lock *lock, const struct lock *other)
{
	if (lock->answered != other->answered)
		return !lock->answered;
	return lock->valid_until < other->valid_until;
}

/* --- acquire ---------------------------------------------------------- */

/* A token is never used again after a loss, nor after a release that may still
 * be on its way. Nothing is held here, and there is no job. */
static void
start_over(struct set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct lock_config *config = set->locks[i].config;

		lock_fini(&set->locks[i]);
		if (lock_init(&set->locks[i], set->loop, config) == -1)
			log_die(EXITCODE_RESOURCE,
			    "%s: cannot prepare the lock: %s", config->name,
			    strerror(errno));
	}
	set_acquire(set);
}

/* Who has failed may still be cleaning up. */
static void
turn_back(struct set *set)
{
	set->back = true;
	for (size_t i = set->count; i-- > 0;) {
		struct lock *lock = &set->locks[i];

		if (lock->state == LOCK_ACQUIRING ||
		    (lock->state == LOCK_HELD && !lock->answered))
			release_at_once(lock);
		else
			release(lock, 0);
	}
}

/* The job isn't to be stopped as soon as it has started, since a lease that was
 * taken long ago can't be renewed. */
static bool
all_fresh(const struct set *set)
{
	int64_t now = clock_now();

	for (size_t i = 0; i < set->count; i++) {
		const struct lock *lock = &set->locks[i];
		if (lock->valid_until - now < lock->config->ttl_ms / 3)
			return false;
	}
	return true;
}

static bool
any_expired(const struct set *set)
{
	int64_t now = clock_now();

	for (size_t i = 0; i < set->count; i++)
		if (now >= set->locks[i].valid_until)
			return true;
	return false;
}

static void step_held(struct set *set);

static void
go_on(struct set *set)
{
	const struct lock *lock = &set->locks[set->at];

	if (lock->state != LOCK_HELD)
		return;
	if (set->at + 1 < set->count) {
		set->about = &set->locks[++set->at];
		acquire_start(&set->locks[set->at]);
	} else if (set->count == 1 || all_fresh(set)) {
		set->state = LOCK_HELD;
		set->acquired_at = lock->acquired_at;
		step_held(set);
	} else if (any_expired(set)) {
		turn_back(set);
	}
}

static void
step_acquiring(struct set *set)
{
	const struct lock *lost = find_lost(set);
	const struct lock *current = &set->locks[set->at];

	if (!set->back && lost != NULL)
		set->lost_early = lost->config;
	if (!set->back && (lost != NULL || current->failure != 0))
		turn_back(set);
	else if (!set->back)
		go_on(set);
	if (set->back && all_settled(set)) {
		if (current->failure != 0)
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
	set->back = false;
	set->about = set->locks;
	acquire_start(&set->locks[0]);
}

/* --- hold ------------------------------------------------------------- */

static void
step_held(struct set *set)
{
	const struct lock *lost = find_lost(set);
	const struct lock *worst = &set->locks[0];

	set->answered = true;
	set->valid_until = CLOCK_NEVER;
	for (size_t i = 0; i < set->count; i++) {
		const struct lock *lock = &set->locks[i];

		set->answered = set->answered && lock->answered;
		if (lock->valid_until < set->valid_until)
			set->valid_until = lock->valid_until;
		if (is_worse(lock, worst))
			worst = lock;
	}
	set->about = lost != NULL ? lost : worst;
	if (lost != NULL)
		set->state = LOCK_LOST;
	renew_in_step(set);
}

void
set_renew(struct set *set)
{
	for (size_t i = 0; i < set->count; i++)
		lease_renew(&set->locks[i]);
}

/* --- release ---------------------------------------------------------- */

/* The loss of one weighs more than silence about another. */
static void
step_releasing(struct set *set)
{
	set->answered = true;
	for (size_t i = 0; i < set->count; i++) {
		const struct lock *lock = &set->locks[i];
		bool unconfirmed = lock->state != LOCK_RELEASING &&
				   lock->release.outcome == LOCK_UNCONFIRMED;

		if (lock->release.outcome == LOCK_WAS_LOST) {
			set->lost_at_release = true;
			set->about = lock;
		} else if (lock->state == LOCK_RELEASING || unconfirmed) {
			set->answered = set->answered && lock->answered;
			set->unconfirmed = set->unconfirmed || unconfirmed;
			if (!set->lost_at_release)
				set->about = lock;
		}
	}
	if (all_settled(set))
		set->state = LOCK_RELEASED;
}

void
set_release(struct set *set, int64_t keep_until)
{
	set->state = LOCK_RELEASING;
	for (size_t i = set->count; i-- > 0;)
		release(&set->locks[i], keep_until);
	step_releasing(set);
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
