#include "options/opts_table.h"

#include <limits.h>

#include "base/duration.h"
#include "lock/limit.h"

#define TTL_MAX_MS (INT64_C(365) * 24 * 60 * 60 * 1000)
#define REPLICAS_MAX 1000
#define DEFAULT_URL "redis://127.0.0.1:6379"

/* clang-format off */
#define BIT(name) OPTS_BIT(OPTS_##name)
#define VARIABLE(name) .variable = "RLOCKRUN_" #name
#define FIELD(member) .field = offsetof(struct opts, member)
#define LOGGED \
	.with = BIT(RUN) | BIT(FORCE_RELEASE) | \
	    BIT(HOLD) | BIT(PAUSE) | \
	    BIT(RESUME) | BIT(SHOW_CONFIG), \
	.with_names = \
	    "a command, --hold, --pause, --resume or --force-release"
/* A hold or a pause is exclusive and has no job. */
#define NO_HOLD .with = ~(BIT(HOLD) | BIT(PAUSE))
/* A pause is before all waiters, and lets the holder finish. */
#define NO_PAUSE .with = ~BIT(PAUSE)
/* Each action but running excludes all others. */
#define ACTS(name) .action = OPTS_##name, .with = BIT(name)
#define ACTION(name) .type = OPTS_ACTION, ACTS(name)
#define ONE_SERVER .given_not = BIT(SEVERAL_SERVERS)
/* What a policy depends on, which a single server keeps for one lock. */
#define ONE_LOCK BIT(NOT_EXCLUSIVE) | BIT(SEVERAL_KEYS)
#define NEEDS_HISTORY \
	.never = ONE_LOCK | BIT(NO_HISTORY_THERE) | \
	    BIT(NO_HISTORY)
#define NEEDS_WAIT \
	.never = ONE_LOCK | BIT(NO_QUEUE_THERE) | \
	    BIT(NO_WAIT) | BIT(NO_WAIT_OF_CRON)
/* A list of last runs knows no holders of a certain age, and -q asks for
 * these. */
#define LISTS_HOLDERS \
	BIT(LISTS_FAILED) | BIT(LISTS_ALL)
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
	BETWEEN(member, 0, DURATION_MAX_MS, "from 0 to 3653d")
#define LIMIT(member) \
	BETWEEN(member, 1, DURATION_MAX_MS, "above 0 and up to 3653d")

