/* Command lines and variables that are refused: the message and the status. */
#include <sys/stat.h>
#include <wordexp.h>

#include "options/opts_table.h"
#include "parsed.h"
#include "tap.h"

#define NO_DURATION                                                      \
	"not a duration (a number with ms, s, min, h or d, such as 90, " \
	"1.5h or 1h30m)"
#define ABOVE_0 "not a duration above 0 and up to 3653d"
#define TRY "; try 'rlockrun --help'\n"
#define TOO_LONG "the key is longer than 1024 bytes"
#define HELPER "a key can't contain ':rlk:' or ':rlkt:'"
#define TOKEN "--force-release or --hold"
#define NO_DESCRIPTOR                                                      \
	"no key given: a lock has a name, not a file descriptor (-k NAME " \
	"COMMAND)"
#define NO_PASSWORD                                                 \
	"--password: not accepted here, where everyone can see it " \
	"(--password-file FILE)"
#define UNKNOWN "unknown option"
#define SCHEMES                                          \
	"unknown scheme (redis://, rediss://, unix://, " \
	"redis-sentinel:// or redis-cluster://)"
#define NO_KEY "no key given (-k NAME)"
#define NO_SCHEME(url) "no scheme (did you mean redis://" url "?)"
#define NO_JSON "--json needs an action that shows something, such as --status"
#define TWICE "the same key is given twice: \"a\""
#define NEWLINE "one of several keys can't contain a newline"
#define EMPTY_KEY "the key is empty"
#define NO_COMMAND "no command given"
#define ALONE "-h cannot be combined with other letters"
#define NO_TTL "': not a duration from 1s to 365d"
#define N_AND_W "-w and -n exclude each other"
#define NO_WAIT " is about waiters, and -n does not wait"
#define NO_EVENT(name) "no such event (did you mean " name "=?)"
#define NO_EVENT_OR_COMMAND "': no such event, and no command"
#define SINGLE " needs a single server"
#define EXCLUSIVE SINGLE ": several servers keep exclusive locks"
#define NO_QUEUE SINGLE ": several servers keep no queue"
#define TLS " needs a server with TLS (rediss://)"
#define BOTH(one, other) one " and " other " exclude each other"
#define WANTED(action) "no key given (did you mean --" action "?)"
#define MEANT(name) " (did you mean --" name "?)"
#define SWITCH "': neither yes nor no"

/* Lines as a shell reads them, with ';' between them; what begins with R is a
 * variable. The message ends with the example of an option, unless that has
 * none, and with a hint. */
