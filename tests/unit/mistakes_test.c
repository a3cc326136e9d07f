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
#define TOO_LONG "the key is longer than 1024 bytes" TRY
#define HELPER "a key can't contain ':rlk:' or ':rlkt:'" TRY
#define TOKEN "--force-release or --hold"
#define NO_DESCRIPTOR                                                      \
	"no key given: a lock has a name, not a file descriptor (-k NAME " \
	"COMMAND)" TRY
#define NO_PASSWORD                                                 \
	"--password: not accepted here, where everyone can see it " \
	"(--password-file FILE)" TRY
#define UNKNOWN "unknown option"
#define SCHEMES                                          \
	"unknown scheme (redis://, rediss://, unix://, " \
	"redis-sentinel:// or redis-cluster://)"
#define NO_KEY "no key given (-k NAME)" TRY
#define NO_SCHEME(url) "no scheme (did you mean redis://" url "?)"
#define MEANT(name) " (did you mean --" name "?)"
#define SWITCH "': neither yes nor no\n"

/* Status 64 comes with the example of an option, unless that has none. */
static const struct bad_case {
	const char *args[MAX], *env[MAX];
	int status;
	const char *message;
	enum option_id example;
} bad[] = {
    {{NULL}, {NULL}, 64, "no key given (-k NAME)" TRY, OPT_KEY},
    {{"ls"}, {NULL}, 64, "no key given (-k NAME)" TRY, OPT_KEY},
    {{"ls", "-l"}, {NULL}, 64, "no key given (-k NAME)" TRY, OPT_KEY},
    {{""}, {NULL}, 64, "no key given (-k NAME)" TRY, OPT_KEY},
    {{"9", "ls"}, {NULL}, 64, "no key given (-k NAME)" TRY, OPT_KEY},
    {{"9"}, {NULL}, 64, NO_DESCRIPTOR, OPT_KEY},
    {{"-n", "200"}, {NULL}, 64, NO_DESCRIPTOR, OPT_KEY},
    {{"-k"}, {NULL}, 64, "-k needs an argument" TRY, OPT_KEY},
    {{"-k", "a", "--ttl"}, {NULL}, 64, "--ttl needs an argument" TRY, OPT_TTL},
    {{"-k", "a", "-c"}, {NULL}, 64, "-c needs an argument" TRY, OPT_COMMAND},
    {{"--ttl"}, {NULL}, 64, "--ttl needs an argument" TRY, OPT_TTL},
    {{"-k", "", "ls"}, {NULL}, 64, "the key is empty" TRY, OPT_KEY},
    {{"--key=", "ls"}, {NULL}, 64, "the key is empty" TRY, OPT_KEY},
    {{"-k", "a", "-k", "", "ls"}, {NULL}, 64, "the key is empty" TRY, OPT_KEY},
    {{"-k", "", "ls"}, {"RLOCKRUN_PREFIX=p"}, 64, "the key is empty" TRY,
	OPT_KEY},
    {{"-k", KEY_1024 "a", "ls"}, {NULL}, 64, TOO_LONG, OPT_KEY},
    {{"-k", KEY_1024, "ls"}, {"RLOCKRUN_PREFIX=a"}, 64, TOO_LONG, OPT_KEY},
    {{"--prefix", "a", "-k", KEY_1024, "ls"}, {NULL}, 64, TOO_LONG, OPT_KEY},
    {{"-k", "a", "-k", KEY_1024 "a", "ls"}, {NULL}, 64, TOO_LONG, OPT_KEY},
    {{"-k", "a:rlk:b", "ls"}, {NULL}, 64, HELPER, OPT_KEY},
    {{"-k", "{a}:rlk:f", "ls"}, {NULL}, 64, HELPER, OPT_KEY},
    {{"--prefix", "a:rlk", "-k", ":", "ls"}, {NULL}, 64, HELPER, OPT_KEY},
    {{"-k", "a:rlkt:b", "ls"}, {NULL}, 64, HELPER, OPT_KEY},
    {{"-k", "lk:b", "ls"}, {"RLOCKRUN_PREFIX=a:r"}, 64, HELPER, OPT_KEY},
    {{"-k", "a", "-k", "b", "-k", "a", "ls"}, {NULL}, 64,
	"the same key is given twice: \"a\"" TRY, OPT_KEY},
    {{"--key", "a", "--key", "b", "-k", "a", "ls"}, {NULL}, 64,
	"the same key is given twice: \"a\"" TRY, OPT_KEY},
    {{"-k", "b\nc", "-k", "a", "ls"}, {NULL}, 64,
	"one of several keys can't contain a newline" TRY, OPT_KEY},
    {{"-k", "a", "--key=", "ls"}, {NULL}, 64, "the key is empty" TRY, OPT_KEY},
    {{"-k", "a", "-k", "b\nc", "ls"}, {NULL}, 64,
	"one of several keys can't contain a newline" TRY, OPT_KEY},
    {{"-k", "a"}, {NULL}, 64, "no command given" TRY, OPT_COMMAND},
    {{"--status"}, {NULL}, 64, "no key given (-k NAME)" TRY, OPT_STATUS},
    {{"--status", "-k", "a", "ls"}, {NULL}, 64, "--status takes no command" TRY,
	OPT_STATUS},
    {{"--status", "--list"}, {NULL}, 64,
	"--status and --list exclude each other" TRY, OPT_STATUS},
    {{"--list", "a", "-k", "b"}, {NULL}, 64, "--list takes a GLOB, not -k" TRY,
	OPT_LIST},
    {{"--list", "-k", "a"}, {NULL}, 64, "--list takes a GLOB, not -k" TRY,
	OPT_LIST},
    {{"--list", "-c", "ls"}, {NULL}, 64, "--list takes no command" TRY,
	OPT_LIST},
    {{"--list", "-k", "a", "--force-release"}, {NULL}, 64,
	"--list and --force-release exclude each other" TRY, OPT_LIST},
    {{"--list", "a*", "--nope"}, {NULL}, 64, UNKNOWN " --nope" TRY, OPT_KEY},
    {{"--status=yes", "-k", "a"}, {NULL}, 64, "--status takes no argument" TRY,
	OPT_STATUS},
    {{"--status", "-k", "a", "-k", "b"}, {NULL}, 64,
	"--status takes one key" TRY, OPT_STATUS},
    {{"--force-release", "--yes", "-k", "a", "-k", "b"}, {NULL}, 64,
	"--force-release takes one key" TRY, OPT_FORCE_RELEASE},
    {{"--force-release", "-k", "a"}, {NULL}, 64,
	"--force-release needs --token or --yes if it cannot ask on a "
	"terminal" TRY,
	OPT_FORCE_RELEASE},
    {{"--force-release", "-k", "a", "--token"}, {NULL}, 64,
	"--token needs an argument" TRY, OPT_TOKEN},
    {{"--yes", "--status", "-k", "a"}, {NULL}, 64,
	"--yes needs --force-release" TRY, OPT_FORCE_RELEASE},
    {{"--token", "x", "--list"}, {NULL}, 64, "--token needs " TOKEN TRY,
	OPT_TOKEN},
    {{"--token", "x", "-k", "a", "ls"}, {NULL}, 64, "--token needs " TOKEN TRY,
	OPT_TOKEN},
    {{"--older-than", "5", "--status", "-k", "a"}, {NULL}, 64,
	"--older-than needs --list" TRY, OPT_OLDER_THAN},
    {{"--older-than", "5", "-k", "a", "ls"}, {NULL}, 64,
	"--older-than needs --list" TRY, OPT_OLDER_THAN},
    {{"--json", "--force-release", "--yes", "-k", "a"}, {NULL}, 64,
	"--json needs an action that shows something, such as --status" TRY,
	OPT_JSON},
    {{"--yes", "-k", "a", "ls"}, {NULL}, 64, "--yes needs --force-release" TRY,
	OPT_FORCE_RELEASE},
    {{"--json", "-k", "a", "ls"}, {NULL}, 64,
	"--json needs an action that shows something, such as --status" TRY,
	OPT_JSON},
    {{"-k", "a", "--"}, {NULL}, 64, "no command given" TRY, OPT_COMMAND},
    {{"-k", "a", ""}, {NULL}, 64, "the command is empty" TRY, OPT_COMMAND},
    {{"-k", "a", "-c", ""}, {NULL}, 64, "the command is empty" TRY,
	OPT_COMMAND},
    {{"-k", "a", "-c", "x", "y"}, {NULL}, 64,
	"-c takes no further arguments" TRY, OPT_COMMAND},
    {{"-k", "a", "-c", "x", "-c", "y"}, {NULL}, 64, "-c can be given once" TRY,
	OPT_COMMAND},
    {{"-k", "a", "--once-id", "", "ls"}, {NULL}, 64,
	"--once-id '': not a text of 1 to 256 bytes" TRY, OPT_ONCE_ID},
    {{"-k", "a", "--once-id", "b", "-s", "ls"}, {NULL}, 64,
	"--once-id needs an exclusive lock" TRY, OPT_ONCE_ID},
    {{"-k", "a", "-k", "b", "--once-id", "c", "ls"}, {NULL}, 64,
	"--once-id takes one key (-k)" TRY, OPT_ONCE_ID},
    {{"-k", "a", "--once-id", "b", "--keep-history", "0", "ls"}, {NULL}, 64,
	"--once-id needs the history (--keep-history is 0)" TRY, OPT_ONCE_ID},
    {{"-k", "a", "--expect", "1d", "-p", "2", "ls"}, {NULL}, 64,
	"--expect needs an exclusive lock" TRY, OPT_EXPECT},
    {{"-k", "a", "--expect", "1d", "--keep-history", "0", "ls"}, {NULL}, 64,
	"--expect needs the history (--keep-history is 0)" TRY, OPT_EXPECT},
    {{"-k", "a", "--expect", "-1", "ls"}, {NULL}, 64,
	"--expect '-1': not a duration (a number with ms, s, min, h or d, "
	"such as 90, 1.5h or 1h30m)" TRY,
	OPT_EXPECT},
    {{"--check", "-r", "redis://a", "-r", "redis://b"}, {NULL}, 64,
	"--check needs a single server: several servers keep no history" TRY,
	OPT_REDIS},
    {{"--resume", "a", "-r", "redis://a", "-r", "redis://b"}, {NULL}, 64,
	"--resume needs a single server" TRY, OPT_REDIS},
    {{"--hold", "1h", "-k", "a", "-r", "redis://a", "-r", "redis://b"}, {NULL},
	64, "--hold needs a single server" TRY, OPT_REDIS},
    {{"-k", "a", "--once-per", "1d", "-s", "ls"}, {NULL}, 64,
	"--once-per needs an exclusive lock" TRY, OPT_ONCE_PER},
    {{"-k", "a", "--tls-key", "x", "ls"}, {NULL}, 64,
	"--tls-key needs a server with TLS (rediss://)" TRY, OPT_TLS_KEY},
    {{"--cron", "--status", "-k", "a"}, {NULL}, 64,
	"--cron needs a command" TRY, OPT_CRON},
    {{"--list", "--all", "-q"}, {NULL}, 64,
	"--quiet and --all exclude each other" TRY, OPT_QUIET},
    {{"--list", "--all", "--older-than", "1h"}, {NULL}, 64,
	"--older-than and --all exclude each other" TRY, OPT_OLDER_THAN},
    {{"--list", "--failed", "--watch"}, {NULL}, 64,
	"--watch and --failed exclude each other" TRY, OPT_WATCH},
    {{"--check", "--list"}, {NULL}, 64,
	"--check and --list exclude each other" TRY, OPT_CHECK},
    {{"--hold", "1m", "-k", "a", "--json"}, {NULL}, 64,
	"--json needs an action that shows something, such as --status" TRY,
	OPT_JSON},
    {{"-k", "a", "--hold", "1m", "--once-id", "b"}, {NULL}, 64,
	"--once-id and --hold exclude each other" TRY, OPT_ONCE_ID},
    {{"-k", "a", "ls"}, {"RLOCKRUN_ONCE_ID=b", "RLOCKRUN_SHARED=1"}, 78,
	"--once-id needs an exclusive lock", OPT_HELP},
    {{"-k", "a", "--hook", "fail=/opt/alert", "ls"}, {NULL}, 64,
	"--hook 'fail=/opt/alert': no such event (did you mean failed=?)" TRY,
	OPT_HOOK},
    {{"-k", "a", "--hook", "relaesed=mail -s ok ops", "ls"}, {NULL}, 64,
	"--hook 'relaesed=mail -s ok ops': no such event (did you mean "
	"released=?)" TRY,
	OPT_HOOK},
    {{"-k", "a", "--hook", "Lots=x", "ls"}, {NULL}, 64,
	"--hook 'Lots=x': no such event (did you mean lost=?)" TRY, OPT_HOOK},
    {{"-k", "a", "--hook", "lost,faild=/a b", "ls"}, {NULL}, 64,
	"--hook 'lost,faild=/a b': no such event (did you mean failed=?)" TRY,
	OPT_HOOK},
    {{"-k", "a", "--hook", "lost,x=a", "ls"}, {NULL}, 64,
	"--hook 'lost,x=a': no such event, and no command" TRY, OPT_HOOK},
    {{"-k", "a", "--hook", "lost,=a", "ls"}, {NULL}, 64,
	"--hook 'lost,=a': no such event, and no command" TRY, OPT_HOOK},
    {{"-k", "a", "--hook", "x=1", "ls"}, {NULL}, 64,
	"--hook 'x=1': no such event, and no command" TRY, OPT_HOOK},
    {{"-k", "a", "ls"}, {"RLOCKRUN_HOOK=lost=/a\nfail=/b"}, 78,
	"RLOCKRUN_HOOK 'lost=/a\\nfail=/b': no such event (did you mean "
	"failed=?)\n",
	OPT_HELP},
    {{"-k", "a", "--hook", "lost=", "ls"}, {NULL}, 64,
	"--hook 'lost=': a hook without a command" TRY, OPT_HOOK},
    {{"-k", "a", "ls"}, {"RLOCKRUN_HOOK=lost="}, 78,
	"RLOCKRUN_HOOK 'lost=': a hook without a command", OPT_HELP},
    {{"-k", "a", "-t", "0", "ls"}, {NULL}, 64,
	"-t '0': not a duration from 1s to 365d" TRY, OPT_TTL},
    {{"-k", "a", "-t", "999ms", "ls"}, {NULL}, 64,
	"-t '999ms': not a duration from 1s to 365d" TRY, OPT_TTL},
    {{"-k", "a", "--ttl=366d", "ls"}, {NULL}, 64,
	"--ttl '366d': not a duration from 1s to 365d" TRY, OPT_TTL},
    {{"-k", "a", "-t", "30x", "ls"}, {NULL}, 64, "-t '30x': " NO_DURATION TRY,
	OPT_TTL},
    {{"-k", "a", "-t", "1e9", "ls"}, {NULL}, 64, "-t '1e9': " NO_DURATION TRY,
	OPT_TTL},
    {{"-k", "a", "-t", "", "ls"}, {NULL}, 64, "-t '': " NO_DURATION TRY,
	OPT_TTL},
    {{"-k", "a", "-t", "\033", "ls"}, {NULL}, 64,
	"-t '\\x1b': " NO_DURATION TRY, OPT_TTL},
    {{"-k", "a", "ls"}, {"RLOCKRUN_TTL=30x"}, 78,
	"RLOCKRUN_TTL '30x': " NO_DURATION "\n", OPT_HELP},
    {{"-k", "a", "-w", "-1", "ls"}, {NULL}, 64, "-w '-1': " NO_DURATION TRY,
	OPT_WAIT},
    {{"-k", "a", "--timeout", "x", "ls"}, {NULL}, 64,
	"--wait 'x': " NO_DURATION TRY, OPT_WAIT},
    {{"-k", "a", "-n", "-w", "5", "ls"}, {NULL}, 64,
	"-w and -n exclude each other" TRY, OPT_WAIT},
    {{"-k", "a", "-w", "5", "-n", "ls"}, {"RLOCKRUN_WAIT=0"}, 64,
	"-w and -n exclude each other" TRY, OPT_WAIT},
    {{"-k", "a", "--wait", "5", "--nb", "ls"}, {NULL}, 64,
	"-w and -n exclude each other" TRY, OPT_WAIT},
    {{"-k", "a", "ls"}, {"RLOCKRUN_NONBLOCK=1", "RLOCKRUN_WAIT=5"}, 78,
	"RLOCKRUN_WAIT and RLOCKRUN_NONBLOCK exclude each other\n", OPT_HELP},
    {{"-k", "a", "-E", "300", "ls"}, {NULL}, 64,
	"-E '300': not a number from 0 to 255" TRY, OPT_CONFLICT_EXIT_CODE},
    {{"-k", "a", "-E", "-1", "ls"}, {NULL}, 64,
	"-E '-1': not a number from 0 to 255" TRY, OPT_CONFLICT_EXIT_CODE},
    {{"-k", "a", "ls"}, {"RLOCKRUN_CONFLICT_EXIT_CODE=256"}, 78,
	"RLOCKRUN_CONFLICT_EXIT_CODE '256': not a number from 0 to 255\n",
	OPT_HELP},
    {{"-k", "a", "ls"}, {"RLOCKRUN_QUIET=2"}, 78, "RLOCKRUN_QUIET '2" SWITCH,
	OPT_HELP},
    {{"-k", "a", "ls"}, {"RLOCKRUN_VERBOSE=YES"}, 78,
	"RLOCKRUN_VERBOSE 'YES" SWITCH, OPT_HELP},
    {{"-k", "a", "--on-lost", "die", "ls"}, {NULL}, 64,
	"--on-lost 'die': neither stop nor warn" TRY, OPT_ON_LOST},
    {{"-k", "a", "--on-lost", "stop|warn", "ls"}, {NULL}, 64,
	"--on-lost 'stop|warn': neither stop nor warn" TRY, OPT_ON_LOST},
    {{"-k", "a", "--on-lost", "sto", "ls"}, {NULL}, 64,
	"--on-lost 'sto': neither stop nor warn" TRY, OPT_ON_LOST},
    {{"-k", "a", "ls"}, {"RLOCKRUN_ON_UNAVAILABLE=x"}, 78,
	"RLOCKRUN_ON_UNAVAILABLE 'x': neither fail, run nor skip\n", OPT_HELP},
    {{"-k", "a", "--kill-after", "x", "ls"}, {NULL}, 64,
	"--kill-after 'x': " NO_DURATION TRY, OPT_KILL_AFTER},
    {{"-k", "a", "--server-timeout", "0", "ls"}, {NULL}, 64,
	"--server-timeout '0': not a duration above 0 and up to 3653d" TRY,
	OPT_SERVER_TIMEOUT},
    {{"-k", "a", "--max-run", "0", "ls"}, {NULL}, 64,
	"--max-run '0': not a duration above 0 and up to 3653d" TRY,
	OPT_MAX_RUN},
    {{"-k", "a", "-r", "redis://h", "-r", "redis://x:y@h:6379", "ls"}, {NULL},
	64, "the same server is given twice: redis://h:6379" TRY, OPT_REDIS},
    {{"-k", "a", "ls"}, {"RLOCKRUN_REDIS=redis://h redis://h"}, 78,
	"the same server is given twice: redis://h:6379\n", OPT_HELP},
    {{"-k", "a", "-r", "redis://h redis://i", "ls"}, {NULL}, 64,
	"-r: one server per -r (-r URL -r URL)" TRY, OPT_REDIS},
    {{"-k", "a", "-s", "-r", "redis://h", "-r", "redis://i", "ls"}, {NULL}, 64,
	"--shared needs a single server: several servers keep exclusive "
	"locks" TRY,
	OPT_SHARED},
    {{"-k", "a", "-p", "2", "ls"}, {"RLOCKRUN_REDIS=redis://h redis://i"}, 64,
	"--permits needs a single server: several servers keep exclusive "
	"locks" TRY,
	OPT_PERMITS},
    {{"-k", "a", "ls"},
	{"RLOCKRUN_SHARED=1", "RLOCKRUN_REDIS=redis://h redis://i"}, 78,
	"--shared needs a single server: several servers keep exclusive "
	"locks\n",
	OPT_HELP},
    {{"-k", "a", "-k", "b", "-rredis://h", "-rredis://i", "ls"}, {NULL}, 64,
	"several servers hold one lock, not several (-k)" TRY, OPT_KEY},
    {{"-k", "a", "--max-waiters=1", "-rredis://h", "-rredis://i", "ls"}, {NULL},
	64,
	"--max-waiters needs a single server: several servers keep no "
	"queue" TRY,
	OPT_MAX_WAITERS},
    {{"-k", "a", "--newest", "-n", "ls"}, {NULL}, 64,
	"--newest is about waiters, and -n does not wait" TRY, OPT_NEWEST},
    {{"-k", "a", "--newest", "-w0", "ls"}, {NULL}, 64,
	"--newest is about waiters, and -n does not wait" TRY, OPT_NEWEST},
    {{"-k", "a", "-n", "ls"}, {"RLOCKRUN_NEWEST=yes"}, 78,
	"--newest is about waiters, and -n does not wait\n", OPT_HELP},
    {{"-k", "a", "--newest", "-s", "ls"}, {NULL}, 64,
	"--newest needs an exclusive lock" TRY, OPT_NEWEST},
    {{"-k", "a", "--newest", "-k", "b", "ls"}, {NULL}, 64,
	"--newest takes one key (-k)" TRY, OPT_NEWEST},
    {{"-k", "a", "--newest", "-rredis://h", "-rredis://i", "ls"}, {NULL}, 64,
	"--newest needs a single server: several servers keep no queue" TRY,
	OPT_NEWEST},
    {{"-k", "a", "--replace", "-n", "ls"}, {NULL}, 64,
	"--replace is about waiters, and -n does not wait" TRY, OPT_REPLACE},
    {{"-k", "a", "--replaceable", "-p2", "ls"}, {NULL}, 64,
	"--replaceable needs an exclusive lock" TRY, OPT_REPLACEABLE},
    {{"-k", "a", "--replaceable", "--min-hold=1", "ls"}, {NULL}, 64,
	"--replaceable and --min-hold exclude each other" TRY, OPT_REPLACEABLE},
    {{"-k", "a", "--replaceable", "--hold=1"}, {NULL}, 64,
	"--replaceable and --hold exclude each other" TRY, OPT_REPLACEABLE},
    {{"-k", "a", "--min-uptime", "-1", "ls"}, {NULL}, 64,
	"--min-uptime '-1': " NO_DURATION TRY, OPT_MIN_UPTIME},
    {{"-k", "a", "-r", "redis://:pw@h:70000", "ls"}, {NULL}, 64,
	"-r: port must be 1 to 65535" TRY, OPT_REDIS},
    {{"-k", "a", "--redis=redis://", "ls"}, {NULL}, 64, "--redis: no host" TRY,
	OPT_REDIS},
    {{"-k", "a", "-r", "", "ls"}, {NULL}, 64, "-r: no URL" TRY, OPT_REDIS},
    {{"-k", "a", "-r", "h\n", "ls"}, {NULL}, 64, "-r: " SCHEMES TRY, OPT_REDIS},
    {{"-k", "a", "-r", "redis://h%", "ls"}, {NULL}, 64,
	"-r: bad character in the host name" TRY, OPT_REDIS},
    {{"-k", "a", "-r", "redis://:%@h", "ls"}, {NULL}, 64,
	"-r: bad percent-escape" TRY, OPT_REDIS},
    {{"-k", "a", "ls"}, {"RLOCKRUN_REDIS=http://:pw@h"}, 78,
	"RLOCKRUN_REDIS: " SCHEMES "\n", OPT_HELP},
    {{"-k", "a", "ls"}, {"RLOCKRUN_REDIS= "}, 78, "RLOCKRUN_REDIS: no URL\n",
	OPT_HELP},
    {{"-k", "a", "ls"}, {"RLOCKRUN_REDIS=redis://a http://b"}, 78,
	"RLOCKRUN_REDIS: " SCHEMES "\n", OPT_HELP},
    {{"-k", "a", "ls"}, {"REDIS_URL=redis://a redis://b"}, 78,
	"REDIS_URL: one server per -r (-r URL -r URL)\n", OPT_HELP},
    {{"-k", "a", "ls"}, {"REDIS_URL=rediss://:pw@h?x"}, 78,
	"REDIS_URL: only unix:// takes a query (?db=N), and no URL takes "
	"a fragment\n",
	OPT_HELP},
    {{"-k", "a", "--tls-ca", "f", "ls"}, {NULL}, 64,
	"--tls-ca needs a server with TLS (rediss://)" TRY, OPT_TLS_CA},
    {{"-k", "a", "-r", "unix:///s", "--tls-cert", "f", "ls"}, {NULL}, 64,
	"--tls-cert needs a server with TLS (rediss://)" TRY, OPT_TLS_CERT},
    {{"-k", "a", "-r", "rediss://h", "--tls-key", "f", "ls"}, {NULL}, 64,
	"a key without its certificate (--tls-cert)" TRY, OPT_TLS_KEY},
    {{"-k", "a", "-r", "rediss://h", "ls"}, {"RLOCKRUN_TLS_KEY=f"}, 78,
	"a key without its certificate (--tls-cert)\n", OPT_HELP},
    {{"-k", "a", "ls"},
	{"RLOCKRUN_PASSWORD=p", "RLOCKRUN_PASSWORD_FILE=/nonexistent"}, 78,
	"RLOCKRUN_PASSWORD and RLOCKRUN_PASSWORD_FILE exclude each other\n",
	OPT_HELP},
    {{"-k", "a", "ls"}, {"RLOCKRUN_PASSWORD=\r\n"}, 78,
	"RLOCKRUN_PASSWORD: empty\n", OPT_HELP},
    {{"-k", "a", "ls"}, {"REDIS_URL=redis://h redis://i"}, 78,
	"REDIS_URL: one server per -r (-r URL -r URL)\n", OPT_HELP},
    {{"-z"}, {NULL}, 64, "unknown option -z" TRY, OPT_KEY},
    {{"-z", "-k", "a", "ls"}, {NULL}, 64, "unknown option -z" TRY, OPT_KEY},
    {{"-nz", "-k", "a", "ls"}, {NULL}, 64, "unknown option -z" TRY, OPT_KEY},
    {{"-k", "a", "-q5", "ls"}, {NULL}, 64, "unknown option -5" TRY, OPT_KEY},
    {{"--nope=redis://:pw@h"}, {NULL}, 64, UNKNOWN " --nope" TRY, OPT_KEY},
    {{"--nope", "-k", "a", "ls"}, {NULL}, 64, UNKNOWN " --nope" TRY, OPT_KEY},
    {{"--tll", "5", "ls"}, {NULL}, 64, UNKNOWN " --tll" MEANT("ttl") TRY,
	OPT_TTL},
    {{"--tll=5"}, {NULL}, 64, UNKNOWN " --tll" MEANT("ttl") TRY, OPT_TTL},
    {{"--staus"}, {NULL}, 64, UNKNOWN " --staus" MEANT("status") TRY,
	OPT_STATUS},
    {{"--nonblok"}, {NULL}, 64, UNKNOWN " --nonblok" MEANT("nonblock") TRY,
	OPT_NONBLOCK},
    {{"--max_run", "5"}, {NULL}, 64, UNKNOWN " --max_run" MEANT("max-run") TRY,
	OPT_MAX_RUN},
    {{"--forec-realease"}, {NULL}, 64,
	UNKNOWN " --forec-realease" MEANT("force-release") TRY,
	OPT_FORCE_RELEASE},
    {{"--foobar"}, {NULL}, 64, UNKNOWN " --foobar" TRY, OPT_KEY},
    {{"--dump-option5"}, {NULL}, 64, UNKNOWN " --dump-option5" TRY, OPT_KEY},
    {{"--"}, {NULL}, 64, "no key given (-k NAME)" TRY, OPT_KEY},
    {{"--on"}, {NULL}, 64,
	"ambiguous option --on (--once-per, --once-id, --on-lost, "
	"--on-unavailable)" TRY,
	OPT_ONCE_PER},
    {{"--no", "-k", "a", "ls"}, {NULL}, 64,
	UNKNOWN " --no" MEANT("nonblock") TRY, OPT_NONBLOCK},
    {{"--n"}, {NULL}, 64, "ambiguous option --n (--nonblock, --newest)" TRY,
	OPT_NONBLOCK},
    {{"--=pw"}, {NULL}, 64, UNKNOWN " --" TRY, OPT_KEY},
    {{"--tls-c=pw"}, {NULL}, 64,
	"ambiguous option --tls-c (--tls-ca, --tls-cert)" TRY, OPT_TLS_CA},
    {{"list"}, {NULL}, 64, "no key given (did you mean --list?)" TRY, OPT_LIST},
    {{"status", "-k", "a"}, {NULL}, 64,
	"no key given (did you mean --status?)" TRY, OPT_STATUS},
    {{"pause", "a*"}, {NULL}, 64, "no key given (did you mean --pause?)" TRY,
	OPT_PAUSE},
    {{"help"}, {NULL}, 64, "no key given (did you mean --help?)" TRY, OPT_HELP},
    {{"unlock", "-k", "a"}, {NULL}, 64,
	"no key given (did you mean --force-release?)" TRY, OPT_FORCE_RELEASE},
    {{"info"}, {NULL}, 64, "no key given (did you mean --status?)" TRY,
	OPT_STATUS},
    {{"dump-options"}, {NULL}, 64, NO_KEY, OPT_KEY},
    {{"lists"}, {NULL}, 64, NO_KEY, OPT_KEY},
    {{"--status", "list"}, {NULL}, 64, NO_KEY, OPT_STATUS},
    {{"run", "-k", "a", "ls"}, {NULL}, 64,
	"no key given: options precede the command (-k NAME COMMAND)" TRY,
	OPT_KEY},
    {{"-k", "a", "-r", "localhost:6379", "ls"}, {NULL}, 64,
	"-r: " NO_SCHEME("localhost:6379") TRY, OPT_REDIS},
    {{"-k", "a", "-r", "localhost", "ls"}, {NULL}, 64,
	"-r: " NO_SCHEME("localhost") TRY, OPT_REDIS},
    {{"-k", "a", "ls"}, {"RLOCKRUN_REDIS=10.0.0.1:6379"}, 78,
	"RLOCKRUN_REDIS: " NO_SCHEME("10.0.0.1:6379") "\n", OPT_HELP},
    {{"-k", "a", "ls"}, {"REDIS_URL=h:1"}, 78,
	"REDIS_URL: " NO_SCHEME("h:1") "\n", OPT_HELP},
    {{"-k", "a", "-r", "s3cret", "ls"}, {NULL}, 64, "-r: " SCHEMES TRY,
	OPT_REDIS},
    {{"-k", "a", "-r", "ops:1@h:6379", "ls"}, {NULL}, 64, "-r: " SCHEMES TRY,
	OPT_REDIS},
    {{"-k", "a", "-r", "h:1:s3cret", "ls"}, {NULL}, 64, "-r: " SCHEMES TRY,
	OPT_REDIS},
    {{"-k", "a", "-s", "-p", "2", "ls"}, {NULL}, 64,
	"-p and -s exclude each other" TRY, OPT_PERMITS},
    {{"-k", "a", "-e", "--shared", "ls"}, {NULL}, 64,
	"-s and -x exclude each other" TRY, OPT_SHARED},
    {{"-k", "a", "ls"}, {"RLOCKRUN_SHARED=1", "RLOCKRUN_PERMITS=2"}, 78,
	"RLOCKRUN_PERMITS and RLOCKRUN_SHARED exclude each other\n", OPT_HELP},
    {{"--password=pw"}, {NULL}, 64, NO_PASSWORD, OPT_PASSWORD_FILE},
    {{"-k", "a", "--password", "pw", "ls"}, {NULL}, 64, NO_PASSWORD,
	OPT_PASSWORD_FILE},
    {{"--pass=pw"}, {NULL}, 64, UNKNOWN " --pass" MEANT("password-file") TRY,
	OPT_PASSWORD_FILE},
    {{"--quiet=1"}, {NULL}, 64, "--quiet takes no argument" TRY, OPT_QUIET},
    {{"--nonblock=1"}, {NULL}, 64, "--nonblock takes no argument" TRY,
	OPT_NONBLOCK},
    {{"--help=1"}, {NULL}, 64, "--help takes no argument" TRY, OPT_HELP},
    {{"-z", "-t", "0", "-k"}, {"RLOCKRUN_WAIT=x"}, 64, "unknown option -z" TRY,
	OPT_KEY},
    {{"-hook", "-k", "a", "ls"}, {NULL}, 64,
	"unknown option -hook (did you mean --hook?)" TRY, OPT_HOOK},
    {{"-k", "a", "-hook=b", "ls"}, {NULL}, 64,
	"unknown option -hook (did you mean --hook?)" TRY, OPT_HOOK},
    {{"-help"}, {NULL}, 64, "unknown option -help (did you mean --help?)" TRY,
	OPT_HELP},
    {{"-nh"}, {NULL}, 64, "-h cannot be combined with other letters" TRY,
	OPT_HELP},
    {{"-hn", "-k", "a", "ls"}, {NULL}, 64,
	"-h cannot be combined with other letters" TRY, OPT_HELP},
    {{"-k", "a", "-nhq", "ls"}, {NULL}, 64,
	"-h cannot be combined with other letters" TRY, OPT_HELP},
    {{"-hrredis://:pw@h"}, {NULL}, 64,
	"-h cannot be combined with other letters" TRY, OPT_HELP},
    {{"--list", "a", "-qV"}, {NULL}, 64,
	"-V cannot be combined with other letters" TRY, OPT_VERSION},
    {{"-z", "-h"}, {NULL}, 64, "unknown option -z" TRY, OPT_KEY},
};

