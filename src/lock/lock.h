/* A lock on one server: a table of states and events. A state is the command
 * that is out, or what the timer waits for: entering it sends its command, so
 * "ask again" is to enter it again. A reply is one event before anything is
 * decided. What an event does in a state stands in one table, in lock.c: a
 * note, which changes facts, and the next state.
 *
 *   IDLE --> TRY <---due---- REST         HELD ---due---> RENEW --late--> TWICE
 *            | ^ |            ^            ^  <---yes------+ | <--yes-------+
 *            | | +--trouble---+            |                 no
 *       busy | | rung                      |                 v
 *            v |                           +---granted--- PLANT <--- LOST
 *            BELL
 *                    (any) --release--> AWAIT --> FREE <---due--- PAUSE
 *                                                 |  |              ^
 *          DONE, FAILED <-- RECORD <----freed-----+  +---trouble----+
 *
 * A try that is refused or given up comes through AWAIT, too. RECORD is sent
 * again after LATER, as FREE after PAUSE.
 *
 * Knows no job and no other lock. Callbacks of the loop only move this machine;
 * whoever runs the loop looks at the facts after each turn. See
 * rlockrun-protocol(7). */
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

/* What others need to know of a state. */
enum lock_phase {
	LOCK_IDLE,
	LOCK_ACQUIRING,
	LOCK_HELD,
	/* For good: the token is not in the key any more. Only a vote may be
	 * HELD again, by ON_PLANT. */
	LOCK_LOST,
	LOCK_RELEASING,
	LOCK_RELEASED, /* nothing of ours is left, as far as can be known */
	LOCK_FAILED,   /* not acquired: see failure and why */
};

enum lock_state {
	AT_SAME, /* in the table: no change */
	AT_IDLE,
	/* Acquiring: */
	AT_TRY,	 /* a try is out */
	AT_BELL, /* BLPOP is out: has a place in the queue */
	AT_REST, /* until the next try */
	/* Held: */
	AT_HELD,  /* until the next renewal */
	AT_RENEW, /* a renewal is out */
	AT_TWICE, /* on both links, as it is overdue on the first */
	AT_LOST,
	AT_PLANT, /* of a vote that lacks it: a try is out that proves nothing
		   */
	/* Releasing: */
	AT_AWAIT,  /* renewals are out, the release comes behind them */
	AT_FREE,   /* the release is out */
	AT_PAUSE,  /* until the next try to release */
	AT_RECORD, /* K is free or gone; the end of the run is out */
	AT_LATER,  /* until that is tried again */
	AT_DONE,
	AT_FAILED,
	/* In the table alone: DONE or FAILED, as it has failed or not; and what
	 * it was before PLANT. */
	AT_END,
	AT_LACKS,
	LOCK_STATES,
};

enum lock_event {
	ON_NOTHING,
	/* The reply to a try: */
	ON_GRANTED,
	ON_LATE,     /* granted, but half of the lease is over */
	ON_BUSY,     /* and waited for */
	ON_SKIP,     /* it is not waited for: busy, not due, overtaken */
	ON_NO_OUTER, /* the outer run has ended */
	ON_SHUT,     /* AUTH or SELECT was refused, or WAIT */
	ON_SPOILT,   /* a helper key of a wrong type */
	/* To others: */
	ON_BELL,     /* the wait on the doorbell is over */
	ON_FRACTION, /* the doorbell takes whole seconds alone */
	ON_OURS,
	ON_GONE,  /* the token is not in the key */
	ON_FREED, /* or was not there; or the end is recorded */
	/* No answer: */
	ON_AGAIN,   /* at once, the same */
	ON_TROUBLE, /* which may pass */
	ON_SILENT,  /* or too few replicas have it */
	ON_DEAD,    /* and it will be so */
	ON_DENIED,  /* the lock's own key alone is left to try */
	ON_REFUSED, /* for good */
	/* A state has sent nothing: */
	ON_LATER,   /* now; the timer is set */
	ON_READY,   /* no renewal has to be waited for */
	ON_NO_NEED, /* there is nothing to be freed, or recorded */
	/* Renewals on two links: none is out on the other one any more. */
	ON_QUIET,
	/* The timer: */
	ON_DUE,
	ON_OVER, /* the time for all is over */
	/* Orders: */
	ON_ACQUIRE,
	ON_RENEW,
	ON_PLANT,
	ON_RELEASE,
	ON_RECORD,
	ON_WITHDRAW, /* as fast as it goes; cuts a release short */
	ON_BEHIND,   /* of a vote: release behind what is out, unheard */
	LOCK_EVENTS,
};

/* What the server may have of us: what a release has to free. */
enum lock_debt {
	DEBT_NOTHING,
	DEBT_QUEUED, /* a place in the queue */
	DEBT_MAYBE,  /* a try or a release has no reply */
	DEBT_OURS,   /* it was granted: "not ours" now means that it is lost */
};

