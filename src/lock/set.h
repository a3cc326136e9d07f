/* n locks, of which k are needed, with the states of a lock. The rest is a
 * rule:
 *
 * Several keys: all are needed. They are acquired one after the other in the
 * order of their keys, whatever order was given: sets that overlap cannot
 * deadlock. They are released in reverse. Losing one is losing all, but the
 * others stay held until they are released. See SEVERAL KEYS in
 * rlockrun-protocol(7).
 *
 * One key on several servers: a majority is needed. See redlock.h. */
#ifndef SET_H
#define SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "lock/lock.h"

enum { SET_LOCKS_MAX = 32 };

struct set;
struct redlock;

/* What differs between a set of keys and one of servers. Where NULL is allowed
 * there is nothing to do. */
struct set_rule {
	int (*init)(struct set *set); /* 0, or -1 with errno; or NULL */
	/* NULL: acquires the first lock. */
	void (*begin)(struct set *set);
	void (*step_acquiring)(struct set *set);
	/* After the facts are up to date, HELD or LOST; or NULL. */
	void (*step_held)(struct set *set);
	void (*release)(struct set *set, struct lock *lock, int64_t keep_until);
	void (*step_releasing)(struct set *set);
	/* Brings the error up to date, as the set is cancelled; or NULL. */
	void (*explain)(struct set *set);
};
extern const struct set_rule rule_all; /* the other one: redlock.h */

struct set {
	/* Facts, to be read only. */
	enum lock_phase state;
	enum lock_failure failure; /* FAILED: why */
	const struct lock *about;  /* the lock that these facts are about: it is
				    * waited for, has failed, is lost, or its
				    * lease is in the greatest danger */
	const char *error;	   /* of the last thing that went wrong */
	bool answered;		   /* enough of the last contacts succeeded */
	int64_t acquired_at;	   /* enough of them */
	int64_t valid_until;	   /* enough leases hold until then, proven */
	bool confirmed;		   /* all were held after set_confirm */
	/* Of several keys: LOCK_WAS_LOST or LOCK_UNCONFIRMED if at least one of
	 * them is. Of several servers: what a majority says. */
	enum lock_released outcome;
	/* This one was lost while others were waited for, so all started over.
	 * The caller clears it. */
	const struct lock_config *lost_early;

	struct loop *loop;
	const struct lock_config *configs;
	const struct set_rule *rule;
	struct lock *locks; /* by key, or as the servers */
	size_t count;
	size_t keys;
	size_t need;		 /* so many make the lock */
	size_t fatal;		 /* so many losses are its loss */
	struct loop_timer timer; /* only wakes whoever runs the loop */
	struct redlock *redlock; /* of rule_majority */
	const char *label;	 /* of all servers, or NULL: there is one */
	size_t at;		 /* ACQUIRING: those before it are held */
	int64_t confirm_since;	 /* HELD: when that was asked, or 0 */
	bool backing_out;	 /* ACQUIRING: they are being released again */
};

/* The configs, in the order given, must outlive the set: one for each key, or
 * for each server that votes on the only key. 0, or -1 with errno. */
int set_init(struct set *set, struct loop *loop, const struct set_rule *rule,
    const struct lock_config *configs, size_t count);
void set_fini(struct set *set);

/* IDLE -> ACQUIRING: sends the first try before it returns. FAILED comes when
 * what was held already has been released. */
void set_acquire(struct set *set);

/* To be called after each turn of the loop: brings the facts up to date, and
 * does what follows from them. */
void set_step(struct set *set);

/* Asks for a renewal of all, now. */
void set_renew(struct set *set);

/* While HELD: asks whether all are still held, by one more renewal of each.
 * Afterwards they are confirmed or LOST, or silence lasts. See SEVERAL KEYS in
 * rlockrun-protocol(7). */
void set_confirm(struct set *set);

/* HELD or LOST -> RELEASING -> RELEASED: the locks that are still ours are
 * freed, or kept by the server until keep_until; the history of those that are
 * lost gets the end of the run. */
void set_release(struct set *set, int64_t keep_until,
    const struct request_run *run);

/* RELEASED -> RELEASING -> RELEASED: one of them was lost under the job, and
 * the run has ended this way. */
void set_correct(struct set *set, const struct request_run *run);

/* From any state to RELEASED, as ON_WITHDRAW of a lock. */
void set_cancel(struct set *set);
/* The same, as the wait is over: the lock that was waited for remembers it. */
void set_skip(struct set *set);

/* The lock of a key, by its place in the configs. Of several servers, the one
 * that stands for all. */
const struct lock *set_lock(const struct set *set, size_t key);

/* Whether a majority of servers decides: they keep no queue and no history. */
bool set_is_majority(const struct set *set);

/* --- for the rules alone -------------------------------------------------- */

/* ACQUIRING -> HELD. */
void set_hold(struct set *set);
/* Nothing is under way. */
bool set_is_settled(const struct set *set);

#endif
