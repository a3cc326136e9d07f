#include "base/clock.h"

#include <sys/timerfd.h>
#include <time.h>

/* Cannot fail: the clocks exist since Linux 2.6.39. */
static int64_t
read_ms(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t
clock_now(void)
{
	return read_ms(CLOCK_BOOTTIME);
}

int64_t
clock_epoch(void)
{
	return read_ms(CLOCK_REALTIME);
}

int64_t
clock_now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t
clock_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int
clock_arm(int timer_fd, int64_t at)
{
	struct itimerspec spec = {{0, 0}, {0, 0}};

	if (at != CLOCK_NEVER) {
		/* A time of zero would disarm. */
		int64_t when = at < 1 ? 1 : at;
		spec.it_value.tv_sec = when / 1000;
		spec.it_value.tv_nsec = (long)(when % 1000) * 1000000;
	}
	return timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}
