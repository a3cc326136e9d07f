#include "app/opts.h"

#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/password.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/secret.h"

#define DEFAULT_URL "redis://127.0.0.1:6379"
#define DEFAULT_TTL_MS 30000
#define DEFAULT_SERVER_TIMEOUT_MS 10000
#define KILL_AFTER_MAX_MS 5000 /* of the default only */
#define MIN_UPTIME_MS 60000    /* likewise */
#define REPLICAS_MAX 1000
#define REPLICAS_MAX_MS 1000 /* of the default only */
#define TEXT_OF(number) TEXT_OF_EXPANDED(number)
#define TEXT_OF_EXPANDED(number) #number
#define TTL_MAX_MS (INT64_C(365) * 24 * 60 * 60 * 1000)

enum {
	SHORTS_MAX = 2,
	LONGS_MAX = 3,
	/* What getopt_long returns for long options: this and up, so that
	 * messages can name an option as it was given. */
	LONG_OPTION = 256,
	HELP_COLUMN = 33, /* of the help texts */
};

enum option_id {
	OPT_KEY,
	OPT_EXCLUSIVE,
	OPT_SHARED,
	OPT_PERMITS,
	OPT_TTL,
	OPT_MIN_HOLD,
	OPT_NONBLOCK,
	OPT_WAIT,
	OPT_MAX_WAITERS,
	OPT_CONFLICT_EXIT_CODE,
	OPT_QUIET,
	OPT_SPLAY,
	OPT_COMMAND,
	OPT_WAIT_ALL,
	OPT_MAX_RUN,
	OPT_WARN_AFTER,
	OPT_ON_LOST,
	OPT_KILL_AFTER,
	OPT_ON_UNAVAILABLE,
	OPT_SERVER_TIMEOUT,
	OPT_REDIS,
	OPT_REDIS_URL,
	OPT_MIN_UPTIME,
	OPT_WAIT_REPLICAS,
	OPT_PREFIX,
	OPT_USER,
	OPT_PASSWORD_FILE,
	OPT_PASSWORD,
	OPT_NO_PASSWORD,
	OPT_SENTINEL_USER,
	OPT_SENTINEL_PASSWORD_FILE,
	OPT_SENTINEL_PASSWORD,
	OPT_TLS_CA,
	OPT_TLS_CERT,
	OPT_TLS_KEY,
	OPT_STATUS,
	OPT_LIST,
	OPT_FORCE_RELEASE,
	OPT_JSON,
	OPT_OLDER_THAN,
	OPT_TOKEN,
	OPT_YES,
	OPT_VERBOSE,
	OPT_PROGRESS,
	OPT_HELP,
	OPT_VERSION,
	OPT_DUMP,
	OPT_COUNT,
};

/* The higher one wins. */
enum origin { ORIGIN_DEFAULT, ORIGIN_ENVIRONMENT, ORIGIN_COMMAND_LINE };

/* What stands only between the first option and the last check. */
struct parser {
	struct opts opts;
	enum origin origins[OPT_COUNT];
	char *environment[OPT_COUNT]; /* values; NULL for what is not set */
	int given;  /* what getopt_long returned for this option */
	int status; /* of the first mistake; the rest is ignored */
	bool exclusive;
	bool shared;
	bool nonblock;
	const char *user;
	const char *password_file;
	char *password;
	const char *sentinel_user;
	const char *sentinel_password_file;
	char *sentinel_password;
};

/* A setting. Without longs: environment only. Without variable: command line
 * only. Without help: hidden. */
struct option_row {
	char shorts[SHORTS_MAX + 1];
	bool once;			  /* on the command line */
	bool secret;			  /* never quoted */
	const char *longs[LONGS_MAX + 1]; /* the first names the variable */
	const char *argument;		  /* NULL: a switch */
	const char *variable;
	const char *section;
	const char *help;
	/* Takes the text, or returns the reason why not. */
	const char *(*set)(struct parser *parser, const struct option_row *row,
	    const char *text);
	size_t field; /* offset in struct parser */
	int64_t min, max;
	const char *mistake; /* the reason, for what is not in that range */
	enum opts_action action;
	unsigned with; /* only with these actions, as bits */
};

static void *
field_of(struct parser *parser, const struct option_row *row)
{
	return (char *)parser + row->field;
}

static const char *
set_switch(struct parser *parser, const struct option_row *row,
    const char *text)
{
	static const char *const words[][2] = {{"0", "1"}, {"no", "yes"},
	    {"false", "true"}, {"off", "on"}};
	bool *field = field_of(parser, row);

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		for (int value = 0; value < 2; value++) {
			if (strcmp(text, words[i][value]) == 0) {
				*field = value;
				return NULL;
			}
		}
	}
	return "neither yes nor no";
}

/* The argument is "THIS|THAT|...", the field becomes the word's place in it. */
static const char *
set_choice(struct parser *parser, const struct option_row *row,
    const char *text)
{
	int *field = field_of(parser, row);
	const char *word = row->argument;

	for (int place = 0;; place++) {
		size_t length = strcspn(word, "|");
		if (strlen(text) == length &&
		    strncmp(text, word, length) == 0) {
			*field = place;
			return NULL;
		}
		if (word[length] == '\0')
			return row->mistake;
		word += length + 1;
	}
}

static const char *
set_text(struct parser *parser, const struct option_row *row, const char *text)
{
	const char **field = field_of(parser, row);

	*field = text;
	return NULL;
}

static const char *
add_key(struct parser *parser, const struct option_row *row, const char *text)
{
	struct opts *opts = &parser->opts;

	(void)row;
	if (opts->key_count == OPTS_KEYS_MAX)
		return "more than " TEXT_OF(OPTS_KEYS_MAX) " locks";
	opts->keys[opts->key_count++].name = text;
	return NULL;
}

static const char *
set_number(struct parser *parser, const struct option_row *row,
    const char *text)
{
	int *field = field_of(parser, row);
	int64_t value;

	if (num_int(text, row->min, row->max, &value) < 0)
		return row->mistake;
	*field = (int)value;
	return NULL;
}

static const char *
set_duration(struct parser *parser, const struct option_row *row,
    const char *text)
{
	int64_t *field = field_of(parser, row);
	int64_t value;

	if (num_duration(text, &value) < 0 || value < row->min ||
	    value > row->max)
		return row->mistake;
	*field = value;
	return NULL;
}

