#include "base/moment.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

enum { SECOND_MS = 1000, MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400 };

void
moment_describe_age(int64_t ms, char *text, size_t size)
{
	int64_t seconds = ms > 0 ? ms / SECOND_MS : 0;

	if (seconds < MINUTE_S)
		snprintf(text, size, "%" PRId64 "s", seconds);
	else if (seconds < HOUR_S)
		snprintf(text, size, "%" PRId64 "m%02" PRId64 "s",
		    seconds / MINUTE_S, seconds % MINUTE_S);
	else if (seconds < DAY_S)
		snprintf(text, size, "%" PRId64 "h%02" PRId64 "m",
		    seconds / HOUR_S, seconds % HOUR_S / MINUTE_S);
	else
		snprintf(text, size, "%" PRId64 "d%02" PRId64 "h",
		    seconds / DAY_S, seconds % DAY_S / HOUR_S);
}

void
moment_describe_time(int64_t ms_from_now, char *text, size_t size)
{
	int64_t seconds = ms_from_now / SECOND_MS;
	struct tm local;
	/* Rounded once: messages about the same moment name the same second. */
	time_t at = (time_t)((clock_epoch() + ms_from_now) / SECOND_MS);

	if (localtime_r(&at, &local) == NULL)
		snprintf(text, size, "?");
	else if (seconds > -DAY_S && seconds < DAY_S)
		strftime(text, size, "%H:%M:%S", &local);
	else
		strftime(text, size, "%F %T", &local);
}
