#include "options/opts_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/exitcode.h"
#include "options/opts_help.h"
#include "parsed.h"
#include "tap.h"

#define NO_SERVER                                            \
	"rlockrun: " OPTS_NO_SERVER " (put \"redis = URL\" " \
	"into /etc/rlockrun.conf)\n"

static void
test_defaults(void)
{
	struct run run;

	run_start(&run, LIST("-k", "job", "ls", "-l", "-k"), NONE);
	is_int(run.status, 0, "defaults are accepted");
	is_text(run.message, "", "without a word");
	is_int(run.opts.action, OPTS_RUN, "action");
	is_text(run.opts.keys[0].key, "job", "key");
	is_text(run.opts.names, "job", "name");
	is_text(run.opts.servers[0].label, "redis://127.0.0.1:6379", "server");
	is_text(run.opts.servers[0].user, NULL, "user");
	is_text(run.opts.servers[0].password, NULL, "password");
	is_int(run.opts.lock.ttl_ms, 30000, "ttl");
	is_int(run.opts.wait_ms, OPTS_WAIT_FOREVER, "wait");
	is_int(run.opts.kill_after_ms, 5000, "kill-after");
	is_int(run.opts.lock.server_timeout_ms, 10000, "server-timeout");
	is_int(run.opts.conflict_exit, 75, "conflict-exit-code");
	ok(!run.opts.quiet && !run.opts.verbose && !run.opts.wait_all &&
		!run.opts.lost_warn && !run.opts.on_unavailable,
	    "switches are off");
	is_text(run.opts.shell_command, NULL, "no shell command");
	is_text(run.opts.command[0], "ls", "command");
	is_text(run.opts.command[2], "-k", "the command's options are its own");
	is_text(run.opts.command[3], NULL, "the command ends with NULL");
	run_end(&run);
}

static void
test_several_keys(void)
{
	struct run run;

	run_start(&run, LIST("-k", "b", "--key=a", "--prefix=p:", "ls"), NONE);
	is_int(run.status, 0, "several keys are accepted");
	is_int((int64_t)run.opts.key_count, 2, "all of them");
	is_text(run.opts.keys[0].key, "p:b", "in the order given");
	is_text(run.opts.keys[1].key, "p:a", "each with the prefix");
	is_text(run.opts.names, "b\na", "for the job");
	run_end(&run);
	run_start(&run, LIST("-k", "a\nb", "ls"), NONE);
	is_text(run.opts.names, "a\nb", "one alone may have a newline");
	run_end(&run);
	run_start(&run, LIST("-k", KEY_1024, "ls"), NONE);
	is_int(run.status, 0, "a key may have 1024 bytes");
	run_end(&run);
}

/* The compiler accepts a text that fills its array without a NUL. */
static void
test_table(void)
{
	for (enum option_id id = 0; id < OPT_COUNT; id++) {
		const struct opts_row *row = &opts_table[id];
		const struct {
			const char *text;
			size_t size;
		} texts[] = {{row->section, sizeof(row->section)},
		    {row->shorts, sizeof(row->shorts)},
		    {row->longs[0], sizeof(row->longs[0])},
		    {row->longs[1], sizeof(row->longs[1])},
		    {row->longs[2], sizeof(row->longs[2])},
		    {row->argument, sizeof(row->argument)},
		    {row->implied, sizeof(row->implied)},
		    {row->preset, sizeof(row->preset)},
		    {row->cron, sizeof(row->cron)},
		    {row->variable, sizeof(row->variable)},
		    {row->help, sizeof(row->help)},
		    {row->mistake, sizeof(row->mistake)},
		    {row->with_names, sizeof(row->with_names)}};
		bool ended = true;

		for (size_t i = 0; i < LENGTH(texts); i++)
			ended &=
			    memchr(texts[i].text, '\0', texts[i].size) != NULL;
		ok(ended, "the texts of --%s end", row->longs[0]);
	}
}

