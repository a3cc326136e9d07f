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
	/* As if nothing was received: too few replicas have what was done. No
	 * way says so, but a lock that counts them: lock/lock.h. */
	REPLY_TOO_FEW,
};

/* The server ran nothing: the same command will do, with this in its member
 * again. Whoever has asked makes it again, as nobody has kept it. */
enum again {
	AGAIN_NO,
	AGAIN_AS_TEXT,	/* the server lacks the script, or denies EVALSHA */
	AGAIN_AT_OWNER, /* the slot of the key has another owner */
	AGAIN_ASKING,	/* it is on its way there: this command alone */
};

/* Valid while it is handled, with all that it points at, unless the handler
 * sends anew before it reads. */
struct reply {
	enum reply_kind kind;
	/* The answer, if there is one: with REPLY_VALUE, with REPLY_ERROR but
	 * for AGAIN_AT_OWNER, and perhaps with REPLY_NO_ACCESS. */
	const struct value *value;
	struct value **owned; /* the same, see reply_take */
	/* The words of the error, or of the refusal; else NULL. */
	const char *error;
	/* Without a value, why there is none: a line that names the server. */
	const char *failure;
	enum again again;	  /* with an error */
	const struct value *acks; /* of WAIT, NULL without */
	int tag;		  /* of the command */
	const char *label;	  /* of the server, for messages */
	/* The clock just before the command was written, CLOCK_NEVER when it
	 * never was. Without a value and with a sent_at the server may or may
	 * not have run it. */
	int64_t sent_at;
	/* Without a value: the next command will fail in the same way, until
	 * a certificate, an option or the server is changed. Never once the
	 * server has answered, as that may be changed back. */
	bool permanent;
};

/* Room for a failure. */
enum { REPLY_FAILURE_MAX = 1408 };

typedef void reply_handler(void *arg, const struct reply *reply);

/* The value, or NULL, for the caller to free: it outlives the handler then. */
struct value *reply_take(const struct reply *reply);

/* What a reply means for whoever has asked. What a lock does about it while it
 * is acquired, held or released stands in acquire.c, lease.c and release.c. */
enum verdict {
	VERDICT_VALUE,
	VERDICT_AGAIN,	   /* at once: see enum again */
	VERDICT_RETRY,	   /* the server is busy with itself: back off */
	VERDICT_ANEW,	   /* not the server to talk to: find and connect */
	VERDICT_SILENT,	   /* no reply, but the next command may have one */
	VERDICT_DEAD,	   /* no reply, nor will there be one */
	VERDICT_WRONGTYPE, /* a key holds something else */
	/* Password, access rules, a command that does not exist: a person must
	 * act. */
	VERDICT_REFUSED,
	VERDICT_REPORT, /* an error that nobody has foreseen */
};

/* If the server refused AUTH or SELECT, that is what the verdict is about,
 * whatever the value is, unless another one is to be asked. */
enum verdict reply_judge(const struct reply *reply);
/* error is the text of an error, without the leading '-'. */
enum verdict reply_judge_error(const char *error);

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
