#include "options/conf_files.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "options/nearest.h"

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
	int section;	     /* the last one: counted over all files */
	size_t size;	     /* of all files */
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
	} else if (*wanted != '\0' && nearest_edits_suffice(name, wanted,
					  strlen(wanted) < 4 ? 1 : 2)) {
		reading->near_profile = name;
	}
}

/* --- a value --------------------------------------------------------- */

/* Quotes no name that resembles none of ours: it may be a password. */
static void
refuse_name(const struct reading *reading)
{
	const char *name = reading->conf->name;
	struct settings *settings = reading->settings;
	const struct place *place = &reading->conf->place;
	enum option_id id = OPT_KEY;
	const char *near = nearest_name(name, true, &id);
	const struct opts_row *row = &opts_table[id];

	if (near == NULL)
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

/* A line with a password. */
static void
refuse_exposed(const struct reading *reading)
{
	const struct conf *conf = reading->conf;
	const char *name = conf->name;

	if (reading->settings->status != 0 || !conf_is_readable(conf))
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

	if (id == OPT_COUNT) {
		refuse_name(reading);
		return;
	}
	for (size_t i = reading->count; i-- > 0;) {
		const struct line *line = &reading->lines[i];

		if (line->setting.place.section != conf->place.section)
			break;
		if (line->id == id && id != OPT_HOOK)
			settings_fail_at(settings, &conf->place,
			    "%s is set in line %d already", conf->name,
			    line->setting.place.line);
	}
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
read_file(struct conf_files *files, struct reading *reading, const char *path,
    bool optional)
{
	struct conf *conf = &files->files[files->count++];
	struct settings *settings = reading->settings;
	const char *reason = conf_open(conf, path, optional);
	enum conf_item item = CONF_HEADING;

	if (reason != NULL)
		settings_fail_at(settings, &conf->place, "%s", reason);
	if (conf->text == NULL)
		return;
	conf->place.section = ++reading->section;
	reading->size += conf->length;
	reading->conf = conf;
	for (; item != CONF_END && settings->status == 0;
	     item = conf_next(conf)) {
		if (item == CONF_HEADING)
			begin_section(reading);
		else if (item == CONF_VALUE)
			take_line(reading);
		else if (item == CONF_MISTAKE)
			settings_fail_at(settings, &conf->place, "%s",
			    conf->mistake);
	}
	reading->section = conf->place.section;
}

/* Those with a higher precedence come later. The environment is not that of the
 * user if this is a setuid program. XDG_CONFIG_HOME counts only if it is
 * absolute, as its specification says. */
static void
read_files(struct conf_files *files, struct reading *reading)
{
	const char *folder = secure_getenv("XDG_CONFIG_HOME");
	const char *home = secure_getenv("HOME");
	const char *path = reading->settings->opts->config;

	if (path != NULL && *path == '\0') {
		settings_fail_at(reading->settings,
		    &reading->settings->of[OPT_CONFIG].place,
		    "--config needs the name of a file, or none");
	} else if (path != NULL && strcmp(path, "none") != 0) {
		read_file(files, reading, path, false);
	} else if (path == NULL) {
		read_file(files, reading, CONF_OF_THE_HOST, true);
		if (folder != NULL && *folder == '/')
			files->user_path =
			    mem_printf("%s/rlockrun.conf", folder);
		else if (home != NULL && *home == '/')
			files->user_path =
			    mem_printf("%s/.config/rlockrun.conf", home);
		if (files->user_path != NULL)
			read_file(files, reading, files->user_path, true);
	}
}

/* --- all files ------------------------------------------------------- */

static void
refuse_profile(const struct reading *reading)
{
	const char *near = reading->near_profile;
	struct settings *settings = reading->settings;
	char wanted[NAME_SIZE], meant[NAME_SIZE] = "";

	escape_quote(reading->profile, wanted, sizeof(wanted));
	if (near != NULL)
		escape_quote(near, meant, sizeof(meant));
	settings_fail_at(settings, &settings->of[OPT_PROFILE].place,
	    "no configuration file has a profile %s%s%s%s", wanted,
	    near != NULL ? " (did you mean " : "", meant,
	    near != NULL ? "?)" : "");
}

/* What holds for a lock: of the highest origin, in the last section, the first
 * line. NULL if no line sets the option. */
static const struct line *
line_for(const struct reading *reading, enum option_id id, size_t lock)
{
	const struct line *found = NULL;

	for (size_t i = 0; i < reading->count; i++) {
		const struct line *line = &reading->lines[i];

		if (line->id == id && (line->locks >> lock & 1) != 0 &&
		    (found == NULL ||
			(line->setting.origin >= found->setting.origin &&
			    line->setting.place.section !=
				found->setting.place.section)))
			found = line;
	}
	return found;
}

/* The next line of that section which sets the option: that of hooks, as others
 * are set once. NULL if there is none. */
static const struct line *
next_of_section(const struct reading *reading, const struct line *line)
{
	const struct line *next = line + 1,
			  *end = reading->lines + reading->count;

	while (next < end &&
	       (next->id != line->id ||
		   next->setting.place.section != line->setting.place.section))
		next++;
	return next < end ? next : NULL;
}

/* The first lock has a setting of a [lock] section. */
static void
refuse_difference(const struct reading *reading, enum option_id id, size_t one,
    size_t other)
{
	const struct place *place = &line_for(reading, id, one)->setting.place;
	const struct line *line = line_for(reading, id, other);
	const struct place *second = line != NULL ? &line->setting.place : NULL;
	const struct opts_key *keys = reading->settings->opts->keys;
	const char *name = opts_table[id].longs[0];
	char first_key[NAME_SIZE], second_key[NAME_SIZE], where[NAME_SIZE];

	escape_quote(keys[one].name, first_key, sizeof(first_key));
	escape_quote(keys[other].name, second_key, sizeof(second_key));
	if (second == NULL)
		snprintf(where, sizeof(where), "nothing");
	else if (line->setting.origin == ORIGIN_LOCK)
		snprintf(where, sizeof(where), "%s:%d [lock %s]", second->file,
		    second->line, second->section_name);
	else
		snprintf(where, sizeof(where), "%s:%d", second->file,
		    second->line);
	settings_fail_at(reading->settings, place,
	    "[lock %s] sets %s for %s, but %s for %s (set it for both: --%s)",
	    place->section_name, name, first_key, where, second_key, name);
}

/* A run has one value of each option, so its locks must agree. What a section
 * says of one lock must not reach another lock: other runs would hold that in
 * another kind, or on another server. */
static const struct line *
line_for_all(const struct reading *reading, enum option_id id)
{
	const struct line *first = line_for(reading, id, 0);

	for (size_t i = 1; i < reading->settings->opts->key_count; i++) {
		const struct line *a = first, *b = line_for(reading, id, i);

		while (a != b && a != NULL && b != NULL &&
		       strcmp(a->setting.text, b->setting.text) == 0) {
			a = next_of_section(reading, a);
			b = next_of_section(reading, b);
		}
		if (a == b)
			continue;
		if (first != NULL && first->setting.origin == ORIGIN_LOCK)
			refuse_difference(reading, id, 0, i);
		else
			refuse_difference(reading, id, i, 0);
	}
	return first;
}

/* Unless the command line or the environment decides. Texts outlive the files
 * that they were read from, except for URLs: these become endpoints here. All
 * texts together are shorter than the files. */
static void
set_values(struct reading *reading)
{
	struct settings *settings = reading->settings;
	char *end = mem_alloc(reading->size);

	settings->opts->file_texts = end;
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		enum option_id winner = settings_winner(settings, id);
		const struct line *line = NULL;

		if (settings->of[id].origin < ORIGIN_ENVIRONMENT &&
		    (settings->of[winner].origin < ORIGIN_ENVIRONMENT ||
			!settings_counts(settings, winner)))
			line = line_for_all(reading, id);
		for (; line != NULL; line = next_of_section(reading, line)) {
			struct setting setting = line->setting;

			if (!opts_table[id].secret) {
				setting.text = end;
				end = stpcpy(end, line->setting.text) + 1;
			}
			settings_set(settings, id, &setting);
		}
	}
}

void
conf_files_apply(struct conf_files *files, struct settings *settings)
{
	const char *profile = settings->opts->profile;
	struct reading reading = {.settings = settings,
	    .profile = profile != NULL && *profile != '\0' ? profile : NULL};

	*files = (struct conf_files){.count = 0};
	if (settings_are_final(settings))
		return;
	read_files(files, &reading);
	if (settings->status == 0 && reading.profile != NULL)
		refuse_profile(&reading);
	if (settings->status == 0)
		set_values(&reading);
	free(reading.lines);
}

void
conf_files_close(struct conf_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		conf_close(&files->files[i]);
	free(files->user_path);
}
