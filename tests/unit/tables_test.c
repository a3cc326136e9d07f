/* Plays the tables of tests/tables: what is on the servers, a command line, and
 * all that it prints. Each run is a whole one, in virtual time, against the
 * simulation's double of a server. tests/tables/README.md has the syntax.
 *
 *     tables_test [FILE...]     all tables, if none is named
 *
 * FILTER chooses tests whose names contain it; WRITE=1 writes what was printed
 * into the tables. */
#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actor.h"
#include "base/log.h"
#include "guarded.h"
#include "node.h"
#include "play.h"
#include "tap.h"
#include "text.h"
#include "world.h"

enum { VARIABLES = 16, ROW = 99 };
/* Each command takes so long, or a multiple. */
#define BEAT (100 * WORLD_MS)
/* A run that has not ended by then never does. */
#define PATIENCE (3600 * WORLD_S)
/* What the clocks of servers show when a test begins, as in kernel.c. */
#define EPOCH_MS INT64_C(1781519200000)

/* NOLINTBEGIN(*-avoid-non-const-global-variables): one table at a time */
static struct {
	const char *path;
	struct lines lines;
	int numbers[TEXT_LINES]; /* of these lines in the file */
	int at;			 /* the line that is read next */
	struct lines written;	 /* the table with what was printed */
	char folder[64];	 /* of the test, its working directory */
	const char *name;	 /* of the test; NULL: before the first */
	bool is_chosen, differs;
	char *variables[VARIABLES]; /* of all its runs */
	/* Of our environment, which the runs replace. */
	const char *filter, *parent;
	bool is_written;
	int variable_count;
} table;
/* NOLINTEND(*-avoid-non-const-global-variables) */

static _Noreturn void
refuse(const char *line, const char *why)
{
	fprintf(stderr, "%s:%d: %s: %s\n", table.path,
	    table.at > 0 ? table.numbers[table.at - 1] : 0, line, why);
	exit(2);
}

/* --- what is expected --------------------------------------------------- */

/* The lines behind the current one that begin with one of these characters. */
static int
count_expected(const char *kinds)
{
	int i = table.at;

	while (i < table.lines.count && table.lines.all[i][0] != '\0' &&
	       strchr(kinds, table.lines.all[i][0]) != NULL)
		i++;
	return i - table.at;
}

/* Without the lines at both ends that match. */
static void
print_difference(char *const *want, int wants, char *const *got, int gots)
{
	printf("# %s:%d: %s\n", table.path, table.numbers[table.at - 1],
	    table.lines.all[table.at - 1]);
	while (wants > 0 && gots > 0 && text_matches(*want, *got))
		want++, got++, wants--, gots--;
	while (wants > 0 && gots > 0 &&
	       text_matches(want[wants - 1], got[gots - 1]))
		wants--, gots--;
	for (int i = 0; i < wants; i++)
		printf("#   expected %s\n", want[i]);
	for (int i = 0; i < gots; i++)
		printf("#   printed  %s\n", got[i]);
}

/* Compares, and moves behind what was expected. */
static void
compare(const struct lines *got, const char *kinds)
{
	char **lines = table.lines.all + table.at;
	int count = count_expected(kinds);
	char **want = world_alloc((size_t)(count + 1) * sizeof(*want));
	bool same;

	for (int i = 0; i < count; i++)
		want[i] = text_repeat(lines[i]);
	same = text_match(want, count, got->all, got->count);
	if (!same) {
		table.differs = true;
		print_difference(want, count, got->all, got->count);
	}
	for (int i = 0; i < (same ? count : got->count); i++)
		lines_add(&table.written,
		    same || (count == got->count &&
				text_matches(want[i], got->all[i]))
			? lines[i]
			: got->all[i]);
	table.at += count;
}

/* --- runs --------------------------------------------------------------- */

