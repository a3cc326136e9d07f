#include "doctor/rows.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/mem.h"
#include "base/template.h"
#include "options/conf.h"
#include "redis/info.h"

/* What is longer is cut, in a value and in a text with all values. */
enum { FACT_SIZE = 2048, TEXT_SIZE = 4096 };

void
rows_put(char **facts, const char *format, ...)
{
	char *former = *facts, *more;
	va_list arguments;

	va_start(arguments, format);
	more = mem_vprintf(format, arguments);
	va_end(arguments);
	*facts = mem_printf("%s%s", former != NULL ? former : "", more);
	free(former);
	free(more);
}

void
rows_put_flag(char **facts, const char *name, bool is)
{
	if (is)
		rows_put(facts, "%s:1\n", name);
}

/* Whether all terms are true. */
static bool
applies(const struct judgement *row, const char *facts)
{
	char terms[sizeof(row->condition)], *rest = terms, *term;
	char value[FACT_SIZE];

	memcpy(terms, row->condition, sizeof(terms));
	while ((term = strsep(&rest, " ")) != NULL && *term != '\0') {
		bool negated = *term == '!', is;
		char *operand = term + strcspn(term, "=<"), sign = *operand;

		*operand = '\0';
		info_text(facts, term + negated, value, sizeof(value));
		if (sign == '\0')
			is = *value != '\0';
		else if (sign == '=')
			is = strcmp(value, operand + 1) == 0;
		else
			is = isdigit((unsigned char)*value) &&
			     strverscmp(value, operand + 1) < 0;
		if (is == negated)
			return false;
	}
	return true;
}

/* The facts, and room for the value of one of them. */
struct known {
	const char *facts;
	char value[FACT_SIZE];
};

static const char *
find_fact(void *arg, const char *name, bool *many)
{
	struct known *known = arg;

	(void)many;
	info_text(known->facts, name, known->value, sizeof(known->value));
	return known->value;
}

size_t
rows_judge(const char *about, const char *facts, struct findings *findings)
{
	const struct judgement *row = rows_table;
	struct known known = {.facts = facts};
	const char *judged = "";
	size_t added = 0;

	while (*row->check != '\0' || strcmp(row->text, about) != 0)
		row++;
	while (*(++row)->check != '\0') {
		char text[TEXT_SIZE], remedy[TEXT_SIZE];

		if (strcmp(row->check, judged) == 0 || !applies(row, facts))
			continue;
		judged = row->check;
		if (row->severity < findings->least)
			continue;
		template_fill(row->text, find_fact, &known, text, sizeof(text));
		template_fill(row->remedy, find_fact, &known, remedy,
		    sizeof(remedy));
		findings_add(findings, row->severity, row->check, text, remedy);
		added++;
	}
	return added;
}

void
rows_judge_facts(const char *about, struct findings *findings,
    const char *format, ...)
{
	va_list arguments;
	char *facts;

	va_start(arguments, format);
	facts = mem_vprintf(format, arguments);
	va_end(arguments);
	rows_judge(about, facts, findings);
	free(facts);
}

/* --- what the doctor finds, and what it advises ------------------------- */

#define TRIP                                                          \
	"{median} ms (median of {trips}), at most {longest} ms; the " \
	"ttl is {ttl} s"
#define REPAIR "redis-cli --cluster check HOST:PORT"
#define FEWER "{spare} of {servers} servers may fail, as with one server fewer"
#define YOUNG                                                              \
	"{server} has started {uptime_in_seconds} s ago: it abstains for " \
	"another {abstains_s} s"
#define YOUNGER \
	"wait; or --min-uptime 0, if all servers store each write at once"
#define SET(setting, value)                                                   \
	"CONFIG SET " setting " " value ", and in {file}: " setting " " value \
	"{too}"
/* A server that starts with appendonly yes in its file, and that has no
 * append-only file yet, ignores its snapshot and begins empty. */
#define STORE_ALL                                                              \
	"in this order: CONFIG SET appendfsync always, CONFIG SET appendonly " \
	"yes, wait until aof_rewrite_in_progress is 0, CONFIG REWRITE or the " \
	"same lines in {file}; never the file and a restart{too}"
