/* The locks that --watch knows, the most interesting of many. */
#ifndef ROSTER_H
#define ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admin/query.h"

/* As many are kept: more than most terminals have rows. */
enum { ROSTER_KEPT = 256 };

struct roster_lock {
	char *key;
	struct look look;
	int64_t seen_at;
};

struct roster {
	struct roster_lock locks[2 * ROSTER_KEPT];
	size_t count;
	int64_t held, waiting; /* of all that were added */
};

/* Takes what is in the look. */
void roster_add(struct roster *roster, struct look *look, const char *key);

/* Held ones before free ones; those with more waiters, then those held for
 * longer; of the free ones, the last run that ended most lately. */
void roster_sort(struct roster *roster);

/* NULL: it is not one of those kept. */
const struct roster_lock *roster_find(const struct roster *roster,
    const char *key);

/* Empties it. */
void roster_fini(struct roster *roster);

#endif
