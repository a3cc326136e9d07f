/* What a server says of itself becomes facts: the settings first, then INFO,
 * then what follows from several values. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/mem.h"
#include "base/num.h"
#include "doctor/checks.h"
#include "doctor/rows.h"
#include "redis/info.h"
#include "redis/reply.h"

enum { CLIENTS_SPARE = 32, CLIENTS_PART = 10 };

/* --- the rows --------------------------------------------------------- */

#define SET(setting, value)                                                   \
	"CONFIG SET " setting " " value ", and in {file}: " setting " " value \
	"{too}"
/* A server that starts with appendonly yes in its file, and that has no
 * append-only file yet, ignores its snapshot and begins empty. */
#define STORE_ALL                                                              \
	"in this order: CONFIG SET appendfsync always, CONFIG SET appendonly " \
	"yes, wait until aof_rewrite_in_progress is 0, CONFIG REWRITE or the " \
	"same lines in {file}; never the file and a restart{too}"
#define CUT_OFF                                                           \
	"min-replicas-to-write is 0: a primary that is cut off from its " \
	"replicas still grants locks"
#define ROOM "{connected_clients} of maxclients {maxclients}: room for {left}"

#define PERMIT_REPLAY                                                        \
	"ACL SETUSER default off resetpass ~* &* +@all, then {save_rules}; " \
	"first give a user of its own to what logs in as default"

/* clang-format off */
/* No run gets a lock from such a server. */
static const struct judgement useless[] = {
	{"reach", EXITCODE_REFUSED, "mode=sentinel", "the server is a sentinel",
	    "redis-sentinel://HOST:PORT/MASTER"},
	{"reach", EXITCODE_UNAVAILABLE, "loading=1",
	    "the server is loading its data",
	    "wait until it has finished: a run does so for --server-timeout"},
	{"reach", EXITCODE_UNAVAILABLE, "role=slave", "the server is a replica",
	    "use the address of the primary, or redis-sentinel://"},
};

