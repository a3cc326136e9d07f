#include "options/opts_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "lock/kind.h"
#include "lock/limit.h"
#include "lock/votes.h"
#include "options/conf.h"
#include "options/nearest.h"
#include "options/opts_table.h"

#define KILL_AFTER_MAX_MS 5000 /* of the default only */
#define MIN_UPTIME_MS 60000    /* likewise */
#define HISTORY_MAX_MS (INT64_C(100) * 24 * 3600 * 1000) /* likewise */
#define CRON_OUTAGE_MS 900000 /* of --cron, if a success is found again */
#define HOLD_TTL_MS 30000     /* until a hold is confirmed: see hold.c */
#define REPLICAS_MAX_MS 1000  /* likewise */
#define ONE_SERVER "needs a single server: several servers keep "
#define PLAIN_CHARACTERS             \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"abcdefghijklmnopqrstuvwxyz0123456789_.:-"
#define TRY_MIN_MS 1000 /* an acquire's reply is awaited so long */
#define TRY_MAX_MS 5000

/* What follows the options of an action, and how many keys it takes. */
enum {
	ONE_KEY = OPTS_BIT(OPTS_STATUS) | OPTS_BIT(OPTS_HISTORY) |
		  OPTS_BIT(OPTS_FORCE_RELEASE) | OPTS_BIT(OPTS_HOLD),
	NO_KEY = OPTS_BIT(OPTS_LIST) | OPTS_BIT(OPTS_RESUME),
	GLOBS = OPTS_BIT(OPTS_LIST) | OPTS_BIT(OPTS_CHECK),
};

/* The option that asks for an action, which is not a run. */
static enum option_id
option_of(enum opts_action action)
{
	enum option_id id = 0;

	while (opts_table[id].action != action)
		id++;
	return id;
}

/* Whether the option asks for something, from whatever source. */
static bool
is_used(const struct settings *settings, enum option_id id)
{
	const struct opts_row *row = &opts_table[id];
	const void *field = (const char *)settings->opts + row->field;

	switch (row->type) {
	case OPTS_SWITCH:
		return *(const bool *)field;
	case OPTS_DURATION:
		return *(const int64_t *)field > 0;
	case OPTS_TEXT:
		return *(const char *const *)field != NULL;
	default:
		return settings->of[id].origin != ORIGIN_DEFAULT;
	}
}

static void
check_action(struct settings *settings)
{
	enum opts_action action = settings->opts->action;

	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct opts_row *row = &opts_table[id];

		if (!settings_is_given(settings, id) || row->with == 0 ||
		    (row->with & OPTS_BIT(action)) != 0)
			continue;
		if (*row->with_names != '\0')
			settings_fail(settings, id, "--%s needs %s",
			    row->longs[0], row->with_names);
		else
			settings_fail(settings, id,
			    "--%s and --%s exclude each other", row->longs[0],
			    opts_table[option_of(action)].longs[0]);
	}
}

/* --- keys and command -------------------------------------------------- */

/* Given without -r. It may hold a password, so messages do not show it. */
static bool
is_url(const char *word)
{
	return word != NULL && strstr(word, "://") != NULL;
}

/* Whether this looks like the lock file of flock(1): a file that is not a
 * program or does not exist yet. Then a name for the lock is suggested: "x" for
 * "/var/lock/x.lock". */
static bool
is_lock_file(const char *word, char *name, size_t size)
{
	const char *slash = strrchr(word, '/');
	const char *base = slash != NULL ? slash + 1 : word;
	const char *suffix = strrchr(base, '.');
	size_t length = strlen(base);
	struct stat file;

	if (stat(word, &file) == 0) {
		if (S_ISREG(file.st_mode) && access(word, X_OK) == 0)
			return false;
	} else if (slash == NULL &&
		   (suffix == NULL || strcmp(suffix, ".lock") != 0)) {
		return false;
	}
	if (suffix != NULL &&
	    (strcmp(suffix, ".lock") == 0 || strcmp(suffix, ".lck") == 0))
		length = (size_t)(suffix - base);
	if (length == 0 || length >= size ||
	    strspn(base, PLAIN_CHARACTERS) < length)
		snprintf(name, size, "NAME");
	else
		snprintf(name, size, "%.*s", (int)length, base);
	return true;
}

