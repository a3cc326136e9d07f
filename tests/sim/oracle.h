/* What must hold, whatever happens: each promise is a function here. They know
 * the true time and what is on the servers; the runs do not know them. */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stdint.h>

struct actor;
struct event;
struct events;
struct node;

void oracle_begin(void);
/* `expect RUN STATUS` of a scene. */
void oracle_expect(const char *run, const char *status);
/* When all has ended, or patience has. */
void oracle_end(int64_t until);

void oracle_on_event(struct actor *actor, const struct events *events,
    const struct event *event);
void oracle_on_job_ordered(struct actor *actor);
void oracle_on_job_started(struct actor *actor);
/* A renewal was confirmed: the lease lasts until that time of the run's clock,
 * and a little longer. */
void oracle_on_renewed(struct actor *actor, int64_t deadline);
void oracle_on_job_ended(struct actor *actor);
/* The process has ended by itself. */
void oracle_on_ended(const struct actor *actor);
/* lives: the job was told to end, and something of it lives. */
void oracle_on_dismissed(struct actor *actor, bool lives);

/* The key of a lock comes into being on a primary, or vanishes there, by a
 * request of that one; NULL: by itself, or by a foreign client's. */
void oracle_on_key(const struct actor *actor, const char *key, bool exists);
/* Somebody has written to the key of a lock. */
void oracle_on_theft(struct node *node, const char *key);
/* A server refuses some commands until then: a nested run may not join. */
void oracle_on_refusals(int64_t until);
int64_t oracle_refused_until(void);
/* A client of another library holds the lock of that key, or no longer does. */
void oracle_on_foreign(const char *key, bool holds);

#endif
