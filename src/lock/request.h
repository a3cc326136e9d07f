/* What is sent for a lock: the keys and arguments of each script, and of the
 * few plain commands. What they mean is described at the heads of
 * script/NAME.lua; answer.h decodes what comes back. Sends nothing. */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/answer.h"
#include "lock/claim.h"
#include "lock/key.h"
#include "redis/pipeline.h"

enum { REQUEST_WORDS = 2 * LIMIT_NOTIFY + 16, REQUEST_NUMBERS = 10 };

/* The words of a command. They point into the request, the claim, the names of
 * the keys and the answer that it was made from, and last as long as those. */
struct request {
	const struct script *script; /* as in command, like what follows */
	int argc;		     /* 0: there is nothing to send */
	const char **argv;	     /* ends with NULL, too */
	struct command_padding padding;
	void *(*decode)(const struct value *value);
	bool withdraws;
	bool more;

	const char *words[REQUEST_WORDS];
	const char **more_words; /* NULL unless these were too few */
	char numbers[REQUEST_NUMBERS][24];
	size_t number_count;
	char tagged[24 + LIMIT_LABEL]; /* a number with a text behind it */
	char joined[64];	       /* numbers, with a word */
	char *doorbells[LIMIT_NOTIFY];
	size_t doorbell_count;
};

/* Each of the following fills in a request, which then needs this. */
void request_fini(struct request *request);

enum request_what {
	REQUEST_TRY, /* acquires the lock, or joins the outer run */
	/* Joins it again. Only with the keys that this needs: the others, such
	 * as a doorbell, may be absent, and a slot that moves serves no script
	 * whose keys are not all on one node (TRYAGAIN). */
	REQUEST_JOIN_AGAIN,
	REQUEST_UNDO, /* withdraws a try; nothing to send for a nested run: all
		       * it has to undo is its place beside the others */
	/* A renewal touches the lock's key alone (protocol rule R5). The three
	 * requests after it precede it in the same write: two prolong the
	 * holder's record and the history, the last one asks for the head of
	 * the queue. There is nothing to send if the tier lacks the keys. */
	REQUEST_RENEWAL,
	REQUEST_RECORD,
	REQUEST_HISTORY,
	REQUEST_HEAD,
	/* Whether somebody asks the holder to stop: for --replaceable. */
	REQUEST_ORDER,
	/* These two remove our name from the queue, without a script. */
	REQUEST_LEAVE,
	REQUEST_LEAVE_ALIVE,
};

void request_make(struct request *request, const struct claim *claim,
    enum request_what what);

/* In place of a status: no job was run, so the history gets no record. */
#define REQUEST_NO_JOB (-1)

/* What the history is to say of a run that has ended. */
struct request_run {
	int status;	    /* or REQUEST_NO_JOB */
	const char *reason; /* a word, which outlives the request */
	int64_t waited_ms;
	int64_t ended_at; /* 0: now */
};

struct request_end {
	const char *fence; /* of the grant, or empty */
	bool undo_fence;   /* the grant should never have been */
	int64_t keep_ms;   /* the server keeps the lock so long, unless < 1 */
	struct request_run run;
};

void request_release(struct request *request, const struct claim *claim,
    const struct request_end *end);

/* The run with that fence has ended so, whatever a release has recorded. For a
 * tier with the history. */
void request_correction(struct request *request, const struct claim *claim,
    const char *fence, const struct request_run *run);

/* Waits for the own doorbell, and for the one that all waiters share. Whole
 * seconds have no fraction. */
void request_doorbell(struct request *request, const struct claim *claim,
    int64_t ms);

/* Rings the doorbells of these waiters. Nothing to send without any, if
 * a name is none, or when memory is out: a doorbell is a hint. */
void request_notify(struct request *request, const struct key_names *keys,
    const char *const *waiters, size_t count);

/* Rings the doorbell of the waiter behind the head of the queue, and the shared
 * one, if the head is dead. */
void request_notify_behind(struct request *request, const struct claim *claim,
    const struct answer *answer);

/* Puts the waiter at the front of the queue. Any answer will do. */
void request_front(struct request *request, const struct claim *claim);
/* Makes a pause of ms, from now, of the lock that has this token. */
void request_pause(struct request *request, const struct key_names *keys,
    const char *token, int64_t ms);

enum request_look_keys {
	REQUEST_LOOK_KEY_ONLY = 1,
	REQUEST_LOOK_HELPERS = 6,
	REQUEST_LOOK_HISTORY = 7,
};

/* How much of it is described at most. */
struct request_look_limits {
	int holders, waiters, runs;
};

/* With so many keys. Without helpers only the lock's own key is used. Die when
 * memory is out. */
void request_look(struct request *request, const struct key_names *keys,
    enum request_look_keys count, const struct request_look_limits *limits);
/* Takes the lock away from only, or from all holders that are listed. */
void request_force(struct request *request, const struct key_names *keys,
    bool helpers, const struct look *look, const struct look_holder *only);

#endif
