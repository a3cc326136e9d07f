#include "base/num.h"

#include <stddef.h>
#include <string.h>

#define DIGITS "0123456789"

static const struct unit {
	const char *name;
	int64_t ms;
} units[] = {
    {"", 1000},
    {"ms", 1},
    {"s", 1000},
    {"m", 60000},
    {"h", 3600000},
    {"d", 86400000},
};

/* The milliseconds in that unit, 0 if there is no such unit. */
static int64_t
unit_ms(const char *name)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(name, units[i].name) == 0)
			return units[i].ms;
	return 0;
}

/* The first length characters, all digits, as a number of at most max. */
static int
whole_number(const char *text, size_t length, int64_t max, int64_t *out)
{
	int64_t value = 0;

	for (size_t i = 0; i < length; i++) {
		int64_t digit = text[i] - '0';

		if (digit > max || value > (max - digit) / 10)
			return -1;
		value = value * 10 + digit;
	}
	*out = value;
	return 0;
}

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

int
num_int(const char *text, int64_t min, int64_t max, int64_t *out)
{
	size_t length = strspn(text, DIGITS);
	int64_t value;

	if (length == 0 || text[length] != '\0')
		return -1;
	if (whole_number(text, length, max, &value) < 0 || value < min)
		return -1;
	*out = value;
	return 0;
}

int
num_duration(const char *text, int64_t *ms)
{
	size_t whole = strspn(text, DIGITS);
	const char *fraction = text + whole;
	size_t digits = 0;
	int64_t unit, value;

	if (*fraction == '.') {
		fraction++;
		digits = strspn(fraction, DIGITS);
		if (digits == 0)
			return -1;
	}
	if (whole + digits == 0)
		return -1;
	unit = unit_ms(fraction + digits);
	if (unit == 0)
		return -1;
	if (whole_number(text, whole, NUM_DURATION_MAX_MS / unit, &value) < 0)
		return -1;
	value = value * unit + fraction_of(unit, fraction, digits);
	if (value > NUM_DURATION_MAX_MS)
		return -1;
	*ms = value;
	return 0;
}
