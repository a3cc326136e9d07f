/* What the doctor finds, and what it advises. */
#include "base/exitcode.h"
#include "doctor/checks.h"
#include "doctor/rows.h"

/* clang-format off */
/* --- a server --------------------------------------------------------- */

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

static const struct row useless[] = {
	{"reach", EXITCODE_REFUSED, "mode=sentinel", "the server is a sentinel",
	    "redis-sentinel://HOST:PORT/MASTER"},
	{"reach", EXITCODE_UNAVAILABLE, "loading=1",
	    "the server is loading its data",
	    "wait until it has finished: a run does so for --server-timeout"},
	{"reach", EXITCODE_UNAVAILABLE, "role=slave", "the server is a replica",
	    "use the address of the primary, or redis-sentinel://"},
};

static const struct row server[] = {
	{"info", FINDING_NOTE, "no_info",
	    "INFO is not available, so much is not known: {no_info}",
	    "{permit_info}"},
	{"config", FINDING_NOTE, "no_config",
	    "CONFIG GET is not available, so some settings are not known: "
	    "{no_config}", "{permit_config}"},

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

static const struct row kept[] = {
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
	    "aof_enabled=1 appendfsync=always !replay_lacks !renamed !rewriting "
	    "!no-appendfsync-on-rewrite=yes !aof_last_bgrewrite_status=err",
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

static const struct row others[] = {
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

static const struct row replica[] = {
	{"reach", FINDING_UNKNOWN, "loading=1", "it is loading its data",
	    "wait until it has finished"},
	{"read-only", FINDING_WARNING, "role=slave slave_read_only=0",
	    "it accepts writes: who reaches it gets a lock beside those of "
	    "its primary", SET("replica-read-only", "yes")},
};

/* --- this host ---------------------------------------------------------- */

#define USED "{used} in use, the limit is {most}"
#define RAISE "raise the limit: ulimit -u, or TasksMax of the unit"
#define MISSING "cannot be written: {denial}; runs go on without it"
#define PERMIT \
	"create it, permit this user to write there, or use another place"

static const struct row host[] = {
	{"kernel", FINDING_WARNING, "old",
	    "{kernel} is older than Linux 4.18", "use a newer kernel"},
	{"kernel", FINDING_OK, "kernel", "{kernel}", ""},

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
	{"processes", EXITCODE_RESOURCE, "full",
	    USED ": the guard cannot start", RAISE},
	{"processes", FINDING_WARNING, "scarce",
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
};

static const struct row log_place[] = {
	{"log", FINDING_WARNING, "denial", "{place} " MISSING, PERMIT},
	{"log", FINDING_OK, "", "{place} can be written", ""},
};

static const struct row metrics_place[] = {
	{"metrics", FINDING_WARNING, "denial", "{place} " MISSING, PERMIT},
	{"metrics", FINDING_OK, "", "{place} can be written", ""},
};

/* ---------------------------------------------------------------------- */

#define ROWS(list) {list, sizeof(list) / sizeof(*(list))}
const struct rows rows_about[] = {
	[ABOUT_USELESS] = ROWS(useless),
	[ABOUT_SERVER] = ROWS(server),
	[ABOUT_KEPT] = ROWS(kept),
	[ABOUT_OTHERS] = ROWS(others),
	[ABOUT_REPLICA] = ROWS(replica),
	[ABOUT_HOST] = ROWS(host),
	[ABOUT_LOG] = ROWS(log_place),
	[ABOUT_METRICS] = ROWS(metrics_place),
};
