#include "tellings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "base/exitcode.h"
#include "guarded.h"
#include "known.h"
#include "node.h"
#include "remembered.h"
#include "run/event.h"

enum { RUNS_SHOWN = 10, NAME = 32 };
/* From when a reply was true until its message is printed, in a calm world; and
 * that of a waiter far behind, which asks each five seconds. */
#define FRESH (20 * WORLD_MS)
#define HEARTBEAT (6 * WORLD_S)
/* Two clocks of a calm world, and a reply on its way. */
#define CLOCKS (30 * WORLD_MS)

static void
find_lie(const struct actor *actor, const char *promise, const char *text)
{
	world_find(promise, "%s says %.*s", actor->name,
	    (int)strcspn(text, "\n"), text);
}

/* --- exit statuses ----------------------------------------------------------
 */

/* What may be said of a job that has run. */
static bool
may_exit_with(const struct actor *actor, int status)
{
	const struct guarded *job = actor->guarded;

	if (status == EXITCODE_OVERRUN)
		return actor->opts->max_run_ms > 0;
	if (status == EXITCODE_REPLACED)
		return actor->opts->lock.replaceable;
	if (!world.calm || actor->outer != NULL || known_is_excused(actor) ||
	    known_has_majority())
		return true;
	return job->told_to_end_at >= 0 ||
	       status == event_shell_status(job->status);
}

/* What is skipped has the status of -E, and nothing else has it for that. */
static void
check_skip_status(const struct actor *actor, bool started)
{
	const struct opts *opts = actor->opts;
	bool is_skip = actor->ending >= ENDING_NOT_DUE &&
		       actor->ending <= ENDING_NO_SERVER;
	const char *text = actor->err != NULL ? actor->err : "";

	if (!actor_is_run(actor))
		return;
	if (is_skip && (started || actor->status != opts->conflict_exit))
		world_find("-E is the status of every skip",
		    "%s is skipped with %d", actor->name, actor->status);
	if (!is_skip && actor->status == 0 && !started)
		world_find("the exit code tells the truth",
		    "%s exits with 0, and no job ran", actor->name);
	if (is_skip && opts->quiet &&
	    (world.calm ? *text != '\0'
			: strstr(text, OPTS_NOT_STARTED) != NULL))
		find_lie(actor, "a quiet skip is silent", text);
	if (opts->on_unavailable == OPTS_UNAVAILABLE_SKIP
		? actor->ending == ENDING_UNAVAILABLE
		: actor->ending == ENDING_NO_SERVER)
		find_lie(actor, "--on-unavailable", text);
}

static void
check_status(const struct actor *actor)
{
	const struct guarded *job = actor->guarded;
	bool started = job != NULL && job->started_at >= 0;
	int status = event_shell_status(actor->status);

	if (status == 0 && started && (job->ended_at < 0 || job->status != 0))
		world_find("the exit code tells the truth",
		    "%s exits with 0, its job with %d", actor->name,
		    job->status);
	if (status == 0 && actor->is_lost)
		world_find("a lost lock never looks like success",
		    "%s exits with 0", actor->name);
	check_skip_status(actor, started);
	if (started && status == EXITCODE_BUSY &&
	    actor->job_plan.status != EXITCODE_BUSY)
		world_find("the exit code tells the truth",
		    "%s exits with 75, but its job ran", actor->name);
	if (started && !may_exit_with(actor, status))
		world_find("the exit code tells the truth",
		    "%s exits with %d, its job with %d", actor->name, status,
		    job->status);
	if (actor->ending == ENDING_QUEUE_FULL &&
	    actor->opts->lock.max_waiters == CONFIG_ANY_WAITERS)
		find_lie(actor, "a skip has a reason", "the queue is full");
	if (status == EXITCODE_INTERNAL)
		find_lie(actor, "no internal error",
		    actor->err != NULL ? actor->err : "nothing");
}