const struct opts_row opts_table[OPT_COUNT] = {
	[OPT_KEY] = {.section = "Lock",
	    .shorts = "k", .longs = {"key"}, .argument = "NAME", .common = true,
	    .help = "name of the lock; repeat it for several locks",
	    .example = "-k backup /opt/backup",
	    .type = OPTS_KEY},
	[OPT_EXCLUSIVE] = {.shorts = "xe", .longs = {"exclusive"},
	    VARIABLE(EXCLUSIVE),
	    .help = "one holder at a time (the default)",
	    .example = "-x",
	    .type = OPTS_SWITCH, FIELD(exclusive), .preset = "yes",
	    .group = OPTS_KINDS},
	[OPT_SHARED] = {.shorts = "s", .longs = {"shared"}, VARIABLE(SHARED),
	    .help = "share the lock with other --shared runs",
	    .example = "-s -k db ./backup",
	    SWITCH(shared), .group = OPTS_KINDS,
	    NO_HOLD, .never = BIT(NO_KIND_THERE)},
	[OPT_PERMITS] = {.shorts = "p", .longs = {"permits"}, .argument = "N",
	    VARIABLE(PERMITS),
	    .help = "at most N holders at a time",
	    .example = "-p 3 -k restart ./restart",
	    NUMBER(lock.permits, 1, 1000000), .group = OPTS_KINDS,
	    NO_HOLD, .never = BIT(NO_KIND_THERE)},
	[OPT_TTL] = {.shorts = "t", .longs = {"ttl"}, .argument = "DUR",
	    VARIABLE(TTL), .common = true,
	    HELP("lease, renewed while the job runs", "30s"),
	    .example = "-t 1min",
	    BETWEEN(lock.ttl_ms, 1000, TTL_MAX_MS, "from 1s to 365d"),
	    NO_HOLD},
	[OPT_MIN_HOLD] = {.longs = {"min-hold"}, .argument = "DUR",
	    VARIABLE(MIN_HOLD),
	    .help = "keep the lock at least this long",
	    .example = "--min-hold 30s",
	    .preset = "0", .cron = "40s",
	    BETWEEN(min_hold_ms, 0, TTL_MAX_MS, "from 0 to 365d"),
	    NO_HOLD},
	[OPT_KEEP_HISTORY] = {.longs = {"keep-history"}, .argument = "DUR",
	    VARIABLE(KEEP_HISTORY),
	    .help = "remember the last ten runs so long [4d or more]",
	    .preset = "4d",
	    .example = "--keep-history 14d",
	    .cron = "35d",
	    DURATION(lock.history_ms), NO_HOLD},
	[OPT_ONCE_PER] = {.longs = {"once-per"}, .argument = "DUR",
	    VARIABLE(ONCE_PER), .common = true,
	    HELP("do not run so soon after a success", "0"),
	    .example = "--once-per 20h",
	    DURATION(lock.once_ms), NO_HOLD, NEEDS_HISTORY},
	[OPT_ONCE_ID] = {.longs = {"once-id"}, .argument = "TEXT",
	    VARIABLE(ONCE_ID),
	    .help = "do not run if the last success had this id",
	    .example = "--once-id \"$(date +%F)\"",
	    TEXT(lock.once_id), .min = 1, .max = LIMIT_LABEL,
	    .mistake = "not a text of 1 to 256 bytes", NO_HOLD, NEEDS_HISTORY},
	[OPT_EXPECT] = {.longs = {"expect"}, .argument = "DUR",
	    VARIABLE(EXPECT),
	    .help = "a success is due this often, for --check",
	    .example = "--expect 1d",
	    DURATION(lock.expect_ms), NO_HOLD, NEEDS_HISTORY},
	[OPT_NONBLOCK] = {.section = "Waiting",
	    .shorts = "n", .longs = {"nonblock", "nb", "nonblocking"},
	    VARIABLE(NONBLOCK), .common = true,
	    .help = "do not wait for the lock",
	    .example = "-n",
	    SWITCH(nonblock), .cron = "yes", .group = OPTS_WAITS},
	[OPT_WAIT] = {.shorts = "w", .longs = {"wait", "timeout"},
	    .argument = "DUR", VARIABLE(WAIT), .common = true,
	    .help = "wait at most this long; 0 is -n [forever]",
	    .example = "-w 30s",
	    DURATION(wait_ms), .group = OPTS_WAITS},
	[OPT_MAX_WAITERS] = {.longs = {"max-waiters"}, .argument = "N",
	    VARIABLE(MAX_WAITERS),
	    .help = "exit at once if N runs already wait",
	    .example = "--max-waiters 1",
	    NUMBER(lock.max_waiters, 0, 1000000), .never = BIT(NO_QUEUE_THERE)},
	[OPT_NEWEST] = {.longs = {"newest"}, VARIABLE(NEWEST),
	    .help = "give way to a newer run with this option",
	    .example = "--newest -w 1h",
	    SWITCH(lock.newest), NO_PAUSE, NEEDS_WAIT},
	[OPT_REPLACE] = {.longs = {"replace"}, VARIABLE(REPLACE),
	    .help = "ask the holder to stop, if it is replaceable",
	    .example = "--replace -w 5min",
	    SWITCH(lock.replace), NO_PAUSE, NEEDS_WAIT},
	[OPT_REPLACEABLE] = {.longs = {"replaceable"}, VARIABLE(REPLACEABLE),
	    .help = "stop the job, status 80, for a run that asks so",
	    .example = "--replaceable",
	    SWITCH(lock.replaceable), NO_HOLD,
	    .never = ONE_LOCK | BIT(NO_QUEUE_THERE) |
		BIT(MIN_HOLD) | BIT(MIN_HOLD_OF_CRON)},
	[OPT_CONFLICT_EXIT_CODE] = {.shorts = "E",
	    .longs = {"conflict-exit-code"}, .argument = "N",
	    VARIABLE(CONFLICT_EXIT_CODE), .common = true,
	    HELP("status of a run that is skipped", "75"),
	    .example = "-E 0",
	    .cron = "0",
	    NUMBER(conflict_exit, 0, 255)},
	[OPT_CRON] = {.longs = {"cron"}, VARIABLE(CRON), .common = true,
	    .help = "what a crontab line on many hosts needs",
	    .example = "--cron --once-per 20h -k report /opt/report",
	    SWITCH(cron),
	    .with = BIT(RUN) | BIT(SHOW_CONFIG),
	    .with_names = "a command"},
	[OPT_QUIET] = {.shorts = "q", .longs = {"quiet"}, VARIABLE(QUIET),
	    .common = true,
	    .help = "print nothing about a run that is skipped",
	    .example = "-n -q",
	    SWITCH(quiet), .cron = "yes", .given_not = LISTS_HOLDERS},
	[OPT_SPLAY] = {.longs = {"splay"}, .argument = "DUR", VARIABLE(SPLAY),
	    HELP("first sleep a random time up to this", "0"),
	    .example = "--splay 5min",
	    DURATION(splay_ms), NO_HOLD},
	[OPT_COMMAND] = {.section = "Job",
	    .shorts = "c", .longs = {"command"}, .argument = "STRING",
	    .common = true,
	    .help = "run STRING through $SHELL -c",
	    .example = "-k backup -c 'cd /srv && ./backup'",
	    TEXT(shell_command), .once = true},
	[OPT_LABEL] = {.longs = {"label"}, .argument = "TEXT",
	    VARIABLE(LABEL),
	    .help = "show TEXT to others instead of the command",
	    .example = "--label 'release 1.4'",
	    TEXT(lock.label)},
	[OPT_WAIT_ALL] = {.longs = {"wait-all"}, VARIABLE(WAIT_ALL),
	    .help = "keep the lock until all processes have ended",
	    .example = "--wait-all",
	    SWITCH(wait_all), NO_HOLD},
	[OPT_MAX_RUN] = {.longs = {"max-run"}, .argument = "DUR",
	    VARIABLE(MAX_RUN), .common = true,
	    .help = "stop the job after this long, status 124",
	    .example = "--max-run 2h",
	    LIMIT(max_run_ms), NO_HOLD},
	[OPT_WARN_AFTER] = {.longs = {"warn-after"}, .argument = "DUR",
	    VARIABLE(WARN_AFTER),
	    .help = "warn once the lock is held for this long",
	    .example = "--warn-after 1h",
	    LIMIT(warn_after_ms), NO_HOLD},
	[OPT_HOOK] = {.longs = {"hook"}, .argument = "CMD",
	    VARIABLE(HOOK),
	    .help = "run CMD when the lock is busy, lost, ... [none]",
	    .example = "--hook 'lost,failed=/opt/alert'",
	    .type = OPTS_HOOK},
	[OPT_ON_LOST] = {.longs = {"on-lost"}, .argument = "stop|warn",
	    VARIABLE(ON_LOST),
	    HELP("what to do if the lock is lost", "stop"),
	    .example = "--on-lost warn",
	    .type = OPTS_CHOICE, FIELD(lost_warn),
	    .mistake = "neither stop nor warn", NO_HOLD},
	[OPT_KILL_AFTER] = {.longs = {"kill-after"}, .argument = "DUR",
	    VARIABLE(KILL_AFTER),
	    .help = "time from TERM to KILL [ttl/6, at most 5s]",
	    .example = "--kill-after 10s",
	    DURATION(kill_after_ms), NO_HOLD},
	[OPT_ON_UNAVAILABLE] = {.section = "Server",
	    .longs = {"on-unavailable"}, .argument = "fail|run|skip",
	    VARIABLE(ON_UNAVAILABLE),
	    HELP("no server: fail, run unlocked or skip", "fail"),
	    .example = "--on-unavailable run",
	    .type = OPTS_CHOICE, FIELD(on_unavailable),
	    .mistake = "neither fail, run nor skip", NO_HOLD},
	[OPT_SERVER_TIMEOUT] = {.longs = {"server-timeout"}, .argument = "DUR",
	    VARIABLE(SERVER_TIMEOUT),
	    HELP("longest silence before the job starts", "10s"),
	    .example = "--server-timeout 30s",
	    .cron = "30s", /* or more: see fill_defaults */
	    LIMIT(lock.server_timeout_ms)},
	[OPT_REDIS] = {.shorts = "r", .longs = {"redis"}, .argument = "URL",
	    VARIABLE(REDIS), .common = true,
	    .help = "server; repeatable [" DEFAULT_URL "]",
	    .example = "-r rediss://redis.example.com",
	    .type = OPTS_SERVER, .secret = true},
	[OPT_REDIS_URL] = {.argument = "URL", .variable = "REDIS_URL",
	    .help = "used without -r and RLOCKRUN_REDIS",
	    .type = OPTS_FALLBACK_SERVER, .secret = true,
	    .preset = DEFAULT_URL},
	[OPT_MIN_UPTIME] = {.longs = {"min-uptime"}, .argument = "DUR",
	    VARIABLE(MIN_UPTIME),
	    .help = "Redlock: ignore young servers [60s, ttl, hold]",
	    .example = "--min-uptime 5min",
	    DURATION(lock.min_uptime_ms)},
	[OPT_WAIT_REPLICAS] = {.longs = {"wait-replicas"},
	    .argument = "N[:DUR]", VARIABLE(WAIT_REPLICAS),
	    .help = "hold the lock only while N replicas have it",
	    .example = "--wait-replicas 1:500ms",
	    .type = OPTS_REPLICAS, .max = REPLICAS_MAX, .preset = "0",
	    .mistake = "not N or N:DUR, with N from 0 to 1000"},
	[OPT_PREFIX] = {.longs = {"prefix"}, .argument = "TEXT",
	    VARIABLE(PREFIX),
	    .help = "put before the name of the lock",
	    .example = "--prefix shop:",
	    TEXT(prefix)},
	[OPT_USER] = {.longs = {"user"}, .argument = "NAME", VARIABLE(USER),
	    .help = "user name, if the URL has none",
	    .example = "--user jobs",
	    TEXT(login.user)},
	[OPT_PASSWORD_FILE] = {.longs = {"password-file"}, .argument = "FILE",
	    VARIABLE(PASSWORD_FILE),
	    .help = "file with the password, if the URL has none",
	    .example = "--password-file /etc/rlockrun.pw",
	    FILE_NAME(login.password_file)},
	[OPT_PASSWORD] = {.argument = "TEXT", VARIABLE(PASSWORD),
	    .help = "the password itself, withheld from the job",
	    .type = OPTS_PASSWORD, FIELD(login.password), .secret = true},
	/* Without this row getopt_long would accept it as an abbreviation of
	 * --password-file, and a message would quote the password. */
	[OPT_NO_PASSWORD] = {.longs = {"password"}, .argument = "TEXT",
	    .example = "--password-file /etc/rlockrun.pw",
	    .type = OPTS_REFUSED, .secret = true,
	    .mistake = "not accepted here, where everyone can see it "
	    "(--password-file FILE)"},
	[OPT_SENTINEL_USER] = {.longs = {"sentinel-user"}, .argument = "NAME",
	    VARIABLE(SENTINEL_USER),
	    .help = "user name for the sentinels",
	    .example = "--sentinel-user jobs",
	    TEXT(sentinel_login.user)},
	[OPT_SENTINEL_PASSWORD_FILE] = {.longs = {"sentinel-password-file"},
	    .argument = "FILE", VARIABLE(SENTINEL_PASSWORD_FILE),
	    .help = "file with the password for the sentinels",
	    .example = "--sentinel-password-file /etc/sentinel.pw",
	    FILE_NAME(sentinel_login.password_file)},
	[OPT_SENTINEL_PASSWORD] = {.argument = "TEXT",
	    VARIABLE(SENTINEL_PASSWORD),
	    .help = "that password itself, withheld from the job",
	    .type = OPTS_PASSWORD, FIELD(sentinel_login.password),
	    .secret = true},
	[OPT_TLS_CA] = {.longs = {"tls-ca"}, .argument = "FILE",
	    VARIABLE(TLS_CA),
	    .help = "trust these CAs instead of the system's",
	    .example = "-r rediss://redis --tls-ca ca.pem",
	    TEXT(tls_ca), .given_not = BIT(NO_TLS)},
	[OPT_TLS_CERT] = {.longs = {"tls-cert"}, .argument = "FILE",
	    VARIABLE(TLS_CERT),
	    .help = "client certificate",
	    .example = "-r rediss://redis --tls-cert job.pem",
	    TEXT(tls_cert), .given_not = BIT(NO_TLS)},
	[OPT_TLS_KEY] = {.longs = {"tls-key"}, .argument = "FILE",
	    VARIABLE(TLS_KEY),
	    .help = "its private key [the certificate's file]",
	    .example = "-r rediss://r --tls-cert c.pem --tls-key k.pem",
	    TEXT(tls_key), .given_not = BIT(NO_TLS)},
	[OPT_STATUS] = {.section = "Inspecting and releasing",
	    .longs = {"status"}, .common = true,
	    .help = "show the holder, waiters and last run of a lock",
	    .example = "--status -k backup",
	    ACTION(STATUS)},
	[OPT_LIST] = {.longs = {"list"}, .common = true,
	    .help = "list the locks that are held (and match a GLOB)",
	    .example = "--list 'nightly:*'",
	    ACTION(LIST)},
	[OPT_ALL] = {.longs = {"all"},
	    .help = "list all known locks, with their last run",
	    .example = "--list --all",
	    SWITCH(all), .with = BIT(LIST), .with_names = "--list"},
	[OPT_FAILED] = {.longs = {"failed"},
	    .help = "list only those whose last run failed",
	    .example = "--list --failed",
	    SWITCH(failed), .with = BIT(LIST),
	    .with_names = "--list"},
	[OPT_HISTORY] = {.longs = {"history"}, .common = true,
	    .help = "show the last ten runs of a lock",
	    .example = "--history -k backup",
	    ACTION(HISTORY)},
	[OPT_CHECK] = {.longs = {"check"},
	    .help = "check that jobs succeed in time, as Nagios does",
	    .example = "--check 'nightly:*'",
	    ACTION(CHECK), .given_not = BIT(NO_HISTORY_THERE)},
	[OPT_FORCE_RELEASE] = {.longs = {"force-release"},
	    .help = "release a lock, whoever holds it",
	    .example = "--force-release --yes -k backup",
	    ACTION(FORCE_RELEASE)},
	[OPT_HOLD] = {.longs = {"hold"}, .argument = "DUR",
	    .help = "hold the lock for this long, without a command",
	    .example = "--hold 1h -k deploy",
	    BETWEEN(lock.hold_ms, 1000, TTL_MAX_MS, "from 1s to 365d"),
	    ACTS(HOLD), ONE_SERVER},
	[OPT_PAUSE] = {.longs = {"pause"}, .argument = "GLOB",
	    .help = "let no run of the locks that match start",
	    .example = "--pause 'nightly:*' --for 2h",
	    TEXT(glob), ACTS(PAUSE), ONE_SERVER},
	[OPT_FOR] = {.longs = {"for"}, .argument = "DUR",
	    HELP("pause for this long", "1h"),
	    .example = "--pause 'nightly:*' --for 2h",
	    BETWEEN(pause_ms, 1000, TTL_MAX_MS, "from 1s to 365d"),
	    .with = BIT(PAUSE), .with_names = "--pause"},
	[OPT_RESUME] = {.longs = {"resume"}, .argument = "GLOB",
	    .help = "end the pauses of the locks that match",
	    .example = "--resume 'nightly:*'",
	    TEXT(glob), ACTS(RESUME), ONE_SERVER},
	[OPT_DOCTOR] = {.longs = {"doctor"}, .common = true,
	    .help = "examine the servers and this host",
	    .example = "--doctor",
	    ACTION(DOCTOR)},
	[OPT_JSON] = {.longs = {"json"},
	    .help = "print what is shown as JSON",
	    .example = "--status --json -k backup",
	    SWITCH(json),
	    .with = BIT(STATUS) | BIT(LIST) |
		BIT(HISTORY) | BIT(CHECK) |
		BIT(DOCTOR) | BIT(PAUSE) |
		BIT(RESUME) | BIT(SHOW_CONFIG),
	    .with_names = "an action that shows something, such as --status"},
	[OPT_OLDER_THAN] = {.longs = {"older-than"}, .argument = "DUR",
	    .help = "list only locks held for longer than this",
	    .example = "--list --older-than 1h",
	    DURATION(older_than_ms), .with = BIT(LIST),
	    .with_names = "--list", .given_not = LISTS_HOLDERS},
	[OPT_WATCH] = {.longs = {"watch"}, .argument = "DUR", .implied = "1s",
	    .help = "show the list live on the terminal [1s]",
	    .example = "--list --watch=5s",
	    BETWEEN(watch_ms, 100, DURATION_MAX_MS,
		"from 100ms to 3653d"),
	    .with = BIT(LIST), .with_names = "--list",
	    .given_not = LISTS_HOLDERS | BIT(LISTS_JSON) |
		BIT(LISTS_NOTHING) | BIT(SEVERAL_SERVERS)},
	[OPT_TOKEN] = {.longs = {"token"}, .argument = "TOKEN",
	    .help = "act only if the holder has this token",
	    .example = "--hold 1h --token TOKEN -k deploy",
	    TEXT(token),
	    .with = BIT(FORCE_RELEASE) | BIT(HOLD),
	    .with_names = "--force-release or --hold"},
	[OPT_YES] = {.longs = {"yes"},
	    .help = "do not ask for confirmation",
	    .example = "--force-release --yes -k backup",
	    SWITCH(yes),
	    .with = BIT(FORCE_RELEASE),
	    .with_names = "--force-release"},
	[OPT_VERBOSE] = {.section = "General",
	    .shorts = "v", .longs = {"verbose"}, VARIABLE(VERBOSE),
	    .help = "also report acquire and release",
	    .example = "-v",
	    SWITCH(verbose)},
	[OPT_LOG_FORMAT] = {.longs = {"log-format"}, .argument = "text|json",
	    VARIABLE(LOG_FORMAT),
	    HELP("format of the log", "text"),
	    .example = "--log-format json",
	    .type = OPTS_CHOICE, FIELD(log_json),
	    .mistake = "neither text nor json", LOGGED},
	[OPT_LOG_TO] = {.longs = {"log-to"},
	    .argument = "stderr|syslog|FILE", VARIABLE(LOG_TO),
	    .help = "log all events there, too [stderr]",
	    .example = "--log-to syslog",
	    TEXT(log_to), .min = 1,
	    .max = PATH_MAX - 1,
	    .mistake = "not a file of 1 to 4095 bytes", LOGGED},
	[OPT_PROGRESS] = {.longs = {"progress"},
	    .argument = "auto|always|never", VARIABLE(PROGRESS),
	    HELP("show the wait on one line", "auto"),
	    .example = "--progress never",
	    .type = OPTS_CHOICE, FIELD(progress),
	    .mistake = "neither auto, always nor never"},
	[OPT_METRICS] = {.longs = {"metrics"}, .argument = "DIR",
	    VARIABLE(METRICS),
	    .help = "write metrics for Prometheus into this folder",
	    .example = "--metrics /var/lib/rlockrun",
	    TEXT(metrics), NO_HOLD},
	[OPT_CONFIG] = {.longs = {"config"}, .argument = "FILE",
	    VARIABLE(CONFIG),
	    .help = "read only this configuration file, or none",
	    .example = "--config none",
	    FILE_NAME(config), .outside = true},
	[OPT_PROFILE] = {.longs = {"profile"}, .argument = "NAME",
	    VARIABLE(PROFILE),
	    .help = "profile of the configuration files",
	    .example = "--profile night",
	    FILE_NAME(profile), .outside = true},
	[OPT_SHOW_CONFIG] = {.longs = {"show-config"},
	    .help = "print all settings, and where they come from",
	    .example = "--show-config -k backup",
	    ACTION(SHOW_CONFIG)},
	[OPT_HELP] = {.shorts = "h", .longs = {"help"},
	    .help = "print the options: -h the usual, --help all",
	    .example = "--help",
	    ACTION(HELP)},
	[OPT_VERSION] = {.shorts = "V", .longs = {"version"},
	    .help = "print the version",
	    .example = "-V",
	    ACTION(VERSION)},
	[OPT_DUMP] = {.longs = {"dump-options"},
	    ACTION(DUMP)},
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

enum option_id
opts_action_option(enum opts_action action)
{
	enum option_id id = 0;

	while (opts_table[id].action != action)
		id++;
	return id;
}

bool
opts_row_is_server(const struct opts_row *row)
{
	return row->type == OPTS_SERVER || row->type == OPTS_FALLBACK_SERVER;
}
