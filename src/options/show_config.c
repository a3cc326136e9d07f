#include "options/show_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "options/conf.h"

enum { COMMENT_COLUMN = 32, C1_LAST = 0x9f };

/* --- values ---------------------------------------------------------- */

static void
print_servers(FILE *out, const struct opts *opts)
{
	for (size_t i = 0; i < opts->server_count; i++)
		fprintf(out, "%s%s", i > 0 ? " " : "", opts->servers[i].label);
}

/* In the largest unit of which it is a whole number. */
static void
print_duration(FILE *out, int64_t ms)
{
	static const struct {
		const char *name;
		int64_t ms;
	} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000},
	    {"ms", 1}};
	size_t unit = 0;

	while (ms % units[unit].ms != 0)
		unit++;
	if (ms == 0)
		fputs("0s", out);
	else
		fprintf(out, "%" PRId64 "%s", ms / units[unit].ms,
		    units[unit].name);
}

/* --- what is shown --------------------------------------------------- */

static int64_t
duration_of(const struct settings *settings, enum option_id id)
{
	const char *opts = (const char *)settings->opts;

	return *(const int64_t *)(opts + opts_table[id].field);
}

/* A duration may depend on other options, or be none at all. */
static bool
has_value(const struct settings *settings, enum option_id id)
{
	const struct opts_row *row = &opts_table[id];

	return row->type == OPTS_DURATION
		   ? duration_of(settings, id) >= row->min
		   : settings->of[id].text != NULL || row->type == OPTS_SERVER;
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
	       !is_overruled(settings, id) && has_value(settings, id);
}

/* --- a line ---------------------------------------------------------- */

static FILE *
open_text(char **text, size_t *size)
{
	FILE *out = open_memstream(text, size);

	if (out == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	return out;
}

static void
close_text(FILE *out)
{
	if (fclose(out) == EOF)
		log_die(EXITCODE_RESOURCE, "out of memory");
}

/* To be freed. */
static char *
describe_value(const struct settings *settings, enum option_id id)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_text(&text, &size);

	if (id == OPT_REDIS)
		print_servers(out, settings->opts);
	else if (settings->of[id].origin == ORIGIN_DEFAULT &&
		 opts_table[id].type == OPTS_DURATION)
		print_duration(out, duration_of(settings, id));
	else
		fputs(settings->of[id].text, out);
	close_text(out);
	return text;
}

/* A terminal obeys control characters, also those of C1. Bytes above them that
 * are not UTF-8 are text of another encoding. */
static bool
is_safe(const char *text)
{
	while (*text != '\0') {
		const char *start = text;
		char out[ESCAPE_SIZE];
		size_t length = escape_next(&text, ESCAPE_TEXT, out);
		bool escaped = length > (size_t)(text - start);

		if (escaped && *start != '\t' &&
		    (unsigned char)*start <= C1_LAST)
			return false;
	}
	return true;
}

/* A comment if it would not be read back. */
static void
print_value(FILE *out, const char *name, const char *value)
{
	enum conf_form form =
	    is_safe(value) ? conf_form_of(value) : CONF_IMPOSSIBLE;
	char *escaped;

	if (form == CONF_PLAIN) {
		fprintf(out, "%s = %s", name, value);
	} else if (form == CONF_QUOTED) {
		fprintf(out, "%s = \"%s\"", name, value);
	} else {
		escaped = escape_text(value, ESCAPE_TEXT);
		fprintf(out, "# %s cannot be shown as a setting: %s", name,
		    escaped);
		free(escaped);
	}
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
	const struct place *place = &settings->of[id].place;

	switch (settings->of[id].origin) {
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
	char *value = describe_value(settings, id);
	long start = ftell(out), width;

	print_value(out, opts_table[id].longs[0], value);
	free(value);
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
	FILE *out = open_text(&text, &size);

	for (enum option_id id = 0; id < OPT_COUNT; id++)
		if (is_shown(settings, id))
			print_option(out, settings, id);
	close_text(out);
	return text;
}
