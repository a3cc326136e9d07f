#include "options/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/secret.h"
#include "options/nearest.h"

enum { URL_SHOWN = 256 };

#define TEXT_OF(number) TEXT_OF_EXPANDED(number)
#define TEXT_OF_EXPANDED(number) #number

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
set_word(void *field, const struct opts_row *row, const char *text)
{
	bool is_switch = row->type == OPTS_SWITCH;
	int place = find_word(is_switch ? "no|yes|0|1|false|true|off|on"
					: row->argument,
	    text);

	if (place == -1)
		return is_switch ? "neither yes nor no" : row->mistake;
	if (is_switch)
		*(bool *)field = place % 2;
	else
		*(int *)field = place;
	return NULL;
}

static const char *
set_number(int *field, const struct opts_row *row, const char *text)
{
	int64_t value;

	if (num_int(text, row->min, row->max, &value) < 0)
		return row->mistake;
	*field = (int)value;
	return NULL;
}

static const char *
set_duration(int64_t *field, const struct opts_row *row, const char *text)
{
	int64_t value;

	if (num_duration(text, &value) < 0)
		return "not a duration (a number with ms, s, min, h or d, "
		       "such as 90, 1.5h or 1h30m)";
	if (value < row->min || value > row->max)
		return row->mistake;
	*field = value;
	return NULL;
}

/* A row without a mistake accepts any text. */
static const char *
set_text(const char **field, const struct opts_row *row, const char *text)
{
	int64_t length = (int64_t)strlen(text);

	if (*row->mistake != '\0' && (length < row->min || length > row->max))
		return row->mistake;
	*field = text;
	return NULL;
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
		(num_duration(text + length + 1, &ms) < 0 || ms == 0)))
		return row->mistake;
	opts->lock.replicas = (int)count;
	opts->lock.replicas_ms = ms;
	return NULL;
}

static const char *
add_server(struct opts *opts, const char *url)
{
	const char *reason;

	if (opts->server_count == OPTS_SERVERS_MAX)
		return "more than " TEXT_OF(OPTS_SERVERS_MAX) " servers";
	reason = url_parse(url, &opts->servers[opts->server_count]);
	if (reason == NULL)
		opts->server_count++;
	return reason;
}

/* Only our variable and the files list several. */
static const char *
add_servers(struct opts *opts, const char *text, bool several)
{
	bool secret = strchr(text, '@') != NULL;
	char *list =
	    secret ? mem_secret_copy(text, strlen(text)) : mem_strdup(text);
	char *rest, *url = strtok_r(list, URL_SEPARATORS, &rest);
	const char *reason = url == NULL ? "no URL" : add_server(opts, url);

	while (reason == NULL &&
	       (url = strtok_r(NULL, URL_SEPARATORS, &rest)) != NULL)
		reason = several ? add_server(opts, url)
				 : "one server per -r (-r URL -r URL)";
	if (secret)
		secret_free(list);
	else
		free(list);
	return reason;
}

/* "none" drops the hooks before it; a hook gets it in its environment, so that
 * it runs no others. An option is one hook, whatever its lines begin with. */
static const char *
add_hooks(struct settings *settings, const char *text)
{
	const struct setting *of = &settings->of[OPT_HOOK];
	struct opts *opts = settings->opts;
	const char *reason;

	if (strcmp(text, "none") == 0) {
		opts->hook_count = 0;
		return NULL;
	}
	while (*text != '\0') {
		struct opts_hook hook = opts_hook_take(&text);

		if (of->origin == ORIGIN_COMMAND_LINE) {
			text += strlen(text);
			hook.length = (size_t)(text - hook.text);
		}
		if (hook.command == hook.text + hook.length)
			return "a hook without a command";
		reason = opts_hook_mistake(&hook);
		if (reason != NULL)
			return reason;
		if (opts->hook_count == OPTS_HOOKS_MAX)
			return "more than " TEXT_OF(OPTS_HOOKS_MAX) " hooks";
		hook.line = of->place.line;
		opts->hooks[opts->hook_count++] = hook;
	}
	return NULL;
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
		return set_word(field, row, text);
	case OPTS_NUMBER:
		return set_number(field, row, text);
	case OPTS_DURATION:
		return set_duration(field, row, text);
	case OPTS_REPLICAS:
		return set_replicas(opts, row, text);
	case OPTS_HOOK:
		return add_hooks(settings, text);
	case OPTS_KEY:
		if (opts->key_count == OPTS_KEYS_MAX)
			return "more than " TEXT_OF(OPTS_KEYS_MAX) " locks";
		opts->keys[opts->key_count++].name = text;
		return NULL;
	case OPTS_SERVER:
		return add_servers(opts, text, servers != ORIGIN_COMMAND_LINE);
	case OPTS_FALLBACK_SERVER: /* the application's: ours has precedence */
		return servers == ORIGIN_DEFAULT
			   ? add_servers(opts, text, false)
			   : NULL;
	case OPTS_TEXT:
	case OPTS_FILE:
		return set_text(field, row, text);
	case OPTS_PASSWORD: /* the environment's memory is about to be wiped */
		*(char **)field =
		    mem_secret_copy(text, secret_length(text, strlen(text)));
		return **(char **)field == '\0' ? "empty" : NULL;
	case OPTS_ACTION:
		return NULL;
	case OPTS_REFUSED:
		break;
	}
	return row->mistake;
}

