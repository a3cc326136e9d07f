/* The signals that come to a run. A waiting run obeys them as a plain process
 * does; a job gets them from us, each once. */
#ifndef RELAY_H
#define RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "job/guard.h"
#include "job/signals.h"

struct relay {
	/* Facts, to be read only. */
	bool terminal;	   /* we have a controlling one */
	bool asked_to_end; /* the job has got TERM, INT, HUP or QUIT */

	struct signals *signals;
	struct guard *guard;
	struct loop_fd fd;
	bool suspended;	  /* together with the job, and not continued yet */
	uint64_t caught;  /* signals, as bits */
	uint64_t forward; /* those that the job has not got yet */
	uint64_t shared;  /* those that the terminal sent to our group */
};

/* Adds the signals to the loop; all must outlive the relay. Without a guard
 * (NULL) there will be no job. */
void relay_init(struct relay *relay, struct loop *loop, struct signals *signals,
    struct guard *guard);
void relay_fini(struct relay *relay, struct loop *loop);

/* Whether a child has changed its state since the last call. */
bool relay_take_child(struct relay *relay);

/* While no job exists: stops with a stop signal. The signal that ends us, or 0.
 */
int relay_obey(struct relay *relay);

/* While a job exists: passes them on, and stops when the job has. */
void relay_forward(struct relay *relay);

/* When no job exists any more: whether one asks us to end, since the last call.
 */
bool relay_take_end(struct relay *relay);

#endif