/* Why a lock was not acquired. */
enum lock_failure {
	LOCK_BUSY = 1,	    /* without waiting, or too many wait already */
	LOCK_UNAVAILABLE,   /* the server was silent for too long */
	LOCK_NOT_A_LOCK,    /* the key holds something else */
	LOCK_OTHER_KIND,    /* an outer run holds it in that kind */
	LOCK_REFUSED,	    /* password, ACL */
	LOCK_ERROR,	    /* an unforeseen error reply */
	LOCK_MISCONFIGURED, /* two servers are the same one; or a policy of
			     * the run lacks its keys */
	LOCK_NO_OUTER,	    /* a vote: it is not held by the outer run */
	LOCK_NOT_DUE,	    /* a former success is enough: see why */
	LOCK_OVERTAKEN,	    /* --newest: see order.by */
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

/* A reply, as it counts. */
struct lock_reply {
	struct reply reply;
	struct answer answer;
	enum verdict verdict;
	char label[512], failure[1024]; /* of the reply, if these are changed */
};

/* Why something went wrong, and what that has cost. */
struct lock_why {
	char text[LOCK_ERROR_MAX]; /* the last of it */
	bool answered;		   /* it is over: the last contact succeeded */
	bool no_queue; /* the tier is lower for good, or the doorbell denied */
	char cost[LOCK_ERROR_MAX]; /* why that is so, or why the end of the run
				    * is not recorded */
};

/* What a grant says. */
struct lock_grant {
	char fence[24];		  /* empty if a nested run cannot learn it */
	int64_t permits;	  /* of other holders, if they disagree */
	int64_t success_ahead_ms; /* the last success lies in the future */
};

struct lock_lease {
	int64_t acquired_at; /* 0: it was never had */
	int64_t valid_until; /* it holds until then, proven */
	int64_t known_at;    /* when the life of :i began anew */
};

/* --replaceable: what the holder is told. */
struct lock_order {
	struct holder_by by; /* who has asked it to stop; LOCK_OVERTAKEN: whom
			      * it has left to */
	bool ordered;	     /* HELD: it is to stop */
	bool is_out;	     /* the question has no reply yet */
	struct loop_timer timer;
};

struct lock_pace {
	int64_t sent_at;      /* the last try, or renewal */
	int64_t silent_since; /* the first try of those without a reply; 0: the
			       * server has replied */
	int64_t reply_ms;     /* after that a fresh connection tries */
	int64_t backoff_ms;
	int64_t patience_ms;   /* how long a renewal's reply is awaited */
	int64_t round_trip_ms; /* of the last grant or renewal */
	enum again again;      /* of the command that is sent next */
	int repeats;	       /* of it, so far */
};

/* What only one of several servers has. */
struct lock_vote {
	bool is_out;	   /* the last try has no reply, though the lock may be
			    * in another state by now */
	bool is_permanent; /* the next try will fail as this one did */
	bool is_unheard;   /* the release had no reply in its time */
	enum lock_state lacks; /* PLANT: what it was before */
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
	int64_t give_up_at;    /* RELEASING; 0: nothing is to be sent */
	int64_t keep_until;    /* the server is to keep the lock until then */
	int64_t kept_until;    /* LOCK_KEPT: it does, by the local clock */
};

struct lock {
	/* Facts, to be read only. */
	enum lock_state state;
	enum lock_debt debt;
	enum lock_failure failure;
	struct lock_why why;
	struct lock_grant grant;
	struct lock_lease lease;
	struct holder holder; /* by the reply to the last busy try */
	struct queue queue;   /* by that reply, too */
	struct lock_order order;
	struct claim claim;
	struct lock_vote vote;
	struct lock_release release;

