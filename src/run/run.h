/* A run: a job under its locks, or a hold, which is a lock without a job, lasts
 * for its time and is not renewed. One context for all that decides about it.
 *
 *   SPLAY --> ACQUIRE --held--> JOB --must end--> STOP --> ABANDONED
 *     |         |  |             |                 |
 *     |         |  |             +------over-------+--> CONFIRM --> RELEASE
 *     |         |  |                                                ^    |
 *     |         |  +--a hold--> LENGTHEN --> PRINT --must end-------+    |
 *     |         |                              |                         |
 *     |         +--given up--> WITHDRAW        +--printed--+             |
 *     |                           |                        v             |
 *     +--signal-------------------+--------------------> DONE <----------+
 *
 * Callbacks only record facts. After each turn of the loop the step of the
 * present state looks at them, and it alone acts. After WITHDRAW a job may
 * follow that runs without the locks. A run of one key skips CONFIRM, and so
 * does one that has lost a lock. Once there is a job, nobody leaves but through
 * DONE or ABANDONED, unless the loop fails: then the guard ends the job, as it
 * does when rlockrun is gone. */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "job/child.h"
#include "job/guard.h"
#include "job/signals.h"
#include "lock/set.h"
#include "options/opts.h"
#include "run/events.h"

/* The way in. Acquires the locks, runs the job and releases them; for a hold,
 * acquires the lock and prints its token, or releases it again. Returns the
 * exit code, or a signal's number as -N if this process has to end by it.
 * Nothing that it makes survives it but a guard whose job was not proven dead.
 *
 * For a job, stdin and stdout of this process become /dev/null when the guard
 * has been forked, and most of the other descriptors that were inherited are
 * closed when the job is over. A hold closes stdout when the token is printed.
 */
int run(const struct opts *opts, struct loop *loop, const struct events *events,
    struct signals *signals);

/* --- for this storey ---------------------------------------------------- */

enum run_state {
	RUN_SPLAY,
	RUN_ACQUIRE,
	RUN_WITHDRAW, /* what may have been granted is released; no job ran */
	RUN_JOB,
	RUN_STOP, /* the job got TERM; KILL comes from the guard */
	/* Only of several locks: what their releases record is true for all or
	 * for none, see SEVERAL KEYS in rlockrun-protocol(7). */
	RUN_CONFIRM,
	RUN_RELEASE,
	RUN_LENGTHEN, /* a hold: from a short lease to the whole one */
	RUN_PRINT,    /* a hold: its token, without blocking */
	RUN_DONE,
	RUN_ABANDONED, /* the job is left to the guard, the lock to its ttl */
	RUN_STATES,
};

/* Whether the locks cover the job. */
enum run_cover {
	COVER_NONE, /* not held yet, or --on-unavailable run */
	COVER_HELD,
	COVER_UNPROVEN, /* the job is over; were all of them held until then? */
};

/* By clock_now. */
struct limits {
	int64_t overrun_at; /* --max-run, or CLOCK_NEVER: when TERM is sent, */
	int64_t killed_at;  /* and KILL */
	int64_t warn_at;    /* --warn-after, or CLOCK_NEVER */
	/* JOB: the lease ends, but we were stopped meanwhile. TERM is put off
	 * until then: the server is asked once more. 0 if it is not. */
	int64_t last_chance_at;
	int64_t stopping_since; /* STOP */
	int64_t stop_by;	/* STOP: KILL, apart from the lease's own end */
	int64_t resumed_at;	/* STOP: we were stopped until then, or 0 */
	int64_t granted_until;	/* LENGTHEN: the lease before it */
};

/* The signals that come to a run. A waiting run obeys them as a plain process
 * does; a job gets them from us, each once. */
struct relay {
	struct signals *signals;
	struct loop_fd fd;
	enum {
		RELAY_NO_TERMINAL, /* we have no controlling one */
		RELAY_TERMINAL,
		RELAY_SUSPENDED, /* with the job, and not continued yet */
	} terminal;
	bool child_changed; /* SIGCHLD has come */
	bool asked_to_end;  /* the job has got TERM, INT, HUP or QUIT */
	uint64_t caught;    /* signals, as bits */
	uint64_t forward;   /* those that the job has not got yet */
	uint64_t shared;    /* those that the terminal sent to our group */
};

