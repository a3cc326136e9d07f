/* What happens to a run, or to a command that looks at locks or acts on them:
 * one struct with its facts. What lasts is emitted once, and again when it has
 * changed: the emitter remembers that, so that all sinks agree on what has
 * happened and none needs a memory for it. */
#ifndef EVENT_H
#define EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "lock/holder.h"
#include "options/opts.h"

enum event_type {
	/* A run. */
	EVENT_ENDING,	       /* a reason for its end has come up */
	EVENT_DELAYED,	       /* --splay: by ms */
	EVENT_BEGUN,	       /* the first try is sent */
	EVENT_TWO_SERVERS,     /* which is worse than one */
	EVENT_EVEN_SERVERS,    /* count of them */
	EVENT_LIKE_GLOB,       /* --hold: the name of the lock is */
	EVENT_UNUSABLE_SERVER, /* a server will never count */
	/* For ms; also a new position, another holder, the end of silence. */
	EVENT_WAITING,
	EVENT_NO_REPLY,	  /* so far; it is tried again */
	EVENT_WAITED,	  /* for ms; all locks are acquired */
	EVENT_NOT_REREAD, /* a file of the login; its former content counts */
	EVENT_NO_QUEUE,
	EVENT_NO_HISTORY,
	EVENT_NEST_HIDDEN,    /* the outer run does not see this one */
	EVENT_NEST_UNCOUNTED, /* nested runs are not counted */
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
	EVENT_JOB_STOPPING, /* it gets TERM */
	EVENT_JOB_ENDED,    /* with that status */
	EVENT_RELEASED,
	EVENT_KEPT, /* --min-hold: for ms */
	EVENT_LEFT, /* to other runs of the nest */
	EVENT_HELD, /* --hold: for ms */
	EVENT_UNCONFIRMED,
	EVENT_ENDED, /* the last one: why, with that status */
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

struct ending_row;

/* Texts are NULL and numbers are 0 if they are unknown or do not matter. They
 * are valid during the call. */
struct event {
	enum event_type type;
	const struct ending_row *ending; /* of EVENT_ENDING and EVENT_ENDED */
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
	int64_t position;	     /* in the queue, from 1 */
	int64_t count;
	int64_t permits;
	int64_t ms, left_ms, took_ms;
	int status; /* a signal's number as -N */
};

/* A reader of events. */
struct event_sink {
	/* What it returns is its state; NULL: the options do not want it.
	 * Dies when memory is out. */
	void *(*open)(const struct opts *opts, struct loop *loop);
	void (*on_event)(void *state, const struct event *event);
	void (*close)(void *state);
};

enum { EVENT_SINKS_MAX = 8 };

/* The stream of events, and its readers. */
struct events {
	const struct event_sink *sinks[EVENT_SINKS_MAX];
	void *states[EVENT_SINKS_MAX];
	size_t count;
};

/* The sinks set timers in the loop while they are open. */
void events_open(struct events *events, const struct event_sink *sink,
    const struct opts *opts, struct loop *loop);
void events_close(struct events *events);

void events_emit(const struct events *events, const struct event *event);

#endif