static const char *
add_server(struct parser *parser, const char *url)
{
	struct opts *opts = &parser->opts;
	const char *reason;

	if (opts->server_count == OPTS_SERVERS_MAX)
		return "more than " TEXT_OF(OPTS_SERVERS_MAX) " servers";
	reason = url_parse(url, &opts->servers[opts->server_count]);
	if (reason == NULL)
		opts->server_count++;
	return reason;
}

static const char *
set_server(struct parser *parser, const struct option_row *row,
    const char *text)
{
	(void)row;
	if (strchr(text, ' ') != NULL)
		return "one server each time (-r URL -r URL)";
	return add_server(parser, text);
}

/* The variable has all of them. */
static const char *
set_servers(struct parser *parser, const struct option_row *row,
    const char *text)
{
	char *list, *rest, *url;
	const char *reason = NULL;

	if (parser->origins[OPT_REDIS] == ORIGIN_COMMAND_LINE)
		return set_server(parser, row, text);
	list = mem_secret_copy(text, strlen(text));
	url = strtok_r(list, " ", &rest);
	if (url == NULL)
		reason = "no URL";
	for (; url != NULL && reason == NULL; url = strtok_r(NULL, " ", &rest))
		reason = add_server(parser, url);
	secret_free(list);
	return reason;
}

static const char *
set_replicas(struct parser *parser, const struct option_row *row,
    const char *text)
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
	parser->opts.replicas = (int)count;
	parser->opts.replicas_ms = ms;
	return NULL;
}

/* REDIS_URL is the application's, so ours goes before it. */
static const char *
set_fallback_server(struct parser *parser, const struct option_row *row,
    const char *text)
{
	if (parser->origins[OPT_REDIS] != ORIGIN_DEFAULT)
		return NULL;
	return set_server(parser, row, text);
}

static char *
secret_or_null(const char *text)
{
	return text == NULL ? NULL : mem_secret_copy(text, strlen(text));
}

/* Copied, since the environment's memory is about to be wiped. */
static const char *
set_password(struct parser *parser, const struct option_row *row,
    const char *text)
{
	char **field = field_of(parser, row);

	*field = secret_or_null(text);
	return NULL;
}

/* Were it no option, getopt_long would take it for --password-file, and a
 * message would quote it. */
static const char *
refuse_password(struct parser *parser, const struct option_row *row,
    const char *text)
{
	(void)parser;
	(void)row;
	(void)text;
	return "not here, where all can see it (--password-file FILE)";
}

static const char *
set_action(struct parser *parser, const struct option_row *row,
    const char *text)
{
	(void)text;
	parser->opts.action = row->action;
	return NULL;
}

#define FIELD(member) .field = offsetof(struct parser, member)
#define ACTION(name) (1U << (name))