	const struct lock_config *config;
	struct loop *loop;
	struct lock_link links[2]; /* the other one is for overdue renewals */
	struct lock_link *link;	   /* in use */
	struct lock_pace pace;
	struct loop_timer timer; /* next try, renewal or release */
	bool is_unsafe;		 /* too few replicas have what was asked last */
	bool healed;		 /* helper keys of a wrong type were deleted */
};

/* The config must outlive the lock. 0, or -1 with errno (no randomness, no
 * memory); lock_fini is due in any case. Dies when there is no memory for the
 * names of the keys. */
int lock_init(struct lock *lock, struct loop *loop,
    const struct lock_config *config);
void lock_fini(struct lock *lock);

enum lock_phase lock_phase(const struct lock *lock);

/* An event that does not matter in this state is ignored. May send, and writes
 * at once if the connection is up.
 *
 * ON_ACQUIRE: from IDLE. A vote may also be LOST, RELEASED or FAILED, if no try
 * of it is out.
 *
 * ON_RENEW: asks for a renewal now, unless one is out already.
 *
 * ON_RELEASE: -> RELEASING -> RELEASED, within max(min(valid_until, 10 s), 1
 * s): a run whose lease has ended is recorded, too. The server keeps the lock
 * until release.keep_until, which is set before; a time in the past frees it at
 * once.
 *
 * ON_WITHDRAW: from any state to RELEASED (FAILED, if the lock had failed), by
 * RELEASING for a moment if the server may have granted us the lock: leaves
 * nothing behind that can be helped. Cuts a release short.
 *
 * ON_BEHIND: of a vote, -> RELEASED: sends a release behind the try that is out
 * or has no reply. Nobody awaits either, and a connection that is being made
 * goes on: it is to serve the next try.
 *
 * ON_PLANT: of a vote, see votes.h. ON_RECORD is for release.c alone. */
void lock_order(struct lock *lock, enum lock_event order);

/* Until when a lease is proven by a command that was sent then: clocks may
 * differ by 1%, and 2 ms are for rounding on both sides. */
int64_t lease_valid_until(int64_t sent_at, int64_t ttl_ms);

/* When the next renewal is sent. CLOCK_NEVER while one is out, while it is
 * tried again since the last one failed, and in other states. */
int64_t lease_renewal_at(const struct lock *lock);

/* RELEASED -> RELEASING -> RELEASED: records that the run ended this way, where
 * the release has recorded nothing. */
void release_correct(struct lock *lock, const struct request_run *run);

/* LOST, and the job is dead. LOST -> RELEASING -> RELEASED if the end of the
 * run is to be recorded. */
void release_lost(struct lock *lock);

/* RELEASING, and the server would miss the release if we went: it is not
 * connected to though it had the lock, or it cannot send an earlier reply. */
bool release_is_unsent(const struct lock *lock);

/* --- the machine: for its parts and for sets alone ----------------------- */

/* What has happened. */
struct lock_news {
	enum lock_state from;
	enum lock_event event;
	const struct lock_reply *heard; /* NULL: a timer, an order, or a state
					 * that has nothing to send */
};

/* Changes facts, and the timer; may give a connection up, or send what nobody
 * awaits. The next state is entered already, but has sent nothing. */
typedef void lock_note(struct lock *lock, const struct lock_news *news);

/* Sends what a state is about, and sets its timer. ON_NOTHING, or why it is not
 * sent. */
typedef enum lock_event lock_sender(struct lock *lock);

/* acquire.c */
lock_sender acquire_send_try;
lock_note acquire_begin, acquire_note_grant, acquire_note_late,
    acquire_note_busy, acquire_skip, acquire_forget_outer, acquire_shut_out,
    acquire_heal, acquire_fall_back, acquire_fail, acquire_back_off,
    acquire_note_silence, acquire_abandon, acquire_give_up;
lock_sender bell_send;
lock_note bell_note_ring, bell_lose;

/* lease.c */
lock_sender lease_send_renewal, lease_send_beside;
lock_note lease_note_ours, lease_note_loss, lease_note_trouble,
    lease_note_overdue;
/* HELD, by a grant that was asked for at sent_at. */
void lease_begin(struct lock *lock, int64_t sent_at);
/* HELD: renews a part of the ttl after what was sent then. */
void lease_schedule(struct lock *lock, int64_t sent_at);
/* It is ours by a reply to what was sent then. */
void lease_prove(struct lock *lock, int64_t sent_at);
/* The reply to the question whether somebody asks the holder to stop. */
void lease_note_order(struct lock *lock, const struct lock_reply *heard);

/* votes.c */
lock_sender vote_send_plant;
lock_note vote_plant, vote_note_planted, vote_not_planted;

/* release.c */
lock_sender release_await, release_send, release_send_record;
lock_note release_begin, release_go_on, release_note_answer,
    release_note_silence, release_lower_tier, release_tell, release_repeat,
    release_over, release_hurry, release_note_record, release_withdraw,
    release_behind;
/* Undoes what a try may have got, for a moment from now. */
void release_undo(struct lock *lock, const struct lock_news *news);

/* The same after a silence that has lasted too long: nobody waits for the
 * reply, unless the connection was blocked. */
void release_silently(struct lock *lock, const struct lock_news *news);

/* contact.c: the same once more, later; why, if there was a reply. */
lock_note contact_put_off;

/* lock.c */
reply_handler lock_on_reply;
/* The same command once more, as the reply has asked. */
lock_note lock_follow;
/* When what the lock is about is given up: a silent server, or a release. */
int64_t lock_ends_at(const struct lock *lock);
/* Sets the timer: ON_DUE comes then, or ON_OVER if lock_ends_at has passed.
 * CLOCK_NEVER stops it. */
void lock_due_at(struct lock *lock, int64_t at);
/* The connection that is not in use. */
struct lock_link *lock_other_link(struct lock *lock);
/* That connection is given up: what was asked about the lease there is not
 * awaited any more. */
void lock_drop_link(struct lock_link *link);

/* A reply as one event. */
enum lock_event lock_judge(const struct lock *lock,
    const struct lock_reply *heard);

#endif
