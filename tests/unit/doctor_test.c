/* What --doctor makes of a server's clock, and of what it says of itself. */
#include "doctor/checks.h"

#include <glob.h>
#include <stdlib.h>

#include "doctor/rows.h"
#include "tap.h"

static void
test_clock(void)
{
	struct clock clock = {.count = 0}, forward, back;

	check_server_note(&clock, 3000, 900, -1);
	ok(!clock.best.is_known, "a server that does not say its time");
	check_server_note(&clock, 1000, 400, 5001200);
	check_server_note(&clock, 2000, 100, 5002050);
	ok(clock.best.is_known, "there is an offset");
	is_int(clock.best.us, 5000000, "that of the shortest round trip");
	is_int(clock.best.error_us, 50, "which may be wrong by half of that");
	is_int(clock.step_us, 0, "no step");
	forward = back = clock;
	check_server_note(&forward, 4000, 200, 5504100);
	is_int(forward.step_us, 500000, "a step forward");
	check_server_note(&back, 4000, 200, 4004100);
	is_int(back.step_us, -1000000, "a step back");
	check_server_note(&back, 5000, 200, 4005100);
	is_int(back.step_us, -1000000, "which is not forgotten");
	check_server_note(&clock, 4000, 200, -1);
	check_server_note(&clock, 4000, 200, 5504100);
	is_int(clock.step_us, 0, "none beside a time that is not known");
	is_int(clock.best.us, 5000000, "and the best offset stays");
	is_int(clock.took_us[0], 100, "the shortest round trip,");
	is_int(clock.took_us[2], 200, "the median,");
	is_int(clock.took_us[4], 900, "and the longest");
}

/* Each heading that a source asks for: what stands behind rows_judge(". */
static void
test_headings(const char *path)
{
	char line[200], heading[60];
	FILE *file = fopen(path, "r");
	const char *at;

	ok(file != NULL, "%s", path);
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		const struct judgement *row = rows_table;

		if (strstr(line, "rows_judge") == NULL ||
		    (at = strstr(line, "(\"")) == NULL)
			continue;
		at += strlen("(\"");
		snprintf(heading, sizeof(heading), "%.*s",
		    (int)strcspn(at, "\""), at);
		while (*row->text != '\0' &&
		       (*row->check != '\0' || strcmp(row->text, heading) != 0))
			row++;
		is_text(row->text, heading, "the rows have such a heading");
	}
	if (file != NULL)
		fclose(file);
}

/* Severity and check of the rows but the good ones, one behind the other. */
static void
follows(const char *facts, const char *want, const char *what)
{
	static const char *const severities[] = {"ok", "note", "unknown",
	    "warning"};
	struct findings findings = {.subject = "s"};
	char got[512] = "", row[64];

	check_server_rows(facts, &findings);
	for (size_t i = 0; i < findings.count; i++) {
		const struct finding *finding = &findings.list[i];

		if (finding->severity == FINDING_OK)
			continue;
		if (finding->severity == FINDING_ERROR)
			snprintf(row, sizeof(row), "%d", finding->status);
		else
			snprintf(row, sizeof(row), "%s",
			    severities[finding->severity]);
		snprintf(got + strlen(got), sizeof(got) - strlen(got),
		    "%s%s:%s", *got != '\0' ? " " : "", row, finding->check);
	}
	is_text(got, want, what);
	findings_fini(&findings);
}

#define GOOD                                                   \
	"redis_version:7.0.15\nmode:standalone\nrole:master\n" \
	"maxmemory_policy:noeviction\naof_enabled:1\n"         \
	"appendfsync:always\nonline:0\nleft:9000\n"

