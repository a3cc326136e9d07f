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
#include "calls.h"
#include "node.h"
#include "play.h"
#include "runs.h"
#include "table.h"
#include "tap.h"
#include "text.h"
#include "world.h"
/* A test that has not ended by then never does. */
#define PATIENCE (3600 * WORLD_S)

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): of our environment, which
 * the runs replace */
static struct {
	const char *filter, *parent;
	bool is_written;
} wish;

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

/* redis [NODE:] COMMAND... [; COMMAND...]: the last reply is compared if one is
 * expected, and if it is an error. */
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
		table_refuse(line, "no server, or no command");
	for (int i = first; i <= count; i++) {
		if (i < count && strcmp(words[i], ";") != 0) {
			words[i] = call_expand(words[i]);
			continue;
		}
		words[i] = NULL;
		lines_clear(&got);
		add_reply(&got,
		    node_execute(node, (const char *const *)words + first));
		first = i + 1;
	}
	if (table_count_expected("|!") > 0 ||
	    (got.count > 0 && got.all[0][0] == '!'))
		table_compare(&got, "|!");
	lines_clear(&got);
}

static void
do_lua(char *line)
{
	char *name = strchr(line, ' ') + 1, *text = strchr(name, ' ');
	struct node *node;

	node = text ? node_find(world_copy(name, (size_t)(text - name))) : NULL;
	if (node == NULL)
		table_refuse(line, "no such server");
	node_do(node, "obey", text + 1);
}

/* file PATH [MODE]: with these lines. */
static void
do_file(char *line)
{
	char *words[TEXT_WORDS];
	int count = text_split(line, words);
	int lines = table_count_expected("|");
	FILE *file = NULL;

	/* A former one may not be writable, unless for root. */
	if (count >= 2 && (unlink(words[1]) == 0 || errno == ENOENT))
		file = fopen(words[1], "w");
	if (file == NULL)
		table_refuse(line, "cannot be written");
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
		table_refuse(line, "its mode cannot be set");
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
		table_refuse(line, "cannot be written");
	fchmod(fileno(file), 0600);
	fprintf(file, "%s\n", words[1]);
	fclose(file);
}

static void
do_folder(char *line)
{
	if (mkdir(strchr(line, ' ') + 1, 0755) == -1)
		table_refuse(line, "cannot be made");
}

static void
do_show(char *line)
{
	static struct lines got;
	char text[TEXT_LINE];
	FILE *file = fopen(strchr(line, ' ') + 1, "r");

	if (file == NULL)
		table_refuse(line, "cannot be read");
	while (fgets(text, sizeof(text), file) != NULL)
		run_add_output(&got, '|', text, strlen(text));
	fclose(file);
	table_compare(&got, "|~");
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
			table_refuse(line, "too many variables");
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
	const struct actor *actor = run_find(line, strchr(line, ' ') + 1);

	run_to_end(actor);
	run_end_beat();
	run_report(actor);
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
		table_refuse(line, "kill -SIGNAL HOST");
	for (size_t i = 0; i < LENGTH(signals); i++) {
		if (strcmp(words[1], signals[i].name) != 0)
			continue;
		if (signals[i].signo == SIGKILL)
			actor_kill(run_find(line, words[2]));
		else
			actor_signal(run_find(line, words[2]),
			    signals[i].signo);
	}
	run_end_beat();
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
	long times = strtol(line + strlen("repeat"), &command, 10);

	while (times-- > 1)
		run_to_end(run_start(command + 1));
	run_play(command + 1);
}

static const struct {
	const char *word;
	void (*call)(char *line);
} verbs[] = {
    {"redis", do_redis},
    {"lua", do_lua},
    {"script", call_script},
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
		run_play(line);
		return;
	}
	for (size_t i = 0; i < LENGTH(verbs); i++) {
		if (length != strlen(verbs[i].word) ||
		    strncmp(line, verbs[i].word, length) != 0)
			continue;
		if (line[length] == '\0')
			table_refuse(line, "words are missing");
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
	    wish.filter == NULL || strstr(name, wish.filter) != NULL;
	table.differs = false;
	table.variable_count = 0;
	if (!table.is_chosen)
		return;
	snprintf(table.folder, sizeof(table.folder), "%s/tables-XXXXXX",
	    wish.parent != NULL ? wish.parent : "/tmp");
	if (mkdtemp(table.folder) == NULL || chdir(table.folder) == -1)
		table_refuse(name, strerror(errno));
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
		table_refuse(table.folder, strerror(errno));
}

static void
play_table(const char *path)
{
	table.path = path;
	table.name = NULL;
	table.at = 0;
	if (lines_read(&table.lines, path) == -1)
		table_refuse(path, strerror(errno));
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
	if (wish.is_written && lines_write(&table.written, path) == -1)
		table_refuse(path, strerror(errno));
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
	wish.filter = getenv("FILTER");
	wish.parent = getenv("TMPDIR");
	wish.is_written = getenv("WRITE") != NULL;
	setenv("TZ", "UTC", 1);
	node_load("tests/sim");
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char *path = found.gl_pathv[i];
		found.gl_pathv[i] = realpath(path, NULL);
		free(path);
	}
	for (size_t i = 0; i < found.gl_pathc; i++)
		play_table(found.gl_pathv[i]);
	globfree(&found);
	return tap_done();
}