static const struct bad_line {
	const char *lines, *message;
	enum option_id example;
} bad_lines[] = {
    {"; ls; ls -l; ''; 9 ls; --; dump-options; lists", NO_KEY, OPT_KEY},
    {"9; -n 200", NO_DESCRIPTOR, OPT_KEY},
    {"-k", "-k needs an argument", OPT_KEY},
    {"-k a --ttl; --ttl", "--ttl needs an argument", OPT_TTL},
    {"-k a -c", "-c needs an argument", OPT_COMMAND},
    {"-k '' ls; --key= ls; RLOCKRUN_PREFIX=p -k '' ls", EMPTY_KEY, OPT_KEY},
    {"-k " KEY_1024 "a ls", TOO_LONG, OPT_KEY},
    {"RLOCKRUN_PREFIX=a -k " KEY_1024 " ls", TOO_LONG, OPT_KEY},
    {"--prefix a -k " KEY_1024 " ls", TOO_LONG, OPT_KEY},
    {"-k a:rlk:b ls; -k '{a}:rlk:f' ls; --prefix a:rlk -k : ls; -k a:rlkt:b "
     "ls; RLOCKRUN_PREFIX=a:r -k lk:b ls",
	HELPER, OPT_KEY},
    {"--key a --key b -k a ls", TWICE, OPT_KEY},
    {"-k 'b\nc' -k a ls", NEWLINE, OPT_KEY},
    {"-k a; -k a --", NO_COMMAND, OPT_COMMAND},
    {"--status; --status list", NO_KEY, OPT_STATUS},
    {"--status -k a ls", "--status takes no command", OPT_STATUS},
    {"--status --list", BOTH("--status", "--list"), OPT_STATUS},
    {"--list a -k b; --list -k a", "--list takes a GLOB, not -k", OPT_LIST},
    {"--list -c ls", "--list takes no command", OPT_LIST},
    {"--list -k a --force-release", BOTH("--list", "--force-release"),
	OPT_LIST},
    {"--list 'a*' --nope; --nope=redis://:pw@h; --nope -k a ls",
	UNKNOWN " --nope", OPT_KEY},
    {"--status=yes -k a", "--status takes no argument", OPT_STATUS},
    {"--status -k a -k b", "--status takes one key", OPT_STATUS},
    {"--force-release --yes -k a -k b", "--force-release takes one key",
	OPT_FORCE_RELEASE},
    {"--force-release -k a",
	"--force-release needs --token or --yes if it cannot ask on a terminal",
	OPT_FORCE_RELEASE},
    {"--force-release -k a --token", "--token needs an argument", OPT_TOKEN},
    {"--yes --status -k a; --yes -k a ls", "--yes needs --force-release",
	OPT_FORCE_RELEASE},
    {"--token x --list; --token x -k a ls", "--token needs " TOKEN, OPT_TOKEN},
    {"--older-than 5 --status -k a; --older-than 5 -k a ls",
	"--older-than needs --list", OPT_OLDER_THAN},
    {"--json --force-release --yes -k a; --json -k a ls; --hold 1m -k a --json",
	NO_JSON, OPT_JSON},
    {"-k a ''; -k a -c ''", "the command is empty", OPT_COMMAND},
    {"-k a -c x y", "-c takes no further arguments", OPT_COMMAND},
    {"-k a -c x -c y", "-c can be given once", OPT_COMMAND},
    {"--check -r redis://a -r redis://b",
	"--check needs a single server: several servers keep no history",
	OPT_REDIS},
    {"--resume a -r redis://a -r redis://b", "--resume" SINGLE, OPT_REDIS},
    {"--hold 1h -k a -r redis://a -r redis://b", "--hold" SINGLE, OPT_REDIS},
    {"--cron --status -k a", "--cron needs a command", OPT_CRON},
    {"--list --all -q", BOTH("--quiet", "--all"), OPT_QUIET},
    {"--list --all --older-than 1h", BOTH("--older-than", "--all"),
	OPT_OLDER_THAN},
    {"--list --failed --watch", BOTH("--watch", "--failed"), OPT_WATCH},
    {"--check --list", BOTH("--check", "--list"), OPT_CHECK},
    {"-k a --hold 1m --once-id b", BOTH("--once-id", "--hold"), OPT_ONCE_ID},
    {"-k a --replaceable --hold=1", BOTH("--replaceable", "--hold"),
	OPT_REPLACEABLE},
    {"-z; -z -k a ls; -nz -k a ls; RLOCKRUN_WAIT=x -z -t 0 -k; -z -h",
	UNKNOWN " -z", OPT_KEY},
    {"--tll 5 ls; --tll=5", UNKNOWN " --tll" MEANT("ttl"), OPT_TTL},
    {"--staus", UNKNOWN " --staus" MEANT("status"), OPT_STATUS},
    {"--nonblok", UNKNOWN " --nonblok" MEANT("nonblock"), OPT_NONBLOCK},
    {"--max_run 5", UNKNOWN " --max_run" MEANT("max-run"), OPT_MAX_RUN},
    {"--forec-realease", UNKNOWN " --forec-realease" MEANT("force-release"),
	OPT_FORCE_RELEASE},
    {"--foobar", UNKNOWN " --foobar", OPT_KEY},
    {"--dump-option5", UNKNOWN " --dump-option5", OPT_KEY},
    {"--on",
	"ambiguous option --on (--once-per, --once-id, --on-lost, "
	"--on-unavailable)",
	OPT_ONCE_PER},
    {"--no -k a ls", UNKNOWN " --no" MEANT("nonblock"), OPT_NONBLOCK},
    {"--n", "ambiguous option --n (--nonblock, --newest)", OPT_NONBLOCK},
    {"--=pw", UNKNOWN " --", OPT_KEY},
    {"--tls-c=pw", "ambiguous option --tls-c (--tls-ca, --tls-cert)",
	OPT_TLS_CA},
    {"list", WANTED("list"), OPT_LIST},
    {"status -k a; info", WANTED("status"), OPT_STATUS},
    {"pause 'a*'", WANTED("pause"), OPT_PAUSE},
    {"help", WANTED("help"), OPT_HELP},
    {"unlock -k a", WANTED("force-release"), OPT_FORCE_RELEASE},
    {"run -k a ls",
	"no key given: options precede the command (-k NAME COMMAND)", OPT_KEY},
    {"--password=pw", NO_PASSWORD, OPT_PASSWORD_FILE},
    {"--pass=pw", UNKNOWN " --pass" MEANT("password-file"), OPT_PASSWORD_FILE},
    {"--quiet=1", "--quiet takes no argument", OPT_QUIET},
    {"--nonblock=1", "--nonblock takes no argument", OPT_NONBLOCK},
    {"--help=1", "--help takes no argument", OPT_HELP},
    {"-hook -k a ls", UNKNOWN " -hook" MEANT("hook"), OPT_HOOK},
    {"-help", UNKNOWN " -help" MEANT("help"), OPT_HELP},
    {"-nh; -hn -k a ls; -hrredis://:pw@h", ALONE, OPT_HELP},
    {"--list a -qV", "-V cannot be combined with other letters", OPT_VERSION},
};

