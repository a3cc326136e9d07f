#include "runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "base/log.h"
#include "guarded.h"
#include "play.h"
#include "table.h"
#include "world.h"

/* Each command takes so long, or a multiple. */
#define BEAT (100 * WORLD_MS)
/* A run that has not ended by then never does. */
#define PATIENCE (3600 * WORLD_S)

/* The latest of a host. */
struct actor *
run_find(const char *line, const char *host)
{
	for (int i = actor_count() - 1; i >= 0; i--)
		if (strcmp(actor_number(i)->name, host) == 0)
			return actor_number(i);
	table_refuse(line, "nothing runs there");
}

/* NAME=VALUE in place of what is there of that name; NAME alone takes it away.
 */
static void
set_variable(char **all, const char *text)
{
	size_t length = strcspn(text, "=");
	int i = 0;

	while (all[i] != NULL &&
	       !(strncmp(all[i], text, length) == 0 && all[i][length] == '='))
		i++;
	if (text[length] == '=') {
		all[i] = world_copy(text, strlen(text));
		return;
	}
	for (; all[i] != NULL; i++)
		all[i] = all[i + 1];
}

/* That of the job outside, if there is one, and what the table says. */
static char **
make_environment(const struct actor *outer)
{
	char **all = world_alloc(256 * sizeof(*all));
	char **from = outer != NULL && guarded_command_runs(outer)
			  ? outer->guarded->environment
			  : NULL;

	for (int i = 0; from != NULL && from[i] != NULL && i < 200; i++)
		all[i] = from[i];
	if (from == NULL) {
		if (play_urls() != NULL)
			set_variable(all,
			    world_format("RLOCKRUN_REDIS=%s", play_urls()));
		set_variable(all, "RLOCKRUN_CONFIG=none");
		set_variable(all, "PATH=/usr/bin:/bin");
		set_variable(all, "LOGNAME=ci");
	}
	for (int i = 0; i < table.variable_count; i++)
		set_variable(all, table.variables[i]);
	return all;
}

/* What a job does: `sleep N`, `exit N`, `false`, `deaf`. */
static void
plan_job(struct job_plan *plan, const char *line)
{
	const char *sleep = strstr(line, "sleep "),
		   *end = strstr(line, "exit ");
	size_t length = strlen(line);

	if (sleep != NULL)
		plan->lasts_us = (int64_t)(strtod(sleep + 6, NULL) * 1e6);
	if (end != NULL)
		plan->status = (int)strtol(end + 5, NULL, 10);
	else if (length > 6 && strcmp(line + length - 6, " false") == 0)
		plan->status = 1;
	plan->is_deaf = strstr(line, "trap '' TERM") != NULL;
}

static void
take_words(struct actor *actor, char **words, int count)
{
	int i = 0;

	for (; i < count && strcmp(words[i], "rlockrun") != 0; i++)
		set_variable(actor->environment, words[i]);
	if (i == count || count - i >= ACTOR_WORDS)
		table_refuse("$", "no rlockrun, or too many words");
	for (; i < count; i++)
		actor->argv[actor->argc++] = words[i];
}

/* Time passes in whole beats, so that a round trip more changes no table. */
void
run_end_beat(void)
{
	int64_t end = (world.now / BEAT + 1) * BEAT;

	actor_play(end);
	world.now = end;
}

void
run_to_end(const struct actor *actor)
{
	int64_t until = world.now + PATIENCE;

	while (actor->state == ACTOR_ALIVE && world.now < until)
		run_end_beat();
}

void
run_add_output(struct lines *got, char kind, const char *text, size_t length)
{
	char *shown;

	if (text == NULL)
		return;
	shown = text_replace(world_copy(text, length), table.folder, "$PWD");
	lines_add_text(got, kind, shown, strlen(shown));
}

/* The one line that there is becomes that of the status. */
static void
lines_join(struct lines *lines, const char *status)
{
	size_t size = strlen(status) + strlen(lines->all[0]);
	char *line = world_alloc(size + 1);

	sprintf(line, "%s%s", status, lines->all[0] + 1);
	lines_clear(lines);
	lines_add(lines, line);
}

static bool
has_echoed(const struct actor *actor)
{
	return actor->guarded != NULL && actor->guarded->started_at >= 0 &&
	       strcmp(actor->argv[actor->argc - 1], "ran") == 0;
}

/* stdout, stderr and the status of a run, which follows a single message in its
 * line; `ran` if that is what its job echoes. */
void
run_report(const struct actor *actor)
{
	static struct lines got;
	int status =
	    actor->status < 0 ? 128 - actor->status : actor->status & 0xff;

	if (has_echoed(actor))
		lines_add(&got, "| ran");
	run_add_output(&got, '|', actor->stream_text, actor->streamed);
	run_add_output(&got, '|', actor->out, actor->out_length);
	run_add_output(&got, '!', actor->err, actor->err_length);
	if (actor->state == ACTOR_ALIVE)
		lines_add(&got, "= does not end");
	else if (actor->state == ACTOR_KILLED)
		lines_add(&got, "= killed");
	else if (status != 0 && got.count == 1 && got.all[0][0] == '!')
		lines_join(&got, world_format("= %d", status));
	else if (status != 0)
		lines_add(&got, world_format("= %d", status));
	table_compare(&got, "|!~=");
	lines_clear(&got);
}

static bool
is_in_background(const char *line)
{
	size_t length = strlen(line);

	return length > 2 && strcmp(line + length - 2, " &") == 0;
}

struct actor *
run_start(char *line)
{
	char *words[TEXT_WORDS], *dollar = strchr(line, '$');
	char *host = world_copy(line, (size_t)(dollar - line));
	char *job = strchr(host, '/');
	int count = text_split(dollar + 1, words);
	struct actor *outer = NULL, *actor;

	if (job != NULL) {
		*job = '\0';
		outer = run_find(line, host);
	}
	actor = actor_add(*host != '\0' ? host : "here");
	if (actor == NULL)
		table_refuse(line, "too many runs in a test");
	actor->random_die = die_of(actor->name, actor->number);
	actor->outer = outer;
	actor->environment = make_environment(outer);
	take_words(actor, words, count - is_in_background(line));
	plan_job(&actor->job_plan, line);
	log_set_consequence("");
	actor_start(actor);
	return actor;
}

/* [HOST[/job]]$ [NAME=VALUE...] rlockrun ... [&] */
void
run_play(char *line)
{
	const struct actor *actor = run_start(line);

	if (!is_in_background(line))
		run_to_end(actor);
	run_end_beat();
	if (!is_in_background(line) || actor->state != ACTOR_ALIVE)
		run_report(actor);
}