/* flock(1) has a file, or the number of a descriptor, in place of -k. */
static void
refuse_without_key(struct settings *settings, char **rest)
{
	enum opts_action action = settings->opts->action;
	enum option_id id = action == OPTS_RUN ? OPT_KEY : option_of(action);
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
	} else if (first != NULL && is_lock_file(first, name, sizeof(name))) {
		escape_quote(first, file, sizeof(file));
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

static void
check_keys(struct settings *settings, char **rest)
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

static void
check_command(struct settings *settings, char **rest)
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

/* The arguments behind the options of an action that runs no command. The shell
 * may have expanded a glob that was not quoted into several of them. */
static void
check_action_rest(struct settings *settings, char **rest)
{
	struct opts *opts = settings->opts;
	enum opts_action action = opts->action;
	enum option_id id = option_of(action);
	const char *name = opts_table[id].longs[0];
	unsigned bit = OPTS_BIT(action);
	char **glob = opts->globs;

	if (opts->shell_command != NULL ||
	    (*rest != NULL && (bit & GLOBS) == 0 &&
		(opts->key_count > 0 || (bit & ONE_KEY) == 0)))
		settings_fail(settings, id, "--%s takes no command", name);
	else if (opts->key_count > 0 && (bit & NO_KEY) != 0)
		settings_fail(settings, id, "--%s takes a GLOB, not -k", name);
	else if (opts->key_count > 0 || (bit & ONE_KEY) != 0)
		check_keys(settings, rest);
	if (opts->key_count > 1 && (bit & ONE_KEY) != 0)
		settings_fail(settings, id, "--%s takes one key", name);
	if (opts->glob != NULL)
		*glob = (char *)opts->glob;
	while (*glob != NULL)
		glob++;
	while ((bit & GLOBS) != 0 && *rest != NULL)
		*glob++ = *rest++;
}

/* As it is called where it was set: by its letter, the variable, or its name in
 * a file. */
static const char *
name_of(const struct settings *settings, enum option_id id, char letter[3])
{
	const struct opts_row *row = &opts_table[id];

	snprintf(letter, 3, "-%c", *row->shorts);
	return settings_is_given(settings, id)		       ? letter
	       : settings->of[id].origin == ORIGIN_ENVIRONMENT ? row->variable
							       : row->longs[0];
}

/* Of options that are one setting, two of equal precedence exclude each other.
 */
static void
check_groups(struct settings *settings)
{
	char one[3], other[3];

	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		enum option_id winner = settings_winner(settings, id);

		if (id != winner && is_used(settings, id) &&
		    settings_compare(settings, id, winner) == 0)
			settings_fail(settings, id,
			    "%s and %s exclude each other",
			    name_of(settings, id, one),
			    name_of(settings, winner, other));
	}
}

/* --- values ------------------------------------------------------------ */

/* What wins among options that are one setting. A hold or a pause is exclusive
 * and no run: variables that say otherwise are those of runs. */
static void
choose_lock(struct settings *settings)
{
	struct opts *opts = settings->opts;
	struct lock_config *lock = &opts->lock;
	enum option_id kind = settings_winner(settings, OPT_EXCLUSIVE);
	bool pauses = opts->action == OPTS_PAUSE;

	lock->kind = kind == OPT_SHARED	   ? &kind_shared
		     : kind == OPT_PERMITS ? &kind_permits
					   : &kind_exclusive;
	if (opts->nonblock &&
	    settings_winner(settings, OPT_WAIT) == OPT_NONBLOCK)
		opts->wait_ms = 0;
	if (!pauses && opts->action != OPTS_HOLD)
		return;
	lock->kind = &kind_exclusive;
	lock->history_ms = 0;
	lock->once_ms = 0;
	lock->once_id = NULL;
	lock->expect_ms = CONFIG_EXPECT_UNSTATED;
	lock->replaceable = false;
	lock->ttl_ms =
	    clock_min(pauses ? opts->pause_ms : lock->hold_ms, HOLD_TTL_MS);
}