/* What one setting does, given as options or as one variable. */
static const struct setting_case {
	const char *args[MAX];
	const char *variable;
	const char *what; /* as told by describe(), below */
} settings[] = {
    {{"-e"}, NULL, ""},
    {{"-x"}, NULL, ""},
    {{"--exclusive"}, NULL, ""},
    {{"--"}, NULL, ""},
    {{"-t", "1"}, "RLOCKRUN_TTL=1s", "ttl=1000 kill=166 "},
    {{"--ttl=2m"}, "RLOCKRUN_TTL=2m", "ttl=120000 "},
    {{"-t365d"}, "RLOCKRUN_TTL=365d", "ttl=31536000000 "},
    {{"-t", "9", "-t", "60"}, NULL, "ttl=60000 "},
    {{"-t", "1min 30sec"}, "RLOCKRUN_TTL=1m30s", "ttl=90000 "},
    {{"-t", "1000ms"}, NULL, "ttl=1000 kill=166 "},
    {{NULL}, "RLOCKRUN_TTL=2min", "ttl=120000 "},
    {{"-n"}, "RLOCKRUN_NONBLOCK=1", "wait=0 "},
    {{"--nb"}, "RLOCKRUN_NONBLOCK=yes", "wait=0 "},
    {{"--nonblock"}, "RLOCKRUN_NONBLOCK=true", "wait=0 "},
    {{"--nonblocking"}, "RLOCKRUN_NONBLOCK=on", "wait=0 "},
    {{"-n", "-w", "0"}, NULL, "wait=0 "},
    {{"-w", "0"}, "RLOCKRUN_WAIT=0", "wait=0 "},
    {{"--wait", "1.5"}, "RLOCKRUN_WAIT=1.5", "wait=1500 "},
    {{"--timeout=1h"}, "RLOCKRUN_WAIT=1h", "wait=3600000 "},
    {{"-w", "1h30m"}, "RLOCKRUN_WAIT=90m", "wait=5400000 "},
    {{"-w", "3653d"}, "RLOCKRUN_WAIT=3653d", "wait=315619200000 "},
    {{"-E", "0"}, "RLOCKRUN_CONFLICT_EXIT_CODE=0", "conflict=0 "},
    {{"--conflict-exit-code=255"}, "RLOCKRUN_CONFLICT_EXIT_CODE=255",
	"conflict=255 "},
    {{"-q"}, "RLOCKRUN_QUIET=1", "quiet "},
    {{"--quiet"}, "RLOCKRUN_QUIET=on", "quiet "},
    {{"--label", "a b"}, "RLOCKRUN_LABEL=a b", "label=a b "},
    {{"--label", ""}, "RLOCKRUN_LABEL=", ""},
    {{"--label", "a", "--label", ""}, NULL, ""},
    {{"--once-id", "a:b"}, "RLOCKRUN_ONCE_ID=a:b", "once-id=a:b "},
    {{NULL}, "RLOCKRUN_ONCE_ID=", ""},
    {{"--expect", "1d"}, "RLOCKRUN_EXPECT=1d", "expect=86400000 "},
    {{"--expect", "0"}, "RLOCKRUN_EXPECT=0", "expect=0 "},
    {{"--wait-all"}, "RLOCKRUN_WAIT_ALL=yes", "wait-all "},
    {{"--on-lost", "warn"}, "RLOCKRUN_ON_LOST=warn", "lost-warn "},
    {{"--on-lost=stop"}, "RLOCKRUN_ON_LOST=stop", ""},
    {{"--kill-after", "0"}, "RLOCKRUN_KILL_AFTER=0", "kill=0 "},
    {{"--kill-after=1m"}, "RLOCKRUN_KILL_AFTER=1m", "kill=60000 "},
    {{"--kill-after", "500msec"}, NULL, "kill=500 "},
    {{"--on-unavailable=run"}, "RLOCKRUN_ON_UNAVAILABLE=run", "unavailable=1 "},
    {{"--on-unavailable=skip"}, "RLOCKRUN_ON_UNAVAILABLE=skip",
	"unavailable=2 "},
    {{"--on-unavailable=fail"}, "RLOCKRUN_ON_UNAVAILABLE=fail", ""},
    {{"--server-timeout=.1"}, "RLOCKRUN_SERVER_TIMEOUT=100ms",
	"server-timeout=100 "},
    {{"--server-timeout", "0.5minutes"}, NULL, "server-timeout=30000 "},
    {{"--max-run=2hours"}, NULL, "max-run=7200000 "},
    {{"--splay=30"}, "RLOCKRUN_SPLAY=0.5m", "splay=30000 "},
    {{"--max-run", "1h"}, "RLOCKRUN_MAX_RUN=60m", "max-run=3600000 "},
    {{"--warn-after=5m"}, "RLOCKRUN_WARN_AFTER=300", "warn-after=300000 "},
    {{"--hook", "a \"$b\""}, "RLOCKRUN_HOOK=a \"$b\"", "hook=7ff:a \"$b\" "},
    {{"--hook", "none"}, "RLOCKRUN_HOOK=none", ""},
    {{"--hook", "lost,failed=a=b"}, "RLOCKRUN_HOOK=lost,failed=a=b",
	"hook=a0:a=b "},
    {{"--hook", "busy=a", "--hook", "b"}, "RLOCKRUN_HOOK=busy=a\nall=b",
	"hook=1:a hook=7ff:b "},
    {{"--hook", "busy=a", "--hook", "b", "--hook", "none"},
	"RLOCKRUN_HOOK=none", ""},
    {{"--hook", "none", "--hook", "slow=none"}, "RLOCKRUN_HOOK=slow=none",
	"hook=8:none "},
    /* What is not all events is a part of the command. */
    {{"--hook", "x=1 a"}, "RLOCKRUN_HOOK=x=1 a", "hook=7ff:x=1 a "},
    {{"--hook", "x=1;a"}, "RLOCKRUN_HOOK=x=1;a", "hook=7ff:x=1;a "},
    {{"--hook", "x=`a`"}, "RLOCKRUN_HOOK=x=`a`", "hook=7ff:x=`a` "},
    {{"--hook", "x=1\na"}, "RLOCKRUN_HOOK=x=1\na", "hook=7ff:x=1\na "},
    /* like an event, but variables of a script */
    {{"--hook", "wait=5; a"}, "RLOCKRUN_HOOK=wait=5; a", "hook=7ff:wait=5; a "},
    {{"--hook", "release=$(a) b"}, "RLOCKRUN_HOOK=release=$(a) b",
	"hook=7ff:release=$(a) b "},
    {{"--hook", "FAIL=/a b"}, "RLOCKRUN_HOOK=FAIL=/a b", "hook=7ff:FAIL=/a b "},
    {{"--hook", "host=/a b"}, "RLOCKRUN_HOOK=host=/a b", "hook=7ff:host=/a b "},
    {{"--hook", "lost=wait=/a\nb"}, "RLOCKRUN_HOOK=lost=wait=/a\nb",
	"hook=20:wait=/a\nb "},
    {{"--hook", "lost=a\nfail=/b"}, NULL, "hook=20:a\nfail=/b "},
    {{NULL}, "RLOCKRUN_HOOK=lost=a\nwait=5", "hook=20:a\nwait=5 "},
    {{"--hook", "lost =a"}, "RLOCKRUN_HOOK=lost =a", "hook=7ff:lost =a "},
    {{"--hook", "lost"}, "RLOCKRUN_HOOK=lost", "hook=7ff:lost "},
    {{"--hook", "=a"}, "RLOCKRUN_HOOK==a", "hook=7ff:=a "},
    {{"--hook", "a\nb=c\n"}, "RLOCKRUN_HOOK=a\nb=c\n", "hook=7ff:a\nb=c\n "},
    {{"--hook", "waiting=a\nb\nlosing=c"}, NULL, "hook=2:a\nb\nlosing=c "},
    {{NULL}, "RLOCKRUN_HOOK=waiting=a\nb\nlosing=c", "hook=2:a\nb hook=10:c "},
    {{"-r", "redis://h:1"}, "RLOCKRUN_REDIS=redis://h:1",
	"server=redis://h:1 "},
    {{"--redis=unix:///s"}, "RLOCKRUN_REDIS=unix:///s", "server=unix:///s "},
    {{"-rredis://u:p@h:1"}, "REDIS_URL=redis://u:p@h:1",
	"server=redis://h:1 user=u password=p "},
    {{"-r", "redis://u:p@h", "-runix:///s", "-r", "redis://i/2"},
	"RLOCKRUN_REDIS=redis://u:p@h unix:///s  redis://i/2 ",
	"server=redis://h:6379 user=u password=p server=unix:///s "
	"server=redis://i:6379/2 "},
    {{"--min-uptime", "0"}, "RLOCKRUN_MIN_UPTIME=0s", "min-uptime=0 "},
    {{"-t", "2m", "--min-uptime=2m"}, NULL, "ttl=120000 "},
    {{"--min-hold", "2m", "--min-uptime=90s"}, NULL, "min-uptime=90000 "},
    {{"--min-hold", "2m"}, NULL, "min-uptime=120000 "},
    {{"-t", "3m", "--min-hold", "2m"}, NULL, "ttl=180000 "},
    {{"--prefix", "p:"}, "RLOCKRUN_PREFIX=p:", "key=p:job "},
    {{"--user", "bob"}, "RLOCKRUN_USER=bob", "user=bob "},
    {{"--user", ""}, "RLOCKRUN_USER=", ""},
    {{"-v"}, "RLOCKRUN_VERBOSE=1", "verbose "},
    {{"--verbose"}, "RLOCKRUN_VERBOSE=true", "verbose "},
    {{"-qvn"}, NULL, "wait=0 quiet verbose "},
    {{"-nq", "-t2", "-E9"}, NULL, "ttl=2000 wait=0 kill=333 conflict=9 quiet "},
    /* as flock(1) has them */
    {{"-s", "-n"}, NULL, "kind=s wait=0 "},
    {{"-x", "-w", "5"}, NULL, "wait=5000 "},
    {{"-e", "--wait", "1.5"}, NULL, "wait=1500 "},
    {{"--nb", "-E", "9"}, NULL, "wait=0 conflict=9 "},
    {{"--timeout", "3", "--verbose"}, NULL, "wait=3000 verbose "},
    {{"--shared", "--nonblock", "--conflict-exit-code", "4"}, NULL,
	"kind=s wait=0 conflict=4 "},
    {{"--exclusive", "--nonblocking"}, NULL, "wait=0 "},
    {{"--verb"}, NULL, "verbose "},
    {{"--non"}, NULL, "wait=0 "},
    {{"--nonblocki"}, NULL, "wait=0 "},
    {{NULL}, "RLOCKRUN_PASSWORD=secret", "password=secret "},
    {{NULL}, "RLOCKRUN_PASSWORD=", ""},
    {{NULL}, "RLOCKRUN_PASSWORD=secret\n", "password=secret "},
    {{NULL}, "RLOCKRUN_PASSWORD=secret\r\n", "password=secret "},
    {{NULL}, "RLOCKRUN_PASSWORD=secret\r", "password=secret "},
    {{NULL}, "RLOCKRUN_PASSWORD=sec\rret \n", "password=sec\rret  "},
    {{"-r", "redis://h:1\n"}, "REDIS_URL=redis://h:1\r\n",
	"server=redis://h:1 "},
    {{"-r", "redis://h:1", "-r", "redis://h:2", "-r", "redis://h:3"},
	"RLOCKRUN_REDIS=redis://h:1\nredis://h:2\r\nredis://h:3\r",
	"server=redis://h:1 server=redis://h:2 server=redis://h:3 "},
    {{NULL}, "RLOCKRUN_NONBLOCK=0", ""},
    {{NULL}, "RLOCKRUN_NONBLOCK=no", ""},
    {{NULL}, "RLOCKRUN_QUIET=false", ""},
    {{NULL}, "RLOCKRUN_QUIET=off", ""},
    {{NULL}, "RLOCKRUN_TTL=", ""},
    {{NULL}, "RLOCKRUN_REDIS=", ""},
    {{NULL}, "REDIS_URL=", ""},
    /* not ours, or command line only */
    {{NULL}, "RLOCKRUN_TTL_MS=1", ""},
    {{NULL}, "RLOCKRUN_KEY=other", ""},
    {{NULL}, "RLOCKRUN_COMMAND=other", ""},
    {{NULL}, "RLOCKRUN_HELP=1", ""},
    {{NULL}, "RLOCKRUN_USE=x", ""},
    {{NULL}, "RLOCKRUN_USERS=x", ""},
    {{NULL}, "XRLOCKRUN_USER=x", ""},
    {{NULL}, "RLOCKRUN_USER", ""},
};

