#include "sink/holder_text.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/duration.h"
#include "tap.h"

static const char *
described(int64_t held_ms)
{
	static char text[512];
	struct holder holder = {.state = HOLDER_KNOWN,
	    .held_ms = held_ms,
	    .reported_at = clock_now(),
	    .host = "web-3",
	    .pid = "4121",
	    .user = "deploy"};

	holder_text_format(&holder, text, sizeof(text));
	return text;
}

/* The lock, without what depends on the clock: "K is held by A". */
static const char *
described_lock(const struct holder *holder)
{
	static char text[640];
	char *from;
	char *to;

	holder_text_format_lock(holder, text, sizeof(text));
	from = strstr(text, " (pid ");
	to = strstr(text, " ago");
	if (from != NULL && to != NULL)
		memmove(from, to + 4, strlen(to + 4) + 1);
	return text;
}

static void
test_kinds(void)
{
	struct holder holder = {.state = HOLDER_KNOWN,
	    .kind = 'x',
	    .count = 1,
	    .reported_at = clock_now(),
	    .left_ms = 99000,
	    .host = "A",
	    .pid = "1",
	    .user = "u"};

	is_text(described_lock(&holder), "is held by A", "exclusive");
	holder.kind = 's';
	is_text(described_lock(&holder), "is held shared by A", "a reader");
	holder.count = 2;
	is_text(described_lock(&holder), "is held shared by A, and by 1 other",
	    "two readers");
	holder.count = 3;
	holder.others_queued = true;
	is_text(described_lock(&holder),
	    "is held shared by A, and by 2 others, and others are queued",
	    "readers, and a writer in line");
	holder.kind = 'p';
	holder.permits = 3;
	holder.permits_here = 3;
	holder.others_queued = false;
	is_text(described_lock(&holder),
	    "is held by A, and by 2 others (3 of 3 permits)", "permits");
	holder.permits_here = 2;
	is_text(described_lock(&holder),
	    "is held by A, and by 2 others (3 of 3 permits, but 2 here)",
	    "permits, and disagreement");
	holder.count = holder.permits = holder.permits_here = 1;
	is_text(described_lock(&holder), "is held by A (1 of 1 permit)",
	    "one permit");
	holder.count = holder.permits = 3;
	holder.permits_here = 2;
	holder.state = HOLDER_FOREIGN;
	is_text(described_lock(&holder),
	    "is held by another client (not a rlockrun), and by 2 others "
	    "(3 of 3 permits, but 2 here)",
	    "permits of others");
	holder.state = HOLDER_NONE;
	is_text(described_lock(&holder),
	    "is free, but others are queued for it", "free");
	holder.state = HOLDER_UNSEEN;
	is_text(described_lock(&holder), "has not been granted", "unseen");
}

static void
test_kept(void)
{
	struct holder holder = {.state = HOLDER_ENDED,
	    .kind = 'x',
	    .count = 1,
	    .reported_at = clock_now(),
	    .left_ms = 98500,
	    .host = "A",
	    .pid = "1",
	    .user = "u"};

	is_text(described_lock(&holder), "is kept for 1m39s; it was held by A",
	    "kept");
	holder.reported_at -= 60000;
	is_text(described_lock(&holder), "is kept for 39s; it was held by A",
	    "less when time has passed");
	holder.reported_at -= 60000;
	holder.kind = 's';
	is_text(described_lock(&holder),
	    "is kept for 1s; it was held shared by A", "never nothing");
	holder.kind = 'p';
	holder.count = 2;
	holder.permits = 2;
	is_text(described_lock(&holder),
	    "is held by A, kept for 1s, and by 1 other (2 of 2 permits)",
	    "one of two permits is kept");
	holder.others_queued = true;
	is_text(described_lock(&holder),
	    "is held by A, and by 1 other (2 of 2 permits), "
	    "and others are queued",
	    "who is before us is waited for, not the end of what is kept");
}

