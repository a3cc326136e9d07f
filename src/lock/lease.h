/* What a held lock does: it is renewed, or lost. See THE LEASE in
 * rlockrun-protocol(7). Its order: ON_RENEW asks for a renewal now, unless one
 * is out already. */
#ifndef LEASE_H
#define LEASE_H

#include <stdint.h>

#include "lock/lock.h"

/* Until when a lease is proven by a command that was sent then: clocks may
 * differ by 1%, and 2 ms are for rounding on both sides. */
int64_t lease_valid_until(int64_t sent_at, int64_t ttl_ms);

/* When the next renewal is sent. CLOCK_NEVER while one is out, while it is
 * tried again since the last one failed, and in other states. */
int64_t lease_renewal_at(const struct lock *lock);

/* Moves it, unless that is CLOCK_NEVER. */
void lease_renew_at(struct lock *lock, int64_t at);

/* --- for the other parts of the machine ------------------------------------
 */

/* HELD, by a grant that was asked for at sent_at. */
void lease_begin(struct lock *lock, int64_t sent_at);

/* HELD: renews a part of the ttl after what was sent then. */
void lease_schedule(struct lock *lock, int64_t sent_at);

/* It is ours by a reply to what was sent then. */
void lease_prove(struct lock *lock, int64_t sent_at);

#endif
