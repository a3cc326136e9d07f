#include "options/opts_table.h"

#include <limits.h>
#include <stdio.h>

#include "base/num.h"
#include "lock/limit.h"

#define TTL_MAX_MS (INT64_C(365) * 24 * 60 * 60 * 1000)
#define REPLICAS_MAX 1000
#define DEFAULT_URL "redis://127.0.0.1:6379"

enum { HELP_COLUMN = 33 }; /* of the help texts */

/* clang-format off */
#define ACTION(name) OPTS_ACTION_BIT(name)
#define VARIABLE(name) .variable = "RLOCKRUN_" #name
#define FIELD(member) .field = offsetof(struct opts, member)
#define LOGGED \
	.with = ACTION(OPTS_RUN) | ACTION(OPTS_FORCE_RELEASE) | \
	    ACTION(OPTS_HOLD) | ACTION(OPTS_PAUSE) | \
	    ACTION(OPTS_RESUME) | ACTION(OPTS_SHOW_CONFIG), \
	.with_names = \
	    "a command, --hold, --pause, --resume or --force-release"
/* A help line that ends with the default. */
#define HELP(text, value) .help = text " [" value "]", .preset = value
#define SWITCH(member) .type = OPTS_SWITCH, FIELD(member), .preset = "no"
#define TEXT(member) .type = OPTS_TEXT, FIELD(member)
#define FILE_NAME(member) .type = OPTS_FILE, FIELD(member)
#define NUMBER(member, from, to) \
	.type = OPTS_NUMBER, FIELD(member), .min = (from), .max = (to), \
	.mistake = "not a number from " #from " to " #to
#define BETWEEN(member, from, to, words) \
	.type = OPTS_DURATION, FIELD(member), .min = (from), .max = (to), \
	.mistake = "not a duration " words
#define DURATION(member) \
	BETWEEN(member, 0, NUM_DURATION_MAX_MS, "from 0 to 3653d")
#define LIMIT(member) \
	BETWEEN(member, 1, NUM_DURATION_MAX_MS, "above 0 and up to 3653d")