/* What differs from the defaults. */
static void
describe(const struct opts *opts, char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");

	if (strcmp(opts->keys[0].key, "job") != 0)
		fprintf(out, "key=%s ", opts->keys[0].key);
	if (opts->lock.kind != &kind_exclusive)
		fprintf(out, "kind=%s ", opts->lock.kind->letter);
	for (size_t i = 0; i < opts->server_count; i++) {
		const struct endpoint *server = &opts->servers[i];
		if (strcmp(server->label, "redis://127.0.0.1:6379") != 0)
			fprintf(out, "server=%s ", server->label);
		if (server->user != NULL)
			fprintf(out, "user=%s ", server->user);
		if (server->password != NULL)
			fprintf(out, "password=%s ", server->password);
	}
	if (opts->lock.min_uptime_ms !=
	    (opts->lock.ttl_ms > 60000 ? opts->lock.ttl_ms : 60000))
		fprintf(out, "min-uptime=%" PRId64 " ",
		    opts->lock.min_uptime_ms);
	if (opts->lock.ttl_ms != 30000)
		fprintf(out, "ttl=%" PRId64 " ", opts->lock.ttl_ms);
	if (opts->wait_ms != OPTS_WAIT_FOREVER)
		fprintf(out, "wait=%" PRId64 " ", opts->wait_ms);
	if (opts->kill_after_ms != 5000)
		fprintf(out, "kill=%" PRId64 " ", opts->kill_after_ms);
	if (opts->lock.server_timeout_ms != 10000)
		fprintf(out, "server-timeout=%" PRId64 " ",
		    opts->lock.server_timeout_ms);
	if (opts->splay_ms != 0)
		fprintf(out, "splay=%" PRId64 " ", opts->splay_ms);
	if (opts->max_run_ms != 0)
		fprintf(out, "max-run=%" PRId64 " ", opts->max_run_ms);
	if (opts->warn_after_ms != 0)
		fprintf(out, "warn-after=%" PRId64 " ", opts->warn_after_ms);
	for (size_t i = 0; i < opts->hook_count; i++) {
		const struct opts_hook *hook = &opts->hooks[i];

		fprintf(out, "hook=%x:%.*s ", hook->events,
		    (int)(hook->text + hook->length - hook->command),
		    hook->command);
	}
	if (opts->conflict_exit != 75)
		fprintf(out, "conflict=%d ", opts->conflict_exit);
	if (*opts->lock.label != '\0')
		fprintf(out, "label=%s ", opts->lock.label);
	if (opts->lock.expect_ms != CONFIG_EXPECT_UNSTATED)
		fprintf(out, "expect=%" PRId64 " ", opts->lock.expect_ms);
	if (opts->lock.once_id != NULL)
		fprintf(out, "once-id=%s ", opts->lock.once_id);
	if (opts->on_unavailable != OPTS_UNAVAILABLE_FAIL)
		fprintf(out, "unavailable=%d ", opts->on_unavailable);
	fprintf(out, "%s%s%s%s", opts->quiet ? "quiet " : "",
	    opts->verbose ? "verbose " : "", opts->wait_all ? "wait-all " : "",
	    opts->lost_warn ? "lost-warn " : "");
	fclose(out);
}

