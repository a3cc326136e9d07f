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
#include "lock/votes.h"

#define REDLOCK_SERVERS_MAX 15

extern const struct set_rule rule_majority;

/* Why servers do not count, for messages. */
struct redlock_faults {
	/* Two that are the same server, or NULL. A server that replies late
	 * shows it only when a majority is there already. */
	const char *duplicates;
	/* By the number of the server, from 0: why it will never count, as its
	 * last try has shown. NULL: it may. */
	const char *unusable[REDLOCK_SERVERS_MAX];
};

/* Valid until the next call. None of a set with another rule. */
struct redlock_faults redlock_faults(const struct set *set);

#endif
