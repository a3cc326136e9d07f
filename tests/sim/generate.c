#include "generate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "world.h"

/* What a history is about; its runs and faults are drawn from it. */
struct theme {
	struct history *history;
	struct die die;
	enum { ONE, REDLOCK, SENTINEL, CLUSTER } kind_of_servers;
	int servers; /* that have data */
	int primary; /* SENTINEL: its number */
	int runs;    /* A, B, C, ... */
	int locks;
	bool calm, loses, replicates;
	char kind;   /* of all its locks */
	double span; /* seconds in which runs begin and faults strike */
};

__attribute__((format(printf, 2, 3))) static void
add(struct theme *theme, const char *format, ...)
{
	char line[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	history_add(theme->history, line);
}

static bool
chance(struct theme *theme, int percent)
{
	return die_chance(&theme->die, percent);
}

static int
pick(struct theme *theme, int least, int most)
{
	return (int)die_between(&theme->die, least, most);
}

/* Seconds, to the millisecond. */
static double
moment(struct theme *theme, double least, double most)
{
	return (double)die_between(&theme->die, (int64_t)(least * 1000),
		   (int64_t)(most * 1000)) /
	       1000;
}

/* A call has at most one draw among its arguments: compilers evaluate them in
 * different orders. */

/* --- runs -------------------------------------------------------------------
 */

struct text {
	char bytes[256];
};

__attribute__((format(printf, 2, 3))) static void
append(struct text *text, const char *format, ...)
{
	size_t length = strlen(text->bytes);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text->bytes + length, sizeof(text->bytes) - length, format,
	    arguments);
	va_end(arguments);
}

/* Whether it is one exclusive lock on one server, which most policies need. */
static bool
append_keys(struct theme *theme, struct text *text)
{
	int first = pick(theme, 0, theme->locks - 1);
	bool both = theme->locks > 1 && theme->kind_of_servers != REDLOCK &&
		    chance(theme, 25);

	append(text, " -k lock%d", first);
	if (both)
		append(text, " -k lock%d", (first + 1) % theme->locks);
	if (theme->kind == 's' && chance(theme, 70))
		append(text, " -s");
	if (theme->kind == 'p')
		append(text, " -p 2");
	return !both && theme->kind == 'x' && theme->kind_of_servers != REDLOCK;
}

static void
append_limit(struct theme *theme, struct text *text)
{
	switch (pick(theme, 0, 9)) {
	case 0:
		append(text, " --min-hold %.1f", moment(theme, 0.1, 3));
		break;
	case 1:
		append(text, " --max-run %.1f", moment(theme, 0.1, 3));
		break;
	case 2:
		append(text, " --splay %.1f", moment(theme, 0.1, 1));
		break;
	case 3:
		append(text, " --wait-all");
		break;
	default:
		break;
	}
}

static void
append_policy(struct theme *theme, struct text *text, bool waits)
{
	switch (pick(theme, 0, waits ? 11 : 9)) {
	case 0:
		append(text, " --once-per %.1f", moment(theme, 0.5, 5));
		break;
	case 1:
		append(text, " --once-id id%d", pick(theme, 1, 2));
		break;
	case 2:
		append(text, " --replaceable");
		break;
	case 3:
		if (waits)
			append(text, " --max-waiters %d", pick(theme, 0, 3));
		break;
	case 10:
		append(text, " --newest");
		break;
	case 11:
		append(text, " --replace");
		break;
	default:
		break;
	}
}

static void
append_job(struct theme *theme, struct text *text)
{
	append(text, " -- %.3f",
	    chance(theme, 50) ? moment(theme, 0, 0.05) : moment(theme, 0, 6));
	if (chance(theme, 10))
		append(text, " exit %d", pick(theme, 1, 3));
	if (chance(theme, 20))
		append(text, " deaf");
	if (chance(theme, 10))
		append(text, " leaves %.2f", moment(theme, 0.1, 3));
}

