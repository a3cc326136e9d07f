#include "options/configured.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/mem.h"
#include "base/secret.h"
#include "options/conf.h"
#include "options/nearest.h"

#define OF_THE_HOST "/etc/rlockrun.conf"
#define OF_THE_USER "rlockrun.conf"

enum { QUOTED_MAX = 128, NAME_SIZE = 256 };

/* A value that holds for a lock, so far. */
struct value {
	const char *text; /* NULL: none */
	enum origin origin;
	struct place place;
};

/* While files are read, one line after the other. */
struct reading {
	struct settings *settings;
	struct value (*values)[OPT_COUNT]; /* of each lock; at least of one */
	size_t count;
	enum origin origin;   /* of this section */
	struct place place;   /* of this line */
	uint32_t locks;	      /* those that the section is for, as bits */
	int lines[OPT_COUNT]; /* where this section has set the option */
	const char *profile;  /* the wanted one, until it is found, or NULL */
	const char *near_profile;
	bool readable; /* others can read this file */
};

/* --- a section ------------------------------------------------------- */

static uint32_t
locks_matching(const struct reading *reading, const char *glob)
{
	const struct opts *opts = reading->settings->opts;
	uint32_t locks = 0;

	for (size_t i = 0; i < opts->key_count; i++)
		if (fnmatch(glob, opts->keys[i].name, 0) == 0)
			locks |= UINT32_C(1) << i;
	return locks;
}

/* Whether --profile or its variable names this profile. */
static bool
is_chosen(struct reading *reading, const char *name)
{
	const char *wanted = reading->settings->opts->profile;

	if (wanted == NULL || *wanted == '\0')
		return false;
	if (strcmp(name, wanted) == 0) {
		reading->profile = NULL;
		return true;
	}
	if (nearest_is_near(name, wanted, strlen(wanted) < 4 ? 1 : 2))
		reading->near_profile = name;
	return false;
}

static void
begin_section(struct reading *reading, const struct conf *conf)
{
	reading->place.section++;
	reading->place.section_name = conf->section_name;
	memset(reading->lines, 0, sizeof(reading->lines));
	switch (conf->section) {
	case CONF_GENERAL:
		reading->origin = ORIGIN_GENERAL;
		reading->locks = UINT32_MAX;
		break;
	case CONF_PROFILE:
		reading->origin = ORIGIN_PROFILE;
		reading->locks =
		    is_chosen(reading, conf->section_name) ? UINT32_MAX : 0;
		break;
	case CONF_LOCK:
		reading->origin = ORIGIN_LOCK;
		reading->locks = locks_matching(reading, conf->section_name);
		break;
	}
}

/* --- a value --------------------------------------------------------- */

static void
fail(const struct reading *reading, const char *text)
{
	settings_fail_at(reading->settings, reading->place.file,
	    reading->place.line, "%s", text);
}

/* Quotes no name that resembles none of ours: it may be a password. */
static void
refuse_name(const struct reading *reading, const char *name)
{
	const struct opts_row *row = nearest_option(name);
	struct settings *settings = reading->settings;
	const struct place *place = &reading->place;

	if (row == NULL)
		fail(reading, "unknown name");
	else if (row->longs[0] == NULL)
		fail(reading, "a password cannot be set here (password-file, "
			      "or in the URL)");
	else if (!opts_row_is_in_files(row))
		settings_fail_at(settings, place->file, place->line,
		    "%s cannot be set in a file (--%s)", row->longs[0],
		    row->longs[0]);
	else
		settings_fail_at(settings, place->file, place->line,
		    "unknown name '%s' (did you mean %s?)", name,
		    row->longs[0]);
}

static bool
has_name(const struct opts_row *row, const char *name)
{
	for (const char *const *known = row->longs; *known != NULL; known++)
		if (strcmp(*known, name) == 0)
			return opts_row_is_in_files(row);
	return false;
}

/* OPT_COUNT if there is none. */
static enum option_id
find_option(const char *name)
{
	enum option_id id = 0;

	while (id < OPT_COUNT && !has_name(&opts_table[id], name))
		id++;
	return id;
}

