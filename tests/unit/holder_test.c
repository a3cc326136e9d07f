#include "holder.h"

#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "tap.h"

static const char *
described(int64_t held_ms)
{
	static char text[512];
	struct holder holder = {.seen = true,
	    .known = true,
	    .held_ms = held_ms,
	    .told_at = clock_now(),
	    .host = "web-3",
	    .pid = "4121",
	    .user = "deploy"};

	holder_describe(&holder, text, sizeof(text));
	return text;
}

static bool
ends_with(const char *text, const char *end)
{
	size_t length = strlen(text);
	size_t tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

int
main(void)
{
	const struct holder foreign = {.seen = true, .left_ms = 5000};
	const struct holder endless = {.seen = true, .left_ms = -1};
	char text[512];

	setenv("TZ", "UTC", 1);
	tzset();
	ok(strncmp(described(0), "web-3 (pid 4121, deploy) since ", 31) == 0,
	    "host, pid and user");
	ok(ends_with(described(59 * 1000), ", 59s ago"), "seconds");
	ok(ends_with(described(192 * 1000), ", 3m12s ago"), "minutes");
	ok(ends_with(described(3723 * 1000), ", 1h02m ago"), "hours");
	ok(ends_with(described(93600 * 1000), ", 1d02h ago"), "days");
	ok(strlen(described(93600 * 1000)) > strlen(described(3723 * 1000)),
	    "the date stands where it is not today's");
	ok(ends_with(described(-5000), ", 0s ago"), "no negative age");
	holder_describe(&foreign, text, sizeof(text));
	is_text(text, "another client (not a rlockrun)", "foreign");
	holder_describe(&endless, text, sizeof(text));
	is_text(text, "another client (not a rlockrun), without a time limit",
	    "foreign, for ever");
	return tap_done();
}