/* clang-format off */
static const struct option_row table[] = {
	[OPT_KEY] = {
		.shorts = "k", .longs = {"key"}, .argument = "NAME",
		.section = "Lock",
		.help = "name of the lock; again: several, all or none",
		.set = add_key,
	},
	[OPT_EXCLUSIVE] = {
		.shorts = "ex", .longs = {"exclusive"},
		.variable = "RLOCKRUN_EXCLUSIVE",
		.section = "Lock",
		.help = "one holder at a time (the default)",
		.set = set_switch, FIELD(exclusive),
	},
	[OPT_SHARED] = {
		.shorts = "s", .longs = {"shared"},
		.variable = "RLOCKRUN_SHARED",
		.section = "Lock",
		.help = "together with all others who share it",
		.set = set_switch, FIELD(shared),
	},
	[OPT_PERMITS] = {
		.shorts = "p", .longs = {"permits"}, .argument = "N",
		.variable = "RLOCKRUN_PERMITS",
		.section = "Lock",
		.help = "at most N holders at a time",
		.set = set_number, FIELD(opts.permits),
		.min = 1, .max = 1000000,
		.mistake = "not a number from 1 to 1000000",
	},
	[OPT_TTL] = {
		.shorts = "t", .longs = {"ttl"}, .argument = "DUR",
		.variable = "RLOCKRUN_TTL",
		.section = "Lock",
		.help = "lease, renewed while the job runs [30s]",
		.set = set_duration, FIELD(opts.ttl_ms),
		.min = 1000, .max = TTL_MAX_MS,
		.mistake = "not a duration from 1s to 365d",
	},
	[OPT_MIN_HOLD] = {
		.longs = {"min-hold"}, .argument = "DUR",
		.variable = "RLOCKRUN_MIN_HOLD",
		.section = "Lock",
		.help = "keep it this long, also after a short job",
		.set = set_duration, FIELD(opts.min_hold_ms),
		.max = TTL_MAX_MS,
		.mistake = "not a duration from 0 to 365d",
	},
	[OPT_NONBLOCK] = {
		.shorts = "n", .longs = {"nonblock", "nb", "nonblocking"},
		.variable = "RLOCKRUN_NONBLOCK",
		.section = "Waiting",
		.help = "don't wait for the lock",
		.set = set_switch, FIELD(nonblock),
	},
	[OPT_WAIT] = {
		.shorts = "w", .longs = {"wait", "timeout"}, .argument = "DUR",
		.variable = "RLOCKRUN_WAIT",
		.section = "Waiting",
		.help = "wait at most this long; 0 is -n [for ever]",
		.set = set_duration, FIELD(opts.wait_ms),
		.max = NUM_DURATION_MAX_MS,
		.mistake = "not a duration from 0 to 3653d",
	},
	[OPT_MAX_WAITERS] = {
		.longs = {"max-waiters"}, .argument = "N",
		.variable = "RLOCKRUN_MAX_WAITERS",
		.section = "Waiting",
		.help = "busy at once when N wait already",
		.set = set_number, FIELD(opts.max_waiters),
		.max = 1000000,
		.mistake = "not a number from 0 to 1000000",
	},
	[OPT_CONFLICT_EXIT_CODE] = {
		.shorts = "E", .longs = {"conflict-exit-code"}, .argument = "N",
		.variable = "RLOCKRUN_CONFLICT_EXIT_CODE",
		.section = "Waiting",
		.help = "status when busy or the wait ran out [75]",
		.set = set_number, FIELD(opts.conflict_exit),
		.max = 255,
		.mistake = "not a number from 0 to 255",
	},
	[OPT_QUIET] = {
		.shorts = "q", .longs = {"quiet"},
		.variable = "RLOCKRUN_QUIET",
		.section = "Waiting",
		.help = "print nothing when busy",
		.set = set_switch, FIELD(opts.quiet),
	},
	[OPT_SPLAY] = {
		.longs = {"splay"}, .argument = "DUR",
		.variable = "RLOCKRUN_SPLAY",
		.section = "Waiting",
		.help = "first sleep a random time up to this [0]",
		.set = set_duration, FIELD(opts.splay_ms),
		.max = NUM_DURATION_MAX_MS,
		.mistake = "not a duration from 0 to 3653d",
	},
	[OPT_COMMAND] = {
		.shorts = "c", .longs = {"command"}, .argument = "STRING",
		.section = "Job",
		.help = "run STRING through $SHELL -c",
		.set = set_text, FIELD(opts.shell_command),
		.once = true,
	},
	[OPT_WAIT_ALL] = {
		.longs = {"wait-all"},
		.variable = "RLOCKRUN_WAIT_ALL",
		.section = "Job",
		.help = "keep the lock until all it started has ended",
		.set = set_switch, FIELD(opts.wait_all),
	},
	[OPT_MAX_RUN] = {
		.longs = {"max-run"}, .argument = "DUR",
		.variable = "RLOCKRUN_MAX_RUN",
		.section = "Job",
		.help = "stop the job after this long, status 124",
		.set = set_duration, FIELD(opts.max_run_ms),
		.min = 1, .max = NUM_DURATION_MAX_MS,
		.mistake = "not a duration above 0 and up to 3653d",
	},
	[OPT_WARN_AFTER] = {
		.longs = {"warn-after"}, .argument = "DUR",
		.variable = "RLOCKRUN_WARN_AFTER",
		.section = "Job",
		.help = "say when the lock is held for longer",
		.set = set_duration, FIELD(opts.warn_after_ms),
		.min = 1, .max = NUM_DURATION_MAX_MS,
		.mistake = "not a duration above 0 and up to 3653d",
	},
	[OPT_ON_LOST] = {
		.longs = {"on-lost"}, .argument = "stop|warn",
		.variable = "RLOCKRUN_ON_LOST",
		.section = "Job",
		.help = "what to do when the lock is lost [stop]",
		.set = set_choice, FIELD(opts.lost_warn),
		.mistake = "neither stop nor warn",
	},
	[OPT_KILL_AFTER] = {
		.longs = {"kill-after"}, .argument = "DUR",
		.variable = "RLOCKRUN_KILL_AFTER",
		.section = "Job",
		.help = "time from TERM to KILL [ttl/6, at most 5s]",
		.set = set_duration, FIELD(opts.kill_after_ms),
		.max = NUM_DURATION_MAX_MS,
		.mistake = "not a duration from 0 to 3653d",
	},
	[OPT_ON_UNAVAILABLE] = {
		.longs = {"on-unavailable"}, .argument = "fail|run",
		.variable = "RLOCKRUN_ON_UNAVAILABLE",
		.section = "Server",
		.help = "no server: give up or run unlocked [fail]",
		.set = set_choice, FIELD(opts.unavailable_run),
		.mistake = "neither fail nor run",
	},
	[OPT_SERVER_TIMEOUT] = {
		.longs = {"server-timeout"}, .argument = "DUR",
		.variable = "RLOCKRUN_SERVER_TIMEOUT",
		.section = "Server",
		.help = "longest silence before the job starts [10s]",
		.set = set_duration, FIELD(opts.server_timeout_ms),
		.min = 1, .max = NUM_DURATION_MAX_MS,
		.mistake = "not a duration above 0 and up to 3653d",
	},
	[OPT_REDIS] = {
		.shorts = "r", .longs = {"redis"}, .argument = "URL",
		.variable = "RLOCKRUN_REDIS",
		.section = "Server",
		.help = "server [" DEFAULT_URL "]; again: Redlock",
		.set = set_servers,
		.secret = true,
	},
	[OPT_REDIS_URL] = {
		.argument = "URL",
		.variable = "REDIS_URL",
		.section = "Server",
		.help = "used without -r and RLOCKRUN_REDIS",
		.set = set_fallback_server,
		.secret = true,
	},
	[OPT_MIN_UPTIME] = {
		.longs = {"min-uptime"}, .argument = "DUR",
		.variable = "RLOCKRUN_MIN_UPTIME",
		.section = "Server",
		.help = "Redlock: not where it's up for less [60s, ttl]",
		.set = set_duration, FIELD(opts.min_uptime_ms),
		.max = NUM_DURATION_MAX_MS,
		.mistake = "not a duration from 0 to 3653d",
	},
	[OPT_WAIT_REPLICAS] = {
		.longs = {"wait-replicas"}, .argument = "N[:DUR]",
		.variable = "RLOCKRUN_WAIT_REPLICAS",
		.section = "Server",
		.help = "held only while N replicas have it",
		.set = set_replicas, .max = REPLICAS_MAX,
		.mistake = "not N or N:DUR, with N from 0 to 1000",
	},
	[OPT_PREFIX] = {
		.longs = {"prefix"}, .argument = "TEXT",
		.variable = "RLOCKRUN_PREFIX",
		.section = "Server",
		.help = "put before the name of the lock",
		.set = set_text, FIELD(opts.prefix),
	},
	[OPT_USER] = {
		.longs = {"user"}, .argument = "NAME",
		.variable = "RLOCKRUN_USER",
		.section = "Server",
		.help = "user name, when the URL has none",
		.set = set_text, FIELD(user),
	},
	[OPT_PASSWORD_FILE] = {
		.longs = {"password-file"}, .argument = "FILE",
		.variable = "RLOCKRUN_PASSWORD_FILE",
		.section = "Server",
		.help = "holds the password, when the URL has none",
		.set = set_text, FIELD(password_file),
	},
	[OPT_PASSWORD] = {
		.argument = "TEXT",
		.variable = "RLOCKRUN_PASSWORD",
		.section = "Server",
		.help = "the password itself, kept from the job",
		.set = set_password, FIELD(password),
		.secret = true,
	},
	[OPT_NO_PASSWORD] = {
		.longs = {"password"}, .argument = "TEXT",
		.set = refuse_password,
		.secret = true,
	},
	[OPT_SENTINEL_USER] = {
		.longs = {"sentinel-user"}, .argument = "NAME",
		.variable = "RLOCKRUN_SENTINEL_USER",
		.section = "Server",
		.help = "user name at the sentinels",
		.set = set_text, FIELD(sentinel_user),
	},
	[OPT_SENTINEL_PASSWORD_FILE] = {
		.longs = {"sentinel-password-file"}, .argument = "FILE",
		.variable = "RLOCKRUN_SENTINEL_PASSWORD_FILE",
		.section = "Server",
		.help = "holds the sentinels' password",
		.set = set_text, FIELD(sentinel_password_file),
	},
	[OPT_SENTINEL_PASSWORD] = {
		.argument = "TEXT",
		.variable = "RLOCKRUN_SENTINEL_PASSWORD",
		.section = "Server",
		.help = "that password itself, kept from the job",
		.set = set_password, FIELD(sentinel_password),
		.secret = true,
	},
	[OPT_TLS_CA] = {
		.longs = {"tls-ca"}, .argument = "FILE",
		.variable = "RLOCKRUN_TLS_CA",
		.section = "Server",
		.help = "trust these CAs, not the system's",
		.set = set_text, FIELD(opts.tls_ca),
	},
	[OPT_TLS_CERT] = {
		.longs = {"tls-cert"}, .argument = "FILE",
		.variable = "RLOCKRUN_TLS_CERT",
		.section = "Server",
		.help = "our certificate",
		.set = set_text, FIELD(opts.tls_cert),
	},
	[OPT_TLS_KEY] = {
		.longs = {"tls-key"}, .argument = "FILE",
		.variable = "RLOCKRUN_TLS_KEY",
		.section = "Server",
		.help = "its key [the certificate's file]",
		.set = set_text, FIELD(opts.tls_key),
	},
	[OPT_STATUS] = {
		.longs = {"status"},
		.section = "Look and act",
		.help = "show who has the lock, and who waits for it",
		.set = set_action, .action = OPTS_STATUS,
	},
	[OPT_LIST] = {
		.longs = {"list"},
		.section = "Look and act",
		.help = "list the locks that are held (and match a GLOB)",
		.set = set_action, .action = OPTS_LIST,
	},
	[OPT_FORCE_RELEASE] = {
		.longs = {"force-release"},
		.section = "Look and act",
		.help = "take the lock away from its holder",
		.set = set_action, .action = OPTS_FORCE_RELEASE,
	},
	[OPT_JSON] = {
		.longs = {"json"},
		.section = "Look and act",
		.help = "show it as JSON",
		.set = set_switch, FIELD(opts.json),
		.with = ACTION(OPTS_STATUS) | ACTION(OPTS_LIST),
	},
	[OPT_OLDER_THAN] = {
		.longs = {"older-than"}, .argument = "DUR",
		.section = "Look and act",
		.help = "list only locks that are held for longer",
		.set = set_duration, FIELD(opts.older_than_ms),
		.max = NUM_DURATION_MAX_MS,
		.mistake = "not a duration from 0 to 3653d",
		.with = ACTION(OPTS_LIST),
	},
	[OPT_TOKEN] = {
		.longs = {"token"}, .argument = "TOKEN",
		.section = "Look and act",
		.help = "release it only if this holder has it",
		.set = set_text, FIELD(opts.token),
		.with = ACTION(OPTS_FORCE_RELEASE),
	},
	[OPT_YES] = {
		.longs = {"yes"},
		.section = "Look and act",
		.help = "release it without a question",
		.set = set_switch, FIELD(opts.yes),
		.with = ACTION(OPTS_FORCE_RELEASE),
	},
	[OPT_VERBOSE] = {
		.shorts = "v", .longs = {"verbose"},
		.variable = "RLOCKRUN_VERBOSE",
		.section = "General",
		.help = "tell what is done",
		.set = set_switch, FIELD(opts.verbose),
	},
	[OPT_PROGRESS] = {
		.longs = {"progress"}, .argument = "auto|always|never",
		.variable = "RLOCKRUN_PROGRESS",
		.section = "General",
		.help = "one line about waiting, kept up to date [auto]",
		.set = set_choice, FIELD(opts.progress),
		.mistake = "neither auto, always nor never",
	},
	[OPT_HELP] = {
		.shorts = "h", .longs = {"help"},
		.section = "General",
		.help = "print this",
		.set = set_action, .action = OPTS_HELP,
	},
	[OPT_VERSION] = {
		.shorts = "V", .longs = {"version"},
		.section = "General",
		.help = "print the version",
		.set = set_action, .action = OPTS_VERSION,
	},
	[OPT_DUMP] = {
		.longs = {"dump-options"},
		.set = set_action, .action = OPTS_DUMP,
	},
};
/* clang-format on */

