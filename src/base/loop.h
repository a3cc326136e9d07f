/* Descriptors and timers on one poll(2). Timers use a timerfd on
 * CLOCK_BOOTTIME, since poll's own timeout stops while the machine is
 * suspended. */
#ifndef LOOP_H
#define LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

/* The owner sets the first four members and keeps the storage. */
struct loop_fd {
	int fd;
	short events; /* of poll(2); may be changed at any time */
	void (*on_ready)(void *arg, short revents);
	void *arg;
	short revents;
	struct loop_fd *next;
};

/* The owner sets on_due (NULL: only wake up) and arg, and keeps the storage.
 * loop_timer_set sets the time. */
struct loop_timer {
	void (*on_due)(void *arg);
	void *arg;
	int64_t at;
	struct loop_timer *next;
};

struct loop {
	struct loop_fd *fds;
	struct loop_timer *timers;
	int timer_fd;
	int64_t armed_at;
	/* The time of this turn. Whatever had arrived by then is dispatched
	 * before the timers: a deadline is judged by this time, not by the
	 * clock, as we may have been stopped since. */
	int64_t now;
	/* How long after its time the nearest timer of this turn was found due;
	 * 0 if none was. */
	int64_t late_ms;
};

/* 0, or -1 with errno. */
int loop_init(struct loop *loop);
void loop_fini(struct loop *loop);

/* Descriptors are dispatched in the order in which they were added, none of
 * which may be in the loop already. One that a callback adds is polled from the
 * next turn on. Removing is allowed at any time, also from callbacks, and does
 * nothing if the descriptor is not in the loop. */
void loop_add(struct loop *loop, struct loop_fd *fd);
void loop_remove(struct loop *loop, struct loop_fd *fd);

/* One shot at an absolute time of clock_now, in place of an earlier setting;
 * CLOCK_NEVER disarms. A callback that sets a time which is not after loop->now
 * is called again in the same turn. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t at);
void loop_timer_remove(struct loop *loop, struct loop_timer *timer);

/* Waits for an event or a timer, then dispatches descriptors before timers, so
 * that a reply which has already arrived wins over a timeout. Many descriptors,
 * or all if the kernel is out of memory, are polled in parts, some milliseconds
 * late. 0, or -1 with errno. */
int loop_turn(struct loop *loop);

#endif
