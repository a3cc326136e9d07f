#include "sink/reminder.h"

#include "base/clock.h"

enum { MINUTE_MS = 60000 };

static void
remind(void *arg)
{
	struct reminder *reminder = arg;
	struct event *event = &reminder->waiting;

	event->ms = clock_now() - reminder->since;
	reminder->on_due(reminder->arg, event);
	if (reminder->period_ms == 0)
		return;
	loop_timer_set(reminder->loop, &reminder->timer,
	    reminder->since +
		(event->ms / reminder->period_ms + 1) * reminder->period_ms);
}

void
reminder_init(struct reminder *reminder, struct loop *loop,
    void (*on_due)(void *arg, const struct event *event), void *arg)
{
	*reminder = (struct reminder){.loop = loop,
	    .timer = {.on_due = remind, .arg = reminder},
	    .period_ms = MINUTE_MS,
	    .on_due = on_due,
	    .arg = arg};
}

bool
reminder_take(struct reminder *reminder, const struct event *event)
{
	switch (event->type) {
	case EVENT_WAITING:
		reminder->waiting = *event;
		reminder->holder = *event->holder;
		reminder->waiting.holder = &reminder->holder;
		reminder->since = clock_now() - event->ms;
		remind(reminder);
		return true;
	case EVENT_JOB_STARTED:
	case EVENT_HELD:
	case EVENT_REPLIED:
	case EVENT_ENDING:
		reminder_stop(reminder);
		return false;
	default:
		return false;
	}
}

void
reminder_stop(struct reminder *reminder)
{
	loop_timer_remove(reminder->loop, &reminder->timer);
}

bool
reminder_is_new(struct reminder *reminder)
{
	int64_t minute = reminder->waiting.ms / MINUTE_MS;

	if (reminder->name == reminder->waiting.name &&
	    reminder->minute == minute)
		return false;
	reminder->name = reminder->waiting.name;
	reminder->minute = minute;
	return true;
}
