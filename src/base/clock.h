/* The only source of deadlines: CLOCK_BOOTTIME, which unlike CLOCK_MONOTONIC
 * continues while the machine is suspended, as a lease on the server does.
 * Clocks are the kernel's, whatever a preloaded library does to those of the
 * program. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>

/* A time that never comes. */
#define CLOCK_NEVER INT64_MAX

/* Milliseconds since boot, rounded down. Async-signal-safe. */
int64_t clock_now(void);

/* The same in microseconds: to measure, not for deadlines. */
int64_t clock_now_us(void);

/* Milliseconds since the epoch, to be shown. Never for a deadline: that clock
 * may be stepped. */
int64_t clock_epoch(void);

/* The earlier of two times, or the shorter of two durations. */
int64_t clock_min(int64_t a, int64_t b);

/* A descriptor that can be read when the time comes for which it is armed; -1
 * with errno. */
int clock_timer(void);

/* Arms it, and discards an expiry that was not read.
 * CLOCK_NEVER disarms it. 0, or -1 with errno. */
int clock_arm(int timer_fd, int64_t at);

#endif
