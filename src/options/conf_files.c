#include "options/conf_files.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "options/conf_access.h"
#include "options/edits.h"
#include "options/nearest.h"

#define OF_THE_USER "rlockrun.conf"

enum { NAME_SIZE = 256 };

/* A line that sets an option. */
struct line {
	enum option_id id;
	struct setting setting;
	uint32_t locks; /* those of this run that it is for, as bits */
};

/* While files are read, one line after the other. */
struct reading {
	struct settings *settings;
	const struct conf *conf; /* at this line */
	uint32_t locks;		 /* those that its section is for */
	struct line *lines;	 /* the former ones, in this order */
	size_t count;
	const char *profile; /* the wanted one, until it is found, or NULL */
	const char *near_profile;
};

/* --- a section ------------------------------------------------------- */

/* Which locks it is for. Of the profiles, that which --profile or its variable
 * names is for all. */
static void
begin_section(struct reading *reading)
{
	const char *name = reading->conf->place.section_name;
	const struct opts *opts = reading->settings->opts;
	const char *wanted = opts->profile != NULL ? opts->profile : "";

	reading->locks = 0;
	if (reading->conf->origin == ORIGIN_GENERAL) {
		reading->locks = UINT32_MAX;
	} else if (reading->conf->origin == ORIGIN_LOCK) {
		for (size_t i = 0; i < opts->key_count; i++)
			if (fnmatch(name, opts->keys[i].name, 0) == 0)
				reading->locks |= UINT32_C(1) << i;
	} else if (*wanted != '\0' && strcmp(name, wanted) == 0) {
		reading->profile = NULL;
		reading->locks = UINT32_MAX;
	} else if (*wanted != '\0' &&
		   edits_suffice(name, wanted, strlen(wanted) < 4 ? 1 : 2)) {
		reading->near_profile = name;
	}
}

/* --- a value --------------------------------------------------------- */

/* Quotes no name that resembles none of ours: it may be a password. */
static void
refuse_name(const struct reading *reading)
{
	const char *name = reading->conf->name;
	const struct opts_row *row = nearest_option(name);
	struct settings *settings = reading->settings;
	const struct place *place = &reading->conf->place;

	if (row == NULL)
		settings_fail_at(settings, place, "unknown name");
	else if (*row->longs[0] == '\0')
		settings_fail_at(settings, place,
		    "a password cannot be set here (password-file, or in the "
		    "URL)");
	else if (!opts_row_is_in_files(row))
		settings_fail_at(settings, place,
		    "%s cannot be set in a file (--%s)", row->longs[0],
		    row->longs[0]);
	else
		settings_fail_at(settings, place,
		    "unknown name '%s' (did you mean %s?)", name,
		    row->longs[0]);
}

/* OPT_COUNT if there is none. */
static enum option_id
find_option(const char *name)
{
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct opts_row *row = &opts_table[id];

		for (size_t i = 0; i < OPTS_LONGS_MAX && *row->longs[i]; i++)
			if (strcmp(row->longs[i], name) == 0 &&
			    opts_row_is_in_files(row))
				return id;
	}
	return OPT_COUNT;
}

/* Where this section has set the option, or 0. */
static int
line_before(const struct reading *reading, enum option_id id)
{
	for (size_t i = reading->count; i > 0; i--) {
		const struct line *line = &reading->lines[i - 1];

		if (line->setting.place.section != reading->conf->place.section)
			break;
		if (line->id == id)
			return line->setting.place.line;
	}
	return 0;
}

/* A line with a password. */
static void
refuse_exposed(const struct reading *reading)
{
	const struct conf *conf = reading->conf;
	const char *name = conf->name;

	if (reading->settings->status != 0 ||
	    !conf_access_is_readable(&conf->status))
		return;
	if (password_file_is_mounted(conf->place.file, &conf->status))
		log_warnx("%s:%d: %s has a password, and others can read the "
			  "file (mount it with mode 0440)",
		    conf->place.file, conf->place.line, name);
	else
		settings_fail_at(reading->settings, &conf->place,
		    "%s has a password, and others can read the file "
		    "(chmod go-r)",
		    name);
}

