#include "redis/rest.h"

#include "base/clock.h"
#include "base/dice.h"

enum { SOON_MS = 1000, REST_MIN_MS = 100, REST_MAX_MS = 1000 };

static bool
has_lasted(const struct rest *rest, int64_t now)
{
	return now - rest->opened_at >= SOON_MS;
}

void
rest_open(struct rest *rest, int64_t now)
{
	rest->opened_at = now;
}

void
rest_hang_up(struct rest *rest, int64_t now)
{
	if (has_lasted(rest, now)) {
		rest->ms = rest->until = 0;
		return;
	}
	rest->ms =
	    rest->ms == 0 ? REST_MIN_MS : clock_min(rest->ms * 2, REST_MAX_MS);
	rest->until = now + dice_between(rest->ms - rest->ms / 5, rest->ms);
}

int64_t
rest_until(const struct rest *rest, bool is_up, int64_t now)
{
	return is_up && has_lasted(rest, now) ? 0 : rest->until;
}
