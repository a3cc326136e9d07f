/* What people are told while a run takes and keeps its locks: who has it, that
 * the server is away. Each is told once, until it has changed. */
#ifndef TELL_H
#define TELL_H

#include <stdbool.h>
#include <stdint.h>

#include "app/opts.h"
#include "lock/lock.h"

struct tell {
	int64_t redraw_at; /* of the line about waiting; CLOCK_NEVER: none */

	const struct opts *opts;
	int64_t began_at;
	const struct lock *waiting; /* for which that was told */
	bool no_queue;
	const struct lock *trouble; /* likewise */
	bool twins;
	bool misfits[OPTS_SERVERS_MAX];
};

/* To be called when the first try is sent. */
void tell_init(struct tell *tell, const struct opts *opts);

/* That the lock is not waited for, and who has it. */
void tell_busy(const struct tell *tell, const struct lock *lock);

/* That the lock is waited for: once, or by a line that has to be drawn again
 * at redraw_at. */
void tell_waiting(struct tell *tell, const struct lock *lock);

/* That other holders allow another number of permits. */
void tell_disagreement(const struct tell *tell, const struct lock *lock);

/* What several servers are worth. */
void tell_servers(const struct tell *tell);

/* Two of them that are one, and those that will never count: each once. */
void tell_misfits(struct tell *tell, const struct lock *lock);

/* Why the line of waiters is not used, where it isn't. */
void tell_no_queue(struct tell *tell, const struct lock *lock);

/* That the server doesn't answer tries; a short trouble is none. */
void tell_server_trouble(struct tell *tell, const struct lock *lock);

/* That renewals fail, and that they don't any more. */
void tell_renewal_trouble(struct tell *tell, const struct lock *lock);

/* That we were paused, when it was so long that it concerns the lease. */
void tell_pause(const struct tell *tell, int64_t late_ms);

/* That it was lost while others were waited for. */
void tell_lost_early(const struct lock_config *config);

/* That the lock has been held for a long time. */
void tell_held_for(const struct tell *tell, int64_t ms);

/* That --max-run is over, and what comes of it. */
void tell_overrun(const struct tell *tell, const char *consequence);

/* Takes away the line about waiting: the job begins. */
void tell_job_begins(struct tell *tell);

#endif
