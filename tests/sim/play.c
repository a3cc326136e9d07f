#include "play.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actor.h"
#include "foreign.h"
#include "guarded.h"
#include "known.h"
#include "network.h"
#include "node.h"
#include "oracle.h"
#include "replica.h"

enum { WORDS = 64 };
/* A history that has not ended so long after its last step never does. */
#define PATIENCE (600 * WORLD_S)

struct step {
	const char *line;
	int64_t at;
	char *words[WORDS];
	int count;
};

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): one stage a world */
static struct {
	char *urls; /* RLOCKRUN_REDIS */
	int64_t last_at;
	bool is_moving; /* a slot, or who is the primary */
	/* One that was replaced takes itself for the primary until then. */
	struct node *former;
	int64_t former_until;
} stage;

/* --- lines --------------------------------------------------------------- */

void
history_add(struct history *history, const char *line)
{
	if (history->count == history->room) {
		history->room = 2 * history->room + 16;
		history->lines = reallocarray(history->lines, history->room,
		    sizeof(*history->lines));
	}
	history->lines[history->count++] = strdup(line);
}

int
history_read(struct history *history, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[1024];

	if (file == NULL)
		return -1;
	while (fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "#\n")] = '\0';
		if (sscanf(line, "seed %" SCNu64, &history->seed) != 1 &&
		    line[strspn(line, " \t")] != '\0')
			history_add(history, line);
	}
	return fclose(file);
}

void
history_free(struct history *history)
{
	for (size_t i = 0; i < history->count; i++)
		free(history->lines[i]);
	free(history->lines);
	*history = (struct history){0};
}

static _Noreturn void
refuse(const struct step *step, const char *why)
{
	fprintf(stderr, "sim: %s: %s\n", step->line, why);
	fflush(stdout);
	_exit(2);
}

static int64_t
seconds(const struct step *step, const char *word)
{
	char *end;
	double value = strtod(word, &end);

	if (*end != '\0' || end == word)
		refuse(step, "not a time in seconds");
	return (int64_t)(value * 1e6 + 0.5);
}

static void
split(struct step *step, const char *line)
{
	char *rest, *copy = world_copy(line, strlen(line));

	step->line = line;
	for (char *word = strtok_r(copy, " \t", &rest);
	     word != NULL && step->count < WORDS - 1;
	     word = strtok_r(NULL, " \t", &rest))
		step->words[step->count++] = word;
}

/* --- who it is about -------------------------------------------------------
 */

static struct node *
node_in(const struct step *step, int word)
{
	struct node *node = node_find(step->words[word]);

	if (node == NULL)
		refuse(step, "no such server");
	return node;
}

/* NULL: a shorter history has no such run. */
static struct actor *
actor_in(const struct step *step, int word)
{
	return actor_find(step->words[word]);
}

static struct network_choice
choice_in(const struct step *step, int word)
{
	return (struct network_choice){.actor = actor_find(step->words[word]),
	    .node = node_find(step->words[word])};
}

/* A step that ends what an earlier one began. */
static void
later(struct step *step, int word, world_call *call, void *who)
{
	int64_t at = step->at + seconds(step, step->words[word]);

	world_at(at, call, who, step);
	if (at > stage.last_at)
		stage.last_at = at;
}

/* --- steps: runs -------------------------------------------------------------
 */

/* The word, with the token of X where it ends with @X. NULL: X has none. */
static char *
with_token(char *word)
{
	const char *at = strchr(word, '@');
	const struct actor *holder = at != NULL ? actor_find(at + 1) : NULL;
	const char *token = holder != NULL ? actor_token(holder) : NULL;

	if (at == NULL)
		return word;
	return token != NULL
		   ? world_format("%.*s%s", (int)(at - word), word, token)
		   : NULL;
}

static bool
set_tokens(struct actor *actor)
{
	for (int i = 1; i < actor->argc; i++) {
		char *word = with_token(actor->argv[i]);
		if (word == NULL)
			return false;
		actor->argv[i] = word;
	}
	return true;
}

