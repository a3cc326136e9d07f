#include "generate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* Runs are called A to P: Q0 is a command. */
enum { SHARDS = 3, MOMENTS = 64, SUCCESSORS = 14 };
enum { NEWEST = 11 }; /* among the policies */

/* What a history is about; its runs and faults are drawn from it. */
struct theme {
	struct history *history;
	struct die die;
	enum { ONE, REDLOCK, SENTINEL, CLUSTER } kind_of_servers;
	int servers;		 /* that a run asks for data */
	bool is_replica[SHARDS]; /* its replica is the primary now */
	int runs;		 /* A, B, C, ... */
	int locks;
	int policy; /* that most of its runs have; -1: none */
	bool calm, loses, has_replicas, replicates;
	/* When a run or a job begins or ends, if nothing is in its way: faults
	 * strike close to that. */
	double moments[MOMENTS];
	int moment_count;
	int restarts;
	char kind;   /* of all its locks */
	double span; /* seconds in which runs begin and faults strike */
};

static void
note_moments(struct theme *theme, const char *line)
{
	const char *job = strstr(line, " -- ");
	double at = strtod(line, NULL);

	if (job == NULL || theme->moment_count + 2 > MOMENTS)
		return;
	theme->moments[theme->moment_count++] = at;
	theme->moments[theme->moment_count++] = at + strtod(job + 4, NULL);
}

__attribute__((format(printf, 2, 3))) static void
add(struct theme *theme, const char *format, ...)
{
	char line[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	history_add(theme->history, line);
	note_moments(theme, line);
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
	case 4:
		append(text, " --kill-after %.1f", moment(theme, 0, 2));
		break;
	case 5:
		append(text, " -E %d", chance(theme, 30) ? 0 : 90);
		append(text, " --server-timeout %d", pick(theme, 2, 10));
		break;
	case 6:
		append(text, " --on-unavailable skip");
		append(text, " --server-timeout %.1f", moment(theme, 0.3, 3));
		break;
	default:
		break;
	}
}