/* Nothing has struck it. */
static void
check_calm_status(const struct actor *actor)
{
	const char *promise = "nothing is lost without a reason";
	const char *text = actor->err != NULL ? actor->err : "nothing";

	if (!world.calm)
		return;
	if (actor->status == EXITCODE_LOST && actor->guarded != NULL &&
	    !known_is_excused(actor) && actor->outer == NULL)
		find_lie(actor, promise, text);
	/* The wait for several may end when the next one was not asked yet. */
	if ((actor->status == EXITCODE_UNAVAILABLE ||
		actor->ending == ENDING_NO_SERVER) &&
	    !known_has_majority() &&
	    (actor->opts->key_count == 1 || actor->opts->wait_ms < 0))
		find_lie(actor, promise, text);
	if (actor->ending == ENDING_BUSY && actor_waits_plainly(actor) &&
	    actor->opts->wait_ms < 0)
		find_lie(actor, promise, text);
}

/* --- messages ---------------------------------------------------------------
 */

/* `"lock0" is held by A (pid 1000, sim) since ...`: A may hold it. */
static void
check_holder(const struct actor *actor, const char *message)
{
	char key[NAME], how[NAME], name[NAME];
	int64_t since = actor->begun_at;
	const struct actor *holder;

	if (sscanf(message, "rlockrun: \"%31[^\"]\" is %31[^(\n] (", key,
		how) != 2 ||
	    (strncmp(how, "held ", 5) != 0 && strncmp(how, "paused ", 7) != 0))
		return;
	if (strstr(how, " by ") == NULL ||
	    sscanf(strstr(how, " by "), " by %31s", name) != 1)
		return;
	if (world.calm) {
		bool at_once = actor->opts != NULL && actor->opts->wait_ms == 0;
		int64_t age =
		    at_once && !known_has_majority() ? FRESH : HEARTBEAT;
		since = world.now - age > since ? world.now - age : since;
	}
	holder = actor_find(name);
	if (strcmp(name, "another") == 0) { /* client */
		if (world.calm && !seen_of(key)->had_foreign)
			find_lie(actor, "a message names the holder", message);
		return;
	}
	if (holder == NULL || !known_may_hold(holder, key, since, world.now))
		find_lie(actor, "a message names the holder", message);
	/* Nested runs that keep the lock of one that has left read no order.
	 * Otherwise a late try of one that has ended may have been granted. */
	if (world.calm && holder != NULL && holder->state == ACTOR_ENDED &&
	    holder->ended_at < since &&
	    strstr(message, "asked to stop") != NULL)
		find_lie(actor, "who is asked to stop can obey", message);
}

/* The end of a hold moves when it is extended; of other holders no end is
 * shown.
 */
static bool
is_told_again(const struct told_wait *a, const struct told_wait *b)
{
	const struct holder *one = &a->holder, *other = &b->holder;
	int64_t later_ms = other->reported_at + other->left_ms -
			   one->reported_at - one->left_ms;

	return a->is_known && a->name == b->name &&
	       a->position == b->position && one->state == other->state &&
	       one->others_queued == other->others_queued &&
	       one->order == other->order && one->count == other->count &&
	       one->permits == other->permits &&
	       strcmp(one->host, other->host) == 0 &&
	       strcmp(one->pid, other->pid) == 0 &&
	       (one->state < HOLDER_HOLD || llabs(later_ms) < 2000);
}

static void
check_wait(struct actor *actor, const struct event *event)
{
	struct told_wait told = {.is_known = true,
	    .name = event->name,
	    .position = event->position};

	if (event->type == EVENT_NO_REPLY)
		actor->told_wait.is_known = false;
	if (event->type != EVENT_WAITING)
		return;
	told.holder = *event->holder;
	if (is_told_again(&actor->told_wait, &told))
		find_lie(actor, "a wait is reported when something changes",
		    event->name);
	actor->told_wait = told;
}

void
tellings_on_event(struct actor *actor, const struct event *event)
{
	check_wait(actor, event);
	while (actor->heard < actor->err_length) {
		const char *line = actor->err + actor->heard;
		size_t length = strcspn(line, "\n");
		check_holder(actor, line);
		actor->heard += length + 1;
	}
}