static void
add_run(struct theme *theme, int number)
{
	struct text text = {""};
	double at = moment(theme, 0, chance(theme, 50) ? 0.01 : theme->span);

	bool waits = !chance(theme, 20);
	bool plain = append_keys(theme, &text);

	if (theme->kind_of_servers == SENTINEL && theme->replicates)
		append(&text, " --wait-replicas 1");

	append(&text, " -t %d", pick(theme, 1, 3));
	if (theme->kind_of_servers == REDLOCK)
		append(&text, " --min-uptime %d", theme->loses ? 3 : 0);
	if (!waits)
		append(&text, " -n");
	else if (chance(theme, 30))
		append(&text, " -w %.1f", moment(theme, 0.3, 8));
	append_limit(theme, &text);
	if (plain)
		append_policy(theme, &text, waits);
	append_job(theme, &text);
	if (theme->loses)
		at += 4;
	add(theme, "%.3f run %c%s", at, 'A' + number, text.bytes);
	/* With two locks, users can make them wait for each other. */
	if (theme->kind == 'x' && theme->locks == 1 && chance(theme, 10)) {
		double lasts = moment(theme, 0, 3);
		add(theme, "%.3f run %cn in %c -k lock0 -t 1%s -- %.3f",
		    at + moment(theme, 0.01, 2), 'A' + number, 'A' + number,
		    theme->kind_of_servers == REDLOCK ? " --min-uptime 0" : "",
		    lasts);
	}
}

/* --- faults
 * -------------------------------------------------------------------- */

static void
add_process_fault(struct theme *theme, double at, char run)
{
	switch (pick(theme, 0, 5)) {
	case 0:
	case 1:
		add(theme, "%.3f kill %c", at, run);
		break;
	case 2:
	case 3:
		add(theme, "%.3f stop %c %.3f", at, run,
		    moment(theme, 0.01, 6));
		break;
	case 4:
		add(theme, "%.3f signal %c TERM", at, run);
		break;
	default:
		add(theme, "%.3f guard %c", at, run);
		break;
	}
}

static void
add_network_fault(struct theme *theme, double at, int server)
{
	double delay = moment(theme, 0.01, 1.5);
	bool to = chance(theme, 50);

	switch (pick(theme, 0, 5)) {
	case 0:
	case 1:
		add(theme, "%.3f cut s%d", at, server);
		break;
	case 2:
		add(theme, "%.3f stall s%d %s %.3f", at, server,
		    to ? "to" : "from", moment(theme, 0.2, 2.5));
		break;
	case 3:
		add(theme, "%.3f hole s%d %.3f", at, server,
		    moment(theme, 0.1, 4));
		break;
	case 4:
		add(theme, "%.3f slow s%d %.3f %.3f", at, server,
		    moment(theme, 0.5, 5), delay);
		break;
	default:
		add(theme, "%.3f double s%d", at, server);
		break;
	}
}

static void
add_server_fault(struct theme *theme, double at, int server)
{
	switch (pick(theme, 0, 4)) {
	case 0:
	case 1:
		add(theme, "%.3f freeze s%d %.3f", at, server,
		    moment(theme, 0.01, 5));
		break;
	case 2:
		add(theme, "%.3f flush s%d", at, server);
		break;
	default:
		add(theme, "%.3f crash s%d %.3f %s", at, server,
		    moment(theme, 0.01, 3), theme->loses ? "lost" : "kept");
		break;
	}
}

/* The primary fails, or is cut off and goes on for a while, or is replaced in
 * order. */
static void
add_failover(struct theme *theme, double at)
{
	int former = theme->primary, now = 3 - former;
	double goes_on = moment(theme, 0, 1);

	theme->primary = now;
	switch (pick(theme, 0, 2)) {
	case 0:
		add(theme, "%.3f crash s%d %.3f kept", at, former,
		    moment(theme, 1, 4));
		add(theme, "%.3f promote s%d s%d %.3f", at + 0.1 + goes_on,
		    former, now, moment(theme, 1, 3));
		break;
	case 1:
		add(theme, "%.3f unlink s%d %.3f", at, now,
		    moment(theme, 0.1, 3));
		/* fall through */
	default:
		add(theme, "%.3f promote s%d s%d %.3f", at + goes_on, former,
		    now, moment(theme, 0.05, 3));
		break;
	}
}

