#include "options/opts_check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "base/mem.h"
#include "base/tty.h"
#include "lock/limit.h"
#include "options/conf_access.h"
#include "options/opts_keys.h"
#include "options/opts_table.h"

#define KILL_AFTER_MAX_MS 5000 /* of the default only */
#define MIN_UPTIME_MS 60000    /* likewise */
#define HISTORY_MAX_MS (INT64_C(100) * 24 * 3600 * 1000) /* likewise */
#define CRON_OUTAGE_MS 900000 /* of --cron, if a success is found again */
#define HOLD_TTL_MS 30000     /* until a hold is confirmed: see hold.c */
#define REPLICAS_MAX_MS 1000  /* likewise */

static const char *
action_name(enum opts_action action)
{
	return opts_table[opts_action_option(action)].longs[0];
}

static void
refuse_beside(struct settings *settings, enum option_id id, const char *other)
{
	settings_fail(settings, id, "--%s and --%s exclude each other",
	    opts_table[id].longs[0], other);
}

/* Two of equal precedence, each by its letter, or as in the environment or a
 * file. */
static void
refuse_both(struct settings *settings, enum option_id id, enum option_id other)
{
	const char letters[2][3] = {{'-', *opts_table[id].shorts},
	    {'-', *opts_table[other].shorts}};

	settings_fail(settings, id, "%s and %s exclude each other",
	    settings_name(settings, id, letters[0]),
	    settings_name(settings, other, letters[1]));
}

static void
check_kind(struct settings *settings)
{
	enum option_id winner = settings_winner(settings, OPT_EXCLUSIVE);

	for (enum option_id id = OPT_EXCLUSIVE; id <= OPT_PERMITS; id++)
		if (id != winner && settings_counts(settings, id) &&
		    settings_compare(settings, id, winner) == 0)
			refuse_both(settings, id, winner);
	settings->opts->kind = 'x';
	if (winner == OPT_SHARED)
		settings->opts->kind = 's';
	if (winner == OPT_PERMITS)
		settings->opts->kind = 'p';
}

/* Each action but running excludes all others. */
static void
check_action(struct settings *settings)
{
	enum opts_action action = settings->opts->action;

	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct opts_row *row = &opts_table[id];

		if (!settings_is_given(settings, id))
			continue;
		if (row->action != OPTS_RUN && row->action != action)
			refuse_beside(settings, id, action_name(action));
		else if (row->with != 0 &&
			 !(row->with & OPTS_ACTION_BIT(action)))
			settings_fail(settings, id, "--%s needs %s",
			    row->longs[0], row->with_names);
	}
}

/* Scripts repeat --list: each time its status says whether that went well. */
static void
check_watch(struct settings *settings)
{
	const struct opts *opts = settings->opts;
	const char *obstacle;

	if (opts->watch_ms == 0)
		return;
	obstacle = tty_find_obstacle(STDOUT_FILENO);
	if (opts->json)
		settings_fail(settings, OPT_JSON,
		    "--watch and --json exclude each other");
	if (settings_is_given(settings, OPT_QUIET))
		settings_fail(settings, OPT_QUIET,
		    "--watch and -q exclude each other");
	if (obstacle != NULL)
		settings_refuse(settings, OPT_LIST,
		    "--watch needs a terminal, and %s; without one, repeat "
		    "--list",
		    obstacle);
}

static void
add_globs(struct settings *settings, char **rest)
{
	char **end = settings->opts->globs;

	while (*end != NULL)
		end++;
	while (*rest != NULL)
		*end++ = *rest++;
}

/* A list of last runs knows no holders of a certain age, and -q asks for these.
 */
static void
check_list(struct settings *settings, char **rest)
{
	static const enum option_id ids[] = {OPT_WATCH, OPT_OLDER_THAN,
	    OPT_QUIET};
	struct opts *opts = settings->opts;

	if (opts->key_count > 0)
		settings_fail(settings, OPT_LIST,
		    "--list takes a GLOB, not -k");
	opts->all = opts->all || opts->failed;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (opts->all && settings_is_given(settings, ids[i]))
			refuse_beside(settings, ids[i],
			    opts->failed ? "failed" : "all");
	check_watch(settings);
	add_globs(settings, rest);
}

/* Locks by name, by globs, or all of them. */
static void
check_check(struct settings *settings, char **rest)
{
	struct opts *opts = settings->opts;

	if (opts->key_count > 0)
		opts_keys_check(settings, rest);
	if (opts->server_count > 1)
		settings_fail(settings, OPT_REDIS,
		    "--check needs a single server: several servers keep no "
		    "history");
	add_globs(settings, rest);
	opts->all = true;
}

