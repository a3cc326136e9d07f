#include "base/duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"

enum { SECOND_MS = 1000, MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400 };

#define DIGITS "0123456789"

#define LETTERS "abcdefghijklmnopqrstuvwxyz"

enum { UNITS = 5, UNIT_NAMES = 5, SECONDS = 1 };

static const struct unit {
	int64_t ms;
	char names[UNIT_NAMES][16];
} units[UNITS] = {
    {1, {"ms", "msec", "msecs", "millisecond", "milliseconds"}},
    [SECONDS] = {1000, {"s", "sec", "secs", "second", "seconds"}},
    {60000, {"m", "min", "mins", "minute", "minutes"}},
    {3600000, {"h", "hr", "hrs", "hour", "hours"}},
    {86400000, {"d", "day", "days"}},
};

/* unit times 0.DIGITS, rounded up. From the last digit to the first, as
 * ceil(ceil(x) / 10) is ceil(x / 10): exact, whatever the number of digits. */
static int64_t
fraction_of(int64_t unit, const char *digits, size_t length)
{
	int64_t value = 0;

	while (length-- > 0)
		value = (unit * (digits[length] - '0') + value + 9) / 10;
	return value;
}

/* A sum of parts, such as 1h30m. */
struct sum {
	int64_t ms;
	unsigned units; /* that it has, as bits */
};

/* The unit of the part that ends here. A number without a unit stands alone. */
static int
take_unit(struct sum *sum, const char **text)
{
	size_t length = strspn(*text, LETTERS);
	int unit = -1;

	for (int i = 0; i < UNITS * UNIT_NAMES && length > 0; i++) {
		const char *known = units[i / UNIT_NAMES].names[i % UNIT_NAMES];

		if (strlen(known) == length &&
		    strncmp(known, *text, length) == 0)
			unit = i / UNIT_NAMES;
	}
	if (**text == '\0' && sum->units == 0)
		unit = SECONDS;
	if (unit == -1 || (sum->units & 1U << unit))
		return -1;
	sum->units |= 1U << unit;
	*text += length;
	return unit;
}

/* Moves *text past one part. */
static int
add_part(struct sum *sum, const char **text)
{
	const char *whole = *text;
	size_t whole_digits = strspn(whole, DIGITS);
	const char *fraction = whole + whole_digits;
	size_t fraction_digits = 0;
	int64_t value, unit_ms;
	int unit;

	if (*fraction == '.') {
		fraction++;
		fraction_digits = strspn(fraction, DIGITS);
		if (fraction_digits == 0)
			return -1;
	}
	if (whole_digits + fraction_digits == 0)
		return -1;
	*text = fraction + fraction_digits;
	unit = take_unit(sum, text);
	if (unit == -1)
		return -1;
	unit_ms = units[unit].ms;
	if (num_digits(whole, whole_digits, DURATION_MAX_MS / unit_ms, &value) <
	    0)
		sum->ms = DURATION_TOO_LONG;
	else
		sum->ms += value * unit_ms +
			   fraction_of(unit_ms, fraction, fraction_digits);
	return 0;
}

int
duration_parse(const char *text, int64_t *ms)
{
	struct sum sum = {.ms = 0};

	for (;;) {
		if (add_part(&sum, &text) < 0)
			return -1;
		if (sum.ms > DURATION_MAX_MS)
			sum.ms = DURATION_TOO_LONG;
		if (*text == '\0')
			break;
		text += strspn(text, " ");
	}
	*ms = sum.ms;
	return 0;
}

char *
duration_text(int64_t ms)
{
	int unit = ms == 0 ? SECONDS : UNITS - 1;

	while (ms % units[unit].ms != 0)
		unit--;
	return mem_printf("%" PRId64 "%s", ms / units[unit].ms,
	    units[unit].names[0]);
}

/* --- for people -------------------------------------------------------- */

void
duration_describe_age(int64_t ms, char *text, size_t size)
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
duration_describe_time(int64_t ms_from_now, char *text, size_t size)
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
