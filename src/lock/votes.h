/* How one of several servers votes on a lock, and when such votes decide. See
 * VOTES OF SEVERAL SERVERS in rlockrun-protocol(7).
 *
 * ON_PLANT, of a vote that is LOST or was never held, of which nothing is out,
 * asks its server for the lock again: it is HELD if that is granted, but counts
 * for nothing before it is renewed, as nothing is proven. It is asked again,
 * with a back-off, if its server was_away. */
#ifndef VOTES_H
#define VOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/lock.h"

/* --- one server -------------------------------------------------------- */

/* How a server stands to the present round. */
enum vote_kind {
	VOTE_OUT, /* it may still vote */
	VOTE_YES,
	VOTE_NO,
	/* Absent, from here on: no reply, and none the next time either, */
	VOTE_SILENT,
	VOTE_UNREACHABLE,
	/* or a reply that does not count, nor will it the next time. */
	VOTE_FAILED,
	VOTE_UNUSABLE,
};

enum { VOTE_WHY_MAX = 640 };

/* Which server it is, by INFO, once a connection, and how it stands. */
struct vote {
	/* Facts, to be read only. */
	bool known;
	char run_id[64];
	char label[320];	       /* of the server that replied so */
	char obstacle[ANSWER_WHY_MAX]; /* why it can never be known, or empty
					*/
	char why[VOTE_WHY_MAX];	       /* it stands so, as it was judged last */

	int64_t started_at; /* or up to a second earlier */
};

/* Asks which server it is, unless the connection has said so: before a try, in
 * the same write. The vote must outlive the lock. */
void vote_introduce(struct vote *vote, const struct lock *lock);

/* over: the time for votes is. One that is left out of a round stands as
 * before. */
enum vote_kind vote_judge(struct vote *vote, const struct lock *lock,
    bool over);

/* How it stands to a renewal, or a release: only why. */
void vote_explain(struct vote *vote, const struct lock *lock);

/* --- all of them ------------------------------------------------------- */

/* How many of them are a majority. */
size_t votes_majority(size_t size);

/* How long a vote is awaited, with all that comes before it. */
int64_t votes_patience_ms(int64_t ttl_ms);

/* How the servers have voted on a try so far. The rest is absent: silent,
 * failed, or not to be counted. */
struct votes {
	size_t size;
	size_t out; /* may still vote */
	size_t yes;
	size_t no;
	size_t gone;	  /* of no: the lock of an outer run is not there */
	size_t permanent; /* of the absent: they will be so the next time */
	size_t answered;  /* with any vote, or with one that does not count */
};

/* How they have released it so far. */
struct votes_releases {
	size_t size;
	size_t open;
	size_t unsent; /* of open: see release_is_unsent */
	size_t freed;
	size_t replicated; /* of freed: enough replicas know it */
	size_t denied;	   /* the lock was not there */
	size_t lost;	   /* of denied: it had been */
	bool over;	   /* those that are unsent have had their time */
};

enum votes_decision {
	VOTES_WAIT, /* what is out may change it */
	VOTES_YES,
	VOTES_NO,
	VOTES_FAILED, /* neither yes nor no: too few votes */
};

/* Pure. */
enum votes_decision votes_decide(const struct votes *votes);
enum votes_decision votes_decide_release(const struct votes_releases *releases);
/* Pure. So many are absent for good that no majority can agree. */
bool votes_never_agree(const struct votes *votes);

#endif