/* A glob that was not quoted, and that the shell has expanded, ends in a
 * command. */
static void
check_pause(struct settings *settings, char **rest)
{
	struct opts *opts = settings->opts;

	opts->globs[0] = (char *)opts->glob;
	if (opts->action == OPTS_RESUME && opts->key_count > 0)
		settings_fail(settings, OPT_RESUME,
		    "--resume takes a GLOB, not -k");
	else if (opts->key_count > 0)
		opts_keys_check(settings, rest);
}

/* What looks at one lock, or acts on it. */
static void
check_single(struct settings *settings, char **rest)
{
	const struct opts *opts = settings->opts;

	opts_keys_check(settings, rest);
	if (opts->key_count > 1)
		settings_fail(settings, opts_action_option(opts->action),
		    "--%s takes one key", action_name(opts->action));
	if (opts->action == OPTS_FORCE_RELEASE && opts->token == NULL &&
	    !opts->yes && !isatty(STDIN_FILENO))
		settings_fail(settings, OPT_FORCE_RELEASE,
		    "--force-release needs --token or --yes if it cannot "
		    "ask on a terminal");
}

/* The arguments that follow the options. --show-config shows also what holds
 * for any lock, and --doctor examines what does not depend on one. */
static void
check_rest(struct settings *settings, char **rest)
{
	const struct opts *opts = settings->opts;
	enum opts_action action = opts->action;
	bool pauses = action == OPTS_PAUSE || action == OPTS_RESUME;
	bool needs_key =
	    action != OPTS_SHOW_CONFIG && action != OPTS_DOCTOR && !pauses;

	if (action == OPTS_RUN) {
		opts_keys_check(settings, rest);
		opts_keys_check_command(settings, rest);
	} else if (opts->shell_command != NULL ||
		   (*rest != NULL && action != OPTS_LIST &&
		       action != OPTS_CHECK &&
		       (opts->key_count > 0 || !needs_key))) {
		settings_fail(settings, opts_action_option(action),
		    "--%s takes no command", action_name(action));
	} else if (action == OPTS_LIST) {
		check_list(settings, rest);
	} else if (action == OPTS_CHECK) {
		check_check(settings, rest);
	} else if (pauses) {
		check_pause(settings, rest);
	} else if (needs_key) {
		check_single(settings, rest);
	} else if (opts->key_count > 0) {
		opts_keys_check(settings, rest);
	}
}

static void
check_wait(struct settings *settings)
{
	struct opts *opts = settings->opts;

	if (!opts->nonblock || settings_winner(settings, OPT_WAIT) == OPT_WAIT)
		return;
	if (settings_compare(settings, OPT_NONBLOCK, OPT_WAIT) == 0 &&
	    opts->wait_ms > 0)
		refuse_both(settings, OPT_NONBLOCK, OPT_WAIT);
	opts->wait_ms = 0;
}

/* With -q, --status and --list answer by their exit status alone. Variables are
 * set for runs, so that they do not silence these. */
static void
check_quiet(struct settings *settings)
{
	struct opts *opts = settings->opts;

	if (opts->action != OPTS_STATUS && opts->action != OPTS_LIST &&
	    opts->action != OPTS_CHECK)
		return;
	if (!settings_is_given(settings, OPT_QUIET))
		opts->quiet = false;
	if (!settings_is_given(settings, OPT_CONFLICT_EXIT_CODE))
		opts->conflict_exit = EXITCODE_BUSY;
}

/* A hold or a pause is exclusive and has no job. Variables that say otherwise
 * are those of runs. */
static void
check_hold(struct settings *settings)
{
	static const enum option_id ids[] = {OPT_SHARED, OPT_PERMITS, OPT_TTL,
	    OPT_MIN_HOLD, OPT_KEEP_HISTORY, OPT_ONCE_PER, OPT_ONCE_ID,
	    OPT_EXPECT, OPT_SPLAY, OPT_WAIT_ALL, OPT_MAX_RUN, OPT_WARN_AFTER,
	    OPT_ON_LOST, OPT_KILL_AFTER, OPT_ON_UNAVAILABLE, OPT_METRICS,
	    OPT_REPLACEABLE};
	/* A pause is before all waiters, and lets the holder finish. */
	static const enum option_id waits[] = {OPT_NEWEST, OPT_REPLACE};
	struct opts *opts = settings->opts;

	if (opts->action != OPTS_HOLD && opts->action != OPTS_PAUSE)
		return;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (settings_is_given(settings, ids[i]))
			refuse_beside(settings, ids[i],
			    action_name(opts->action));
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		if (opts->action == OPTS_PAUSE &&
		    settings_is_given(settings, waits[i]))
			refuse_beside(settings, waits[i], "pause");
	opts->kind = 'x';
	opts->history_ms = 0; /* it is no run */
	opts->once_ms = 0;
	opts->replaceable = false;
	opts->once_id = NULL;
	opts->expect_ms = OPTS_EXPECT_UNSTATED;
	opts->ttl_ms = clock_min(opts->action == OPTS_PAUSE ? opts->pause_ms
							    : opts->hold_ms,
	    HOLD_TTL_MS);
}

