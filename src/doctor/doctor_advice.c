#include "doctor/doctor_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/exitcode.h"
#include "redis/reply.h"

enum {
	CLIENTS_SPARE = 32,
	CLIENTS_PART = 10,
	FULL_PERCENT = 90,
	OLDEST_MAJOR = 5
};
enum { ACL_MAJOR = 6, DRYRUN_MAJOR = 7 };

/* What they share. */
struct advice {
	const struct doctor_server *server;
	const struct opts *opts;
	const struct endpoint *endpoint;
	struct findings *findings;
};

#define ADD(advice, ...) findings_add((advice)->findings, __VA_ARGS__)
#define REMEDY(advice, ...) findings_set_remedy((advice)->findings, __VA_ARGS__)

static const char *
file_name(const struct advice *advice)
{
	return *advice->server->valkey_version != '\0' ? "valkey.conf"
						       : "redis.conf";
}

static void
set_setting(const struct advice *advice, const char *name, const char *value)
{
	REMEDY(advice, "CONFIG SET %s %s, and in %s: %s %s", name, value,
	    file_name(advice), name, value);
}

/* --- version ---------------------------------------------------------- */

static void
advise_version(const struct advice *advice)
{
	const struct doctor_server *server = advice->server;
	const char *version = server->redis_version;
	int64_t major = doctor_server_major(server);

	if (*server->valkey_version != '\0')
		ADD(advice, FINDING_OK, "version", "Valkey %s",
		    server->valkey_version);
	else if (major == -1)
		ADD(advice, FINDING_NOTE, "version",
		    "the server does not say which version it is");
	else if (major < OLDEST_MAJOR) {
		ADD(advice, FINDING_WARNING, "version",
		    "Redis %s is older than Redis 5", version);
		REMEDY(advice, "install Redis 5 or newer, or Valkey");
	} else if (major < ACL_MAJOR)
		ADD(advice, FINDING_NOTE, "version",
		    "Redis %s has neither access rules nor TLS, which came "
		    "with Redis 6",
		    version);
	else
		ADD(advice, FINDING_OK, "version", "Redis %s%s", version,
		    major < DRYRUN_MAJOR ? ", without ACL DRYRUN" : "");
}

/* --- memory ----------------------------------------------------------- */

static void
advise_fullness(const struct advice *advice)
{
	const struct doctor_server *server = advice->server;
	int64_t percent;

	if (server->maxmemory <= 0 || server->used_memory < 0)
		return;
	percent = server->used_memory / (server->maxmemory / 100 + 1);
	if (percent < FULL_PERCENT)
		return;
	ADD(advice, FINDING_WARNING, "memory",
	    "%" PRId64 "%% of maxmemory are in use: a full server grants no "
	    "lock",
	    percent);
	REMEDY(advice, "raise its maxmemory");
}

/* Helper keys and locks all have a ttl, so that volatile-* is no better. */
static void
advise_eviction(const struct advice *advice)
{
	const struct doctor_server *server = advice->server;
	const char *policy = server->policy;

	if (*policy == '\0') {
		ADD(advice, FINDING_NOTE, "eviction",
		    "the server does not say its maxmemory-policy");
		REMEDY(advice, "make sure that it is noeviction");
	} else if (strcmp(policy, "noeviction") == 0) {
		ADD(advice, FINDING_OK, "eviction",
		    "maxmemory-policy is noeviction");
	} else if (server->maxmemory == 0) {
		ADD(advice, FINDING_NOTE, "eviction",
		    "maxmemory-policy is %s, but without maxmemory nothing is "
		    "evicted",
		    policy);
		set_setting(advice, "maxmemory-policy", "noeviction");
	} else {
		ADD(advice, FINDING_WARNING, "eviction",
		    "maxmemory-policy is %s: a server short of memory deletes "
		    "locks that are held",
		    policy);
		set_setting(advice, "maxmemory-policy", "noeviction");
	}
}

/* --- persistence ------------------------------------------------------ */

/* Several servers: one that has restarted abstains until all that it may have
 * forgotten has ended. */
static bool
may_forget(const struct advice *advice)
{
	const struct opts *opts = advice->opts;

	return opts->server_count > 1 && opts->min_uptime_ms >= opts->ttl_ms;
}

