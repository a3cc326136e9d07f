/* The stream of events: what a run has come to by them, for the run itself and
 * for sinks that give their readers all of it with each event, and those sinks.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "run/event.h"

/* As much of a token as others may see. */
enum { FACTS_TOKEN_SHOWN = 8, FACTS_SERVER_MAX = 512 };

/* Texts are empty if they are unknown. */
struct facts_lock {
	char token[FACTS_TOKEN_SHOWN + 1]; /* its beginning */
	char fence[24];
	char server[FACTS_SERVER_MAX]; /* without password */
};

/* Times are those of clock_now, and 0 while they have not come. */
struct facts {
	const struct opts *opts;
	struct facts_lock *locks; /* as opts->keys */
	int64_t begun_at;	  /* the first try */
	int64_t acquired_at;	  /* all of them */
	int64_t started_at;	  /* the job */
	int64_t freed_at;	  /* released or lost */
	int64_t ended_at;	  /* the run */
	/* The reason to end that counts so far, and the status with it: a
	 * signal's number as -N. */
	enum ending_reason ending;
	int status;
};

/* The reason is the loss of a lock. */
bool facts_say_lost(const struct facts *facts);

/* The lock of that name, or NULL. */
struct facts_lock *facts_find(const struct facts *facts, const char *name);

/* How long the run has waited for its locks, and held them, so far. -1: it has
 * not begun to. */
int64_t facts_waited_ms(const struct facts *facts);
int64_t facts_held_ms(const struct facts *facts);

struct writer;

struct event_sink {
	/* What it returns is its state; NULL: the options do not want it. The
	 * facts have taken an event before on_event gets it. The writer writes
	 * to files for it. Dies when memory is out. */
	void *(*open)(const struct facts *facts, struct loop *loop,
	    struct writer *writer);
	void (*on_event)(void *state, const struct event *event);
	void (*close)(void *state);
};

enum { EVENT_SINKS_MAX = 8 };

struct events {
	const struct event_sink *sinks[EVENT_SINKS_MAX];
	void *states[EVENT_SINKS_MAX];
	size_t count;
	struct facts *facts; /* NULL: the sinks need none */
};

/* Opens these sinks, which end with NULL, in this order; so are they closed.
 * They set timers in the loop while they are open. */
void events_open(struct events *events, const struct event_sink *const *sinks,
    const struct opts *opts, struct loop *loop, struct writer *writer);
void events_close(struct events *events);

void events_emit(const struct events *events, const struct event *event);

#endif
