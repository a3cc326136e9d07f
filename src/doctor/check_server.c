#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/num.h"
#include "doctor/checks.h"
#include "redis/info.h"
#include "redis/reply.h"

enum {
	CLIENTS_SPARE = 32,
	CLIENTS_PART = 10,
	FULL_PERCENT = 90,
	OLDEST_MAJOR = 5
};
enum { ACL_MAJOR = 6, DRYRUN_MAJOR = 7 };

/* Longer values are cut. */
enum { VALUE_SIZE = 32 };

enum setting {
	SETTING_FSYNC,
	SETTING_SAVE,
	SETTING_CLIENTS,
	SETTING_REPLICAS,
	SETTINGS,
};

/* What a server says of itself. Nothing of it is believed beyond its type. */
struct facts {
	const struct visit *visit;
	struct findings *findings;
	const char *info; /* NULL: not known, and the reason */
	const char *no_info;
	const char *set[SETTINGS]; /* likewise */
	const char *no_settings;
};

static int64_t
setting_number(const struct facts *facts, enum setting setting)
{
	int64_t number = -1;

	if (facts->set[setting] != NULL)
		(void)num_int(facts->set[setting], 0, INT64_MAX, &number);
	return number;
}

static bool
is_setting(const struct facts *facts, enum setting setting, const char *value)
{
	return facts->set[setting] != NULL &&
	       strcmp(facts->set[setting], value) == 0;
}

static bool
is_mode(const struct facts *facts, const char *mode)
{
	return info_is(facts->info, "redis_mode", mode) ||
	       info_is(facts->info, "server_mode", mode); /* of Valkey */
}

static const char *
file_name(const struct facts *facts)
{
	return info_is(facts->info, "valkey_version", "") ? "redis.conf"
							  : "valkey.conf";
}

static void
advise_setting(const struct facts *facts, const char *name, const char *value)
{
	findings_set_remedy(facts->findings,
	    "CONFIG SET %s %s, and in %s: %s %s", name, value, file_name(facts),
	    name, value);
}

/* --- version ---------------------------------------------------------- */

/* Its first number, or -1. */
static int64_t
major_of(const char *version)
{
	char digits[16];
	int64_t major = -1;

	snprintf(digits, sizeof(digits), "%.*s", (int)strcspn(version, "."),
	    version);
	(void)num_int(digits, 0, INT64_MAX, &major);
	return major;
}

static void
check_version(const struct facts *facts)
{
	struct findings *findings = facts->findings;
	char redis[VALUE_SIZE], valkey[VALUE_SIZE];
	int64_t major;

	info_text(facts->info, "redis_version", redis, sizeof(redis));
	info_text(facts->info, "valkey_version", valkey, sizeof(valkey));
	major = major_of(redis);
	if (*valkey != '\0')
		findings_add(findings, FINDING_OK, "version", NULL, "Valkey %s",
		    valkey);
	else if (major == -1)
		findings_add(findings, FINDING_NOTE, "version", NULL,
		    "the server does not say which version it is");
	else if (major < OLDEST_MAJOR)
		findings_add(findings, FINDING_WARNING, "version",
		    "install Redis 5 or newer, or Valkey",
		    "Redis %s is older than Redis 5", redis);
	else if (major < ACL_MAJOR)
		findings_add(findings, FINDING_NOTE, "version", NULL,
		    "Redis %s has neither access rules nor TLS, which came "
		    "with Redis 6",
		    redis);
	else
		findings_add(findings, FINDING_OK, "version", NULL,
		    "Redis %s%s", redis,
		    major < DRYRUN_MAJOR ? ", without ACL DRYRUN" : "");
}

/* A node that is visited as a part of the cluster looks like any server here.
 */
static void
check_mode(const struct facts *facts)
{
	if (is_mode(facts, "cluster") &&
	    !facts->visit->enquiry.opts->servers[0].cluster)
		findings_add(facts->findings, FINDING_WARNING, "cluster",
		    "redis-cluster:// in place of redis://",
		    "the server is a node of a cluster: it refuses locks that "
		    "belong to other nodes");
}

/* --- memory ----------------------------------------------------------- */

