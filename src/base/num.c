#include "base/num.h"

#include <string.h>

int
num_digits(const char *text, size_t length, int64_t max, int64_t *out)
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

int
num_int(const char *text, int64_t min, int64_t max, int64_t *out)
{
	size_t length = strspn(text, "0123456789");
	int64_t value;

	if (length == 0 || text[length] != '\0')
		return -1;
	if (num_digits(text, length, max, &value) < 0 || value < min)
		return -1;
	*out = value;
	return 0;
}