/* What is wrong between "-k a" and "ls". */
static const struct bad_line bad_runs[] = {
    {"-k ''; --key=", EMPTY_KEY, OPT_KEY},
    {"-k " KEY_1024 "a", TOO_LONG, OPT_KEY},
    {"-k b -k a", TWICE, OPT_KEY},
    {"-k 'b\nc'", NEWLINE, OPT_KEY},
    {"--once-id b -s", "--once-id needs an exclusive lock", OPT_ONCE_ID},
    {"-k b --once-id c", "--once-id takes one key (-k)", OPT_ONCE_ID},
    {"--once-id b --keep-history 0",
	"--once-id needs the history (--keep-history is 0)", OPT_ONCE_ID},
    {"--expect 1d -p 2", "--expect needs an exclusive lock", OPT_EXPECT},
    {"--expect 1d --keep-history 0",
	"--expect needs the history (--keep-history is 0)", OPT_EXPECT},
    {"--expect -1", "--expect '-1': " NO_DURATION, OPT_EXPECT},
    {"--once-per 1d -s", "--once-per needs an exclusive lock", OPT_ONCE_PER},
    {"--tls-key x", "--tls-key" TLS, OPT_TLS_KEY},
    {"--hook fail=/opt/alert", "--hook 'fail=/opt/alert': " NO_EVENT("failed"),
	OPT_HOOK},
    {"--hook 'relaesed=mail -s ok ops'",
	"--hook 'relaesed=mail -s ok ops': " NO_EVENT("released"), OPT_HOOK},
    {"--hook Lots=x", "--hook 'Lots=x': " NO_EVENT("lost"), OPT_HOOK},
    {"--hook 'lost,faild=/a b'",
	"--hook 'lost,faild=/a b': " NO_EVENT("failed"), OPT_HOOK},
    {"--hook lost,x=a", "--hook 'lost,x=a" NO_EVENT_OR_COMMAND, OPT_HOOK},
    {"--hook lost,=a", "--hook 'lost,=a" NO_EVENT_OR_COMMAND, OPT_HOOK},
    {"--hook x=1", "--hook 'x=1" NO_EVENT_OR_COMMAND, OPT_HOOK},
    {"--hook lost=", "--hook 'lost=': a hook without a command", OPT_HOOK},
    {"-t 0", "-t '0" NO_TTL, OPT_TTL},
    {"--ttl=366d", "--ttl '366d" NO_TTL, OPT_TTL},
    {"-t 30x", "-t '30x': " NO_DURATION, OPT_TTL},
    {"-t ''", "-t '': " NO_DURATION, OPT_TTL},
    {"-t '\033'", "-t '\\x1b': " NO_DURATION, OPT_TTL},
    {"-w -1", "-w '-1': " NO_DURATION, OPT_WAIT},
    {"--timeout x", "--wait 'x': " NO_DURATION, OPT_WAIT},
    {"-n -w 5; RLOCKRUN_WAIT=0 -w 5 -n; --wait 5 --nb", N_AND_W, OPT_WAIT},
    {"-E 300", "-E '300': not a number from 0 to 255", OPT_CONFLICT_EXIT_CODE},
    {"--on-lost die", "--on-lost 'die': neither stop nor warn", OPT_ON_LOST},
    {"--on-lost 'stop|warn'", "--on-lost 'stop|warn': neither stop nor warn",
	OPT_ON_LOST},
    {"--on-lost sto", "--on-lost 'sto': neither stop nor warn", OPT_ON_LOST},
    {"--kill-after x", "--kill-after 'x': " NO_DURATION, OPT_KILL_AFTER},
    {"--server-timeout 0", "--server-timeout '0': " ABOVE_0,
	OPT_SERVER_TIMEOUT},
    {"--max-run 0", "--max-run '0': " ABOVE_0, OPT_MAX_RUN},
    {"-r redis://h -r redis://x:y@h:6379",
	"the same server is given twice: redis://h:6379", OPT_REDIS},
    {"-r 'redis://h redis://i'", "-r: one server per -r (-r URL -r URL)",
	OPT_REDIS},
    {"-s -r redis://h -r redis://i", "--shared" EXCLUSIVE, OPT_SHARED},
    {"'RLOCKRUN_REDIS=redis://h redis://i' -p 2", "--permits" EXCLUSIVE,
	OPT_PERMITS},
    {"-k b -rredis://h -rredis://i",
	"several servers hold one lock, not several (-k)", OPT_KEY},
    {"--max-waiters=1 -rredis://h -rredis://i", "--max-waiters" NO_QUEUE,
	OPT_MAX_WAITERS},
    {"--newest -n; --newest -w0", "--newest" NO_WAIT, OPT_NEWEST},
    {"--newest -s", "--newest needs an exclusive lock", OPT_NEWEST},
    {"--newest -k b", "--newest takes one key (-k)", OPT_NEWEST},
    {"--newest -rredis://h -rredis://i", "--newest" NO_QUEUE, OPT_NEWEST},
    {"--replace -n", "--replace" NO_WAIT, OPT_REPLACE},
    {"--replaceable -p2", "--replaceable needs an exclusive lock",
	OPT_REPLACEABLE},
    {"--replaceable --min-hold=1", BOTH("--replaceable", "--min-hold"),
	OPT_REPLACEABLE},
    {"--min-uptime -1", "--min-uptime '-1': " NO_DURATION, OPT_MIN_UPTIME},
    {"-r redis://:pw@h:70000", "-r: port must be 1 to 65535", OPT_REDIS},
    {"--redis=redis://", "--redis: no host", OPT_REDIS},
    {"-r ''", "-r: no URL", OPT_REDIS},
    {"-r 'h\n'; -r s3cret; -r ops:1@h:6379; -r h:1:s3cret", "-r: " SCHEMES,
	OPT_REDIS},
    {"-r redis://h%", "-r: bad character in the host name", OPT_REDIS},
    {"-r redis://:%@h", "-r: bad percent-escape", OPT_REDIS},
    {"--tls-ca f", "--tls-ca" TLS, OPT_TLS_CA},
    {"-r unix:///s --tls-cert f", "--tls-cert" TLS, OPT_TLS_CERT},
    {"-r rediss://h --tls-key f", "a key without its certificate (--tls-cert)",
	OPT_TLS_KEY},
    {"-q5", UNKNOWN " -5", OPT_KEY},
    {"-r localhost:6379", "-r: " NO_SCHEME("localhost:6379"), OPT_REDIS},
    {"-r localhost", "-r: " NO_SCHEME("localhost"), OPT_REDIS},
    {"-s -p 2", BOTH("-p", "-s"), OPT_PERMITS},
    {"-e --shared", BOTH("-s", "-x"), OPT_SHARED},
    {"--password pw", NO_PASSWORD, OPT_PASSWORD_FILE},
    {"-hook=b", UNKNOWN " -hook" MEANT("hook"), OPT_HOOK},
    {"-nhq", ALONE, OPT_HELP},
};

