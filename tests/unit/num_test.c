#include "base/duration.h"
#include "base/num.h"

#include <stdlib.h>

#include "tap.h"

#define UNTOUCHED (-77)

static const struct int_case {
	const char *text;
	int64_t min, max, want; /* UNTOUCHED: refused */
} ints[] = {
    {"0", 0, 9, 0},
    {"9", 0, 9, 9},
    {"007", 0, 9, 7},
    {"9223372036854775807", 0, INT64_MAX, INT64_MAX},
    {"10", 0, 9, UNTOUCHED},
    {"13", 0, 12, UNTOUCHED},
    {"4", 5, 9, UNTOUCHED},
    {"9223372036854775808", 0, INT64_MAX, UNTOUCHED},
    {"18446744073709551617", 0, INT64_MAX, UNTOUCHED},
    {"99999999999999999999999", 0, INT64_MAX, UNTOUCHED},
    {"", 0, 9, UNTOUCHED},
    {"-1", 0, 9, UNTOUCHED},
    {"+1", 0, 9, UNTOUCHED},
    {" 1", 0, 9, UNTOUCHED},
    {"1 ", 0, 9, UNTOUCHED},
    {"1\n", 0, 9, UNTOUCHED},
    {"1x", 0, 9, UNTOUCHED},
    {"0x1", 0, 9, UNTOUCHED},
    {"1e0", 0, 9, UNTOUCHED},
};

static const struct duration_case {
	const char *text;
	int64_t want;
} durations[] = {
    {"0", 0},
    {"1", 1000},
    {"90", 90000},
    {"0s", 0},
    {"250ms", 250},
    {"30s", 30000},
    {"2m", 120000},
    {"1h", 3600000},
    {"1d", 86400000},
    {"1.5h", 5400000},
    {".5", 500},
    {"0.25s", 250},
    {"1.5ms", 2},
    /* above zero stays above zero */
    {"0.0000000001", 1},
    {"0.00000000000000000000000000000000000000000000000001d", 1},
    {"0.0", 0},
    {"0.000000000000000000000000000000000000000000000000h", 0},
    /* exact, where floating point is not */
    {"0.1", 100},
    {"4.35", 4350},
    {"1.001", 1001},
    {"1.0010", 1001},
    {"1.0010000000000000000000000000000001", 1002},
    {"0.999999999999999999999999999999999d", 86400000},
    {"3653d", DURATION_MAX_MS},
    {"315619200", DURATION_MAX_MS},
    {"315619200000ms", DURATION_MAX_MS},
    {"3653.0000000001d", DURATION_TOO_LONG},
    {"3654d", DURATION_TOO_LONG},
    {"315619200001ms", DURATION_TOO_LONG},
    {"9223372036854775807", DURATION_TOO_LONG},
    {"18446744073709551616ms", DURATION_TOO_LONG},
    {"3653d1ms", DURATION_TOO_LONG},
    {"1ms3653d", DURATION_TOO_LONG},
    {"3653d87672h5259600min315619200s", DURATION_TOO_LONG},
    {"18446744073709551616d1ms", DURATION_TOO_LONG},
    {"18446744073709551616d1x", UNTOUCHED},
    /* sums */
    {"1h30m", 5400000},
    {"1h 30m", 5400000},
    {"30m1h", 5400000},
    {"1d2h3min4s5ms", 93784005},
    {"1.5h0.5s", 5400500},
    {"3652d23h59m60s", DURATION_MAX_MS},
    {"1h1h", UNTOUCHED},
    {"1m1min", UNTOUCHED},
    {"1h30", UNTOUCHED},
    {"1h 30", UNTOUCHED},
    {"30 1h", UNTOUCHED},
    {"1 30", UNTOUCHED},
    {"1 1h", UNTOUCHED},
    {"1h,30m", UNTOUCHED},
    {"1h+30m", UNTOUCHED},
    {"1h-30m", UNTOUCHED},
    {"1h\t30m", UNTOUCHED},
    {"1h 30m ", UNTOUCHED},
    {" 1h30m", UNTOUCHED},
    {"1h 30 m", UNTOUCHED},
    {"1h:30m", UNTOUCHED},
    {"h", UNTOUCHED},
    {"1hm", UNTOUCHED},
    {"1h m", UNTOUCHED},
    {"", UNTOUCHED},
    {".", UNTOUCHED},
    {"s", UNTOUCHED},
    {".s", UNTOUCHED},
    {"1.", UNTOUCHED},
    {"1.s", UNTOUCHED},
    {"1.2.3", UNTOUCHED},
    {"1,5", UNTOUCHED},
    {"-1", UNTOUCHED},
    {"+1", UNTOUCHED},
    {" 1", UNTOUCHED},
    {"1 s", UNTOUCHED},
    {"1s ", UNTOUCHED},
    {"1S", UNTOUCHED},
    {"30x", UNTOUCHED},
    {"1e9", UNTOUCHED},
    {"0x10", UNTOUCHED},
    {"inf", UNTOUCHED},
    {"nan", UNTOUCHED},
    {"1month", UNTOUCHED},
    {"1w", UNTOUCHED},
    {"1MIN", UNTOUCHED},
    {"1secondss", UNTOUCHED},
};