static void
take_line(struct reading *reading)
{
	const struct conf *conf = reading->conf;
	struct settings *settings = reading->settings;
	enum option_id id = find_option(conf->name);
	const struct setting setting = {.name = conf->name,
	    .text = conf->value,
	    .origin = conf->origin,
	    .place = conf->place};
	int before;

	if (id == OPT_COUNT) {
		refuse_name(reading);
		return;
	}
	before = id == OPT_HOOK ? 0 : line_before(reading, id);
	if (before > 0)
		settings_fail_at(settings, &conf->place,
		    "%s is set in line %d already", conf->name, before);
	if (settings_try(settings, id, &setting)) {
		secret_note();
		refuse_exposed(reading);
	}
	reading->lines = mem_realloc(reading->lines,
	    (reading->count + 1) * sizeof(*reading->lines));
	reading->lines[reading->count++] =
	    (struct line){id, setting, reading->locks};
}

/* --- a file ---------------------------------------------------------- */

static void
read_lines(struct reading *reading, struct conf *conf)
{
	enum conf_item item;

	reading->conf = conf;
	begin_section(reading);
	do {
		item = conf_next(conf);
		if (item == CONF_HEADING)
			begin_section(reading);
		else if (item == CONF_VALUE)
			take_line(reading);
		else if (item == CONF_MISTAKE)
			settings_fail_at(reading->settings, &conf->place, "%s",
			    conf->mistake);
	} while (item != CONF_END && reading->settings->status == 0);
}

static void
open_one(struct conf_files *files, struct settings *settings, const char *path,
    bool optional)
{
	struct conf *conf = &files->files[files->count++];
	const char *reason = conf_open(conf, path, optional);

	if (reason != NULL)
		settings_fail_at(settings, &conf->place, "%s", reason);
}

/* Those with a higher precedence come later. The environment is not that of the
 * user if this is a setuid program. XDG_CONFIG_HOME counts only if it is
 * absolute, as its specification says. */
static void
open_files(struct conf_files *files, struct settings *settings)
{
	const char *folder = secure_getenv("XDG_CONFIG_HOME");
	const char *home = secure_getenv("HOME");
	const char *path = settings->opts->config;

	if (path != NULL && *path == '\0') {
		settings_fail(settings, OPT_CONFIG,
		    "--config needs the name of a file, or none");
		return;
	}
	if (path != NULL) {
		if (strcmp(path, "none") != 0)
			open_one(files, settings, path, false);
		return;
	}
	open_one(files, settings, CONF_OF_THE_HOST, true);
	if (folder != NULL && *folder == '/')
		files->user_path = mem_printf("%s/" OF_THE_USER, folder);
	else if (home != NULL && *home == '/')
		files->user_path = mem_printf("%s/.config/" OF_THE_USER, home);
	if (files->user_path != NULL)
		open_one(files, settings, files->user_path, true);
}

/* --- all files ------------------------------------------------------- */

static void
check_profile(const struct reading *reading)
{
	char wanted[NAME_SIZE], near[NAME_SIZE];

	if (reading->profile == NULL)
		return;
	escape_quote(reading->profile, wanted, sizeof(wanted));
	if (reading->near_profile == NULL) {
		settings_fail(reading->settings, OPT_PROFILE,
		    "no configuration file has a profile %s", wanted);
		return;
	}
	escape_quote(reading->near_profile, near, sizeof(near));
	settings_fail(reading->settings, OPT_PROFILE,
	    "no configuration file has a profile %s (did you mean %s?)", wanted,
	    near);
}

/* What holds for a lock: of the highest origin, the last line. NULL if no line
 * sets the option. */
static const struct setting *
setting_for(const struct reading *reading, enum option_id id, size_t lock)
{
	const struct setting *found = NULL;

	for (size_t i = 0; i < reading->count; i++) {
		const struct line *line = &reading->lines[i];

		if (line->id == id && (line->locks >> lock & 1) != 0 &&
		    (found == NULL || line->setting.origin >= found->origin))
			found = &line->setting;
	}
	return found;
}

/* The first lock has a setting of a [lock] section. */
static void
refuse_difference(const struct reading *reading, enum option_id id, size_t one,
    size_t other)
{
	const struct place *place = &setting_for(reading, id, one)->place;
	const struct setting *second = setting_for(reading, id, other);
	const struct opts_key *keys = reading->settings->opts->keys;
	const char *name = opts_table[id].longs[0];
	char first_key[NAME_SIZE], second_key[NAME_SIZE], where[NAME_SIZE];

	escape_quote(keys[one].name, first_key, sizeof(first_key));
	escape_quote(keys[other].name, second_key, sizeof(second_key));
	if (second == NULL)
		snprintf(where, sizeof(where), "nothing");
	else if (second->origin == ORIGIN_LOCK)
		snprintf(where, sizeof(where), "%s:%d [lock %s]",
		    second->place.file, second->place.line,
		    second->place.section_name);
	else
		snprintf(where, sizeof(where), "%s:%d", second->place.file,
		    second->place.line);
	settings_fail_at(reading->settings, place,
	    "[lock %s] sets %s for %s, but %s for %s (set it for both: --%s)",
	    place->section_name, name, first_key, where, second_key, name);
}

