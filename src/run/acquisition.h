/* Acquires the locks of the options, as a run does: waits, obeys signals, and
 * reports what happens meanwhile and why it has failed.
 *
 *   TRYING --granted--> HELD
 *      |                 |
 *      |                 +--cancelled--+
 *      |                               v
 *      +--signal, time out----> CANCELLING --> FAILED or UNAVAILABLE
 *      |                                                 ^
 *      +--refused, busy ---------------------------------+
 */
#ifndef ACQUISITION_H
#define ACQUISITION_H

#include <stdint.h>

#include "lock/set.h"
#include "run/ending.h"
#include "run/observer.h"
#include "run/relay.h"

enum acquisition_state {
	ACQUISITION_TRYING,
	ACQUISITION_CANCELLING, /* what may have been granted is released */
	ACQUISITION_HELD,
	/* Nothing is held: */
	ACQUISITION_FAILED,	 /* an ending says why */
	ACQUISITION_UNAVAILABLE, /* no server has replied in time; no ending */
};

struct acquisition {
	/* The caller sets these, and they must outlive the acquisition. */
	const struct opts *opts;
	struct ending *ending;
	struct observer *observer;
	struct relay *relay;
	struct set *set;

	/* Facts, to be read only. */
	enum acquisition_state state;
	int64_t wait_until; /* TRYING: when to look again */
};

/* The configurations of the locks, in the order of the options. They point into
 * the options. */
void acquisition_configure(struct lock_config *configs,
    const struct opts *opts);

/* Sends the first try before it returns. */
void acquisition_begin(struct acquisition *acquisition);

/* To be called after each turn of the loop and set_step, while TRYING or
 * CANCELLING. */
void acquisition_step(struct acquisition *acquisition);

/* From TRYING and HELD: gives the locks up. The ending has been added, unless
 * the reason is that no server has replied. */
void acquisition_cancel(struct acquisition *acquisition);

/* Adds the ending of UNAVAILABLE. */
void acquisition_add_unavailable(const struct acquisition *acquisition);

#endif