/* Helper keys and locks all have a ttl, so that volatile-* is no better. */
static void
check_eviction(const struct facts *facts)
{
	struct findings *findings = facts->findings;
	char policy[VALUE_SIZE];

	info_text(facts->info, "maxmemory_policy", policy, sizeof(policy));
	if (*policy == '\0') {
		findings_add(findings, FINDING_NOTE, "eviction",
		    "make sure that it is noeviction",
		    "the server does not say its maxmemory-policy");
	} else if (strcmp(policy, "noeviction") == 0) {
		findings_add(findings, FINDING_OK, "eviction", NULL,
		    "maxmemory-policy is noeviction");
	} else {
		bool evicts = info_number(facts->info, "maxmemory") != 0;

		findings_add(findings, evicts ? FINDING_WARNING : FINDING_NOTE,
		    "eviction", NULL, "maxmemory-policy is %s%s", policy,
		    evicts ? ": a server short of memory deletes locks that "
			     "are held"
			   : ", but without maxmemory nothing is evicted");
		advise_setting(facts, "maxmemory-policy", "noeviction");
	}
}

static void
check_fullness(const struct facts *facts)
{
	int64_t most = info_number(facts->info, "maxmemory");
	int64_t used = info_number(facts->info, "used_memory");

	if (most > 0 && used >= 0 && used / (most / 100 + 1) >= FULL_PERCENT)
		findings_add(facts->findings, FINDING_WARNING, "memory",
		    "raise its maxmemory",
		    "%" PRId64 "%% of maxmemory are in use: a full server "
		    "grants no lock",
		    used / (most / 100 + 1));
}

/* --- persistence ------------------------------------------------------ */

static void
check_fsync(const struct facts *facts)
{
	struct findings *findings = facts->findings;
	const char *fsync = facts->set[SETTING_FSYNC];

	if (fsync == NULL || *fsync == '\0') {
		findings_add(findings, FINDING_NOTE, "persistence",
		    "make sure that it is always or everysec",
		    "appendonly is yes; the server does not say its "
		    "appendfsync");
	} else {
		bool never = strcmp(fsync, "no") == 0;

		findings_add(findings, never ? FINDING_WARNING : FINDING_NOTE,
		    "persistence", NULL,
		    "appendfsync is %.15s: if the machine crashes, the locks "
		    "of the last %s are lost",
		    fsync, never ? "half minute" : "second or two");
		advise_setting(facts, "appendfsync", "always");
	}
}

static void
check_persistence(const struct facts *facts)
{
	struct findings *findings = facts->findings;
	const struct opts *opts = facts->visit->enquiry.opts;
	int64_t appends = info_number(facts->info, "aof_enabled");
	const char *save = facts->set[SETTING_SAVE];

	if (appends == 1 && is_setting(facts, SETTING_FSYNC, "always")) {
		findings_add(findings, FINDING_OK, "persistence", NULL,
		    "appendonly is yes and appendfsync always: a restart loses "
		    "no lock");
	} else if (appends != 0 && appends != 1) {
		findings_add(findings, FINDING_NOTE, "persistence",
		    "find out what a restart would lose",
		    "the server does not say what it stores on disk");
	} else if (opts->server_count > 1 &&
		   opts->min_uptime_ms >= opts->ttl_ms) {
		/* All that it may have forgotten has ended by then. */
		findings_add(findings, FINDING_OK, "persistence", NULL,
		    "after a restart the server abstains for --min-uptime");
	} else if (appends == 1) {
		check_fsync(facts);
	} else {
		findings_add(findings, FINDING_WARNING, "persistence", NULL,
		    save == NULL    ? "appendonly is no: a restart loses locks"
		    : *save != '\0' ? "appendonly is no: a crash loses all "
				      "locks since the last snapshot"
				    : "nothing is stored on disk: a restart "
				      "loses all locks");
		findings_set_remedy(findings,
		    "CONFIG SET appendonly yes, CONFIG SET appendfsync always, "
		    "and in %s: appendonly yes, appendfsync always",
		    file_name(facts));
	}
}

/* Then it refuses what writes, or does not store it. */
static void
check_disk(const struct facts *facts)
{
	bool append = info_number(facts->info, "aof_enabled") == 1 &&
		      info_is(facts->info, "aof_last_write_status", "err");

	if (append || info_is(facts->info, "rdb_last_bgsave_status", "err"))
		findings_add(facts->findings, FINDING_WARNING, "disk",
		    "see the log of the server, and its disk",
		    "the last %s has failed",
		    append ? "write to its append-only file" : "snapshot");
}

/* --- replication ------------------------------------------------------ */

static bool
may_fail_over(const struct facts *facts)
{
	return facts->visit->enquiry.endpoint->master != NULL ||
	       is_mode(facts, "cluster");
}