static void
check_value(const struct reading *reading, enum option_id id,
    const struct conf *conf)
{
	const struct opts_row *row = &opts_table[id];
	bool secret = false, quoted = strlen(conf->value) <= QUOTED_MAX;
	const char *reason = settings_try(id, conf->value, &secret);
	const struct place *place = &reading->place;

	if (secret)
		secret_note();
	if (reading->lines[id] > 0)
		settings_fail_at(reading->settings, place->file, place->line,
		    "%s is set in line %d already", conf->name,
		    reading->lines[id]);
	else if (secret && reading->readable)
		settings_fail_at(reading->settings, place->file, place->line,
		    "%s has a password, and others can read the file "
		    "(chmod go-r)",
		    conf->name);
	else if (reason != NULL && quoted && !row->secret)
		settings_fail_at(reading->settings, place->file, place->line,
		    "%s '%s': %s", conf->name, conf->value, reason);
	else if (reason != NULL)
		settings_fail_at(reading->settings, place->file, place->line,
		    "%s: %s", conf->name, reason);
}

static void
take_value(struct reading *reading, const struct conf *conf)
{
	enum option_id id = find_option(conf->name);

	if (id == OPT_COUNT) {
		refuse_name(reading, conf->name);
		return;
	}
	check_value(reading, id, conf);
	reading->lines[id] = conf->line;
	for (size_t i = 0; i < reading->count; i++) {
		struct value *value = &reading->values[i][id];

		if ((reading->locks >> i & 1) != 0 &&
		    reading->origin >= value->origin)
			*value = (struct value){.text = conf->value,
			    .origin = reading->origin,
			    .place = reading->place};
	}
}

/* --- a file ---------------------------------------------------------- */

static void
read_lines(struct reading *reading, const struct conf_file *file)
{
	struct conf conf;
	enum conf_item item;

	conf_begin(&conf, file->text, file->length);
	reading->place.file = file->path;
	reading->readable = file->readable;
	begin_section(reading, &conf);
	do {
		item = conf_next(&conf);
		reading->place.line = conf.line;
		if (item == CONF_HEADING)
			begin_section(reading, &conf);
		else if (item == CONF_VALUE)
			take_value(reading, &conf);
		else if (item == CONF_MISTAKE)
			fail(reading, conf.mistake);
	} while (item != CONF_END && reading->settings->status == 0);
}

static void
open_file(struct configured *configured, struct settings *settings,
    const char *path, bool optional)
{
	struct conf_file *file = &configured->files[configured->count++];
	const char *reason = conf_file_read(file, path, optional);

	if (reason != NULL)
		settings_fail_at(settings, path, 0, "%s", reason);
}

/* NULL if there is no home. The environment is not that of the user if this is
 * a setuid program. XDG_CONFIG_HOME counts only if it is absolute, as its
 * specification says. */
static char *
find_user_path(void)
{
	const char *folder = secure_getenv("XDG_CONFIG_HOME");
	const char *home = secure_getenv("HOME");

	if (folder != NULL && *folder == '/')
		return mem_printf("%s/" OF_THE_USER, folder);
	if (home != NULL && *home == '/')
		return mem_printf("%s/.config/" OF_THE_USER, home);
	return NULL;
}