/* Between the same, with status 78, no example and no hint. */
static const struct {
	const char *line, *message;
} bad_variables[] = {
    {"RLOCKRUN_ONCE_ID=b RLOCKRUN_SHARED=1",
	"--once-id needs an exclusive lock"},
    {"'RLOCKRUN_HOOK=lost=/a\nfail=/b'",
	"RLOCKRUN_HOOK 'lost=/a\\nfail=/b': " NO_EVENT("failed")},
    {"RLOCKRUN_HOOK=lost=", "RLOCKRUN_HOOK 'lost=': a hook without a command"},
    {"RLOCKRUN_NONBLOCK=1 RLOCKRUN_WAIT=5",
	BOTH("RLOCKRUN_WAIT", "RLOCKRUN_NONBLOCK")},
    {"RLOCKRUN_QUIET=2", "RLOCKRUN_QUIET '2" SWITCH},
    {"RLOCKRUN_VERBOSE=YES", "RLOCKRUN_VERBOSE 'YES" SWITCH},
    {"RLOCKRUN_ON_UNAVAILABLE=x",
	"RLOCKRUN_ON_UNAVAILABLE 'x': neither fail, run nor skip"},
    {"'RLOCKRUN_REDIS=redis://h redis://h'",
	"the same server is given twice: redis://h:6379"},
    {"RLOCKRUN_SHARED=1 'RLOCKRUN_REDIS=redis://h redis://i'",
	"--shared" EXCLUSIVE},
    {"RLOCKRUN_NEWEST=yes -n", "--newest" NO_WAIT},
    {"RLOCKRUN_REDIS=http://:pw@h", "RLOCKRUN_REDIS: " SCHEMES},
    {"'RLOCKRUN_REDIS= '", "RLOCKRUN_REDIS: no URL"},
    {"'RLOCKRUN_REDIS=redis://a http://b'", "RLOCKRUN_REDIS: " SCHEMES},
    {"'REDIS_URL=redis://a redis://b'",
	"REDIS_URL: one server per -r (-r URL -r URL)"},
    {"'REDIS_URL=rediss://:pw@h?x'", "REDIS_URL: only unix:// takes a query "
				     "(?db=N), and no URL takes a fragment"},
    {"RLOCKRUN_TLS_KEY=f -r rediss://h",
	"a key without its certificate (--tls-cert)"},
    {"RLOCKRUN_PASSWORD=p RLOCKRUN_PASSWORD_FILE=/nonexistent",
	BOTH("RLOCKRUN_PASSWORD", "RLOCKRUN_PASSWORD_FILE")},
    {"'RLOCKRUN_PASSWORD=\r\n'", "RLOCKRUN_PASSWORD: empty"},
    {"'REDIS_URL=redis://h redis://i'",
	"REDIS_URL: one server per -r (-r URL -r URL)"},
    {"RLOCKRUN_REDIS=10.0.0.1:6379",
	"RLOCKRUN_REDIS: " NO_SCHEME("10.0.0.1:6379")},
    {"REDIS_URL=h:1", "REDIS_URL: " NO_SCHEME("h:1")},
    {"RLOCKRUN_SHARED=1 RLOCKRUN_PERMITS=2",
	BOTH("RLOCKRUN_PERMITS", "RLOCKRUN_SHARED")},
};