static void
begin_run(struct step *step)
{
	struct actor *actor = actor_in(step, 1);

	if (actor->outer != NULL) {
		if (!guarded_command_runs(actor->outer))
			return; /* the job has not come so far */
		actor->environment = actor->outer->guarded->environment;
		actor->rate_ppm = actor->outer->rate_ppm;
	}
	if (!set_tokens(actor))
		return;
	world_trace("%s: %s", actor->name, step->line);
	actor_start(actor);
}

static void
do_kill(struct step *step)
{
	if (actor_in(step, 1) != NULL)
		actor_kill(actor_in(step, 1));
}

static void
do_guard(struct step *step)
{
	if (actor_in(step, 1) != NULL)
		guarded_kill_guard(actor_in(step, 1));
}

static void
do_stop(struct step *step)
{
	struct actor *actor = actor_in(step, 1);
	int64_t until = step->at + seconds(step, step->words[2]);

	if (actor != NULL && actor->state == ACTOR_ALIVE)
		actor->stopped_until = until;
	if (until > stage.last_at)
		stage.last_at = until;
}

static void
do_signal(struct step *step)
{
	static const struct {
		const char *name;
		int signo;
	} signals[] = {{"TERM", SIGTERM}, {"INT", SIGINT}, {"HUP", SIGHUP},
	    {"USR1", SIGUSR1}};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (strcmp(step->words[2], signals[i].name) == 0 &&
		    actor_in(step, 1) != NULL)
			actor_signal(actor_in(step, 1), signals[i].signo);
}

/* --- steps: servers ------------------------------------------------------ */

/* Ends what a step began. A state has the step's name: `full`, `loading`... */
static void
undo(void *who, void *what)
{
	struct node *node = who;
	const struct step *step = what;
	const char *word = step->words[0];

	if (strcmp(word, "freeze") == 0)
		node_freeze(node, false);
	else if (strcmp(word, "hole") == 0)
		node->is_hole = false;
	else if (strcmp(word, "slow") == 0)
		node->delay_us = 0;
	else if (strcmp(word, "deny") == 0)
		node_do(node, "allow_command", step->words[2]);
	else
		node_do(node, "leave", word);
}

static void
do_freeze(struct step *step)
{
	node_freeze(node_in(step, 1), true);
	later(step, 2, undo, node_in(step, 1));
}

static void
boot(void *who, void *what)
{
	const struct step *step = what;

	node_start(who, step->words[3]);
	if (strcmp(step->words[3], "kept") != 0)
		known_on_data_lost(world.now);
	if (stage.former == who)
		known_on_data_lost(stage.former_until);
}

static void
do_crash(struct step *step)
{
	node_stop(node_in(step, 1));
	later(step, 2, boot, node_in(step, 1));
}

static void
do_cut(struct step *step)
{
	network_cut(choice_in(step, 1));
}

static void
do_stall(struct step *step)
{
	network_stall(choice_in(step, 1), strcmp(step->words[2], "to") == 0,
	    step->at + seconds(step, step->words[3]));
}

/* Also for connections that are made meanwhile. */
static void
do_hole(struct step *step)
{
	struct node *node = node_in(step, 1);

	node->is_hole = true;
	network_open_hole((struct network_choice){.node = node});
	later(step, 2, undo, node);
}

static void
do_slow(struct step *step)
{
	struct node *node = node_in(step, 1);

	node->delay_us = seconds(step, step->words[3]);
	later(step, 2, undo, node);
}

static void
do_double(struct step *step)
{
	known_on_repeats();
	network_double(choice_in(step, 1));
}

static void
do_flush(struct step *step)
{
	node_do(node_in(step, 1), "flush_scripts", NULL);
}

static void
do_dump(struct step *step)
{
	node_do(node_in(step, 1), "dump", NULL);
}

/* The step has the state's name: the server refuses what it refuses then. */
static void
do_state(struct step *step)
{
	node_do(node_in(step, 1), "enter", step->words[0]);
	oracle_on_refusals(step->at + seconds(step, step->words[2]));
	later(step, 2, undo, node_in(step, 1));
}

static void
do_deny(struct step *step)
{
	node_do(node_in(step, 1), "deny_command", step->words[2]);
	if (strcmp(step->words[2], "hmget") == 0)
		known_on_unreadable();
	oracle_on_refusals(step->at + seconds(step, step->words[3]));
	later(step, 3, undo, node_in(step, 1));
}

