#include "options/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/secret.h"
#include "options/nearest.h"
#include "options/opts_hook.h"

enum { QUOTED_MAX = 128, URL_SHOWN = 256 };

/* --- text to value: NULL, or the reason why not ----------------------- */

/* Of a word in "THIS|THAT|...", or -1. */
static int
find_word(const char *words, const char *text)
{
	for (int place = 0;; place++) {
		size_t length = strcspn(words, "|");

		if (strlen(text) == length && strncmp(text, words, length) == 0)
			return place;
		if (words[length] == '\0')
			return -1;
		words += length + 1;
	}
}

static const char *
set_replicas(struct opts *opts, const struct opts_row *row, const char *text)
{
	size_t length = strcspn(text, ":");
	char digits[sizeof("1000")] = "";
	int64_t count, ms = 0;

	if (length < sizeof(digits))
		memcpy(digits, text, length);
	if (num_int(digits, row->min, row->max, &count) < 0 ||
	    (text[length] == ':' &&
		(duration_parse(text + length + 1, &ms) < 0 || ms == 0)))
		return row->mistake;
	opts->lock.replicas = (int)count;
	opts->lock.replicas_ms = ms;
	return NULL;
}

/* Only our variable and the files list several. */
static const char *
add_servers(struct opts *opts, const char *text, bool several)
{
	bool secret = strchr(text, '@') != NULL;
	char *list =
	    secret ? mem_secret_copy(text, strlen(text)) : mem_strdup(text);
	char *rest, *url = strtok_r(list, URL_SEPARATORS, &rest);
	const char *reason = url == NULL ? "no URL" : NULL;

	for (int i = 0; reason == NULL && url != NULL; i++) {
		if (i > 0 && !several)
			reason = "one server per -r (-r URL -r URL)";
		else if (opts->server_count == OPTS_SERVERS_MAX)
			reason = "more than " OPTS_TEXT_OF(
			    OPTS_SERVERS_MAX) " servers";
		else
			reason =
			    url_parse(url, &opts->servers[opts->server_count]);
		if (reason == NULL)
			opts->server_count++;
		url = strtok_r(NULL, URL_SEPARATORS, &rest);
	}
	if (secret)
		secret_free(list);
	else
		free(list);
	return reason;
}

/* One value in one field. A text without a mistake accepts anything. */
static const char *
set_field(void *field, const struct opts_row *row, const char *text)
{
	int64_t number = (int64_t)strlen(text);

	switch (row->type) {
	case OPTS_SWITCH:
		number = find_word("no|yes|0|1|false|true|off|on", text);
		if (number == -1)
			return "neither yes nor no";
		*(bool *)field = number % 2;
		return NULL;
	case OPTS_CHOICE:
		number = find_word(row->argument, text);
		if (number == -1)
			return row->mistake;
		*(int *)field = (int)number;
		return NULL;
	case OPTS_NUMBER:
		if (num_int(text, row->min, row->max, &number) < 0)
			return row->mistake;
		*(int *)field = (int)number;
		return NULL;
	case OPTS_DURATION:
		if (duration_parse(text, &number) < 0)
			return "not a duration (a number with ms, s, min, h or "
			       "d, such as 90, 1.5h or 1h30m)";
		if (number < row->min || number > row->max)
			return row->mistake;
		*(int64_t *)field = number;
		return NULL;
	case OPTS_TEXT:
		if (*row->mistake != '\0' &&
		    (number < row->min || number > row->max))
			return row->mistake;
		*(const char **)field = text;
		return NULL;
	default:
		return NULL;
	}
}

static const char *
set_value(struct settings *settings, const struct opts_row *row,
    const char *text)
{
	struct opts *opts = settings->opts;
	void *field = (char *)opts + row->field;
	enum origin servers = settings->of[OPT_REDIS].origin;

	switch (row->type) {
	case OPTS_SWITCH:
	case OPTS_CHOICE:
	case OPTS_TEXT:
	case OPTS_NUMBER:
	case OPTS_DURATION:
		return set_field(field, row, text);
	case OPTS_KEY:
		if (opts->key_count == OPTS_KEYS_MAX)
			return "more than " OPTS_TEXT_OF(
			    OPTS_KEYS_MAX) " locks";
		opts->keys[opts->key_count++].name = text;
		return NULL;
	case OPTS_SERVER:
		return add_servers(opts, text, servers != ORIGIN_COMMAND_LINE);
	case OPTS_FALLBACK_SERVER: /* the application's: ours has precedence */
		return servers == ORIGIN_DEFAULT
			   ? add_servers(opts, text, false)
			   : NULL;
	case OPTS_REPLICAS:
		return set_replicas(opts, row, text);
	case OPTS_HOOK:
		return opts_hook_add(opts, text,
		    settings->of[OPT_HOOK].place.line,
		    settings->of[OPT_HOOK].origin == ORIGIN_COMMAND_LINE);
	case OPTS_PASSWORD: /* the environment's memory is about to be wiped */
		*(char **)field =
		    mem_secret_copy(text, secret_length(text, strlen(text)));
		return **(char **)field == '\0' ? "empty" : NULL;
	case OPTS_REFUSED:
		return row->mistake;
	case OPTS_ACTION:
		break;
	}
	return NULL;
}

/* ---------------------------------------------------------------------- */