static const struct judgement usual[] = {
	{"info", FINDING_NOTE, "no_info info_denied",
	    "INFO is not available, so much is not known: {no_info}",
	    "permit +info"},
	{"info", FINDING_NOTE, "no_info",
	    "INFO is not available, so much is not known: {no_info}", ""},
	{"config", FINDING_NOTE, "no_config config_denied",
	    "CONFIG GET is not available, so some settings are not known: "
	    "{no_config}", "permit +config|get"},
	{"config", FINDING_NOTE, "no_config",
	    "CONFIG GET is not available, so some settings are not known: "
	    "{no_config}", ""},

	{"version", FINDING_OK, "valkey_version", "Valkey {valkey_version}", ""},
	{"version", FINDING_OK, "redict_version", "Redict {redict_version}", ""},
	{"version", FINDING_UNKNOWN, "!major",
	    "the server does not say which version it is", "{see_info}"},
	{"version", FINDING_WARNING, "major<5",
	    "Redis {redis_version} is older than Redis 5",
	    "install Redis 5 or newer, or Valkey"},
	{"version", FINDING_NOTE, "major<6", "Redis {redis_version} has neither "
	    "access rules nor TLS, which came with Redis 6", ""},
	{"version", FINDING_OK, "major<7",
	    "Redis {redis_version}, without ACL DRYRUN", ""},
	{"version", FINDING_OK, "", "Redis {redis_version}", ""},

	/* As a part of a cluster that the URL names, it is as it should be. */
	{"cluster", FINDING_WARNING, "mode=cluster !in_cluster", "the server is "
	    "a node of a cluster: it refuses locks that belong to other nodes",
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

};

/* What the server keeps of what it has acknowledged. */
static const struct judgement kept[] = {
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
	    "aof_enabled=1 appendfsync=always !flawed",
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

};

static const struct judgement others[] = {
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
};
/* Of a replica, before what it keeps. */
static const struct judgement replicated[] = {
	{"reach", FINDING_UNKNOWN, "loading=1", "it is loading its data",
	    "wait until it has finished"},
	{"read-only", FINDING_WARNING, "role=slave slave_read_only=0",
	    "it accepts writes: who reaches it gets a lock beside those of "
	    "its primary", SET("replica-read-only", "yes")},
};
/* clang-format on */

enum {
	USELESS = sizeof(useless) / sizeof(*useless),
	USUAL = sizeof(usual) / sizeof(*usual),
	KEPT = sizeof(kept) / sizeof(*kept),
	OTHERS = sizeof(others) / sizeof(*others),
	REPLICATED = sizeof(replicated) / sizeof(*replicated)
};

/* --- the verdict ------------------------------------------------------ */

bool
check_server_rows(const char *facts, struct findings *findings)
{
	if (rows_judge(useless, USELESS, FINDING_OK, facts, findings) > 0)
		return false;
	rows_judge(usual, USUAL, FINDING_OK, facts, findings);
	rows_judge(kept, KEPT, FINDING_OK, facts, findings);
	rows_judge(others, OTHERS, FINDING_OK, facts, findings);
	return true;
}

bool
check_server_replica_rows(const char *facts, struct findings *findings)
{
	size_t added =
	    rows_judge(replicated, REPLICATED, FINDING_NOTE, facts, findings);

	if (added == 0 || !info_is(facts, "loading", "1"))
		added += rows_judge(kept, KEPT, FINDING_NOTE, facts, findings);
	return added == 0;
}

/* --- the facts -------------------------------------------------------- */

/* Why something is not known, and the rule that would let one look. */
static void
put_error(char **facts, const char *what, const char *error, const char *rule)
{
	rows_put(facts, "no_%s:%.256s\n", what, error);
	if (reply_is(error, "NOPERM"))
		rows_put(facts, "%s_denied:1\nsee_%s:permit %s\n", what, what,
		    rule);
}

/* The answer to CONFIG GET. */
static void
put_setting(char **facts, const struct question *question)
{
	const char *name = question->argv[2];
	const char *value = value_text(value_at(question->value, 1));

	if (value != NULL && strcmp(name, "save") == 0)
		rows_put(facts, "snapshots:%s\n",
		    *value != '\0' ? "yes" : "no");
	else if (value != NULL && strcmp(name, "aclfile") == 0)
		rows_put(facts, "save_rules:%s\n",
		    *value != '\0' ? "ACL SAVE" : "CONFIG REWRITE");
	else if (value != NULL)
		rows_put(facts, "%s:%s\n", name, value);
	else if (question->error != NULL)
		put_error(facts, "config", question->error, "+config|get");
}

/* The mode and the version, by the words of Redis, of Valkey and of Redict. */
static void
put_kind(char **facts, const struct visit *visit)
{
	const struct opts *opts = visit->enquiry.opts;
	const char *file =
	    !info_is(*facts, "valkey_version", "")   ? "valkey.conf"
	    : !info_is(*facts, "redict_version", "") ? "redict.conf"
						     : "redis.conf";
	char version[FACT_SIZE], mode[FACT_SIZE];
	int64_t major = -1;

	info_text(*facts, "redis_version", version, sizeof(version));
	info_text(*facts, "redis_mode", mode, sizeof(mode));
	if (*mode == '\0')
		info_text(*facts, "server_mode", mode, sizeof(mode));
	if (*mode == '\0')
		info_text(*facts, "redict_mode", mode, sizeof(mode));
	version[strcspn(version, ".")] = '\0';
	(void)num_int(version, 0, INT64_MAX, &major);
	rows_put_number(facts, "major", major >= 0, major);
	rows_put(facts, "file:%s\nmode:%s\nsave_rules:%s\n", file, mode,
	    visit->save_rules);
	rows_put_flag(facts, "in_cluster", opts->servers[0].cluster);
	rows_put_flag(facts, "fails_over",
	    visit->enquiry.endpoint->master != NULL ||
		strcmp(mode, "cluster") == 0);
	rows_put_flag(facts, "abstains",
	    opts->server_count > 1 &&
		opts->lock.min_uptime_ms >= opts->lock.ttl_ms &&
		opts->lock.min_uptime_ms >= opts->min_hold_ms);
}

static void
put_resources(char **facts)
{
	int64_t most = info_number(*facts, "maxmemory");
	int64_t used = info_number(*facts, "used_memory");
	int64_t clients = info_number(*facts, "connected_clients");
	int64_t admitted = info_number(*facts, "maxclients");
	int64_t left = admitted - clients;
	bool is_known = clients >= 0 && admitted >= 0;

	if (most > 0 && used >= 0)
		rows_put_number(facts, "percent", true,
		    used / (most / 100 + 1));
	rows_put_number(facts, "left", is_known, left);
	rows_put_flag(facts, "few",
	    is_known &&
		(left < CLIENTS_SPARE || left < admitted / CLIENTS_PART));
}

/* What keeps an append-only file from having all that the server has
 * acknowledged. Only always is worth that much. */
static void
put_persistence(char **facts)
{
	bool rewriting = info_number(*facts, "aof_rewrite_in_progress") > 0 ||
			 info_number(*facts, "aof_rewrite_scheduled") > 0;
	bool flawed = rewriting ||
		      info_is(*facts, "aof_last_bgrewrite_status", "err") ||
		      info_is(*facts, "no-appendfsync-on-rewrite", "yes") ||
		      !info_is(*facts, "replay_lacks", "") ||
		      !info_is(*facts, "renamed", "");

	rows_put_flag(facts, "rewriting", rewriting);
	rows_put_flag(facts, "flawed", flawed);
}

/* What --wait-replicas demands, and what the server demands by itself. */
static void
put_replicas(char **facts, int wanted)
{
	int64_t good = info_number(*facts, "min_slaves_good_slaves");
	int64_t least = info_number(*facts, "min-replicas-to-write");
	int64_t all = info_number(*facts, "connected_slaves");
	int64_t online = info_online_replicas(*facts);
	char last[32], line[FACT_SIZE] = "";
	bool out_of_sync = least > 0 && good >= 0 && good < least;
	bool too_few;

	/* Whether those are online that it counts and does not list? */
	snprintf(last, sizeof(last), "slave%" PRId64, all - 1);
	info_text(*facts, last, line, sizeof(line));
	if (all > 0 && *line == '\0')
		online = -1;
	too_few = online >= 0 && online < wanted;
	if (all > 0)
		rows_put(facts, "too:; on each replica, too\n");
	rows_put_flag(facts, "out_of_sync", out_of_sync);
	rows_put_flag(facts, "too_few", too_few);
	rows_put_flag(facts, "replicated",
	    online > 0 && !out_of_sync && !too_few);
	rows_put_number(facts, "online", online >= 0, online);
	rows_put_number(facts, "offline", online < all, all - online);
	rows_put_number(facts, "wanted", wanted > 0, wanted);
}

/* --- asking ----------------------------------------------------------- */

/* To be freed. */
static char *
gather_facts(const struct visit *visit, const struct question *questions,
    size_t count)
{
	const char *info = value_text(questions[0].value);
	const char *error = questions[0].error;
	char *facts = mem_strdup("");

	for (size_t i = 1; i < count; i++)
		put_setting(&facts, &questions[i]);
	if (info != NULL)
		rows_put(&facts, "%s\n", info);
	else
		put_error(&facts, "info",
		    error != NULL ? error : "its reply is no text", "+info");
	rows_put(&facts, "see_info:" CHECK_SEE "\nsee_config:" CHECK_SEE "\n");
	put_kind(&facts, visit);
	put_resources(&facts);
	if (info != NULL)
		put_replicas(&facts, visit->enquiry.opts->lock.replicas);
	return facts;
}

char *
check_server_facts(struct visit *visit)
{
	struct question questions[] = {{.argv = QUESTION_WORDS("INFO")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET", "appendfsync")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET",
		 "no-appendfsync-on-rewrite")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET", "save")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET", "maxclients")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET", "aclfile")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET", "min-replicas-to-write")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET", "min-replicas-max-lag")},
	    {.argv = QUESTION_WORDS("CONFIG", "GET",
		 "cluster-replica-no-failover")}};
	const size_t count = sizeof(questions) / sizeof(*questions);
	char *facts = NULL;

	if (check_contact_ask(visit, questions, count)) {
		facts = gather_facts(visit, questions, count);
		if (check_replay(visit, &facts)) {
			put_persistence(&facts);
		} else {
			free(facts);
			facts = NULL;
		}
	}
	enquiry_forget(questions, count);
	return facts;
}

bool
check_server(struct visit *visit, bool *is_node)
{
	const struct enquiry *enquiry = &visit->enquiry;
	struct check_identity *identity = &visit->identity;
	bool is_unix = enquiry->endpoint->transport == URL_UNIX;
	const char *facts;

	facts = visit->facts = check_server_facts(visit);
	if (facts == NULL)
		return false;
	*identity = (struct check_identity){.label = enquiry->endpoint->label,
	    .uptime_s = info_number(facts, "uptime_in_seconds"),
	    .clock = check_contact_offset(&visit->samples)};
	info_text(facts, "run_id", identity->run_id, sizeof(identity->run_id));
	info_text(facts, "save_rules", visit->save_rules,
	    sizeof(visit->save_rules));
	if (!way_address_text(enquiry->server, identity->address,
		sizeof(identity->address)))
		snprintf(identity->address, sizeof(identity->address), "%s",
		    is_unix ? "localhost" : "");
	*is_node = info_is(facts, "mode", "cluster");
	if (check_server_rows(facts, visit->findings))
		return true;
	free(visit->facts);
	visit->facts = NULL;
	return false;
}
