#include "opts.h"

#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exitcode.h"
#include "log.h"
#include "mem.h"
#include "num.h"
#include "password.h"

#define DEFAULT_URL "redis://127.0.0.1:6379"
#define DEFAULT_TTL_MS 30000
#define DEFAULT_SERVER_TIMEOUT_MS 10000
#define KILL_AFTER_MAX_MS 5000 /* of the default only */
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
	OPT_TTL,
	OPT_NONBLOCK,
	OPT_WAIT,
	OPT_CONFLICT_EXIT_CODE,
	OPT_QUIET,
	OPT_COMMAND,
	OPT_WAIT_ALL,
	OPT_ON_LOST,
	OPT_KILL_AFTER,
	OPT_ON_UNAVAILABLE,
	OPT_SERVER_TIMEOUT,
	OPT_REDIS,
	OPT_REDIS_URL,
	OPT_PREFIX,
	OPT_USER,
	OPT_PASSWORD_FILE,
	OPT_PASSWORD,
	OPT_NO_PASSWORD,
	OPT_VERBOSE,
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
	int given;	/* what getopt_long returned for this option */
	int status;	/* of the first mistake; the rest is ignored */
	bool exclusive; /* the only kind so far */
	bool nonblock;
	const char *name;
	const char *prefix;
	const char *user;
	const char *password_file;
	char *password;
};

/* A setting. Without longs: environment only. Without variable: command line
 * only. Without help: hidden. */
