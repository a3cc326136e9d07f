#include "sink/backlog.h"

#include "base/clock.h"

static void
wait_for_idle(struct backlog *backlog)
{
	if (backlog->waits && !backlog->is_held_back)
		loop_idle_add(backlog->loop, &backlog->idle);
}

static void
on_idle(void *arg)
{
	struct backlog *backlog = arg;

	backlog->waits = backlog->step(backlog->arg);
	wait_for_idle(backlog);
}

void
backlog_init(struct backlog *backlog, struct loop *loop,
    bool (*step)(void *arg), void *arg)
{
	*backlog = (struct backlog){.loop = loop,
	    .idle = {.on_idle = on_idle, .arg = backlog},
	    .step = step,
	    .arg = arg};
}

void
backlog_add(struct backlog *backlog)
{
	backlog->waits = true;
	wait_for_idle(backlog);
}

static void
hold_back(struct backlog *backlog)
{
	backlog->is_held_back = true;
	loop_idle_remove(backlog->loop, &backlog->idle);
}

/* A job that is stopped takes its time. */
void
backlog_take(struct backlog *backlog, const struct event *event)
{
	if (event->type == EVENT_JOB_ENDED ||
	    (event->type == EVENT_ENDING && event->then != EVENT_THEN_STOPPED &&
		event->then != EVENT_THEN_CONTINUES))
		hold_back(backlog);
}

bool
backlog_finish(struct backlog *backlog)
{
	int64_t give_up_at = clock_now() + BACKLOG_FINISH_MS;

	hold_back(backlog);
	while (backlog->waits && clock_now() < give_up_at)
		backlog->waits = backlog->step(backlog->arg);
	return !backlog->waits;
}
