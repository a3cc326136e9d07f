#include "doctor/doctor_commands.h"

#include "base/exitcode.h"

#define KEY DOCTOR_COMMANDS_KEY

/* Nothing else uses the scratch key, and it is deleted a moment later. If that
 * is denied, it expires. */
#define LIFE_MS "600000"

/* clang-format off */
const struct doctor_command_row doctor_commands[DOCTOR_COMMANDS] = {
	[DOCTOR_SET] = {"set", "SET|" KEY "||PX|" LIFE_MS, true},
	[DOCTOR_EVAL] = {"eval", "EVAL|return 1|0", false},
	[DOCTOR_EVALSHA] = {"evalsha", "EVALSHA|0|0", false},
	[DOCTOR_TIME] = {"time", "TIME", false},
	[DOCTOR_GET] = {"get", "GET|" KEY, false},
	[DOCTOR_PTTL] = {"pttl", "PTTL|" KEY, false},
	[DOCTOR_HMGET] = {"hmget", "HMGET|" KEY "|f", false},
	[DOCTOR_HSET] = {"hset", "HSET|" KEY "|f|v", true},
	[DOCTOR_PEXPIRE] = {"pexpire", "PEXPIRE|" KEY "|" LIFE_MS, false},
	[DOCTOR_ZRANGE] = {"zrange", "ZRANGE|" KEY "|0|0", false},
	[DOCTOR_ZSCORE] = {"zscore", "ZSCORE|" KEY "|m", false},
	[DOCTOR_ZRANK] = {"zrank", "ZRANK|" KEY "|m", false},
	[DOCTOR_ZCOUNT] = {"zcount", "ZCOUNT|" KEY "|0|0", false},
	[DOCTOR_ZADD] = {"zadd", "ZADD|" KEY "|1|m", true},
	[DOCTOR_ZREM] = {"zrem", "ZREM|" KEY "|m", false},
	[DOCTOR_RPUSH] = {"rpush", "RPUSH|" KEY "|e", true},
	[DOCTOR_BLPOP] = {"blpop", "BLPOP|" KEY "|0.01", false},
	[DOCTOR_ZCARD] = {"zcard", "ZCARD|" KEY, false},
	[DOCTOR_HGET] = {"hget", "HGET|" KEY "|f", false},
	[DOCTOR_HDEL] = {"hdel", "HDEL|" KEY "|f", false},
	[DOCTOR_SETNAME] = {"client|setname", "CLIENT|SETNAME|rlockrun:doctor", false},
	[DOCTOR_SCAN] = {"scan", "SCAN|0|COUNT|1", false},
	[DOCTOR_WAIT] = {"wait", "WAIT|0|1", false},
	[DOCTOR_ROLE] = {"role", "ROLE", false},
	[DOCTOR_ASKING] = {"asking", "ASKING", false},
	[DOCTOR_CLUSTER_SLOTS] = {"cluster|slots", "CLUSTER|SLOTS", false},
	[DOCTOR_INFO] = {"info", "INFO|server", false},
	[DOCTOR_DEL] = {"del", "DEL|" KEY, false},
	[DOCTOR_UNLINK] = {"unlink", "UNLINK|" KEY, false},
};
/* clang-format on */

/* --- features --------------------------------------------------------- */

bool
doctor_feature_applies(const struct doctor_feature *feature,
    const struct opts *opts, const struct endpoint *server)
{
	switch (feature->scope) {
	case DOCTOR_ONE_SERVER:
		return opts->server_count == 1;
	case DOCTOR_SEVERAL_SERVERS:
		return opts->server_count > 1;
	case DOCTOR_WITH_SENTINELS:
		return server->master != NULL;
	case DOCTOR_IN_CLUSTER:
		return server->cluster;
	default:
		return true;
	}
}

bool
doctor_feature_is_used(const struct doctor_feature *feature,
    const struct opts *opts)
{
	switch (feature->use) {
	case DOCTOR_BY_COUNTED:
		return opts->kind != 'x';
	case DOCTOR_BY_HISTORY:
		return opts->history_ms > 0;
	case DOCTOR_BY_ONCE:
		return opts->once_ms > 0;
	case DOCTOR_BY_REPLICAS:
		return opts->replicas > 0;
	default:
		return feature->use == DOCTOR_BY_ALL;
	}
}