struct option_row {
	char shorts[SHORTS_MAX + 1];
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
	bool once;   /* on the command line */
	bool secret; /* never quoted */
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

/* The argument is "THIS|THAT", the field is true for THAT. */
static const char *
set_choice(struct parser *parser, const struct option_row *row,
    const char *text)
{
	bool *field = field_of(parser, row);
	size_t length = strcspn(row->argument, "|");

	if (strcmp(text, row->argument + length + 1) == 0)
		*field = true;
	else if (strlen(text) == length &&
		 strncmp(text, row->argument, length) == 0)
		*field = false;
	else
		return row->mistake;
	return NULL;
}

static const char *
set_text(struct parser *parser, const struct option_row *row, const char *text)
{
	const char **field = field_of(parser, row);

	*field = text;
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
set_server(struct parser *parser, const struct option_row *row,
    const char *text)
{
	(void)row;
	if (strchr(text, ' ') != NULL)
		return "only one server is supported by this version";
	return url_parse(text, &parser->opts.server);
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

/* Copied, since the environment's memory is about to be wiped. */
static const char *
set_password(struct parser *parser, const struct option_row *row,
    const char *text)
{
	(void)row;
	parser->password = mem_strdup(text);
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

/* clang-format off */
static const struct option_row table[] = {
	[OPT_KEY] = {
		.shorts = "k", .longs = {"key"}, .argument = "NAME",
		.section = "Lock",
		.help = "name of the lock",
		.set = set_text, FIELD(opts.name),
		.once = true,
	},
	[OPT_EXCLUSIVE] = {
		.shorts = "ex", .longs = {"exclusive"},
		.section = "Lock",
		.help = "one holder at a time (the default)",
		.set = set_switch, FIELD(exclusive),
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
		.help = "server [" DEFAULT_URL "]",
		.set = set_server,
		.once = true, .secret = true,
	},
	[OPT_REDIS_URL] = {
		.argument = "URL",
		.variable = "REDIS_URL",
		.section = "Server",
		.help = "used without -r and RLOCKRUN_REDIS",
		.set = set_fallback_server,
		.secret = true,
	},
	[OPT_PREFIX] = {
		.longs = {"prefix"}, .argument = "TEXT",
		.variable = "RLOCKRUN_PREFIX",
		.section = "Server",
		.help = "put before the name of the lock",
		.set = set_text, FIELD(prefix),
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
		.set = set_password,
		.secret = true,
	},
	[OPT_NO_PASSWORD] = {
		.longs = {"password"}, .argument = "TEXT",
		.set = refuse_password,
		.secret = true,
	},
	[OPT_VERBOSE] = {
		.shorts = "v", .longs = {"verbose"},
		.variable = "RLOCKRUN_VERBOSE",
		.section = "General",
		.help = "tell what is done",
		.set = set_switch, FIELD(opts.verbose),
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

static void
opt_set(struct parser *parser, enum option_id id, const char *text,
    enum origin origin)
{
	const struct option_row *row = &table[id];
	bool again = row->once && parser->origins[id] == ORIGIN_COMMAND_LINE;
	const char *reason;
	char *name;

	if (parser->status != 0 || parser->opts.action != OPTS_RUN ||
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
	while ((given = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (given == '?' || given == ':')
			refuse_option(parser, given == '?', argv[optind - 1]);
		else
			take_option(parser, given);
	}
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

/* setenv alone would leave the old text in /proc/PID/environ. */
static void
hide_password_in_url(char *url)
{
	struct endpoint endpoint;
	bool usable = url_parse(url, &endpoint) == NULL;

	if (url_wipe(url) && usable)
		setenv(table[OPT_REDIS].variable, endpoint.label, 1);
	if (usable)
		endpoint_fini(&endpoint);
}

static void
hide_secrets(struct parser *parser)
{
	char *password = parser->environment[OPT_PASSWORD];
	char *url = parser->environment[OPT_REDIS];

	if (password != NULL) {
		mem_wipe(password, strlen(password));
		unsetenv(table[OPT_PASSWORD].variable);
	}
	if (url != NULL)
		hide_password_in_url(url);
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
check_key(struct parser *parser)
{
	const char *name = parser->opts.name;
	const char *prefix = parser->prefix != NULL ? parser->prefix : "";
	char *key;

	if (name == NULL || *name == '\0') {
		fail(parser, EXITCODE_USAGE,
		    name == NULL ? "no key given (-k NAME)"
				 : "the key is empty");
		return;
	}
	key = parser->opts.key = mem_printf("%s%s", prefix, name);
	if (strlen(key) > OPTS_KEY_MAX)
		fail(parser, EXITCODE_USAGE, "the key is longer than %d bytes",
		    OPTS_KEY_MAX);
	/* The keys beside a lock's own are named so. */
	if (strstr(key, ":rlk:") != NULL || strstr(key, ":rlkt:") != NULL)
		fail(parser, EXITCODE_USAGE,
		    "a key can't contain ':rlk:' or ':rlkt:'");
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

static void
read_password_file(struct parser *parser)
{
	const char *path = parser->password_file;
	const char *reason = password_read(path, &parser->opts.server.password);

	if (reason != NULL)
		fail(parser, EXITCODE_CONFIG, "password file %s: %s", path,
		    reason);
}

/* What the URL says wins. */
static void
fill_credentials(struct parser *parser)
{
	struct endpoint *server = &parser->opts.server;

	if (server->user == NULL && parser->user != NULL &&
	    *parser->user != '\0')
		server->user = mem_strdup(parser->user);
	if (parser->password != NULL &&
	    parser->origins[OPT_PASSWORD_FILE] == ORIGIN_ENVIRONMENT) {
		fail(parser, EXITCODE_CONFIG, "%s and %s exclude each other",
		    table[OPT_PASSWORD].variable,
		    table[OPT_PASSWORD_FILE].variable);
	} else if (server->password == NULL && parser->password_file != NULL) {
		read_password_file(parser);
	} else if (server->password == NULL) {
		server->password = parser->password;
		parser->password = NULL;
	}
}

static void
fill_defaults(struct parser *parser)
{
	struct opts *opts = &parser->opts;

	if (opts->server.host == NULL)
		url_parse(DEFAULT_URL, &opts->server);
	if (parser->origins[OPT_KILL_AFTER] != ORIGIN_DEFAULT)
		return;
	opts->kill_after_ms = opts->ttl_ms / 6;
	if (opts->kill_after_ms > KILL_AFTER_MAX_MS)
		opts->kill_after_ms = KILL_AFTER_MAX_MS;
}

int
opts_init(struct opts *opts, int argc, char **argv)
{
	struct parser parser = {
	    .opts =
		{
		    .ttl_ms = DEFAULT_TTL_MS,
		    .wait_ms = OPTS_WAIT_FOREVER,
		    .server_timeout_ms = DEFAULT_SERVER_TIMEOUT_MS,
		    .conflict_exit = EXITCODE_BUSY,
		},
	};

	read_command_line(&parser, argc, argv);
	read_environment(&parser);
	if (parser.status == 0 && parser.opts.action == OPTS_RUN) {
		check_key(&parser);
		check_command(&parser, argv + optind);
		check_wait(&parser);
		fill_defaults(&parser);
	}
	if (parser.status == 0 && parser.opts.action == OPTS_RUN)
		fill_credentials(&parser);
	if (parser.password != NULL) {
		mem_wipe(parser.password, strlen(parser.password));
		free(parser.password);
	}
	*opts = parser.opts;
	if (parser.status != 0)
		opts_fini(opts);
	return parser.status;
}

void
opts_fini(struct opts *opts)
{
	endpoint_fini(&opts->server);
	free(opts->key);
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