/* What only looks at locks is not logged, but --doctor examines the log. */
static void
check_sinks(struct settings *settings)
{
	struct opts *opts = settings->opts;
	bool is_logged =
	    opts_table[OPT_LOG_TO].with & OPTS_ACTION_BIT(opts->action);
	size_t length = strlen(opts->metrics);

	while (length > 1 && opts->metrics[length - 1] == '/')
		length--;
	opts->metrics_folder = mem_strndup(opts->metrics, length);
	/* What is only shown refuses no run. */
	if (strlen(opts->label) > LIMIT_LABEL)
		opts->label = opts->cut_label =
		    escape_cut(opts->label, LIMIT_LABEL);
	opts->log_demanded = settings_is_given(settings, OPT_LOG_TO);
	opts->metrics_demanded = settings_is_given(settings, OPT_METRICS);
	opts->hook_demanded = settings_is_given(settings, OPT_HOOK);
	if (!is_logged)
		opts->log_json = 0;
	if (opts->log_to != NULL &&
	    ((!is_logged && opts->action != OPTS_DOCTOR) ||
		strcmp(opts->log_to, "stderr") == 0))
		opts->log_to = NULL;
}

/* It is part of each renewal, of which several must fit into a ttl. */
static void
check_wait_replicas(struct settings *settings)
{
	struct opts *opts = settings->opts;

	if (opts->replicas_ms > opts->ttl_ms / 4)
		settings_fail(settings, OPT_WAIT_REPLICAS,
		    "--wait-replicas cannot take longer than a quarter of "
		    "the ttl");
	if (opts->replicas == 0)
		opts->replicas_ms = 0;
	else if (opts->replicas_ms == 0)
		opts->replicas_ms =
		    clock_min(opts->ttl_ms / 8, REPLICAS_MAX_MS);
}

/* A job that comes once in a period is known for three of them, unless it has
 * no history, as a hold. */
static void
lengthen_history(struct opts *opts, int64_t period_ms)
{
	int64_t wanted_ms = 3 * clock_min(period_ms, HISTORY_MAX_MS);

	if (opts->history_ms > 0 && opts->history_ms < wanted_ms)
		opts->history_ms = clock_min(wanted_ms, HISTORY_MAX_MS);
}

/* Defaults that depend on other options. A server that has restarted within
 * the ttl or --min-hold may have forgotten a lock that is held, or kept. */
static void
fill_defaults(const struct settings *settings)
{
	struct opts *opts = settings->opts;

	if (settings->of[OPT_KILL_AFTER].origin == ORIGIN_DEFAULT)
		opts->kill_after_ms =
		    clock_min(opts->ttl_ms / 6, KILL_AFTER_MAX_MS);
	if (settings->of[OPT_MIN_UPTIME].origin == ORIGIN_DEFAULT) {
		opts->min_uptime_ms = MIN_UPTIME_MS;
		if (opts->min_uptime_ms < opts->ttl_ms)
			opts->min_uptime_ms = opts->ttl_ms;
		if (opts->min_uptime_ms < opts->min_hold_ms)
			opts->min_uptime_ms = opts->min_hold_ms;
	}
	if (settings->of[OPT_KEEP_HISTORY].origin <= ORIGIN_CRON) {
		lengthen_history(opts, opts->once_ms);
		lengthen_history(opts, opts->expect_ms);
	}
	/* A run that comes later than --min-hold knows by a success whether it
	 * is one too many. */
	if (settings->of[OPT_SERVER_TIMEOUT].origin == ORIGIN_CRON) {
		if (opts->once_ms > 0)
			opts->server_timeout_ms =
			    clock_min(CRON_OUTAGE_MS, opts->once_ms);
		else if (opts->once_id != NULL)
			opts->server_timeout_ms = CRON_OUTAGE_MS;
	}
}

/* What is to blame for a conflict with several servers: the option, if it was
 * given, or the list of servers. */
