/* What servers answer to our commands, as typed values. Each reply is decoded
 * once, for the question that was asked: its shape, the range of each number,
 * the length of each text. A reply that does not pass breaks the protocol: it
 * fails the connection, see decode in struct command. Behind this module nobody
 * looks into a reply.
 *
 * Texts lie in the reply, and last as long as it does; those that are missing
 * are empty. What scripts answer is described at their heads. */
#ifndef ANSWER_H
#define ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/holder.h"
#include "lock/limit.h"
#include "lock/token.h"
#include "redis/cursor.h"
#include "redis/value.h"

/* The waiters to notify. Each name is one that waiter_parse takes: others have
 * no doorbell, and are left out. */
struct answer_waiters {
	size_t count;
	const char *names[LIMIT_NOTIFY];
};

enum answer_outcome {
	/* To a try: */
	ANSWER_BUSY,
	ANSWER_GRANTED,
	ANSWER_NOT_DUE,	  /* --once-per, --once-id: a success is enough */
	ANSWER_OVERTAKEN, /* --newest: a later waiter stays */
	ANSWER_NOT_HELD,  /* to a nested run: not by that token, or only kept */
	ANSWER_OTHER_KIND, /* to a nested run: held in another kind */
	/* To a renewal or a release: */
	ANSWER_NOT_OURS,
	ANSWER_RENEWED,
	ANSWER_FREED,
	ANSWER_LEFT, /* to other runs of the nest */
	ANSWER_KEPT, /* for --min-hold */
};

/* To a try, a renewal, a release, or the question for the head of the queue. */
struct answer {
	enum answer_outcome outcome;
	const char *head; /* of the queue: a waiter's name */
	/* GRANTED: */
	const char *fence;     /* decimal digits, below 2^53 */
	int64_t start;	       /* server's ms */
	int64_t life_ms;       /* of :i */
	int64_t permits;       /* that another holder allows, or 0 */
	int64_t ahead_ms;      /* the last success lies so far in the future */
	const char *uncounted; /* why a nested run is not counted */
	char own_fence[24];    /* of a nested run: that of the outer one */
	/* NOT_DUE, of the last success: */
	int64_t ago_ms;
	bool by_id; /* it had our id */
	/* OVERTAKEN, and the waiter that gives an order: */
	struct holder_by by;
	char ordered[TOKEN_SIZE]; /* the holder that is to stop, or empty */
	/* BUSY; NOT_DUE: who had the success */
	const char *ticket; /* our place in the queue: decimal digits */
	int64_t position;   /* in the queue, from 0; -1: none */
	int64_t waiting;    /* how many are in the queue */
	struct holder holder;
	/* To a release: */
	bool unrecorded; /* the end of the run could not be written */
	int64_t kept_ms; /* KEPT: for so long */
	/* To a try: */
	struct answer_waiters to_notify;
};

/* For decode of struct command: a struct answer, or NULL, also when memory is
 * out. */
void *answer_acquire(const struct value *reply);
void *answer_join(const struct value *reply);
/* To the renewal that takes a join's place in the plain tier, and for a run of
 * another kind than the outer one. */
void *answer_plain_join(const struct value *reply);
void *answer_other_kind(const struct value *reply);
void *answer_renew(const struct value *reply);
void *answer_release(const struct value *reply);
void *answer_plain_release(const struct value *reply);
/* To ZRANGE :q 0 0: the head is empty if it is no waiter's name, or there is
 * none. */
void *answer_head(const struct value *reply);
/* To script_order. A text of another form counts as no order. */
void *answer_order(const struct value *reply);

/* How a server votes by its answer, or by none (NULL). */
enum answer_vote { ANSWER_NO, ANSWER_YES, ANSWER_ABSENT };
enum answer_vote answer_vote(const struct answer *answer);

/* Whether a doorbell was rung, by the reply to BLPOP, and not the time over. */
bool answer_is_ring(const struct value *reply);

/* How many replicas have a write, by the reply to WAIT; 0 if that is unknown.
 */
int answer_replicas(const struct value *reply);

/* How many holders or waiters are counted at most. */
#define ANSWER_COUNT_MAX (INT64_C(1) << 40)
/* The letter of a kind; '\0' for a lock that nobody has. */
char answer_kind(struct cursor *cursor);

#endif
