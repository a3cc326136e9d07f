/* Command lines and variables that are refused: the message and the status. */
#include "parsed.h"
#include "tap.h"

#define NO_DURATION                                                      \
	"not a duration (a number with ms, s, min, h or d, such as 90, " \
	"1.5h or 1h30m)"
#define TRY "; try 'rlockrun --help'\n"
#define TEN "aaaaaaaaaa"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define KEY_1024                                                        \
	HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED \
	    HUNDRED HUNDRED TEN TEN "aaaa"

#define UNKNOWN "unknown or ambiguous option"
#define MEANT(name) " (did you mean --" name "?)"
#define SWITCH "': neither yes nor no\n"

static const struct bad_case {
	const char *args[MAX], *env[MAX];
	int status;
	const char *message;
} bad[] = {
    {{NULL}, {NULL}, 64, "no key given (-k NAME)" TRY},
    {{"ls"}, {NULL}, 64, "no key given (-k NAME)" TRY},
    {{"-k"}, {NULL}, 64, "-k needs an argument" TRY},
    {{"--ttl"}, {NULL}, 64, "--ttl needs an argument" TRY},
    {{"-k", "", "ls"}, {NULL}, 64, "the key is empty" TRY},
    {{"-k", "", "ls"}, {"RLOCKRUN_PREFIX=p"}, 64, "the key is empty" TRY},
    {{"-k", KEY_1024 "a", "ls"}, {NULL}, 64,
	"the key is longer than 1024 bytes" TRY},
    {{"-k", KEY_1024, "ls"}, {"RLOCKRUN_PREFIX=a"}, 64,
	"the key is longer than 1024 bytes" TRY},
    {{"-k", "a:rlk:b", "ls"}, {NULL}, 64,
	"a key can't contain ':rlk:' or ':rlkt:'" TRY},
    {{"-k", "a:rlkt:b", "ls"}, {NULL}, 64,
	"a key can't contain ':rlk:' or ':rlkt:'" TRY},
    {{"-k", "lk:b", "ls"}, {"RLOCKRUN_PREFIX=a:r"}, 64,
	"a key can't contain ':rlk:' or ':rlkt:'" TRY},
    {{"-k", "a", "-k", "b", "-k", "a", "ls"}, {NULL}, 64,
	"the same key is given twice: \"a\"" TRY},
    {{"-k", "a", "--key=", "ls"}, {NULL}, 64, "the key is empty" TRY},
    {{"-k", "a", "-k", "b\nc", "ls"}, {NULL}, 64,
	"one of several keys can't contain a newline" TRY},
    {{"-k", "a"}, {NULL}, 64, "no command given" TRY},
    {{"--status"}, {NULL}, 64, "no key given (-k NAME)" TRY},
    {{"--status", "-k", "a", "ls"}, {NULL}, 64,
	"--status takes no command" TRY},
    {{"--status", "--list"}, {NULL}, 64,
	"--status and --list exclude each other" TRY},
    {{"--list", "a", "-k", "b"}, {NULL}, 64, "--list takes a GLOB, not -k" TRY},
    {{"--yes", "-k", "a", "ls"}, {NULL}, 64, "--yes needs --force-release" TRY},
    {{"--json", "-k", "a", "ls"}, {NULL}, 64,
	"--json needs --status, --list or --doctor" TRY},
    {{"-k", "a", "--"}, {NULL}, 64, "no command given" TRY},
    {{"-k", "a", ""}, {NULL}, 64, "the command is empty" TRY},
    {{"-k", "a", "-c", ""}, {NULL}, 64, "the command is empty" TRY},
    {{"-k", "a", "-c", "x", "y"}, {NULL}, 64,
	"-c takes no further arguments" TRY},
    {{"-k", "a", "-c", "x", "-c", "y"}, {NULL}, 64, "-c can be given once" TRY},
    {{"-k", "a", "-t", "0", "ls"}, {NULL}, 64,
	"-t '0': not a duration from 1s to 365d" TRY},
    {{"-k", "a", "-t", "999ms", "ls"}, {NULL}, 64,
	"-t '999ms': not a duration from 1s to 365d" TRY},
    {{"-k", "a", "--ttl=366d", "ls"}, {NULL}, 64,
	"--ttl '366d': not a duration from 1s to 365d" TRY},
    {{"-k", "a", "-t", "30x", "ls"}, {NULL}, 64, "-t '30x': " NO_DURATION TRY},
    {{"-k", "a", "-t", "1e9", "ls"}, {NULL}, 64, "-t '1e9': " NO_DURATION TRY},
    {{"-k", "a", "-t", "", "ls"}, {NULL}, 64, "-t '': " NO_DURATION TRY},
    {{"-k", "a", "-t", "\033", "ls"}, {NULL}, 64,
	"-t '\\x1b': " NO_DURATION TRY},
    {{"-k", "a", "ls"}, {"RLOCKRUN_TTL=30x"}, 78,
	"RLOCKRUN_TTL '30x': " NO_DURATION "\n"},
    {{"-k", "a", "-w", "-1", "ls"}, {NULL}, 64, "-w '-1': " NO_DURATION TRY},
    {{"-k", "a", "--timeout", "x", "ls"}, {NULL}, 64,
	"--wait 'x': " NO_DURATION TRY},
    {{"-k", "a", "-n", "-w", "5", "ls"}, {NULL}, 64,
	"-n and -w exclude each other" TRY},
    {{"-k", "a", "-w", "5", "-n", "ls"}, {"RLOCKRUN_WAIT=0"}, 64,
	"-n and -w exclude each other" TRY},
    {{"-k", "a", "ls"}, {"RLOCKRUN_NONBLOCK=1", "RLOCKRUN_WAIT=5"}, 78,
	"RLOCKRUN_NONBLOCK and RLOCKRUN_WAIT exclude each other\n"},
    {{"-k", "a", "-E", "300", "ls"}, {NULL}, 64,
	"-E '300': not a number from 0 to 255" TRY},
    {{"-k", "a", "-E", "-1", "ls"}, {NULL}, 64,
	"-E '-1': not a number from 0 to 255" TRY},
    {{"-k", "a", "ls"}, {"RLOCKRUN_CONFLICT_EXIT_CODE=256"}, 78,
	"RLOCKRUN_CONFLICT_EXIT_CODE '256': not a number from 0 to 255\n"},
    {{"-k", "a", "ls"}, {"RLOCKRUN_QUIET=2"}, 78, "RLOCKRUN_QUIET '2" SWITCH},
    {{"-k", "a", "ls"}, {"RLOCKRUN_VERBOSE=YES"}, 78,
	"RLOCKRUN_VERBOSE 'YES" SWITCH},
    {{"-k", "a", "--on-lost", "die", "ls"}, {NULL}, 64,
	"--on-lost 'die': neither stop nor warn" TRY},
    {{"-k", "a", "--on-lost", "stop|warn", "ls"}, {NULL}, 64,
	"--on-lost 'stop|warn': neither stop nor warn" TRY},
    {{"-k", "a", "--on-lost", "sto", "ls"}, {NULL}, 64,
	"--on-lost 'sto': neither stop nor warn" TRY},
    {{"-k", "a", "ls"}, {"RLOCKRUN_ON_UNAVAILABLE=x"}, 78,
	"RLOCKRUN_ON_UNAVAILABLE 'x': neither fail nor run\n"},
    {{"-k", "a", "--kill-after", "x", "ls"}, {NULL}, 64,
	"--kill-after 'x': " NO_DURATION TRY},
    {{"-k", "a", "--server-timeout", "0", "ls"}, {NULL}, 64,
	"--server-timeout '0': not a duration above 0 and up to 3653d" TRY},
    {{"-k", "a", "--max-run", "0", "ls"}, {NULL}, 64,
	"--max-run '0': not a duration above 0 and up to 3653d" TRY},
    {{"-k", "a", "-r", "redis://h", "-r", "redis://x:y@h:6379", "ls"}, {NULL},
	64, "the same server is given twice: redis://h:6379" TRY},
    {{"-k", "a", "ls"}, {"RLOCKRUN_REDIS=redis://h redis://h"}, 78,
	"the same server is given twice: redis://h:6379\n"},
    {{"-k", "a", "-r", "redis://h redis://i", "ls"}, {NULL}, 64,
	"-r: one server per -r (-r URL -r URL)" TRY},
    {{"-k", "a", "-s", "-r", "redis://h", "-r", "redis://i", "ls"}, {NULL}, 64,
	"locks on several servers are exclusive" TRY},
    {{"-k", "a", "-p", "2", "ls"}, {"RLOCKRUN_REDIS=redis://h redis://i"}, 64,
	"locks on several servers are exclusive" TRY},
    {{"-k", "a", "ls"},
	{"RLOCKRUN_SHARED=1", "RLOCKRUN_REDIS=redis://h redis://i"}, 78,
	"locks on several servers are exclusive\n"},
    {{"-k", "a", "-k", "b", "-rredis://h", "-rredis://i", "ls"}, {NULL}, 64,
	"several servers hold one lock, not several (-k)" TRY},
    {{"-k", "a", "--max-waiters=1", "-rredis://h", "-rredis://i", "ls"}, {NULL},
	64,
	"--max-waiters needs a single server: several servers keep no "
	"queue" TRY},
    {{"-k", "a", "--min-uptime", "-1", "ls"}, {NULL}, 64,
	"--min-uptime '-1': " NO_DURATION TRY},
    {{"-k", "a", "-r", "redis://:pw@h:70000", "ls"}, {NULL}, 64,
	"-r: port must be 1 to 65535" TRY},
    {{"-k", "a", "--redis=redis://", "ls"}, {NULL}, 64, "--redis: no host" TRY},
    {{"-k", "a", "-r", "", "ls"}, {NULL}, 64,
	"-r: unknown scheme (redis://, rediss://, unix://, "
	"redis-sentinel:// or redis-cluster://)" TRY},
    {{"-k", "a", "-r", "redis://h%", "ls"}, {NULL}, 64,
	"-r: bad character in the host name" TRY},
    {{"-k", "a", "-r", "redis://:%@h", "ls"}, {NULL}, 64,
	"-r: bad percent-escape" TRY},
    {{"-k", "a", "ls"}, {"RLOCKRUN_REDIS=http://:pw@h"}, 78,
	"RLOCKRUN_REDIS: unknown scheme (redis://, rediss://, unix://, "
	"redis-sentinel:// or redis-cluster://)\n"},
    {{"-k", "a", "ls"}, {"RLOCKRUN_REDIS= "}, 78, "RLOCKRUN_REDIS: no URL\n"},
    {{"-k", "a", "ls"}, {"RLOCKRUN_REDIS=redis://a http://b"}, 78,
	"RLOCKRUN_REDIS: unknown scheme (redis://, rediss://, unix://, "
	"redis-sentinel:// or redis-cluster://)\n"},
    {{"-k", "a", "ls"}, {"REDIS_URL=redis://a redis://b"}, 78,
	"REDIS_URL: one server per -r (-r URL -r URL)\n"},
    {{"-k", "a", "ls"}, {"REDIS_URL=rediss://:pw@h?x"}, 78,
	"REDIS_URL: only unix:// takes a query (?db=N), and no URL takes "
	"a fragment\n"},
    {{"-k", "a", "--tls-ca", "f", "ls"}, {NULL}, 64,
	"--tls-ca needs a server with TLS (rediss://)" TRY},
    {{"-k", "a", "-r", "unix:///s", "--tls-cert", "f", "ls"}, {NULL}, 64,
	"--tls-cert needs a server with TLS (rediss://)" TRY},
    {{"-k", "a", "-r", "rediss://h", "--tls-key", "f", "ls"}, {NULL}, 64,
	"a key without its certificate (--tls-cert)" TRY},
    {{"-k", "a", "-r", "rediss://h", "ls"}, {"RLOCKRUN_TLS_KEY=f"}, 78,
	"a key without its certificate (--tls-cert)\n"},
    {{"-k", "a", "ls"},
	{"RLOCKRUN_PASSWORD=p", "RLOCKRUN_PASSWORD_FILE=/nonexistent"}, 78,
	"RLOCKRUN_PASSWORD and RLOCKRUN_PASSWORD_FILE exclude each other\n"},
    {{"-z"}, {NULL}, 64, "unknown option -z" TRY},
    {{"-z"}, {NULL}, 64, "unknown option -z" TRY},
    {{"-k", "a", "-q5", "ls"}, {NULL}, 64, "unknown option -5" TRY},
    {{"--nope=redis://:pw@h"}, {NULL}, 64,
	"unknown or ambiguous option --nope" TRY},
    {{"--tll", "5", "ls"}, {NULL}, 64, UNKNOWN " --tll" MEANT("ttl") TRY},
    {{"--tll=5"}, {NULL}, 64, UNKNOWN " --tll" MEANT("ttl") TRY},
    {{"--staus"}, {NULL}, 64, UNKNOWN " --staus" MEANT("status") TRY},
    {{"--nonblok"}, {NULL}, 64, UNKNOWN " --nonblok" MEANT("nonblock") TRY},
    {{"--max_run", "5"}, {NULL}, 64, UNKNOWN " --max_run" MEANT("max-run") TRY},
    {{"--forec-realease"}, {NULL}, 64,
	UNKNOWN " --forec-realease" MEANT("force-release") TRY},
    {{"--foo"}, {NULL}, 64, UNKNOWN " --foo" TRY},
    {{"--dump-option5"}, {NULL}, 64, UNKNOWN " --dump-option5" TRY},
    {{"--"}, {NULL}, 64, "no key given (-k NAME)" TRY},
    {{"--on"}, {NULL}, 64, "unknown or ambiguous option --on" TRY},
    {{"--password=pw"}, {NULL}, 64,
	"--password: not accepted here, where everyone can see it "
	"(--password-file FILE)" TRY},
    {{"--pass=pw"}, {NULL}, 64, "unknown or ambiguous option --pass" TRY},
    {{"--quiet=1"}, {NULL}, 64, "--quiet takes no argument" TRY},
    {{"--help=1"}, {NULL}, 64, "--help takes no argument" TRY},
    {{"-z", "-t", "0", "-k"}, {"RLOCKRUN_WAIT=x"}, 64, "unknown option -z" TRY},
    {{"-z", "-h"}, {NULL}, 64, "unknown option -z" TRY},
};

static void
test_bad(void)
{
	char want[256];
	struct run run;

	for (size_t i = 0; i < LENGTH(bad); i++) {
		run_start(&run, bad[i].args, bad[i].env);
		snprintf(want, sizeof(want), "rlockrun: %.*s%s\n",
		    (int)strcspn(bad[i].message, "\n"), bad[i].message,
		    bad[i].status == 78 ? "; command not started" : "");
		is_text(run.message, want, "bad input");
		is_int(run.status, bad[i].status, "  status");
		run_end(&run);
	}
}

int
main(void)
{
	test_bad();
	return tap_done();
}