/* No process is named: that of a hold has ended. */
static void
test_hold(void)
{
	struct holder holder = {.state = HOLDER_HOLD,
	    .kind = 'x',
	    .count = 1,
	    .reported_at = clock_now(),
	    .held_ms = -1,
	    .left_ms = -1,
	    .host = "A",
	    .pid = "1",
	    .user = "u"};
	char text[HOLDER_TEXT_MAX], end[32], wanted[80];

	is_text(described_lock(&holder), "is held by A (u)",
	    "a hold that never ends");
	strcpy(holder.label, "db migration");
	holder.left_ms = 7200000;
	duration_describe_time(7200000, end, sizeof(end));
	snprintf(wanted, sizeof(wanted), "A (u, \"db migration\"), until %s",
	    end);
	holder_text_format(&holder, text, sizeof(text));
	is_text(text, wanted, "a label, and until when");
	holder.held_ms = 0;
	holder.reported_at -= 60000;
	holder_text_format(&holder, text, sizeof(text));
	ok(strstr(text, " since ") != NULL && strstr(text, " ago") == NULL,
	    "since when, but not for how long: %s", text);
	duration_describe_time(7140000, end, sizeof(end));
	ok(strcmp(strstr(text, " until ") + 7, end) == 0,
	    "  until the same time later");
	holder.state = HOLDER_PAUSED;
	holder.held_ms = -1;
	snprintf(wanted, sizeof(wanted),
	    "is paused by A (u, \"db migration\"), until %s", end);
	is_text(described_lock(&holder), wanted, "a pause");
}

static void
test_label(void)
{
	struct holder holder = {.state = HOLDER_KNOWN,
	    .held_ms = -1,
	    .host = "A",
	    .pid = "1",
	    .user = "u",
	    .label = "a \"b\""};
	char text[HOLDER_TEXT_MAX];

	holder_text_format(&holder, text, sizeof(text));
	is_text(text, "A (pid 1, u, \"a \\\"b\\\"\")", "a label, in quotes");
}

static bool
ends_with(const char *text, const char *end)
{
	size_t length = strlen(text);
	size_t tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

static int64_t
wall_clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* One ms before this second began is in the second before, and so on. */
static void
test_time(void)
{
	char want[32], text[32];
	struct tm local;
	int64_t now;
	time_t at;

	do {
		now = wall_clock_ms();
		duration_describe_time(-(now % 1000) - 200, text, sizeof(text));
	} while (now % 1000 > 700 || wall_clock_ms() > now + 100);
	at = (time_t)(now / 1000) - 1;
	localtime_r(&at, &local);
	strftime(want, sizeof(want), "%H:%M:%S", &local);
	is_text(text, want, "a time is rounded once");
}

int
main(void)
{
	const struct holder foreign = {.state = HOLDER_FOREIGN,
	    .left_ms = 5000};
	const struct holder endless = {.state = HOLDER_FOREIGN, .left_ms = -1};
	char text[512];

	setenv("TZ", "UTC", 1);
	tzset();
	test_time();
	ok(strncmp(described(0), "web-3 (pid 4121, deploy) since ", 31) == 0,
	    "host, pid and user");
	ok(ends_with(described(59 * 1000), ", 59s ago"), "seconds");
	ok(ends_with(described(192 * 1000), ", 3m12s ago"), "minutes");
	ok(ends_with(described(3723 * 1000), ", 1h02m ago"), "hours");
	ok(ends_with(described(93600 * 1000), ", 1d02h ago"), "days");
	ok(strlen(described(93600 * 1000)) > strlen(described(3723 * 1000)),
	    "the date stands where it is not today's");
	ok(ends_with(described(-5000), ", 0s ago"), "no negative age");
	is_text(described(-1), "web-3 (pid 4121, deploy)", "no known age");
	holder_text_format(&foreign, text, sizeof(text));
	is_text(text, "another client (not a rlockrun)", "foreign");
	holder_text_format(&endless, text, sizeof(text));
	is_text(text, "another client (not a rlockrun), without a time limit",
	    "foreign, for ever");
	test_hold();
	test_label();
	test_kinds();
	test_kept();
	return tap_done();
}