/* Those with a higher precedence come later. */
static void
open_files(struct configured *configured, struct settings *settings)
{
	const char *path = settings->opts->config;

	if (path != NULL && *path == '\0') {
		settings_fail(settings, OPT_CONFIG,
		    "--config needs the name of a file, or none");
		return;
	}
	if (path != NULL) {
		if (strcmp(path, "none") != 0)
			open_file(configured, settings, path, false);
		return;
	}
	open_file(configured, settings, OF_THE_HOST, true);
	configured->user_path = find_user_path();
	if (configured->user_path != NULL)
		open_file(configured, settings, configured->user_path, true);
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

/* A run has one value of each option. What a section says of one lock must not
 * reach another lock: other runs would hold that in another kind, or on another
 * server. */
static void
refuse_difference(const struct reading *reading, enum option_id id, size_t one,
    size_t other)
{
	const struct value *value = &reading->values[one][id];
	const struct value *second = &reading->values[other][id];
	const struct opts_key *keys = reading->settings->opts->keys;
	const char *name = opts_table[id].longs[0];
	char first_key[NAME_SIZE], second_key[NAME_SIZE], where[NAME_SIZE];

	escape_quote(keys[one].name, first_key, sizeof(first_key));
	escape_quote(keys[other].name, second_key, sizeof(second_key));
	if (second->text == NULL)
		snprintf(where, sizeof(where), "nothing");
	else if (second->origin == ORIGIN_LOCK)
		snprintf(where, sizeof(where), "%s:%d [lock %s]",
		    second->place.file, second->place.line,
		    second->place.section_name);
	else
		snprintf(where, sizeof(where), "%s:%d", second->place.file,
		    second->place.line);
	settings_fail_at(reading->settings, value->place.file,
	    value->place.line,
	    "[lock %s] sets %s for %s, but %s for %s (set it for both: --%s)",
	    value->place.section_name, name, first_key, where, second_key,
	    name);
}

static void
check_locks(const struct reading *reading, enum option_id id)
{
	const struct value *first = &reading->values[0][id];

	for (size_t i = 1; i < reading->count; i++) {
		const struct value *other = &reading->values[i][id];
		bool same = first->text == other->text ||
			    (first->text != NULL && other->text != NULL &&
				strcmp(first->text, other->text) == 0);

		if (!same && first->origin == ORIGIN_LOCK)
			refuse_difference(reading, id, 0, i);
		else if (!same)
			refuse_difference(reading, id, i, 0);
	}
}

/* By the command line or the environment. -x, -s and -p are one setting, and so
 * are -n and -w. */
static bool
is_decided(const struct settings *settings, enum option_id id)
{
	const struct opts *opts = settings->opts;

	if (settings->origins[id] >= ORIGIN_ENVIRONMENT)
		return true;
	if (id == OPT_EXCLUSIVE || id == OPT_SHARED || id == OPT_PERMITS)
		return opts->exclusive || opts->shared || opts->permits > 0;
	if (id == OPT_NONBLOCK)
		return settings->origins[OPT_WAIT] >= ORIGIN_ENVIRONMENT;
	return id == OPT_WAIT && opts->nonblock;
}

/* Returns how much memory the texts need that hold. */
static size_t
drop_decided(struct reading *reading)
{
	size_t size = 1;

	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		struct value *value = &reading->values[0][id];

		if (is_decided(reading->settings, id))
			value->text = NULL;
		else
			check_locks(reading, id);
		if (value->text != NULL)
			size += strlen(value->text) + 1;
	}
	return size;
}

/* Texts outlive the files that they were read from, except for URLs: these
 * become endpoints here. */
static void
set_values(struct reading *reading)
{
	struct settings *settings = reading->settings;
	char *end = mem_alloc(drop_decided(reading));

	settings->opts->file_texts = end;
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct value *value = &reading->values[0][id];
		const char *text = end;

		if (value->text == NULL)
			continue;
		settings->places[id] = value->place;
		if (opts_table[id].secret)
			text = value->text;
		else
			end = stpcpy(end, value->text) + 1;
		settings_set(settings, id, text, value->origin);
	}
}

static void
read_files(const struct configured *configured, struct settings *settings)
{
	const struct opts *opts = settings->opts;
	const char *profile = opts->profile;
	struct reading reading = {.settings = settings,
	    .count = opts->key_count > 0 ? opts->key_count : 1,
	    .profile = profile != NULL && *profile != '\0' ? profile : NULL};

	reading.values = mem_alloc(reading.count * sizeof(*reading.values));
	for (size_t i = 0; i < configured->count; i++)
		if (configured->files[i].text != NULL)
			read_lines(&reading, &configured->files[i]);
	check_profile(&reading);
	set_values(&reading);
	free(reading.values);
}

void
configured_apply(struct configured *configured, struct settings *settings)
{
	bool any = settings->opts->profile != NULL;

	*configured = (struct configured){.count = 0};
	if (settings->status != 0 || settings_are_ignored(settings))
		return;
	open_files(configured, settings);
	for (size_t i = 0; i < configured->count; i++)
		any |= configured->files[i].text != NULL;
	if (any && settings->status == 0)
		read_files(configured, settings);
}

void
configured_fini(struct configured *configured)
{
	for (size_t i = 0; i < configured->count; i++)
		conf_file_fini(&configured->files[i]);
	free(configured->user_path);
}
