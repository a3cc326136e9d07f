/* What a held lock does: it is renewed, or lost. */
#ifndef LEASE_H
#define LEASE_H

#include <stdint.h>

#include "lock/lock.h"

/* Asks for a renewal now, unless one is out already. */
void lease_renew(struct lock *lock);

/* When the next one is sent. CLOCK_NEVER while one is out, while it is tried
 * again since the last one failed, and in other states. */
int64_t lease_renewal_at(const struct lock *lock);

/* Moves it. Not if that is CLOCK_NEVER. */
void lease_renew_at(struct lock *lock, int64_t at);

/* -> HELD, by a grant that was asked for at sent_at. For acquire alone. */
void lease_begin(struct lock *lock, int64_t sent_at);

#endif