static void
remove_example(char *message)
{
	char *example = strstr(message, "; for example: ");
	char *hint = strstr(message, TRY);

	if (example != NULL && hint != NULL)
		memmove(example, hint, strlen(hint) + 1);
}

/* want: without the example, unless it has one. */
static void
check_mistake(const char *const *args, const char *const *env, int status,
    const char *want)
{
	struct run run;

	run_start(&run, args, env);
	if (strstr(want, "; for example: ") == NULL)
		remove_example(run.message);
	is_text(run.message, want, "bad input");
	is_int(run.status, status, "  status");
	run_end(&run);
}

/* The words of a line, which a shell would read so. */
static void
check_line(const char *line, int status, const char *want)
{
	const char *args[2 * MAX] = {NULL}, *env[MAX + 1] = {NULL};
	size_t count = 0, variables = 0;
	wordexp_t words;

	if (wordexp(line, &words, 0) != 0 || words.we_wordc >= 2 * MAX)
		abort();
	for (size_t i = 0; i < words.we_wordc; i++) {
		const char *word = words.we_wordv[i];

		if (strncmp(word, "R", 1) == 0)
			env[variables++] = word;
		else
			args[count++] = word;
	}
	check_mistake(args, env, status, want);
	wordfree(&words);
}

static void
check_lines(const struct bad_line *row, const char *before, const char *behind)
{
	const char *example = opts_table[row->example].example;
	char lines[2048], line[2048], want[1024], *rest = lines, *one;

	snprintf(lines, sizeof(lines), "%s", row->lines);
	snprintf(want, sizeof(want), "rlockrun: %s%s%s" TRY, row->message,
	    *example != '\0' ? "; for example: " : "", example);
	while ((one = strsep(&rest, ";")) != NULL) {
		snprintf(line, sizeof(line), "%s%s%s", before, one, behind);
		check_line(line, 64, want);
	}
}

static void
test_bad(void)
{
	char line[512], want[512];

	for (size_t i = 0; i < LENGTH(bad_lines); i++)
		check_lines(&bad_lines[i], "", "");
	for (size_t i = 0; i < LENGTH(bad_runs); i++)
		check_lines(&bad_runs[i], "-k a ", " ls");
	for (size_t i = 0; i < LENGTH(bad_variables); i++) {
		snprintf(line, sizeof(line), "-k a %s ls",
		    bad_variables[i].line);
		snprintf(want, sizeof(want),
		    "rlockrun: %s; command not started\n",
		    bad_variables[i].message);
		check_line(line, 78, want);
	}
}

/* Each of the values, as an option or as a variable. */
static const struct value_case {
	const char *option, *variable;
	const char *values; /* '|' between them */
	const char *message;
} values[] = {
    {"-t", "RLOCKRUN_TTL", "0|999ms|0.9|366d|99999999999999999999",
	"not a duration from 1s to 365d"},
    {"-t", "RLOCKRUN_TTL", "30x|1e9|-1| 5|5 |1s1|1h1h|1h30|1,5|0x10|inf|nan",
	NO_DURATION},
    {"-w", "RLOCKRUN_WAIT", "9999999d", "not a duration from 0 to 3653d"},
    {"-w", "RLOCKRUN_WAIT", "-1|5x|soon|1e3", NO_DURATION},
    {"--kill-after", "RLOCKRUN_KILL_AFTER", "-1|5x|soon|1e3", NO_DURATION},
    {"--splay", "RLOCKRUN_SPLAY", "-1", NO_DURATION},
    {"--server-timeout", "RLOCKRUN_SERVER_TIMEOUT", "0", ABOVE_0},
    {"--server-timeout", "RLOCKRUN_SERVER_TIMEOUT", "-1|x", NO_DURATION},
    {"--max-run", "RLOCKRUN_MAX_RUN", "0", ABOVE_0},
    {"--max-run", "RLOCKRUN_MAX_RUN", "-1|x", NO_DURATION},
    {"--warn-after", "RLOCKRUN_WARN_AFTER", "0", ABOVE_0},
    {"--warn-after", "RLOCKRUN_WARN_AFTER", "-1|x", NO_DURATION},
    {"--older-than", NULL, "-1|5x||soon", NO_DURATION},
    {"-w", NULL, "", NO_DURATION},
    {"--kill-after", NULL, "", NO_DURATION},
    {"-E", "RLOCKRUN_CONFLICT_EXIT_CODE",
	"300|256|-1|1x|1.0|4294967296|18446744073709551616",
	"not a number from 0 to 255"},
    {"-E", NULL, "", "not a number from 0 to 255"},
    {"--on-lost", "RLOCKRUN_ON_LOST", "go", "neither stop nor warn"},
    {"--on-unavailable", "RLOCKRUN_ON_UNAVAILABLE", "runs",
	"neither fail, run nor skip"},
    {NULL, "RLOCKRUN_NONBLOCK", "maybe", "neither yes nor no"},
    {"--once-id", NULL, "", "not a text of 1 to 256 bytes"},
    {"--once-id", "RLOCKRUN_ONCE_ID",
	HUNDRED HUNDRED TEN TEN TEN TEN TEN "aaaaaaa",
	"not a text of 1 to 256 bytes"},
};