static const struct {
	int64_t ms;
	const char *names;
} units[] = {
    {1, "ms msec msecs millisecond milliseconds"},
    {1000, "s sec secs second seconds"},
    {60000, "m min mins minute minutes"},
    {3600000, "h hr hrs hour hours"},
    {86400000, "d day days"},
};

/* Each name; and each after each other unit, in a sum. */
static void
test_units(void)
{
	for (size_t i = 0; i < LENGTH(units); i++) {
		const char *name = units[i].names;

		while (*name != '\0') {
			int length = (int)strcspn(name, " ");
			char text[64];
			int64_t value = UNTOUCHED;

			snprintf(text, sizeof(text), "7%.*s", length, name);
			ok(duration_parse(text, &value) == 0 &&
				value == 7 * units[i].ms,
			    "%s", text);
			for (size_t j = 0; j < LENGTH(units); j++) {
				bool same = i == j;

				value = UNTOUCHED;
				snprintf(text, sizeof(text), "2%.*s3%.*s",
				    (int)strcspn(units[j].names, " "),
				    units[j].names, length, name);
				ok((duration_parse(text, &value) == -1) ==
					    same &&
					value == (same ? UNTOUCHED
						       : 2 * units[j].ms +
							     3 * units[i].ms),
				    "%s", text);
			}
			name += length + (name[length] != '\0');
		}
	}
}

static void
test_int(const struct int_case *test)
{
	int64_t value = UNTOUCHED;
	int want = test->want == UNTOUCHED ? -1 : 0;
	int got = num_int(test->text, test->min, test->max, &value);

	if (!ok(got == want && value == test->want, "int '%s'", test->text))
		printf("# got %d, %" PRId64 "\n", got, value);
}

static void
test_duration(const struct duration_case *test)
{
	int64_t value = UNTOUCHED;
	int want = test->want == UNTOUCHED ? -1 : 0;
	int got = duration_parse(test->text, &value);

	if (!ok(got == want && value == test->want, "duration '%s'",
		test->text))
		printf("# got %d, %" PRId64 "\n", got, value);
}

static void
test_text(int64_t ms, const char *want)
{
	char *text = duration_text(ms);
	int64_t again = UNTOUCHED;

	is_text(text, want, "a duration as text");
	ok(duration_parse(text, &again) == 0 && again == ms, "  and back");
	free(text);
}

int
main(void)
{
	for (size_t i = 0; i < LENGTH(ints); i++)
		test_int(&ints[i]);
	for (size_t i = 0; i < LENGTH(durations); i++)
		test_duration(&durations[i]);
	test_units();
	test_text(0, "0s");
	test_text(1, "1ms");
	test_text(90000, "90s");
	test_text(5400000, "90m");
	test_text(86400000, "1d");
	test_text(86400001, "86400001ms");
	return tap_done();
}
