/* What is asked of a lock. */
#ifndef CONFIG_H
#define CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/kind.h"
#include "redis/url.h"

#define CONFIG_ANY_WAITERS (-1)
#define CONFIG_EXPECT_UNSTATED (-1)

struct lock_config {
	const char *key;
	const char *name; /* of the lock, for messages */
	const struct endpoint *server;
	/* Of one of several servers, which grant it by a majority: how long its
	 * vote is awaited. 0: it is the only one. */
	int64_t vote_ms;
	int64_t min_uptime_ms; /* of a server that votes; 0: any */
	int64_t ttl_ms;
	int64_t server_timeout_ms; /* of silence while acquiring */
	int64_t try_ms;		   /* after that a fresh connection is tried */
	bool wait;		   /* otherwise LOCK_BUSY at once */
	int max_waiters; /* LOCK_BUSY when so many wait, or CONFIG_ANY_WAITERS
			  */
	int replicas;	 /* that must acknowledge what is written */
	int64_t replicas_ms; /* how long they have for that */
	const struct kind *kind;
	int permits;	     /* of kind_permits */
	bool is_hold;	     /* without a job: it joins no outer run */
	int64_t hold_ms;     /* how long a hold lasts */
	bool is_pause;	     /* a hold at the front of the queue */
	const char *command; /* for the holder's record; empty: a hold */
	const char *label;   /* for the record, too, or empty */
	const char *outer;   /* RLOCKRUN_HELD, or NULL */
	int64_t history_ms;  /* the last run is remembered so long; 0: not */
	bool newest;	     /* overtaken by a later waiter that has it, too */
	bool replace;	     /* the first waiter asks the holder to stop, */
	bool replaceable;    /* and one that has this obeys */
	int64_t once_ms; /* LOCK_NOT_DUE so long after a success; 0: never */
	const char *once_id; /* or if the last success had it; NULL: never */
	int64_t expect_ms;   /* a success is due this often; 0: none is due; or
			      * CONFIG_EXPECT_UNSTATED */
};

/* A vote has no queue, no history and no fence: those of different majorities
 * are not ordered. It is tried once: its set decides about the next try. */
static inline bool
config_is_vote(const struct lock_config *config)
{
	return config->vote_ms > 0;
}

/* Whether there is no lock without the history. */
static inline bool
config_needs_history(const struct lock_config *config)
{
	return config->once_ms > 0 || config->once_id != NULL ||
	       config->expect_ms > 0;
}

/* A policy depends on the queue. */
static inline bool
config_needs_queue(const struct lock_config *config)
{
	return config->newest || config->replace || config->replaceable;
}

/* A try says more than a plain one. */
static inline bool
config_has_policy(const struct lock_config *config)
{
	return config_needs_queue(config) || config->once_ms > 0 ||
	       config->once_id != NULL || config->expect_ms >= 0;
}

#endif