/* The latest of a host. */
static struct actor *
find_run(const char *line, const char *host)
{
	for (int i = actor_count() - 1; i >= 0; i--)
		if (strcmp(actor_number(i)->name, host) == 0)
			return actor_number(i);
	refuse(line, "nothing runs there");
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
		refuse("$", "no rlockrun, or too many words");
	for (; i < count; i++)
		actor->argv[actor->argc++] = words[i];
}

/* Time passes in whole beats, so that a round trip more changes no table. */
static void
end_beat(void)
{
	int64_t end = (world.now / BEAT + 1) * BEAT;

	actor_play(end);
	world.now = end;
}

static void
play_to_end(const struct actor *actor)
{
	int64_t until = world.now + PATIENCE;

	while (actor->state == ACTOR_ALIVE && world.now < until)
		end_beat();
}

static void
add_output(struct lines *got, char kind, const char *text, size_t length)
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
static void
report(const struct actor *actor)
{
	static struct lines got;
	int status =
	    actor->status < 0 ? 128 - actor->status : actor->status & 0xff;

	if (has_echoed(actor))
		lines_add(&got, "| ran");
	add_output(&got, '|', actor->stream_text, actor->streamed);
	add_output(&got, '|', actor->out, actor->out_length);
	add_output(&got, '!', actor->err, actor->err_length);
	if (actor->state == ACTOR_ALIVE)
		lines_add(&got, "= does not end");
	else if (actor->state == ACTOR_KILLED)
		lines_add(&got, "= killed");
	else if (status != 0 && got.count == 1 && got.all[0][0] == '!')
		lines_join(&got, world_format("= %d", status));
	else if (status != 0)
		lines_add(&got, world_format("= %d", status));
	compare(&got, "|!~=");
	lines_clear(&got);
}

static bool
is_in_background(const char *line)
{
	size_t length = strlen(line);

	return length > 2 && strcmp(line + length - 2, " &") == 0;
}