static void
check_value(const struct value_case *test, const char *value)
{
	char want[1024], variable[512];

	if (test->option != NULL) {
		snprintf(want, sizeof(want), "rlockrun: %s '%s': %s" TRY,
		    test->option, value, test->message);
		check_mistake(LIST("-k", "a", test->option, value, "ls"), NONE,
		    64, want);
	}
	if (test->variable != NULL) {
		snprintf(want, sizeof(want),
		    "rlockrun: %s '%s': %s; command not started\n",
		    test->variable, value, test->message);
		snprintf(variable, sizeof(variable), "%s=%s", test->variable,
		    value);
		check_mistake(LIST("-k", "a", "ls"), LIST(variable), 78, want);
	}
}

static void
test_values(void)
{
	for (size_t i = 0; i < LENGTH(values); i++) {
		char text[512], *rest = text, *value;

		snprintf(text, sizeof(text), "%s", values[i].values);
		while ((value = strsep(&rest, "|")) != NULL)
			check_value(&values[i], value);
	}
}

/* What looks at one lock, or acts on it, needs the key of a lock. */
static void
test_single(void)
{
	static const struct {
		const char *args[MAX], *message;
	} cases[] = {
	    {{NULL}, NO_KEY TRY},
	    {{"job"}, NO_KEY TRY},
	    {{"-k", ""}, EMPTY_KEY TRY},
	    {{"-k", KEY_1024 "a"}, TOO_LONG TRY},
	    {{"-k", "a:rlk:b"}, HELPER TRY},
	    {{"-k", "a", "ls", "-l"}, " takes no command" TRY},
	    {{"-k", "a", "-c", "ls"}, " takes no command" TRY},
	};
	static const char *const actions[] = {"--status", "--force-release"};
	const char *args[MAX + 1];
	char want[256];

	for (size_t i = 0; i < 2 * LENGTH(cases); i++) {
		const char *message = cases[i / 2].message;

		args[0] = actions[i % 2];
		memcpy(args + 1, cases[i / 2].args, sizeof(cases->args));
		snprintf(want, sizeof(want), "rlockrun: %s%s",
		    *message == ' ' ? args[0] : "", message);
		check_mistake(args, NONE, 64, want);
	}
}

/* A hold and a pause exclude what is about a job; a pause what is about a wait,
 * too. */
static void
test_holds(void)
{
	static const struct {
		char option[24];
		bool hold, pause; /* exclude it */
	} cases[] = {{"--shared", true, true}, {"--permits=2", true, true},
	    {"--ttl=5s", true, true}, {"--min-hold=5s", true, true},
	    {"--keep-history=9d", true, true}, {"--once-per=1d", true, true},
	    {"--once-id=x", true, true}, {"--expect=1d", true, true},
	    {"--splay=5s", true, true}, {"--wait-all", true, true},
	    {"--max-run=1h", true, true}, {"--warn-after=1h", true, true},
	    {"--on-lost=warn", true, true}, {"--kill-after=1s", true, true},
	    {"--on-unavailable=run", true, true}, {"--metrics=/m", true, true},
	    {"--replaceable", true, true}, {"--newest", false, true},
	    {"--replace", false, true}, {"--exclusive", false, false},
	    {"--max-waiters=1", false, false}, {"--label=x", false, false},
	    {"--wait=5s", false, false}, {"--quiet", false, false}};
	char want[96];

	for (size_t i = 0; i < 2 * LENGTH(cases); i++) {
		bool hold = i % 2 == 0;
		const char *action = hold ? "--hold=1h" : "--pause=1h";
		const char *option = cases[i / 2].option;
		bool refused = hold ? cases[i / 2].hold : cases[i / 2].pause;

		snprintf(want, sizeof(want),
		    "rlockrun: %.*s and %.7s exclude each other" TRY,
		    (int)strcspn(option, "="), option,
		    hold ? "--hold" : "--pause");
		check_mistake(LIST(action, option, "-k", "a"), NONE,
		    refused ? 64 : 0, refused ? want : "");
	}
}