#define C(name) DOCTOR_BIT(DOCTOR_##name)
#define QUEUE_COMMANDS                                                      \
	(C(ZRANGE) | C(ZSCORE) | C(ZRANK) | C(ZCOUNT) | C(ZADD) | C(ZREM) | \
	    C(RPUSH) | C(BLPOP))
#define STATUS_COMMANDS                                                \
	(C(EVAL) | C(TIME) | C(GET) | C(PTTL) | C(HMGET) | C(ZCOUNT) | \
	    C(ZRANGE) | C(ZSCORE))
#define FORCE_COMMANDS \
	(C(DEL) | C(UNLINK) | C(ZADD) | C(ZREM) | C(RPUSH) | C(PEXPIRE))

const struct doctor_feature doctor_features[] = {
    {"access-lock", "no lock can be acquired and kept", DOCTOR_ANYWHERE,
	DOCTOR_BY_ALL, EXITCODE_REFUSED,
	C(EVAL) | C(TIME) | C(GET) | C(PTTL) | C(SET) | C(DEL) | C(HSET) |
	    C(PEXPIRE),
	C(LOCK) | C(FENCE) | C(RECORD)},
    {"access-once", "--once-per is refused", DOCTOR_ONE_SERVER, DOCTOR_BY_ONCE,
	EXITCODE_REFUSED, C(HMGET), C(HISTORY)},
    {"access-queue", "there is no queue", DOCTOR_ONE_SERVER, DOCTOR_BY_ALL, 0,
	QUEUE_COMMANDS, C(QUEUE) | C(ALIVE) | C(DOORBELL)},
    {"access-nested", "a nested run loses the lock when the outer run ends",
	DOCTOR_ONE_SERVER, DOCTOR_BY_ALL, 0, C(ZADD), C(NESTED)},
    {"access-history", "the last run is not recorded", DOCTOR_ONE_SERVER,
	DOCTOR_BY_HISTORY, 0, 0, C(HISTORY)},
    {"access-holder", "messages cannot name the holder", DOCTOR_ANYWHERE,
	DOCTOR_BY_ALL, 0, C(HMGET), 0},
    {"access-digest", "all scripts are sent as a whole", DOCTOR_ANYWHERE,
	DOCTOR_BY_NONE, 0, C(EVALSHA), 0},
    {"access-unlink",
	"the server does nothing else while it deletes a large key",
	DOCTOR_ANYWHERE, DOCTOR_BY_NONE, 0, C(UNLINK), 0},
    {"access-name", "the connection has no name", DOCTOR_ANYWHERE,
	DOCTOR_BY_NONE, 0, C(SETNAME), 0},
    {"access-counted", "--shared and --permits are refused", DOCTOR_ONE_SERVER,
	DOCTOR_BY_COUNTED, EXITCODE_REFUSED, C(ZCARD) | C(HGET) | C(HDEL), 0},
    {"access-status", "--status does not work", DOCTOR_ANYWHERE, DOCTOR_BY_NONE,
	0, STATUS_COMMANDS, 0},
    {"access-list", "--list does not work", DOCTOR_ANYWHERE, DOCTOR_BY_NONE, 0,
	C(SCAN) | STATUS_COMMANDS, 0},
    {"access-force", "--force-release does not work", DOCTOR_ANYWHERE,
	DOCTOR_BY_NONE, 0, FORCE_COMMANDS, 0},
    {"access-replicas", "--wait-replicas does not work", DOCTOR_ANYWHERE,
	DOCTOR_BY_REPLICAS, EXITCODE_UNAVAILABLE, C(WAIT), 0},
    {"access-votes", "this server does not count", DOCTOR_SEVERAL_SERVERS,
	DOCTOR_BY_ALL, EXITCODE_REFUSED, C(INFO), 0},
    {"access-sentinel", "a replica is detected later", DOCTOR_WITH_SENTINELS,
	DOCTOR_BY_ALL, 0, C(ROLE), 0},
    {"access-cluster", "slots that move and nodes that die are lost sight of",
	DOCTOR_IN_CLUSTER, DOCTOR_BY_ALL, 0, C(ASKING) | C(CLUSTER_SLOTS), 0},
    {"", "", DOCTOR_ANYWHERE, DOCTOR_BY_NONE, 0, 0, 0},
};