/* --- --status and --list ----------------------------------------------------
 */

/* Whether that run may be named as one that has ended so. */
static bool
may_have_ended(const struct actor *run, const char *key, int status)
{
	return run != NULL && actor_has_key(run, key) && run->guarded != NULL &&
	       (run->state != ACTOR_ENDED ||
		   event_shell_status(run->status) == status);
}

static void
check_status_line(const struct actor *actor, const char *key, const char *line)
{
	char name[NAME];
	const char *status = strstr(line, "status ");
	const struct actor *run;
	bool nobody = strncmp(line, "holder:   nobody", 16) == 0;

	if (nobody && known_is_held(key, actor->begun_at, actor->ended_at))
		find_lie(actor, "--status tells who holds the lock", line);
	if (!nobody && sscanf(line, "holder: %31s (pid", name) == 1) {
		run = actor_find(name);
		if (run != NULL &&
		    !known_may_hold(run, key, actor->begun_at, actor->ended_at))
			find_lie(actor, "--status tells who holds the lock",
			    line);
	}
	if (sscanf(line, "last run: %31s (", name) == 1 && status != NULL &&
	    strchr(line, '\n') > status) {
		run = actor_find(name);
		if (!may_have_ended(run, key,
			(int)strtol(status + 7, NULL, 10)))
			find_lie(actor, "--status tells how runs ended", line);
	}
	if (sscanf(line, "success: %31s ", name) == 1) {
		run = actor_find(name);
		if (!may_have_ended(run, key, 0))
			find_lie(actor, "--status tells how runs ended", line);
	}
}

static bool
anyone_may_hold(const struct actor *actor, const char *key)
{
	for (int i = 0; i < actor_count(); i++)
		if (known_may_hold(actor_number(i), key, actor->begun_at,
			actor->ended_at))
			return true;
	return seen_of(key)->had_foreign;
}

static void
check_quiet_status(const struct actor *actor, const char *key)
{
	bool is_held = known_is_held(key, actor->begun_at, actor->ended_at);

	if ((actor->status == 0 && is_held) ||
	    (actor->status == EXITCODE_BUSY && !anyone_may_hold(actor, key)))
		world_find("--status -q tells whether the lock is held",
		    "%s exits with %d", actor->name, actor->status);
}

static void
check_shown_status(const struct actor *actor, const char *key)
{
	if (actor_has_word(actor, "-q")) {
		check_quiet_status(actor, key);
		return;
	}
	if (actor->status != 0)
		return;
	for (const char *line = actor->stream_text; *line != '\0';
	     line += strcspn(line, "\n") + 1)
		check_status_line(actor, key, line);
}

/* --list finds a lock by the record of its holder, which somebody has deleted,
 * or the server has not written: as it was used without helper keys, or kept
 * when it refused the end. */
static bool
is_out_of_sight(const char *key, const struct actor *actor)
{
	int64_t at = seen_of(world_format("{%s}:rlk:i", key))->stolen_at;

	for (int i = 0; i < actor_count(); i++) {
		const struct actor *other = actor_number(i);
		bool keeps = other->opts != NULL && other->is_unconfirmed &&
			     other->opts->min_hold_ms > 0;

		if ((other->is_plain || keeps) && actor_has_key(other, key))
			return true;
	}
	return !known_has_majority() && at >= 0 && at <= actor->ended_at;
}

/* A lock is listed if and only if somebody holds it. */
static void
check_list(const struct actor *actor)
{
	static const char *const names[] = {"lock0", "lock1"};

	if (actor->status != 0 || (!world.calm && known_servers() == CLUSTER))
		return; /* one that moves may be nowhere when nodes are asked */
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *name = world_format("\"name\":\"%s\"", names[i]);
		bool shown = strstr(actor->stream_text, name) != NULL;
		if (shown ? !anyone_may_hold(actor, names[i])
			  : known_is_held(names[i], actor->begun_at,
				actor->ended_at) &&
				!is_out_of_sight(names[i], actor))
			world_find("--list tells which locks are held",
			    "%s %s %s", actor->name,
			    shown ? "shows" : "does not show", names[i]);
	}
}

