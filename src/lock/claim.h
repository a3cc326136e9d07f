/* Who we are to the servers: the tokens and names that stand for us, and which
 * keys our requests use. Sends nothing. See KEYS in rlockrun-protocol(7). */
#ifndef CLAIM_H
#define CLAIM_H

#include <stdbool.h>
#include <stddef.h>

#include "lock/config.h"
#include "lock/holder.h"
#include "lock/kind.h"
#include "lock/record.h"
#include "lock/token.h"

enum { CLAIM_FORMER_MAX = 8 };

/* --- keys ------------------------------------------------------------- */

/* A lock's own key and its helper keys. This order is that of acquire.lua, and
 * of the bits in doctor/needs.h. */
enum key {
	KEY_LOCK,
	KEY_INFO,     /* what is known about the lock */
	KEY_RUNS,     /* the last ten */
	KEY_QUEUE,    /* waiter -> ticket */
	KEY_ALIVE,    /* waiter -> alive until */
	KEY_DOORBELL, /* of one waiter */
	KEY_NESTED,   /* the nested runs of one holder */
	KEY_COUNT,
};

struct key_names {
	union {
		char *all[KEY_COUNT];
		struct {
			char *lock, *info, *runs, *queue, *alive;
			char *doorbell, *nested;
		};
	};
};

/* The key must outlive the names. The doorbell is that of this token, the
 * nested runs are those of it; without one they are made for key_set_token.
 * Dies when memory is out. */
void key_names_init(struct key_names *names, const char *key,
    const char *token);
void key_names_fini(struct key_names *names);

/* The helper key with that letter, to be freed. Dies when memory is out. */
char *key_helper(const char *key, char letter);

/* Makes a doorbell, or the key of nested runs, that of another token. */
void key_set_token(char *key, const char *token);

/* Whether the helper keys lie in the key's slot: all do, unless it has a '}'
 * but no hash tag. */
bool key_is_placeable(const char *key);

/* --- a claim ----------------------------------------------------------- */

/* Acquire and release use the same keys: a server that permits the former
 * permits the latter. */
enum claim_tier {
	CLAIM_PLAIN, /* the lock's own key alone */
	CLAIM_FULL,
};

struct claim {
	const struct lock_config *config;
	enum claim_tier tier;
	/* The doorbell is that of the first token, :n that of the present one.
	 */
	struct key_names keys;
	char record[RECORD_SIZE]; /* what others are to know of us */
	struct holder self;
	char token[TOKEN_SIZE];
	/* Tokens of tries without a reply, the newest last: a try that arrives
	 * late may still put its token into the key. */
	char former[CLAIM_FORMER_MAX][TOKEN_SIZE];
	size_t former_count;
	char waiter[WAITER_SIZE]; /* our name in the queue */
	char ticket[24];	  /* our score in the queue, or empty */
	int64_t asked_at;	  /* when the first try was sent, or 0 */
	bool was_queued;	  /* we may be in the queue */
	char head[WAITER_SIZE];	  /* see claim_expect_head; or empty */
	char *head_doorbell;	  /* that of head */
	/* In which kind the run around this one holds the lock, by the token
	 * that is ours then; NULL if none does. */
	const struct kind *outer;
	char run[TOKEN_SIZE]; /* our id as a nested run, or empty */
	/* By the grant: */
	char fence[24];	 /* decimal digits, or empty */
	int64_t start;	 /* server's ms */
	int64_t life_ms; /* of :i */
};

/* Pure. The tier that a run has unless its server denies something. */
enum claim_tier claim_top_tier(const struct lock_config *config);

/* The config must outlive the claim. A key that an outer run holds, by
 * RLOCKRUN_HELD, is claimed by its token. 0, or -1 with errno without
 * randomness; claim_fini is due in any case. Dies when memory is out. */
int claim_init(struct claim *claim, const struct lock_config *config);
void claim_fini(struct claim *claim);

/* Another token for the next try, which names the former ones and takes over
 * what they have got. A try without a reply may reach the server at any later
 * time, even after the lock was granted to the next try, lost, and used by
 * others; so its token must not be used again. Nor must it after a release,
 * which may arrive late and free what is granted afterwards. The waiter's name
 * stays, and with it position and doorbell: with another name we would be
 * overtaken by ourselves. False without randomness. */
bool claim_supersede_token(struct claim *claim);
/* As claim_supersede_token, but with a given token of TOKEN_SIZE bytes: on
 * several servers a lock has one token for all. */
void claim_adopt_token(struct claim *claim, const char *token);
/* The next try also names this token, of TOKEN_SIZE bytes, as a former one. The
 * oldest of more than CLAIM_FORMER_MAX is forgotten: what it got lasts for its
 * ttl. */
void claim_remember_token(struct claim *claim, const char *token);

/* Right after claim_init, on several servers: takes over the token and the id
 * as a nested run. */
void claim_share(struct claim *claim, const struct claim *with);
/* Takes over what a grant says, from a claim on another server: the reply of
 * this one was lost, and its release records the run, too. */
void claim_share_grant(struct claim *claim, const struct claim *with);

/* The outer run has ended: from here on the lock is claimed as our own. */
void claim_forget_outer(struct claim *claim);

/* Remembers the head of the queue, which a release notifies if it still is the
 * head by then; nobody, if that is no waiter's name. */
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
