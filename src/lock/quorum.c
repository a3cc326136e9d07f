#include "lock/quorum.h"

enum { PATIENCE_MIN_MS = 50, PATIENCE_MAX_MS = 500 };

size_t
quorum_majority(size_t size)
{
	return size / 2 + 1;
}

static size_t
undecided(const struct quorum *quorum)
{
	return quorum->size - quorum->yes - quorum->no - quorum->absent;
}

bool
quorum_agrees(const struct quorum *quorum)
{
	return quorum->yes >= quorum_majority(quorum->size);
}

bool
quorum_denies(const struct quorum *quorum)
{
	return quorum->no >= quorum_majority(quorum->size);
}

bool
quorum_can_agree(const struct quorum *quorum)
{
	return quorum->yes + undecided(quorum) >= quorum_majority(quorum->size);
}

bool
quorum_can_deny(const struct quorum *quorum)
{
	return quorum->no + undecided(quorum) >= quorum_majority(quorum->size);
}

bool
quorum_has_spoken(const struct quorum *quorum)
{
	return quorum->yes + quorum->no >= quorum_majority(quorum->size) ||
	       undecided(quorum) == 0;
}

int64_t
quorum_patience_ms(int64_t ttl_ms)
{
	int64_t ms = ttl_ms / 20;

	if (ms < PATIENCE_MIN_MS)
		return PATIENCE_MIN_MS;
	return ms < PATIENCE_MAX_MS ? ms : PATIENCE_MAX_MS;
}

int64_t
quorum_valid_until(int64_t sent_at, int64_t ttl_ms)
{
	return sent_at + ttl_ms - (ttl_ms / 100 + 2);
}