static struct actor *
start_run(char *line)
{
	char *words[TEXT_WORDS], *dollar = strchr(line, '$');
	char *host = world_copy(line, (size_t)(dollar - line));
	char *job = strchr(host, '/');
	int count = text_split(dollar + 1, words);
	struct actor *outer = NULL, *actor;

	if (job != NULL) {
		*job = '\0';
		outer = find_run(line, host);
	}
	actor = actor_add(*host != '\0' ? host : "here");
	if (actor == NULL)
		refuse(line, "too many runs in a test");
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
static void
do_run(char *line)
{
	const struct actor *actor = start_run(line);

	if (!is_in_background(line))
		play_to_end(actor);
	end_beat();
	if (!is_in_background(line) || actor->state != ACTOR_ALIVE)
		report(actor);
}

/* --- what is not looked at ------------------------------------------------ */

struct findings;
void __wrap_check_host(struct findings *findings, const struct opts *opts);

/* The host is that of the tests: tests/cli/doctor.bats. */
void
__wrap_check_host(struct findings *findings, const struct opts *opts)
{
	(void)findings, (void)opts;
}

/* --- what else stands in a table -------------------------------------------
 */

/* @0, @-60: the server's time in ms, so many seconds from now. */
static char *
expand_times(const char *word)
{
	char *out = world_alloc(8 * strlen(word) + 16), *end = out;

	while (*word != '\0') {
		char *rest = NULL;
		double seconds = *word == '@' && strchr("+-0", word[1]) != NULL
				     ? strtod(word + 1, &rest)
				     : 0;
		if (rest == NULL || rest == word + 1) {
			*end++ = *word++;
			continue;
		}
		end += sprintf(end, "%" PRId64,
		    EPOCH_MS + world.now / WORLD_MS +
			(int64_t)(seconds * 1000));
		word = rest;
	}
	return out;
}

/* One element of a reply; returns what is behind it. */
static const char *
add_reply(struct lines *lines, const char *reply)
{
	const char *end = strstr(reply, "\r\n");
	long count = strtol(reply + 1, NULL, 10);

	if (*reply == '$' && count >= 0) {
		lines_add_text(lines, '|', end + 2, (size_t)count);
		if (count == 0)
			lines_add(lines, "|");
		return end + 2 + count + 2;
	}
	end += 2;
	if (*reply == '*')
		for (long i = 0; i < count; i++)
			end = add_reply(lines, end);
	else if (*reply == '$')
		lines_add(lines, "| (nil)");
	else
		lines_add_text(lines, *reply == '-' ? '!' : '|', reply + 1,
		    (size_t)(end - reply - 3));
	return end;
}

/* redis [NODE:] COMMAND...: its reply is compared if one is expected, and if it
 * is an error. */
static void
do_redis(char *line)
{
	static struct lines got;
	char *words[TEXT_WORDS];
	int count = text_split(line, words), first = 1;
	const char *name = count > 1 ? words[1] : "";
	struct node *node = node_find("s1");

	if (*name != '\0' && name[strlen(name) - 1] == ':') {
		node = node_find(world_copy(name, strlen(name) - 1));
		first = 2;
	}
	if (node == NULL || count <= first)
		refuse(line, "no server, or no command");
	for (int i = first; i < count; i++)
		words[i] = expand_times(words[i]);
	add_reply(&got, node_execute(node, (const char *const *)words + first));
	if (count_expected("|!") > 0 || (got.count > 0 && got.all[0][0] == '!'))
		compare(&got, "|!");
	lines_clear(&got);
}

static void
do_lua(char *line)
{
	char *name = strchr(line, ' ') + 1, *text = strchr(name, ' ');
	struct node *node;

	node = text ? node_find(world_copy(name, (size_t)(text - name))) : NULL;
	if (node == NULL)
		refuse(line, "no such server");
	node_do(node, "obey", text + 1);
}

/* file PATH [MODE]: with these lines. */
static void
do_file(char *line)
{
	char *words[TEXT_WORDS];
	int count = text_split(line, words);
	int lines = count_expected("|");
	FILE *file = count < 2 ? NULL : fopen(words[1], "w");

	if (file == NULL)
		refuse(line, "cannot be written");
	for (int i = 0; i < lines; i++) {
		const char *text = table.lines.all[table.at];
		fprintf(file, "%s\n",
		    text_repeat(text_replace(text[1] == '\0' ? "" : text + 2,
			"$PWD", table.folder)));
		lines_add(&table.written, text);
		table.at++;
	}
	fclose(file);
	if (chmod(words[1],
		(mode_t)strtol(count > 2 ? words[2] : "600", NULL, 8)) == -1)
		refuse(line, "its mode cannot be set");
}

/* echo TEXT >PATH: for a file of one line, or of few with \n. */
static void
do_echo(char *line)
{
	char *words[TEXT_WORDS];
	FILE *file = NULL;

	if (text_split(line, words) == 3 && *words[2] == '>')
		file = fopen(words[2] + 1, "w");
	if (file == NULL)
		refuse(line, "cannot be written");
	fchmod(fileno(file), 0600);
	fprintf(file, "%s\n", words[1]);
	fclose(file);
}

static void
do_folder(char *line)
{
	if (mkdir(strchr(line, ' ') + 1, 0755) == -1)
		refuse(line, "cannot be made");
}

static void
do_show(char *line)
{
	static struct lines got;
	char text[TEXT_LINE];
	FILE *file = fopen(strchr(line, ' ') + 1, "r");

	if (file == NULL)
		refuse(line, "cannot be read");
	while (fgets(text, sizeof(text), file) != NULL)
		add_output(&got, '|', text, strlen(text));
	fclose(file);
	compare(&got, "|~");
	lines_clear(&got);
}

/* NAME=VALUE or NAME, for all runs from here on. */
static void
do_export(char *line)
{
	char *words[TEXT_WORDS];

	text_split(line, words);
	for (int i = 1; words[i] != NULL; i++) {
		if (table.variable_count == VARIABLES)
			refuse(line, "too many variables");
		table.variables[table.variable_count++] = words[i];
	}
}

static void
do_sleep(char *line)
{
	int64_t end = world.now + (int64_t)(strtod(line + 6, NULL) * 1e6);

	actor_play(end);
	world.now = end;
}

static void
do_wait(char *line)
{
	const struct actor *actor = find_run(line, strchr(line, ' ') + 1);

	play_to_end(actor);
	end_beat();
	report(actor);
}

static void
do_kill(char *line)
{
	static const struct {
		const char *name;
		int signo;
	} signals[] = {{"-TERM", SIGTERM}, {"-INT", SIGINT}, {"-HUP", SIGHUP},
	    {"-KILL", SIGKILL}};
	char *words[TEXT_WORDS];

	if (text_split(line, words) != 3)
		refuse(line, "kill -SIGNAL HOST");
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		if (strcmp(words[1], signals[i].name) != 0)
			continue;
		if (signals[i].signo == SIGKILL)
			actor_kill(find_run(line, words[2]));
		else
			actor_signal(find_run(line, words[2]),
			    signals[i].signo);
	}
	end_beat();
}

