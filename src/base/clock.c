#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* Libraries that change the clock for a program, such as libfaketime, replace
 * functions of the C library, each in its own way: with a clock of another day
 * or rate than that of the timers and of the server, no deadline holds. So the
 * kernel is asked, at the price of a system call.
 *
 * With a long of 32 bits, the calls that count seconds in 64 are tried first.
 * Linux has them since 5.1, and a seccomp filter may deny them. Those that
 * count in a long have other names in musl. */
struct kernel_time {
	int64_t s, ns;
};

struct long_time {
	long s, ns;
};

#ifdef SYS_clock_gettime32
#define GETTIME_LONG SYS_clock_gettime32
#define SETTIME_LONG SYS_timerfd_settime32
#else
#define GETTIME_LONG SYS_clock_gettime
#define SETTIME_LONG SYS_timerfd_settime
#endif

/* Cannot fail: the clocks exist since Linux 2.6.39. */
static struct kernel_time
read_clock(clockid_t clock)
{
	struct long_time now = {0, 0};
#ifdef SYS_clock_gettime64
	struct kernel_time wide;
	int error = errno;

	if (syscall(SYS_clock_gettime64, clock, &wide) == 0)
		return wide;
	errno = error;
#endif
	(void)syscall(GETTIME_LONG, clock, &now);
	return (struct kernel_time){now.s, now.ns};
}

static int64_t
read_ms(clockid_t clock)
{
	struct kernel_time now = read_clock(clock);

	return now.s * 1000 + now.ns / 1000000;
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
	struct kernel_time now = read_clock(CLOCK_BOOTTIME);

	return now.s * 1000000 + now.ns / 1000;
}

int64_t
clock_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int
clock_timer(void)
{
	return timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
}

int
clock_arm(int timer_fd, int64_t at)
{
	struct long_time timer[] = {{0, 0}, {0, 0}}; /* interval, value */
	struct kernel_time value = {0, 0};

	if (at != CLOCK_NEVER) {
		/* A time of zero would disarm. */
		int64_t when = at < 1 ? 1 : at;
		value.s = when / 1000;
		value.ns = when % 1000 * 1000000;
	}
#ifdef SYS_timerfd_settime64
	if (syscall(SYS_timerfd_settime64, timer_fd, TFD_TIMER_ABSTIME,
		(const struct kernel_time[]){{0, 0}, value}, NULL) == 0)
		return 0;
#endif
	/* 68 years after boot at the latest, where a long has 32 bits. */
	timer[1] =
	    (struct long_time){value.s < LONG_MAX ? (long)value.s : LONG_MAX,
		(long)value.ns};
	return (
	    int)syscall(SETTIME_LONG, timer_fd, TFD_TIMER_ABSTIME, timer, NULL);
}