static enum option_id
blame(const struct settings *settings, enum option_id id)
{
	return settings_is_given(settings, id) ? id : OPT_REDIS;
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
	if (opts->server_count > 1 &&
	    (opts->action == OPTS_HOLD || opts->action == OPTS_PAUSE ||
		opts->action == OPTS_RESUME || opts->watch_ms > 0))
		settings_fail(settings, OPT_REDIS, "--%s needs a single server",
		    opts->watch_ms > 0 ? "watch" : action_name(opts->action));
	if (opts->server_count < 2 || opts->action != OPTS_RUN)
		return;
	if (opts->kind != 'x')
		settings_fail(settings,
		    blame(settings,
			opts->kind == 's' ? OPT_SHARED : OPT_PERMITS),
		    "locks on several servers are exclusive");
	if (opts->key_count > 1)
		settings_fail(settings, OPT_KEY,
		    "several servers hold one lock, not several (-k)");
	if (opts->max_waiters != OPTS_ANY_WAITERS)
		settings_fail(settings, blame(settings, OPT_MAX_WAITERS),
		    "--max-waiters needs a single server: several servers "
		    "keep no queue");
}

/* What a policy depends on, which a single server keeps for one lock. */
enum policy_need { POLICY_HISTORY, POLICY_QUEUE, POLICY_WAIT };

/* NULL, or why the run cannot have such a policy. */
static const char *
deny_policy(const struct settings *settings, enum policy_need need)
{
	const struct opts *opts = settings->opts;
	bool by_cron = settings->of[OPT_NONBLOCK].origin == ORIGIN_CRON;

	if (opts->kind != 'x')
		return "needs an exclusive lock";
	if (opts->key_count > 1)
		return "takes one key (-k)";
	if (opts->server_count > 1)
		return need == POLICY_HISTORY
			   ? "needs a single server: several servers keep no "
			     "history"
			   : "needs a single server: several servers keep no "
			     "queue";
	if (need == POLICY_HISTORY && opts->history_ms == 0)
		return "needs the history (--keep-history is 0)";
	if (need == POLICY_WAIT && opts->wait_ms == 0)
		return by_cron
			   ? "is about waiters, and --cron does not wait (-w "
			     "DUR)"
			   : "is about waiters, and -n does not wait";
	return NULL;
}

static void
check_policies(struct settings *settings)
{
	struct opts *opts = settings->opts;
	const struct {
		enum option_id id;
		bool is_used;
		enum policy_need need;
	} policies[] = {{OPT_ONCE_PER, opts->once_ms > 0, POLICY_HISTORY},
	    {OPT_ONCE_ID, opts->once_id != NULL, POLICY_HISTORY},
	    {OPT_EXPECT, opts->expect_ms > 0, POLICY_HISTORY},
	    {OPT_NEWEST, opts->newest, POLICY_WAIT},
	    {OPT_REPLACE, opts->replace, POLICY_WAIT},
	    {OPT_REPLACEABLE, opts->replaceable, POLICY_QUEUE}};

	if (opts->action != OPTS_RUN && opts->action != OPTS_HOLD)
		return;
	for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++) {
		const char *why = deny_policy(settings, policies[i].need);

		if (policies[i].is_used && why != NULL)
			settings_fail(settings, policies[i].id, "--%s %s",
			    opts_table[policies[i].id].longs[0], why);
	}
	if (opts->replaceable && opts->min_hold_ms > 0)
		settings_fail(settings, OPT_REPLACEABLE,
		    settings->of[OPT_MIN_HOLD].origin == ORIGIN_CRON
			? "--replaceable and the --min-hold of --cron exclude "
			  "each other (--min-hold 0)"
			: "--replaceable and --min-hold exclude each other");
}

/* The variables may be set on all hosts of a fleet. An option shows that the
 * user expects TLS. */
static void
check_tls(struct settings *settings)
{
	static const enum option_id ids[] = {OPT_TLS_CA, OPT_TLS_CERT,
	    OPT_TLS_KEY};
	const struct opts *opts = settings->opts;
	bool tls = false;

	for (size_t i = 0; i < opts->server_count; i++)
		tls = tls || opts->servers[i].tls;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (!tls && settings_is_given(settings, ids[i]))
			settings_fail(settings, ids[i],
			    "--%s needs a server with TLS (rediss://)",
			    opts_table[ids[i]].longs[0]);
	if (tls && opts->tls_key != NULL && opts->tls_cert == NULL)
		settings_fail(settings, OPT_TLS_KEY,
		    "a key without its certificate (--tls-cert)");
}

void
opts_check(struct settings *settings, char **rest)
{
	check_action(settings);
	check_rest(settings, rest);
	check_kind(settings);
	check_wait(settings);
	check_quiet(settings);
	check_hold(settings);
	check_sinks(settings);
	check_servers(settings);
	check_policies(settings);
	fill_defaults(settings);
	check_tls(settings);
	check_wait_replicas(settings);
}