/* Tells the first mistake only. */
__attribute__((format(printf, 3, 4))) static void
fail(struct parser *parser, enum exitcode status, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	if (parser->status != 0)
		return;
	parser->status = (int)status;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (status == EXITCODE_USAGE)
		log_warnx("%s; try 'rlockrun --help'", text);
	else
		log_warnx("%s", text);
}

static enum exitcode
status_of(enum origin origin)
{
	return origin == ORIGIN_COMMAND_LINE ? EXITCODE_USAGE : EXITCODE_CONFIG;
}

/* The option as it was given, or the variable; to be freed. */
static char *
setting_name(const struct parser *parser, enum option_id id, enum origin origin)
{
	if (origin == ORIGIN_ENVIRONMENT)
		return mem_strdup(table[id].variable);
	if (parser->given < LONG_OPTION)
		return mem_printf("-%c", parser->given);
	return mem_printf("--%s", table[id].longs[0]);
}

/* These only print what is built in: all else is of no account. */
static bool
is_about_itself(enum opts_action action)
{
	return action == OPTS_HELP || action == OPTS_VERSION ||
	       action == OPTS_DUMP;
}

static void
opt_set(struct parser *parser, enum option_id id, const char *text,
    enum origin origin)
{
	const struct option_row *row = &table[id];
	bool again = row->once && parser->origins[id] == ORIGIN_COMMAND_LINE;
	const char *reason;
	char *name;