static void
test_server(void)
{
	follows(GOOD, "", "a good server");
	follows("",
	    "unknown:version unknown:primary unknown:eviction "
	    "unknown:persistence unknown:replicas unknown:clients",
	    "one that says nothing");
	follows("abstains:1\n",
	    "unknown:version unknown:primary unknown:eviction "
	    "unknown:replicas unknown:clients",
	    "what it stores does not matter if it abstains");
	follows("mode:sentinel\n" GOOD, "77:reach", "a sentinel");
	follows("loading:1\n" GOOD, "69:reach", "one that is loading");
	follows("role:slave\n" GOOD, "69:reach", "a replica");
	follows("no_info:x\nno_config:x\n" GOOD, "note:info note:config",
	    "one that denies INFO and CONFIG");
	follows("redis_version:4.0.9\n" GOOD, "warning:version", "an old one");
	follows("redis_version:10.0.1\n" GOOD, "", "a later one");
	follows("redis_version:5.0.14\n" GOOD, "note:version",
	    "one without access rules");
	follows("mode:cluster\n" GOOD, "warning:cluster", "a node");
	follows("in_cluster:1\nmode:cluster\n" GOOD, "", "as it should be");
	follows("maxmemory_policy:allkeys-lru\n" GOOD, "warning:eviction",
	    "one that evicts");
	follows("maxmemory:0\nmaxmemory_policy:allkeys-lru\n" GOOD,
	    "note:eviction", "one that could evict");
	follows("percent:90\n" GOOD, "warning:memory", "a full one");
	follows("percent:89\n" GOOD, "", "one that is not full");
	follows("appendfsync:no\n" GOOD, "warning:persistence", "no fsync");
	follows("appendfsync:everysec\n" GOOD, "note:persistence", "late ones");
	follows("aof_enabled:0\n" GOOD, "warning:persistence", "no file");
	follows("aof_enabled:0\nabstains:1\n" GOOD, "", "one that abstains");
	follows("replay_lacks:run SET\n" GOOD, "69:persistence",
	    "a file that would not be replayed");
	follows("replay_lacks:run SET\nabstains:1\n" GOOD, "",
	    "which does not matter if it abstains");
	follows("aof_enabled:0\nreplay_lacks:run SET\n" GOOD,
	    "warning:persistence note:replay", "nor could it be later");
	follows("replay_unknown:x\n" GOOD, "unknown:replay", "not known");
	follows("renamed:EXEC\n" GOOD, "note:persistence",
	    "a file that cannot be read again");
	follows("rewriting:1\n" GOOD, "note:persistence",
	    "a file that is being written");
	follows("aof_last_bgrewrite_status:err\n" GOOD, "note:persistence",
	    "a file that could not be written");
	follows("no-appendfsync-on-rewrite:yes\n" GOOD, "warning:persistence",
	    "a file that is not synced meanwhile");
	follows("no-appendfsync-on-rewrite:yes\n"
		"appendfsync:everysec\n" GOOD,
	    "note:persistence", "nor otherwise");
	follows("aof_last_write_status:err\n" GOOD, "warning:disk",
	    "a file that cannot be written");
	follows("out_of_sync:1\n" GOOD, "69:replicas", "too few in sync");
	follows("too_few:1\n" GOOD, "69:replicas", "too few replicas");
	follows("fails_over:1\n" GOOD, "note:replicas", "no replica");
	follows("online:1\nreplicated:1\nmin-replicas-to-write:0\n" GOOD,
	    "note:replicas", "a replica that nobody promotes");
	follows("online:1\nreplicated:1\nfails_over:1\noffline:1\n"
		"min-replicas-to-write:0\n" GOOD,
	    "warning:replicas note:replicas-offline warning:min-replicas",
	    "one that may take over");
	follows("online:1\nreplicated:1\nfails_over:1\nwanted:1\n"
		"min-replicas-to-write:0\n" GOOD,
	    "note:min-replicas", "one that is waited for");
	follows("online:1\nreplicated:1\nfails_over:1\nwanted:1\n"
		"min-replicas-to-write:1\nmin-replicas-max-lag:0\n" GOOD,
	    "warning:min-replicas", "a number without a lag");
	follows("role:active-replica\n" GOOD, "69:primary", "KeyDB");
	follows("crdt_config_version:3\n" GOOD, "69:primary",
	    "an Active-Active database");
	follows("few:1\n" GOOD, "warning:clients", "few clients are left");
	follows("evicted_clients:0\n" GOOD, "", "no client was evicted");
	follows("evicted_clients:7\n" GOOD, "warning:clients",
	    "clients were evicted");
}

/* Numbers in a version are compared one by one. */
static void
test_kernel(void)
{
	static const struct {
		const char *release;
		int severity;
	} kernels[] = {
	    {"3.10.0-1160.el7.x86_64", FINDING_WARNING},
	    {"4.9.0-8-amd64", FINDING_WARNING},
	    {"4.17.19", FINDING_WARNING},
	    {"4.18.0-80.el8.x86_64", FINDING_OK},
	    {"4.18", FINDING_OK},
	    {"6.1.0-13-amd64", FINDING_OK},
	    {"10.0", FINDING_OK},
	};

	for (size_t i = 0; i < LENGTH(kernels); i++) {
		struct findings findings = {.subject = "this host"};
		char facts[80];

		snprintf(facts, sizeof(facts), "release:%s\n",
		    kernels[i].release);
		rows_judge("host", facts, &findings);
		is_text(findings.list[0].check, "kernel", "the first row");
		is_int(findings.list[0].severity, kernels[i].severity,
		    kernels[i].release);
		findings_fini(&findings);
	}
}

static void
test_words(void)
{
	struct findings findings = {.subject = "s"};

	check_server_rows(
	    "file:valkey.conf\nrole:master\nmaxmemory_policy:100%s{x}\n"
	    "maxmemory:1\n",
	    &findings);
	is_text(findings.list[1].text,
	    "maxmemory-policy is 100%s{x}: a server short of memory deletes "
	    "locks that are held",
	    "a value in a text is not looked into");
	is_text(findings.list[1].remedy,
	    "CONFIG SET maxmemory-policy noeviction, and in valkey.conf: "
	    "maxmemory-policy noeviction",
	    "a remedy");
	findings_fini(&findings);
}

int
main(void)
{
	glob_t sources;

	glob("src/doctor/*.c", 0, NULL, &sources);
	for (size_t i = 0; i < sources.gl_pathc; i++)
		test_headings(sources.gl_pathv[i]);
	globfree(&sources);
	test_server();
	test_kernel();
	test_words();
	test_clock();
	return tap_done();
}
