/* What servers answer to our commands, as values. Each reply is decoded once,
 * by whoever has asked: its shape, the range of each number, the length of each
 * text. Behind this module nobody looks into a reply.
 *
 * Texts are copies; those that are missing are empty. What scripts answer is
 * described at their heads. */
#ifndef ANSWER_H
#define ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/claim.h"
#include "lock/holder.h"
#include "lock/limit.h"
#include "lock/token.h"
#include "redis/value.h"

/* The questions: tags of commands. */
enum answer_to {
	ANSWER_TO_TRY = 1,
	ANSWER_TO_JOIN,
	/* To the renewal that takes a join's place in the plain tier, and for a
	 * run of another kind than the outer one. */
	ANSWER_TO_PLAIN_JOIN,
	ANSWER_TO_OTHER_KIND,
	ANSWER_TO_RENEWAL,
	ANSWER_TO_RELEASE,
	ANSWER_TO_PLAIN_RELEASE,
	/* To a release that only records the end of a run. */
	ANSWER_TO_RECORD,
	/* To BLPOP: answer_is_ring. */
	ANSWER_TO_BELL,
	/* To ZRANGE :q 0 0: the head is empty if it is no waiter's name, or
	 * there is none. */
	ANSWER_TO_HEAD,
	/* To script_order. A text of another form counts as no order. */
	ANSWER_TO_ORDER,
};

/* The waiters to notify: names that waiter_parse takes. Others have no
 * doorbell, and are left out. */
struct answer_waiters {
	size_t count;
	char names[LIMIT_NOTIFY][WAITER_SIZE];
};

enum answer_outcome {
	/* Nothing was received, an error, or what answers no question of ours.
	 */
	ANSWER_NONE,
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
	/* To the questions for the head of the queue, and for an order: */
	ANSWER_HINT,
};

enum { ANSWER_DIGITS_SIZE = 17 }; /* below 2^53 */

struct answer {
	enum answer_outcome outcome;
	char head[WAITER_SIZE]; /* of the queue: a waiter's name */
	/* GRANTED: */
	char fence[24];	     /* decimal digits; of a nested run, that of the
			      * outer one as its entry has it */
	int64_t start;	     /* server's ms */
	int64_t life_ms;     /* of :i */
	int64_t permits;     /* that another holder allows, or 0 */
	int64_t ahead_ms;    /* the last success lies so far in the future */
	char uncounted[512]; /* why a nested run is not counted */
	/* NOT_DUE, of the last success: */
	int64_t ago_ms;
	bool by_id; /* it had our id */
	/* OVERTAKEN, and the waiter that gives an order: */
	struct holder_by by;
	char ordered[TOKEN_SIZE]; /* the holder that is to stop, or empty */
	/* BUSY; NOT_DUE: who had the success */
	char ticket[ANSWER_DIGITS_SIZE]; /* our place in the queue */
	int64_t position;		 /* in the queue, from 0; -1: none */
	int64_t waiting;		 /* how many are in the queue */
	struct holder holder;
	/* To a release: */
	bool unrecorded; /* the end of the run could not be written */
	int64_t kept_ms; /* KEPT: for so long */
	/* To a try: */
	struct answer_waiters to_notify;
};

/* False, and ANSWER_NONE, for a reply that is no answer to that question, for
 * an error and for NULL. */
bool answer_read(struct answer *answer, enum answer_to asked,
    const struct value *reply);

/* Whether a doorbell was rung, by the reply to BLPOP, and not the time over. */
bool answer_is_ring(const struct value *reply);

/* How many replicas have a write, by the reply to WAIT; 0 if that is unknown.
 */
int answer_replicas(const struct value *reply);

/* Room for why something does not count. */
enum { ANSWER_WHY_MAX = 192 };
/* What an error reply to WAIT means. */
#define ANSWER_NEEDS_WAIT "--wait-replicas needs WAIT"
/* Fewer than so many have it, by that reply. The reason goes into why. */
bool answer_lacks_replicas(const struct value *reply, int replicas,
    char why[ANSWER_WHY_MAX]);

/* How many holders or waiters are counted at most. */
#define ANSWER_COUNT_MAX (INT64_C(1) << 40)
/* A waiter's name. Any text may be in a queue: false, and an empty name, for
 * one that has no doorbell. */
bool answer_waiter(struct cursor *cursor, char name[WAITER_SIZE]);
/* The letter of a kind; '\0' for a lock that nobody has. */
char answer_kind(struct cursor *cursor);

#endif
