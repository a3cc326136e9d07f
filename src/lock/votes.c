#include "lock/votes.h"

enum { PATIENCE_MIN_MS = 50, PATIENCE_MAX_MS = 500 };

size_t
votes_majority(size_t size)
{
	return size / 2 + 1;
}

int64_t
votes_patience_ms(int64_t ttl_ms)
{
	int64_t ms = ttl_ms / 20;

	if (ms < PATIENCE_MIN_MS)
		return PATIENCE_MIN_MS;
	return ms < PATIENCE_MAX_MS ? ms : PATIENCE_MAX_MS;
}

bool
votes_never_agree(const struct votes *votes)
{
	return votes->size - votes->permanent < votes_majority(votes->size);
}

/* A majority grants the lock, or it cannot any more. Then enough votes are
 * waited for to say whether the lock is held by others, or servers have failed.
 */
static enum votes_decision
decide_grant(const struct votes *votes)
{
	size_t majority = votes_majority(votes->size);

	if (votes->yes >= majority)
		return VOTES_YES;
	if (votes->yes + votes->out >= majority)
		return VOTES_WAIT;
	if (votes->out > 0 && votes->yes + votes->no < majority)
		return VOTES_WAIT;
	/* A minority may not have the lock of an outer run yet: only a majority
	 * says that it is gone. */
	if (votes->gone > 0 && votes->no < majority)
		return votes->no + votes->out >= majority ? VOTES_WAIT
							  : VOTES_FAILED;
	if (votes->no > 0 && votes->yes + votes->no >= majority &&
	    !votes_never_agree(votes))
		return VOTES_NO;
	return VOTES_FAILED;
}

/* A majority still has the lock, or has lost it. */
static enum votes_decision
decide_renewal(const struct votes *votes)
{
	size_t majority = votes_majority(votes->size);

	if (votes->yes >= majority)
		return VOTES_YES;
	if (votes->no >= majority)
		return VOTES_NO;
	if (votes->yes + votes->out >= majority ||
	    votes->no + votes->out >= majority)
		return VOTES_WAIT;
	return VOTES_FAILED;
}

/* A majority has freed it, as replicas know, and the other releases are on
 * their way, or all have voted. */
static enum votes_decision
decide_release(const struct votes *votes)
{
	size_t majority = votes_majority(votes->size);

	if (votes->yes - votes->unreplicated >= majority && votes->unsent == 0)
		return VOTES_YES;
	if (votes->out > 0)
		return VOTES_WAIT;
	if (votes->lost >= majority)
		return VOTES_NO;
	return votes->yes > 0 && votes->yes + votes->no >= majority
		   ? VOTES_YES
		   : VOTES_FAILED;
}

enum votes_decision
votes_decide(enum ask ask, const struct votes *votes)
{
	if (ask == ASK_GRANT)
		return decide_grant(votes);
	return ask == ASK_RENEW ? decide_renewal(votes) : decide_release(votes);
}
