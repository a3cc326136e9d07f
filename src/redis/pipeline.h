/* The commands of one connection, in the order in which they travel: bytes that
 * are not written yet, and handlers that await their reply.
 *
 * A script travels as its digest, unless it is sent again or nobody awaits its
 * reply. ASKING precedes what an ASK redirect has asked for.
 *
 * The bytes are arrays of bulk strings, as redis.io's "Redis serialization
 * protocol specification" has them. They live in memory of secret.h, as AUTH is
 * among them, and are wiped when they are written or cut off. The memory is
 * kept, so that a new connection needs none while a job runs. */
#ifndef PIPELINE_H
#define PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/command.h"

enum { PIPELINE_MAX = 16 };

/* A command that is not answered. */
struct pending {
	reply_handler *on_reply; /* NULL: nobody awaits it */
	void *arg;
	int64_t deadline;
	int64_t sent_at; /* CLOCK_NEVER: it is not written */
	struct value_limits limits;
	int tag;
	bool by_digest;
	bool joined; /* its answer is delivered with the next one's, WAIT's */
};

/* A reply on its way to the handler. Whoever has called that frees the values,
 * which are NULL if the handler has taken them. */
struct delivery {
	reply_handler *on_reply; /* NULL: it is awaited by nobody, or not yet */
	void *arg;
	struct reply reply;
	struct value *received, *first; /* first: of the command before WAIT */
};

/* How scripts travel to a server. */
enum script_form {
	SCRIPT_ANY,
	SCRIPT_AS_TEXT,	  /* it permits EVAL alone */
	SCRIPT_AS_DIGEST, /* it permits EVALSHA alone */
};

struct pipeline {
	struct pending pending[PIPELINE_MAX];
	size_t count;
	struct value *first; /* until WAIT is answered */
	char *out;	     /* what is not written */
	size_t out_length;
	enum script_form scripts;
};

/* 0, or -1 when memory is out. */
int pipeline_init(struct pipeline *pipeline);
void pipeline_fini(struct pipeline *pipeline);

/* 0, or -1 when memory is out or too many are unanswered: then pipeline_cut is
 * due, with what count and out_length were before. */
int pipeline_add(struct pipeline *pipeline, const struct command *command);
void pipeline_cut(struct pipeline *pipeline, size_t count, size_t length);

/* The earliest deadline, CLOCK_NEVER without commands. */
int64_t pipeline_deadline(const struct pipeline *pipeline);
/* Of the next answer. */
struct value_limits pipeline_limits(const struct pipeline *pipeline);
/* Whether anybody awaits a reply, or something is not written; whether there
 * are commands, none of which is written. */
bool pipeline_is_owed(const struct pipeline *pipeline);
bool pipeline_is_unsent(const struct pipeline *pipeline);

/* So many bytes are written. */
void pipeline_wrote(struct pipeline *pipeline, size_t length);

/* Before a write: gives commands that were never written their sent_at. */
void pipeline_stamp(struct pipeline *pipeline);

/* Takes the answer to the oldest command, and makes it a reply that the caller
 * has begun: its label, what it asks for again, and for REPLY_NO_ACCESS its
 * kind and error. Takes the value. The reply points into the delivery. */
void pipeline_take(struct pipeline *pipeline, struct value *value,
    struct delivery *delivery);

/* Forgets all commands, those not written included. */
void pipeline_empty(struct pipeline *pipeline);

#endif