	if (parser->status != 0 || is_about_itself(parser->opts.action) ||
	    parser->origins[id] > origin)
		return;
	parser->origins[id] = origin;
	reason = again ? "can be given once" : row->set(parser, row, text);
	if (reason == NULL)
		return;
	name = setting_name(parser, id, origin);
	if (again)
		fail(parser, status_of(origin), "%s %s", name, reason);
	else if (row->secret)
		fail(parser, status_of(origin), "%s: %s", name, reason);
	else
		fail(parser, status_of(origin), "%s '%s': %s", name, text,
		    reason);
	free(name);
}

static enum option_id
id_of(int given)
{
	enum option_id id = OPT_KEY;

	if (given >= LONG_OPTION)
		return (enum option_id)(given - LONG_OPTION);
	while (strchr(table[id].shorts, given) == NULL)
		id++;
	return id;
}

static void
list_shorts(char *list)
{
	/* '+': options behind the command are the command's.
	 * ':': tell a missing argument from an unknown option. */
	list = stpcpy(list, "+:");
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		for (const char *name = table[id].shorts; *name; name++) {
			*list++ = *name;
			if (table[id].argument != NULL)
				*list++ = ':';
		}
	}
	*list = '\0';
}

static void
list_longs(struct option *list)
{
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		bool argument = table[id].argument != NULL;
		const char *const *name = table[id].longs;

		for (; *name != NULL; name++) {
			*list++ = (struct option){
			    .name = *name,
			    .has_arg =
				argument ? required_argument : no_argument,
			    .val = LONG_OPTION + (int)id,
			};
		}
	}
	*list = (struct option){.name = NULL};
}

/* word is what getopt_long looked at last. */
static void
refuse_option(struct parser *parser, bool unknown, const char *word)
{
	char *name;

	if (optopt == 0) {
		/* Behind '=', a password may stand. */
		fail(parser, EXITCODE_USAGE, "unknown or ambiguous option %.*s",
		    (int)strcspn(word, "="), word);
		return;
	}
	parser->given = optopt;
	if (unknown && optopt < LONG_OPTION) {
		fail(parser, EXITCODE_USAGE, "unknown option -%c", optopt);
		return;
	}
	name = setting_name(parser, id_of(optopt), ORIGIN_COMMAND_LINE);
	fail(parser, EXITCODE_USAGE, "%s %s argument", name,
	    unknown ? "takes no" : "needs an");
	free(name);
}

static void
take_option(struct parser *parser, int given)
{
	enum option_id id = id_of(given);

	parser->given = given;
	if (optarg == NULL) {
		opt_set(parser, id, "yes", ORIGIN_COMMAND_LINE);
		return;
	}
	opt_set(parser, id, optarg, ORIGIN_COMMAND_LINE);
	if (id == OPT_REDIS)
		url_wipe(optarg);
	else if (table[id].secret)
		mem_wipe(optarg, strlen(optarg));
}

/* Options may stand behind a glob of --list, but not behind "--". */
static bool
take_glob(struct parser *parser, char **argv)
{
	char **end = parser->opts.globs;

	if (parser->opts.action != OPTS_LIST || argv[optind] == NULL ||
	    strcmp(argv[optind - 1], "--") == 0)
		return false;
	while (*end != NULL)
		end++;
	*end = argv[optind++];
	return true;
}

/* Goes on after a mistake, so that no password stays in sight. */
static void
read_command_line(struct parser *parser, int argc, char **argv)
{
	char shorts[sizeof("+:") + sizeof("x:") * SHORTS_MAX * OPT_COUNT];
	struct option longs[OPT_COUNT * LONGS_MAX + 1];
	int given;

	list_shorts(shorts);
	list_longs(longs);
	opterr = 0;
	optind = 0; /* makes getopt_long forget an earlier argv */
	do {
		given = getopt_long(argc, argv, shorts, longs, NULL);
		if (given == '?' || given == ':')
			refuse_option(parser, given == '?', argv[optind - 1]);
		else if (given != -1)
			take_option(parser, given);
	} while (given != -1 || take_glob(parser, argv));
}

/* The value in "NAME=value", NULL for another name. */
static char *
value_of(char *entry, const char *name)
{
	while (*name != '\0' && *entry == *name) {
		entry++;
		name++;
	}
	return *name == '\0' && *entry == '=' ? entry + 1 : NULL;
}

static void
find_variables(struct parser *parser)
{
	for (char **entry = environ; entry && *entry; entry++) {
		for (enum option_id id = 0; id < OPT_COUNT; id++) {
			const char *name = table[id].variable;
			char *value = name ? value_of(*entry, name) : NULL;

			if (value != NULL && parser->environment[id] == NULL)
				parser->environment[id] = value;
		}
	}
}

static char *
append_label(char *labels, const char *label)
{
	char *longer =
	    mem_printf("%s%s%s", labels, *labels == '\0' ? "" : " ", label);

	free(labels);
	return longer;
}

/* Wipes them; what is left to see of them, to be freed. NULL when one is no
 * URL: then nobody knows where in the list there is a password. */
static char *
hide_passwords_in_urls(char *list)
{
	char *labels = mem_strdup("");
	struct endpoint endpoint;
	bool usable = true;

	for (char *url = list, *next; usable && *url != '\0'; url = next) {
		size_t length = strcspn(url, " ");
		char end = url[length];

		next = url + length + (end != '\0');
		url[length] = '\0';
		usable = length == 0 || url_parse(url, &endpoint) == NULL;
		if (usable && length > 0) {
			labels = append_label(labels, endpoint.label);
			endpoint_fini(&endpoint);
			url_wipe(url);
		}
		url[length] = end;
	}
	if (usable)
		return labels;
	url_wipe(list);
	free(labels);
	return NULL;
}

/* All of that name: execve(2) takes a name twice, and getenv(3) finds the
 * first.
 */
static void
hide_password(enum option_id id)
{
	const char *name = table[id].variable;

	for (char **entry = environ; entry && *entry; entry++) {
		char *password = value_of(*entry, name);

		if (password != NULL)
			mem_wipe(password, strlen(password));
	}
	unsetenv(name);
}

