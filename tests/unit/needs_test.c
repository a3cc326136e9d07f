/* What a lock needs on its servers: that the table has what the scripts call,
 * and the access rules of the manual. */
#include "doctor/needs.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>

#include "tap.h"

static const struct endpoint server = {.cluster = false};
static struct lock_config config = {.key = "job",
    .server = &server,
    .wait = true,
    .kind = &kind_exclusive,
    .expect_ms = -1,
    .history_ms = 1000};

#define BIT(name) NEEDS_BIT(NEEDS_##name)

/* --- uses -------------------------------------------------------------- */

static const struct needs_row *
find_row(const char *check)
{
	const struct needs_row *row = needs_rows;

	while (*row->check != '\0' && strcmp(row->check, check) != 0)
		row++;
	return row;
}

static bool
refuses(const char *check)
{
	return needs_refuses(find_row(check), &config);
}

/* Policies do not fall back. What ends a run is played in denials_test. */
static void
test_refusals(void)
{
	ok(refuses("access-lock"), "the lock itself");
	ok(!refuses("access-helpers"), "the helper keys are done without");
	ok(!refuses("access-doorbell"), "like features");
	config.once_ms = 1000;
	ok(refuses("access-helpers"), "but for policies");
	ok(!refuses("access-doorbell"), "  which need no feature");
	config.once_ms = 0;
	ok(refuses("access-replicas"), "an option that is given");
}

/* Two of one name would be one finding with the severity of one of them. */
static void
test_names(void)
{
	for (const struct needs_row *row = needs_rows; *row->check != '\0';
	     row++)
		ok(find_row(row->check) == row, "%s is one row", row->check);
}

/* Each command that a script calls: NAME behind call(' or pcall('. */
static void
test_scripts(const char *path)
{
	char line[400], name[40];
	FILE *file = fopen(path, "r");

	ok(file != NULL, "%s", path);
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		for (char *at = line; (at = strstr(at, "call('")) != NULL;) {
			size_t i = 0;

			at += strlen("call('");
			snprintf(name, sizeof(name), "%.*s",
			    (int)strcspn(at, "'"), at);
			for (char *c = name; *c != '\0'; c++)
				*c = (char)tolower((unsigned char)*c);
			while (i < NEEDS_COMMANDS &&
			       strcmp(needs_commands[i].rule, name) != 0)
				i++;
			if (i == NEEDS_COMMANDS)
				ok(false, "%s is in needs.h", name);
		}
	if (file != NULL)
		fclose(file);
}

/* Of the rows of one server, none is about another way to find it. */
static void
test_uses(void)
{
	static const struct endpoint node = {.cluster = true};
	const struct needs_row *row = needs_rows;
	size_t elsewhere = 0, unused = 0;

	config.vote_ms = 500;
	for (; *row->check != '\0'; row++) {
		enum needs_use use = needs_use_of(row, &config, &node);

		elsewhere += use == NEEDS_ELSEWHERE;
		unused += use == NEEDS_UNUSED;
		if (row->by == NEEDS_BY_CLUSTER || row->by == NEEDS_BY_SEVERAL)
			is_int(use, NEEDS_USED, row->check);
	}
	is_int((int64_t)elsewhere, 1, "sentinels are elsewhere");
	ok(unused > 0, "and some rows are about others");
	config.vote_ms = 0;
}

/* --- the manual ------------------------------------------------------- */

static char manual[1 << 20];

/* The rules of its section about them from one word to another, as the bits of
 * the commands. */
static uint64_t
rules_between(const char *from, const char *to)
{
	char *section = strstr(manual, "\n.Sh ACCESS RULES");
	char *begin = section == NULL ? NULL : strstr(section, from);
	char *end = begin == NULL ? NULL : strstr(begin, to);
	uint64_t commands = 0;
	char saved;

	if (end == NULL)
		return 0;
	saved = *end;
	*end = '\0';
	for (char *rule = strchr(begin, '+'); rule != NULL;
	     rule = strchr(rule, '+')) {
		size_t length = strcspn(++rule, " \n\\");

		for (enum needs_command i = 0; i < NEEDS_COMMANDS; i++)
			if (strlen(needs_commands[i].rule) == length &&
			    strncmp(rule, needs_commands[i].rule, length) == 0)
				commands |= NEEDS_BIT(i);
	}
	*end = saved;
	return commands;
}

