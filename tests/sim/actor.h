/* Whole runs of rlockrun, each on a stack of its own: from the command line to
 * the exit status. They run until they wait in poll(2), in virtual time. */
#ifndef ACTOR_H
#define ACTOR_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fiber.h"
#include "job/supervisor.h"
#include "lock/holder.h"
#include "run/events.h"
#include "world.h"

enum { ACTORS = 320, ACTOR_WORDS = 64 };
/* Descriptors of an actor: these plus its number. */
enum {
	ACTOR_TIMER_FD = 10000,
	ACTOR_SIGNAL_FD = 11000,
	ACTOR_GUARD_FD = 12000
};

/* What the job of a run does. */
struct job_plan {
	int64_t lasts_us;
	int64_t leaves_us; /* how long its descendants outlive it */
	int status;	   /* a signal's number as -N */
	bool is_deaf;	   /* ignores TERM */
};

/* What a run has cost: requests, commands that its scripts have called, and
 * bytes in both directions. */
struct cost {
	int64_t requests, calls, sent, received;
};

enum actor_state {
	ACTOR_PLANNED,
	ACTOR_ALIVE,
	ACTOR_ENDED,
	ACTOR_KILLED,
};

struct actor {
	const char *name;
	int number;
	enum actor_state state;
	struct job_plan job_plan;
	struct actor *outer; /* the run whose job started it */

	int argc;
	char *argv[ACTOR_WORDS];
	char **environment;
	int status;
	char *out, *err; /* what it printed */
	size_t out_length, err_length;
	FILE *stream; /* its stdout */
	size_t streamed;
	char *stream_text;

	/* Of the kernel. */
	struct fiber fiber;
	int64_t rate_ppm; /* of its clock */
	int64_t timer_at; /* of its clock, ms */
	const struct pollfd *polled;
	nfds_t polled_count;
	int64_t poll_until; /* true time */
	int64_t turn_at;    /* when it gets the processor; -1: no claim yet */
	int64_t stopped_until;
	uint64_t pending_signals;
	int conns;
	struct die die, random_die;

	/* Of the guard's model. */
	struct supervisor_page page;
	struct guarded *guarded;

	/* For oracles. */
	int64_t begun_at, ended_at;
	const struct opts *opts;
	int64_t granted_at;
	int64_t proved[2]; /* when its last renewals were sent, newest first */
	enum ending_reason ending; /* once it has ended */
	bool is_unconfirmed;	   /* it has warned that its end may be lost */
	bool is_released, is_left; /* its lock: to runs of its nest */
	bool is_lost;		   /* its lock, in a calm world */
	bool is_hidden;		   /* it has warned: from its outer run */
	bool is_plain;		   /* it has warned: without helper keys */
	int64_t asked_at;	   /* its last request arrived at a server */
	int64_t crossed_at;   /* a lock was freed while its reply was away */
	int64_t parted_at;    /* its last request that left in parts */
	int64_t broke_off_at; /* it has ended before the rest of one left */
	size_t heard;	      /* so much of err has been looked at */
	struct told_wait {    /* the last report that it waits */
		bool is_known;
		const char *name; /* of the lock */
		int64_t position;
		struct holder holder;
	} told_wait;
	struct cost cost;
};

struct actor *actor_add(const char *name);
struct actor *actor_find(const char *name);
struct actor *actor_number(int number);
int actor_count(void);
/* The one that runs, or NULL. */
struct actor *actor_current(void);
const char *actor_name(const struct actor *actor);
int64_t actor_next_conn(struct actor *actor);
void actor_end_all(void);

void actor_start(struct actor *actor);
/* kill -9: its process is gone, now. */
void actor_kill(struct actor *actor);
void actor_signal(struct actor *actor, int signo);

/* Its clock, in us and ms, and the true time at which that shows ms. */
int64_t actor_clock_us(const struct actor *actor);
int64_t actor_true_us(const struct actor *actor, int64_t clock_ms);

/* Plays until everything has ended or that time has come. */
void actor_play(int64_t until);

/* Ends the current one, from wherever it is. */
_Noreturn void actor_exit(int status);
/* For kernel.c: waits, as in poll(2). */
void actor_wait(const struct pollfd *polled, nfds_t count, int timeout_ms);
short actor_events(const struct pollfd *polled);

#endif
