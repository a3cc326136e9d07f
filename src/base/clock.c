#include "base/clock.h"

#include <time.h>

int64_t
clock_now(void)
{
	struct timespec now;

	/* Cannot fail: the clock exists since Linux 2.6.39. */
	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t
clock_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}