static void
advise_persistent(const struct advice *advice)
{
	const char *fsync = advice->server->appendfsync;

	if (strcmp(fsync, "always") == 0) {
		ADD(advice, FINDING_OK, "persistence",
		    "appendonly is yes and appendfsync always: a restart loses "
		    "no lock");
	} else if (may_forget(advice)) {
		ADD(advice, FINDING_OK, "persistence",
		    "after a restart the server abstains for --min-uptime");
	} else if (*fsync == '\0') {
		ADD(advice, FINDING_NOTE, "persistence",
		    "appendonly is yes; the server does not say its "
		    "appendfsync");
		REMEDY(advice, "make sure that it is always or everysec");
	} else {
		bool never = strcmp(fsync, "no") == 0;

		ADD(advice, never ? FINDING_WARNING : FINDING_NOTE,
		    "persistence",
		    "appendfsync is %s: if the machine crashes, the locks of "
		    "the last %s are lost",
		    fsync, never ? "half minute" : "second or two");
		set_setting(advice, "appendfsync", "always");
	}
}

static void
advise_persistence(const struct advice *advice)
{
	const struct doctor_server *server = advice->server;
	bool snapshots = *server->save != '\0';

	if (server->appendonly == 1) {
		advise_persistent(advice);
	} else if (server->appendonly != 0) {
		ADD(advice, FINDING_NOTE, "persistence",
		    "the server does not say what it stores on disk");
		REMEDY(advice, "find out what a restart would lose");
	} else if (may_forget(advice)) {
		ADD(advice, FINDING_OK, "persistence",
		    "after a restart the server abstains for --min-uptime");
	} else {
		ADD(advice, FINDING_WARNING, "persistence",
		    snapshots ? "appendonly is no: a crash loses all "
				"locks since the last snapshot"
		    : server->save_known ? "nothing is stored on disk: a "
					   "restart loses all locks"
					 : "appendonly is no: a restart loses "
					   "locks");
		REMEDY(advice,
		    "CONFIG SET appendonly yes, CONFIG SET appendfsync always, "
		    "and in %s: appendonly yes, appendfsync always",
		    file_name(advice));
	}
}

/* Then it refuses what writes, or does not store it. */
static void
advise_disk(const struct advice *advice)
{
	const struct doctor_server *server = advice->server;
	bool append = server->appendonly == 1 &&
		      strcmp(server->append_status, "err") == 0;

	if (!append && strcmp(server->snapshot_status, "err") != 0)
		return;
	ADD(advice, FINDING_WARNING, "disk", "the last %s has failed",
	    append ? "write to its append-only file" : "snapshot");
	REMEDY(advice, "see the log of the server, and its disk");
}

/* --- replication ------------------------------------------------------ */

static bool
may_fail_over(const struct advice *advice)
{
	return advice->endpoint->master != NULL ||
	       doctor_server_is_node(advice->server);
}

/* What --wait-replicas demands, and what the server demands by itself. */
static bool
has_enough_replicas(const struct advice *advice)
{
	const struct doctor_server *server = advice->server;
	int wanted = advice->opts->replicas;

	if (server->min_replicas > 0 && server->good_replicas >= 0 &&
	    server->good_replicas < server->min_replicas) {
		findings_add_error(advice->findings, EXITCODE_UNAVAILABLE,
		    "replicas",
		    "%" PRId64 " of the %" PRId64 " replicas are in sync that "
		    "min-replicas-to-write requires",
		    server->good_replicas, server->min_replicas);
		REMEDY(advice, "start replicas, or lower the number");
		return false;
	}
	if (wanted > 0 && server->replicas_online >= 0 &&
	    server->replicas_online < wanted) {
		findings_add_error(advice->findings, EXITCODE_UNAVAILABLE,
		    "replicas",
		    "%" PRId64 " replicas are online, --wait-replicas requires "
		    "%d",
		    server->replicas_online, wanted);
		REMEDY(advice, "start replicas, or lower the number");
		return false;
	}
	return true;
}

/* A primary that is cut off from the others grants locks until it notices, and
 * the new primary grants the same ones. */
static void
advise_split(const struct advice *advice)
{
	const struct doctor_server *server = advice->server;

	if (server->min_replicas == -1) {
		ADD(advice, FINDING_NOTE, "min-replicas",
		    "the server does not say its min-replicas-to-write");
	} else if (server->min_replicas > 0) {
		ADD(advice, FINDING_OK, "min-replicas",
		    "min-replicas-to-write is %" PRId64, server->min_replicas);
	} else {
		ADD(advice,
		    advice->opts->replicas > 0 ? FINDING_NOTE : FINDING_WARNING,
		    "min-replicas",
		    "min-replicas-to-write is 0: a primary that is cut off "
		    "from its replicas still grants locks");
		set_setting(advice, "min-replicas-to-write", "1");
	}
}