/* setenv alone would leave the old text in /proc/PID/environ. */
static void
hide_urls(const struct parser *parser)
{
	const char *name = table[OPT_REDIS].variable;
	const char *first = parser->environment[OPT_REDIS];
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
	if (any && shown == NULL)
		shown = mem_strdup(first);
	if (any) {
		unsetenv(name);
		setenv(name, shown, 1);
	}
	free(shown);
}

static void
hide_secrets(const struct parser *parser)
{
	hide_password(OPT_PASSWORD);
	hide_password(OPT_SENTINEL_PASSWORD);
	hide_urls(parser);
}

static void
read_environment(struct parser *parser)
{
	find_variables(parser);
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const char *value = parser->environment[id];

		if (value != NULL && *value != '\0')
			opt_set(parser, id, value, ORIGIN_ENVIRONMENT);
	}
	hide_secrets(parser);
}

static void
check_key(struct parser *parser, struct opts_key *key)
{
	size_t length;

	key->key = mem_printf("%s%s", parser->opts.prefix, key->name);
	length = strlen(key->key);
	if (*key->name == '\0')
		fail(parser, EXITCODE_USAGE, "the key is empty");
	if (length > OPTS_KEY_MAX)
		fail(parser, EXITCODE_USAGE, "the key is longer than %d bytes",
		    OPTS_KEY_MAX);
	/* The keys beside a lock's own are named so. */
	if (strstr(key->key, ":rlk:") != NULL ||
	    strstr(key->key, ":rlkt:") != NULL)
		fail(parser, EXITCODE_USAGE,
		    "a key can't contain ':rlk:' or ':rlkt:'");
	/* The job gets them one a line. */
	if (parser->opts.key_count > 1 && strchr(key->name, '\n') != NULL)
		fail(parser, EXITCODE_USAGE,
		    "one of several keys can't contain a newline");
	for (struct opts_key *other = parser->opts.keys; other < key; other++)
		if (strcmp(other->name, key->name) == 0)
			fail(parser, EXITCODE_USAGE,
			    "the same key is given twice: %s", key->name);
}

/* To be freed. */
static char *
join_names(const struct opts *opts, const char *separator)
{
	char *text = mem_strdup(opts->keys[0].name);

	for (size_t i = 1; i < opts->key_count; i++) {
		char *longer =
		    mem_printf("%s%s%s", text, separator, opts->keys[i].name);
		free(text);
		text = longer;
	}
	return text;
}

static void
check_keys(struct parser *parser)
{
	struct opts *opts = &parser->opts;

	if (opts->key_count == 0) {
		fail(parser, EXITCODE_USAGE, "no key given (-k NAME)");
		return;
	}
	for (size_t i = 0; i < opts->key_count; i++)
		check_key(parser, &opts->keys[i]);
	opts->name = join_names(opts, ", ");
	opts->names = join_names(opts, "\n");
}

static char **
shell_command(const char *text)
{
	char **command = mem_alloc(4 * sizeof(*command));
	char *shell = getenv("SHELL");

	command[0] = shell != NULL && *shell != '\0' ? shell : "/bin/sh";
	command[1] = "-c";
	command[2] = mem_strdup(text);
	return command;
}

static void
check_command(struct parser *parser, char **rest)
{
	struct opts *opts = &parser->opts;
	const char *shell = opts->shell_command;
	const char *first = shell != NULL ? shell : *rest;

	if (first == NULL)
		fail(parser, EXITCODE_USAGE, "no command given");
	else if (*first == '\0')
		fail(parser, EXITCODE_USAGE, "the command is empty");
	else if (shell == NULL)
		opts->command = rest;
	else if (*rest != NULL)
		fail(parser, EXITCODE_USAGE, "-c takes no further arguments");
	else
		opts->command = shell_command(shell);
}

/* One setting, too: who stands higher wins, two beside each other do not. */
static void
check_kind(struct parser *parser)
{
	const struct {
		enum option_id id;
		bool given;
		char letter;
	} kinds[] = {{OPT_EXCLUSIVE, parser->exclusive, 'x'},
	    {OPT_SHARED, parser->shared, 's'},
	    {OPT_PERMITS, parser->opts.permits > 0, 'p'}};
	enum origin best = ORIGIN_DEFAULT;

	parser->opts.kind = 'x';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		enum origin origin = parser->origins[kinds[i].id];

		if (!kinds[i].given || origin < best)
			continue;
		if (origin == best)
			fail(parser, status_of(origin),
			    "only one of --exclusive, --shared and --permits "
			    "can be given");
		best = origin;
		parser->opts.kind = kinds[i].letter;
	}
}

/* "--status or --list" */
static void
name_actions(unsigned actions, char *text, size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		if (table[id].action == OPTS_RUN ||
		    !(actions & ACTION(table[id].action)))
			continue;
		snprintf(text + length, size - length, "%s--%s",
		    length > 0 ? " or " : "", table[id].longs[0]);
		length = strlen(text);
	}
}

/* Each action but running excludes all others. */
static void
check_action(struct parser *parser)
{
	enum opts_action action = parser->opts.action;
	char given[64], names[64];

	name_actions(ACTION(action), given, sizeof(given));
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct option_row *row = &table[id];

		if (parser->origins[id] != ORIGIN_COMMAND_LINE)
			continue;
		name_actions(row->with, names, sizeof(names));
		if (row->action != OPTS_RUN && row->action != action)
			fail(parser, EXITCODE_USAGE,
			    "--%s and %s exclude each other", row->longs[0],
			    given);
		else if (row->with != 0 && !(row->with & ACTION(action)))
			fail(parser, EXITCODE_USAGE, "--%s needs %s",
			    row->longs[0], names);
	}
}

static void
check_list(struct parser *parser, char **rest)
{
	char **end = parser->opts.globs;

	if (parser->opts.key_count > 0)
		fail(parser, EXITCODE_USAGE, "--list takes a GLOB, not -k");
	while (*end != NULL)
		end++;
	while (*rest != NULL)
		*end++ = *rest++;
}

