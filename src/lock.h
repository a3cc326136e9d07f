/* A named lock on one server: acquire, wait, renew, release, lost. Knows no
 * job. Callbacks of the loop only change the facts below; whoever runs the loop
 * looks at them after each turn. See PROTOCOL in rlockrun(1). */
#ifndef LOCK_H
#define LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "conn.h"
#include "holder.h"
#include "loop.h"

#define LOCK_TOKEN_SIZE 37
#define LOCK_ERROR_MAX 1024

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
	LOCK_BUSY = 1,	  /* without waiting */
	LOCK_UNAVAILABLE, /* the server was silent for too long */
	LOCK_NOT_A_LOCK,  /* the key holds something else */
	LOCK_REFUSED,	  /* password, ACL */
	LOCK_ERROR,	  /* the server said something unforeseen */
};

struct lock_config {
	const char *key;
	const struct endpoint *server;
	int64_t ttl_ms;
	int64_t server_timeout_ms; /* silence that is borne while acquiring */
	bool wait;		   /* else LOCK_BUSY at once */
	const char *command;	   /* for the holder's record */
};

struct lock {
	/* Facts, to be read only. */
	enum lock_state state;
	enum lock_failure failure;
	char error[LOCK_ERROR_MAX]; /* of the last thing that went wrong */
	bool answered;		    /* the last contact succeeded */
	char token[LOCK_TOKEN_SIZE];
	char fence[24];
	int64_t valid_until; /* the lease holds until then, proven */
	bool lost_at_release;
	bool unconfirmed;     /* released, but no server said so */
	struct holder holder; /* as the last busy try told */

	const struct lock_config *config;
	struct loop *loop;
	struct conn *conn;
	struct loop_timer timer; /* next try, renewal or release */
	char *fence_key;
	char *info_key;
	bool heard; /* the last try: the server was not silent */
	int64_t silent_since;
	int64_t backoff_ms;
	int64_t patience_ms; /* a renewal's answer is awaited so long */
	int64_t give_up_at;  /* of a release */
	bool key_alone;	     /* released without its helper keys */
	bool in_flight;	     /* the state's own command is out */
	bool unsure;	     /* whether the server has our token in the key */
	char record_host[256];
	char record_user[64];
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

/* HELD -> RELEASING -> RELEASED, within min(valid_until, 10 s). */
void lock_release(struct lock *lock);

/* From any state to RELEASED (FAILED, when the lock had failed), by RELEASING
 * for a moment where the server may have granted us the lock: leaves nothing
 * behind that can be helped. */
void lock_cancel(struct lock *lock);

#endif
