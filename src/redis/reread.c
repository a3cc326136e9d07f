#include "redis/reread.h"

#include <stddef.h>

#include "base/clock.h"

enum { SETTLED_MS = 100 };

bool
reread_is_due(struct reread *reread, bool anew)
{
	int64_t now = clock_now();

	if (!reread->enabled || (!anew && now - reread->read_at < SETTLED_MS))
		return false;
	reread->read_at = now;
	return true;
}

void
reread_finish(struct reread *reread, const char *why)
{
	bool failed = reread->failed;

	reread->failed = why != NULL;
	if (why != NULL && !failed && reread->on_failure != NULL)
		reread->on_failure(reread->arg, why);
}
