#include "holder.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "clock.h"

enum { SECOND_MS = 1000, MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400 };

static void
describe_age(int64_t seconds, char *text, size_t size)
{
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

static void
describe_start(int64_t seconds_ago, char *text, size_t size)
{
	time_t start = time(NULL) - (time_t)seconds_ago;
	struct tm local;

	if (localtime_r(&start, &local) == NULL)
		snprintf(text, size, "?");
	else if (seconds_ago < DAY_S)
		strftime(text, size, "%H:%M:%S", &local);
	else
		strftime(text, size, "%F %T", &local);
}

void
holder_describe(const struct holder *holder, char *text, size_t size)
{
	int64_t held_ms = holder->held_ms + clock_now() - holder->told_at;
	char age[32];
	char start[32];

	if (!holder->known) {
		snprintf(text, size, "another client (not a rlockrun)%s",
		    holder->left_ms == -1 ? ", without a time limit" : "");
		return;
	}
	if (held_ms < 0)
		held_ms = 0;
	describe_age(held_ms / SECOND_MS, age, sizeof(age));
	describe_start(held_ms / SECOND_MS, start, sizeof(start));
	snprintf(text, size, "%s (pid %s, %s) since %s, %s ago", holder->host,
	    holder->pid, holder->user, start, age);
}
