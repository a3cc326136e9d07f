#include "options/command_line.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/mem.h"
#include "options/nearest.h"

/* What getopt_long returns for long options: this and up. */
enum { LONG_OPTION = 256 };

static enum option_id
id_of(int given)
{
	enum option_id id = OPT_KEY;

	if (given >= LONG_OPTION)
		return (enum option_id)(given - LONG_OPTION);
	while (strchr(opts_table[id].shorts, given) == NULL)
		id++;
	return id;
}

/* Whether another name of the row begins with it. */
static bool
is_abbreviation(const struct opts_row *row, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < OPTS_LONGS_MAX; i++)
		if (row->longs[i][length] != '\0' &&
		    strncmp(row->longs[i], name, length) == 0)
			return true;
	return false;
}

/* Without names that abbreviate others: to musl, what abbreviates two names is
 * ambiguous, even if both are of one option. */
static void
list_options(char *shorts, struct option *longs)
{
	/* '+': stop at the command, whose options are its own.
	 * ':': distinguish a missing argument from an unknown option. */
	shorts = stpcpy(shorts, "+:");
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct opts_row *row = &opts_table[id];
		int has_arg = *row->argument == '\0'  ? no_argument
			      : *row->implied != '\0' ? optional_argument
						      : required_argument;

		for (const char *name = row->shorts; *name != '\0'; name++) {
			*shorts++ = *name;
			if (has_arg != no_argument)
				*shorts++ = ':';
		}
		for (size_t i = 0; i < OPTS_LONGS_MAX && *row->longs[i]; i++)
			if (!is_abbreviation(row, row->longs[i]))
				*longs++ =
				    (struct option){.name = row->longs[i],
					.has_arg = has_arg,
					.val = LONG_OPTION + (int)id};
	}
	*shorts = '\0';
	*longs = (struct option){.name = NULL};
}

/* A word that is no option, or the beginning of several. A password may follow
 * '='. */
static void
refuse_long(struct settings *settings, const char *word)
{
	char *name = mem_printf("%.*s", (int)strcspn(word, "="), word);
	enum option_id id = OPT_KEY;
	size_t count;
	char *list = nearest_list(name + strlen("--"), &count, &id);

	if (count > 1)
		settings_fail(settings, id, "ambiguous option %s (%s)", name,
		    list);
	else if (count == 1)
		settings_fail(settings, id,
		    "unknown option %s (did you mean %s?)", name, list);
	else
		settings_fail(settings, id, "unknown option %s", name);
	free(list);
	free(name);
}

/* word is what getopt_long looked at last. */
static void
refuse_option(struct settings *settings, bool unknown, const char *word)
{
	const char *verb = unknown ? "takes no" : "needs an";

	if (optopt == 0) {
		refuse_long(settings, word);
	} else if (optopt >= LONG_OPTION) {
		settings_fail(settings, id_of(optopt), "--%s %s argument",
		    opts_table[id_of(optopt)].longs[0], verb);
	} else if (unknown) {
		settings_fail(settings, OPT_KEY, "unknown option -%c", optopt);
	} else {
		settings_fail(settings, id_of(optopt), "-%c %s argument",
		    optopt, verb);
	}
}

/* Whether the letter prints something in place of the run, and shares its word
 * with others, as in "-hook" for "--hook": that would end with status 0. A
 * password may follow, so only names of ours are shown. */
static bool
refuse_bundle(struct settings *settings, int given, const char *word)
{
	enum option_id id = id_of(given);
	const char *meant;
	char *name;

	if (given >= LONG_OPTION || opts_table[id].action == OPTS_RUN ||
	    word[strlen("-h")] == '\0')
		return false;
	name = mem_printf("%.*s", (int)strcspn(word, "="), word);
	meant = nearest_name(name + strlen("-"), false, &id);
	if (meant != NULL && strcmp(meant, name + strlen("-")) == 0)
		settings_fail(settings, id,
		    "unknown option %s (did you mean --%s?)", name, meant);
	else
		settings_fail(settings, id_of(given),
		    "-%c cannot be combined with other letters", given);
	free(name);
	return true;
}

/* Options may follow a glob of --list and --check, but not "--". */
static bool
add_glob(struct settings *settings, char **argv)
{
	const struct opts *opts = settings->opts;
	const char *before = argv[optind - 1], *word = argv[optind];
	char **end = settings->opts->globs;
	int64_t ms;

	if ((opts->action != OPTS_LIST && opts->action != OPTS_CHECK) ||
	    word == NULL || strcmp(before, "--") == 0)
		return false;
	/* An argument that may be left out is never the next word. */
	if (strncmp(before, "--wat", strlen("--wat")) == 0 &&
	    strchr(before, '=') == NULL && duration_parse(word, &ms) == 0)
		settings_fail(settings, OPT_WATCH,
		    "'%s' after --watch is a GLOB (--watch=%s, or the GLOB "
		    "first)",
		    word, word);
	while (*end != NULL)
		end++;
	*end = argv[optind++];
	return true;
}

/* Continues after a mistake, so that no password stays visible in argv. */
char **
command_line_read(struct settings *settings, int argc, char **argv)
{
	char shorts[sizeof("+:") + sizeof("x:") * OPTS_SHORTS_MAX * OPT_COUNT];
	struct option longs[OPT_COUNT * OPTS_LONGS_MAX + 1];
	int given;

	list_options(shorts, longs);
	opterr = 0;
	optind = 0; /* makes getopt_long forget an earlier argv */
	do {
		/* Where it looks now, also for the next letter of a word. */
		int at = optind > 0 ? optind : 1;
		const struct opts_row *row;
		char name[sizeof("--") + sizeof(row->longs[0])];

		given = getopt_long(argc, argv, shorts, longs, NULL);
		if (given == '?' || given == ':')
			refuse_option(settings, given == '?', argv[optind - 1]);
		if (given == '?' || given == ':' || given == -1 ||
		    refuse_bundle(settings, given, argv[at]))
			continue;
		row = &opts_table[id_of(given)];
		if (given < LONG_OPTION)
			snprintf(name, sizeof(name), "-%c", given);
		else
			snprintf(name, sizeof(name), "--%s", row->longs[0]);
		settings->opts->summary = given == 'h';
		settings_set(settings, id_of(given),
		    &(struct setting){.name = name,
			.text = optarg != NULL		? optarg
				: *row->implied != '\0' ? row->implied
							: "yes",
			.origin = ORIGIN_COMMAND_LINE});
		if (optarg != NULL && row->type == OPTS_SERVER)
			url_wipe(optarg);
		else if (optarg != NULL && row->secret)
			explicit_bzero(optarg, strlen(optarg));
	} while (given != -1 || add_glob(settings, argv));
	return argv + optind;
}