/* A replica evicts nothing by itself (replica-ignore-maxmemory). */
static void
do_evict(struct step *step)
{
	const char *key = with_token(step->words[2]);
	struct node *node = node_in(step, 1);

	if (key == NULL)
		return;
	if (node->primary != NULL)
		node = node->primary;
	oracle_on_theft(node, key);
	node_do(node, "forget", key);
}

static void
do_step_clock(struct step *step)
{
	int64_t by_us = seconds(step, step->words[2]);

	known_on_clock_step(by_us);
	node_step_clock(node_in(step, 1), by_us);
}

static void
do_execute(struct step *step)
{
	const char *words[WORDS] = {NULL};

	for (int i = 2; i < step->count; i++) {
		words[i - 2] = with_token(step->words[i]);
		if (words[i - 2] == NULL)
			return;
	}
	oracle_on_theft(node_in(step, 1), words[1]);
	node_execute(node_in(step, 1), words);
}

static void
do_foreign(struct step *step)
{
	foreign_start(node_in(step, 1), step->words[2],
	    seconds(step, step->words[3]), seconds(step, step->words[4]));
}

/* --- steps: several servers
 * --------------------------------------------------------- */

/* A replica becomes the primary, and the sentinels say so. The former one goes
 * on for a while, or is down; then it follows. */
static void
demote(void *who, void *what)
{
	const struct step *step = what;
	struct node *former = who, *now = node_in(step, 2);

	if (former->is_down) {
		stage.former_until = world.now + WORLD_S;
		world_at(stage.former_until, demote, former, what);
		return;
	}
	known_on_data_lost(world.now);
	replica_follow(former, now);
	stage.is_moving = false;
	stage.former = NULL;
}

static void
do_promote(struct step *step)
{
	struct node *former = node_in(step, 1), *now = node_in(step, 2);

	if (now->primary != former || stage.is_moving)
		return;
	stage.is_moving = true;
	stage.former = former;
	stage.former_until = step->at + seconds(step, step->words[3]);
	/* What ends by a clock ends too early by one that is ahead. */
	if (former->offset_us != now->offset_us)
		known_on_clock_step(now->offset_us - former->offset_us);
	if (replica_promote(now) || !former->is_down)
		known_on_data_lost(stage.former_until);
	replica_name_primary(now);
	later(step, 3, demote, former);
}

static void
do_unlink(struct step *step)
{
	node_in(step, 1)->link_cut_until =
	    step->at + seconds(step, step->words[2]);
}

static bool
clocks_agree(void)
{
	for (int i = 1; i < node_count(); i++)
		if (node_number(i)->offset_us != node_number(0)->offset_us)
			return false;
	return true;
}

static void
move_stage(void *who, void *what)
{
	const struct step *step = what;

	node_move_slot(step->words[1], (int)(intptr_t)who);
	if (!clocks_agree())
		known_on_reread();
	/* A nested run could not join again until now. */
	if ((intptr_t)who == 2)
		oracle_on_theft(NULL,
		    world_format("{%s}:rlk:n", step->words[1]));
	stage.is_moving = (intptr_t)who < 3;
}

static void
do_move(struct step *step)
{
	int64_t lasts = seconds(step, step->words[2]);

	if (stage.is_moving)
		return;
	stage.is_moving = true;
	for (intptr_t part = 0; part <= 3; part++)
		world_at(step->at + part * lasts / 3, move_stage, (void *)part,
		    step);
}

/* What a step is called, and how many words follow at least. */
static const struct {
	const char *word;
	int words;
	void (*call)(struct step *step);
} verbs[] = {
    {"run", 1, begin_run},
    {"kill", 1, do_kill},
    {"guard", 1, do_guard},
    {"stop", 2, do_stop},
    {"signal", 2, do_signal},
    {"freeze", 2, do_freeze},
    {"crash", 3, do_crash},
    {"cut", 1, do_cut},
    {"stall", 3, do_stall},
    {"hole", 2, do_hole},
    {"slow", 3, do_slow},
    {"double", 1, do_double},
    {"flush", 1, do_flush},
    {"dump", 1, do_dump},
    {"full", 2, do_state},
    {"loading", 2, do_state},
    {"busy", 2, do_state},
    {"misconf", 2, do_state},
    {"deny", 3, do_deny},
    {"evict", 2, do_evict},
    {"step", 2, do_step_clock},
    {"execute", 3, do_execute},
    {"foreign", 4, do_foreign},
    {"promote", 3, do_promote},
    {"unlink", 2, do_unlink},
    {"move", 2, do_move},
};
enum { VERBS = sizeof(verbs) / sizeof(*verbs) };

