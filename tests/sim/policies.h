/* Options that decide whether a job starts, and when it is stopped. */
#ifndef POLICIES_H
#define POLICIES_H

struct actor;
struct event;

/* A command has kept a lock without a job, or a run does so. */
void policies_on_event(const struct actor *actor, const struct event *event);
void policies_on_job_started(const struct actor *actor);
void policies_on_job_ended(const struct actor *actor);
/* For each run or command that has ended. */
void policies_at_end(const struct actor *actor);

#endif