/* Stdout, to which a hold prints. */
struct output {
	struct loop_fd fd;
	bool writable;
	int printed; /* so many bytes of the token's line */
};

/* Of observer.c alone: what it has reported. */
struct observer {
	bool waited;	     /* a wait, or silence, was reported */
	const char *waiting; /* the key of the next two */
	struct holder holder;
	int64_t position;
	enum {
		OBSERVER_NO_SILENCE,
		OBSERVER_SILENCE, /* no contact yet, or the last one failed */
		OBSERVER_SILENCE_NOTED,	   /* as a minor event */
		OBSERVER_SILENCE_REPORTED, /* it lasts */
	} silence;
	int64_t silent_since;
	int64_t valid_until;
	const struct lock *in_trouble; /* no reply to its last renewal */
	bool outer_holds; /* an outer run holds the lock, and we wait */
	bool no_queue;
	bool duplicates;
	bool unusable[OPTS_SERVERS_MAX];
};

struct run {
	const struct opts *opts;
	const struct events *events;
	const struct facts *facts; /* what the events have come to */
	struct loop *loop;

	enum run_state state;
	int64_t until; /* how long it lasts at most, by clock_now: --splay, -w,
			* a hold, servers that are silent; or CLOCK_NEVER */
	struct set set;
	/* As opts->keys or, for one key, as opts->servers. */
	struct lock_config configs[SET_LOCKS_MAX];
	enum run_cover cover;
	struct guard guard; /* not of a hold */
	struct child child; /* likewise */
	struct relay relay;
	struct limits limits;
	bool hurried;  /* a signal has ended the wait for silent servers */
	bool replaced; /* the job was stopped for a --replace */
	struct output output;
	struct observer observer;
	struct loop_timer timer; /* ends a turn of the loop at until, or at */
	int64_t wake_at;	 /* CLOCK_NEVER before each step */
};

/* --- run.c --- */

/* Forgets how long the former state could last and when it wanted to be woken,
 * and has the observer look. What the state begins with follows the call. */
void run_enter(struct run *run, enum run_state state);
/* Ends the next turn of the loop at that time, or earlier. */
void run_wake_at(struct run *run, int64_t at);
/* A reason to end has come up: emits it, with these facts; those of the run say
 * which reason counts. Before the job has been started, what follows is that
 * the command is not started. */
void run_add_ending(const struct run *run, enum ending_reason reason,
    struct event event);
/* The same with what went wrong with the lock that the set is about. */
void run_add_lock_ending(const struct run *run, enum ending_reason reason,
    enum event_then then);
/* The job cannot be guarded: an errno, also one of descendants_open, or 0 if
 * the guard was killed. */
void run_add_unguarded(const struct run *run, int error);
/* -> CONFIRM or RELEASE: nothing of the job is left. Closes descriptors that
 * were inherited. */
void run_on_job_over(struct run *run);
/* -> RELEASE, of what is covered. */
void run_release(struct run *run);

/* --- command.c: what the job executes, and with which environment --- */

/* Adds an ending if it cannot be executed. */
void command_find(struct run *run);
/* The variables of rlockrun for the job, each with its NUL, to be freed. NULL
 * with errno when memory is out. */
char *command_env(const struct run *run, size_t *length);

/* --- relay.c --- */

void relay_init(struct run *run, struct signals *signals);
/* While no job exists: stops with a stop signal. Whether a signal ends the run:
 * then the ending has been added. */
bool relay_obey(struct run *run);
/* While a job exists: passes them on, and stops when the job has. */
void relay_forward(struct run *run);
/* When no job exists any more: whether one asks us to end, since the last call.
 */
bool relay_take_end(struct run *run);

/* --- watch.c: a job that runs --- */

/* To be called just before the job starts: its own limits count from now.
 * Returns the guard's deadline. */
int64_t watch_start(struct run *run);
void watch_step_job(struct run *run);
void watch_step_stop(struct run *run);

/* --- hold.c --- */

/* The lock is held: -> LENGTHEN or PRINT. */
void hold_start(struct run *run);
void hold_step_lengthen(struct run *run);
void hold_step_print(struct run *run);

/* --- observer.c: reports what has changed; decides nothing --- */

/* To be called after each turn, and when a state is entered. */
void observer_look(struct run *run);

#endif