/* The next line of that section which sets a hook, from the first on. */
static const struct setting *
next_hook(const struct reading *reading, const struct setting *of, size_t *at)
{
	while (*at < reading->count) {
		const struct line *line = &reading->lines[(*at)++];

		if (line->id == OPT_HOOK &&
		    line->setting.place.section == of->place.section)
			return &line->setting;
	}
	return NULL;
}

static bool
is_same_value(const struct reading *reading, enum option_id id,
    const struct setting *one, const struct setting *other)
{
	const struct setting *a = one, *b = other;
	size_t a_at = 0, b_at = 0;

	if (id != OPT_HOOK)
		return strcmp(one->text, other->text) == 0;
	do {
		a = next_hook(reading, one, &a_at);
		b = next_hook(reading, other, &b_at);
	} while (a != NULL && b != NULL && strcmp(a->text, b->text) == 0);
	return a == NULL && b == NULL;
}

/* A run has one value of each option, so its locks must agree. What a section
 * says of one lock must not reach another lock: other runs would hold that in
 * another kind, or on another server. */
static const struct setting *
setting_for_all(const struct reading *reading, enum option_id id)
{
	const struct setting *first = setting_for(reading, id, 0);

	for (size_t i = 1; i < reading->settings->opts->key_count; i++) {
		const struct setting *other = setting_for(reading, id, i);

		if (first == other ||
		    (first != NULL && other != NULL &&
			is_same_value(reading, id, first, other)))
			continue;
		if (first != NULL && first->origin == ORIGIN_LOCK)
			refuse_difference(reading, id, 0, i);
		else
			refuse_difference(reading, id, i, 0);
	}
	return first;
}

/* By the command line or the environment. */
static bool
is_decided(const struct settings *settings, enum option_id id)
{
	enum option_id winner = settings_winner(settings, id);

	return settings->of[id].origin >= ORIGIN_ENVIRONMENT ||
	       (settings_counts(settings, winner) &&
		   settings->of[winner].origin >= ORIGIN_ENVIRONMENT);
}

/* All of a section; end: as below. */
static char *
set_hooks(struct reading *reading, const struct setting *found, char *end)
{
	const struct setting *hook;

	for (size_t at = 0; (hook = next_hook(reading, found, &at)) != NULL;) {
		struct setting setting = *hook;

		setting.text = end;
		end = stpcpy(end, hook->text) + 1;
		settings_set(reading->settings, OPT_HOOK, &setting);
	}
	return end;
}

/* Texts outlive the files that they were read from, except for URLs: these
 * become endpoints here. All texts together are shorter than the files. */
static void
set_values(struct reading *reading, size_t size)
{
	struct settings *settings = reading->settings;
	char *end = mem_alloc(size);

	settings->opts->file_texts = end;
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		struct setting setting;
		const struct setting *found =
		    is_decided(settings, id) ? NULL
					     : setting_for_all(reading, id);

		if (found == NULL)
			continue;
		if (id == OPT_HOOK) {
			end = set_hooks(reading, found, end);
			continue;
		}
		setting = *found;
		if (!opts_table[id].secret) {
			setting.text = end;
			end = stpcpy(end, found->text) + 1;
		}
		settings_set(settings, id, &setting);
	}
}

void
conf_files_apply(struct conf_files *files, struct settings *settings)
{
	const char *profile = settings->opts->profile;
	struct reading reading = {.settings = settings,
	    .profile = profile != NULL && *profile != '\0' ? profile : NULL};
	size_t size = 0;
	int section = 0;

	*files = (struct conf_files){.count = 0};
	if (settings_are_final(settings))
		return;
	open_files(files, settings);
	if (settings->status != 0)
		return;
	for (size_t i = 0; i < files->count; i++) {
		struct conf *conf = &files->files[i];

		if (conf->text == NULL)
			continue;
		conf->place.section = ++section;
		read_lines(&reading, conf);
		section = conf->place.section;
		size += conf->length;
	}
	check_profile(&reading);
	set_values(&reading, size);
	free(reading.lines);
}

void
conf_files_close(struct conf_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		conf_close(&files->files[i]);
	free(files->user_path);
}