/* --- --history --------------------------------------------------------------
 */

/* A run as it is shown. */
struct shown {
	const struct actor *run;
	bool is_on, has_end;
	int status;
	int64_t fence;
	int64_t start_us; /* since the history began */
};

static const char *
member(const char *object, const char *name)
{
	const char *at = strstr(object, world_format("\"%s\":", name));

	return at != NULL ? at + strlen(name) + 3 : "";
}

static size_t
read_runs(const char *text, struct shown *runs)
{
	size_t count = 0;

	for (text = strstr(text, "\"runs\":[");
	     text != NULL && (text = strstr(text, "{\"running\":")) != NULL &&
	     count < RUNS_SHOWN;
	     text++) {
		char name[NAME] = "";
		sscanf(member(text, "host"), "\"%31[^\"]", name);
		runs[count++] = (struct shown){.run = actor_find(name),
		    .is_on = *member(text, "running") == 't',
		    .has_end = *member(text, "end_ms") != 'n',
		    .status = (int)strtol(member(text, "status"), NULL, 10),
		    .fence = strtoll(member(text, "fence"), NULL, 10),
		    .start_us =
			strtoll(member(text, "start_ms"), NULL, 10) * WORLD_MS -
			node_epoch_us()};
	}
	return count;
}

/* The servers know its end, as far as it knows. */
static bool
is_recorded(const struct actor *run, const char *key)
{
	return run->state == ACTOR_ENDED && actor_is_run(run) &&
	       actor_has_key(run, key) && run->outer == NULL &&
	       run->opts->lock.history_ms > 0 && run->guarded != NULL &&
	       run->guarded->started_at >= 0 && run->is_released &&
	       !known_may_be_forgotten(run) && !known_has_lost(run->begun_at);
}

/* That of its job; 0: it has none. */
static int64_t
fence_of(const struct actor *run)
{
	return run->guarded != NULL ? strtoll(run->guarded->fence, NULL, 10)
				    : 0;
}

static bool
is_true(const struct actor *actor, const char *key, const struct shown *shown)
{
	const struct actor *run = shown->run;

	if (run == NULL || !actor_has_key(run, key) || run->begun_at < 0 ||
	    run->begun_at > actor->ended_at)
		return false;
	if (shown->has_end)
		/* A release that arrives twice has freed the lock, and says
		 * that it was lost. */
		return known_has_repeated() ||
		       may_have_ended(run, key, shown->status);
	if (shown->is_on)
		return known_may_hold(run, key, actor->begun_at,
		    actor->ended_at);
	/* One lock of several may have been lost before the job started, and a
	 * grant of which it never heard may be filed by another holder. What
	 * its release may not read it cannot file. */
	return known_has_repeated() || known_has_unreadable() ||
	       run->opts->key_count > 1 ||
	       (!world.calm && shown->fence != fence_of(run)) ||
	       run->ended_at > actor->begun_at || !is_recorded(run, key);
}

static int
count_shown(const struct shown *runs, size_t count, const struct actor *run)
{
	int times = 0;

	for (size_t i = 0; i < count; i++)
		times += runs[i].run == run && runs[i].has_end;
	return times;
}

/* All that have ended before are there, each once, if there is room. */
static void
check_complete(const struct actor *actor, const char *key,
    const struct shown *runs, size_t count)
{
	int room = RUNS_SHOWN;

	for (int i = 0; i < actor_count(); i++)
		room -= actor_is_run(actor_number(i)) &&
			actor_number(i)->begun_at < actor->ended_at &&
			actor_has_key(actor_number(i), key);
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *run = actor_number(i);
		int times = count_shown(runs, count, run);
		if (times > 1 && !known_has_repeated())
			world_find("--history shows each run once",
			    "%s shows %s %d times", actor->name, run->name,
			    times);
		if (times == 0 && room >= 0 && is_recorded(run, key) &&
		    run->ended_at < actor->begun_at)
			world_find("--history shows each run once",
			    "%s does not show %s", actor->name, run->name);
	}
}

