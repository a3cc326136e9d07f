#include "options/show_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"

enum { COMMENT_COLUMN = 32 };

/* --- values ---------------------------------------------------------- */

/* As a configuration file needs it. What it cannot contain is escaped. */
static void
print_text(FILE *out, const char *text)
{
	char *safe = escape_text(text, ESCAPE_TEXT);
	size_t length = strlen(safe);
	bool quoted = *safe == '#' || *safe == '"' || *safe == ' ' ||
		      strstr(safe, " #") != NULL ||
		      (length > 0 && safe[length - 1] == ' ');

	fprintf(out, quoted ? "\"%s\"" : "%s", safe);
	free(safe);
}

static void
print_servers(FILE *out, const struct opts *opts)
{
	for (size_t i = 0; i < opts->server_count; i++)
		fprintf(out, "%s%s", i > 0 ? " " : "", opts->servers[i].label);
}

static void
print_duration(FILE *out, int64_t ms)
{
	fprintf(out, ms % 1000 == 0 ? "%" PRId64 "s" : "%" PRId64 "ms",
	    ms % 1000 == 0 ? ms / 1000 : ms);
}

static void
print_choice(FILE *out, const char *word, int place)
{
	for (; place > 0; place--)
		word += strcspn(word, "|") + 1;
	fprintf(out, "%.*s", (int)strcspn(word, "|"), word);
}

static void
print_default(FILE *out, const struct opts *opts, enum option_id id)
{
	const struct opts_row *row = &opts_table[id];
	const void *field = (const char *)opts + row->field;

	if (row->type == OPTS_SWITCH)
		fputs(id == OPT_EXCLUSIVE ? "yes" : "no", out);
	else if (row->type == OPTS_CHOICE)
		print_choice(out, row->argument, *(const int *)field);
	else if (row->type == OPTS_NUMBER)
		fprintf(out, "%d", *(const int *)field);
	else if (row->type == OPTS_DURATION)
		print_duration(out, *(const int64_t *)field);
	else if (row->type == OPTS_REPLICAS)
		fprintf(out, "%d", opts->replicas);
}

/* --- what is shown --------------------------------------------------- */

static bool
has_default(const struct opts *opts, enum option_id id)
{
	const struct opts_row *row = &opts_table[id];
	const void *field = (const char *)opts + row->field;

	if (row->type == OPTS_NUMBER)
		return *(const int *)field >= row->min;
	if (row->type == OPTS_DURATION)
		return *(const int64_t *)field >= row->min;
	return row->type != OPTS_TEXT && row->type != OPTS_FILE;
}

/* Options that are one setting: of these, only the one that counts. */
static bool
is_overruled(const struct settings *settings, enum option_id id)
{
	const struct opts *opts = settings->opts;

	switch (id) {
	case OPT_EXCLUSIVE:
		return opts->kind != 'x';
	case OPT_SHARED:
		return opts->kind != 's';
	case OPT_PERMITS:
		return opts->kind != 'p';
	case OPT_WAIT:
		return opts->nonblock &&
		       settings_compare(settings, OPT_NONBLOCK, id) >= 0;
	case OPT_NONBLOCK:
		return settings_compare(settings, OPT_WAIT, id) > 0;
	case OPT_PASSWORD_FILE:
		return settings_compare(settings, OPT_PASSWORD, id) > 0;
	case OPT_SENTINEL_PASSWORD_FILE:
		return settings_compare(settings, OPT_SENTINEL_PASSWORD, id) >
		       0;
	default:
		return false;
	}
}

static bool
is_shown(const struct settings *settings, enum option_id id)
{
	return opts_row_is_in_files(&opts_table[id]) &&
	       !is_overruled(settings, id) &&
	       (settings->origins[id] != ORIGIN_DEFAULT ||
		   has_default(settings->opts, id));
}

/* --- a line ---------------------------------------------------------- */

static void
print_value(FILE *out, const struct settings *settings, enum option_id id)
{
	if (id == OPT_REDIS)
		print_servers(out, settings->opts);
	else if (settings->origins[id] == ORIGIN_DEFAULT)
		print_default(out, settings->opts, id);
	else
		print_text(out, settings->texts[id]);
}

static void
print_place(FILE *out, const struct place *place, const char *kind)
{
	char *file = escape_text(place->file, ESCAPE_TEXT);
	char *name = escape_text(place->section_name, ESCAPE_TEXT);

	fprintf(out, "%s:%d", file, place->line);
	if (kind != NULL)
		fprintf(out, " [%s %s]", kind, name);
	free(file);
	free(name);
}

static void
print_origin(FILE *out, const struct settings *settings, enum option_id id)
{
	const struct place *place = &settings->places[id];

	switch (settings->origins[id]) {
	case ORIGIN_DEFAULT:
		fputs(id == OPT_REDIS && !settings->opts->servers[0].is_default
			  ? opts_table[OPT_REDIS_URL].variable
			  : "default",
		    out);
		break;
	case ORIGIN_GENERAL:
		print_place(out, place, NULL);
		break;
	case ORIGIN_PROFILE:
		print_place(out, place, "profile");
		break;
	case ORIGIN_LOCK:
		print_place(out, place, "lock");
		break;
	case ORIGIN_ENVIRONMENT:
		fputs(opts_table[id].variable, out);
		break;
	case ORIGIN_COMMAND_LINE:
		fputs("command line", out);
		break;
	}
}

static void
print_option(FILE *out, const struct settings *settings, enum option_id id)
{
	long start = ftell(out), width;

	fprintf(out, "%s = ", opts_table[id].longs[0]);
	print_value(out, settings, id);
	width = ftell(out) - start;
	fprintf(out, "%*s # ",
	    width < COMMENT_COLUMN ? (int)(COMMENT_COLUMN - width) : 0, "");
	print_origin(out, settings, id);
	putc('\n', out);
}

char *
show_config(const struct settings *settings)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	for (enum option_id id = 0; id < OPT_COUNT; id++)
		if (is_shown(settings, id))
			print_option(out, settings, id);
	if (fclose(out) == EOF)
		log_die(EXITCODE_RESOURCE, "out of memory");
	return text;
}