/* What looks at one lock, or acts on it. */
static void
check_single(struct parser *parser, const char *name)
{
	const struct opts *opts = &parser->opts;

	check_keys(parser);
	if (opts->key_count > 1)
		fail(parser, EXITCODE_USAGE, "%s takes one key", name);
	if (opts->action == OPTS_FORCE_RELEASE && opts->token == NULL &&
	    !opts->yes && !isatty(STDIN_FILENO))
		fail(parser, EXITCODE_USAGE,
		    "--force-release needs --token or --yes where it can't "
		    "ask on a terminal");
}

/* What stands behind the options. */
static void
check_rest(struct parser *parser, char **rest)
{
	enum opts_action action = parser->opts.action;
	char name[64];

	name_actions(ACTION(action), name, sizeof(name));
	if (action == OPTS_RUN) {
		check_keys(parser);
		check_command(parser, rest);
	} else if (parser->opts.shell_command != NULL ||
		   (action != OPTS_LIST && *rest != NULL)) {
		fail(parser, EXITCODE_USAGE, "%s takes no command", name);
	} else if (action == OPTS_LIST) {
		check_list(parser, rest);
	} else {
		check_single(parser, name);
	}
}

/* -n and -w are one setting. */
static void
check_wait(struct parser *parser)
{
	enum origin nonblock = parser->origins[OPT_NONBLOCK];
	enum origin wait = parser->origins[OPT_WAIT];
	bool here = nonblock == ORIGIN_COMMAND_LINE;

	if (!parser->nonblock || nonblock < wait)
		return;
	if (nonblock == wait && parser->opts.wait_ms > 0)
		fail(parser, status_of(nonblock),
		    "%s and %s exclude each other",
		    here ? "-n" : table[OPT_NONBLOCK].variable,
		    here ? "-w" : table[OPT_WAIT].variable);
	parser->opts.wait_ms = 0;
}

static char *
read_password_file(struct parser *parser, const char *path)
{
	char *password = NULL;
	const char *reason = password_read(path, &password);

	if (reason != NULL)
		fail(parser, EXITCODE_CONFIG, "password file %s: %s", path,
		    reason);
	return password;
}

static void
check_one_password(struct parser *parser, const char *password,
    enum option_id text, enum option_id file)
{
	if (password != NULL && parser->origins[file] == ORIGIN_ENVIRONMENT)
		fail(parser, EXITCODE_CONFIG, "%s and %s exclude each other",
		    table[text].variable, table[file].variable);
}

static void
forget_password(char **password)
{
	secret_free(*password);
	*password = NULL;
}

static char *
strdup_unless_empty(const char *text)
{
	return text == NULL || *text == '\0' ? NULL : mem_strdup(text);
}

/* A file wins over the variable. */
static void
read_password(struct parser *parser, const char *path, char **password)
{
	if (path == NULL)
		return;
	forget_password(password);
	*password = read_password_file(parser, path);
}

/* What the URL says wins. The file isn't read where nothing is missing. */
static void
fill_credentials(struct parser *parser)
{
	const char *path = parser->password_file;

	check_one_password(parser, parser->password, OPT_PASSWORD,
	    OPT_PASSWORD_FILE);
	for (size_t i = 0; i < parser->opts.server_count; i++) {
		struct endpoint *server = &parser->opts.servers[i];
		if (server->user == NULL)
			server->user = strdup_unless_empty(parser->user);
		if (server->password != NULL)
			continue;
		read_password(parser, path, &parser->password);
		path = NULL;
		server->password = secret_or_null(parser->password);
	}
}

/* They have credentials of their own or none: those of the server are not told
 * to whoever needn't know them. */
static void
fill_sentinel_credentials(struct parser *parser, const struct endpoint *server)
{
	for (size_t i = 0; i < server->host_count; i++) {
		struct endpoint *sentinel = &server->hosts[i];
		sentinel->user = strdup_unless_empty(parser->sentinel_user);
		sentinel->password = secret_or_null(parser->sentinel_password);
	}
}

static void
fill_all_sentinel_credentials(struct parser *parser)
{
	const struct opts *opts = &parser->opts;
	const char *path = parser->sentinel_password_file;

	check_one_password(parser, parser->sentinel_password,
	    OPT_SENTINEL_PASSWORD, OPT_SENTINEL_PASSWORD_FILE);
	for (size_t i = 0; i < opts->server_count; i++) {
		if (opts->servers[i].master == NULL)
			continue;
		read_password(parser, path, &parser->sentinel_password);
		path = NULL;
		fill_sentinel_credentials(parser, &opts->servers[i]);
	}
}

/* It is part of each renewal, of which several must fit into a ttl. */
static void
check_replicas(struct parser *parser)
{
	struct opts *opts = &parser->opts;
	int64_t usual = opts->ttl_ms / 8;

	if (opts->replicas_ms > opts->ttl_ms / 4)
		fail(parser, status_of(parser->origins[OPT_WAIT_REPLICAS]),
		    "--wait-replicas can't take longer than a quarter of the "
		    "ttl");
	if (opts->replicas == 0)
		opts->replicas_ms = 0;
	else if (opts->replicas_ms == 0)
		opts->replicas_ms =
		    usual < REPLICAS_MAX_MS ? usual : REPLICAS_MAX_MS;
}

static void
fill_defaults(struct parser *parser)
{
	struct opts *opts = &parser->opts;

	if (opts->server_count == 0)
		add_server(parser, DEFAULT_URL);
	if (parser->origins[OPT_KILL_AFTER] == ORIGIN_DEFAULT)
		opts->kill_after_ms = opts->ttl_ms / 6 < KILL_AFTER_MAX_MS
					  ? opts->ttl_ms / 6
					  : KILL_AFTER_MAX_MS;
	if (parser->origins[OPT_MIN_UPTIME] == ORIGIN_DEFAULT)
		opts->min_uptime_ms =
		    opts->ttl_ms > MIN_UPTIME_MS ? opts->ttl_ms : MIN_UPTIME_MS;
}

/* What the conflict with several servers is to be blamed on. */
static enum exitcode
blame(const struct parser *parser, enum option_id id)
{
	return parser->origins[id] == ORIGIN_COMMAND_LINE
		   ? EXITCODE_USAGE
		   : status_of(parser->origins[OPT_REDIS]);
}