/* The message, with the example before the hint. */
static const char *
with_example(const char *message, enum option_id id)
{
	static char text[1024];
	const char *hint = strstr(message, TRY);
	const char *example = opts_table[id].example;

	if (hint == NULL || *example == '\0')
		return message;
	snprintf(text, sizeof(text), "%.*s; for example: %s%s",
	    (int)(hint - message), message, example, hint);
	return text;
}

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

static void
test_bad(void)
{
	char want[512];

	for (size_t i = 0; i < LENGTH(bad); i++) {
		snprintf(want, sizeof(want), "rlockrun: %.*s%s\n",
		    (int)strcspn(bad[i].message, "\n"), bad[i].message,
		    bad[i].status == 78 ? "; command not started" : "");
		check_mistake(bad[i].args, bad[i].env, bad[i].status,
		    with_example(want, bad[i].example));
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
	    {{NULL}, "no key given (-k NAME)" TRY},
	    {{"job"}, "no key given (-k NAME)" TRY},
	    {{"-k", ""}, "the key is empty" TRY},
	    {{"-k", KEY_1024 "a"}, TOO_LONG},
	    {{"-k", "a:rlk:b"}, HELPER},
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

#define NONE_OF_OURS " is not a variable of rlockrun; ignored"
#define MEANT_VARIABLE(name) " (did you mean RLOCKRUN_" name "?)\n"

/* No value is shown, which may be a password. */
static void
test_unknown_variables(void)
{
	const char *const *unknown = LIST("RLOCKRUN_WIAT=secret",
	    "RLOCKRUN_TIMEOUT=5", "RLOCKRUN_max_ruN=5", "RLOCKRUN_PASWORD=s",
	    "RLOCKRUN_YES=1", "RLOCKRUN_FRUIT=5", "RLOCKRUN_TLT=5",
	    "RLOCKRUN_EMPTI=", "RLOCKRUNNER=5");
	static const char want[] =
	    "rlockrun: RLOCKRUN_WIAT" NONE_OF_OURS MEANT_VARIABLE(
		"WAIT") "rlockrun: RLOCKRUN_TIMEOUT" NONE_OF_OURS
		MEANT_VARIABLE("WAIT") "rlockrun: RLOCKRUN_max_ruN" NONE_OF_OURS
		    MEANT_VARIABLE(
			"MAX_RUN") "rlockrun: RLOCKRUN_PASWORD" NONE_OF_OURS
			MEANT_VARIABLE(
			    "PASSWORD") "rlockrun: RLOCKRUN_YES is ignored: "
					"--yes is for the command line "
					"only\n"
					"rlockrun: RLOCKRUN_FRUIT" NONE_OF_OURS
					"\n"
					"rlockrun: RLOCKRUN_TLT" NONE_OF_OURS
					    MEANT_VARIABLE("TTL");

	check_mistake(LIST("-k", "a", "ls"), unknown, 0, "");
	check_mistake(LIST("-v", "-r", "redis://h", "-k", "a", "ls"), unknown,
	    0, want);
	check_mistake(LIST("-v", "-k", "a", "-t", "0", "ls"), unknown, 64,
	    "rlockrun: -t '0': not a duration from 1s to 365d" TRY);
	check_mistake(LIST("-k", "a", "ls"),
	    LIST("RLOCKRUN_VERBOSE=1", "REDIS_URL=redis://h",
		"RLOCKRUN_FRUIT=5"),
	    0, "rlockrun: RLOCKRUN_FRUIT" NONE_OF_OURS "\n");
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
