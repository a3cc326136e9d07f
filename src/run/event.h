/* What happens to a run, or to a command that looks at locks or acts on them:
 * one struct with its facts. What lasts is emitted once, and again when it has
 * changed: the emitter remembers that, so that all sinks agree on what has
 * happened and none needs a memory for it. */
#ifndef EVENT_H
#define EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/holder.h"
#include "options/opts.h"

/* Why a run ends. By rank: of two reasons the later one in this list counts.
 * But once a lock is lost, that reason stays. */
enum ending_reason {
	ENDING_NONE,
	ENDING_JOB,	/* the job ended by itself: its status */
	ENDING_SIGNAL,	/* a signal ended rlockrun before there was a job */
	ENDING_NOT_DUE, /* --once-per, --once-id. Of this and the next five
			 * EXITCODE_BUSY means --conflict-exit-code */
	ENDING_BUSY,
	ENDING_QUEUE_FULL,
	ENDING_OVERTAKEN, /* --newest */
	ENDING_WAIT_OVER,
	ENDING_NO_SERVER,   /* --on-unavailable skip */
	ENDING_UNAVAILABLE, /* no server answered in time */
	ENDING_SERVER_ERROR,
	ENDING_REFUSED, /* password, ACL */
	ENDING_NOT_A_LOCK,
	ENDING_OTHER_KIND,    /* the outer run holds it in that kind */
	ENDING_MISCONFIGURED, /* two servers are the same one; no history */
	ENDING_NO_COMMAND,    /* found before the lock was acquired */
	ENDING_NOT_RUN,	      /* exec failed */
	ENDING_NO_LOCK,
	ENDING_NO_TOKEN, /* that of a hold could not be printed */
	ENDING_NO_JOB,
	ENDING_UNGUARDED,
	ENDING_LOOP_FAILED,
	ENDING_GUARD_DIED,
	ENDING_OVERRUN,	 /* --max-run */
	ENDING_REPLACED, /* --replaceable */
	ENDING_UNKILLABLE,
	ENDING_LOST,	    /* the key no longer holds our token */
	ENDING_NOT_RENEWED, /* the job is stopped before the lease ends */
	ENDING_LEASE_OVER,  /* the guard has killed the job */
	ENDING_JOB_LATE,    /* the lease ended before the job */
	ENDING_TAKEN,	    /* as the release has shown */
	ENDING_HOLD_OVER,   /* the one to be extended */
	ENDING_COUNT,
};

enum event_type {
	/* A run. The rows before this one are those of endings. */
	EVENT_ENDING = ENDING_COUNT, /* a reason for its end has come up */
	EVENT_DELAYED,		     /* --splay: by ms */
	EVENT_BEGUN,		     /* the first try is sent */
	EVENT_TWO_SERVERS,	     /* which is worse than one */
	EVENT_EVEN_SERVERS,	     /* count of them */
	EVENT_LIKE_GLOB,	     /* --hold: the name of the lock is */
	EVENT_UNUSABLE_SERVER,	     /* a server will never count */
	/* For ms; also a new position, another holder, the end of silence. */
	EVENT_WAITING,
	EVENT_NO_REPLY,	   /* so far; it is tried again */
	EVENT_WAITS_PAUSE, /* the lock is paused, that is why */
	EVENT_WAITED,	   /* for ms; all locks are acquired */
	EVENT_NOT_REREAD,  /* a file of the login; its former content counts */
	EVENT_NO_QUEUE,
	EVENT_NO_HISTORY,
	EVENT_UNPROVEN,
	EVENT_NEST_HIDDEN,    /* the outer run does not see this one */
	EVENT_NEST_UNCOUNTED, /* nested runs are not counted */
	EVENT_NEST_UNKNOWN,   /* it waits for an outer run */
	EVENT_LOST_EARLY,     /* while others were waited for */
	EVENT_ACQUIRED,	      /* for ms at first */
	EVENT_JOINED,	      /* likewise: the outer run holds it */
	EVENT_PERMITS_DIFFER, /* permits here, count elsewhere */
	EVENT_SUCCESS_AHEAD,  /* --once-per: by ms; a clock was stepped */
	EVENT_UNLOCKED,	      /* --on-unavailable run */
	EVENT_JOB_STARTED,
	/* The lease lasts for another ms, instead of left_ms: took_ms after
	 * the slowest renewal was sent. */
	EVENT_RENEWED,
	EVENT_RENEWAL_FAILED, /* likewise */
	EVENT_RENEWED_AGAIN,
	EVENT_PAUSED,	 /* we were, for ms */
	EVENT_HELD_LONG, /* --warn-after: ms */
	EVENT_GUARD_STUCK,
	EVENT_REPLACING,    /* --replaceable: by is first in the queue */
	EVENT_JOB_STOPPING, /* it gets TERM */
	EVENT_JOB_ENDED,    /* with that status */
	EVENT_RELEASED,
	EVENT_KEPT, /* --min-hold: for ms */
	EVENT_LEFT, /* to other runs of the nest */
	EVENT_HELD, /* --hold: for ms */
	EVENT_UNCONFIRMED,
	EVENT_UNREPLICATED, /* released, but replicas may not know: why */
	EVENT_ENDED,	    /* the last one: why, with that status */
	/* A command. */
	EVENT_REPLIED,	 /* after EVENT_NO_REPLY */
	EVENT_NOT_SHOWN, /* a part of a lock: why */
	EVENT_SLOT_MOVING,
	EVENT_LISTED, /* count locks, on that server */
	EVENT_NONE_LISTED,
	EVENT_FORCED,	   /* who held it */
	EVENT_FORCE_AGAIN, /* count others hold it still */
	EVENT_FORCE_FREE,  /* it was free; why that may be */
	EVENT_FORCE_LATE,  /* it had another holder by then */
	EVENT_FORCE_OTHER_TOKEN,
	EVENT_FORCE_DECLINED,
	EVENT_NOT_EXTENDED, /* who holds it is no hold */
	EVENT_NOT_WOKEN,    /* the next waiter */
	EVENT_PAUSE_WAITS,  /* for the holder of that lock */
	EVENT_PAUSE_SET,    /* for ms */
	EVENT_NOT_PAUSED,   /* that lock: its holder */
	EVENT_PAUSES_SET,   /* count of them, on that server */
	EVENT_RESUMED,
	EVENT_NONE_RESUMED, /* name is the glob */
	EVENT_NO_OUTPUT,
	EVENT_COUNT,
};