/* Headers and steps as in a history of the simulation, now. */
static void
do_step(char *line)
{
	play_line(strncmp(line, "servers ", 8) == 0
		      ? line
		      : world_format("%f %s", (double)world.now / 1e6, line));
	actor_play(world.now);
}

/* repeat TIMES HOST$ ...: what the last one prints is compared. */
static void
do_repeat(char *line)
{
	char *command;
	long times = strtol(strchr(line, ' '), &command, 10);

	while (times-- > 1)
		play_to_end(start_run(command + 1));
	do_run(command + 1);
}

static const struct {
	const char *word;
	void (*call)(char *line);
} verbs[] = {
    {"redis", do_redis},
    {"lua", do_lua},
    {"file", do_file},
    {"echo", do_echo},
    {"folder", do_folder},
    {"show", do_show},
    {"export", do_export},
    {"sleep", do_sleep},
    {"wait", do_wait},
    {"kill", do_kill},
    {"repeat", do_repeat},
};

static void
do_line(char *line)
{
	size_t length = strcspn(line, " ");
	size_t prompt = strcspn(line, " $");

	line = text_repeat(text_replace(line, "$PWD", table.folder));
	if (line[prompt] == '$') {
		do_run(line);
		return;
	}
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (length != strlen(verbs[i].word) ||
		    strncmp(line, verbs[i].word, length) != 0)
			continue;
		if (line[length] == '\0')
			refuse(line, "words are missing");
		verbs[i].call(line);
		return;
	}
	do_step(line);
}

/* --- tests --------------------------------------------------------------- */

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st, (void)kind, (void)where;
	return remove(path);
}

/* The servers of a test are one, unless its first line says otherwise. */
static void
begin_test(const char *name)
{
	table.name = name;
	table.is_chosen =
	    table.filter == NULL || strstr(name, table.filter) != NULL;
	table.differs = false;
	table.variable_count = 0;
	if (!table.is_chosen)
		return;
	snprintf(table.folder, sizeof(table.folder), "%s/tables-XXXXXX",
	    table.parent != NULL ? table.parent : "/tmp");
	if (mkdtemp(table.folder) == NULL || chdir(table.folder) == -1)
		refuse(name, strerror(errno));
	play_begin(1);
	world.is_still = world.calm = true;
	if (table.at == table.lines.count ||
	    strncmp(table.lines.all[table.at], "servers ", 8) != 0)
		play_line("servers one");
}

static void
end_test(void)
{
	if (table.name == NULL || !table.is_chosen)
		return;
	for (int i = 0; i < actor_count(); i++)
		actor_signal(actor_number(i), SIGTERM);
	actor_play(world.now + PATIENCE);
	for (int i = 0; i < actor_count(); i++)
		if (actor_number(i)->state == ACTOR_ALIVE)
			actor_kill(actor_number(i));
	ok(!table.differs, "%s", table.name);
	play_end();
	if (chdir("/") == -1 ||
	    nftw(table.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) == -1)
		refuse(table.folder, strerror(errno));
}