/* Behind args, the run gets what every run needs. */
static void
check_run(const char *const *args, const char *const *env, const char *want,
    const char *title)
{
	const char *list[MAX + 5] = {"-k", "job"};
	char got[256] = "";
	struct run run;
	size_t count = 2;

	for (; *args != NULL && strcmp(*args, "--") != 0; args++)
		list[count++] = *args;
	list[count++] = "--";
	list[count] = "ls";
	run_start(&run, list, env);
	is_text(run.message,
	    run.opts.verbose && run.opts.servers[0].is_default ? NO_SERVER : "",
	    title);
	if (run.status == 0)
		describe(&run.opts, got, sizeof(got));
	is_text(got, want, "  sets what it should");
	run_end(&run);
}

static void
test_settings(void)
{
	for (size_t i = 0; i < LENGTH(settings); i++) {
		const struct setting_case *test = &settings[i];

		if (test->args[0] != NULL)
			check_run(test->args, NONE, test->what, test->args[0]);
		if (test->variable != NULL)
			check_run(NONE, LIST(test->variable), test->what,
			    test->variable);
	}
}

/* Each with the globs that it ends up with. */
static const struct look_case {
	const char *args[MAX];
	enum opts_action action;
	const char *globs;
} looks[] = {
    {{"--status", "-k", "a"}, OPTS_STATUS, ""},
    {{"-k", "a", "--force-release", "--yes"}, OPTS_FORCE_RELEASE, ""},
    {{"-k", "a", "--hold", "5m"}, OPTS_HOLD, ""},
    {{"-k", "a", "--hold", "5m", "--token", "b", "-n"}, OPTS_HOLD, ""},
    {{"-k", "a", "--hold", "0"}, OPTS_HOLD, NULL},
    {{"-k", "a", "--hold", "5m", "ls"}, OPTS_HOLD, NULL},
    {{"--pause", "a*"}, OPTS_PAUSE, "a* "},
    {{"--pause", "a*", "--for", "2h", "-k", "b", "--json"}, OPTS_PAUSE, "a* "},
    {{"--pause", "a*", "-n", "--label", "x", "--wait-replicas", "1"},
	OPTS_PAUSE, "a* "},
    {{"--pause", ""}, OPTS_PAUSE, " "},
    {{"--pause", "a*", "b"}, OPTS_PAUSE, NULL},
    {{"--pause", "a*", "-k", "b", "ls"}, OPTS_PAUSE, NULL},
    {{"--pause", "a*", "--for", "0"}, OPTS_PAUSE, NULL},
    {{"--pause", "a*", "--for", "366d"}, OPTS_PAUSE, NULL},
    {{"--pause", "a*", "--ttl", "5"}, OPTS_PAUSE, NULL},
    {{"--pause", "a*", "-s"}, OPTS_PAUSE, NULL},
    {{"--pause", "a*", "--resume", "a*"}, OPTS_PAUSE, NULL},
    {{"--pause", "a*", "--token", "b"}, OPTS_PAUSE, NULL},
    {{"--pause", "a*", "-r", "redis://a", "-r", "redis://b"}, OPTS_PAUSE, NULL},
    {{"--for", "5m", "-k", "a", "ls"}, OPTS_RUN, NULL},
    {{"--resume", "a*"}, OPTS_RESUME, "a* "},
    {{"--resume", "a*", "--json"}, OPTS_RESUME, "a* "},
    {{"--resume", "a*", "-k", "b"}, OPTS_RESUME, NULL},
    {{"--resume", "a*", "--for", "5m"}, OPTS_RESUME, NULL},
    {{"--resume", "a*", "b"}, OPTS_RESUME, NULL},
    {{"--doctor"}, OPTS_DOCTOR, ""},
    {{"--doctor", "-k", "a", "--json"}, OPTS_DOCTOR, ""},
    {{"--doctor", "-k", "a", "-k", "b"}, OPTS_DOCTOR, ""},
    {{"--doctor", "ls"}, OPTS_DOCTOR, NULL},
    {{"--doctor", "--list"}, OPTS_DOCTOR, NULL},
    {{"--list"}, OPTS_LIST, ""},
    {{"--list", "a", "b"}, OPTS_LIST, "a b "},
    {{"a", "--list", "b"}, OPTS_RUN, NULL}, /* the command comes first */
    {{"--list", "a", "--json", "b", "-q"}, OPTS_LIST, "a b "},
    {{"--list", "--", "--json", "--"}, OPTS_LIST, "--json -- "},
    {{"--list", "a", "--", "-q"}, OPTS_LIST, "a -q "},
    {{"--list", ""}, OPTS_LIST, " "},
    {{"--list", "a", "--help"}, OPTS_HELP, "a "},
};

