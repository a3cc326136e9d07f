/* Numbers and durations: out of range never, half-written never. */
#include "base/duration.h"
#include "base/num.h"
#include "fuzz.h"

static void
check(int result, int64_t value, int64_t max)
{
	if (result < 0 ? value != -1 : value < 0 || value > max)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	int64_t value = -1;
	int result;

	result = num_int(text, 0, INT64_MAX, &value);
	check(result, value, INT64_MAX);
	value = -1;
	result = num_int(text, 0, 65535, &value);
	check(result, value, 65535);
	value = -1;
	result = duration_parse(text, &value);
	check(result, value, DURATION_TOO_LONG);
	free(text);
	return 0;
}