static void
add_fleet_fault(struct theme *theme, double at)
{
	if (theme->kind_of_servers == SENTINEL)
		add_failover(theme, at);
	else if (theme->kind_of_servers == CLUSTER)
		add(theme, "%.3f move lock%d %.3f", at,
		    theme->locks > 1 && chance(theme, 50),
		    moment(theme, 0.03, 4));
}

/* With --min-uptime only one server may have forgotten at a time. */
static void
add_faults(struct theme *theme)
{
	double from = theme->loses ? 5 : 0;

	for (double at = moment(theme, from, from + 3); at < theme->span;
	     at +=
	     theme->loses ? moment(theme, 7, 10) : moment(theme, 0.1, 3)) {
		int server = pick(theme, 1, theme->servers);
		char run = (char)('A' + pick(theme, 0, theme->runs - 1));

		if (theme->kind_of_servers >= SENTINEL && chance(theme, 35)) {
			add_fleet_fault(theme, at);
			at += 3;
		} else if (chance(theme, 40))
			add_process_fault(theme, at, run);
		else if (chance(theme, 50))
			add_network_fault(theme, at, server);
		else
			add_server_fault(theme, at, server);
	}
}

/* --- all of it
 * -------------------------------------------------------------------- */

static void
add_clocks(struct theme *theme)
{
	for (int i = 0; i < theme->runs; i++)
		if (chance(theme, 50))
			add(theme, "clock %c %d", 'A' + i,
			    pick(theme, -4900, 4900));
	for (int i = 1; i <= theme->servers; i++)
		if (chance(theme, 50))
			add(theme, "clock s%d %d", i, pick(theme, -4900, 4900));
}

static void
choose_servers(struct theme *theme)
{
	int kind = pick(theme, 0, 9);

	theme->primary = 1;
	theme->kind_of_servers = kind < 5   ? ONE
				 : kind < 7 ? REDLOCK
				 : kind < 9 ? SENTINEL
					    : CLUSTER;
	theme->servers = theme->kind_of_servers == ONE ? 1
			 : theme->kind_of_servers == REDLOCK
			     ? chance(theme, 60) ? 3 : 5
			 : theme->kind_of_servers == SENTINEL ? 2
							      : 3;
}

void
generate_history(struct history *history, uint64_t seed)
{
	struct theme theme = {.history = history};
	struct theme *t = &theme;

	history->seed = world.seed = seed;
	theme.die = die_of("history", 0);
	choose_servers(t);
	theme.calm = chance(t, 35);
	theme.loses =
	    theme.kind_of_servers == REDLOCK && !theme.calm && chance(t, 50);
	theme.replicates = chance(t, 60);
	theme.runs = pick(t, 2, 12);
	theme.locks = chance(t, 70) ? 1 : 2;
	theme.kind =
	    theme.kind_of_servers == REDLOCK ? 'x' : "xxxxsp"[pick(t, 0, 5)];
	theme.span = moment(t, 2, 20);
	add(t, "servers %s %d",
	    (const char *const[]){"one", "redlock", "sentinel",
		"cluster"}[theme.kind_of_servers],
	    theme.servers);
	if (theme.calm)
		add(t, "calm");
	for (int i = 0; i < theme.runs; i++)
		add_run(t, i);
	add_clocks(t);
	if (!theme.calm)
		add_faults(t);
	else if (theme.kind_of_servers == ONE && chance(t, 20)) {
		double holds = moment(t, 0.1, 1.5);
		add(t, "%.3f foreign s1 lock0 2 %.3f", moment(t, 0, 3), holds);
	}
}