/* No command was to be started. */
static void
test_actions(void)
{
	static const char *const actions[][MAX] = {{"--status", "-k", "a"},
	    {"--force-release", "--yes", "-k", "a"}, {"--list"}};

	for (size_t i = 0; i < LENGTH(actions); i++)
		check_mistake(actions[i],
		    LIST("RLOCKRUN_PASSWORD_FILE=/none/x"), 78,
		    "rlockrun: password file \"/none/x\": No such file or "
		    "directory\n");
}

static void
test_many_keys(void)
{
	const char *args[36] = {[33] = "ls"};
	char keys[33][8];

	for (size_t i = 0; i < 33; i++) {
		snprintf(keys[i], sizeof(keys[i]), "-kk%zu", i + 1);
		args[i] = keys[i];
	}
	check_mistake(args, NONE, 64,
	    "rlockrun: -k 'k33': more than 32 locks" TRY);
}

/* A URL without -r may hold a password, so it is not shown. */
static void
test_urls(void)
{
	static const char *const urls[] = {"redis://u:hush@h/1",
	    "rediss://:hush@h", "unix://u:hush@", "redis-cluster://hush"};

	for (size_t i = 0; i < LENGTH(urls); i++) {
		check_mistake(LIST(urls[i], "-k", "a", "ls"), NONE, 64,
		    "rlockrun: no key given, and a URL is not a command "
		    "(-k NAME -r URL)" TRY);
		check_mistake(LIST("-k", "a", urls[i], "ls"), NONE, 64,
		    "rlockrun: a URL is not a command (-r URL names the "
		    "server)" TRY);
	}
}

/* --- what flock(1) takes ------------------------------------------------- */

/* Its options without a counterpart. */
static void
test_refused(void)
{
	static const struct {
		const char *options[2], *why;
	} cases[] = {
	    {{"-u", "--unlock"},
		"the lock is released when the command has ended (see also "
		"--force-release)"},
	    {{"-o", "--close"},
		"not needed, the command inherits no descriptor of the lock"},
	    {{"-F", "--no-fork"},
		"not possible, rlockrun renews the lock while the command "
		"runs"},
	    {{"--fcntl", "--fcntl"},
		"not possible, the lock is on a server and not on a file"},
	};
	char want[256];

	for (size_t i = 0; i < 2 * LENGTH(cases); i++) {
		const char *option = cases[i / 2].options[i % 2];

		snprintf(want, sizeof(want), "rlockrun: %s: %s" TRY, option,
		    cases[i / 2].why);
		check_mistake(LIST(option, "9"), NONE, 64, want);
		check_mistake(LIST("-n", option, "-k", "a", "ls"), NONE, 64,
		    want);
	}
	check_mistake(LIST("-no", "-k", "a", "ls"), NONE, 64,
	    "rlockrun: -o: not needed, the command inherits no descriptor of "
	    "the lock" TRY);
}

static void
write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);

	if (fd == -1 || write(fd, text, strlen(text)) == -1)
		abort();
	close(fd);
}

/* In the place of the key: a lock has a name. */
static void
test_lock_files(void)
{
	static const struct {
		const char *args[MAX], *name, *file;
	} cases[] = {
	    {{"/no/lock/x.lock", "ls"}, "x", "/no/lock/x.lock"},
	    {{"-n", "/no/lock/x.y", "-c", "ls"}, "x.y", "/no/lock/x.y"},
	    {{"-s", "-w", "5", "x.lock", "ls"}, "x", "x.lock"},
	    {{"plain", "ls"}, "plain", "plain"},
	    {{"folder", "ls"}, "folder", "folder"},
	    {{"/no/a b", "ls"}, "NAME", "/no/a b"},
	    {{"./", "ls"}, "NAME", "./"},
	    {{"/no/.lock", "ls"}, "NAME", "/no/.lock"},
	    {{"/no/$x\"", "ls"}, "NAME", "/no/$x\\\""},
	};
	char folder[] = "/tmp/rlockrun-mistakes_test.XXXXXX", want[256];

	if (mkdtemp(folder) == NULL || chdir(folder) == -1 ||
	    mkdir("folder", 0700) == -1)
		abort();
	write_file("plain", "", 0600);
	write_file("program.lock", "#!/bin/sh\n", 0700);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		snprintf(want, sizeof(want),
		    "rlockrun: no key given: a lock has a name, not a file "
		    "(-k %s instead of \"%s\")" TRY,
		    cases[i].name, cases[i].file);
		check_mistake(cases[i].args, NONE, 64, want);
	}
	check_mistake(LIST("./program.lock", "argument"), NONE, 64,
	    "rlockrun: no key given (-k NAME)" TRY);
	unlink("plain");
	unlink("program.lock");
	rmdir("folder");
	if (chdir("/") == -1 || rmdir(folder) == -1)
		abort();
}

