/* When the votes of several servers decide. Pure. See VOTES OF SEVERAL
 * SERVERS in rlockrun-protocol(7). */
#ifndef VOTES_H
#define VOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/ask.h"

/* How many servers there are, and how they have voted so far. */
struct votes {
	size_t size;
	size_t out; /* may still vote */
	size_t yes;
	size_t unreplicated; /* of yes, to a release: too few replicas have it
			      */
	size_t no;
	/* The rest is absent: silent, failed, not to be counted. */
	size_t unsent;	  /* of out: would miss the release if we went */
	size_t lost;	  /* of no: had the lock before */
	size_t gone;	  /* of no: the lock of an outer run is not there */
	size_t permanent; /* of the absent: they will be so the next time */
	size_t answered;  /* with any vote, or with one that does not count */
	size_t maybe_granted;
	/* Facts that no decision depends on: */
	size_t lacking; /* the lock */
	size_t owing;	/* the answer to a grant */
};

enum votes_decision {
	VOTES_WAIT, /* a vote that is out may change it */
	VOTES_YES,
	VOTES_NO,
	VOTES_FAILED, /* neither yes nor no: too few votes */
};

size_t votes_majority(size_t size);

/* How long one of several servers has for its vote, with all that comes before
 * it. */
int64_t votes_patience_ms(int64_t ttl_ms);

/* So many servers are absent for good that no majority can agree. */
bool votes_never_agree(const struct votes *votes);

/* On a grant, a renewal or a release. */
enum votes_decision votes_decide(enum ask ask, const struct votes *votes);

#endif