#define PERMIT_REPLAY                                                        \
	"ACL SETUSER default off resetpass ~* &* +@all, then {save_rules}; " \
	"first give a user of its own to what logs in as default"
#define CUT_OFF                                                           \
	"min-replicas-to-write is 0: a primary that is cut off from its " \
	"replicas still grants locks"
#define ROOM "{connected_clients} of maxclients {maxclients}: room for {left}"
#define USED "{used} in use, the limit is {most}"
#define RAISE "raise the limit: ulimit -u, or TasksMax of the unit"
#define MISSING "cannot be written: {denial}; runs go on without it"
#define PERMIT \
	"create it, permit this user to write there, or use another place"

/* clang-format off */
const struct judgement rows_table[] = {
	/* --- reaching a server ------------------------------------------ */

	{.text = "default"},
	{"server", FINDING_WARNING, "", OPTS_NO_SERVER,
	    "put \"redis = URL\" into " CONF_OF_THE_HOST},

	{.text = "failure"},
	{"reach", FINDING_UNKNOWN, "is_replica",
	    "{refusal}{failure}", "{advice}"},
	{"reach", EXITCODE_REFUSED, "refused",
	    "{refusal}{failure}", "{advice}"},
	{"reach", EXITCODE_UNAVAILABLE, "", "{refusal}{failure}", "{advice}"},

	{.text = "tls"},
	{"tls", FINDING_OK, "tls", "{protocol}, {cipher}", ""},
	{"tls", FINDING_NOTE, "plain",
	    "the connection is not encrypted[, nor is the {secret}]",
	    "rediss:// in place of redis://, if the server can"},

	{.text = "certificate"},
	{"certificate", FINDING_WARNING, "expired",
	    "{whose} has expired", "renew it"},
	{"certificate", FINDING_WARNING, "days<1",
	    "{whose} expires within a day: then no run gets a lock",
	    "renew it"},
	{"certificate", FINDING_WARNING, "days<14",
	    "{whose} expires in {days} day<|s>: then no run gets a lock",
	    "renew it"},
	{"certificate", FINDING_OK, "",
	    "{whose} is valid for {days} days", ""},

	/* After the server has been examined. */
	{.text = "writes"},
	{"writes", EXITCODE_UNAVAILABLE, "unwritten",
	    "the server refuses to write: {unwritten}", "{write_advice}"},
	{"writes", EXITCODE_UNAVAILABLE, "no_script",
	    "the server does not return what a script does",
	    "check the address: this may be no Redis server"},

	{.text = "times"},
	{"round-trip", FINDING_WARNING, "slow", TRIP,
	    "use a server that is nearer, or a longer --ttl"},
	{"round-trip", FINDING_OK, "", TRIP, ""},

	{"clock", FINDING_UNKNOWN, "!off time_denied",
	    "the server does not say its time", "permit +time"},
	{"clock", FINDING_UNKNOWN, "!off",
	    "the server does not say its time", "keep both clocks by NTP"},
	{"clock", FINDING_WARNING, "far", "{off} this host's",
	    "keep both clocks by NTP: if the server's is set forward later, "
	    "keys expire too soon"},
	{"clock", FINDING_OK, "", "{off} this host's", ""},

	{"clock-step", FINDING_WARNING, "step",
	    "the server's clock was set {step} just now", "let NTP slew the "
	    "clock: a step forward ends leases too soon"},

	/* --- servers that belong together ------------------------------- */

	{.text = "slots"},
	{"slots", FINDING_UNKNOWN, "see_slots",
	    "the server does not say which slots are served[: {no_slots}]",
	    "{see_slots}"},
	{"slots", EXITCODE_UNAVAILABLE, "!cluster_state=ok",
	    "the cluster is down: {missing} slots have no owner, the owners "
	    "of {failing} have failed", REPAIR},
	{"slots", FINDING_OK, "missing=0 silent=0",
	    "all 16384 are served", ""},
	{"slots", FINDING_WARNING, "",
	    "{missing} slots have no owner, the owners of {silent} have "
	    "failed or do not answer: their locks are out of reach", REPAIR},
	{.text = "nodes"},
	{"primaries", FINDING_UNKNOWN, "",
	    "the nodes are not known, so they are not examined[: {no_nodes}]",
	    "{see_nodes}"},

	/* What one sentinel says of the primary, and of the others. */
	{.text = "sentinel"},
	{"sentinels", FINDING_WARNING, "failure !refusal",
	    "{failure}", "{advice}"},
	{"sentinels", FINDING_WARNING, "failure no_sentinel",
	    "{sentinel}: it is no sentinel", "name sentinels in the URL"},
	{"sentinels", FINDING_WARNING, "failure",
	    "{sentinel}: {failure}", "{advice}"},
	{"sentinels", FINDING_WARNING, "no_master",
	    "{sentinel}: it knows no such master",
	    "check the name in the URL, or add it by SENTINEL MONITOR"},
	{"sentinels", FINDING_WARNING, "no_address",
	    "{sentinel}: it names no address of the primary",
	    "check that it is a sentinel, or take it out of the URL"},
	{"sentinels", FINDING_WARNING, "differs", "{sentinel}: it names "
	    "{address} as the primary, another sentinel {first}",
	    "if that lasts, SENTINEL RESET {master} at the one that is wrong"},
	{.text = "sentinel state"},
	{"sentinels", FINDING_WARNING, "down",
	    "{sentinel}: it does not reach the primary",
	    "check the primary, and the network between them"},
	{.text = "sentinel quorum"},
	{"sentinels", FINDING_WARNING, "no_quorum",
	    "{sentinel}: {quorum}", "start the missing sentinels: until "
	    "then nothing replaces a primary that dies"},
	{"sentinels", FINDING_UNKNOWN, "!failure !quorum=yes denied",
	    "{sentinel}: it does not say whether it has a quorum",
	    "permit +sentinel"},
	{"sentinels", FINDING_UNKNOWN, "!failure !quorum=yes",
	    "{sentinel}: it does not say whether it has a quorum",
	    "use a sentinel that knows CKQUORUM"},
	/* All of them, and those that the URL names. */
	{.text = "sentinels"},
	{"sentinels", FINDING_OK, "agreed", "{replied} agree on {address}", ""},
	{.text = "sentinels named"},
	{"sentinels", FINDING_NOTE, "named<3", "the URL names {named}: a "
	    "failover needs a majority of at least three",
	    "name all sentinels in the URL"},

	/* Several servers: how many there are, */
	{.text = "majority"},
	{"majority", FINDING_OK, "odd",
	    "{spare} of {servers} servers may fail", ""},
	{"majority", FINDING_WARNING, "servers=2", FEWER,
	    "name an odd number of servers"},
	{"majority", FINDING_NOTE, "", FEWER,
	    "name an odd number of servers"},
	/* what one of them does not say, */
	{.text = "voter"},
	{"same-server", FINDING_UNKNOWN, "!run_id",
	    "{server} does not say its run_id", "permit +info"},
	{"clocks", FINDING_UNKNOWN, "!time",
	    "{server} does not say its time", "permit +time"},
	{"uptime", FINDING_UNKNOWN, "!uptime_in_seconds",
	    "{server} does not say its uptime", "permit +info"},
	/* whether two of them are alike, */
	{.text = "pair"},
	{"same-server", FINDING_WARNING, "same enough",
	    "{a} and {b} are the same server", "name it once"},
	{"same-server", EXITCODE_USAGE, "same",
	    "{a} and {b} are the same server", "name it once"},
	{"same-host", FINDING_WARNING, "together !same",
	    "{a} and {b} are on the same host",
	    "run them on different machines, which fail apart"},
	{"clocks", FINDING_WARNING, "apart",
	    "those of {a} and {b} differ by {apart} s", "keep them by NTP"},
	/* whether the vote of one counts, */
	{.text = "voter age"},
	{"uptime", FINDING_WARNING, "abstains_s enough", YOUNG, YOUNGER},
	{"uptime", EXITCODE_UNAVAILABLE, "abstains_s", YOUNG, YOUNGER},
	/* and what no check of them has found. */
	{.text = "voters"},
	{"same-host", FINDING_OK, "!same-server !same-host",
	    "no two of them are on the same host", ""},
	{"clocks", FINDING_OK, "!clocks", "they agree within a second", ""},
	{"uptime", FINDING_OK, "!uptime",
	    "all are up for longer than --min-uptime", ""},

	/* --- a server --------------------------------------------------- */

	{.text = "useless"},
	{"reach", EXITCODE_REFUSED, "mode=sentinel", "the server is a sentinel",
	    "redis-sentinel://HOST:PORT/MASTER"},
	{"reach", EXITCODE_UNAVAILABLE, "loading=1",
	    "the server is loading its data",
	    "wait until it has finished: a run does so for --server-timeout"},
	{"reach", EXITCODE_UNAVAILABLE, "role=slave", "the server is a replica",
	    "use the address of the primary, or redis-sentinel://"},

	{.text = "server"},
	{"info", FINDING_NOTE, "no_info",
	    "INFO is not available, so much is not known: {no_info}",
	    "{permit_info}"},
	{"config", FINDING_NOTE, "no_config",
	    "CONFIG GET is not available, so some settings are not known: "
	    "{no_config}", "{permit_config}"},

	{"version", FINDING_OK, "valkey_version",
	    "Valkey {valkey_version}", ""},
	{"version", FINDING_OK, "redict_version",
	    "Redict {redict_version}", ""},
	{"version", FINDING_UNKNOWN, "!redis_version",
	    "the server does not say which version it is", "{see_info}"},
	{"version", FINDING_WARNING, "redis_version<5",
	    "Redis {redis_version} is older than Redis 5",
	    "install Redis 5 or newer, or Valkey"},
	{"version", FINDING_NOTE, "redis_version<6",
	    "Redis {redis_version} has neither access rules nor TLS, which "
	    "came with Redis 6", ""},
	{"version", FINDING_OK, "redis_version<7",
	    "Redis {redis_version}, without ACL DRYRUN", ""},
	{"version", FINDING_OK, "", "Redis {redis_version}", ""},

	/* As a part of a cluster that the URL names, it is as it should be. */
	{"cluster", FINDING_WARNING, "mode=cluster !in_cluster",
	    "the server is a node of a cluster: it refuses locks that belong "
	    "to other nodes",
	    "redis-cluster:// in place of redis://"},

	/* Each of them grants what another one has granted. */
	{"primary", EXITCODE_UNAVAILABLE, "role=active-replica",
	    "an active replica of KeyDB: each server of the group grants the "
	    "same lock", "use a server without active-replica"},
	{"primary", EXITCODE_UNAVAILABLE, "crdt_config_version",
	    "an Active-Active database: each of its members grants the same "
	    "lock", "use a database of one region"},
	{"primary", FINDING_UNKNOWN, "!role",
	    "the server does not say whether it is a primary", "{see_info}"},

	{.text = "kept"},
	/* Helper keys and locks all have a ttl, so that volatile-* is no
	 * better. */
	{"eviction", FINDING_UNKNOWN, "!maxmemory_policy",
	    "the server does not say its maxmemory-policy",
	    "{see_info}: it must be noeviction"},
	{"eviction", FINDING_OK, "maxmemory_policy=noeviction",
	    "maxmemory-policy is noeviction", ""},
	{"eviction", FINDING_NOTE, "maxmemory=0", "maxmemory-policy is "
	    "{maxmemory_policy}, but without maxmemory nothing is evicted",
	    SET("maxmemory-policy", "noeviction")},
	{"eviction", FINDING_WARNING, "", "maxmemory-policy is "
	    "{maxmemory_policy}: a server short of memory deletes locks that "
	    "are held", SET("maxmemory-policy", "noeviction")},
	{"memory", FINDING_WARNING, "percent !percent<90", "{percent}% of "
	    "maxmemory are in use: a full server grants no lock",
	    "raise its maxmemory"},

	{"persistence", FINDING_OK,
	    "aof_enabled=1 appendfsync=always !replay_lacks !renamed "
	    "!rewriting !no-appendfsync-on-rewrite=yes "
	    "!aof_last_bgrewrite_status=err",
	    "appendonly is yes and appendfsync always: a restart loses no "
	    "lock, if its file says so, too", ""},
	{"persistence", FINDING_OK, "abstains",
	    "after a restart the server abstains for --min-uptime", ""},
	{"persistence", FINDING_UNKNOWN, "!aof_enabled=0 !aof_enabled=1",
	    "the server does not say what it stores on disk",
	    "{see_info}: a restart must lose nothing"},
	{"persistence", EXITCODE_UNAVAILABLE, "aof_enabled=1 replay_lacks",
	    "a restart loses locks: the append-only file is replayed as user "
	    "default, who may not {replay_lacks}", PERMIT_REPLAY},
	{"persistence", FINDING_NOTE, "aof_enabled=1 renamed",
	    "{renamed} is renamed or removed: the server will not start from "
	    "its append-only file", "take the rename-command out of {file}"},
	{"persistence", FINDING_UNKNOWN, "aof_enabled=1 !appendfsync",
	    "appendonly is yes; the server does not say its appendfsync",
	    "{see_config}: it must be always, or everysec at least"},
	{"persistence", FINDING_WARNING, "aof_enabled=1 appendfsync=no",
	    "appendfsync is no: if the machine crashes, the locks of the last "
	    "half minute are lost", SET("appendfsync", "always")},
	{"persistence", FINDING_WARNING,
	    "aof_enabled=1 appendfsync=always no-appendfsync-on-rewrite=yes",
	    "no-appendfsync-on-rewrite is yes: if the machine crashes during "
	    "a rewrite, the latest locks are lost",
	    SET("no-appendfsync-on-rewrite", "no")},
	{"persistence", FINDING_NOTE,
	    "aof_enabled=1 aof_last_bgrewrite_status=err",
	    "not yet: appendonly is yes, but the last rewrite of the "
	    "append-only file has failed",
	    "see the log of the server, and its disk; then BGREWRITEAOF"},
	{"persistence", FINDING_NOTE, "aof_enabled=1 rewriting",
	    "not yet: appendonly is yes, but the append-only file is being "
	    "written",
	    "wait until aof_rewrite_in_progress and aof_rewrite_scheduled are "
	    "0"},
	{"persistence", FINDING_NOTE, "aof_enabled=1", "appendfsync is "
	    "{appendfsync}: if the machine crashes, the locks of the last "
	    "second or two are lost", SET("appendfsync", "always")},
	{"persistence", FINDING_WARNING, "!snapshots",
	    "appendonly is no: a restart loses locks", STORE_ALL},
	{"persistence", FINDING_WARNING, "snapshots=yes", "appendonly is no: a "
	    "crash loses all locks since the last snapshot", STORE_ALL},
	{"persistence", FINDING_WARNING, "",
	    "nothing is stored on disk: a restart loses all locks", STORE_ALL},
	{"replay", FINDING_NOTE, "aof_enabled=0 replay_lacks !abstains",
	    "user default may not {replay_lacks}: with appendonly yes a "
	    "restart would lose locks", PERMIT_REPLAY},
	{"replay", FINDING_UNKNOWN, "aof_enabled=1 replay_unknown !abstains",
	    "the server does not say whether user default may replay the "
	    "append-only file", "{see_acl}"},
	/* Then it refuses what writes, or does not store it. */
	{"disk", FINDING_WARNING, "aof_enabled=1 aof_last_write_status=err",
	    "the last write to its append-only file has failed",
	    "see the log of the server, and its disk"},
	{"disk", FINDING_WARNING, "rdb_last_bgsave_status=err",
	    "the last snapshot has failed",
	    "see the log of the server, and its disk"},

	{.text = "others"},
	{"replicas", EXITCODE_UNAVAILABLE, "out_of_sync",
	    "{min_slaves_good_slaves} of the {min-replicas-to-write} replicas "
	    "are in sync that min-replicas-to-write requires",
	    "start replicas, or lower the number"},
	{"replicas", EXITCODE_UNAVAILABLE, "too_few",
	    "{online} replicas are online, --wait-replicas requires {wanted}",
	    "start replicas, or lower the number"},
	{"replicas", FINDING_UNKNOWN, "!online",
	    "the server does not say which replicas it has", "{see_info}"},
	{"replicas", FINDING_OK, "wanted",
	    "{online} online; --wait-replicas waits for {wanted}", ""},
	{"replicas", FINDING_NOTE, "online=0 fails_over",
	    "none: no other server can take over", ""},
	{"replicas", FINDING_OK, "online=0", "none", ""},
	{"replicas", FINDING_WARNING, "fails_over", "{online} online: a "
	    "failover loses locks that they do not have yet",
	    "--wait-replicas 1"},
	{"replicas", FINDING_NOTE, "", "{online} online: one that becomes the "
	    "primary may lack the latest locks", "--wait-replicas 1"},
	{"replicas-offline", FINDING_NOTE, "replicated offline",
	    "{offline} of {connected_slaves} replicas are not online", ""},
	/* A primary that is cut off from the others grants locks until it
	 * notices, and the new primary grants the same ones. */
	{"min-replicas", FINDING_UNKNOWN,
	    "replicated fails_over !min-replicas-to-write",
	    "the server does not say its min-replicas-to-write",
	    "{see_config}: it must be 1 or more"},
	{"min-replicas", FINDING_WARNING, "replicated fails_over "
	    "!min-replicas-to-write=0 min-replicas-max-lag=0",
	    "min-replicas-max-lag is 0: that switches min-replicas-to-write "
	    "{min-replicas-to-write} off", SET("min-replicas-max-lag", "10")},
	{"min-replicas", FINDING_OK,
	    "replicated fails_over !min-replicas-to-write=0",
	    "min-replicas-to-write is {min-replicas-to-write}", ""},
	{"min-replicas", FINDING_NOTE, "replicated fails_over wanted", CUT_OFF,
	    SET("min-replicas-to-write", "1")},
	{"min-replicas", FINDING_WARNING, "replicated fails_over", CUT_OFF,
	    SET("min-replicas-to-write", "1")},

	{"clients", FINDING_UNKNOWN, "!left",
	    "the server does not say how many clients it admits",
	    "{see_info}"},
	/* Since it was started, or since CONFIG RESETSTAT. */
	{"clients", FINDING_WARNING, "evicted_clients !evicted_clients=0",
	    "evicted_clients is {evicted_clients}: the server hangs up on "
	    "clients to save memory",
	    "raise its maxmemory-clients, then CONFIG RESETSTAT"},
	{"clients", FINDING_WARNING, "few", ROOM, "raise its maxclients"},
	{"clients", FINDING_OK, "", ROOM, ""},

	/* Access rules, except for the rows of needs.c. */
	{.text = "access keys"},
	{"access-keys", FINDING_UNKNOWN, "", "the rules permit certain keys "
	    "only, and not \"{scratch}\", so those of locks are not examined",
	    "name a lock by -k"},
	{.text = "access"},
	{"access", FINDING_OK, "",
	    "user {user} may use all features (by {way})", ""},

	/* Of a replica, before what it keeps. */
	{.text = "replica"},
	{"reach", FINDING_UNKNOWN, "loading=1", "it is loading its data",
	    "wait until it has finished"},
	{"read-only", FINDING_WARNING, "role=slave slave_read_only=0",
	    "it accepts writes: who reaches it gets a lock beside those of "
	    "its primary", SET("replica-read-only", "yes")},

	/* Those that INFO does not name, */
	{.text = "replicas"},
	{"replica", FINDING_UNKNOWN, "", "INFO names {named} of {count} "
	    "replicas, so not all are examined", ROWS_SEE},
	/* those that would not take over, */
	{.text = "replica promotion"},
	{"promotion", FINDING_WARNING, "unknown",
	    "it confirms locks, and no sentinel knows it, so it is never "
	    "promoted", "--wait-replicas {all}"},
	{"promotion", FINDING_WARNING, "passed_over",
	    "it confirms --wait-replicas {wanted}, and another replica is "
	    "promoted", "--wait-replicas {all}"},
	/* whose clock differs, */
	{.text = "replica clock"},
	{"clock", FINDING_UNKNOWN, "no_time",
	    "the replica does not say its time", "permit +time there"},
	{"clock", FINDING_NOTE, "time behind",
	    "{behind} s behind the primary's: promoted, it keeps locks for "
	    "longer", "keep both clocks by NTP"},
	{"clock", FINDING_WARNING, "time ahead more_than_ttl",
	    "{ahead} s ahead of the primary's: promoted, it frees every lock",
	    "keep both clocks by NTP"},
	{"clock", FINDING_WARNING, "time ahead",
	    "{ahead} s ahead of the primary's: promoted, it frees locks too "
	    "soon", "keep both clocks by NTP"},
	/* and those without any fault. */
	{.text = "replica good"},
	{"replica", FINDING_OK, "time",
	    "read-only; its settings and its clock are as they should be", ""},

	/* --- this host -------------------------------------------------- */

	{.text = "host"},
	{"kernel", FINDING_WARNING, "release<4.18",
	    "{system} {release} is older than Linux 4.18",
	    "use a newer kernel"},
	{"kernel", FINDING_OK, "release", "{system} {release}", ""},

	{"proc", EXITCODE_RESOURCE, "unguarded elsewhere",
	    "no job can be guarded: {unguarded}",
	    "mount -t proc proc /proc in the namespace of the run"},
	{"proc", EXITCODE_RESOURCE, "unguarded",
	    "no job can be guarded: {unguarded}", ""},
	{"proc", FINDING_NOTE, "hidepid", "mounted with hidepid={hidepid}: a "
	    "part of a job that is not dumpable is found only when its parent "
	    "has ended", ""},
	{"proc", FINDING_OK, "", "mounted, and of our pid namespace", ""},

	{"pidfd", FINDING_OK, "pidfds",
	    "signals cannot reach the wrong process", ""},
	{"pidfd", FINDING_WARNING, "", "there are no pidfds: a signal to a "
	    "job's descendant may reach a process that has got its id",
	    "use Linux 5.3 or newer, and permit pidfd_open and "
	    "pidfd_send_signal in the sandbox"},

	{"processes", FINDING_OK, "unlimited", "no limit", ""},
	{"processes", FINDING_OK, "root", "no limit for root", ""},
	{"processes", FINDING_UNKNOWN, "most !used",
	    "how many are in use is not known, the limit is {most}", ""},
	{"processes", EXITCODE_RESOURCE, "spare<1",
	    USED ": the guard cannot start", RAISE},
	{"processes", FINDING_WARNING, "spare<16",
	    USED ": the guard and the job may not start", RAISE},
	{"processes", FINDING_OK, "most", USED, ""},

	{"files", FINDING_WARNING, "files<64",
	    "{files} may be open", "raise the limit: ulimit -n"},
	{"files", FINDING_OK, "files", "{files} may be open", ""},

	{"local-clock", FINDING_OK, "!asleep", "CLOCK_BOOTTIME (source "
	    "{source}), which counts the time of a suspension", ""},
	{"local-clock", FINDING_NOTE, "", "CLOCK_BOOTTIME (source {source}); "
	    "this host was suspended for {asleep} s since it booted: a job is "
	    "killed if its lease ended meanwhile", ""},

	{.text = "place"},
	{"log", FINDING_WARNING, "log denial", "{log} " MISSING, PERMIT},
	{"log", FINDING_OK, "log", "{log} can be written", ""},
	{"metrics", FINDING_WARNING, "metrics denial", "{metrics} " MISSING,
	    PERMIT},
	{"metrics", FINDING_OK, "metrics", "{metrics} can be written", ""},

	{.text = ""},
};
