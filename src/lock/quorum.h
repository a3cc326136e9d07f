/* The servers of a lock, as one: the only place that knows how many there are.
 * With one server, commands and replies go straight through. With several, each
 * is sent what is asked, and a majority answers: see Votes of several
 * servers in PROTOCOL of rlockrun(1), and
 * https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/. */
#ifndef QUORUM_H
#define QUORUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "lock/config.h"
#include "redis/pipeline.h"

#define QUORUM_SERVERS_MAX 15

struct quorum;

/* What a command is for. The scripts answer {1, ...} for yes, {0, ...} for
 * no, {-1, ...} for not yet known: a grant is to be asked for again at once. */
enum quorum_ask {
	/* Yes, if a majority grants it in time. */
	QUORUM_GRANT,
	/* Yes or no, as a majority says. A no counts only from a server that
	 * had the lock. */
	QUORUM_RENEW,
	/* The renewal once more, as single_ask_again. With several servers
	 * nothing is sent. */
	QUORUM_RENEW_AGAIN,
	/* Answered when a majority has freed it and the others will, or when
	 * all have had time to answer. */
	QUORUM_RELEASE,
	/* Sent to all; with several servers, the reply is not delivered. */
	QUORUM_SEND,
	/* Sent to the servers that owe a grant; to a single one in any case. */
	QUORUM_UNDO,
	/* The rest is for several servers alone. A grant again from those that
	 * lacked it at the last renewal: if a majority agreed to that from all,
	 * otherwise from those that have been away since they had it. It counts
	 * for nothing, and no reply is delivered. */
	QUORUM_PLANT,
	/* Sent to the servers with a stray grant. */
	QUORUM_RECALL,
};

/* The config must outlive the quorum. NULL when memory is out. With
 * several servers on_stray is called, from the loop, when one that refuses us
 * has granted what was asked last, in another db or to another user. It is to
 * send what undoes that, as QUORUM_RECALL. */
struct quorum *quorum_new(struct loop *loop, const struct lock_config *config,
    void (*on_stray)(void *arg), void *arg);
void quorum_free(struct quorum *quorum);

/* As server_send. There is one question at a time: the reply to an earlier one
 * is not delivered any more. An answer of too few servers, or that too few
 * replicas have, is delivered as no value: see REPLY_TOO_FEW and partial in
 * reply.h. */
int quorum_send(struct quorum *quorum, const struct command *command,
    enum quorum_ask ask);

/* Why servers do not count, for messages. */
struct quorum_faults {
	/* Two that are the same server, or NULL. A server that replies late
	 * shows it only when a majority is there already. */
	const char *duplicates;
	/* Why that server, from 0, will never count, as far as the last
	 * question has shown; NULL otherwise. */
	const char *unusable[QUORUM_SERVERS_MAX];
};

/* Valid until the next question. None of a single server. */
struct quorum_faults quorum_faults(struct quorum *quorum);

/* Some lacked the lock at the last renewal. False for one server. */
bool quorum_lacks_lock(const struct quorum *quorum);

/* Some have not answered an earlier try, or planting. False for one server. */
bool quorum_owes_grant(const struct quorum *quorum);

/* As that of single.h; false for several servers. */
bool quorum_await_renewals(struct quorum *quorum, bool keep,
    void (*on_quiet)(void *arg));

/* Whether there is one logical server, which can keep a queue of waiters and
 * count fencing numbers: those of different majorities are not in order. */
bool quorum_is_one(const struct quorum *quorum);

/* As those of server.h: any is up, all are dropped. */
bool quorum_is_up(const struct quorum *quorum);
void quorum_drop(struct quorum *quorum);
const char *quorum_error(struct quorum *quorum);
const char *quorum_label(const struct quorum *quorum);

#endif
