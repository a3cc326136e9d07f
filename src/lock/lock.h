/* A named lock: acquire, wait, renew, release, lost. Knows no
 * job. Callbacks of the loop only change the facts below; whoever runs the loop
 * looks at them after each turn. See PROTOCOL in rlockrun(1). */
#ifndef LOCK_H
#define LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "lock/answer.h"
#include "lock/holder.h"
#include "lock/kind.h"
#include "lock/nodes.h"
#include "lock/token.h"
#include "lock/waiter.h"

#define LOCK_ERROR_MAX 2048
#define LOCK_ANY_WAITERS (-1)
#define LOCK_FORMER_MAX 8

enum lock_state {
	LOCK_IDLE,
	LOCK_ACQUIRING, /* a try is out, or the next one is due soon */
	LOCK_HELD,
	LOCK_LOST, /* for good: the token is not in the key any more */
	LOCK_RELEASING,
	LOCK_RELEASED, /* nothing of ours is left, as far as can be known */
	LOCK_FAILED,   /* not acquired: see failure and error */
};

/* Why a lock was not acquired. */
enum lock_failure {
	LOCK_BUSY = 1,	    /* without waiting, or too many wait already */
	LOCK_UNAVAILABLE,   /* the server was silent for too long */
	LOCK_NOT_A_LOCK,    /* the key holds something else */
	LOCK_OTHER_KIND,    /* we are within a run that holds it so */
	LOCK_REFUSED,	    /* password, ACL */
	LOCK_ERROR,	    /* the server said something unforeseen */
	LOCK_MISCONFIGURED, /* two servers are the same one */
};

struct lock_config {
	const char *key;
	const char *name; /* of the lock, for messages */
	struct nodes_config nodes;
	int64_t ttl_ms;
	int64_t server_timeout_ms; /* silence that is borne while acquiring */
	int64_t try_ms;	 /* after that much of it a fresh connection tries */
	bool wait;	 /* else LOCK_BUSY at once */
	int max_waiters; /* LOCK_BUSY when so many wait already */
	int replicas;	 /* held only while so many have it */
	int64_t replicas_ms; /* how long they have to say so */
	const struct kind *kind;
	int permits;	     /* of kind_permits */
	const char *command; /* for the holder's record */
	const char *held;    /* RLOCKRUN_HELD, or NULL */
};

/* Keys beside the lock's own: see PROTOCOL in rlockrun(1). */
struct lock_keys {
	char *fence;
	char *info;
	char *nested;
	char *queue;
	char *alive;
	char *bell;
};

/* How many of the keys, in the order of script.h, all commands use. Acquire and
 * release use the same ones: a server that permits the former permits the
 * latter. */
enum lock_tier {
	LOCK_KEY_ONLY = 1,    /* the lock's own */
	LOCK_WITH_RECORD = 3, /* and fence and record of the holder */
	LOCK_WITH_NESTED = 4, /* and nested runs */
	LOCK_WITH_QUEUE = 7,  /* and queue, who is alive, the own doorbell */
};

struct lock {
	/* Facts, to be read only. */
	enum lock_state state;
	enum lock_failure failure;
	char error[LOCK_ERROR_MAX]; /* of the last thing that went wrong */
	bool answered;		    /* the last contact succeeded */
	char token[TOKEN_SIZE];
	/* Tokens of tries that were not answered: one that comes late may still
	 * put its token into the key. The newest last. */
	char former[LOCK_FORMER_MAX][TOKEN_SIZE];
	size_t former_count;
	char fence[24];		  /* empty where a nested run can't learn it */
	const struct kind *outer; /* of the run that holds it for us */
	int64_t acquired_at;
	int64_t valid_until; /* the lease holds until then, proven */
	bool lost_at_release;
	enum answer_released released; /* in which way, when it was */
	int64_t kept_until;	       /* KEPT: by the local clock */
	bool unconfirmed;	       /* released, but no server said so */
	struct holder holder;	       /* as the last busy try told */
	int64_t rank;		       /* our place in line from 0; -1: none */
	int64_t waiting;	       /* how many are in line */
	int64_t permits; /* that others allow, where they disagree */
	char no_queue[LOCK_ERROR_MAX]; /* why the tier is lower, or empty */

	const struct lock_config *config;
	struct loop *loop;
	struct nodes *nodes;
	struct loop_timer timer; /* next try, renewal or release */
	struct lock_keys keys;
	struct holder self;
	char run[TOKEN_SIZE];	  /* of a nested run, else empty */
	char waiter[WAITER_SIZE]; /* our name in line */
	char next[WAITER_SIZE];	  /* who is to be rung, or empty */
	enum lock_tier tier;	  /* below WITH_QUEUE: tries again and again */
	bool deaf;		  /* in line, but without a doorbell */
	bool blocked;		  /* on the doorbell */
	int64_t poll_ms;	  /* between two looks at a foreign holder */
	bool heard;		  /* the last try: the server was not silent */
	int64_t silent_since;
	int64_t tried_at;
	int64_t try_ms; /* the present try's reply is awaited so long */
	int64_t backoff_ms;
	int64_t patience_ms;   /* a renewal's answer is awaited so long */
	int64_t round_trip_ms; /* of the last grant or renewal */
	int64_t give_up_at;    /* of a release */
	int64_t keep_until;    /* after it, by the server */
	bool in_flight;	       /* the state's own command is out */
	bool settled;	       /* released; what is sent still is for others */
	bool overdue;	    /* a renewal is out on a second connection, too */
	bool release_waits; /* for such a renewal's reply */
	bool unsure;	    /* whether the server has our token in the key */
};

/* The config must outlive the lock. 0, or -1 with errno (no randomness, no
 * memory). */
int lock_init(struct lock *lock, struct loop *loop,
    const struct lock_config *config);
void lock_fini(struct lock *lock);

/* IDLE -> ACQUIRING: sends the first try before it returns. */
void lock_acquire(struct lock *lock);

/* Asks for a renewal now, unless one is out already. */
void lock_renew(struct lock *lock);

/* When the next one is sent. CLOCK_NEVER while one is out, while it is tried
 * again since the last one failed, and in other states. */
int64_t lock_renewal_at(const struct lock *lock);

/* Moves it. Not where that is CLOCK_NEVER. */
void lock_renew_at(struct lock *lock, int64_t at);

/* HELD -> RELEASING -> RELEASED, within min(valid_until, 10 s). The server
 * keeps the lock until keep_until; a time that is over frees it at once. */
void lock_release(struct lock *lock, int64_t keep_until);

/* From any state to RELEASED (FAILED, when the lock had failed), by RELEASING
 * for a moment where the server may have granted us the lock: leaves nothing
 * behind that can be helped. Cuts a release short. */
void lock_cancel(struct lock *lock);

#endif
