#include "options/opts_parse.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/secret.h"
#include "options/configured.h"
#include "options/credentials.h"
#include "options/nearest.h"
#include "options/opts_check.h"
#include "options/opts_table.h"
#include "options/settings.h"
#include "options/show_config.h"
#include "options/variables.h"

/* --- the command line ------------------------------------------------- */

static enum option_id
id_of(int given)
{
	enum option_id id = OPT_KEY;

	if (given >= SETTINGS_LONG_OPTION)
		return (enum option_id)(given - SETTINGS_LONG_OPTION);
	while (strchr(opts_table[id].shorts, given) == NULL)
		id++;
	return id;
}

static void
list_shorts(char *list)
{
	/* '+': stop at the command, whose options are its own.
	 * ':': distinguish a missing argument from an unknown option. */
	list = stpcpy(list, "+:");
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		for (const char *name = opts_table[id].shorts; *name; name++) {
			*list++ = *name;
			if (*opts_table[id].argument != '\0')
				*list++ = ':';
		}
	}
	*list = '\0';
}

static void
list_longs(struct option *list)
{
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct opts_row *row = &opts_table[id];
		int has_arg = *row->argument == '\0'  ? no_argument
			      : *row->implied != '\0' ? optional_argument
						      : required_argument;

		for (size_t i = 0; i < OPTS_LONGS_MAX && *row->longs[i]; i++)
			*list++ = (struct option){.name = row->longs[i],
			    .has_arg = has_arg,
			    .val = SETTINGS_LONG_OPTION + (int)id};
	}
	*list = (struct option){.name = NULL};
}

/* A password may follow '='. */
static void
refuse_long(struct settings *settings, const char *word)
{
	char *name = mem_printf("%.*s", (int)strcspn(word, "="), word);
	const char *meant = nearest_long(name + strlen("--"));

	if (meant == NULL)
		settings_fail(settings, OPT_HELP,
		    "unknown or ambiguous option %s", name);
	else
		settings_fail(settings, OPT_HELP,
		    "unknown or ambiguous option %s (did you mean --%s?)", name,
		    meant);
	free(name);
}

/* word is what getopt_long looked at last. */
static void
refuse_option(struct settings *settings, bool unknown, const char *word)
{
	char *name;

	if (optopt == 0) {
		refuse_long(settings, word);
		return;
	}
	settings->given = optopt;
	if (unknown && optopt < SETTINGS_LONG_OPTION) {
		settings_fail(settings, OPT_HELP, "unknown option -%c", optopt);
		return;
	}
	name = settings_name(settings, id_of(optopt), ORIGIN_COMMAND_LINE);
	settings_fail(settings, OPT_HELP, "%s %s argument", name,
	    unknown ? "takes no" : "needs an");
	free(name);
}

static void
set_option(struct settings *settings, int given)
{
	enum option_id id = id_of(given);
	const struct opts_row *row = &opts_table[id];

	settings->given = given;
	settings_set(settings, id,
	    &(struct setting){.text = optarg != NULL	      ? optarg
				      : *row->implied != '\0' ? row->implied
							      : "yes",
		.origin = ORIGIN_COMMAND_LINE});
	if (optarg != NULL && id == OPT_REDIS)
		url_wipe(optarg);
	else if (optarg != NULL && row->secret)
		explicit_bzero(optarg, strlen(optarg));
}

/* An argument that may be left out is never the next word. */
static void
refuse_split_watch(struct settings *settings, const char *option,
    const char *word)
{
	int64_t ms;

	if (strncmp(option, "--wat", strlen("--wat")) == 0 &&
	    strchr(option, '=') == NULL && num_duration(word, &ms) == 0)
		settings_fail(settings, OPT_HELP,
		    "'%s' after --watch is a GLOB (--watch=%s, or the GLOB "
		    "first)",
		    word, word);
}

/* Options may follow a glob of --list, but not "--". */
static bool
add_glob(struct settings *settings, char **argv)
{
	char **end = settings->opts->globs;

	if (settings->opts->action != OPTS_LIST || argv[optind] == NULL ||
	    strcmp(argv[optind - 1], "--") == 0)
		return false;
	refuse_split_watch(settings, argv[optind - 1], argv[optind]);
	while (*end != NULL)
		end++;
	*end = argv[optind++];
	return true;
}

/* Continues after a mistake, so that no password stays visible in argv. */
static void
read_command_line(struct settings *settings, int argc, char **argv)
{
	char shorts[sizeof("+:") + sizeof("x:") * OPTS_SHORTS_MAX * OPT_COUNT];
	struct option longs[OPT_COUNT * OPTS_LONGS_MAX + 1];
	int given;

	list_shorts(shorts);
	list_longs(longs);
	opterr = 0;
	optind = 0; /* makes getopt_long forget an earlier argv */
	do {
		given = getopt_long(argc, argv, shorts, longs, NULL);
		if (given == '?' || given == ':')
			refuse_option(settings, given == '?', argv[optind - 1]);
		else if (given != -1)
			set_option(settings, given);
	} while (given != -1 || add_glob(settings, argv));
}

