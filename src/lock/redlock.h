/* What only a majority of servers has. Each server has a lock of its own, with
 * its own connection and lease, and all of them share a token: a set whose rule
 * this is. See VOTES OF SEVERAL SERVERS in rlockrun-protocol(7), and
 * https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/. */
#ifndef REDLOCK_H
#define REDLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/set.h"

#define REDLOCK_SERVERS_MAX 15

extern const struct set_rule rule_majority;

/* How many of them are a majority. */
size_t redlock_majority(size_t size);

/* How long a vote is awaited, with all that comes before it. */
int64_t redlock_patience_ms(int64_t ttl_ms);

/* How the servers have voted on a try so far. The rest is absent: silent,
 * failed, or not to be counted. */
struct redlock_votes {
	size_t size;
	size_t out; /* may still vote */
	size_t yes;
	size_t no;
	size_t gone;	  /* of no: the lock of an outer run is not there */
	size_t permanent; /* of the absent: they will be so the next time */
	size_t answered;  /* with any vote, or with one that does not count */
};

/* How they have released it so far. */
struct redlock_releases {
	size_t size;
	size_t open;
	size_t unsent; /* of open: see release_is_unsent */
	size_t freed;
	size_t replicated; /* of freed: enough replicas know it */
	size_t denied;	   /* the lock was not there */
	size_t lost;	   /* of denied: it had been */
	bool over;	   /* those that are unsent have had their time */
};

enum redlock_decision {
	REDLOCK_WAIT, /* what is out may change it */
	REDLOCK_YES,
	REDLOCK_NO,
	REDLOCK_FAILED, /* neither yes nor no: too few votes */
};

/* Pure. */
enum redlock_decision redlock_decide(const struct redlock_votes *votes);
enum redlock_decision redlock_decide_release(
    const struct redlock_releases *releases);
/* Pure. So many are absent for good that no majority can agree. */
bool redlock_never_agrees(const struct redlock_votes *votes);

/* Why servers do not count, for messages. */
struct redlock_faults {
	/* Two that are the same server, or NULL. A server that replies late
	 * shows it only when a majority is there already. */
	const char *duplicates;
	/* Why that server, from 0, will never count, as far as its last try has
	 * shown; NULL otherwise. */
	const char *unusable[REDLOCK_SERVERS_MAX];
};

/* Valid until the next call. None of a set with another rule. */
struct redlock_faults redlock_faults(const struct set *set);

#endif