/* What only looks at locks is not logged, but --doctor examines the log. */
static void
choose_output(struct settings *settings)
{
	struct opts *opts = settings->opts;
	bool is_logged = opts_table[OPT_LOG_TO].with & OPTS_BIT(opts->action);
	size_t length = strlen(opts->metrics);

	while (length > 1 && opts->metrics[length - 1] == '/')
		length--;
	opts->metrics_folder = mem_strndup(opts->metrics, length);
	/* What is only shown refuses no run. */
	if (strlen(opts->lock.label) > LIMIT_LABEL)
		opts->lock.label = opts->cut_label =
		    escape_cut(opts->lock.label, LIMIT_LABEL);
	opts->log_demanded = settings_is_given(settings, OPT_LOG_TO);
	opts->metrics_demanded = settings_is_given(settings, OPT_METRICS);
	opts->hook_demanded = settings_is_given(settings, OPT_HOOK);
	if (!is_logged)
		opts->log_json = 0;
	if (opts->log_to != NULL &&
	    ((!is_logged && opts->action != OPTS_DOCTOR) ||
		strcmp(opts->log_to, "stderr") == 0))
		opts->log_to = NULL;
	if (opts->action != OPTS_STATUS && opts->action != OPTS_LIST &&
	    opts->action != OPTS_CHECK)
		return;
	/* With -q, these answer by their exit status alone. Variables are set
	 * for runs, so that they do not silence them. */
	if (!settings_is_given(settings, OPT_QUIET))
		opts->quiet = false;
	if (!settings_is_given(settings, OPT_CONFLICT_EXIT_CODE))
		opts->conflict_exit = EXITCODE_BUSY;
	opts->all = opts->all || opts->failed || opts->action == OPTS_CHECK;
}

/* Defaults that depend on other options. A server that has restarted within
 * the ttl or --min-hold may have forgotten a lock that is held, or kept. */
static void
fill_defaults(const struct settings *settings)
{
	struct opts *opts = settings->opts;
	struct lock_config *lock = &opts->lock;
	int64_t period_ms =
	    lock->once_ms > lock->expect_ms ? lock->once_ms : lock->expect_ms;
	int64_t history_ms =
	    clock_min(3 * clock_min(period_ms, HISTORY_MAX_MS), HISTORY_MAX_MS);

	if (settings->of[OPT_KILL_AFTER].origin == ORIGIN_DEFAULT)
		opts->kill_after_ms =
		    clock_min(lock->ttl_ms / 6, KILL_AFTER_MAX_MS);
	if (settings->of[OPT_MIN_UPTIME].origin == ORIGIN_DEFAULT) {
		lock->min_uptime_ms = MIN_UPTIME_MS;
		if (lock->min_uptime_ms < lock->ttl_ms)
			lock->min_uptime_ms = lock->ttl_ms;
		if (lock->min_uptime_ms < opts->min_hold_ms)
			lock->min_uptime_ms = opts->min_hold_ms;
	}
	/* A job that comes once in a period is known for three of them, unless
	 * it has no history, as a hold. */
	if (settings->of[OPT_KEEP_HISTORY].origin <= ORIGIN_CRON &&
	    lock->history_ms > 0 && lock->history_ms < history_ms)
		lock->history_ms = history_ms;
	/* A run that comes later than --min-hold knows by a success whether it
	 * is one too many. */
	if (settings->of[OPT_SERVER_TIMEOUT].origin == ORIGIN_CRON) {
		if (lock->once_ms > 0)
			lock->server_timeout_ms =
			    clock_min(CRON_OUTAGE_MS, lock->once_ms);
		else if (lock->once_id != NULL)
			lock->server_timeout_ms = CRON_OUTAGE_MS;
	}
}