/* ---------------------------------------------------------------------- */

/* example: empty if there is none. */
__attribute__((format(printf, 3, 0))) static void
print_usage(struct settings *settings, const char *example, const char *format,
    va_list arguments)
{
	char text[1024];

	if (settings->status != 0)
		return;
	settings->status = EXITCODE_USAGE;
	vsnprintf(text, sizeof(text), format, arguments);
	log_warnx("%s%s%s; try 'rlockrun --help'", text,
	    *example != '\0' ? "; for example: " : "", example);
}

/* Of a line in a file, or without a place. */
__attribute__((format(printf, 3, 0))) static void
print_mistake(struct settings *settings, const struct place *place,
    const char *format, va_list arguments)
{
	bool runs = settings->opts->action == OPTS_RUN;
	const char *hint = runs ? "; " OPTS_NOT_STARTED : "";
	char text[1024];

	if (settings->status != 0)
		return;
	settings->status = EXITCODE_CONFIG;
	vsnprintf(text, sizeof(text), format, arguments);
	if (place->file == NULL)
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
	print_mistake(settings, place, format, arguments);
	va_end(arguments);
}

void
settings_refuse(struct settings *settings, enum option_id id,
    const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_usage(settings, opts_table[id].example, format, arguments);
	va_end(arguments);
}

void
settings_fail(struct settings *settings, enum option_id id, const char *format,
    ...)
{
	const struct setting *setting = &settings->of[id];
	bool usage = (setting->origin == ORIGIN_DEFAULT ||
			 setting->origin == ORIGIN_COMMAND_LINE) &&
		     opts_table[id].type != OPTS_FILE;
	va_list arguments;

	va_start(arguments, format);
	if (usage)
		print_usage(settings, opts_table[id].example, format,
		    arguments);
	else
		print_mistake(settings, &setting->place, format, arguments);
	va_end(arguments);
}

const char *
settings_name(const struct settings *settings, enum option_id id,
    const char *given)
{
	enum origin origin = settings->of[id].origin;

	return origin == ORIGIN_COMMAND_LINE  ? given
	       : origin == ORIGIN_ENVIRONMENT ? opts_table[id].variable
					      : opts_table[id].longs[0];
}

bool
settings_are_final(const struct settings *settings)
{
	enum opts_action action = settings->opts->action;

	return settings->status != 0 || action == OPTS_HELP ||
	       action == OPTS_VERSION || action == OPTS_DUMP;
}

const char *
settings_try(enum option_id id, const char *text, bool *secret)
{
	struct opts opts = {.server_count = 0};
	struct settings settings = {.opts = &opts};
	const char *reason = set_value(&settings, &opts_table[id], text);

	for (size_t i = 0; i < opts.server_count; i++) {
		*secret |= opts.servers[i].password != NULL;
		endpoint_fini(&opts.servers[i]);
	}
	return reason;
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

/* Without text only the name is shown, as it was given. */
static void
refuse_setting(struct settings *settings, enum option_id id, const char *text,
    const char *reason)
{
	const struct opts_row *row = &opts_table[id];
	char given[sizeof("--") + sizeof(row->longs[0])], url[URL_SHOWN];
	const char *name;

	if (settings->given < SETTINGS_LONG_OPTION)
		snprintf(given, sizeof(given), "-%c", settings->given);
	else
		snprintf(given, sizeof(given), "--%s", row->longs[0]);
	name = settings_name(settings, id, given);
	if (text == NULL)
		settings_fail(settings, id, "%s %s", name, reason);
	else if (opts_row_is_server(row) && nearest_url(text, url, sizeof(url)))
		settings_fail(settings, id, "%s: no scheme (did you mean %s?)",
		    name, url);
	else if (row->secret || row->type == OPTS_REFUSED)
		settings_fail(settings, id, "%s: %s", name, reason);
	else
		settings_fail(settings, id, "%s '%s': %s", name, text, reason);
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
		refuse_setting(settings, id, NULL, "can be given once");
	settings->of[id] = *setting;
	if (row->secret)
		settings->of[id].text = NULL;
	reason = set_value(settings, row, setting->text);
	if (row->action != OPTS_RUN)
		settings->opts->action = row->action;
	if (reason != NULL)
		refuse_setting(settings, id, setting->text, reason);
}
