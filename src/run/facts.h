/* What a run has come to so far, gathered from its events: for the run itself,
 * and for sinks that give their readers all of it with each event. Times are
 * those of clock_now, and 0 while they have not come. */
#ifndef FACTS_H
#define FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "run/event.h"

/* As much of a token as others may see. */
enum { FACTS_TOKEN_SHOWN = 8, FACTS_SERVER_MAX = 512 };

/* Texts are empty if they are unknown. */
struct facts_lock {
	char token[FACTS_TOKEN_SHOWN + 1]; /* its beginning */
	char fence[24];
	char server[FACTS_SERVER_MAX]; /* without password */
};

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

/* Dies when memory is out. */
void facts_init(struct facts *facts, const struct opts *opts);
void facts_fini(struct facts *facts);

void facts_take(struct facts *facts, const struct event *event);

/* The reason is the loss of a lock. */
bool facts_say_lost(const struct facts *facts);

/* The lock of that name, or NULL. */
const struct facts_lock *facts_find(const struct facts *facts,
    const char *name);

/* How long the run has waited for its locks, and held them, so far. -1: it has
 * not begun to. */
int64_t facts_waited_ms(const struct facts *facts);
int64_t facts_held_ms(const struct facts *facts);

#endif