static void
advise_replicas(const struct advice *advice)
{
	const struct doctor_server *server = advice->server;
	int64_t online = server->replicas_online;

	if (!has_enough_replicas(advice))
		return;
	if (online < 0) {
		ADD(advice, FINDING_NOTE, "replicas",
		    "the server does not say whether it has replicas");
		return;
	}
	if (advice->opts->replicas > 0) {
		ADD(advice, FINDING_OK, "replicas",
		    "%" PRId64 " online; --wait-replicas waits for %d", online,
		    advice->opts->replicas);
	} else if (online == 0) {
		ADD(advice, may_fail_over(advice) ? FINDING_NOTE : FINDING_OK,
		    "replicas", "none%s",
		    may_fail_over(advice) ? ": no other server can take over"
					  : "");
		return;
	} else if (may_fail_over(advice)) {
		ADD(advice, FINDING_WARNING, "replicas",
		    "%" PRId64 " online: a failover loses locks that they do "
		    "not have yet",
		    online);
		REMEDY(advice, "--wait-replicas 1");
	} else {
		ADD(advice, FINDING_NOTE, "replicas",
		    "%" PRId64 " online: one that becomes the primary may lack "
		    "the latest locks",
		    online);
		REMEDY(advice, "--wait-replicas 1");
	}
	if (online < server->replicas)
		ADD(advice, FINDING_NOTE, "replicas-offline",
		    "%" PRId64 " of %" PRId64 " replicas are not online",
		    server->replicas - online, server->replicas);
	if (may_fail_over(advice))
		advise_split(advice);
}

/* --- clients ---------------------------------------------------------- */

static void
advise_clients(const struct advice *advice)
{
	const struct doctor_server *server = advice->server;
	int64_t left = server->maxclients - server->clients;
	bool few =
	    left < CLIENTS_SPARE || left < server->maxclients / CLIENTS_PART;

	if (server->clients < 0 || server->maxclients < 0) {
		ADD(advice, FINDING_NOTE, "clients",
		    "the server does not say how many clients it admits");
		return;
	}
	ADD(advice, few ? FINDING_WARNING : FINDING_OK, "clients",
	    "%" PRId64 " of maxclients %" PRId64 ": room for %" PRId64,
	    server->clients, server->maxclients, left);
	if (few)
		REMEDY(advice, "raise its maxclients");
}

/* ---------------------------------------------------------------------- */

static bool
serves(const struct advice *advice)
{
	const struct doctor_server *server = advice->server;

	if (strcmp(server->mode, "sentinel") == 0) {
		findings_add_error(advice->findings, EXITCODE_REFUSED, "reach",
		    "the server is a sentinel");
		REMEDY(advice, "redis-sentinel://HOST:PORT/MASTER");
		return false;
	}
	if (server->loading == 1) {
		findings_add_error(advice->findings, EXITCODE_UNAVAILABLE,
		    "reach", "the server is loading its data");
		REMEDY(advice, "wait until it has finished: a run does so for "
			       "--server-timeout");
		return false;
	}
	if (strcmp(server->role, "slave") == 0) {
		findings_add_error(advice->findings, EXITCODE_UNAVAILABLE,
		    "reach", "the server is a replica");
		REMEDY(advice, "use the address of the primary, or "
			       "redis-sentinel://");
		return false;
	}
	return true;
}

/* A node that is visited as a part of the cluster looks like any server here.
 */
static void
advise_node(const struct advice *advice)
{
	if (!doctor_server_is_node(advice->server) ||
	    advice->opts->servers[0].cluster)
		return;
	ADD(advice, FINDING_WARNING, "cluster",
	    "the server is a node of a cluster: it refuses locks that belong "
	    "to other nodes");
	REMEDY(advice, "redis-cluster:// in place of redis://");
}

static void
permit(const struct advice *advice, const char *error, const char *rule)
{
	if (reply_is(error, "NOPERM"))
		REMEDY(advice, "permit it: %s", rule);
}

bool
doctor_advise(const struct doctor_server *server, struct doctor_visit *visit)
{
	const struct advice advice = {.server = server,
	    .opts = visit->opts,
	    .endpoint = visit->endpoint,
	    .findings = visit->findings};

	if (!serves(&advice))
		return false;
	if (server->no_info != NULL) {
		ADD(&advice, FINDING_NOTE, "info",
		    "INFO is not available, so much is not known: %.256s",
		    server->no_info);
		permit(&advice, server->no_info, "+info");
	}
	if (server->no_config != NULL) {
		ADD(&advice, FINDING_NOTE, "config",
		    "CONFIG GET is not available, so some settings are not "
		    "known: %.256s",
		    server->no_config);
		permit(&advice, server->no_config, "+config|get");
	}
	advise_version(&advice);
	advise_node(&advice);
	advise_eviction(&advice);
	advise_fullness(&advice);
	advise_persistence(&advice);
	advise_disk(&advice);
	advise_replicas(&advice);
	advise_clients(&advice);
	return true;
}
