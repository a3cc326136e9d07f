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
#include "lock/record.h"
#include "redis/command.h"

enum {
	REQUEST_WORDS = 2 * LIMIT_NOTIFY + 16,
	REQUEST_NUMBERS = 10,
	REQUEST_MEMBERS = CLAIM_FORMER_MAX + 1,
};

/* The words of a command. They point into the request, the claim, the names of
 * the keys and the waiters that it was made from, and last as long as those. */
struct request {
	/* Script, words, tag (enum answer_to) and more. The rest is for whoever
	 * sends it. */
	struct command command;
	int argc;	   /* of the words; 0: there is nothing to send */
	const char **argv; /* the words below, or a longer list in owned */

	const char *words[REQUEST_WORDS];
	char numbers[REQUEST_NUMBERS][24];
	size_t number_count;
	char members[REQUEST_MEMBERS][TOKEN_SIZE + 2];
	size_t member_count;
	char grant[RECORD_SIZE + 48];
	char end[96]; /* of a run, or the time for BLPOP */
	void *owned;  /* to be freed, or NULL */
};

/* Each of the following fills in a request, which then needs this. */
void request_fini(struct request *request);

/* A question about a lock that only the claim is needed for. */
typedef void request_maker(struct request *request, const struct claim *claim);

/* Acquires the lock, or joins the outer run. */
request_maker request_try;
/* Deletes helper keys of a wrong type. */
request_maker request_heal;
/* Touches the lock's key alone (protocol rule R5). */
request_maker request_renewal;
/* These two go before a renewal, in the same write: they prolong the life of :i
 * and ask for the head of the queue. Nothing to send in the plain tier. */
request_maker request_life, request_head;
/* Whether somebody asks the holder to stop: for --replaceable. */
request_maker request_order;

/* Frees what a former try may have got, with the lock's key alone. */
void request_drop_former(struct request *request, const struct claim *claim,
    size_t which);

/* In place of a status: no job was run, so the history gets no record. */
#define REQUEST_NO_JOB (-1)

/* What the history is to say of a run that has ended. */
struct request_run {
	int status;	    /* or REQUEST_NO_JOB */
	const char *reason; /* a word, which outlives the request */
	int64_t waited_ms;
	bool is_unproven; /* a lock may have been lost: 0 is no success */
};

struct request_end {
	int64_t keep_ms; /* the server keeps the lock so long, unless < 1 */
	bool is_late;	 /* no lease can be proven any more */
	bool is_skip;	 /* the wait for the lock is over */
	struct request_run run;
};

/* Nothing to send for a nested run in the plain tier. */
void request_release(struct request *request, const struct claim *claim,
    const struct request_end *end);

/* Waits for the own doorbell. Whole seconds have no fraction. */
void request_doorbell(struct request *request, const struct claim *claim,
    int64_t ms);

/* Rings the doorbells of these waiters, LIMIT_NOTIFY at most. Nothing to send
 * if there are none, if one is no waiter's name, or when memory is out: a
 * doorbell is a hint. */
void request_ring(struct request *request, const struct key_names *keys,
    const char (*waiters)[WAITER_SIZE], size_t count);

/* --- for other questions ---------------------------------------------- */

/* Begins a request, which then has no words. */
void request_begin(struct request *request);
/* A script with these keys. Its arguments follow. */
void request_script(struct request *request, const struct script *script,
    char *const *keys, size_t count);
/* Words, or arguments, that last as long as the request. */
#define REQUEST_ADD(request, ...) \
	request_add(request, (const char *const[]){__VA_ARGS__, NULL})
void request_add(struct request *request, const char *const *words);
const char *request_number(struct request *request, int64_t value);

#endif
