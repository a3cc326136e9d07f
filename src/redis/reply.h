/* What is known about one exchange with a server: what it answered, or why it
 * did not. And what an error means: REPLIES OF THE SERVER in
 * rlockrun-protocol(7). */
#ifndef REPLY_H
#define REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/value.h"

enum reply_kind {
	REPLY_VALUE, /* the server answered the command */
	REPLY_ERROR, /* the server answered with an error */
	/* The server refused AUTH or SELECT on this connection, or it cannot
	 * be used, or no sentinel reveals it. It may have run the command all
	 * the same, as another user or in another db. */
	REPLY_NO_ACCESS,
	REPLY_NONE, /* nothing was received */
	/* Only lock/single.h answers so: */
	REPLY_TOO_FEW, /* replicas have what was done; it may pass */
};

/* What the reply points at, until somebody takes it. */
struct reply_owned {
	struct value *value;
	void *answer;
};

/* Valid while it is handled, with all that it points at, unless the handler
 * sends anew before it reads. */
struct reply {
	enum reply_kind kind;
	/* The answer, if there is one: with REPLY_VALUE, with REPLY_ERROR, and
	 * perhaps with REPLY_NO_ACCESS. */
	const struct value *value;
	/* What the decode of the command has made of it, if it is no error and
	 * there is one. Its texts lie in the value. */
	const void *answer;
	struct reply_owned *owned; /* both, see reply_take */
	/* The words of the error, or of the refusal; else NULL. */
	const char *error;
	/* Without a value, why there is none: a line that names the server. */
	const char *failure;
	const struct value *acks; /* of WAIT, NULL without */
	const char *label;	  /* of the server, for messages */
	/* The clock just before the command was written, CLOCK_NEVER when it
	 * never was. Without a value and with a sent_at the server may or may
	 * not have run it. */
	int64_t sent_at;
	/* Without a value: the next command will fail in the same way, until
	 * a certificate, an option or the server is changed. Never once the
	 * server has answered, as that may be changed back. */
	bool permanent;
	/* Without a value: not run, and another command that withdraws it may
	 * have overtaken it. So it must not be sent again as it is. */
	bool too_late;
};

/* Room for a failure. */
enum { REPLY_FAILURE_MAX = 1408 };

typedef void reply_handler(void *arg, const struct reply *reply);

/* Value and answer, or NULL, for the caller to free: they outlive the handler
 * then. */
struct reply_owned reply_take(const struct reply *reply);
void reply_free(struct reply_owned *owned);

enum reply_phase { REPLY_ACQUIRING, REPLY_HOLDING, REPLY_RELEASING };

enum reply_verdict {
	REPLY_RETRY,	  /* the server is busy with itself: back off */
	REPLY_RECONNECT,  /* not the server to talk to: resolve and connect */
	REPLY_NOT_A_LOCK, /* the key holds something else */
	REPLY_REFUSED,	  /* password, ACL: a person must act */
	REPLY_LOST,	  /* the lock is gone */
	REPLY_REPORT,	  /* report it, there is nothing else to do */
};

/* error is the text of an error, without the leading '-'. */
enum reply_verdict reply_judge(enum reply_phase phase, const char *error);

/* Whether another server may be the one to talk to now: the primary, or the
 * owner of the slot. */
bool reply_is_doubtful(const char *error);

/* Whether the error is of that kind: "NOAUTH", "ERR unknown command". */
bool reply_is(const char *error, const char *prefix);

/* Whether a server, a service or a proxy does not know or permit the command
 * that was sent, in its own words: "ERR Command is not available: 'WAIT'". Not
 * if access rules deny it, or if a script lacks a command. */
bool reply_denies_command(const char *error);

/* The words of an error, or others if they do not help a person. */
const char *reply_explain(const char *error);

/* What a person can do about an error reply, or NULL. */
const char *reply_advise(const char *error);

/* "WHAT LABEL: ERROR (ADVICE)". The words of the error are replaced if they do
 * not help, and the advice is what a person can do, if that is known. */
void reply_describe(char *text, size_t size, const char *what,
    const char *label, const char *error);

#endif