/* Without a place it is wrong usage. */
__attribute__((format(printf, 4, 0))) static void
report_mistake(struct settings *settings, const struct place *place,
    const char *example, const char *format, va_list arguments)
{
	bool runs = settings->opts->action == OPTS_RUN;
	const char *hint = runs ? "; " OPTS_NOT_STARTED : "";
	char text[1024];

	if (settings->status != 0)
		return;
	settings->status = place == NULL ? EXITCODE_USAGE : EXITCODE_CONFIG;
	vsnprintf(text, sizeof(text), format, arguments);
	if (place == NULL)
		log_warnx("%s%s%s; try 'rlockrun --help'", text,
		    *example != '\0' ? "; for example: " : "", example);
	else if (place->file == NULL)
		log_warnx("%s%s", text, hint);
	else if (place->line == 0)
		log_warnx("%s: %s%s", place->file, text, hint);
	else
		log_warnx("%s:%d: %s%s", place->file, place->line, text, hint);
}

void
settings_fail_at(struct settings *settings, const struct place *place,
    const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report_mistake(settings, place, "", format, arguments);
	va_end(arguments);
}

void
settings_fail(struct settings *settings, enum option_id id, const char *format,
    ...)
{
	const struct setting *setting = &settings->of[id];
	bool usage = setting->origin == ORIGIN_DEFAULT ||
		     setting->origin == ORIGIN_COMMAND_LINE;
	va_list arguments;

	va_start(arguments, format);
	report_mistake(settings, usage ? NULL : &setting->place,
	    opts_table[id].example, format, arguments);
	va_end(arguments);
}

bool
settings_are_final(const struct settings *settings)
{
	enum opts_action action = settings->opts->action;

	return settings->status != 0 || action == OPTS_HELP ||
	       action == OPTS_VERSION || action == OPTS_DUMP;
}

bool
settings_is_given(const struct settings *settings, enum option_id id)
{
	return settings->of[id].origin == ORIGIN_COMMAND_LINE;
}

int
settings_compare(const struct settings *settings, enum option_id one,
    enum option_id other)
{
	const struct setting *a = &settings->of[one], *b = &settings->of[other];

	return a->origin != b->origin ? (int)a->origin - (int)b->origin
				      : a->place.section - b->place.section;
}

bool
settings_counts(const struct settings *settings, enum option_id id)
{
	const struct opts_row *row = &opts_table[id];
	const char *opts = (const char *)settings->opts;

	return row->type == OPTS_SWITCH
		   ? *(const bool *)(opts + row->field)
		   : settings->of[id].origin != ORIGIN_DEFAULT;
}

enum option_id
settings_winner(const struct settings *settings, enum option_id id)
{
	enum opts_group group = opts_table[id].group;
	enum option_id winner = id, other;

	if (group == OPTS_ALONE)
		return id;
	while (winner > 0 && opts_table[winner - 1].group == group)
		winner--;
	for (other = winner; opts_table[other].group == group; other++)
		if (settings_counts(settings, other) &&
		    (!settings_counts(settings, winner) ||
			settings_compare(settings, other, winner) > 0))
			winner = other;
	return winner;
}

static void
refuse_value(struct settings *settings, enum option_id id,
    const struct setting *setting, const char *reason)
{
	const struct opts_row *row = &opts_table[id];
	bool in_file = setting->place.file != NULL;
	bool is_server =
	    row->type == OPTS_SERVER || row->type == OPTS_FALLBACK_SERVER;
	bool is_long = in_file && strlen(setting->text) > QUOTED_MAX;
	const char *name = setting->name;
	char url[URL_SHOWN], *text;

	if (!is_long && is_server &&
	    nearest_url(setting->text, url, sizeof(url)))
		text =
		    mem_printf("%s: no scheme (did you mean %s?)", name, url);
	else if (is_long || row->secret || row->type == OPTS_REFUSED)
		text = mem_printf("%s: %s", name, reason);
	else
		text = mem_printf("%s '%s': %s", name, setting->text, reason);
	if (in_file)
		settings_fail_at(settings, &setting->place, "%s", text);
	else
		settings_fail(settings, id, "%s", text);
	free(text);
}

bool
settings_try(struct settings *settings, enum option_id id,
    const struct setting *setting)
{
	struct opts opts = {.server_count = 0};
	struct settings nothing = {.opts = &opts};
	const char *reason =
	    set_value(&nothing, &opts_table[id], setting->text);
	bool secret = false;

	for (size_t i = 0; i < opts.server_count; i++) {
		secret = secret || opts.servers[i].password != NULL;
		endpoint_fini(&opts.servers[i]);
	}
	if (reason != NULL)
		refuse_value(settings, id, setting, reason);
	return secret;
}

void
settings_set(struct settings *settings, enum option_id id,
    const struct setting *setting)
{
	const struct opts_row *row = &opts_table[id];
	const char *reason;

	if (settings_are_final(settings) ||
	    settings->of[id].origin > setting->origin)
		return;
	if (row->once && settings_is_given(settings, id))
		settings_fail(settings, id, "%s can be given once",
		    setting->name);
	settings->of[id] = *setting;
	if (row->secret)
		settings->of[id].text = NULL;
	reason = set_value(settings, row, setting->text);
	if (row->action != OPTS_RUN)
		settings->opts->action = row->action;
	if (reason != NULL)
		refuse_value(settings, id, setting, reason);
}