static void
do_step(void *who, void *what)
{
	struct step *step = who;
	size_t verb = (size_t)(uintptr_t)what;

	if (verbs[verb].call != begin_run)
		world_trace("-- %s", step->line);
	verbs[verb].call(step);
}

/* --- reading
 * ------------------------------------------------------------------------ */

static void
read_job(const struct step *step, int from, struct job_plan *plan)
{
	if (from < step->count)
		plan->lasts_us = seconds(step, step->words[from]);
	for (int i = from + 1; i < step->count; i++) {
		const char *word = step->words[i];
		const char *next =
		    i + 1 < step->count ? step->words[i + 1] : "";
		if (strcmp(word, "deaf") == 0) {
			plan->is_deaf = true;
		} else if (strcmp(word, "exit") == 0) {
			plan->status = (int)strtol(next, NULL, 10);
			i++;
		} else if (strcmp(word, "leaves") == 0) {
			plan->leaves_us = seconds(step, next);
			i++;
		} else {
			refuse(step, "a job does not do that");
		}
	}
}

static char **
base_environment(void)
{
	char **all = world_alloc(8 * sizeof(*all));

	all[0] = world_format("RLOCKRUN_REDIS=%s", stage.urls);
	all[1] = world_copy("RLOCKRUN_CONFIG=none", 20);
	all[2] = world_copy("PATH=/usr/bin:/bin", 18);
	all[3] = world_copy("LOGNAME=sim", 11);
	return all;
}

static void
read_run(const struct step *step)
{
	struct actor *actor = actor_add(step->words[1]);
	int i = 2;

	if (actor == NULL)
		refuse(step, "too many runs");
	actor->environment = base_environment();
	if (step->count > 4 && strcmp(step->words[2], "in") == 0) {
		actor->outer = actor_find(step->words[3]);
		/* Without its outer run it is never started. */
		if (actor->outer == NULL)
			actor->outer = actor;
		i = 4;
	}
	actor->argv[actor->argc++] = world_copy("rlockrun", 8);
	for (; i < step->count && strcmp(step->words[i], "--") != 0; i++)
		actor->argv[actor->argc++] = step->words[i];
	if (i < step->count) {
		actor->argv[actor->argc++] = world_copy("--", 2);
		actor->argv[actor->argc++] = world_copy("true", 4);
		read_job(step, i + 1, &actor->job_plan);
	}
}

static void
read_step(struct step *step)
{
	size_t verb = 0;

	step->at = seconds(step, step->words[0]);
	memmove(step->words, step->words + 1,
	    (size_t)--step->count * sizeof(*step->words));
	while (verb < VERBS && (step->count == 0 || strcmp(verbs[verb].word,
							step->words[0]) != 0))
		verb++;
	if (verb == VERBS)
		refuse(step, "no such step");
	if (step->count <= verbs[verb].words)
		refuse(step, "words are missing");
	if (verbs[verb].call == begin_run)
		read_run(step);
	if (step->at > stage.last_at)
		stage.last_at = step->at;
	world_at(step->at, do_step, step, (void *)verb);
}

static int
add_servers(const char *letter, int count)
{
	for (int i = 1; i <= count && i < NODES; i++)
		node_add(world_format("%s%d", letter, i));
	return count;
}

/* Addresses of servers from that one on. */
static char *
addresses(const char *scheme, int first, int count, const char *separator)
{
	char *list = world_format("%s", scheme);

	for (int i = 0; i < count; i++)
		list = world_format("%s%s10.0.0.%d", list,
		    i > 0 ? separator : "", first + i);
	return list;
}