const struct opts_row opts_table[OPT_COUNT] = {
	[OPT_KEY] = {.section = "Lock",
	    .shorts = "k", .longs = {"key"}, .argument = "NAME",
	    .help = "name of the lock; repeat it for several locks",
	    .type = OPTS_KEY},
	[OPT_EXCLUSIVE] = {.shorts = "ex", .longs = {"exclusive"},
	    VARIABLE(EXCLUSIVE),
	    .help = "one holder at a time (the default)",
	    .type = OPTS_SWITCH, FIELD(exclusive), .preset = "yes",
	    .group = OPTS_KINDS},
	[OPT_SHARED] = {.shorts = "s", .longs = {"shared"}, VARIABLE(SHARED),
	    .help = "share the lock with other --shared runs",
	    SWITCH(shared), .group = OPTS_KINDS},
	[OPT_PERMITS] = {.shorts = "p", .longs = {"permits"}, .argument = "N",
	    VARIABLE(PERMITS),
	    .help = "at most N holders at a time",
	    NUMBER(permits, 1, 1000000), .group = OPTS_KINDS},
	[OPT_TTL] = {.shorts = "t", .longs = {"ttl"}, .argument = "DUR",
	    VARIABLE(TTL),
	    HELP("lease, renewed while the job runs", "30s"),
	    BETWEEN(ttl_ms, 1000, TTL_MAX_MS, "from 1s to 365d")},
	[OPT_MIN_HOLD] = {.longs = {"min-hold"}, .argument = "DUR",
	    VARIABLE(MIN_HOLD),
	    .help = "keep the lock at least this long",
	    .preset = "0",
	    BETWEEN(min_hold_ms, 0, TTL_MAX_MS, "from 0 to 365d")},
	[OPT_KEEP_HISTORY] = {.longs = {"keep-history"}, .argument = "DUR",
	    VARIABLE(KEEP_HISTORY),
	    HELP("remember the last ten runs this long", "4d"),
	    DURATION(history_ms)},
	[OPT_ONCE_PER] = {.longs = {"once-per"}, .argument = "DUR",
	    VARIABLE(ONCE_PER),
	    HELP("do not run so soon after a success", "0"),
	    DURATION(once_ms)},
	[OPT_ONCE_ID] = {.longs = {"once-id"}, .argument = "TEXT",
	    VARIABLE(ONCE_ID),
	    .help = "do not run if the last success had this id",
	    TEXT(once_id), .min = 1, .max = LIMIT_LABEL,
	    .mistake = "not a text of 1 to 256 bytes"},
	[OPT_ONCE_EXIT_CODE] = {.longs = {"once-exit-code"}, .argument = "N",
	    VARIABLE(ONCE_EXIT_CODE),
	    HELP("status if a former success was enough", "75"),
	    NUMBER(once_exit, 0, 255)},
	[OPT_EXPECT] = {.longs = {"expect"}, .argument = "DUR",
	    VARIABLE(EXPECT),
	    .help = "a success is due this often, for --check",
	    DURATION(expect_ms)},
	[OPT_NONBLOCK] = {.section = "Waiting",
	    .shorts = "n", .longs = {"nonblock", "nb", "nonblocking"},
	    VARIABLE(NONBLOCK),
	    .help = "do not wait for the lock",
	    SWITCH(nonblock), .group = OPTS_WAITS},
	[OPT_WAIT] = {.shorts = "w", .longs = {"wait", "timeout"},
	    .argument = "DUR", VARIABLE(WAIT),
	    .help = "wait at most this long; 0 is -n [forever]",
	    DURATION(wait_ms), .group = OPTS_WAITS},
	[OPT_MAX_WAITERS] = {.longs = {"max-waiters"}, .argument = "N",
	    VARIABLE(MAX_WAITERS),
	    .help = "exit at once if N runs already wait",
	    NUMBER(max_waiters, 0, 1000000)},
	[OPT_NEWEST] = {.longs = {"newest"}, VARIABLE(NEWEST),
	    .help = "give way to a newer run with this option",
	    SWITCH(newest)},
	[OPT_REPLACE] = {.longs = {"replace"}, VARIABLE(REPLACE),
	    .help = "ask the holder to stop, if it is replaceable",
	    SWITCH(replace)},
	[OPT_REPLACEABLE] = {.longs = {"replaceable"}, VARIABLE(REPLACEABLE),
	    .help = "stop the job, status 80, for a run that asks so",
	    SWITCH(replaceable)},
	[OPT_CONFLICT_EXIT_CODE] = {.shorts = "E",
	    .longs = {"conflict-exit-code"}, .argument = "N",
	    VARIABLE(CONFLICT_EXIT_CODE),
	    HELP("status if held or the wait timed out", "75"),
	    NUMBER(conflict_exit, 0, 255)},
	[OPT_QUIET] = {.shorts = "q", .longs = {"quiet"}, VARIABLE(QUIET),
	    .help = "print nothing about a lock that is held",
	    SWITCH(quiet)},
	[OPT_SPLAY] = {.longs = {"splay"}, .argument = "DUR", VARIABLE(SPLAY),
	    HELP("first sleep a random time up to this", "0"),
	    DURATION(splay_ms)},
	[OPT_COMMAND] = {.section = "Job",
	    .shorts = "c", .longs = {"command"}, .argument = "STRING",
	    .help = "run STRING through $SHELL -c",
	    TEXT(shell_command), .once = true},
	[OPT_LABEL] = {.longs = {"label"}, .argument = "TEXT",
	    VARIABLE(LABEL),
	    .help = "show TEXT to others instead of the command",
	    TEXT(label), .min = 1, .max = LIMIT_LABEL,
	    .mistake = "not a text of 1 to 256 bytes"},
	[OPT_WAIT_ALL] = {.longs = {"wait-all"}, VARIABLE(WAIT_ALL),
	    .help = "keep the lock until all processes have ended",
	    SWITCH(wait_all)},
	[OPT_MAX_RUN] = {.longs = {"max-run"}, .argument = "DUR",
	    VARIABLE(MAX_RUN),
	    .help = "stop the job after this long, status 124",
	    LIMIT(max_run_ms)},
	[OPT_WARN_AFTER] = {.longs = {"warn-after"}, .argument = "DUR",
	    VARIABLE(WARN_AFTER),
	    .help = "warn once the lock is held for this long",
	    LIMIT(warn_after_ms)},
	[OPT_HOOK] = {.longs = {"hook"}, .argument = "CMD",
	    VARIABLE(HOOK),
	    .help = "run CMD when the lock is busy, lost, ... [none]",
	    .type = OPTS_HOOK},
	[OPT_ON_LOST] = {.longs = {"on-lost"}, .argument = "stop|warn",
	    VARIABLE(ON_LOST),
	    HELP("what to do if the lock is lost", "stop"),
	    .type = OPTS_CHOICE, FIELD(lost_warn),
	    .mistake = "neither stop nor warn"},
	[OPT_KILL_AFTER] = {.longs = {"kill-after"}, .argument = "DUR",
	    VARIABLE(KILL_AFTER),
	    .help = "time from TERM to KILL [ttl/6, at most 5s]",
	    DURATION(kill_after_ms)},
	[OPT_ON_UNAVAILABLE] = {.section = "Server",
	    .longs = {"on-unavailable"}, .argument = "fail|run",
	    VARIABLE(ON_UNAVAILABLE),
	    HELP("without a server: fail or run unlocked", "fail"),
	    .type = OPTS_CHOICE, FIELD(unavailable_run),
	    .mistake = "neither fail nor run"},
	[OPT_SERVER_TIMEOUT] = {.longs = {"server-timeout"}, .argument = "DUR",
	    VARIABLE(SERVER_TIMEOUT),
	    HELP("longest silence before the job starts", "10s"),
	    LIMIT(server_timeout_ms)},
	[OPT_REDIS] = {.shorts = "r", .longs = {"redis"}, .argument = "URL",
	    VARIABLE(REDIS),
	    .help = "server; repeatable [" DEFAULT_URL "]",
	    .type = OPTS_SERVER, .secret = true},
	[OPT_REDIS_URL] = {.argument = "URL", .variable = "REDIS_URL",
	    .help = "used without -r and RLOCKRUN_REDIS",
	    .type = OPTS_FALLBACK_SERVER, .secret = true,
	    .preset = DEFAULT_URL},
	[OPT_MIN_UPTIME] = {.longs = {"min-uptime"}, .argument = "DUR",
	    VARIABLE(MIN_UPTIME),
	    .help = "Redlock: ignore servers up for less [60s, ttl]",
	    DURATION(min_uptime_ms)},
	[OPT_WAIT_REPLICAS] = {.longs = {"wait-replicas"},
	    .argument = "N[:DUR]", VARIABLE(WAIT_REPLICAS),
	    .help = "hold the lock only while N replicas have it",
	    .type = OPTS_REPLICAS, .max = REPLICAS_MAX, .preset = "0",
	    .mistake = "not N or N:DUR, with N from 0 to 1000"},
	[OPT_PREFIX] = {.longs = {"prefix"}, .argument = "TEXT",
	    VARIABLE(PREFIX),
	    .help = "put before the name of the lock",
	    TEXT(prefix)},
	[OPT_USER] = {.longs = {"user"}, .argument = "NAME", VARIABLE(USER),
	    .help = "user name, if the URL has none",
	    TEXT(login.user)},
	[OPT_PASSWORD_FILE] = {.longs = {"password-file"}, .argument = "FILE",
	    VARIABLE(PASSWORD_FILE),
	    .help = "file with the password, if the URL has none",
	    FILE_NAME(login.password_file)},
	[OPT_PASSWORD] = {.argument = "TEXT", VARIABLE(PASSWORD),
	    .help = "the password itself, withheld from the job",
	    .type = OPTS_PASSWORD, FIELD(login.password), .secret = true},
	/* Without this row getopt_long would accept it as an abbreviation of
	 * --password-file, and a message would quote the password. */
	[OPT_NO_PASSWORD] = {.longs = {"password"}, .argument = "TEXT",
	    .type = OPTS_REFUSED, .secret = true,
	    .mistake = "not accepted here, where everyone can see it "
	    "(--password-file FILE)"},
	[OPT_SENTINEL_USER] = {.longs = {"sentinel-user"}, .argument = "NAME",
	    VARIABLE(SENTINEL_USER),
	    .help = "user name for the sentinels",
	    TEXT(sentinel_login.user)},
	[OPT_SENTINEL_PASSWORD_FILE] = {.longs = {"sentinel-password-file"},
	    .argument = "FILE", VARIABLE(SENTINEL_PASSWORD_FILE),
	    .help = "file with the password for the sentinels",
	    FILE_NAME(sentinel_login.password_file)},
	[OPT_SENTINEL_PASSWORD] = {.argument = "TEXT",
	    VARIABLE(SENTINEL_PASSWORD),
	    .help = "that password itself, withheld from the job",
	    .type = OPTS_PASSWORD, FIELD(sentinel_login.password),
	    .secret = true},
	[OPT_TLS_CA] = {.longs = {"tls-ca"}, .argument = "FILE",
	    VARIABLE(TLS_CA),
	    .help = "trust these CAs instead of the system's",
	    TEXT(tls_ca)},
	[OPT_TLS_CERT] = {.longs = {"tls-cert"}, .argument = "FILE",
	    VARIABLE(TLS_CERT),
	    .help = "client certificate",
	    TEXT(tls_cert)},
	[OPT_TLS_KEY] = {.longs = {"tls-key"}, .argument = "FILE",
	    VARIABLE(TLS_KEY),
	    .help = "its private key [the certificate's file]",
	    TEXT(tls_key)},
	[OPT_STATUS] = {.section = "Inspecting and releasing",
	    .longs = {"status"},
	    .help = "show the holder, waiters and last run of a lock",
	    .type = OPTS_ACTION, .action = OPTS_STATUS},
	[OPT_LIST] = {.longs = {"list"},
	    .help = "list the locks that are held (and match a GLOB)",
	    .type = OPTS_ACTION, .action = OPTS_LIST},
	[OPT_ALL] = {.longs = {"all"},
	    .help = "list all known locks, with their last run",
	    SWITCH(all), .with = ACTION(OPTS_LIST), .with_names = "--list"},
	[OPT_FAILED] = {.longs = {"failed"},
	    .help = "list only those whose last run failed",
	    SWITCH(failed), .with = ACTION(OPTS_LIST),
	    .with_names = "--list"},
	[OPT_HISTORY] = {.longs = {"history"},
	    .help = "show the last ten runs of a lock",
	    .type = OPTS_ACTION, .action = OPTS_HISTORY},
	[OPT_CHECK] = {.longs = {"check"},
	    .help = "check that jobs succeed in time, as Nagios does",
	    .type = OPTS_ACTION, .action = OPTS_CHECK},
	[OPT_FORCE_RELEASE] = {.longs = {"force-release"},
	    .help = "release a lock, whoever holds it",
	    .type = OPTS_ACTION, .action = OPTS_FORCE_RELEASE},
	[OPT_HOLD] = {.longs = {"hold"}, .argument = "DUR",
	    .help = "hold the lock for this long, without a command",
	    BETWEEN(hold_ms, 1000, TTL_MAX_MS, "from 1s to 365d"),
	    .action = OPTS_HOLD},
	[OPT_PAUSE] = {.longs = {"pause"}, .argument = "GLOB",
	    .help = "let no run of the locks that match start",
	    TEXT(glob), .action = OPTS_PAUSE},
	[OPT_FOR] = {.longs = {"for"}, .argument = "DUR",
	    HELP("pause for this long", "1h"),
	    BETWEEN(pause_ms, 1000, TTL_MAX_MS, "from 1s to 365d"),
	    .with = ACTION(OPTS_PAUSE), .with_names = "--pause"},
	[OPT_RESUME] = {.longs = {"resume"}, .argument = "GLOB",
	    .help = "end the pauses of the locks that match",
	    TEXT(glob), .action = OPTS_RESUME},
	[OPT_DOCTOR] = {.longs = {"doctor"},
	    .help = "examine the servers and this host",
	    .type = OPTS_ACTION, .action = OPTS_DOCTOR},
	[OPT_JSON] = {.longs = {"json"},
	    .help = "print what is shown as JSON",
	    SWITCH(json),
	    .with = ACTION(OPTS_STATUS) | ACTION(OPTS_LIST) |
		ACTION(OPTS_HISTORY) | ACTION(OPTS_DOCTOR) |
		ACTION(OPTS_PAUSE) | ACTION(OPTS_RESUME),
	    .with_names = "--status, --list, --history, --doctor, --pause or "
			  "--resume"},
	[OPT_OLDER_THAN] = {.longs = {"older-than"}, .argument = "DUR",
	    .help = "list only locks held for longer than this",
	    DURATION(older_than_ms), .with = ACTION(OPTS_LIST),
	    .with_names = "--list"},
	[OPT_WATCH] = {.longs = {"watch"}, .argument = "DUR", .implied = "2s",
	    .help = "show the list live on the terminal [2s]",
	    BETWEEN(watch_ms, 100, NUM_DURATION_MAX_MS,
		"from 100ms to 3653d"),
	    .with = ACTION(OPTS_LIST), .with_names = "--list"},
	[OPT_TOKEN] = {.longs = {"token"}, .argument = "TOKEN",
	    .help = "act only if the holder has this token",
	    TEXT(token),
	    .with = ACTION(OPTS_FORCE_RELEASE) | ACTION(OPTS_HOLD),
	    .with_names = "--force-release or --hold"},
	[OPT_YES] = {.longs = {"yes"},
	    .help = "do not ask for confirmation",
	    SWITCH(yes),
	    .with = ACTION(OPTS_FORCE_RELEASE),
	    .with_names = "--force-release"},
	[OPT_VERBOSE] = {.section = "General",
	    .shorts = "v", .longs = {"verbose"}, VARIABLE(VERBOSE),
	    .help = "also report acquire and release",
	    SWITCH(verbose)},
	[OPT_LOG_FORMAT] = {.longs = {"log-format"}, .argument = "text|json",
	    VARIABLE(LOG_FORMAT),
	    HELP("format of the log", "text"),
	    .type = OPTS_CHOICE, FIELD(log_json),
	    .mistake = "neither text nor json", LOGGED},
	[OPT_LOG_TO] = {.longs = {"log-to"},
	    .argument = "stderr|syslog|FILE", VARIABLE(LOG_TO),
	    .help = "log all events there, too [stderr]",
	    TEXT(log_to), .min = 1,
	    .max = PATH_MAX - 1,
	    .mistake = "not a file of 1 to 4095 bytes", LOGGED},
	[OPT_PROGRESS] = {.longs = {"progress"},
	    .argument = "auto|always|never", VARIABLE(PROGRESS),
	    HELP("show the wait on one line", "auto"),
	    .type = OPTS_CHOICE, FIELD(progress),
	    .mistake = "neither auto, always nor never"},
	[OPT_METRICS] = {.longs = {"metrics"}, .argument = "DIR",
	    VARIABLE(METRICS),
	    .help = "write metrics for Prometheus into this folder",
	    TEXT(metrics)},
	[OPT_CONFIG] = {.longs = {"config"}, .argument = "FILE",
	    VARIABLE(CONFIG),
	    .help = "read only this configuration file, or none",
	    FILE_NAME(config), .outside = true},
	[OPT_PROFILE] = {.longs = {"profile"}, .argument = "NAME",
	    VARIABLE(PROFILE),
	    .help = "profile of the configuration files",
	    FILE_NAME(profile), .outside = true},
	[OPT_SHOW_CONFIG] = {.longs = {"show-config"},
	    .help = "print all settings, and where they come from",
	    .type = OPTS_ACTION, .action = OPTS_SHOW_CONFIG},
	[OPT_HELP] = {.shorts = "h", .longs = {"help"},
	    .help = "print a summary of the options",
	    .type = OPTS_ACTION, .action = OPTS_HELP},
	[OPT_VERSION] = {.shorts = "V", .longs = {"version"},
	    .help = "print the version",
	    .type = OPTS_ACTION, .action = OPTS_VERSION},
	[OPT_DUMP] = {.longs = {"dump-options"},
	    .type = OPTS_ACTION, .action = OPTS_DUMP},
	/* Of flock(1), without a counterpart. */
	[OPT_NO_UNLOCK] = {.shorts = "u", .longs = {"unlock"},
	    .type = OPTS_REFUSED,
	    .mistake = "the lock is released when the command has ended "
	    "(see also --force-release)"},
	[OPT_NO_CLOSE] = {.shorts = "o", .longs = {"close"},
	    .type = OPTS_REFUSED,
	    .mistake = "not needed, the command inherits no descriptor of "
	    "the lock"},
	[OPT_NO_FORK] = {.shorts = "F", .longs = {"no-fork"},
	    .type = OPTS_REFUSED,
	    .mistake = "not possible, rlockrun renews the lock while the "
	    "command runs"},
	[OPT_NO_FCNTL] = {.longs = {"fcntl"},
	    .type = OPTS_REFUSED,
	    .mistake = "not possible, the lock is on a server and not on a "
	    "file"},
};
/* clang-format on */

