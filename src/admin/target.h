/* The locks that are to be paused, on their way there. The requests of all
 * targets in the same state can be sent together:
 *
 *   LOOK --free, or held--> TRY --granted--> MARK --> NOTE --> PAUSED
 *    | ^                     | |              ^ ^                |
 *    | +--paused by another--+ +--busy: again | +-------due------+
 *    +--paused already------------------------+
 *
 * NOTE leaves until when it lasts, whatever comes of that.
 * A target that is not paused in the end, or needs no place in the queue, goes
 * to LEAVE, to NOTIFY if waiters are to be notified, and is OUT. The first try
 * enters the queue, in front of all but other pauses. While we are first in the
 * queue, nobody else gets the lock. But a waiter that stops sending heartbeats
 * is removed, so --pause stays until all locks are held. */
#ifndef TARGET_H
#define TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admin/client.h"
#include "lock/claim.h"
#include "lock/request.h"

enum target_state {
	TARGET_LOOK,
	TARGET_TRY,
	TARGET_MARK,
	TARGET_NOTE,
	TARGET_LEAVE,
	TARGET_NOTIFY,
	TARGET_PAUSED,
	TARGET_OUT,
};

struct target {
	const struct client *client;
	char *key;
	struct lock_config config;
	struct claim claim;
	enum target_state state;
	int node;		/* of the cluster */
	bool is_queued;		/* or may be */
	char other[TOKEN_SIZE]; /* of the pause that it has already, or empty */
	int64_t other_until;	/* that pause lasts at least so long */
	struct holder holder;	/* the last that was met */
	struct holder reported; /* likewise */
	int64_t asked_at;	/* the last question was sent */
	int64_t failing_since;	/* nothing is answered; 0: it was */
	int64_t until;		/* paused; 0: it is not */
	enum ending_reason failure; /* ENDING_NONE: it can be paused */
	char *why;		    /* it is not paused; or NULL */
	char head[WAITER_SIZE];	    /* to be notified, or empty */
};

/* Each round asks about all locks, so their number is limited. */
enum { TARGETS_MAX = 1000 };

struct targets {
	struct client *client;
	struct target **list; /* by their names */
	size_t count;	      /* TARGETS_MAX + 1: too many */
	bool is_incomplete;   /* without randomness or memory for one */
	bool must_find_nodes;
	bool has_progress; /* in this round */
	int64_t heard_at;  /* the last answer */
};

/* Adds a lock of the node that is visited to the struct targets, once. Copies
 * the key, which has the prefix. What would never be granted is OUT at once. */
void targets_add(void *arg, const char *key);
void targets_fini(struct targets *targets);

/* Asks once about each lock that is not settled. */
void targets_ask(struct targets *targets);

#endif