static void
read_servers(const struct step *step)
{
	const char *kind = step->count > 1 ? step->words[1] : "";
	int count = step->count > 2 ? (int)strtol(step->words[2], NULL, 10) : 1;

	if (strcmp(kind, "one") == 0 || strcmp(kind, "redlock") == 0) {
		add_servers("s", count);
		stage.urls = addresses("redis://", 1, count, " redis://");
		known_on_servers(count > 1 ? REDLOCK : ONE);
	} else if (strcmp(kind, "sentinel") == 0) {
		known_on_servers(SENTINEL);
		add_servers("s", count);
		for (int i = 1; i <= 3; i++)
			node_add_sentinel(world_format("t%d", i),
			    node_find("s1"));
		for (int i = 2; i <= count; i++)
			replica_follow(node_find(world_format("s%d", i)),
			    node_find("s1"));
		stage.urls = addresses("redis-sentinel://", count + 1, 3, ",");
		stage.urls = world_format("%s/main", stage.urls);
	} else if (strcmp(kind, "cluster") == 0) {
		known_on_servers(CLUSTER);
		add_servers("s", count);
		if (step->count > 3)
			add_servers("r", count);
		for (int i = 1; i <= count && step->count > 3; i++)
			replica_follow(node_find(world_format("r%d", i)),
			    node_find(world_format("s%d", i)));
		node_make_cluster();
		stage.urls = addresses("redis-cluster://", 1, count, ",");
	} else {
		refuse(step, "no such servers");
	}
}

/* Behind the runs, which it may be about. */
static void
read_clock(const struct step *step)
{
	int64_t ppm = strtol(step->words[2], NULL, 10);

	if (actor_find(step->words[1]) != NULL)
		actor_find(step->words[1])->rate_ppm = ppm;
	if (node_find(step->words[1]) != NULL)
		node_find(step->words[1])->rate_ppm = ppm;
}

/* Behind the run: it knows no server. */
static void
read_unconfigured(const struct step *step)
{
	static char *nothing[] = {"RLOCKRUN_REDIS=", "RLOCKRUN_CONFIG=none",
	    "PATH=/usr/bin:/bin", "LOGNAME=sim", NULL};
	struct actor *actor = actor_find(step->words[1]);

	if (actor != NULL)
		actor->environment = nothing;
}

void
play_line(const char *line)
{
	struct step *step = world_alloc(sizeof(*step));

	split(step, line);
	if (strcmp(step->words[0], "servers") == 0)
		read_servers(step);
	else if (strcmp(step->words[0], "calm") == 0)
		world.calm = true;
	else if (strcmp(step->words[0], "clock") == 0 && step->count == 3)
		read_clock(step);
	else if (strcmp(step->words[0], "unconfigured") == 0 &&
		 step->count == 2)
		read_unconfigured(step);
	else if (strcmp(step->words[0], "expect") == 0 && step->count == 3)
		oracle_expect(step->words[1], step->words[2]);
	else
		read_step(step);
}

/* --- playing
 * ------------------------------------------------------------------------------
 */

static void
sum_up(struct outcome *outcome)
{
	outcome->findings = world.findings;
	snprintf(outcome->found, sizeof(outcome->found), "%s",
	    world.found != NULL ? world.found : "");
	outcome->virtual_us = world.now;
	outcome->runs = actor_count();
	for (int i = 0; i < actor_count(); i++)
		if (actor_number(i)->state == ACTOR_ENDED)
			outcome->ended[actor_number(i)->status & 0xff]++;
}

void
play_begin(uint64_t seed)
{
	world_begin(seed);
	stage.urls = NULL;
	stage.last_at = 0;
	stage.is_moving = false;
	stage.former = NULL;
	oracle_begin();
}

const char *
play_urls(void)
{
	return stage.urls;
}

void
play_end(void)
{
	actor_end_all();
	network_end();
	node_end();
	world_end();
}

void
history_play(const struct history *history, struct outcome *outcome)
{
	*outcome = (struct outcome){0};
	play_begin(history->seed);
	for (size_t i = 0; i < history->count; i++)
		play_line(history->lines[i]);
	actor_play(stage.last_at + PATIENCE);
	oracle_end(stage.last_at + PATIENCE);
	sum_up(outcome);
	play_end();
}