static void
test_looks(void)
{
	for (size_t i = 0; i < LENGTH(looks); i++) {
		const struct look_case *test = &looks[i];
		char globs[64] = "";
		struct run run;

		run_start(&run, test->args, NONE);
		is_int(run.status, test->globs == NULL ? 64 : 0, "action");
		if (run.status == 0) {
			is_int(run.opts.action, test->action, "  which");
			for (char **glob = run.opts.globs; *glob; glob++)
				strcat(strcat(globs, *glob), " ");
			is_text(globs, test->globs, "  its globs");
		}
		run_end(&run);
	}
}

static const struct precedence_case {
	const char *args[MAX], *env[MAX], *what;
} precedences[] = {
    {{"-t", "60"}, {"RLOCKRUN_TTL=90"}, "ttl=60000 "},
    {{"-t", "60"}, {"RLOCKRUN_TTL=nonsense"}, "ttl=60000 "},
    {{"-t", "30"}, {"RLOCKRUN_TTL=90"}, ""},
    {{"-n"}, {"RLOCKRUN_WAIT=9"}, "wait=0 "},
    {{"-w", "9"}, {"RLOCKRUN_NONBLOCK=1"}, "wait=9000 "},
    {{"-w", "9"}, {"RLOCKRUN_NONBLOCK=1", "RLOCKRUN_WAIT=5"}, "wait=9000 "},
    {{NULL}, {"RLOCKRUN_NONBLOCK=0", "RLOCKRUN_WAIT=5"}, "wait=5000 "},
    {{NULL}, {"RLOCKRUN_NONBLOCK=1", "RLOCKRUN_WAIT=0"}, "wait=0 "},
    {{"-r", "redis://a:1"}, {"RLOCKRUN_REDIS=redis://b"},
	"server=redis://a:1 "},
    {{"-r", "redis://a:1"}, {"RLOCKRUN_REDIS=bad", "REDIS_URL=bad"},
	"server=redis://a:1 "},
    {{NULL}, {"REDIS_URL=redis://c", "RLOCKRUN_REDIS=redis://b:2"},
	"server=redis://b:2 "},
    {{NULL}, {"REDIS_URL=bad", "RLOCKRUN_REDIS=redis://b:2"},
	"server=redis://b:2 "},
    {{NULL}, {"REDIS_URL=redis://c:3", "RLOCKRUN_REDIS="},
	"server=redis://c:3 "},
    {{"--user", "a"}, {"RLOCKRUN_USER=b", "RLOCKRUN_PASSWORD=p"},
	"user=a password=p "},
    {{"--user", "a", "-r", "redis://u:q@h:1"}, {"RLOCKRUN_PASSWORD=p"},
	"server=redis://h:1 user=u password=q "},
    {{NULL}, {"RLOCKRUN_USER=b\n", "RLOCKRUN_PASSWORD=p\n"},
	"user=b password=p "},
    {{"-r", "redis://u@h:1"}, {"RLOCKRUN_PASSWORD=p"},
	"server=redis://h:1 user=u password=p "},
    {{"-r", "redis://:q@h:1"}, {"RLOCKRUN_PASSWORD_FILE=/nonexistent"},
	"server=redis://h:1 password=q "},
};

