/* The holder of a lock, by its record. */
#ifndef HOLDER_H
#define HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/limit.h"

/* In this order: whether there is a record, and whether the lock has an end of
 * its own. */
enum holder_state {
	HOLDER_UNSEEN,	/* the server has not described it yet */
	HOLDER_NONE,	/* the lock is free, but others are queued for it */
	HOLDER_FOREIGN, /* another client, or one without a record */
	HOLDER_KNOWN,	/* a rlockrun, which left a record */
	HOLDER_ENDED,	/* a rlockrun; its job has ended, --min-hold lasts */
	HOLDER_HOLD,	/* --hold: no job, and nobody renews the lease */
	HOLDER_PAUSED,	/* --pause: likewise */
};

/* With --replace: whether the holder is to stop. */
enum holder_order {
	HOLDER_NOT_ASKED,
	HOLDER_ASKED,	      /* to stop */
	HOLDER_IRREPLACEABLE, /* it is waited for */
};

struct holder {
	enum holder_state state;
	bool others_queued; /* though there is room */
	bool replaceable;   /* it obeys --replace */
	enum holder_order order;
	char kind;	     /* letter of struct kind */
	int64_t count;	     /* how many have it */
	int64_t permits;     /* how many may, where that is known, else 0 */
	int permits_here;    /* how many this run allows, else 0 */
	int64_t left_ms;     /* of the lease; -1: it has no end */
	int64_t held_ms;     /* since it was acquired; -1: not known */
	int64_t reported_at; /* when the server sent this */
	char host[256];
	char pid[16];
	char user[64];
	char label[LIMIT_LABEL + 1]; /* of --label, or empty */
};

/* The run that overtakes or replaces ours, by its name in the queue. */
struct holder_by {
	char host[256];
	char pid[16];
	char label[LIMIT_LABEL + 1]; /* or empty */
};

/* It is a rlockrun, and has left a record. */
bool holder_is_known(const struct holder *holder);

/* It has no process, but an end: a hold, or a pause. */
bool holder_has_end(const struct holder *holder);

/* Host, pid and user of this process. The login name is taken from the
 * environment: asking the user database would cost more than all the rest of a
 * run. */
void holder_self(struct holder *holder);

#endif
