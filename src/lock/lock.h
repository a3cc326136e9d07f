/* A lock on one server: its states and the facts about it. acquire.h, lease.h
 * and release.h move it from state to state. Knows no job and no other lock.
 * Callbacks of the loop only change the facts below; whoever runs the loop
 * looks at them after each turn. See rlockrun-protocol(7). */
#ifndef LOCK_H
#define LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "lock/claim.h"
#include "lock/config.h"
#include "lock/holder.h"
#include "lock/queue.h"
#include "lock/request.h"

#define LOCK_ERROR_MAX 2048

/* IDLE --> ACQUIRING --granted--> HELD --released--> RELEASING --> RELEASED
 *           |  ^  |                |  renewal = 0         ^
 *           |  +--+ busy, silent   +--------> LOST        |
 *           |                                             |
 *           +--> FAILED          ACQUIRING --cancelled ---+
 *
 * Replies to a command of an earlier state are ignored. */
enum lock_state {
	LOCK_IDLE,
	LOCK_ACQUIRING, /* a try is out, or the next one is due soon */
	LOCK_HELD,
	/* For good: the token is not in the key any more. Only a vote may be
	 * HELD again: lease_plant. */
	LOCK_LOST,
	LOCK_RELEASING,
	LOCK_RELEASED, /* nothing of ours is left, as far as can be known */
	LOCK_FAILED,   /* not acquired: see failure and error */
};

/* Why a lock was not acquired. */
enum lock_failure {
	LOCK_BUSY = 1,	    /* without waiting, or too many wait already */
	LOCK_UNAVAILABLE,   /* the server was silent for too long */
	LOCK_NOT_A_LOCK,    /* the key holds something else */
	LOCK_OTHER_KIND,    /* an outer run holds it in that kind */
	LOCK_REFUSED,	    /* password, ACL */
	LOCK_ERROR,	    /* an unforeseen error reply */
	LOCK_MISCONFIGURED, /* two servers are the same one; no history */
	LOCK_NO_OUTER,	    /* a vote: it is not held by the outer run */
	LOCK_NOT_DUE,	    /* a former success is enough: see error */
	LOCK_OVERTAKEN,	    /* --newest: see by */
};

/* The command of the present state: a try, a renewal, a release. */
enum lock_command {
	LOCK_NONE_OUT,	  /* the timer says when it is sent */
	LOCK_OUT,	  /* its reply is awaited */
	LOCK_OUT_TWICE,	  /* a renewal, on two connections; RELEASING: they
			   * have to be answered before the release is sent */
	LOCK_ON_DOORBELL, /* BLPOP is out, the try follows */
};

/* What a release came to. */
enum lock_released {
	LOCK_NOT_HELD,	  /* nothing of ours was there to be released */
	LOCK_UNCONFIRMED, /* no server has replied */
	LOCK_WAS_LOST,	  /* the lock was not ours any more, within its lease */
	LOCK_FREED,
	LOCK_LEFT, /* to other runs of the nest */
	LOCK_KEPT, /* for --min-hold */
};

/* A connection to the server, and the renewal on it. */
struct lock_link {
	struct lock *lock;
	struct way *way; /* NULL before the second one is used */
	enum {
		LINK_QUIET,
		LINK_AWAITED, /* its reply counts */
		LINK_IGNORED, /* another reply was quicker; the server may still
			       * do what was asked */
	} renewal;
};

/* A reply to a try, a renewal or a release, as it counts. */
struct lock_reply {
	struct reply reply;
	struct answer answer;
	enum verdict verdict;
	char label[512], failure[1024]; /* of the reply, if these are changed */
};

struct lock_try {
	int64_t sent_at;
	int64_t silent_since; /* the first try of those without a reply; 0: the
			       * server has replied */
	int64_t reply_ms;     /* after that a fresh connection tries */
};

/* What only one of several servers has. */
struct lock_vote {
	bool is_out;	    /* the last try has no reply, though the lock may be
			     * in another state by now */
	bool is_permanent;  /* the next try will fail as this one did */
	bool is_planted;    /* an acquire is out that is to prove nothing */
	bool was_away;	    /* LOST, but since it was held the server has been
			     * out of reach: it may have forgotten it */
	int64_t renewed_at; /* the sending of the last renewal that proved the
			     * lease, 0: none has yet */
};

struct lock_release {
	enum lock_released outcome;
	struct request_run run;
	bool unrecorded;       /* the history was out of reach */
	bool is_late;	       /* its lease can be proven no more */
	bool is_skip;	       /* the wait for the lock is over */
	bool is_proven;	       /* it was held when the job had ended */
	char unreplicated[64]; /* why too few replicas have it, or empty */
	int64_t give_up_at;
	int64_t keep_until; /* the server is to keep the lock until then */
	int64_t kept_until; /* LOCK_KEPT: it does, by the local clock */
};