static void
test_precedence(void)
{
	for (size_t i = 0; i < LENGTH(precedences); i++)
		check_run(precedences[i].args, precedences[i].env,
		    precedences[i].what, "precedence");
}

static void
test_actions(void)
{
	static const struct {
		const char *arg;
		enum opts_action action;
	} cases[] = {
	    {"-h", OPTS_HELP},
	    {"--help", OPTS_HELP},
	    {"-V", OPTS_VERSION},
	    {"--version", OPTS_VERSION},
	    {"--dump-options", OPTS_DUMP},
	};
	struct run run;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		run_start(&run, LIST(cases[i].arg, "-t", "nonsense"),
		    LIST("RLOCKRUN_TTL=nonsense"));
		is_int(run.status, 0, cases[i].arg);
		is_int(run.opts.action, cases[i].action, "  action");
		run_end(&run);
		run_start(&run, LIST("-nq", "-k", "a", cases[i].arg, "ls"),
		    NONE);
		is_int(run.status, 0, "beside other options");
		is_int(run.opts.action, cases[i].action, "  action");
		run_end(&run);
	}
}

/* What follows the command is the command's. */
static void
test_commands(void)
{
	static const struct {
		const char *args[MAX], *command;
	} cases[] = {
	    {{"echo", "-l", "-k", "-n", "--help", "--", "--nope"},
		"echo -l -k -n --help -- --nope"},
	    {{"--", "echo", "--", "-k"}, "echo -- -k"},
	    {{"-nq", "-kb", "-t2", "-E9", "echo", "all"}, "echo all"},
	};
	struct run run;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		const char *args[MAX + 2] = {"-k", "a"};
		char got[64] = "";

		memcpy(args + 2, cases[i].args, sizeof(cases->args));
		run_start(&run, args, NONE);
		for (char **word = run.opts.command; *word != NULL; word++)
			strcat(strcat(got, word > run.opts.command ? " " : ""),
			    *word);
		is_text(got, cases[i].command, "the command's own words");
		run_end(&run);
	}
}

static void
test_shell(void)
{
	static const struct {
		const char *option, *variable, *shell;
	} cases[] = {
	    {"-c", "SHELL=/bin/zsh", "/bin/zsh"},
	    {"--command", "SHELL=", "/bin/sh"},
	    {"-c", "A=b", "/bin/sh"},
	};
	struct run run;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		run_start(&run, LIST("-k", "a", cases[i].option, "echo hi"),
		    LIST(cases[i].variable));
		is_text(run.opts.shell_command, "echo hi", "shell command");
		is_text(run.opts.command[0], cases[i].shell, "  shell");
		is_text(run.opts.command[1], "-c", "  -c");
		is_text(run.opts.command[2], "echo hi", "  text");
		is_text(run.opts.command[3], NULL, "  no more");
		run_end(&run);
	}
}

static void
test_wiped_arguments(void)
{
	static const struct {
		const char *args[MAX];
		int at;
		const char *want;
	} cases[] = {
	    {{"-k", "a", "-r", "redis://u:pw@h", "ls"}, 4, "redis://xxxx@h"},
	    {{"-k", "a", "-rredis://u:pw@h", "ls"}, 3, "-rredis://xxxx@h"},
	    {{"-k", "a", "--redis=redis://:pw@h", "ls"}, 3,
		"--redis=redis://xxx@h"},
	    {{"-k", "a", "--red", "redis://:pw@h", "ls"}, 4, "redis://xxx@h"},
	    {{"-qrredis://:pw@h:70000"}, 1, "-qrredis://xxx@h:70000"},
	    {{"-z", "-t", "0", "-r", "redis://:pw@h"}, 5, "redis://xxx@h"},
	    {{"--password=pw"}, 1, "--password="},
	    {{"-h", "-r", "redis://:pw@h"}, 3, "redis://xxx@h"},
	    {{"-hrredis://:pw@h"}, 1, "-hrredis://xxx@h"},
	    {{"-r", "redis://:a@h", "-r", "redis://:b@h"}, 4, "redis://xx@h"},
	    /* the command's own */
	    {{"-k", "a", "ls", "-r", "redis://:pw@h"}, 5, "redis://:pw@h"},
	};
	struct run run;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		run_start(&run, cases[i].args, NONE);
		is_text(run.argv[cases[i].at], cases[i].want, "argv is wiped");
		run_end(&run);
	}
}