/* --- the environment -------------------------------------------------- */

/* The value in "NAME=value", NULL for another name. */
static char *
value_of(char *entry, const char *name)
{
	while (*name != '\0' && *entry == *name) {
		entry++;
		name++;
	}
	return *name == '\0' && *entry == '=' ? entry + 1 : NULL;
}

static char *
append_label(char *labels, const char *label)
{
	char *longer =
	    mem_printf("%s%s%s", labels, *labels == '\0' ? "" : " ", label);

	free(labels);
	return longer;
}

/* Wipes them; what is left to see of them, to be freed. NULL when one is no
 * URL: then nobody knows where in the list there is a password. */
static char *
hide_passwords_in_urls(char *list)
{
	char *labels = mem_strdup("");
	struct endpoint endpoint;
	bool usable = true;

	for (char *url = list, *next; usable && *url != '\0'; url = next) {
		size_t length = strcspn(url, " ");
		char end = url[length];

		next = url + length + (end != '\0');
		url[length] = '\0';
		usable = length == 0 || url_parse(url, &endpoint) == NULL;
		if (usable && length > 0) {
			labels = append_label(labels, endpoint.label);
			endpoint_fini(&endpoint);
			url_wipe(url);
		}
		url[length] = end;
	}
	if (usable)
		return labels;
	url_wipe(list);
	free(labels);
	return NULL;
}

/* All of that name: execve(2) takes a name twice, and getenv(3) finds the
 * first.
 */
static void
hide_password(enum option_id id)
{
	const char *name = opts_table[id].variable;

	for (char **entry = environ; entry && *entry; entry++) {
		char *password = value_of(*entry, name);

		if (password == NULL)
			continue;
		secret_note();
		explicit_bzero(password, strlen(password));
	}
	unsetenv(name);
}

/* setenv alone would leave the old text in /proc/PID/environ. */
static void
hide_urls(void)
{
	const char *name = opts_table[OPT_REDIS].variable;
	const char *first = getenv(name);
	char *shown = NULL;
	bool any = false;

	for (char **entry = environ; entry && *entry; entry++) {
		char *urls = value_of(*entry, name), *labels;

		if (urls == NULL || strchr(urls, '@') == NULL)
			continue;
		any = true;
		labels = hide_passwords_in_urls(urls);
		if (urls == first)
			shown = labels;
		else
			free(labels);
	}
	if (any && shown == NULL)
		shown = mem_strdup(first);
	if (any) {
		unsetenv(name);
		setenv(name, shown, 1);
	}
	free(shown);
}

static void
read_variable(struct settings *settings, enum option_id id)
{
	const char *name = opts_table[id].variable;
	const char *value = *name == '\0' ? NULL : getenv(name);

	if (value != NULL && *value != '\0')
		settings_set(settings, id,
		    &(struct setting){.text = value,
			.origin = ORIGIN_ENVIRONMENT});
}

static void
read_environment(struct settings *settings)
{
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		if (id != OPT_REDIS_URL)
			read_variable(settings, id);
	}
	hide_password(OPT_PASSWORD);
	hide_password(OPT_SENTINEL_PASSWORD);
	hide_urls();
}

/* ---------------------------------------------------------------------- */

static void
set_defaults(struct settings *settings)
{
	for (enum option_id id = 0; id < OPT_COUNT; id++)
		if (settings->of[id].origin == ORIGIN_DEFAULT &&
		    *opts_table[id].preset != '\0')
			settings_set(settings, id,
			    &(struct setting){.text = opts_table[id].preset});
	settings->opts->servers[0].is_default =
	    settings->of[OPT_REDIS].origin == ORIGIN_DEFAULT &&
	    settings->of[OPT_REDIS_URL].origin == ORIGIN_DEFAULT;
}

int
opts_parse(struct opts *opts, int argc, char **argv)
{
	struct settings settings = {.opts = opts};
	struct configured configured;

	*opts = (struct opts){
	    .wait_ms = OPTS_WAIT_FOREVER,
	    .max_waiters = OPTS_ANY_WAITERS,
	    .prefix = "",
	    .label = "",
	    .metrics = "",
	    .globs = mem_alloc(((size_t)argc + 1) * sizeof(*opts->globs)),
	};
	read_command_line(&settings, argc, argv);
	if (opts->action == OPTS_RUN)
		log_set_consequence(OPTS_NOT_STARTED);
	read_environment(&settings);
	configured_apply(&configured, &settings);
	read_variable(&settings, OPT_REDIS_URL);
	set_defaults(&settings);
	if (settings.status == 0 && !settings_are_ignored(&settings))
		opts_check(&settings, argv + optind);
	if (settings.status == 0 && opts->action == OPTS_SHOW_CONFIG)
		opts->shown = show_config(&settings);
	else if (settings.status == 0 && !settings_are_ignored(&settings))
		credentials_fill(&settings);
	credentials_forget(opts);
	configured_fini(&configured);
	if (settings.status == 0 && opts->verbose &&
	    !settings_are_ignored(&settings))
		variables_warn_unknown();
	if (settings.status != 0)
		opts_fini(opts);
	return settings.status;
}
