/* The locks of a run, or of a hold, with the signals that come meanwhile:
 * acquires them, and reports what happens and why it has failed.
 *
 *   TRYING --granted--> HELD
 *      |                 |
 *      |                 +--cancelled--+
 *      |                               v
 *      +--signal, time out----> CANCELLING --> FAILED or UNAVAILABLE
 *      |                                                 ^
 *      +--refused, busy ---------------------------------+
 */
#ifndef LOCKS_H
#define LOCKS_H

#include <stdint.h>

#include "lock/set.h"
#include "run/ending.h"
#include "run/observer.h"
#include "run/relay.h"

enum locks_state {
	LOCKS_TRYING,
	LOCKS_CANCELLING, /* what may have been granted is released */
	LOCKS_HELD,
	/* Nothing is held: */
	LOCKS_FAILED,	   /* an ending says why */
	LOCKS_UNAVAILABLE, /* no server has replied in time; no ending */
};

struct locks {
	/* The caller sets these, and they must outlive the locks. */
	const struct opts *opts;
	const struct events *events;
	struct loop *loop;

	/* Facts, to be read only. */
	enum locks_state state;
	struct set set;
	/* As opts->keys or, for one key, as opts->servers. */
	struct lock_config configs[SET_LOCKS_MAX];

	struct observer observer;
	struct relay relay;
	struct loop_timer timer; /* only wakes the run */
	int64_t wait_until;	 /* TRYING */
	bool hurried;		 /* see locks_is_hurried */
};

/* guard: see relay_init. 0, or -1 when the ending has been added. */
int locks_init(struct locks *locks, struct signals *signals,
    struct guard *guard);
/* Also without locks_init. */
void locks_fini(struct locks *locks);

void locks_emit(const struct locks *locks, struct event event);
/* Ends the next turn of the loop at that time, or earlier. */
void locks_wake_at(struct locks *locks, int64_t at);
/* A turn of the loop. False if it has failed, and the ending has been added. */
bool locks_turn(struct locks *locks);

/* Sends the first try before it returns. */
void locks_begin(struct locks *locks);

/* To be called after each turn of the loop and set_step, while TRYING or
 * CANCELLING. */
void locks_step(struct locks *locks);

/* From TRYING and HELD: gives the locks up. The ending has been added, unless
 * the reason is that no server has replied. */
void locks_cancel(struct locks *locks);

/* While no job exists: see relay_obey. Whether a signal has ended the run. */
bool locks_obey(struct locks *locks);

/* While they are released or confirmed: whether a signal, also an earlier one
 * to the job, has ended the wait for servers that are silent. It is kept until
 * the servers are found to be. */
bool locks_is_hurried(struct locks *locks);

/* Adds an ending, with what went wrong with the lock that the set is about. */
void locks_add_ending(const struct locks *locks, enum ending_reason reason,
    enum event_then then);

#endif