struct lock {
	/* Facts, to be read only. */
	enum lock_state state;
	enum lock_failure failure;
	char error[LOCK_ERROR_MAX]; /* of the last thing that went wrong */
	bool answered;		    /* the last contact succeeded */
	char fence[24];		    /* empty if a nested run cannot learn it */
	int64_t acquired_at;
	int64_t valid_until;	       /* the lease holds until then, proven */
	int64_t permits;	       /* of other holders, if they disagree */
	int64_t success_ahead_ms;      /* the last success lies in the future */
	char no_queue[LOCK_ERROR_MAX]; /* why the tier is lower, or empty */
	char no_history[LOCK_ERROR_MAX]; /* why the end is not recorded */
	struct holder holder;		 /* by the reply to the last busy try */
	struct queue queue;		 /* by that reply, too */
	struct holder_by by;		 /* LOCK_OVERTAKEN, or ordered */
	bool ordered;			 /* HELD: we are asked to stop */
	struct claim claim;
	struct lock_try try;
	struct lock_vote vote;
	struct lock_release release;

	const struct lock_config *config;
	struct loop *loop;
	struct lock_link links[2]; /* the other one is for overdue renewals */
	struct lock_link *link;	   /* in use */
	bool is_unsafe;		 /* too few replicas have what was asked last */
	enum again again;	 /* of the command that is sent next */
	int repeats;		 /* of it, so far */
	struct loop_timer timer; /* next try, renewal or release */
	struct loop_timer order_timer; /* --replaceable: the next look at it */
	bool order_out;		       /* its reply is awaited */
	enum lock_command command;
	bool grant_unknown; /* whether the server has our token in the key */
	bool healed;	    /* helper keys of a wrong type were deleted */
	int64_t backoff_ms;
	int64_t patience_ms;   /* how long a renewal's reply is awaited */
	int64_t round_trip_ms; /* of the last grant or renewal */
	int64_t known_at;      /* when the life of :i began anew */
};

/* The config must outlive the lock. 0, or -1 with errno (no randomness, no
 * memory). */
int lock_init(struct lock *lock, struct loop *loop,
    const struct lock_config *config);
void lock_fini(struct lock *lock);
/* Of a vote in which nothing is out: -> IDLE, for another try. */
void lock_begin_anew(struct lock *lock);

/* --- for acquire, lease and release alone ---------------------- */

#define LOCK_BACKOFF_MIN_MS 100
/* How long a reply is awaited at least, on a connection that may have died
 * unnoticed. */
#define LOCK_REPLY_MS 1000

/* Sends a request and ends it. What is asked, and awaited, decides how it
 * travels. One without words counts as sent. -1 when memory is out: a failed
 * contact like others, but on_reply (NULL: nobody awaits a reply) is not
 * called. It gets the link. */
int lock_send(struct lock_link *link, struct request *request,
    reply_handler *on_reply, int64_t deadline);
/* Makes the request first, and uses the link that is in use. */
int lock_ask(struct lock *lock, request_maker *make, reply_handler *on_reply,
    int64_t deadline);
/* What a reply means, and what it says, also where AUTH or SELECT was refused.
 * A yes that too few replicas have counts as silence, and so does one that is
 * no answer to what was asked, which fails the connection. */
void lock_hear(struct lock_link *link, const struct reply *reply,
    struct lock_reply *heard);
/* The connections are given up. */
void lock_drop(struct lock *lock);
struct lock_link *lock_other_link(struct lock *lock);
void lock_drop_link(struct lock_link *link);
/* After VERDICT_AGAIN: whether the same is to be asked once more at once, by
 * the command that is sent next. Otherwise it was too often: that is the error,
 * and the next try is due after a back-off. */
bool lock_may_repeat(struct lock *lock, const struct reply *reply);
/* Makes a release of what the lock has come to. */
void lock_make_release(struct lock *lock, struct request *request);
/* Sends it, and nobody awaits the reply. more: another command follows in the
 * same write. */
void lock_post_release(struct lock *lock, bool more);
/* In the plain tier, before a try: frees what former ones may have got. */
void lock_drop_former(struct lock *lock);
/* Rings the doorbells of these waiters. */
void lock_ring(struct lock *lock, const char (*waiters)[WAITER_SIZE],
    size_t count);

/* Enters that state: on_due is what its timer calls. */
void lock_enter(struct lock *lock, enum lock_state state,
    void (*on_due)(void *arg));
/* Enters a state that has no timer. */
void lock_end(struct lock *lock, enum lock_state state);

void lock_due_at(struct lock *lock, int64_t at);
void lock_due_in(struct lock *lock, int64_t ms);
/* The timer comes after the next back-off, but not later than by. */
void lock_retry(struct lock *lock, int64_t by);

/* A server or a name server that is always slow must not cost us the lock, and
 * an unresponsive one must be noticed soon. */
void lock_be_patient(struct lock *lock, int64_t ms);

/* Record what the last contact brought: a reply, its round trip, */
void lock_note_reply(struct lock *lock);
void lock_note_round_trip(struct lock *lock, int64_t sent_at);
/* what a grant says of us: the release needs it for the record, */
void lock_note_grant(struct lock *lock, const struct answer *answer);
/* an error ("error from", the server's label, its words), no reply (NULL: as
 * the server's error says), */
void lock_note_error(struct lock *lock, const char *what, const char *label,
    const char *words);
void lock_note_silence(struct lock *lock, const char *why);
/* or why a command is not even sent: the time may be over while the connection
 * is still being established. */
void lock_note_obstacle(struct lock *lock);

#endif
