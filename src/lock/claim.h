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

/* How many of the keys all requests use. Acquire and release use the same ones:
 * a server that permits the former permits the latter. */
enum claim_tier {
	CLAIM_KEY_ONLY = KEY_LOCK + 1,
	CLAIM_WITH_RECORD = KEY_RECORD + 1,   /* of the holder, and the fence */
	CLAIM_WITH_NESTED = KEY_NESTED + 1,   /* and nested runs */
	CLAIM_WITH_QUEUE = KEY_DOORBELL + 1,  /* and what waiters use */
	CLAIM_WITH_HISTORY = KEY_HISTORY + 1, /* and the last run */
};

struct claim {
	const struct lock_config *config;
	enum claim_tier tier;
	struct key_names keys; /* with our own doorbell */
	char *shared_doorbell;
	struct holder self;
	char token[TOKEN_SIZE];
	/* Tokens of tries without a reply, the newest last: a try that arrives
	 * late may still put its token into the key. */
	char former[CLAIM_FORMER_MAX][TOKEN_SIZE];
	size_t former_count;
	char waiter[WAITER_SIZE]; /* our name in the queue */
	char ticket[24];	  /* --newest: when we first came, or empty */
	int64_t asked_at;	  /* when the first try was sent, or 0 */
	char head[WAITER_SIZE];	  /* the head of the queue, or empty */
	const struct kind *outer; /* of the run that holds the lock for us */
	char run[TOKEN_SIZE];	  /* our id as a nested run, or empty */
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

/* The outer run has ended: from here on the lock is claimed as our own. */
void claim_forget_outer(struct claim *claim);

/* Remembers the head of the queue, which a release notifies. */
void claim_expect_head(struct claim *claim, const char *waiter);

/* Remembers our ticket, unless it is known. */
void claim_note_ticket(struct claim *claim, const char *ticket);

/* How long the last run is remembered after the start or end of a run: as
 * configured, and until it is armed again while the job runs. */
int64_t claim_history_ms(const struct claim *claim);

/* A nested run uses the lock in the outer run's kind. */
const struct kind *claim_kind(const struct claim *claim);

/* How many permits the lock has here; 0 for other kinds. */
int claim_permits(const struct claim *claim);

#endif