/* --- variables that are none of ours -------------------------------------- */

#define IGNORED(name, meant)       \
	"rlockrun: RLOCKRUN_" name \
	" is not a variable of rlockrun; ignored" meant "\n"
#define MEANT_VARIABLE(name) " (did you mean RLOCKRUN_" name "?)"

/* No value is shown, which may be a password. */
static void
test_unknown_variables(void)
{
	const char *const *unknown = LIST("RLOCKRUN_WIAT=secret",
	    "RLOCKRUN_TIMEOUT=5", "RLOCKRUN_max_ruN=5", "RLOCKRUN_PASWORD=s",
	    "RLOCKRUN_YES=1", "RLOCKRUN_FRUIT=5", "RLOCKRUN_TLT=5",
	    "RLOCKRUN_EMPTI=", "RLOCKRUNNER=5");
	static const char want[] = IGNORED("WIAT", MEANT_VARIABLE("WAIT"))
	    IGNORED("TIMEOUT", MEANT_VARIABLE("WAIT"))
		IGNORED("max_ruN", MEANT_VARIABLE("MAX_RUN")) IGNORED("PASWORD",
		    MEANT_VARIABLE(
			"PASSWORD")) "rlockrun: RLOCKRUN_YES is ignored: --yes "
				     "is for the command "
				     "line only\n" IGNORED("FRUIT", "")
					 IGNORED("TLT", MEANT_VARIABLE("TTL"));

	check_mistake(LIST("-k", "a", "ls"), unknown, 0, "");
	check_mistake(LIST("-v", "-r", "redis://h", "-k", "a", "ls"), unknown,
	    0, want);
	check_mistake(LIST("-v", "-k", "a", "-t", "0", "ls"), unknown, 64,
	    "rlockrun: -t '0': not a duration from 1s to 365d" TRY);
	check_mistake(LIST("-k", "a", "ls"),
	    LIST("RLOCKRUN_VERBOSE=1", "REDIS_URL=redis://h",
		"RLOCKRUN_FRUIT=5"),
	    0, IGNORED("FRUIT", ""));
}

/* --- the examples ----------------------------------------------------------
 */

/* Whether the example is to be followed by -k NAME COMMAND. */
static bool
is_fragment(const struct opts_row *row)
{
	bool runs = row->with == 0 || (row->with & OPTS_BIT(OPTS_RUN));

	return runs && row->action == OPTS_RUN &&
	       strstr(row->example, "-k ") == NULL;
}

static bool
names_option(const struct opts_row *row)
{
	char name[32];

	for (const char *c = row->shorts; *c != '\0'; c++) {
		snprintf(name, sizeof(name), "-%c", *c);
		if (strstr(row->example, name) != NULL)
			return true;
	}
	snprintf(name, sizeof(name), "--%s", row->longs[0]);
	return strstr(row->example, name) != NULL;
}

static void
check_example(const struct opts_row *row)
{
	static const char *const rest[] = {"-k", "backup", "ls", NULL};
	const char *args[2 * MAX] = {NULL};
	struct run run;
	wordexp_t words;

	if (wordexp(row->example, &words, 0) != 0 || words.we_wordc > MAX)
		abort();
	memcpy(args, words.we_wordv, words.we_wordc * sizeof(*args));
	if (is_fragment(row))
		memcpy(args + words.we_wordc, rest, sizeof(rest));
	run_start(&run, args, NONE);
	/* Files need not exist. Here is no terminal. */
	ok(run.status == 0 || run.status == 78 ||
		strstr(run.message, "needs a terminal") != NULL,
	    "the example is correct: %s", row->example);
	ok(names_option(row), "  and is one of --%s", row->longs[0]);
	run_end(&run);
	wordfree(&words);
}

/* Each option that --help shows has one, but itself. */
static void
test_examples(void)
{
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct opts_row *row = &opts_table[id];

		if (id != OPT_HELP && *row->longs[0] != '\0' &&
		    *row->help != '\0')
			check_example(row);
	}
}

int
main(void)
{
	int null = open("/dev/null", O_RDWR);

	/* There is no terminal to ask on. */
	dup2(null, STDIN_FILENO);
	close(null);
	test_bad();
	test_values();
	test_single();
	test_holds();
	test_actions();
	test_many_keys();
	test_urls();
	test_refused();
	test_lock_files();
	test_unknown_variables();
	test_examples();
	return tap_done();
}