/* What --wait-replicas demands, and what the server demands by itself. */
static bool
has_enough_replicas(const struct facts *facts)
{
	static const char remedy[] = "start replicas, or lower the number";
	int64_t good = info_number(facts->info, "min_slaves_good_slaves");
	int64_t online = info_online_replicas(facts->info);
	int64_t least = setting_number(facts, SETTING_REPLICAS);
	int wanted = facts->visit->enquiry.opts->replicas;

	if (least > 0 && good >= 0 && good < least) {
		findings_add(facts->findings, EXITCODE_UNAVAILABLE, "replicas",
		    remedy,
		    "%" PRId64 " of the %" PRId64 " replicas are in sync that "
		    "min-replicas-to-write requires",
		    good, least);
		return false;
	}
	if (wanted > 0 && online >= 0 && online < wanted) {
		findings_add(facts->findings, EXITCODE_UNAVAILABLE, "replicas",
		    remedy,
		    "%" PRId64 " replicas are online, --wait-replicas requires "
		    "%d",
		    online, wanted);
		return false;
	}
	return true;
}

/* A primary that is cut off from the others grants locks until it notices, and
 * the new primary grants the same ones. */
static void
check_split(const struct facts *facts)
{
	struct findings *findings = facts->findings;
	int64_t least = setting_number(facts, SETTING_REPLICAS);

	if (least == -1) {
		findings_add(findings, FINDING_NOTE, "min-replicas", NULL,
		    "the server does not say its min-replicas-to-write");
	} else if (least > 0) {
		findings_add(findings, FINDING_OK, "min-replicas", NULL,
		    "min-replicas-to-write is %" PRId64, least);
	} else {
		bool waits = facts->visit->enquiry.opts->replicas > 0;

		findings_add(findings, waits ? FINDING_NOTE : FINDING_WARNING,
		    "min-replicas", NULL,
		    "min-replicas-to-write is 0: a primary that is cut off "
		    "from its replicas still grants locks");
		advise_setting(facts, "min-replicas-to-write", "1");
	}
}

static void
check_failover(const struct facts *facts, int64_t online)
{
	struct findings *findings = facts->findings;
	int wanted = facts->visit->enquiry.opts->replicas;
	int64_t all = info_number(facts->info, "connected_slaves");
	bool fails_over = may_fail_over(facts);

	if (wanted > 0)
		findings_add(findings, FINDING_OK, "replicas", NULL,
		    "%" PRId64 " online; --wait-replicas waits for %d", online,
		    wanted);
	else
		findings_add(findings,
		    fails_over ? FINDING_WARNING : FINDING_NOTE, "replicas",
		    "--wait-replicas 1", "%" PRId64 " online: %s", online,
		    fails_over ? "a failover loses locks that they do not have "
				 "yet"
			       : "one that becomes the primary may lack the "
				 "latest locks");
	if (online < all)
		findings_add(findings, FINDING_NOTE, "replicas-offline", NULL,
		    "%" PRId64 " of %" PRId64 " replicas are not online",
		    all - online, all);
	if (fails_over)
		check_split(facts);
}

static void
check_replicas(const struct facts *facts)
{
	int64_t online = info_online_replicas(facts->info);
	bool fails_over = may_fail_over(facts);

	if (!has_enough_replicas(facts))
		return;
	if (online < 0)
		findings_add(facts->findings, FINDING_NOTE, "replicas", NULL,
		    "the server does not say whether it has replicas");
	else if (online == 0 && facts->visit->enquiry.opts->replicas == 0)
		findings_add(facts->findings,
		    fails_over ? FINDING_NOTE : FINDING_OK, "replicas", NULL,
		    "none%s",
		    fails_over ? ": no other server can take over" : "");
	else
		check_failover(facts, online);
}

/* --- clients ---------------------------------------------------------- */

static void
check_clients(const struct facts *facts)
{
	int64_t clients = info_number(facts->info, "connected_clients");
	int64_t most = setting_number(facts, SETTING_CLIENTS), left;
	bool few;

	if (most == -1)
		most = info_number(facts->info, "maxclients");
	if (clients < 0 || most < 0) {
		findings_add(facts->findings, FINDING_NOTE, "clients", NULL,
		    "the server does not say how many clients it admits");
		return;
	}
	left = most - clients;
	few = left < CLIENTS_SPARE || left < most / CLIENTS_PART;
	findings_add(facts->findings, few ? FINDING_WARNING : FINDING_OK,
	    "clients", few ? "raise its maxclients" : NULL,
	    "%" PRId64 " of maxclients %" PRId64 ": room for %" PRId64, clients,
	    most, left);
}