static void
check_history(const struct actor *actor, const char *key)
{
	struct shown runs[RUNS_SHOWN];
	size_t count;

	if (actor->status != 0)
		return;
	count = read_runs(actor->stream_text, runs);
	for (size_t i = 0; i < count; i++) {
		int64_t off = runs[i].run == NULL
				  ? 0
				  : runs[i].start_us - runs[i].run->granted_at;
		if (!is_true(actor, key, &runs[i]))
			world_find("--history tells how runs ended",
			    "%s shows %s with status %d", actor->name,
			    runs[i].run != NULL ? runs[i].run->name : "nobody",
			    runs[i].status);
		else if (world.calm && runs[i].run->opts->key_count == 1 &&
			 llabs(off) > world.now / 100 + CLOCKS)
			world_find("--history tells when runs began",
			    "%s shows %s %" PRId64 " ms later", actor->name,
			    runs[i].run->name, off / WORLD_MS);
		if (i > 0 && runs[i].start_us > runs[i - 1].start_us &&
		    !known_has_stepped(runs[i].run->begun_at))
			world_find("--history shows the newest first",
			    "%s shows %s too late", actor->name,
			    runs[i].run->name);
	}
	/* It says what it was not permitted to read. */
	if (!known_is_struck(key) && !known_has_repeated() &&
	    !known_has_unreadable() &&
	    strstr(actor->stream_text, "\"problems\":[]") != NULL)
		check_complete(actor, key, runs, count);
}

/* --- --check ----------------------------------------------------------------
 */

/* What the world knows of a lock when a command looks at it. */
struct fate {
	const struct actor *last;     /* that is over, */
	const struct actor *success;  /* and has succeeded */
	int64_t expect_ms, stated_at; /* last */
	int64_t since;		      /* stated first */
	bool is_known;
	bool is_clear; /* nothing happens while the command looks */
};

/* What a run adds to it that was granted the lock. */
static void
add_run(struct fate *fate, const struct actor *run)
{
	fate->is_known = true;
	if (run->opts->lock.expect_ms == CONFIG_EXPECT_UNSTATED)
		return;
	if (fate->stated_at < 0 || run->granted_at < fate->since)
		fate->since = run->granted_at;
	if (run->granted_at > fate->stated_at) {
		fate->stated_at = run->granted_at;
		fate->expect_ms = run->opts->lock.expect_ms;
	}
}

/* Two that share a lock may hear of their grants in the other order. */
static bool
is_later(const struct actor *run, const struct actor *than)
{
	if (run->opts->key_count == 1 && than->opts->key_count == 1)
		return fence_of(run) > fence_of(than);
	return run->granted_at > than->granted_at;
}

static void
add_end(struct fate *fate, const struct actor *run)
{
	if (fate->last == NULL || is_later(run, fate->last))
		fate->last = run;
	if (run->status == 0 && run->ending == ENDING_JOB &&
	    (fate->success == NULL || is_later(run, fate->success)))
		fate->success = run;
}

/* Whether it may have been granted the lock for a moment, which is forgotten.
 */
static bool
may_have_tried(const struct actor *run, const struct actor *looker)
{
	bool withdraws =
	    run->opts->key_count > 1 || run->opts->lock.replicas > 0;

	/* What it has sent may be granted when it is dead: a run without an
	 * end.
	 */
	if (run->state == ACTOR_KILLED)
		return true;
	/* It may have lost one of its locks, and begun again; and what it
	 * expects stays. */
	if (!world.calm &&
	    (run->opts->key_count > 1 ||
		run->opts->lock.expect_ms != CONFIG_EXPECT_UNSTATED))
		return true;
	return (withdraws || !world.calm) &&
	       (run->state == ACTOR_ALIVE ||
		   run->ended_at > looker->begun_at - WORLD_S);
}

