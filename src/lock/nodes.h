/* The servers of a lock, as one. With one, commands and answers go straight
 * through. With several, each gets what is sent, and a majority answers: see
 * Several servers in PROTOCOL of rlockrun(1), and
 * https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/. */
#ifndef NODES_H
#define NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "redis/conn.h"
#include "redis/url.h"

struct nodes;

struct nodes_config {
	const struct endpoint *servers;
	size_t count;
	const char *key; /* that all commands are about */
	int64_t ttl_ms;
	int64_t min_uptime_ms; /* 0: of any age */
};

/* What a command is for. The scripts answer {1, ...} for yes, {0, ...} for
 * no, {-1, ...} for not yet known: a grant is to be asked for again at once. */
enum nodes_ask {
	/* Is told to all, with several servers without an answer. */
	NODES_TELL,
	/* Yes, when a majority grants it in time. */
	NODES_GRANT,
	/* Yes or no, as a majority says. No is the word of those who had it. */
	NODES_RENEW,
	/* The renewal once more, on a fresh connection beside the one that has
	 * not answered yet. A yes or a no on either connection answers both;
	 * a failure is reported when the other has failed, too. Replaces an
	 * earlier one that is still out. With several servers nothing is
	 * sent. -1 also when no renewal is out. */
	NODES_RENEW_BESIDE,
	/* Answered when a majority has freed it and the others will, or when
	 * all have had time to answer. */
	NODES_RELEASE,
	/* A grant again from those who lacked it at the last renewal: when a
	 * majority agreed to that from all, else from those who have been away
	 * since they had it. It counts for nothing and isn't answered. */
	NODES_PLANT,
	/* With several servers, is told to those who owe a grant. */
	NODES_UNDO,
	/* With several servers, is told to those whose grant is stray. */
	NODES_RECALL,
};

/* What config points at must outlive the nodes. NULL when memory is out. */
struct nodes *nodes_new(struct loop *loop, const struct nodes_config *config);
void nodes_free(struct nodes *nodes);

/* With several servers: on_stray is called, from the loop, when one that
 * refuses us has granted what was asked last, in another db or to another user.
 * It is to send what undoes that, as NODES_RECALL. */
void nodes_watch_strays(struct nodes *nodes, void (*on_stray)(void *arg),
    void *arg);

/* As conn_send. There is one question at a time: the reply to an earlier one is
 * not delivered any more. An answer of too few servers, or that too few
 * replicas have, is delivered as no value: see REPLY_TOO_FEW and partial in
 * reply.h. */
int nodes_send(struct nodes *nodes, const struct conn_command *command,
    enum nodes_ask ask);

/* Which two are; NULL while none are known to be. One that answers late shows
 * it only when a majority is there already. */
const char *nodes_twins(struct nodes *nodes);

/* Why the server with that number, from 0, will never count, as far as the last
 * question has shown; else NULL. */
const char *nodes_misfit(const struct nodes *nodes, size_t index);

/* Some lacked the lock at the last renewal. False for one server. */
bool nodes_lack_it(const struct nodes *nodes);

/* Some have not answered an earlier try, or planting. False for one server. */
bool nodes_owe_grant(const struct nodes *nodes);

/* A renewal is out on two connections. */
bool nodes_renew_twice(const struct nodes *nodes);

/* Whether they are one logical server, which can keep a line of waiters and
 * count fencing numbers: those of different majorities are not in order. */
bool nodes_are_one(const struct nodes *nodes);

/* Whether helper keys can lie beside the key, on each. */
bool nodes_place(const struct nodes *nodes);

/* As those of node.h, where any is up, or for all. */
bool nodes_are_up(const struct nodes *nodes);
void nodes_drop(struct nodes *nodes);
const char *nodes_error(struct nodes *nodes);
const char *nodes_label(const struct nodes *nodes);

#endif
