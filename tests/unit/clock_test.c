/* The kernel's clocks and timers, and times as people read them. */
#include "base/clock.h"
#include "base/duration.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

enum { DAY_MS = 86400000 };

static int64_t
nanoseconds(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

/* Another way to the same clock. */
static int64_t
now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return nanoseconds(&now);
}

static void
test_now(clockid_t clock, int64_t (*now)(void), int64_t unit_ns,
    const char *what)
{
	int64_t before = now_ns(clock) / unit_ns;
	int64_t between = now();

	ok(before <= between && between <= now_ns(clock) / unit_ns, "%s", what);
}

/* What is left until a timer that is armed for so many ms from now on expires,
 * is that less what has passed meanwhile. */
static void
test_arm(int timer, int64_t ms)
{
	struct itimerspec left;
	int64_t before = now_ns(CLOCK_BOOTTIME), least;
	int64_t at = clock_now() + ms;

	at += 999 - at % 1000; /* most of a second */
	is_int(clock_arm(timer, at), 0, "a timer is armed");
	timerfd_gettime(timer, &left);
	least = at * 1000000 - now_ns(CLOCK_BOOTTIME);
	ok(nanoseconds(&left.it_value) >= least &&
		nanoseconds(&left.it_value) <= at * 1000000 - before,
	    "  for %" PRId64 " ms from now on", ms);
	is_int(nanoseconds(&left.it_interval), 0, "  once");
}

static void
test_timer(void)
{
	const int64_t past[] = {-1000, 0, 1};
	int timer = clock_timer();
	struct itimerspec left;
	uint64_t times;

	ok(fcntl(timer, F_GETFD) == FD_CLOEXEC, "a timer is close-on-exec");
	ok(read(timer, &times, sizeof(times)) == -1 && errno == EAGAIN,
	    "  and nobody waits for it by reading");
	test_arm(timer, 60000);
	test_arm(timer, 3600000);
	for (size_t i = 0; i < LENGTH(past); i++) {
		is_int(clock_arm(timer, past[i]), 0, "for a time that is over");
		ok(read(timer, &times, sizeof(times)) == sizeof(times),
		    "  it expires at once");
	}
	test_arm(timer, 60000);
	is_int(clock_arm(timer, CLOCK_NEVER), 0, "disarmed");
	timerfd_gettime(timer, &left);
	is_int(nanoseconds(&left.it_value), 0, "  it never expires");
	is_int(clock_arm(-1, 1), -1, "no timer");
	close(timer);
	is_int(clock_min(3, 4), 3, "the first is earlier");
	is_int(clock_min(4, 3), 3, "the second is earlier");
}

static void
test_ages(void)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
	    {-5000, "0s"},
	    {0, "0s"},
	    {999, "0s"},
	    {1000, "1s"},
	    {59999, "59s"},
	    {60000, "1m00s"},
	    {61000, "1m01s"},
	    {3599999, "59m59s"},
	    {3600000, "1h00m"},
	    {3661000, "1h01m"},
	    {DAY_MS - 1, "23h59m"},
	    {DAY_MS, "1d00h"},
	    {DAY_MS + 3599999, "1d00h"},
	    {INT64_C(53) * 3600000, "2d05h"},
	    {INT64_C(400) * DAY_MS, "400d00h"},
	};
	char text[32];

	for (size_t i = 0; i < LENGTH(rows); i++) {
		duration_describe_age(rows[i].ms, text, sizeof(text));
		is_text(text, rows[i].text, "an age");
	}
}

static void
test_times(void)
{
	static const struct {
		int64_t ms;
		bool has_date;
	} rows[] = {
	    {0, false},
	    {999, false},
	    {-999, false},
	    {INT64_C(7200500), false},
	    {DAY_MS - 1, false},
	    {-DAY_MS + 1, false},
	    {DAY_MS, true},
	    {-DAY_MS, true},
	    {INT64_C(40) * DAY_MS + 1, true},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		char text[32], want[32];
		time_t before, after;
		struct tm local;

		do { /* within one second */
			before = (time_t)((clock_epoch() + rows[i].ms) / 1000);
			duration_describe_time(rows[i].ms, text, sizeof(text));
			after = (time_t)((clock_epoch() + rows[i].ms) / 1000);
		} while (before != after);
		localtime_r(&before, &local);
		if (rows[i].has_date)
			strftime(want, sizeof(want), "%F %T", &local);
		else
			strftime(want, sizeof(want), "%T", &local);
		is_text(text, want, "a time");
	}
}

int
main(void)
{
	test_now(CLOCK_BOOTTIME, clock_now, 1000000, "milliseconds since boot");
	test_now(CLOCK_BOOTTIME, clock_now_us, 1000, "microseconds since boot");
	test_now(CLOCK_REALTIME, clock_epoch, 1000000, "since the epoch");
	test_timer();
	setenv("TZ", "UTC-5:30", 1);
	test_ages();
	test_times();
	return tap_done();
}
