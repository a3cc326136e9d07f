/* The pause before a connection, by how long those before it have lasted. */
#include "redis/rest.h"

#include "tap.h"

enum { NOW = 5000000 };

/* As a connection that ends after so long, at NOW. */
static int64_t
pause_after(struct rest *rest, int64_t lasted_ms)
{
	int64_t until;

	rest_open(rest, NOW - lasted_ms);
	rest_hang_up(rest, NOW);
	until = rest_until(rest, false, NOW);
	return until == 0 ? 0 : until - NOW;
}

static void
test_pauses(void)
{
	static const int64_t most_ms[] = {100, 200, 400, 800, 1000, 1000};
	struct rest rest = {0};

	is_int(rest_until(&rest, false, NOW), 0, "none before the first");
	for (size_t i = 0; i < LENGTH(most_ms); i++) {
		int64_t ms = pause_after(&rest, 999);

		ok(ms >= most_ms[i] * 4 / 5 && ms <= most_ms[i],
		    "%d connections that have ended soon", (int)i + 1);
	}
	is_int(pause_after(&rest, 1000), 0, "none after one that has lasted");
	ok(pause_after(&rest, 0) <= 100, "then it begins anew");
}

static void
test_present(void)
{
	struct rest rest = {0};

	pause_after(&rest, 0);
	rest_open(&rest, NOW + 200);
	ok(rest_until(&rest, true, NOW + 1199) > 0,
	    "the next connection does not show yet that they last");
	is_int(rest_until(&rest, true, NOW + 1200), 0, "now it does");
	ok(rest_until(&rest, false, NOW + 1200) > 0, "not if it is not up");
}

int
main(void)
{
	test_pauses();
	test_present();
	return tap_done();
}