static struct fate
fate_of(const char *key, const struct actor *looker)
{
	struct fate fate = {.expect_ms = CONFIG_EXPECT_UNSTATED,
	    .stated_at = -1,
	    .is_clear = true};

	for (int i = 0; i < actor_count(); i++) {
		const struct actor *run = actor_number(i);
		if (!actor_is_run(run) || !actor_has_key(run, key) ||
		    run->begun_at > looker->ended_at)
			continue;
		/* It may have outlived the outer run, and be one of its own. */
		fate.is_clear &= run->outer == NULL || world.calm;
		if (run->outer != NULL)
			continue;
		/* It leaves nothing behind, but is shown while it runs, and
		 * after its lock was taken from it or was not released. */
		if (run->opts->lock.history_ms == 0) {
			fate.is_clear &=
			    world.calm && !known_is_excused(run) &&
			    !known_may_hold(run, key, looker->begun_at,
				looker->ended_at);
			continue;
		}
		if (run->granted_at < 0 ||
		    run->granted_at > looker->ended_at + CLOCKS) {
			fate.is_clear &= !may_have_tried(run, looker);
			continue;
		}
		add_run(&fate, run);
		/* Of several holders: who was the last one to get it? */
		fate.is_clear &= run->opts->lock.kind == &kind_exclusive &&
				 !run->is_unconfirmed &&
				 (world.calm || run->opts->key_count == 1);
		if (is_recorded(run, key) && run->ended_at < looker->begun_at)
			add_end(&fate, run);
		else if (run->granted_at > looker->begun_at - CLOCKS ||
			 run->guarded == NULL || run->guarded->started_at < 0 ||
			 run->guarded->ended_at < looker->ended_at ||
			 known_is_excused(run))
			fate.is_clear = false;
	}
	return fate;
}

/* 0 fine, 1 failed, 2 overdue; -1: too close to say. */
static int
judge(const struct fate *fate, const struct actor *actor)
{
	const struct actor *success = fate->success;
	int64_t least =
	    success != NULL ? success->guarded->ended_at : fate->since;
	int64_t most = success != NULL ? success->ended_at : fate->since;
	int64_t period = fate->expect_ms * WORLD_MS;
	int64_t slack = CLOCKS + period / 100;

	if (!fate->is_clear)
		return -1;
	if (!fate->is_known)
		return 2;
	if (fate->expect_ms > 0) {
		if (most + period + slack < actor->begun_at)
			return 2;
		if (least + period - slack < actor->ended_at)
			return -1;
	}
	return fate->last != NULL && fate->last->status != 0;
}

static void
check_check(const struct actor *actor, const char *key)
{
	struct fate fate = fate_of(key, actor);
	int expected = known_has_repeated() ? -1 : judge(&fate, actor);

	if (!world.calm && actor->status == 3)
		return; /* no server has replied */
	if (expected >= 0 && actor->status != expected &&
	    !known_is_struck(key) && !known_has_lost(0))
		world_find("--check tells whether a success is due",
		    "%s exits with %d, not %d", actor->name, actor->status,
		    expected);
}

/* --------------------------------------------------------------------------
 */

void
tellings_at_end(const struct actor *actor)
{
	const char *key = actor_word_behind(actor, "-k");

	if (actor_is_run(actor)) {
		check_status(actor);
		check_calm_status(actor);
	}
	if (actor_has_word(actor, "--list"))
		check_list(actor);
	if (key == NULL || actor->stream_text == NULL)
		return;
	if (actor_has_word(actor, "--status"))
		check_shown_status(actor, key);
	if (actor_has_word(actor, "--history"))
		check_history(actor, key);
	if (actor_has_word(actor, "--history") && actor->status == 0)
		remembered_check(actor, key);
	if (actor_has_word(actor, "--check"))
		check_check(actor, key);
}
