#include "sink/wait_line.h"

#include "base/clock.h"
#include "base/escape.h"
#include "tap.h"

enum { COLUMNS_MAX = 300 };

#define LONG_NAME "backup:customers:europe:nightly:full"
#define LONG_HOST "ip-10-0-12-123.eu-central-1.compute.internal"

/* One that has been held for 3m12s. */
static struct holder
holder_of(enum holder_state state)
{
	return (struct holder){.state = state,
	    .kind = 'x',
	    .count = 1,
	    .left_ms = 18000,
	    .held_ms = 192000,
	    .reported_at = clock_now(),
	    .host = "web-3",
	    .pid = "4121",
	    .user = "deploy"};
}

static struct event
line_of(const struct holder *holder)
{
	return (struct event){.name = "job:sync",
	    .holder = holder,
	    .ms = 12000,
	    .left_ms = 288000,
	    .position = 3};
}

static const char *
line_at(const struct event *line, size_t columns)
{
	static char text[4096];

	wait_line_format(line, columns, text, sizeof(text));
	return text;
}

/* --- what is shown ------------------------------------------------------ */

static void
test_widths(void)
{
	struct holder holder = holder_of(HOLDER_KNOWN);
	struct event line = line_of(&holder);
	const char *text = line_at(&line, 199);
	const char *end =
	    ", 3m12s ago; waiting 12s, 4m48s left, position 3 in the queue";

	ok(strncmp(text,
	       "rlockrun: \"job:sync\" is held by web-3 (pid 4121, deploy) "
	       "since ",
	       63) == 0 &&
		strcmp(text + strlen(text) - strlen(end), end) == 0,
	    "200 columns show all: %s", text);
	is_text(line_at(&line, 109),
	    "rlockrun: \"job:sync\" is held by web-3 (pid 4121, deploy) for "
	    "3m12s; waiting 12s, 4m48s left, position 3",
	    "110 columns");
	is_text(line_at(&line, 79),
	    "\"job:sync\": web-3 (pid 4121, deploy); waiting 12s, 4m48s left, "
	    "position 3",
	    "80 columns");
	is_text(line_at(&line, 59),
	    "\"job:sync\": web-3 (pid 4121); waiting 12s, 4m48s left, 3rd",
	    "60 columns");
	is_text(line_at(&line, 39), "\"job:sync\": web-3; 4m48s left, 3rd",
	    "40 columns");
	is_text(line_at(&line, 19), "web-3; 4m48s left", "20 columns");
}

static void
test_missing_facts(void)
{
	struct holder holder = holder_of(HOLDER_KNOWN);
	struct event line = line_of(&holder);

	line.left_ms = -1;
	is_text(line_at(&line, 39), "\"job:sync\": web-3; waiting 12s, 3rd",
	    "without -w the time waited stays");
	line.position = 0;
	is_text(line_at(&line, 64),
	    "\"job:sync\": web-3 (pid 4121, deploy) for 3m12s; waiting 12s",
	    "no position");
	line.left_ms = 0;
	is_text(line_at(&line, 30), "\"job:sync\": web-3; 0s left",
	    "the last moment");
	holder.held_ms = -1;
	line.left_ms = 1;
	is_text(line_at(&line, 120),
	    "rlockrun: \"job:sync\" is held by web-3 (pid 4121, deploy); "
	    "waiting 12s, 1s left",
	    "an unknown start");
}

static void
test_long_names(void)
{
	struct holder holder = holder_of(HOLDER_KNOWN);
	struct event line = line_of(&holder);

	line.name = LONG_NAME;
	is_text(line_at(&line, 79),
	    "\"backup:cust...\": web-3 (pid 4121, deploy); waiting 12s, 4m48s "
	    "left, position 3",
	    "the lock's name is cut first");
	snprintf(holder.host, sizeof(holder.host), LONG_HOST);
	is_text(line_at(&line, 79),
	    "\"backu...\": ip-10-0-... (pid 4121, deploy); waiting 12s, 4m48s "
	    "left, position 3",
	    "then the host");
	is_text(line_at(&line, 39), "\"backu...\": ip-10-0...; 4m48s left, 3rd",
	    "both, in 40 columns");
	snprintf(holder.user, sizeof(holder.user), "%063d", 1);
	is_text(line_at(&line, 79),
	    "\"backu...\": ip-10-0-12-123.eu-centr... (pid 4121); "
	    "waiting 12s, 4m48s left, 3rd",
	    "a long user is left out");
	snprintf(holder.label, sizeof(holder.label), "nightly \"sync\"");
	line.name = "a";
	holder = holder_of(HOLDER_KNOWN);
	snprintf(holder.label, sizeof(holder.label), "nightly \"sync\"");
	is_text(line_at(&line, 112),
	    "\"a\" is held by web-3 (pid 4121, deploy, \"nightly "
	    "\\\"sync\\\"\") for 3m12s; waiting 12s, 4m48s left, position 3",
	    "a label");
	is_text(line_at(&line, 79),
	    "\"a\": web-3 (\"nightly \\\"sync\\\"\") for 3m12s; waiting 12s, "
	    "4m48s left, position 3",
	    "  is shown instead of pid and user");
	is_text(line_at(&line, 39), "\"a\": web-3; 4m48s left, 3rd",
	    "  and left out");
}

