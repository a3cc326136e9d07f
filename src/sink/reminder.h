/* The wait, for sinks that report it again while nothing changes about it:
 * EVENT_WAITING comes only when something has changed. */
#ifndef REMINDER_H
#define REMINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "run/event.h"

struct reminder {
	struct loop *loop;
	struct loop_timer timer;
	int64_t period_ms; /* 0: only when something changes */
	/* When the wait begins or changes, and after each period; with the time
	 * waited so far. It may change period_ms. */
	void (*on_due)(void *arg, const struct event *event);
	void *arg;
	/* The last EVENT_WAITING. */
	struct event waiting;
	struct holder holder;
	int64_t since;
	/* See reminder_is_new. */
	const char *name;
	int64_t minute;
};

/* The period is a minute. */
void reminder_init(struct reminder *reminder, struct loop *loop,
    void (*on_due)(void *arg, const struct event *event), void *arg);

/* EVENT_WAITING begins or changes the wait, and calls on_due. What ends the
 * wait stops the reminder. Returns whether the event was of the wait itself. */
bool reminder_take(struct reminder *reminder, const struct event *event);

/* Until the next EVENT_WAITING. */
void reminder_stop(struct reminder *reminder);

/* Whether the wait is for another lock, or in another minute, than when this
 * was last true: then it deserves a line. */
bool reminder_is_new(struct reminder *reminder);

#endif