static void
test_wiped_environment(void)
{
	static const struct {
		const char *args[MAX], *variable;
		const char *memory; /* what stays of it in the old place */
		const char *value;  /* what the job sees */
	} cases[] = {
	    {{"-k", "a", "ls"}, "RLOCKRUN_PASSWORD=pw",
		"RLOCKRUN_PASSWORD=", NULL},
	    {{"-k", "a", "--password-file", "/nonexistent", "ls"},
		"RLOCKRUN_PASSWORD=pw", "RLOCKRUN_PASSWORD=", NULL},
	    {{"-z"}, "RLOCKRUN_PASSWORD=pw", "RLOCKRUN_PASSWORD=", NULL},
	    {{"-h"}, "RLOCKRUN_PASSWORD=", "RLOCKRUN_PASSWORD=", NULL},
	    {{"-k", "a", "ls"}, "RLOCKRUN_REDIS=redis://u:pw@h/2",
		"RLOCKRUN_REDIS=redis://xxxx@h/2", "redis://h:6379/2"},
	    {{"-k", "a", "-r", "redis://i", "ls"},
		"RLOCKRUN_REDIS=redis://u:pw@h",
		"RLOCKRUN_REDIS=redis://xxxx@h", "redis://h:6379"},
	    {{"-k", "a", "ls"}, "RLOCKRUN_REDIS=redis://u:pw@h:70000",
		"RLOCKRUN_REDIS=redis://xxxx@h:70000", "redis://xxxx@h:70000"},
	    {{"-k", "a", "ls"}, "RLOCKRUN_REDIS=redis://u:pw@h  redis://:p@i ",
		"RLOCKRUN_REDIS=redis://xxxx@h  redis://xx@i ",
		"redis://h:6379 redis://i:6379"},
	    {{"-k", "a", "ls"}, "RLOCKRUN_REDIS=redis://:p@i\r\n\tredis://j\n",
		"RLOCKRUN_REDIS=redis://xx@i\r\n\tredis://j\n",
		"redis://i:6379 redis://j:6379"},
	    {{"-k", "a", "ls"}, "RLOCKRUN_REDIS=redis://u:p w@h redis://i",
		"RLOCKRUN_REDIS=redis://xxxxx@h redis://i",
		"redis://xxxxx@h redis://i"},
	    {{"-k", "a", "-r", "redis://i", "ls"},
		"RLOCKRUN_REDIS=unix:///s u:pw@h",
		"RLOCKRUN_REDIS=unix:///s xxxx@h", "unix:///s xxxx@h"},
	    {{"-z"}, "RLOCKRUN_REDIS=redis://u:pw@h",
		"RLOCKRUN_REDIS=redis://xxxx@h", "redis://h:6379"},
	    {{"-k", "a", "ls"}, "RLOCKRUN_REDIS=redis://h",
		"RLOCKRUN_REDIS=redis://h", "redis://h"},
	    {{"-k", "a", "ls"}, "REDIS_URL=redis://u:pw@h",
		"REDIS_URL=redis://u:pw@h", "redis://u:pw@h"},
	};
	struct run run;
	char name[32];

	for (size_t i = 0; i < LENGTH(cases); i++) {
		snprintf(name, sizeof(name), "%.*s",
		    (int)strcspn(cases[i].variable, "="), cases[i].variable);
		run_start(&run, cases[i].args, LIST(cases[i].variable, "A=b"));
		is_text(run.variables[0], cases[i].memory, "memory is wiped");
		is_text(getenv(name), cases[i].value, "  what the job gets");
		is_text(getenv("A"), "b", "  the rest is as it was");
		run_end(&run);
	}
}

static void
write_file(const char *path, const char *text, mode_t mode)
{
	ssize_t length = (ssize_t)strlen(text);
	int fd;

	/* Only root may write to the one before when it is 0400. */
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) != length)
		abort();
	fchmod(fd, mode);
	close(fd);
}

/* The password that the file gives, or NULL after that message. */
static void
check_file(const char *path, const char *password, const char *message,
    const char *title)
{
	struct run run;
	char want[512] = "";

	if (message != NULL)
		snprintf(want, sizeof(want),
		    "rlockrun: password file \"%s\": %s; command not started\n",
		    path, message);
	run_start(&run, LIST("-k", "a", "--password-file", path, "ls"),
	    LIST("RLOCKRUN_PASSWORD=ignored"));
	is_text(run.message, want, title);
	is_int(run.status, message != NULL ? 78 : 0, "  status");
	is_text(run.opts.login.file.text, password, "  password");
	run_end(&run);
}