/* What follows for the job; nothing if there is none to be run. */
enum event_then {
	EVENT_THEN_NOTHING,
	EVENT_THEN_NOT_STARTED,
	EVENT_THEN_STOPPED,
	EVENT_THEN_KILLED,
	EVENT_THEN_CONTINUES,
	EVENT_THEN_COUNT,
};

/* How much a message matters, which decides where it is seen. */
enum level {
	LEVEL_NONE,
	LEVEL_LOG,  /* only in logs */
	LEVEL_INFO, /* on stderr with -v */
	LEVEL_BUSY, /* without -q */
	LEVEL_WARNING,
	LEVEL_ERROR, /* why a run ends */
	LEVEL_COUNT,
};

/* What a run that ends for that reason has come to. */
enum event_outcome {
	EVENT_OUTCOME_FAILURE,
	EVENT_OUTCOME_SUCCESS,	/* if its status is 0 */
	EVENT_OUTCOME_BUSY,	/* skipped, since the lock was held */
	EVENT_OUTCOME_SKIPPED,	/* for another reason that no hook has */
	EVENT_OUTCOME_REPLACED, /* stopped in order, for another run */
	EVENT_OUTCOME_LOST,	/* the lock, under the job */
	EVENT_OUTCOME_COUNT,
};

/* What is to be known of a kind of event, or of a reason to end. Sinks render
 * it. The texts lie in the row, since pointers would have to be relocated when
 * the program starts. */
struct event_row {
	char word[20]; /* for programs; what it means may not change */
	enum level level;
	char message[112]; /* a template (see event_text.c); empty: none */
	/* Of a reason to end. */
	enum event_outcome outcome;
	int status;
	char ms[16]; /* the field of JSON for the ms of the event */
};

#define ENDING_OWN_STATUS (-1) /* the event has it */

/* By reason, then by type. */
extern const struct event_row event_rows[EVENT_COUNT];

/* Texts are NULL and numbers are 0 if they are unknown or do not matter. They
 * are valid during the call. */
struct event {
	enum event_type type;
	enum ending_reason ending; /* of EVENT_ENDING and EVENT_ENDED */
	enum event_then then;
	bool minor;	  /* nobody can mend it, or it may pass by itself */
	const char *name; /* of the lock; NULL: all locks of the options */
	const char *why;
	const char *server;
	const char *fence;
	const char *token;
	const char *command;
	const char *who;	     /* holds it */
	const struct holder *holder; /* likewise */
	const struct holder_by *by;  /* has overtaken or replaces us */
	int64_t position;	     /* in the queue, from 1 */
	int64_t count;
	int64_t permits;
	int64_t ms, left_ms, took_ms;
	int status; /* a signal's number as -N */
};

/* The row of its reason if it is a reason to end, otherwise that of its type.
 */
const struct event_row *event_row(const struct event *event);

/* LEVEL_NONE if there is no message for it. */
enum level event_level(const struct event *event);

/* What a shell shows of a status: a signal's number as 128+N. */
int event_shell_status(int status);

/* What a run that ends by this event has come to. */
enum event_outcome event_outcome(const struct event *event);

#endif
