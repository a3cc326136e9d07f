#include "doctor/doctor_commands.h"

#define KEY DOCTOR_COMMANDS_KEY

/* Nothing else uses the scratch key, and it is deleted a moment later. If that
 * is denied, it expires. */
#define LIFE_MS "600000"

/* clang-format off */
const struct doctor_command doctor_commands[NEEDS_COMMANDS] = {
	[NEEDS_SET] = {"SET|" KEY "||PX|" LIFE_MS, true},
	[NEEDS_EVAL] = {"EVAL|return 1|0", false},
	[NEEDS_EVALSHA] = {"EVALSHA|0|0", false},
	[NEEDS_TIME] = {"TIME", false},
	[NEEDS_GET] = {"GET|" KEY, false},
	[NEEDS_PTTL] = {"PTTL|" KEY, false},
	[NEEDS_HMGET] = {"HMGET|" KEY "|f", false},
	[NEEDS_HSET] = {"HSET|" KEY "|f|v|a field without value", false},
	[NEEDS_HDEL] = {"HDEL|" KEY "|f", false},
	[NEEDS_PEXPIRE] = {"PEXPIRE|" KEY "|" LIFE_MS, false},
	[NEEDS_ZRANGE] = {"ZRANGE|" KEY "|0|0", false},
	[NEEDS_ZSCORE] = {"ZSCORE|" KEY "|m", false},
	[NEEDS_ZRANK] = {"ZRANK|" KEY "|m", false},
	[NEEDS_ZCOUNT] = {"ZCOUNT|" KEY "|0|0", false},
	[NEEDS_ZADD] = {"ZADD|" KEY "|XX|1|m", false},
	[NEEDS_ZREM] = {"ZREM|" KEY "|m", false},
	[NEEDS_RPUSH] = {"RPUSH|" KEY "|e", true},
	[NEEDS_BLPOP] = {"BLPOP|" KEY "|0.01", false},
	[NEEDS_SETNAME] = {"CLIENT|SETNAME|rlockrun:doctor", false},
	[NEEDS_SCAN] = {"SCAN|0|COUNT|1", false},
	[NEEDS_WAIT] = {"WAIT|0|1", false},
	[NEEDS_ROLE] = {"ROLE", false},
	[NEEDS_ASKING] = {"ASKING", false},
	[NEEDS_CLUSTER_SLOTS] = {"CLUSTER|SLOTS", false},
	[NEEDS_INFO] = {"INFO|server", false},
	[NEEDS_DEL] = {"DEL|" KEY, false},
	[NEEDS_UNLINK] = {"UNLINK|" KEY, false},
};
/* clang-format on */
