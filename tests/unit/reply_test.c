#include "redis/reply.h"

#include "tap.h"

/* Beside those that the manual names. */
static const struct {
	const char *error;
	enum verdict verdict;
} judged[] = {
    {"ERR max number of clients reached", VERDICT_RETRY},
    {"LOADING Redis is loading the dataset in memory", VERDICT_RETRY},
    {"BUSY Redis is busy running a script", VERDICT_RETRY},
    {"MASTERDOWN Link with MASTER is down", VERDICT_RETRY},
    {"NOREPLICAS Not enough good replicas to write", VERDICT_RETRY},
    {"OOM command not allowed", VERDICT_RETRY},
    {"MISCONF Redis is configured to save RDB snapshots", VERDICT_RETRY},
    {"TRYAGAIN Multiple keys request", VERDICT_RETRY},
    {"CLUSTERDOWN The cluster is down", VERDICT_RETRY},
    {"READONLY You can't write against a read only replica", VERDICT_ANEW},
    {"UNBLOCKED force unblock", VERDICT_ANEW},
    {"WRONGTYPE Operation against a key", VERDICT_WRONGTYPE},
    {"NOAUTH Authentication required", VERDICT_REFUSED},
    {"WRONGPASS invalid username-password pair", VERDICT_REFUSED},
    {"NOPERM this user has no permissions", VERDICT_REFUSED},
    {"DENIED Redis is running in protected mode", VERDICT_REFUSED},
    {"ERR The user executing the script can't run this command",
	VERDICT_REFUSED},
    {"ERR ACL failure in script: User u has no permissions", VERDICT_REFUSED},
    {"ERR unknown command 'EVAL'", VERDICT_REFUSED},
    {"ERR Unknown Redis command called from script (HSET)", VERDICT_REFUSED},
    {"ERR Unknown Redict command called from script (HSET)", VERDICT_REFUSED},
    {"ERR Unknown command called from script (HSET)", VERDICT_REFUSED},
    /* The words of services and of proxies: of Codis, Upstash, Alibaba, Pika,
     * Teleport, of Envoy before 1.32, and of a script in Redis 5. */
    {"ERR handle request, command is not allowed", VERDICT_REFUSED},
    {"ERR Command is not available: 'WAIT'. See https://docs.upstash.com/",
	VERDICT_REFUSED},
    {"ERR command eval not support for your account", VERDICT_REFUSED},
    {"ERR unknown or unsupported command 'wait'", VERDICT_REFUSED},
    {"ERR Teleport: command not supported", VERDICT_REFUSED},
    {"unsupported command 'wait'", VERDICT_REFUSED},
    {"ERR proxy: UNKNOWN COMMAND", VERDICT_REFUSED},
    /* Similar words of what passes, or is about something else. */
    {"ERR upstream not available", VERDICT_REPORT},
    {"ERR WAIT cannot be used with replica instances", VERDICT_REPORT},
    {"ERR Write commands not allowed after non deterministic commands",
	VERDICT_REPORT},
    {"@user_script: 5: -OOM command not allowed when used memory > "
     "'maxmemory'.",
	VERDICT_REPORT},
    {"ERR backend: LOADING, command not allowed", VERDICT_REPORT},
    {"ERR something else", VERDICT_REPORT},
    {"", VERDICT_REPORT},
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
    {"LOADING", "LOADING"},
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

/* An error, and the same as the refusal of AUTH or SELECT, whatever a command
 * behind it was answered. */
static void
check_verdict(const char *error, enum verdict verdict)
{
	struct reply reply = {.kind = REPLY_ERROR, .error = error};

	is_int(reply_judge_error(error), verdict, error);
	is_int(reply_judge(&reply), verdict, "  as a reply");
	reply.kind = REPLY_NO_ACCESS;
	is_int(reply_judge(&reply),
	    verdict == VERDICT_RETRY ? VERDICT_RETRY : VERDICT_REFUSED,
	    "  as a refusal");
}

/* Each item of REPLIES OF THE SERVER, and its words in capitals. */
static void
check_manual(void)
{
	static const enum verdict items[] = {VERDICT_RETRY, VERDICT_ANEW,
	    VERDICT_REPORT, VERDICT_WRONGTYPE, VERDICT_REFUSED};
	FILE *page = fopen("man/rlockrun-protocol.7", "r");
	char line[256], *rest, *word;
	size_t item = 0;

	ok(page != NULL, "the page is there");
	while (page != NULL && fgets(line, sizeof(line), page) != NULL &&
	       strcmp(line, ".Sh REPLIES OF THE SERVER\n") != 0)
		;
	while (page != NULL && fgets(line, sizeof(line), page) != NULL &&
	       strncmp(line, ".El", 3) != 0) {
		if (strncmp(line, ".It ", 4) != 0)
			continue;
		rest = line + 4;
		while (item < LENGTH(items) &&
		       (word = strsep(&rest, ",\n")) != NULL) {
			word += strspn(word, " ");
			if (*word >= 'A' && *word <= 'Z' && word[1] < 'a' &&
			    word[1] != '\0')
				check_verdict(word, items[item]);
		}
		item++;
	}
	is_int((int64_t)item, LENGTH(items) + 1, "items, and other errors");
	if (page != NULL)
		fclose(page);
}

static void
check_kinds(void)
{
	const struct value_limits limits = {8, 1};
	struct value_reader *reader = value_reader_new();
	struct value *value = NULL;
	struct reply reply = {.kind = REPLY_NONE};

	value_reader_feed(reader, "+OK\r\n", 5);
	value_reader_next(reader, limits, &value);
	value_reader_free(reader);
	is_int(reply_judge(&reply), VERDICT_SILENT, "no reply");
	reply.permanent = true;
	is_int(reply_judge(&reply), VERDICT_DEAD, "nor will there be one");
	reply = (struct reply){.kind = REPLY_NO_ACCESS, .error = "NOPERM"};
	is_int(reply_judge(&reply), VERDICT_REFUSED, "refused and hung up");
	reply = (struct reply){.kind = REPLY_VALUE, .value = value};
	is_int(reply_judge(&reply), VERDICT_VALUE, "a value");
	reply.kind = REPLY_NO_ACCESS;
	reply.error = "WRONGPASS";
	reply.again = AGAIN_AT_OWNER;
	is_int(reply_judge(&reply), VERDICT_AGAIN, "refused, and redirected");
	reply.again = AGAIN_NO;
	is_int(reply_judge(&reply), VERDICT_REFUSED, "a value, and refused");
	value_free(value);
}

int
main(void)
{
	check_manual();
	for (size_t i = 0; i < LENGTH(judged); i++)
		check_verdict(judged[i].error, judged[i].verdict);
	check_kinds();
	for (size_t i = 0; i < LENGTH(described); i++)
		check_description(described[i].error, described[i].words);
	check_long_words();
	return tap_done();
}
