/* Watches the locks of a run, and emits what has changed since it last looked:
 * that a lock is waited for, that renewals fail, that servers do not count. */
#ifndef OBSERVER_H
#define OBSERVER_H

#include "lock/set.h"
#include "run/events.h"

/* While a lock is acquired, its last contact failed. */
enum observer_silence {
	OBSERVER_NO_SILENCE,
	OBSERVER_SILENCE,	   /* nothing was emitted */
	OBSERVER_SILENCE_NOTED,	   /* as a minor event */
	OBSERVER_SILENCE_REPORTED, /* it lasts */
};

struct observer {
	const struct opts *opts;
	const struct events *events;
	struct set *set;
	int64_t began_at; /* the first try was sent */
	bool waited;	  /* that, or silence, was emitted */
	/* What was emitted last. */
	const char *waiting; /* the key of the next two */
	struct holder holder;
	int64_t position;
	enum observer_silence silence;
	int64_t silent_since;
	int64_t valid_until;
	const struct lock *in_trouble; /* no reply to its last renewal */
	bool outer_holds; /* an outer run holds the lock, and we wait */
	bool no_queue;
	bool duplicates;
	bool unusable[OPTS_SERVERS_MAX];
};

/* To be called when the first try is sent. */
void observer_init(struct observer *observer, const struct opts *opts,
    const struct events *events, struct set *set);

/* To be called when the holder of a lock is known, before it is reported: says
 * once if that is an outer run, which does not end before this one. */
void observer_watch_holder(struct observer *observer, const struct lock *lock);

/* To be called after each turn of the loop: while the locks are acquired, */
void observer_watch_acquire(struct observer *observer);
/* and while they are held. late_ms is how late that turn was. */
void observer_watch_lease(struct observer *observer);
void observer_watch_pause(const struct observer *observer, int64_t late_ms);
/* By now more servers may have replied. */
void observer_watch_servers(struct observer *observer);

/* All locks, and the end of a wait. */
void observer_report_acquired(struct observer *observer);

/* In one event if all of them are free. */
void observer_report_release(const struct observer *observer);
/* When all releases are over: locks whose history does not have the run's end.
 */
void observer_report_unrecorded(const struct observer *observer);

#endif