/* A command with one expected line, which fit into a line of the file. */
static bool
is_row(const char *command, const char *expected, const char *next)
{
	return strchr("#|!~=", *command) == NULL &&
	       strncmp(command, "file ", 5) != 0 && *expected != '\0' &&
	       strchr("|!~=", *expected) != NULL && expected[1] == ' ' &&
	       strcmp(expected + 1, " [...]") != 0 &&
	       (*next == '\0' || strchr("|!~=", *next) == NULL) &&
	       text_width(command) + text_width(expected) < ROW;
}

static void
write_table(void)
{
	FILE *file = fopen(table.path, "w");

	if (file == NULL)
		refuse(table.path, strerror(errno));
	lines_add(&table.written, "");
	lines_add(&table.written, "");
	for (int i = 0; i < table.written.count - 2; i++) {
		char **line = table.written.all + i;
		bool joined = is_row(line[0], line[1], line[2]);
		fprintf(file, "%s%s%s\n", line[0], joined ? "  " : "",
		    joined ? line[1] : "");
		i += joined;
	}
	fclose(file);
}

/* Where the expected line of a row begins: behind two blanks. */
static char *
find_expected(char *line)
{
	if (strchr("#|!~=", *line) != NULL || strncmp(line, "file ", 5) == 0)
		return NULL;
	for (char *at = line; (at = strstr(at, "  ")) != NULL; at++)
		if (at[2] != '\0' && strchr("|!~=", at[2]) != NULL &&
		    at[3] == ' ')
			return at;
	return NULL;
}

static void
add_line(const char *line, int number)
{
	table.numbers[table.lines.count] = number;
	lines_add(&table.lines, line);
}

static void
read_table(void)
{
	FILE *file = fopen(table.path, "r");
	char line[TEXT_LINE];

	if (file == NULL)
		refuse("", strerror(errno));
	for (int number = 1; fgets(line, sizeof(line), file) != NULL;
	     number++) {
		char *expected;
		line[strcspn(line, "\n")] = '\0';
		expected = find_expected(line);
		if (expected != NULL)
			*expected = '\0';
		add_line(line, number);
		if (expected != NULL)
			add_line(expected + 2, number);
	}
	fclose(file);
}

static void
play_table(const char *path)
{
	table.path = path;
	table.name = NULL;
	table.at = 0;
	read_table();
	while (table.at < table.lines.count) {
		char *line = table.lines.all[table.at++];
		lines_add(&table.written, line);
		if (strncmp(line, "== ", 3) == 0) {
			end_test();
			begin_test(line + 3);
		} else if (*line != '\0' && *line != '#' &&
			   table.name != NULL && table.is_chosen) {
			do_line(line);
		}
	}
	end_test();
	if (table.is_written)
		write_table();
	lines_clear(&table.lines);
	lines_clear(&table.written);
}

int
main(int argc, char **argv)
{
	glob_t found = {0};

	for (int i = 1; i < argc; i++)
		glob(argv[i], i > 1 ? GLOB_APPEND : 0, NULL, &found);
	if (argc == 1)
		glob("tests/tables/*.txt", 0, NULL, &found);
	table.filter = getenv("FILTER");
	table.parent = getenv("TMPDIR");
	table.is_written = getenv("WRITE") != NULL;
	setenv("TZ", "UTC", 1);
	node_load("tests/sim");
	for (size_t i = 0; i < found.gl_pathc; i++)
		found.gl_pathv[i] = realpath(found.gl_pathv[i], NULL);
	for (size_t i = 0; i < found.gl_pathc; i++)
		play_table(found.gl_pathv[i]);
	return tap_done();
}