/* password_file_test has what is a password. */
static void
test_password_sources(void)
{
	char path[] = "/tmp/rlockrun-opts_test.XXXXXX", variable[256];
	struct run run;
	int ends[2], fd = mkstemp(path);

	if (fd < 0)
		abort();
	close(fd);
	write_file(path, " s p \n", 0600);
	snprintf(variable, sizeof(variable), "RLOCKRUN_PASSWORD_FILE=%s", path);
	run_start(&run, LIST("-k", "a", "ls"), LIST(variable));
	is_text(run.opts.login.file.text, " s p ", "RLOCKRUN_PASSWORD_FILE");
	run_end(&run);

	if (pipe(ends) < 0 || write(ends[1], "piped\n", 6) != 6)
		abort();
	close(ends[1]);
	snprintf(variable, sizeof(variable), "/proc/self/fd/%d", ends[0]);
	check_file(variable, "piped", NULL, "a pipe");
	close(ends[0]);

	write_file(path, "secret", 0604);
	check_file(path, NULL, "others can read or write it (chmod o-rwx)",
	    "a file for others");
	unlink(path);
	check_file(path, NULL, "No such file or directory", "missing file");
	run_start(&run, LIST("-k", "a", "ls"),
	    LIST("RLOCKRUN_PASSWORD_FILE=/"));
	is_text(run.message,
	    "rlockrun: password file \"/\": neither a regular file nor a "
	    "pipe; command not started\n",
	    "one that a variable names");
	is_int(run.status, 78, "  status");
	run_end(&run);
	check_file("/dev/null", NULL, "neither a regular file nor a pipe",
	    "a device");
	check_file("/", NULL, "neither a regular file nor a pipe",
	    "a directory");
}

static int
print_summary(void)
{
	return opts_help_print(false);
}

static int
print_help(void)
{
	return opts_help_print(true);
}

/* Runs print with a file as stdout; its text, to be freed. */
static char *
printed(int (*print)(void))
{
	int saved, fd = memfd_create("stdout", MFD_CLOEXEC);
	char *text = calloc(1, 16384);

	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	dup2(fd, STDOUT_FILENO);
	if (print() < 0)
		abort();
	dup2(saved, STDOUT_FILENO);
	if (pread(fd, text, 16383, 0) <= 0)
		abort();
	close(saved);
	close(fd);
	return text;
}

/* Returns how many lines it has. */
static size_t
fits_columns(const char *text, const char *what)
{
	size_t widest = 0, lines = 0;

	for (const char *line = text; *line != '\0'; lines++) {
		size_t width = strcspn(line, "\n");

		widest = width > widest ? width : widest;
		line += width + 1;
	}
	ok(widest <= 80, "%s fits 80 columns", what);
	return lines;
}

static void
test_summary(void)
{
	char *text = printed(print_summary);

	ok(fits_columns(text, "-h") <= 23, "-h and a prompt fit 24 lines");
	ok(strstr(text, "  -w, --wait DUR ") != NULL, "-h has what is usual");
	ok(strstr(text, "--tls-ca") == NULL, "-h has not what is not");
	ok(strstr(text, "rlockrun --help") != NULL,
	    "-h says where the rest is");
	free(text);
}

static void
test_help(void)
{
	char *text = printed(print_help);

	ok(fits_columns(text, "--help") > 80, "--help has them all");
	ok(strstr(text, "  -w, --wait DUR ") != NULL &&
		strstr(text, "  -x, --exclusive ") != NULL,
	    "--help has each option by its first names");
	ok(strstr(text, "--timeout") == NULL && strstr(text, "-e,") == NULL,
	    "and no aliases");
	ok(strstr(text, "dump-options") == NULL, "--help hides what's hidden");
	ok(strstr(text, "unlock,") == NULL && strstr(text, "close") == NULL &&
		strstr(text, "no-fork") == NULL &&
		strstr(text, "fcntl") == NULL,
	    "nor does it show what flock(1) has and we have not");
	free(text);
}

/* RLOCKRUN_ and the first long name in capitals. */
static void
variable_name(const char *longs, char *name)
{
	name = stpcpy(name, "RLOCKRUN_");
	for (; *longs != '\0' && *longs != ','; longs++)
		*name++ = *longs == '-' ? '_' : (char)(*longs - 'a' + 'A');
	*name = '\0';
}

static void
test_dump(void)
{
	char *text = printed(opts_help_print_dump), *rest = text, *line;

	while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
		char *fields[6], want[64];
		size_t count = 0;

		while (count < 6 && (fields[count] = strsep(&line, "\t")))
			count++;
		ok(count == 6 && line == NULL, "--dump-options: six fields");
		if (count < 6)
			break;
		variable_name(fields[1], want);
		if (*fields[1] != '\0' && *fields[3] != '\0')
			is_text(fields[3], want, "  variable and option agree");
	}
	free(text);
}

static void
test_full_stdout(void)
{
	int saved = dup(STDOUT_FILENO), fd = open("/dev/full", O_WRONLY), got;

	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	got = opts_help_print(true);
	dup2(saved, STDOUT_FILENO);
	clearerr(stdout);
	is_int(got, -1, "--help tells that stdout is full");
	close(saved);
	close(fd);
}

int
main(void)
{
	test_table();
	test_defaults();
	test_several_keys();
	test_settings();
	test_looks();
	test_precedence();
	test_actions();
	test_commands();
	test_shell();
	test_wiped_arguments();
	test_wiped_environment();
	test_password_sources();
	test_summary();
	test_help();
	test_dump();
	test_full_stdout();
	return tap_done();
}
