#include "options/settings_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/row.h"
#include "options/conf.h"

enum { COMMENT_COLUMN = 32, C1_LAST = 0x9f };

/* --- what is shown --------------------------------------------------- */

static int64_t
duration_of(const struct settings *settings, enum option_id id)
{
	const char *opts = (const char *)settings->opts;

	return *(const int64_t *)(opts + opts_table[id].field);
}

/* Not one that another option overrules, or that has no value. */
static bool
is_shown(const struct settings *settings, enum option_id id)
{
	const struct opts_row *row = &opts_table[id];
	enum option_id password = id == OPT_PASSWORD_FILE ? OPT_PASSWORD
				  : id == OPT_SENTINEL_PASSWORD_FILE
				      ? OPT_SENTINEL_PASSWORD
				      : id;

	if (!opts_row_is_in_files(row) || settings_winner(settings, id) != id ||
	    settings_compare(settings, password, id) > 0)
		return false;
	/* It may depend on other options, or be none at all. */
	if (row->type == OPTS_DURATION)
		return duration_of(settings, id) >= row->min;
	return settings->of[id].text != NULL || row->type == OPTS_SERVER;
}

/* --- a line ---------------------------------------------------------- */

/* To be freed. */
static char *
describe_value(const struct settings *settings, enum option_id id)
{
	const struct opts *opts = settings->opts;
	char *labels = NULL;

	if (id == OPT_REDIS) {
		for (size_t i = 0; i < opts->server_count; i++)
			labels =
			    mem_append(labels, ' ', opts->servers[i].label);
		return labels;
	}
	if (settings->of[id].origin <= ORIGIN_CRON &&
	    opts_table[id].type == OPTS_DURATION)
		return duration_text(duration_of(settings, id));
	return mem_strdup(settings->of[id].text);
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

/* Of what stands in no file. */
static const char *
origin_name(const struct settings *settings, enum option_id id)
{
	switch (settings->of[id].origin) {
	case ORIGIN_COMMAND_LINE:
		return "command line";
	case ORIGIN_CRON:
		return "--cron";
	case ORIGIN_ENVIRONMENT:
		return opts_table[id].variable;
	default:
		return id == OPT_REDIS && !settings->opts->servers[0].is_default
			   ? opts_table[OPT_REDIS_URL].variable
			   : "default";
	}
}

static void
print_origin(FILE *out, const struct settings *settings, enum option_id id)
{
	const struct setting *setting = &settings->of[id];
	const struct place *place = &setting->place;
	char *file, *name;

	if (place->file == NULL) {
		fputs(origin_name(settings, id), out);
		return;
	}
	file = escape_text(place->file, ESCAPE_TEXT);
	name = escape_text(place->section_name, ESCAPE_TEXT);
	fprintf(out, "%s:%d", file, place->line);
	if (setting->origin != ORIGIN_GENERAL)
		fprintf(out, " [%s %s]",
		    setting->origin == ORIGIN_LOCK ? "lock" : "profile", name);
	free(file);
	free(name);
}

/* A comment if it would not be read back. */
static void
print_assignment(FILE *out, const struct settings *settings, enum option_id id,
    const char *value)
{
	const char *name = opts_table[id].longs[0];
	enum conf_form form =
	    is_safe(value) ? conf_form_of(value) : CONF_IMPOSSIBLE;
	long start = ftell(out), width;
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
	width = ftell(out) - start;
	fprintf(out, "%*s # ",
	    width < COMMENT_COLUMN ? (int)(COMMENT_COLUMN - width) : 0, "");
	print_origin(out, settings, id);
	putc('\n', out);
}

static void
print_setting(struct row *row, const struct settings *settings,
    enum option_id id, const char *value)
{
	const struct setting *setting = &settings->of[id];
	const struct place *place = &setting->place;
	bool in_file = place->file != NULL;
	bool in_section = in_file && setting->origin != ORIGIN_GENERAL;
	bool in_lock = in_section && setting->origin == ORIGIN_LOCK;

	if (!settings->opts->json) {
		print_assignment(row->out, settings, id, value);
		return;
	}
	row_open(row, "", '{');
	row_string(row, "name", opts_table[id].longs[0]);
	row_string(row, "value", value);
	row_string(row, "origin",
	    in_file ? place->file : origin_name(settings, id));
	row_number(row, NULL, "line", in_file, place->line);
	row_text(row, NULL, "lock", in_lock ? place->section_name : NULL);
	row_text(row, NULL, "profile",
	    in_section && !in_lock ? place->section_name : NULL);
	row_close(row, '}');
}

/* Each on a line, with that which sets it. */
static void
print_hooks(struct row *row, const struct settings *settings)
{
	struct settings line = *settings;

	for (size_t i = 0; i < settings->opts->hook_count; i++) {
		const struct opts_hook *hook = &settings->opts->hooks[i];
		char *text = mem_strndup(hook->text, hook->length);

		line.of[OPT_HOOK].place.line = hook->line;
		print_setting(row, &line, OPT_HOOK, text);
		free(text);
	}
}

char *
settings_text(const struct settings *settings)
{
	char *text = NULL;
	size_t size = 0;
	bool json = settings->opts->json;
	struct row row = {.out = open_memstream(&text, &size)};

	if (row.out == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	if (json) {
		row_open(&row, "", '{');
		row_open(&row, "settings", '[');
	}
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		char *value;

		if (!is_shown(settings, id))
			continue;
		if (id == OPT_HOOK && settings->opts->hook_count > 0) {
			print_hooks(&row, settings);
			continue;
		}
		value = describe_value(settings, id);
		print_setting(&row, settings, id, value);
		free(value);
	}
	if (json) {
		row_close(&row, ']');
		row_close(&row, '}');
		putc('\n', row.out);
	}
	if (fclose(row.out) == EOF)
		log_die(EXITCODE_RESOURCE, "out of memory");
	return text;
}