/* Of the rows with that check, or of all that such runs use. EVAL is a rule for
 * itself and for all scripts. */
static uint64_t
commands_of(const char *check, const struct lock_config *run)
{
	uint64_t commands = 0;

	for (const struct needs_row *row = needs_rows; *row->check != '\0';
	     row++)
		if (run == NULL
			? strcmp(row->check, check) == 0
			: needs_use_of(row, run, run->server) == NEEDS_USED)
			commands |= row->needs.commands;
	if (commands & BIT(SCRIPTS))
		commands |= BIT(EVAL);
	return commands;
}

static void
is_rules(uint64_t documented, uint64_t needed, const char *what)
{
	documented |= documented & BIT(EVAL) ? BIT(SCRIPTS) : 0;
	ok(documented == needed, "%s", what);
	for (enum needs_command i = 0; i < NEEDS_COMMANDS; i++)
		if ((documented ^ needed) & NEEDS_BIT(i))
			printf("# %s is %s\n", needs_commands[i].rule,
			    documented & NEEDS_BIT(i) ? "not needed"
						      : "not documented");
}

static void
test_manual(void)
{
	struct lock_config run = config;
	uint64_t all;

	run.once_ms = 1000;
	all = commands_of(NULL, &run) | commands_of("access-counted", NULL) |
	      commands_of("access-records", NULL) |
	      commands_of("access-digest", NULL) |
	      commands_of("access-exists", NULL) |
	      commands_of("access-name", NULL);
	is_rules(rules_between("\nACL SETUSER locker on", "\n.Ed"), all,
	    "the rules of the manual are those of locks of all kinds");
	is_rules(rules_between("\n.Fl Fl wait-replicas\nneeds", ","),
	    commands_of("access-replicas", NULL), "of --wait-replicas");
	is_rules(rules_between("\nand several servers need", ","),
	    commands_of("access-votes", NULL), "of several servers");
	is_rules(rules_between("\nWith Sentinel,", "With Cluster"),
	    commands_of("access-sentinel", NULL), "of sentinels");
	is_rules(rules_between("\nWith Cluster,", ".Fl Fl wait-replicas"),
	    commands_of("access-cluster", NULL), "of a cluster");
	is_rules(rules_between("\n.Fl Fl status\nneeds", "and without"),
	    commands_of("access-status", NULL), "of --status");
	is_rules(rules_between("\n.Fl Fl list\nalso needs", ".Pq"),
	    commands_of("access-list", NULL) &
		~commands_of("access-status", NULL),
	    "of --list");
	is_rules(rules_between("\n.Fl Fl force-release\nalso needs", "\n.Sh"),
	    commands_of("access-force", NULL) &
		~commands_of("access-status", NULL),
	    "of --force-release");
}

int
main(void)
{
	glob_t scripts = {0};
	FILE *file = fopen("man/rlockrun-servers.7", "r");

	if (file == NULL || fread(manual, 1, sizeof(manual) - 1, file) < 1000) {
		perror("man/rlockrun-servers.7");
		return EXIT_FAILURE;
	}
	fclose(file);
	test_refusals();
	test_names();
	glob("src/*/script/*.lua", 0, NULL, &scripts);
	glob("src/lock/script/shared/*.lua", GLOB_APPEND, NULL, &scripts);
	for (size_t i = 0; i < scripts.gl_pathc; i++)
		test_scripts(scripts.gl_pathv[i]);
	globfree(&scripts);
	test_uses();
	test_manual();
	return tap_done();
}
