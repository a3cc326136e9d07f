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
    {"ERR Unknown Redis command called from script (HSET)", REPLY_REFUSED,
	REPLY_RETRY, REPLY_REPORT},
    {"ERR Unknown Redict command called from script (HSET)", REPLY_REFUSED,
	REPLY_RETRY, REPLY_REPORT},
    {"ERR Unknown command called from script (HSET)", REPLY_REFUSED,
	REPLY_RETRY, REPLY_REPORT},
    /* The words of services and of proxies: of Codis, Upstash, Alibaba, Pika,
     * Teleport, of Envoy before 1.32, and of a script in Redis 5. */
    {"ERR handle request, command is not allowed", REPLY_REFUSED, REPLY_RETRY,
	REPLY_REPORT},
    {"ERR Command is not available: 'WAIT'. See https://docs.upstash.com/",
	REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT},
    {"ERR command eval not support for your account", REPLY_REFUSED,
	REPLY_RETRY, REPLY_REPORT},
    {"ERR unknown or unsupported command 'wait'", REPLY_REFUSED, REPLY_RETRY,
	REPLY_REPORT},
    {"ERR Teleport: command not supported", REPLY_REFUSED, REPLY_RETRY,
	REPLY_REPORT},
    {"unsupported command 'wait'", REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT},
    {"ERR proxy: UNKNOWN COMMAND", REPLY_REFUSED, REPLY_RETRY, REPLY_REPORT},
    /* Similar words of what passes, or is about something else. */
    {"ERR upstream not available", REPLY_REPORT, REPLY_RETRY, REPLY_REPORT},
    {"ERR WAIT cannot be used with replica instances", REPLY_REPORT,
	REPLY_RETRY, REPLY_REPORT},
    {"ERR Write commands not allowed after non deterministic commands",
	REPLY_REPORT, REPLY_RETRY, REPLY_REPORT},
    {"@user_script: 5: -OOM command not allowed when used memory > "
     "'maxmemory'.",
	REPLY_REPORT, REPLY_RETRY, REPLY_REPORT},
    {"ERR backend: LOADING, command not allowed", REPLY_REPORT, REPLY_RETRY,
	REPLY_REPORT},
    {"ERR something else", REPLY_REPORT, REPLY_RETRY, REPLY_REPORT},
    {"", REPLY_REPORT, REPLY_RETRY, REPLY_REPORT},
};

#define IN_CLUSTER "it is a node of a cluster (redis-cluster://HOST)"
#define RULES " (permit it: see ACCESS RULES in rlockrun-servers(7))"

static const struct {
	const char *error, *words;
} described[] = {
    {"ERR unknown command 'EVAL', with args beginning with: ...",
	"it does not know EVAL, perhaps it is a sentinel "
	"(redis-sentinel://HOST/MASTER)"},
    {"ERR unknown command 'WAIT'", "ERR unknown command 'WAIT'"},
    {"MOVED 3999 127.0.0.1:6381", IN_CLUSTER},
    {"ASK 3999 127.0.0.1:6381", IN_CLUSTER},
    {"CROSSSLOT Keys in request don't hash to the same slot", IN_CLUSTER},
    {"MOVEDNOT", "MOVEDNOT"},
    {"NOAUTH Authentication required.",
	"NOAUTH Authentication required. (give a password by --password-file "
	"or RLOCKRUN_PASSWORD, which a job does not inherit)"},
    {"WRONGPASS invalid", "WRONGPASS invalid (check the user and the "
			  "password)"},
    {"ERR AUTH <password> called without any password configured",
	"ERR AUTH <password> called without any password configured (leave "
	"the password out, or name a user by --user)"},
    {"ERR Client sent AUTH, but no password is set",
	"ERR Client sent AUTH, but no password is set (leave the password "
	"out)"},
    {"ERR invalid password", "ERR invalid password (check the password)"},
    {"ERR wrong number of arguments for 'auth' command",
	"ERR wrong number of arguments for 'auth' command (before Redis 6 "
	"there are no users: leave the user out, as in "
	"redis://:PASSWORD@HOST)"},
    {"ERR wrong number of arguments for 'set' command",
	"ERR wrong number of arguments for 'set' command"},
    {"ERR DB index is out of range",
	"ERR DB index is out of range (choose a db that the server has)"},
    {"NOPERM no 'get'", "NOPERM no 'get'" RULES},
    {"ERR The user executing the script can't run this (GET)",
	"ERR The user executing the script can't run this (GET)" RULES},
    {"ERR ACL failure in script: no", "ERR ACL failure in script: no" RULES},
    {"DENIED", "DENIED (set a password on the server, or protected-mode no)"},
    {"READONLY You can't", "READONLY You can't (it is a replica: use the "
			   "address of the primary, or redis-sentinel://)"},
    {"LOADING", "LOADING (it is loading its data; --server-timeout limits "
		"the wait)"},
    {"MISCONF", "MISCONF (it cannot save its data: see its log)"},
    {"OOM command not allowed",
	"OOM command not allowed (its memory is full: raise its maxmemory)"},
    {"ERR max number of clients reached",
	"ERR max number of clients reached (raise its maxclients)"},
    {"ERR Write commands not allowed after non deterministic commands. Call",
	"it is older than Redis 5, or lua-replicate-commands is no (install "
	"Redis 5 or newer, or Valkey, or set lua-replicate-commands yes)"},
    {"ERR something else", "ERR something else"},
    {"", ""},
};

static void
check_description(const char *error, const char *words)
{
	char text[2048], want[2048];

	snprintf(want, sizeof(want), "error from redis://h:1: %s", words);
	reply_describe(text, sizeof(text), "error from", "redis://h:1", error);
	is_text(text, want, error);
}

/* The advice follows, however long the server's words are. */
static void
check_long_words(void)
{
	char error[2048] = "MISCONF ", text[2048];

	memset(error + 8, 'x', 1000);
	reply_describe(text, sizeof(text), "error from", "redis://h:1", error);
	ok(strlen(text) < 400 && strstr(text, "xx... (it cannot") != NULL,
	    "the words are cut, the advice is not");
}

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
	for (size_t i = 0; i < LENGTH(described); i++)
		check_description(described[i].error, described[i].words);
	check_long_words();
	return tap_done();
}