static void
check_servers(struct parser *parser)
{
	const struct opts *opts = &parser->opts;
	const struct endpoint *servers = opts->servers;

	for (size_t i = 0; i < opts->server_count; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(servers[i].label, servers[j].label) == 0)
				fail(parser,
				    status_of(parser->origins[OPT_REDIS]),
				    "the same server is given twice: %s",
				    servers[i].label);
	if (opts->server_count < 2 || opts->action != OPTS_RUN)
		return;
	if (opts->kind != 'x')
		fail(parser,
		    blame(parser, opts->kind == 's' ? OPT_SHARED : OPT_PERMITS),
		    "locks on several servers are exclusive");
	if (opts->key_count > 1)
		fail(parser, EXITCODE_USAGE,
		    "several servers hold one lock, not several (-k)");
	if (opts->max_waiters != OPTS_ANY_WAITERS)
		fail(parser, blame(parser, OPT_MAX_WAITERS),
		    "--max-waiters wants one server: several keep no line");
}

static bool
any_speaks_tls(const struct opts *opts)
{
	for (size_t i = 0; i < opts->server_count; i++)
		if (opts->servers[i].tls)
			return true;
	return false;
}

/* A fleet may set the variables everywhere; who writes an option believes that
 * TLS is spoken. */
static void
check_tls(struct parser *parser)
{
	static const enum option_id ids[] = {OPT_TLS_CA, OPT_TLS_CERT,
	    OPT_TLS_KEY};
	const struct opts *opts = &parser->opts;
	bool tls = any_speaks_tls(opts);

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (!tls && parser->origins[ids[i]] == ORIGIN_COMMAND_LINE)
			fail(parser, EXITCODE_USAGE,
			    "--%s wants a server that speaks TLS (rediss://)",
			    table[ids[i]].longs[0]);
	if (tls && opts->tls_key != NULL && opts->tls_cert == NULL)
		fail(parser, status_of(parser->origins[OPT_TLS_KEY]),
		    "a key without its certificate (--tls-cert)");
}

int
opts_init(struct opts *opts, int argc, char **argv)
{
	struct parser parser = {
	    .opts =
		{
		    .ttl_ms = DEFAULT_TTL_MS,
		    .wait_ms = OPTS_WAIT_FOREVER,
		    .max_waiters = OPTS_ANY_WAITERS,
		    .server_timeout_ms = DEFAULT_SERVER_TIMEOUT_MS,
		    .conflict_exit = EXITCODE_BUSY,
		    .prefix = "",
		    .globs =
			mem_alloc(((size_t)argc + 1) * sizeof(*opts->globs)),
		},
	};

	read_command_line(&parser, argc, argv);
	read_environment(&parser);
	if (parser.status == 0 && !is_about_itself(parser.opts.action)) {
		check_action(&parser);
		check_rest(&parser, argv + optind);
		check_kind(&parser);
		check_wait(&parser);
		fill_defaults(&parser);
		check_servers(&parser);
		check_tls(&parser);
		check_replicas(&parser);
	}
	if (parser.status == 0 && !is_about_itself(parser.opts.action)) {
		fill_credentials(&parser);
		fill_all_sentinel_credentials(&parser);
	}
	forget_password(&parser.password);
	forget_password(&parser.sentinel_password);
	*opts = parser.opts;
	if (parser.status != 0)
		opts_fini(opts);
	return parser.status;
}

void
opts_fini(struct opts *opts)
{
	for (size_t i = 0; i < opts->server_count; i++)
		endpoint_fini(&opts->servers[i]);
	for (size_t i = 0; i < opts->key_count; i++)
		free(opts->keys[i].key);
	free(opts->name);
	free(opts->names);
	free(opts->globs);
	if (opts->shell_command != NULL && opts->command != NULL) {
		free(opts->command[2]);
		free(opts->command);
	}
	memset(opts, 0, sizeof(*opts));
}

/* Returns the width. */
static int
print_names(const struct option_row *row)
{
	const char *separator = "";
	int width = printf(row->shorts[0] != '\0' ? "  " : "      ");

	for (const char *name = row->shorts; *name != '\0'; name++) {
		width += printf("%s-%c", separator, *name);
		separator = ", ";
	}
	for (const char *const *name = row->longs; *name != NULL; name++) {
		width += printf("%s--%s", separator, *name);
		separator = ", ";
	}
	if (row->longs[0] == NULL)
		width += printf("%s", row->variable);
	else if (row->argument != NULL)
		width += printf(" %s", row->argument);
	return width;
}

static int
flush_stdout(void)
{
	return ferror(stdout) || fflush(stdout) == EOF ? -1 : 0;
}

int
opts_print_help(void)
{
	const char *section = "";

	puts("Usage: rlockrun [options] -k NAME [--] COMMAND [ARGUMENT...]\n"
	     "       rlockrun [options] -k NAME -c 'SHELL COMMAND'\n"
	     "       rlockrun [options] --status -k NAME\n"
	     "       rlockrun [options] --list [GLOB...]\n"
	     "       rlockrun [options] --force-release -k NAME\n"
	     "\n"
	     "Run a command while holding a lock that all hosts share "
	     "through Redis.");
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct option_row *row = &table[id];
		int width;

		if (row->help == NULL)
			continue;
		if (strcmp(section, row->section) != 0)
			printf("\n%s:\n", row->section);
		section = row->section;
		width = print_names(row);
		if (width + 2 > HELP_COLUMN) {
			putchar('\n');
			width = 0;
		}
		printf("%*s%s\n", HELP_COLUMN - width, "", row->help);
	}
	puts("\n"
	     "DUR is a number with an optional unit: ms, s (default), m, h, d."
	     "\n"
	     "--ttl can also be set as RLOCKRUN_TTL, and so on: "
	     "see rlockrun(1).");
	return flush_stdout();
}

static const char *
or_empty(const char *text)
{
	return text != NULL ? text : "";
}

int
opts_print_dump(void)
{
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct option_row *row = &table[id];

		if (row->help == NULL)
			continue;
		for (const char *name = row->shorts; *name != '\0'; name++)
			printf("%s%c", name > row->shorts ? "," : "", *name);
		putchar('\t');
		for (const char *const *name = row->longs; *name; name++)
			printf("%s%s", name > row->longs ? "," : "", *name);
		printf("\t%s\t%s\t%s\t%s\n", or_empty(row->argument),
		    or_empty(row->variable), row->section, row->help);
	}
	return flush_stdout();
}
