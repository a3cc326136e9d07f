/* The commands of one connection, in the order in which they travel: bytes that
 * are not written yet, and handlers that await their reply.
 *
 * A script travels as its digest, unless it is sent again or nobody awaits its
 * reply. ASKING precedes what an ASK redirect has asked for. If the server does
 * not have it (NOSCRIPT) or does not permit EVALSHA, it has run nothing, and
 * the reply asks for the same command again. If it does not permit EVAL, that
 * is the reply, and all later commands travel as digests.
 */
#ifndef PIPELINE_H
#define PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "redis/reply.h"
#include "redis/script.h"
#include "redis/value.h"

#define PIPELINE_MAX 16 /* commands that may be unanswered */

struct command {
	const struct script *script; /* NULL: a plain command */
	int argc;
	const char **argv; /* with a script what follows it */
	int64_t deadline;  /* absolute: connecting and answer together */
	/* Until then the answer counts, which may also come later; 0: until the
	 * deadline. All addresses of the server are tried in time for it. */
	int64_t counts_until;
	/* Called once, never before the command's sender returns; NULL: the
	 * reply does not matter. */
	reply_handler *on_reply;
	void *arg;
	int tag; /* given back in the reply */
	/* Of its answer; 0, 0: what suits commands about one lock. */
	struct value_limits limits;
	enum again again; /* what the reply to the same command has asked for;
			   * AGAIN_AS_TEXT: there is no time for NOSCRIPT */
	bool more;	  /* another follows at once: one write for both */
	/* Above 0: WAIT for so many replicas, at most so long, follows in the
	 * same write. on_reply is called when both are answered. */
	int replicas;
	int64_t replicas_ms;
};

struct pending {
	reply_handler *on_reply;
	void *arg;
	int tag;
	struct value_limits limits;
	int64_t deadline;
	int64_t sent_at;
	bool by_digest;
	bool joined; /* its answer is delivered with the next one's, WAIT's */
};

struct pipeline {
	struct pending queue[PIPELINE_MAX];
	size_t queued;
	enum {
		PIPELINE_ALL_SCRIPTS,
		PIPELINE_BY_TEXT,   /* the server permits EVAL alone */
		PIPELINE_BY_DIGEST, /* the server permits EVALSHA alone */
	} scripts;
	struct value *first; /* until WAIT is answered */
	char *out; /* of secret.h: what is not written yet, AUTH included */
	size_t out_length;
};

/* 0, or -1 when memory is out. */
int pipeline_init(struct pipeline *pipeline);
void pipeline_fini(struct pipeline *pipeline);

/* 0, or -1 when memory is out or too many commands are unanswered. */
int pipeline_append(struct pipeline *pipeline, const struct command *command);

/* The earliest one, CLOCK_NEVER without commands. */
int64_t pipeline_deadline(const struct pipeline *pipeline);

/* Of the next answer. */
struct value_limits pipeline_limits(const struct pipeline *pipeline);

/* Whether anybody awaits a reply. */
bool pipeline_is_awaited(const struct pipeline *pipeline);

/* Whether nothing of the commands has been written. */
bool pipeline_is_unsent(const struct pipeline *pipeline);

/* Before a write: gives commands that were never written their sent_at. */
void pipeline_stamp(struct pipeline *pipeline);

/* After a write: so many bytes are gone. */
void pipeline_wrote(struct pipeline *pipeline, size_t length);

/* A reply on its way to the handler. */
struct delivery {
	reply_handler *on_reply; /* NULL: it is awaited by nobody, or not yet */
	void *arg;
	struct reply reply;
	struct value *received, *first; /* first: of the command before WAIT */
};

/* Takes the answer to the oldest command, and makes it a reply that the caller
 * has begun: its label, what it asks for again, and for REPLY_NO_ACCESS its
 * kind and error. Takes the value. */
void pipeline_take(struct pipeline *pipeline, struct value *value,
    struct delivery *delivery);

/* Calls the handler, which may do anything but end the pipeline. */
void pipeline_deliver(struct delivery *delivery);

/* Takes all commands off, those not written included. Returns how many, which
 * are to be failed. */
size_t pipeline_drain(struct pipeline *pipeline,
    struct pending drained[PIPELINE_MAX]);

#endif
