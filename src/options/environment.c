#include "options/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "options/nearest.h"

#define PREFIX "RLOCKRUN_"

/* The value in "NAME=value", NULL for another name. */
static char *
value_of(char *entry, const char *name)
{
	size_t length = strlen(name);

	return strncmp(entry, name, length) == 0 && entry[length] == '='
		   ? entry + length + 1
		   : NULL;
}

/* Wipes them; what is left to see of them, to be freed. NULL when one is no
 * URL: then a separator may be part of a password, which ends anywhere. */
static char *
hide_passwords_in_urls(char *list)
{
	char *labels = NULL;
	struct endpoint endpoint;
	bool usable = true;

	for (char *url = list, *next; *url != '\0'; url = next) {
		size_t length = strcspn(url, URL_SEPARATORS);
		char end = url[length];

		next = url + length + (end != '\0');
		url[length] = '\0';
		if (length > 0 && url_parse(url, &endpoint) == NULL) {
			labels = mem_append(labels, ' ', endpoint.label);
			endpoint_fini(&endpoint);
			url_wipe(url);
		} else if (length > 0) {
			usable = false;
		}
		url[length] = end;
		if (!usable)
			url_wipe(url);
	}
	if (usable)
		return labels;
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
	if (any) {
		if (shown == NULL)
			shown = mem_strdup(first);
		unsetenv(name);
		setenv(name, shown, 1);
	}
	free(shown);
}

void
environment_read_one(struct settings *settings, enum option_id id)
{
	const char *name = opts_table[id].variable;
	const char *value = *name == '\0' ? NULL : getenv(name);

	if (value != NULL && *value != '\0')
		settings_set(settings, id,
		    &(struct setting){.name = name,
			.text = value,
			.origin = ORIGIN_ENVIRONMENT});
}

void
environment_read(struct settings *settings)
{
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		if (id != OPT_REDIS_URL)
			environment_read_one(settings, id);
	}
	hide_password(OPT_PASSWORD);
	hide_password(OPT_SENTINEL_PASSWORD);
	hide_urls();
}

/* --- variables that look like ours ------------------------------------ */

enum { NAME_SIZE = 64 };

/* A nested run inherits these, and a run that a hook starts: ENVIRONMENT of
 * rlockrun.conf(5) and HOOKS of rlockrun-events(7). */
static const char set_by_us[][16] = {"KEY", "TOKEN", "FENCE", "TTL_MS", "HELD",
    "SHORT_TOKEN", "SERVER", "EVENT", "MESSAGE", "WAITED_MS", "HELD_MS",
    "HOLDER", "STATUS", "REASON"};

static bool
is_variable(const char *name)
{
	for (size_t i = 0; i < sizeof(set_by_us) / sizeof(*set_by_us); i++)
		if (strcmp(name + strlen(PREFIX), set_by_us[i]) == 0)
			return true;
	for (enum option_id id = 0; id < OPT_COUNT; id++)
		if (strcmp(name, opts_table[id].variable) == 0)
			return true;
	return false;
}

void
environment_warn_unknown(void)
{
	char name[NAME_SIZE];

	for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
		size_t length = strcspn(*entry, "=");
		enum option_id meant;

		/* An empty variable counts as unset. */
		if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0 ||
		    (*entry)[length] == '\0' || (*entry)[length + 1] == '\0')
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)length, *entry);
		if (is_variable(name))
			continue;
		if (nearest_name(name + strlen(PREFIX), true, &meant) == NULL)
			log_warnx("%s is not a variable of rlockrun; ignored",
			    name);
		else if (*opts_table[meant].variable == '\0')
			log_warnx("%s is ignored: --%s is for the command line "
				  "only",
			    name, opts_table[meant].longs[0]);
		else
			log_warnx("%s is not a variable of rlockrun; ignored "
				  "(did you mean %s?)",
			    name, opts_table[meant].variable);
	}
}