/* What is asked of each lock. The replicas are part of each renewal, of which
 * several must fit into a ttl. A try gets a third of the time that servers may
 * be silent: a reply that was lost never comes, and a second connection is to
 * have its chance. */
static void
fill_lock(struct settings *settings)
{
	const struct opts *opts = settings->opts;
	struct lock_config *lock = &settings->opts->lock;
	int64_t try_ms = lock->server_timeout_ms;

	if (lock->replicas_ms > lock->ttl_ms / 4)
		settings_fail(settings, OPT_WAIT_REPLICAS,
		    "--wait-replicas cannot take longer than a quarter of "
		    "the ttl");
	if (lock->replicas == 0)
		lock->replicas_ms = 0;
	else if (lock->replicas_ms == 0)
		lock->replicas_ms =
		    clock_min(lock->ttl_ms / 8, REPLICAS_MAX_MS);
	if (opts->wait_ms > 0)
		try_ms = clock_min(try_ms, opts->wait_ms);
	try_ms = try_ms / 3 > TRY_MIN_MS ? try_ms / 3 : TRY_MIN_MS;
	lock->try_ms = clock_min(try_ms, TRY_MAX_MS);
	lock->vote_ms =
	    opts->server_count > 1 ? votes_patience_ms(lock->ttl_ms) : 0;
	lock->wait = opts->wait_ms != 0;
	lock->is_hold = opts->action == OPTS_HOLD;
	lock->command = opts->command != NULL ? opts->command[0] : "";
	lock->outer = getenv("RLOCKRUN_HELD");
}

/* --- conflicts --------------------------------------------------------- */

/* As bits. */
static unsigned
obstacles_to(const struct settings *settings, enum option_id id)
{
	const struct opts_row *row = &opts_table[id];
	enum opts_action action = settings->opts->action;
	unsigned obstacles = 0;

	if (settings_is_given(settings, id))
		obstacles |= row->given_not;
	if ((action == OPTS_RUN || action == OPTS_HOLD) &&
	    is_used(settings, id) && settings_winner(settings, id) == id)
		obstacles |= row->never;
	return obstacles;
}

/* What excludes or needs what is in the rows; here is when, and why. An action
 * is refused for the servers that are configured. */
