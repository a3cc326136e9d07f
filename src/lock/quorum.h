/* When the answers of several independent servers are one answer, and how long
 * a lease can be relied on. Pure. See Several servers and Lease arithmetic in
 * PROTOCOL of rlockrun(1). */
#ifndef QUORUM_H
#define QUORUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many servers there are, and how they have voted. Who is in none of the
 * last three may still vote. */
struct quorum {
	size_t size;
	size_t yes;
	size_t no;
	size_t absent; /* for good: silent, failed, not to be counted */
};

size_t quorum_majority(size_t size);

bool quorum_agrees(const struct quorum *quorum);
bool quorum_denies(const struct quorum *quorum);

/* Whether they might still agree, or deny. */
bool quorum_can_agree(const struct quorum *quorum);
bool quorum_can_deny(const struct quorum *quorum);

/* Whether a majority has said yes or no, or all have voted. */
bool quorum_has_spoken(const struct quorum *quorum);

/* So many ms one of several servers has for an answer, with all that comes
 * before it. */
int64_t quorum_patience_ms(int64_t ttl_ms);

/* Until when a lease is proven by a command that was sent then: clocks may
 * differ by 1%, and 2 ms are for rounding on both sides. */
int64_t quorum_valid_until(int64_t sent_at, int64_t ttl_ms);

#endif
