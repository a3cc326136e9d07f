/* Who we are to the servers: the tokens and names that stand for us, and which
 * keys our requests use. Sends nothing. See KEYS in rlockrun-protocol(7). */
#ifndef CLAIM_H
#define CLAIM_H

#include <stdbool.h>
#include <stddef.h>

#include "lock/config.h"
#include "lock/holder.h"
#include "lock/key.h"
#include "lock/kind.h"
#include "lock/token.h"
#include "lock/waiter.h"

#define CLAIM_FORMER_MAX 8

/* Acquire and release use the same keys: a server that permits the former
 * permits the latter. */
enum claim_tier {
	CLAIM_NONE,  /* the lock is refused */
	CLAIM_PLAIN, /* the lock's own key alone */
	CLAIM_FULL,
};

struct claim {
	const struct lock_config *config;
	enum claim_tier tier;
	struct key_names keys;
	char *doorbell; /* our own */
	char *record;	/* what others are to know of us */
	struct holder self;
	char token[TOKEN_SIZE];
	/* Tokens of tries without a reply, the newest last: a try that arrives
	 * late may still put its token into the key. */
	char former[CLAIM_FORMER_MAX][TOKEN_SIZE];
	size_t former_count;
	char waiter[WAITER_SIZE]; /* our name in the queue */
	char ticket[24];	  /* our place in the queue, or empty */
	int64_t asked_at;	  /* when the first try was sent, or 0 */
	bool was_queued;	  /* we may be in the queue */
	char head[WAITER_SIZE];	  /* the head of the queue, or empty */
	const struct kind *outer; /* of the run that holds the lock for us */
	char run[TOKEN_SIZE];	  /* our id as a nested run, or empty */
	/* By the grant: */
	char fence[24];	 /* decimal digits, or empty */
	int64_t start;	 /* server's ms */
	int64_t life_ms; /* of :i */
};

/* Pure. The tier that a run has unless its server denies something. */
enum claim_tier claim_top_tier(const struct lock_config *config);

/* The config must outlive the claim. A key that an outer run holds, by
 * RLOCKRUN_HELD, is claimed by its token. 0, or -1 with errno (no randomness,
 * no memory); claim_fini is due in any case. */
int claim_init(struct claim *claim, const struct lock_config *config);
void claim_fini(struct claim *claim);

/* Another token: a release that was sent for the former one may arrive late,
 * and must not free what is granted afterwards. The waiter's name stays, and
 * with it the doorbell: with another name we would be overtaken by ourselves.
 * False without randomness. */
bool claim_change_token(struct claim *claim);

/* Another token for the next try, which names the former ones and takes over
 * what they have got. A try without a reply may reach the server at any later
 * time, even after the lock was granted to the next try, lost, and used by
 * others; so its token must not be used again. The waiter's name stays, and
 * with it position and doorbell. False without randomness. */
bool claim_supersede_token(struct claim *claim);
/* The same with a given token: on several servers a lock has one for all, */
void claim_adopt_token(struct claim *claim, const char *token);
/* from the beginning. To be called after claim_init. */
void claim_share(struct claim *claim, const struct claim *with);

/* The outer run has ended: from here on the lock is claimed as our own. */
void claim_forget_outer(struct claim *claim);

/* Remembers the head of the queue, which a release notifies. */
void claim_expect_head(struct claim *claim, const char *waiter);

/* How long :i is kept, which knows all about the lock: longer than anything
 * that it is asked for. */
int64_t claim_life_ms(const struct claim *claim);

/* The policies of the run need the keys beside the lock's own. */
bool claim_needs_helpers(const struct claim *claim);

/* A nested run uses the lock in the outer run's kind. */
const struct kind *claim_kind(const struct claim *claim);

/* How many permits the lock has here; 0 for other kinds. */
int claim_permits(const struct claim *claim);

#endif
