/* Descriptors and timers on one poll(2). Time is waited for with a timerfd on
 * CLOCK_BOOTTIME, since poll's own time-out stops while the machine is
 * suspended. Knows neither Redis nor children. */
#ifndef LOOP_H
#define LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

/* The owner fills the first four members and keeps the storage. */
struct loop_fd {
	int fd;
	short events; /* of poll(2); may be changed at any time */
	void (*on_ready)(void *arg, short revents);
	void *arg;
	short revents;
	struct loop_fd *next;
};

/* The owner fills on_due (NULL: only wake up) and arg, keeps the storage, and
 * sets the time through loop_timer_set alone. */
struct loop_timer {
	void (*on_due)(void *arg);
	void *arg;
	int64_t at;
	struct loop_timer *next;
};

struct pollfd;

struct loop {
	struct loop_fd *fds;
	struct loop_timer *timers;
	struct pollfd *polled; /* grows with the descriptors, or NULL */
	size_t room;
	int timer_fd;
	int64_t armed_at;
	int64_t late_ms; /* how late the last turn came to its nearest timer */
};

/* 0, or -1 with errno. */
int loop_init(struct loop *loop);
void loop_fini(struct loop *loop);

/* What is added first is dispatched first. Removing is allowed at any time,
 * from callbacks too; what is not in the loop is ignored. */
void loop_add(struct loop *loop, struct loop_fd *fd);
void loop_remove(struct loop *loop, struct loop_fd *fd);

/* One shot at an absolute time of clock_now; CLOCK_NEVER disarms. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t at);
void loop_timer_remove(struct loop *loop, struct loop_timer *timer);

/* Waits until something happens, then dispatches descriptors before timers, so
 * that an expiry loses against an answer that has already come. Without memory
 * for all descriptors they are polled in parts, some milliseconds late. 0, or
 * -1 with errno. */
int loop_turn(struct loop *loop);

#endif
