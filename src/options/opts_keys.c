#include "options/opts_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/mem.h"
#include "options/nearest.h"
#include "options/opts_table.h"

#define PLAIN_CHARACTERS             \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"abcdefghijklmnopqrstuvwxyz0123456789_.:-"

/* Given without -r. It may hold a password, so messages do not show it. */
static bool
is_url(const char *word)
{
	return word != NULL && strstr(word, "://") != NULL;
}

/* Whether this looks like the lock file of flock(1): a file that is not a
 * program or does not exist yet. */
static bool
is_lock_file(const char *word)
{
	const char *suffix = strrchr(word, '.');
	struct stat file;

	if (stat(word, &file) == 0)
		return !S_ISREG(file.st_mode) || access(word, X_OK) == -1;
	return strchr(word, '/') != NULL ||
	       (suffix != NULL && strcmp(suffix, ".lock") == 0);
}

/* A name for the lock that had this file: "x" for "/var/lock/x.lock". */
static void
suggest_name(const char *file, char *name, size_t size)
{
	const char *slash = strrchr(file, '/');
	const char *base = slash != NULL ? slash + 1 : file;
	const char *suffix = strrchr(base, '.');
	size_t length = strlen(base);

	if (suffix != NULL &&
	    (strcmp(suffix, ".lock") == 0 || strcmp(suffix, ".lck") == 0))
		length = (size_t)(suffix - base);
	if (length == 0 || length >= size ||
	    strspn(base, PLAIN_CHARACTERS) < length)
		snprintf(name, size, "NAME");
	else
		snprintf(name, size, "%.*s", (int)length, base);
}

/* flock(1) has a file, or the number of a descriptor, in place of -k. */
static void
refuse_without_key(struct settings *settings, char **rest)
{
	enum opts_action action = settings->opts->action;
	enum option_id id =
	    action == OPTS_RUN ? OPT_KEY : opts_action_option(action);
	enum option_id meant;
	const char *first = *rest, *subcommand = NULL;
	char file[OPTS_KEY_MAX / 2], name[64];

	if (action == OPTS_RUN && first != NULL)
		subcommand = nearest_action(first, &meant);
	if (subcommand != NULL) {
		settings_fail(settings, meant,
		    "no key given (did you mean --%s?)", subcommand);
	} else if (first != NULL && *first != '\0' && rest[1] == NULL &&
		   strspn(first, "0123456789") == strlen(first)) {
		settings_fail(settings, id,
		    "no key given: a lock has a name, not a file descriptor "
		    "(-k NAME COMMAND)");
	} else if (is_url(first)) {
		settings_fail(settings, id,
		    "no key given, and a URL is not a command "
		    "(-k NAME -r URL)");
	} else if (first != NULL && is_lock_file(first)) {
		escape_quote(first, file, sizeof(file));
		suggest_name(first, name, sizeof(name));
		settings_fail(settings, id,
		    "no key given: a lock has a name, not a file (-k %s "
		    "instead of %s)",
		    name, file);
	} else {
		while (*rest != NULL && strcmp(*rest, "-k") != 0 &&
		       strcmp(*rest, "--key") != 0)
			rest++;
		settings_fail(settings, id,
		    *rest != NULL ? "no key given: options precede the command "
				    "(-k NAME COMMAND)"
				  : "no key given (-k NAME)");
	}
}

void
opts_keys_check(struct settings *settings, char **rest)
{
	struct opts *opts = settings->opts;
	struct opts_key *end = opts->keys + opts->key_count;
	char name[OPTS_KEY_MAX];

	if (opts->key_count == 0)
		refuse_without_key(settings, rest);
	for (struct opts_key *key = opts->keys; key < end; key++) {
		key->key = mem_printf("%s%s", opts->prefix, key->name);
		if (*key->name == '\0')
			settings_fail(settings, OPT_KEY, "the key is empty");
		if (strlen(key->key) > OPTS_KEY_MAX)
			settings_fail(settings, OPT_KEY,
			    "the key is longer than %d bytes", OPTS_KEY_MAX);
		/* The keys beside a lock's own are named so. */
		if (strstr(key->key, ":rlk:") != NULL ||
		    strstr(key->key, ":rlkt:") != NULL)
			settings_fail(settings, OPT_KEY,
			    "a key can't contain ':rlk:' or ':rlkt:'");
		/* The job gets them one a line. */
		if (opts->key_count > 1 && strchr(key->name, '\n') != NULL)
			settings_fail(settings, OPT_KEY,
			    "one of several keys can't contain a newline");
		escape_quote(key->name, name, sizeof(name));
		for (const struct opts_key *other = opts->keys; other < key;
		     other++)
			if (strcmp(other->name, key->name) == 0)
				settings_fail(settings, OPT_KEY,
				    "the same key is given twice: %s", name);
		opts->names = mem_append(opts->names, '\n', key->name);
	}
}

void
opts_keys_check_command(struct settings *settings, char **rest)
{
	struct opts *opts = settings->opts;
	const char *shell = opts->shell_command;
	const char *first = shell != NULL ? shell : *rest;
	char *program = getenv("SHELL");

	if (first == NULL)
		settings_fail(settings, OPT_COMMAND, "no command given");
	else if (*first == '\0')
		settings_fail(settings, OPT_COMMAND, "the command is empty");
	else if (shell == NULL && is_url(first))
		settings_fail(settings, OPT_COMMAND,
		    "a URL is not a command (-r URL names the server)");
	else if (shell == NULL)
		opts->command = rest;
	else if (*rest != NULL)
		settings_fail(settings, OPT_COMMAND,
		    "-c takes no further arguments");
	else
		opts->command = opts->shell;
	opts->shell[0] =
	    program != NULL && *program != '\0' ? program : "/bin/sh";
	opts->shell[1] = "-c";
	opts->shell[2] = (char *)(uintptr_t)shell;
}