/* ---------------------------------------------------------------------- */

static bool
serves(const struct facts *facts)
{
	struct findings *findings = facts->findings;

	if (is_mode(facts, "sentinel"))
		findings_add(findings, EXITCODE_REFUSED, "reach",
		    "redis-sentinel://HOST:PORT/MASTER",
		    "the server is a sentinel");
	else if (info_number(facts->info, "loading") == 1)
		findings_add(findings, EXITCODE_UNAVAILABLE, "reach",
		    "wait until it has finished: a run does so for "
		    "--server-timeout",
		    "the server is loading its data");
	else if (info_is(facts->info, "role", "slave"))
		findings_add(findings, EXITCODE_UNAVAILABLE, "reach",
		    "use the address of the primary, or redis-sentinel://",
		    "the server is a replica");
	else
		return true;
	return false;
}

static void
note_silence(const struct facts *facts, const char *check, const char *error,
    const char *rule, const char *what)
{
	if (error == NULL)
		return;
	findings_add(facts->findings, FINDING_NOTE, check, NULL, "%s: %.256s",
	    what, error);
	if (reply_is(error, "NOPERM"))
		findings_set_remedy(facts->findings, "permit it: %s", rule);
}

static bool
judge_server(const struct facts *facts)
{
	if (!serves(facts))
		return false;
	note_silence(facts, "info", facts->no_info, "+info",
	    "INFO is not available, so much is not known");
	note_silence(facts, "config", facts->no_settings, "+config|get",
	    "CONFIG GET is not available, so some settings are not known");
	check_version(facts);
	check_mode(facts);
	check_eviction(facts);
	check_fullness(facts);
	check_persistence(facts);
	check_disk(facts);
	check_replicas(facts);
	check_clients(facts);
	return true;
}

static void
take_facts(struct facts *facts, const struct question *questions)
{
	facts->info = value_text(questions[0].value);
	if (facts->info == NULL)
		facts->no_info = questions[0].error != NULL
				     ? questions[0].error
				     : "its reply is no text";
	for (size_t i = 0; i < SETTINGS; i++) {
		const struct question *question = &questions[i + 1];

		facts->set[i] = value_text(value_at(question->value, 1));
		if (facts->no_settings == NULL)
			facts->no_settings = question->error;
	}
}

static void
identify(struct visit *visit, const struct facts *facts)
{
	const struct enquiry *enquiry = &visit->enquiry;
	struct check_identity *identity = &visit->identity;
	bool is_unix = enquiry->endpoint->transport == URL_UNIX;

	*identity = (struct check_identity){.label = enquiry->endpoint->label,
	    .uptime_s = info_number(facts->info, "uptime_in_seconds"),
	    .clock = check_contact_offset(&visit->samples)};
	info_text(facts->info, "run_id", identity->run_id,
	    sizeof(identity->run_id));
	if (!server_address(enquiry->server, identity->address,
		sizeof(identity->address)))
		snprintf(identity->address, sizeof(identity->address), "%s",
		    is_unix ? "localhost" : "");
}

bool
check_server(struct visit *visit, bool *is_node)
{
	struct question questions[] = {{.argv = QUESTION_WORDS("INFO")},
	    [1 + SETTING_FSYNC] = {.argv = QUESTION_WORDS("CONFIG", "GET",
				       "appendfsync")},
	    [1 + SETTING_SAVE] = {.argv =
				      QUESTION_WORDS("CONFIG", "GET", "save")},
	    [1 + SETTING_CLIENTS] = {.argv = QUESTION_WORDS("CONFIG", "GET",
					 "maxclients")},
	    [1 + SETTING_REPLICAS] = {.argv = QUESTION_WORDS("CONFIG", "GET",
					  "min-replicas-to-write")}};
	struct facts facts = {.visit = visit, .findings = visit->findings};
	bool answered = check_contact_ask(visit, questions, 1 + SETTINGS);

	if (answered) {
		take_facts(&facts, questions);
		identify(visit, &facts);
		*is_node = is_mode(&facts, "cluster");
		answered = judge_server(&facts);
	}
	enquiry_forget(questions, 1 + SETTINGS);
	return answered;
}