static void
test_states(void)
{
	struct holder holder = holder_of(HOLDER_ENDED);
	struct event line = line_of(&holder);

	is_text(line_at(&line, 59),
	    "\"job:sync\": kept for 18s by web-3; 4m48s left, 3rd", "kept");
	holder = holder_of(HOLDER_HOLD);
	is_text(line_at(&line, 34), "\"job:sync\": web-3; 4m48s left, 3rd",
	    "a hold has no pid");
	ok(strstr(line_at(&line, 99), "web-3 (deploy) until ") != NULL,
	    "  but an end: %s", line_at(&line, 99));
	holder = holder_of(HOLDER_FOREIGN);
	is_text(line_at(&line, 119),
	    "rlockrun: \"job:sync\" is held by another client (not a "
	    "rlockrun); waiting 12s, 4m48s left, position 3 in the queue",
	    "foreign");
	is_text(line_at(&line, 59),
	    "\"job:sync\": another client; waiting 12s, 4m48s left, 3rd",
	    "foreign in 60 columns");
	holder.state = HOLDER_NONE;
	is_text(line_at(&line, 119),
	    "rlockrun: \"job:sync\" is free, but others are queued for it; "
	    "waiting 12s, 4m48s left, position 3 in the queue",
	    "free");
	is_text(line_at(&line, 59),
	    "\"job:sync\": others are queued; waiting 12s, 4m48s left, 3rd",
	    "free in 60 columns");
	holder = holder_of(HOLDER_KNOWN);
	holder.kind = 'p';
	holder.count = holder.permits = 3;
	is_text(line_at(&line, 129),
	    "\"job:sync\" is held by web-3 (pid 4121, deploy) for 3m12s, and "
	    "by 2 others (3 of 3 permits); waiting 12s, 4m48s left, "
	    "position 3",
	    "permits");
	line.position = 11;
	is_text(line_at(&line, 39), "\"job:sync\": web-3; 4m48s left, 11th",
	    "11th");
	line.position = 22;
	is_text(line_at(&line, 39), "\"job:sync\": web-3; 4m48s left, 22nd",
	    "22nd");
}

/* --- never too wide ------------------------------------------------------ */

static bool
fits_from(const struct event *line, size_t narrowest)
{
	for (size_t columns = 0; columns < COLUMNS_MAX; columns++) {
		const char *text = line_at(line, columns);
		size_t width = escape_columns(text, ESCAPE_TEXT);

		if (columns < narrowest || width <= columns)
			continue;
		printf("# %zu in %zu: %s\n", width, columns, text);
		return false;
	}
	return true;
}

static void
test_all_widths(void)
{
	static const char *const names[] = {"a", "job:sync", LONG_NAME,
	    "\u540c\u671f\u30b8\u30e7\u30d6\u591c\u9593\u30d0\u30c3\u30af",
	    "caf\u00e9 \U0001f512\U0001f512\U0001f512\U0001f512\U0001f512",
	    "\x1b[2J\n\xff\xff\xff\"\"\"\\\\\\\\"};
	static const char *const hosts[] = {"h", LONG_HOST,
	    "\u540c\u671f\u30b8\u30e7\u30d6", "\x1b]0;x\x07\xc2\x9b\xff"};

	for (size_t i = 0; i < LENGTH(names); i++)
		for (size_t j = 0; j < LENGTH(hosts); j++) {
			struct holder holder = holder_of(HOLDER_KNOWN);
			struct event line = line_of(&holder);

			line.name = names[i];
			snprintf(holder.host, sizeof(holder.host), "%s",
			    hosts[j]);
			snprintf(holder.label, sizeof(holder.label),
			    "\u591c\u9593 \x1b[31m");
			ok(fits_from(&line, 20), "name %zu, host %zu", i, j);
			line.ms = line.left_ms = 360000000000;
			line.position = 1000000;
			ok(fits_from(&line, 24), "name %zu, host %zu, for long",
			    i, j);
		}
}

int
main(void)
{
	test_widths();
	test_missing_facts();
	test_long_names();
	test_states();
	test_all_widths();
	return tap_done();
}
