/* First come, first served, how soon, and at which cost. */
#ifndef ORDER_H
#define ORDER_H

struct actor;

void order_on_job_started(const struct actor *actor);
/* For each run that has ended. */
void order_at_end(const struct actor *actor);

#endif
