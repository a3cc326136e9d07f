/* The servers of a lock, as one: the only place that knows how many there are.
 * With one server, commands and replies go straight through. With several, each
 * is sent what is asked, and a majority answers: see VOTES OF SEVERAL
 * SERVERS in rlockrun-protocol(7), and
 * https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/. */
#ifndef QUORUM_H
#define QUORUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "lock/ask.h"
#include "lock/config.h"
#include "redis/command.h"

#define QUORUM_SERVERS_MAX 15

struct quorum;

/* The config must outlive the quorum. NULL when memory is out. With
 * several servers on_stray is called, from the loop, when one that refuses us
 * has granted what was asked last, in another db or to another user. It is to
 * send what undoes that, as ASK_RECALL. */
struct quorum *quorum_new(struct loop *loop, const struct lock_config *config,
    void (*on_stray)(void *arg), void (*on_again)(void *arg), void *arg);
void quorum_free(struct quorum *quorum);

/* As server_send. The reply to an earlier question is not delivered any more.
 * An answer of too few servers, or that too few replicas have, is delivered as
 * no value: see REPLY_TOO_FEW and partial in reply.h. */
int quorum_send(struct quorum *quorum, const struct command *command,
    enum ask ask);

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
/* As server_reject. Of several servers each was looked at already. */
void quorum_reject(struct quorum *quorum);
const char *quorum_error(struct quorum *quorum);
const char *quorum_label(const struct quorum *quorum);

/* As server_rests_until, of the server that rests least: a good one is not kept
 * waiting by bad ones. why: how its last connection ended. */
int64_t quorum_rests_until(const struct quorum *quorum, const char **why);

#endif