static void
check_obstacles(struct settings *settings)
{
	const struct opts *opts = settings->opts;
	bool is_run = opts->action == OPTS_RUN;
	bool votes = opts->server_count > 1, tls = false;
	bool cron_keeps = settings->of[OPT_MIN_HOLD].origin == ORIGIN_CRON;
	bool cron_waits = settings->of[OPT_NONBLOCK].origin != ORIGIN_CRON;

	for (size_t i = 0; i < opts->server_count; i++)
		tls = tls || opts->servers[i].tls;
	const struct {
		bool stands;
		const char *why;
	} obstacles[OPTS_OBSTACLES] = {
	    [OPTS_NOT_EXCLUSIVE] = {opts->lock.kind != &kind_exclusive,
		"needs an exclusive lock"},
	    [OPTS_SEVERAL_KEYS] = {opts->key_count > 1, "takes one key (-k)"},
	    [OPTS_SEVERAL_SERVERS] = {votes, "needs a single server"},
	    [OPTS_NO_KIND_THERE] = {votes && is_run,
		ONE_SERVER "exclusive locks"},
	    [OPTS_NO_HISTORY_THERE] = {votes && opts->action != OPTS_HOLD,
		ONE_SERVER "no history"},
	    [OPTS_NO_QUEUE_THERE] = {votes && is_run, ONE_SERVER "no queue"},
	    [OPTS_NO_HISTORY] = {opts->lock.history_ms == 0,
		"needs the history (--keep-history is 0)"},
	    [OPTS_NO_WAIT] = {opts->wait_ms == 0,
		cron_waits ? "is about waiters, and -n does not wait"
			   : "is about waiters, and --cron does not wait "
			     "(-w DUR)"},
	    [OPTS_MIN_HOLD] = {opts->min_hold_ms > 0,
		cron_keeps ? "and the --min-hold of --cron exclude each other "
			     "(--min-hold 0)"
			   : "and --min-hold exclude each other"},
	    [OPTS_NO_TLS] = {!tls, "needs a server with TLS (rediss://)"},
	    [OPTS_LISTS_FAILED] = {opts->failed,
		"and --failed exclude each other"},
	    [OPTS_LISTS_ALL] = {settings_is_given(settings, OPT_ALL),
		"and --all exclude each other"},
	    [OPTS_LISTS_JSON] = {opts->json, "and --json exclude each other"},
	    [OPTS_LISTS_NOTHING] = {settings_is_given(settings, OPT_QUIET),
		"and -q exclude each other"},
	};
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct opts_row *row = &opts_table[id];
		unsigned bits = obstacles_to(settings, id);

		for (unsigned i = 0; i < OPTS_OBSTACLES; i++)
			if ((bits & OPTS_BIT(i)) != 0 && obstacles[i].stands)
				settings_fail(settings,
				    row->action != OPTS_RUN ? OPT_REDIS : id,
				    "--%s %s", row->longs[0], obstacles[i].why);
	}
}

static void
check_servers(struct settings *settings)
{
	const struct opts *opts = settings->opts;
	const struct endpoint *servers = opts->servers;
	const struct place nowhere = {.file = NULL};

	/* Each host would lock against itself. */
	if (opts->cron && opts->action == OPTS_RUN && servers[0].is_default)
		settings_fail_at(settings, &nowhere,
		    "no server is configured (put \"redis = URL\" "
		    "into " CONF_OF_THE_HOST ")");
	for (size_t i = 0; i < opts->server_count; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(servers[i].label, servers[j].label) == 0)
				settings_fail(settings, OPT_REDIS,
				    "the same server is given twice: %s",
				    servers[i].label);
	if (opts->server_count > 1 && opts->key_count > 1 &&
	    opts->action == OPTS_RUN)
		settings_fail(settings, OPT_KEY,
		    "several servers hold one lock, not several (-k)");
	for (size_t i = 0; i < opts->server_count; i++)
		if (servers[i].tls && opts->tls_key != NULL &&
		    opts->tls_cert == NULL)
			settings_fail(settings, OPT_TLS_KEY,
			    "a key without its certificate (--tls-cert)");
}

/* Scripts repeat --list: each time its status says whether that went well. */
static void
check_terminal(struct settings *settings)
{
	const struct opts *opts = settings->opts;
	const char *obstacle =
	    opts->watch_ms > 0 ? log_find_obstacle(STDOUT_FILENO) : NULL;

	if (obstacle != NULL)
		settings_fail(settings, OPT_LIST,
		    "--watch needs a terminal, and %s; without one, repeat "
		    "--list",
		    obstacle);
	if (opts->action == OPTS_FORCE_RELEASE && opts->token == NULL &&
	    !opts->yes && !isatty(STDIN_FILENO))
		settings_fail(settings, OPT_FORCE_RELEASE,
		    "--force-release needs --token or --yes if it cannot "
		    "ask on a terminal");
}

void
opts_check(struct settings *settings, char **rest)
{
	check_action(settings);
	if (settings->opts->action == OPTS_RUN) {
		check_keys(settings, rest);
		check_command(settings, rest);
	} else {
		check_action_rest(settings, rest);
	}
	check_groups(settings);
	choose_lock(settings);
	choose_output(settings);
	check_servers(settings);
	check_obstacles(settings);
	fill_defaults(settings);
	fill_lock(settings);
	check_terminal(settings);
}
