/* What users are told: exit statuses, messages, and what commands print. It is
 * compared with what has happened. */
#ifndef TELLINGS_H
#define TELLINGS_H

struct actor;
struct event;

/* It may have printed messages. */
void tellings_on_event(struct actor *actor, const struct event *event);
/* For each run or command that has ended. */
void tellings_at_end(const struct actor *actor);

#endif