bool
opts_row_is_in_files(const struct opts_row *row)
{
	return *row->longs[0] != '\0' && *row->variable != '\0' &&
	       !row->outside;
}

/* Returns the width. */
static int
print_names(const struct opts_row *row)
{
	const char *separator = "";
	int width = printf(row->shorts[0] != '\0' ? "  " : "      ");

	for (const char *name = row->shorts; *name != '\0'; name++) {
		width += printf("%s-%c", separator, *name);
		separator = ", ";
	}
	for (size_t i = 0; i < OPTS_LONGS_MAX && *row->longs[i]; i++) {
		width += printf("%s--%s", separator, row->longs[i]);
		separator = ", ";
	}
	if (*row->longs[0] == '\0')
		width += printf("%s", row->variable);
	else if (*row->argument != '\0')
		width += printf(*row->implied != '\0' ? "[=%s]" : " %s",
		    row->argument);
	return width;
}

static int
flush_stdout(void)
{
	return ferror(stdout) || fflush(stdout) == EOF ? -1 : 0;
}

int
opts_table_print_help(void)
{
	puts("Usage: rlockrun [options] -k NAME [--] COMMAND [ARGUMENT...]\n"
	     "       rlockrun [options] -k NAME -c 'SHELL COMMAND'\n"
	     "       rlockrun [options] --status -k NAME\n"
	     "       rlockrun [options] --list [--watch[=DUR] | --all] "
	     "[GLOB...]\n"
	     "       rlockrun [options] --history -k NAME\n"
	     "       rlockrun [options] --check [-k NAME] [GLOB...]\n"
	     "       rlockrun [options] --force-release -k NAME\n"
	     "       rlockrun [options] --hold DUR -k NAME\n"
	     "       rlockrun [options] --doctor [-k NAME]\n"
	     "       rlockrun [options] --show-config [-k NAME]\n"
	     "\n"
	     "Run a command while holding a lock that all hosts share "
	     "through Redis.");
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct opts_row *row = &opts_table[id];
		int width;

		if (*row->help == '\0')
			continue;
		if (*row->section != '\0')
			printf("\n%s:\n", row->section);
		width = print_names(row);
		if (width + 2 > HELP_COLUMN) {
			putchar('\n');
			width = 0;
		}
		printf("%*s%s\n", HELP_COLUMN - width, "", row->help);
	}
	puts("\n"
	     "DUR is a number with a unit, ms, s (default), min, h or d, or a "
	     "sum: "
	     "1h30m.\n"
	     "--ttl can also be set as RLOCKRUN_TTL, or by 'ttl = DUR' in a "
	     "configuration\n"
	     "file, and so on: see rlockrun(1).");
	return flush_stdout();
}

int
opts_table_print_dump(void)
{
	const char *section = "";

	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct opts_row *row = &opts_table[id];

		if (*row->help == '\0')
			continue;
		if (*row->section != '\0')
			section = row->section;
		for (const char *name = row->shorts; *name != '\0'; name++)
			printf("%s%c", name > row->shorts ? "," : "", *name);
		putchar('\t');
		for (size_t i = 0; i < OPTS_LONGS_MAX && *row->longs[i]; i++)
			printf("%s%s", i > 0 ? "," : "", row->longs[i]);
		printf(*row->implied != '\0' ? "\t[=%s]" : "\t%s",
		    row->argument);
		printf("\t%s\t%s\t%s\n", row->variable, section, row->help);
	}
	return flush_stdout();
}
