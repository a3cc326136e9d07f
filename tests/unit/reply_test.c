#include "redis/reply.h"

#include "tap.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static const struct cell {
	const char *error;
	enum reply_verdict acquiring, holding, releasing;
} cells[] = {
    {"ERR max number of clients reached", REPLY_RETRY, REPLY_RETRY,
	REPLY_RETRY},
    {"LOADING Redis is loading the dataset in memory", REPLY_RETRY, REPLY_RETRY,
	REPLY_RETRY},
    {"BUSY Redis is busy running a script", REPLY_RETRY, REPLY_RETRY,
	REPLY_RETRY},
    {"MASTERDOWN Link with MASTER is down", REPLY_RETRY, REPLY_RETRY,
	REPLY_RETRY},
    {"NOREPLICAS Not enough good replicas to write", REPLY_RETRY, REPLY_RETRY,
	REPLY_RETRY},
    {"OOM command not allowed", REPLY_RETRY, REPLY_RETRY, REPLY_RETRY},
    {"MISCONF Redis is configured to save RDB snapshots", REPLY_RETRY,
	REPLY_RETRY, REPLY_RETRY},
    {"TRYAGAIN Multiple keys request", REPLY_RETRY, REPLY_RETRY, REPLY_RETRY},
    {"CLUSTERDOWN The cluster is down", REPLY_RETRY, REPLY_RETRY, REPLY_RETRY},
    {"READONLY You can't write against a read only replica", REPLY_RECONNECT,
	REPLY_RECONNECT, REPLY_RECONNECT},
    {"UNBLOCKED force unblock", REPLY_RECONNECT, REPLY_RECONNECT,
	REPLY_RECONNECT},
    {"WRONGTYPE Operation against a key", REPLY_NOT_A_LOCK, REPLY_LOST,
	REPLY_REPORT},
    {"NOAUTH Authentication required", REPLY_REFUSED, REPLY_RETRY,
	REPLY_REPORT},
    {"WRONGPASS invalid username-password pair", REPLY_REFUSED, REPLY_RETRY,
	REPLY_REPORT},
    {"NOPERM this user has no permissions", REPLY_REFUSED, REPLY_RETRY,
	REPLY_REPORT},
    {"DENIED Redis is running in protected mode", REPLY_REFUSED, REPLY_RETRY,
	REPLY_REPORT},
    {"ERR The user executing the script can't run this command", REPLY_REFUSED,
	REPLY_RETRY, REPLY_REPORT},
    {"ERR ACL failure in script: User u has no permissions", REPLY_REFUSED,
	REPLY_RETRY, REPLY_REPORT},
    {"ERR unknown command 'EVAL'", REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT},
    {"ERR something else", REPLY_REPORT, REPLY_RETRY, REPLY_REPORT},
    {"", REPLY_REPORT, REPLY_RETRY, REPLY_REPORT},
};

#define IN_CLUSTER "it is a node of a cluster (redis-cluster://HOST)"

static const struct {
	const char *error, *words;
} explained[] = {
    {"ERR unknown command 'EVAL', with args beginning with: ...",
	"it does not know EVAL, perhaps it is a sentinel "
	"(redis-sentinel://HOST/MASTER)"},
    {"ERR unknown command 'WAIT'", "ERR unknown command 'WAIT'"},
    {"MOVED 3999 127.0.0.1:6381", IN_CLUSTER},
    {"ASK 3999 127.0.0.1:6381", IN_CLUSTER},
    {"CROSSSLOT Keys in request don't hash to the same slot", IN_CLUSTER},
    {"MOVEDNOT", "MOVEDNOT"},
    {"OOM command not allowed", "OOM command not allowed"},
    {"", ""},
};

int
main(void)
{
	for (size_t i = 0; i < LENGTH(cells); i++) {
		const char *error = cells[i].error;

		is_int(reply_judge(REPLY_ACQUIRING, error), cells[i].acquiring,
		    error);
		is_int(reply_judge(REPLY_HOLDING, error), cells[i].holding,
		    error);
		is_int(reply_judge(REPLY_RELEASING, error), cells[i].releasing,
		    error);
	}
	for (size_t i = 0; i < LENGTH(explained); i++)
		is_text(reply_explain(explained[i].error), explained[i].words,
		    explained[i].error);
	return tap_done();
}