static void
append_policy(struct theme *theme, struct text *text, bool waits)
{
	int policy = theme->policy >= 0 && chance(theme, 70)
			 ? theme->policy
			 : pick(theme, 0, 12);

	if (policy >= NEWEST && !waits)
		return;
	switch (policy) {
	case 0:
		append(text, " --once-per %.1f", moment(theme, 0.5, 5));
		break;
	case 1:
		append(text, " --once-id id%d", pick(theme, 1, 2));
		break;
	case 2: /* these exclude it */
		if (strstr(text->bytes, "--cron") == NULL &&
		    strstr(text->bytes, "--min-hold") == NULL)
			append(text, " --replaceable");
		break;
	case 3:
		append(text, " --expect %.1f", moment(theme, 0.5, 5));
		break;
	case 4:
		append(text, " --once-per %.1f -E 0", moment(theme, 0.5, 5));
		append(text, " --expect %.1f", moment(theme, 1, 9));
		break;
	case 5:
		append(text, " --keep-history 0");
		break;
	case 6:
		if (waits)
			append(text, " --max-waiters %d", pick(theme, 0, 3));
		break;
	case NEWEST:
		append(text, " --newest");
		break;
	case 12:
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
	bool is_cron = !waits && chance(theme, 40);
	bool plain = append_keys(theme, &text);

	if (theme->has_replicas && theme->replicates)
		append(&text, " --wait-replicas 1");

	append(&text, " -t %d", pick(theme, 1, 3));
	if (theme->kind_of_servers == REDLOCK)
		append(&text, " --min-uptime %d", theme->loses ? 3 : 0);
	if (is_cron)
		append(&text, " --cron%s",
		    chance(theme, 50) ? " --min-hold 1" : "");
	else if (!waits)
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

/* --- nests ------------------------------------------------------------------
 */

/* Runs in a job, and in their jobs, that outlive it mostly; and one that waits
 * for the lock. */
static void
add_nest(struct theme *theme)
{
	char outer = (char)('A' + theme->runs++);
	char waiting = (char)('A' + theme->runs++);
	double at = theme->loses ? 4 : moment(theme, 0, 1);
	double lasts =
	    theme->loses ? moment(theme, 12, 25) : moment(theme, 0.5, 10);
	double begins = moment(theme, 0.02, lasts / 2);
	double outlives = moment(theme, -0.5, 6), waits;
	struct text text = {" -k lock0"};

	if (theme->kind != 'x')
		append(&text, theme->kind == 's' ? " -s" : " -p 2");
	if (theme->kind_of_servers == REDLOCK)
		append(&text, " --min-uptime %d", theme->loses ? 3 : 0);
	if (theme->has_replicas && theme->replicates)
		append(&text, " --wait-replicas 1");
	add(theme, "%.3f run %c%s -t %d -- %.3f", at, outer, text.bytes,
	    pick(theme, 1, 3), lasts);
	add(theme, "%.3f run %cn in %c%s -t %d -- %.3f", at + begins, outer,
	    outer, text.bytes, pick(theme, 1, 3), lasts - begins + outlives);
	if (chance(theme, 30)) {
		double innermost = moment(theme, 0, 6);
		add(theme, "%.3f run %cnn in %cn%s -t 1 -- %.3f",
		    at + moment(theme, begins, lasts), outer, outer, text.bytes,
		    innermost);
	}
	waits = moment(theme, 0.01, lasts);
	add(theme, "%.3f run %c%s -t 1 -- %.3f", at + waits, waiting,
	    text.bytes, moment(theme, 0, 2));
	if (theme->span < at + lasts)
		theme->span = at + lasts;
}

/* --- commands of administrators ----------------------------------------- */

/* How a command waits for a lock. A pause of two locks and a run of both may
 * wait for each other. */
static void
append_wait(struct theme *theme, struct text *text)
{
	if (theme->kind_of_servers == SENTINEL && theme->replicates)
		append(text, " --wait-replicas 1");
	if (chance(theme, 20))
		append(text, " -n");
	else if (theme->locks > 1 || chance(theme, 50))
		append(text, " -w %.1f", moment(theme, 0.5, 6));
}

static void
add_look(struct theme *theme, int number, double at)
{
	static const char *const looks[] = {"--status", "--status",
	    "--status -q", "--history --json", "--history --json", "--check",
	    "--check"};

	int lock = pick(theme, 0, theme->locks - 1);

	if (chance(theme, 15))
		add(theme, "%.3f run Q%d --list --json", at, number);
	else
		add(theme, "%.3f run Q%d %s -k lock%d", at, number,
		    looks[pick(theme, 0, 6)], lock);
}

/* A hold, which may be extended or ended with its token. */
static void
add_hold(struct theme *theme, int number, double at)
{
	int lock = pick(theme, 0, theme->locks - 1);
	/* One beyond 30 s is granted for less at first. */
	double lasts =
	    chance(theme, 20) ? moment(theme, 31, 35) : moment(theme, 1, 4);
	struct text text = {""};

	append_wait(theme, &text);
	add(theme, "%.3f run Q%d --hold %.1f -k lock%d%s", at, number, lasts,
	    lock, text.bytes);
	at += moment(theme, 0.1, lasts + 1);
	if (chance(theme, 40))
		add(theme, "%.3f run Q%dx --hold %.1f -k lock%d --token @Q%d",
		    at, number, moment(theme, 1, 4), lock, number);
	at += moment(theme, 0, 2);
	if (chance(theme, 40))
		add(theme,
		    "%.3f run Q%df --force-release -k lock%d --token @Q%d", at,
		    number, lock, number);
}

static void
add_pause(struct theme *theme, int number, double at)
{
	double lasts = moment(theme, 1, 5);
	struct text text = {""};

	append_wait(theme, &text);
	add(theme, "%.3f run Q%d --pause lock* -k lock0 --for %.1f%s", at,
	    number, lasts, text.bytes);
	if (chance(theme, 60))
		add(theme, "%.3f run Q%dr --resume lock*",
		    at + moment(theme, 0.1, lasts), number);
}

static void
add_commands(struct theme *theme)
{
	int count = chance(theme, 50) ? 0 : pick(theme, 1, 4);

	if (theme->kind_of_servers == REDLOCK)
		return;
	for (int i = 0; i < count; i++) {
		double at = moment(theme, 0, theme->span);
		int what = pick(theme, 0, 9);

		if (what == 0)
			add_hold(theme, i, at);
		else if (what == 1)
			add_pause(theme, i, at);
		else if (what == 2 && chance(theme, 20))
			add(theme,
			    "%.3f run Q%d --force-release -k lock0 --yes", at,
			    i);
		else
			add_look(theme, i, at);
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
add_network_fault(struct theme *theme, double at, const char *server, char run)
{
	double delay = moment(theme, 0.01, 1.5);
	bool to = chance(theme, 50);
	char struck[16];

	snprintf(struck, sizeof(struck), "%s",
	    chance(theme, 30) ? (char[]){run, '\0'} : server);
	switch (pick(theme, 0, 5)) {
	case 0:
	case 1:
		add(theme, "%.3f cut %s", at, struck);
		break;
	case 2:
		add(theme, "%.3f stall %s %s %.3f", at, struck,
		    to ? "to" : "from", moment(theme, 0.2, 2.5));
		break;
	case 3:
		add(theme, "%.3f hole %s %.3f", at, server,
		    moment(theme, 0.1, 4));
		break;
	case 4:
		add(theme, "%.3f slow %s %.3f %.3f", at, server,
		    moment(theme, 0.5, 5), delay);
		break;
	default:
		add(theme, "%.3f double %s", at, struck);
		break;
	}
}

/* With --min-uptime only one server may have forgotten at a time: they restart
 * in turn. What has replicas keeps its data, as they would copy the loss. */
static void
add_restart(struct theme *theme, double at, const char *server)
{
	const char *data = theme->has_replicas || !chance(theme, 30) ? "kept"
			   : theme->kind_of_servers == REDLOCK	     ? "kept"
			   : chance(theme, 50)			     ? "lost"
								     : "dumped";
	double lasts = moment(theme, 0.01, 3);

	if (strcmp(data, "dumped") == 0)
		add(theme, "%.3f dump %s", at - moment(theme, 0, 3), server);
	add(theme, "%.3f crash %s %.3f %s", at, server, lasts, data);
	if (chance(theme, 30))
		add(theme, "%.3f loading %s %.3f", at + lasts, server,
		    moment(theme, 0.05, 2));
}

static void
add_refusal(struct theme *theme, double at, const char *server)
{
	static const char *const states[] = {"full", "loading", "busy",
	    "misconf"};
	static const char *const commands[] = {"evalsha", "eval", "time", "set",
	    "get", "del", "exists", "pexpire", "pttl", "zadd", "zrem", "zrange",
	    "zrangebyscore", "zscore", "zrank", "zcard", "rpush", "blpop",
	    "hset", "hmget", "lpush", "lrange", "sadd", "srem", "smembers",
	    "wait", "info", "role", "client|setname"};
	enum { COMMANDS = sizeof(commands) / sizeof(*commands) };

	double lasts = moment(theme, 0.05, 3);

	if (chance(theme, 60))
		add(theme, "%.3f %s %s %.3f", at, states[pick(theme, 0, 3)],
		    server, lasts);
	else
		add(theme, "%.3f deny %s %s %.3f", at, server,
		    commands[pick(theme, 0, COMMANDS - 1)], lasts);
}

/* Of a lock, of a helper key, or of the nested runs of one holder. */
static void
add_eviction(struct theme *theme, double at, const char *server)
{
	char run = (char)('A' + pick(theme, 0, theme->runs - 1));

	if (chance(theme, 30))
		add(theme, "%.3f evict %s lock0", at, server);
	else if (chance(theme, 20))
		add(theme, "%.3f evict %s {lock0}:rlk:n:@%c", at, server, run);
	else
		add(theme, "%.3f evict %s {lock0}:rlk:%c", at, server,
		    "irql"[pick(theme, 0, 3)]);
}

static void
add_server_fault(struct theme *theme, double at, const char *server)
{
	switch (pick(theme, 0, 9)) {
	case 0:
	case 1:
	case 2:
		add(theme, "%.3f freeze %s %.3f", at, server,
		    moment(theme, 0.01, 5));
		break;
	case 3:
		add(theme, "%.3f flush %s", at, server);
		break;
	case 4:
		add_eviction(theme, at, server);
		break;
	case 5:
		add(theme, "%.3f step %s %.3f", at, server,
		    moment(theme, -3, 3));
		break;
	case 6:
	case 7:
		add_refusal(theme, at, server);
		break;
	default:
		add_restart(theme, at, server);
		break;
	}
}

/* A success that the failover at that time may forget, and a run that is to
 * know it. They have a lock of their own, so that nobody delays them. */
static void
add_successors(struct theme *theme, double at)
{
	const char *policy =
	    chance(theme, 50) ? "--once-id id3" : "--once-per 60";
	double lasts = moment(theme, 0, 1);
	int ttl = pick(theme, 1, 3);

	at += moment(theme, 0, 0.3);
	add(theme, "%.3f run %c -k lock2 --wait-replicas 1 -t %d %s -- %.3f",
	    at > lasts ? at - lasts : 0, 'A' + theme->runs++, ttl, policy,
	    lasts);
	add(theme, "%.3f run %c -k lock2 --wait-replicas 1 -t 2 %s -- 0.1",
	    at + moment(theme, 0.5, 5), 'A' + theme->runs++, policy);
}

/* The primary fails, or is cut off and goes on for a while, or is replaced in
 * order. */
static void
add_failover(struct theme *theme, double at)
{
	bool is_cluster = theme->kind_of_servers == CLUSTER;
	int shard = is_cluster ? pick(theme, 0, SHARDS - 1) : 0;
	double goes_on = moment(theme, 0, 1);
	char names[2][16], *former, *now;

	snprintf(names[0], sizeof(*names), "s%d", shard + 1);
	snprintf(names[1], sizeof(*names), is_cluster ? "r%d" : "s%d",
	    is_cluster ? shard + 1 : 2);
	former = names[theme->is_replica[shard]];
	now = names[!theme->is_replica[shard]];
	theme->is_replica[shard] = !theme->is_replica[shard];
	if (theme->replicates && theme->runs < SUCCESSORS && chance(theme, 40))
		add_successors(theme, at);
	switch (pick(theme, 0, 2)) {
	case 0:
		add(theme, "%.3f crash %s %.3f kept", at, former,
		    moment(theme, 1, 4));
		add(theme, "%.3f promote %s %s %.3f", at + 0.1 + goes_on,
		    former, now, moment(theme, 1, 3));
		break;
	case 1:
		add(theme, "%.3f unlink %s %.3f", at, now,
		    moment(theme, 0.1, 3));
		/* fall through */
	default:
		add(theme, "%.3f promote %s %s %.3f", at + goes_on, former, now,
		    moment(theme, 0.05, 3));
		break;
	}
}

static void
add_fleet_fault(struct theme *theme, double at)
{
	if (theme->has_replicas &&
	    (theme->kind_of_servers == SENTINEL || chance(theme, 50)))
		add_failover(theme, at);
	else if (theme->kind_of_servers == CLUSTER) {
		int lock = pick(theme, 0, theme->locks - 1);
		add(theme, "%.3f move lock%d %.3f", at, lock,
		    moment(theme, 0.03, 4));
	}
}

/* At that time, or close to the next moment. */
static double
strike_time(struct theme *theme, double at)
{
	double next = at + 4;

	if (!chance(theme, 60))
		return at;
	for (int i = 0; i < theme->moment_count; i++)
		if (theme->moments[i] > at && theme->moments[i] < next)
			next = theme->moments[i];
	return next == at + 4 ? at : next + moment(theme, -0.3, 0.2);
}

static void
add_faults(struct theme *theme)
{
	double forgot_at = -10;
	char server[16];

	for (double at = moment(theme, 0, 3); at < theme->span;
	     at += moment(theme, 0.1, 3)) {
		int number = pick(theme, 1, theme->servers);
		char run = (char)('A' + pick(theme, 0, theme->runs - 1));

		at = strike_time(theme, at);
		snprintf(server, sizeof(server), "s%d", number);
		if (theme->loses && at > forgot_at + 7) {
			add(theme, "%.3f crash s%d %.3f lost", at,
			    theme->restarts++ % theme->servers + 1,
			    moment(theme, 0.01, 3));
			forgot_at = at;
		} else if (theme->kind_of_servers >= SENTINEL &&
			   chance(theme, 35)) {
			add_fleet_fault(theme, at);
			at += 3;
		} else if (chance(theme, 40)) {
			add_process_fault(theme, at, run);
		} else if (chance(theme, 50)) {
			add_network_fault(theme, at, server, run);
		} else {
			add_server_fault(theme, at, server);
		}
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

	theme->kind_of_servers = kind < 4   ? ONE
				 : kind < 6 ? REDLOCK
				 : kind < 8 ? SENTINEL
					    : CLUSTER;
	theme->servers = theme->kind_of_servers == ONE ? 1
			 : theme->kind_of_servers == REDLOCK
			     ? chance(theme, 60) ? 3 : 5
			 : theme->kind_of_servers == SENTINEL ? 2
							      : SHARDS;
	theme->has_replicas =
	    theme->kind_of_servers == SENTINEL ||
	    (theme->kind_of_servers == CLUSTER && chance(theme, 50));
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
	theme.policy =
	    chance(t, 25) ? (int[]){0, 1, 2, 6, NEWEST, 12}[pick(t, 0, 5)] : -1;
	/* A grant that too few replicas have is withdrawn. */
	if (theme.has_replicas && theme.replicates && chance(t, 20))
		theme.policy = NEWEST;
	theme.runs = pick(t, 2, 8);
	theme.locks = chance(t, 70) ? 1 : 2;
	theme.kind =
	    theme.kind_of_servers == REDLOCK ? 'x' : "xxxxsp"[pick(t, 0, 5)];
	theme.span = moment(t, 2, 20);
	add(t, "servers %s %d%s",
	    (const char *const[]){"one", "redlock", "sentinel",
		"cluster"}[theme.kind_of_servers],
	    theme.servers,
	    theme.has_replicas && theme.kind_of_servers == CLUSTER ? " replicas"
								   : "");
	if (theme.calm)
		add(t, "calm");
	for (int i = 0; i < theme.runs; i++)
		add_run(t, i);
	if (chance(t, 20))
		add_nest(t);
	add_commands(t);
	add_clocks(t);
	if (!theme.calm)
		add_faults(t);
	else if (theme.kind_of_servers == ONE && chance(t, 20)) {
		double holds = moment(t, 0.1, 1.5);
		add(t, "%.3f foreign s1 lock0 2 %.3f", moment(t, 0, 3), holds);
	}
}
