/* What servers answer, decoded: of each question each answer, and what is none
 * of them.See query_test for what commands ask. */
#include "lock/answer.h"

#include "lines.h"
#include "redis/cursor.h"

#define MAX_NUMBER "9223372036854775807"
#define MAX ":" MAX_NUMBER "\r\n"

/* --- acquire, join ---------------------------------------------------- */

#define GRANT "1\n+17\n" NOW "\n3600000\n0\n"
/* With what is left, position, how many wait, and the ticket. */
#define BUSY "0\n1500\n3\n9\n+17\n"
#define HELD BUSY "1\n+x\n1\n" NOW "\n"

static const struct {
	const char *lines;
	bool is_acquire;
	bool is_join;
} tries[] = {
    {GRANT "+\n+", true, false},
    {GRANT ENTRY "\n+" WAITER "\n+" WAITER "\n+garbage", true, false},
    {GRANT "+strange\n+garbage", true, false},
    {"1\n+\n0\n0\n0\n+\n+", true, false},
    {"1\n+0\n0\n0\n0\n+\n+", true, false},
    {"1\n+-1\n0\n0\n0\n+\n+", false, false},
    {"1\n+9007199254740991\n9007199254740991\n3155760000000\n"
     "315619200000\n+\n+",
	true, false},
    {"1\n+9007199254740992\n0\n0\n0\n+\n+", false, false},
    {"1\n+5x\n0\n0\n0\n+\n+", false, false},
    {"1\n5\n0\n0\n0\n+\n+", false, false},
    {"1\n+5\n9007199254740992\n0\n0\n+\n+", false, false},
    {"1\n+5\n-1\n0\n0\n+\n+", false, false},
    {"1\n+5\n0\n3155760000001\n0\n+\n+", false, false},
    {"1\n+5\n0\n-1\n0\n+\n+", false, false},
    {"1\n+5\n0\n0\n315619200001\n+\n+", false, false},
    {"1\n+5\n0\n0\n-1\n+\n+", false, false},
    {"1\n+5\n0\n0\n0\n5\n+", false, false},
    {"1\n+5\n0\n0\n0\n+\n5", false, false},
    {"1\n+5\n0\n0\n0\n+", false, false},
    {GRANT "+\n+\n5", false, false},
    {"2\n0\n+" NOW " 17 " NOW " run 0 7 h u l c", true, false},
    {"2\n5\n+", true, false},
    {"5\n315619200000\n+damaged", true, false},
    {"2\n-1\n+h", false, false},
    {"2\n315619200001\n+h", false, false},
    {"2\n5\n6", false, false},
    {"2\n5\n+h\n6", false, false},
    {"3\n+" WAITER "\n+run 0 7 h u l c", true, false},
    {"3\n+\n+", true, false},
    {"3\n+" WAITER, false, false},
    {"3\n5\n+", false, false},
    {"4\n+" WAITER "\n+", false, false},
    {"6\n0\n+", false, false},
    {"1\n" ENTRY "\n+", false, true},
    {"1\n+\n+ERR why", false, true},
    {"1\n+garbage\n+", false, true},
    {"0\n+\n+", false, true},
    {"1\n5\n+", false, false},
    {"1\n+\n5", false, false},
    {"1\n+", false, false},
    {"1", false, false},
    {"0", false, false},
    {"2", false, false},
    {"3", false, false},
    {"", false, false},
    {"+1\n+5\n0\n0\n0\n+\n+", false, false},
    {HELD ENTRY, true, false},
    {HELD ENTRY "\n+" WAITER "\n+garbage", true, false},
    {HELD "+", true, false},
    {HELD "+damaged", true, false},
    {"0\n-1\n-1\n0\n+\n0\n+p\n2\n0\n+", true, false},
    {"0\n0\n0\n0\n+\n1\n+\n0\n" NOW "\n+", true, false},
    {"0\n3155760000000\n-1\n0\n+\n0\n+s\n2\n" NOW "\n+", true, false},
    {"0\n3155760000001\n-1\n0\n+\n0\n+s\n2\n" NOW "\n+", false, false},
    {"0\n0\n1099511627776\n1099511627776\n+0\n0\n+s\n1099511627776\n0\n+", true,
	false},
    {"0\n0\n1099511627777\n0\n+\n0\n+s\n2\n" NOW "\n+", false, false},
    {"0\n0\n0\n1099511627777\n+\n0\n+s\n2\n" NOW "\n+", false, false},
    {"0\n0\n0\n0\n+\n0\n+s\n1099511627777\n" NOW "\n+", false, false},
    {"0\n0\n-1\n0\n+\n0\n+x\n1\n9007199254740991\n+", true, false},
    {"0\n0\n-1\n0\n+\n0\n+x\n1\n9007199254740992\n+", false, false},
    {"0\n-2\n-1\n0\n+\n0\n+s\n2\n" NOW "\n+", false, false},
    {"0\n0\n-2\n0\n+\n0\n+s\n2\n" NOW "\n+", false, false},
    {"0\n0\n-1\n-1\n+\n0\n+s\n2\n" NOW "\n+", false, false},
    {"0\n0\n-1\n0\n+x\n0\n+s\n2\n" NOW "\n+", false, false},
    {"0\n0\n-1\n0\n+\n2\n+s\n2\n" NOW "\n+", false, false},
    {"0\n0\n-1\n0\n+\n0\n+z\n2\n" NOW "\n+", false, false},
    {"0\n0\n-1\n0\n+\n0\n+sx\n2\n" NOW "\n+", false, false},
    {"0\n0\n-1\n0\n+\n0\n+\n2\n" NOW "\n+", false, false},
    {"0\n0\n-1\n0\n+\n0\n+s\n0\n" NOW "\n+", false, false},
    {"0\n0\n-1\n0\n+\n0\n+s\n-1\n" NOW "\n+", false, false},
    {"0\n0\n-1\n0\n+\n0\n+s\n2\n-1\n+", false, false},
    {"0\n0\n-1\n0\n+\n0\n+s\n2\n" NOW "\n5", false, false},
    {"0\n0\n-1\n0\n+\n0\n+s\n2\n" NOW, false, false},
    {HELD "+\n5", false, false},
};

static void
test_tries(void)
{
	struct answer answer;

	for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
		void *reply = array(tries[i].lines);

		ok(answer_read(&answer, ANSWER_TO_TRY, reply) ==
			tries[i].is_acquire,
		    "acquire %zu: %s", i, escaped(tries[i].lines));
		ok(answer_read(&answer, ANSWER_TO_JOIN, reply) ==
			tries[i].is_join,
		    "join %zu", i);
		freeReplyObject(reply);
	}
}

static void
test_busy(void)
{
	void *reply = array(BUSY "1\n+p\n2\n" NOW "\n+" TOKEN
				 ":kept 17 1699999999995 run 3 7 h u%20v l c\n"
				 "+garbage\n+" WAITER);
	struct answer answer;

	ok(answer_read(&answer, ANSWER_TO_TRY, reply), "busy");
	ok(answer.outcome == ANSWER_BUSY, "  is that");
	is_int(answer.position, 3, "  position");
	is_int(answer.waiting, 9, "  waiting");
	is_text(answer.ticket, "17", "  ticket");
	is_int(answer.holder.left_ms, 1500, "  left");
	is_int(answer.holder.held_ms, 5, "  held for");
	is_int(answer.holder.count, 2, "  holders");
	is_int(answer.holder.permits, 3, "  permits");
	ok(answer.holder.state == HOLDER_ENDED && answer.holder.others_queued,
	    "  flags");
	is_text(answer.holder.host, "h", "  host");
	is_text(answer.holder.pid, "7", "  pid");
	is_text(answer.holder.user, "u v", "  user");
	is_text(answer.holder.label, "l", "  label");
	is_int((int64_t)answer.to_notify.count, 1, "  one has a doorbell");
	is_text(answer.to_notify.names[0], WAITER, "  its name");
	is_text(answer.fence, "", "  no fence");
	freeReplyObject(reply);
}

/* Who holds a lock, by the entry. */
static void
test_holders(void)
{
	static const struct {
		const char *lines;
		enum holder_state state;
		const char *pid;
		int64_t held_ms;
	} rows[] = {
	    {HELD ENTRY, HOLDER_KNOWN, "7", 5000},
	    {HELD "+", HOLDER_FOREIGN, "?", 0},
	    {HELD "+" TOKEN ": 17 " NOW " hold 0 7 h u l -", HOLDER_HOLD, "7",
		0},
	    {HELD "+" TOKEN " 17 0 pause 0 x h u l -", HOLDER_PAUSED, "?", -1},
	    {HELD "+" TOKEN " ", HOLDER_KNOWN, "?", -1},
	    {"0\n0\n0\n1\n+\n1\n+\n0\n" NOW "\n" ENTRY, HOLDER_NONE, "", 0},
	};
	struct answer answer;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		void *reply = array(rows[i].lines);

		ok(answer_read(&answer, ANSWER_TO_TRY, reply) &&
			answer.holder.state == rows[i].state,
		    "a holder by '%s'", escaped(rows[i].lines));
		is_text(answer.holder.pid, rows[i].pid, "  its pid");
		is_int(answer.holder.held_ms, rows[i].held_ms, "  held for");
		freeReplyObject(reply);
	}
}

/* An entry may be as long as a script passes on, no longer. */
static void
test_entry_length(void)
{
	static char lines[LIMIT_ENTRY + 200], entry[LIMIT_ENTRY + 3];
	struct answer answer;

	for (int extra = 0; extra < 2; extra++) {
		void *reply;

		memset(entry, 'l', sizeof(entry));
		memcpy(entry, ENTRY, strlen(ENTRY));
		entry[1 + LIMIT_ENTRY + extra] = '\0';
		snprintf(lines, sizeof(lines), HELD "%s", entry);
		reply = array(lines);
		ok(answer_read(&answer, ANSWER_TO_TRY, reply) == (extra == 0),
		    "an entry with %d bytes too many", extra);
		freeReplyObject(reply);
	}
}

static void
test_grant(void)
{
	void *reply = array("1\n+17\n" NOW "\n3600000\n9\n+" TOKEN " 16 " NOW
			    " run 4 7 h u l c\n+" WAITER "\n+" WAITER);
	struct answer answer;

	ok(answer_read(&answer, ANSWER_TO_TRY, reply), "a grant");
	ok(answer.outcome == ANSWER_GRANTED, "  is that");
	is_text(answer.fence, "17", "  fence");
	is_int(answer.start, 1700000000000, "  start");
	is_int(answer.life_ms, 3600000, "  life of what is known");
	is_int(answer.ahead_ms, 9, "  the last success is ahead");
	is_int(answer.permits, 4, "  permits of another holder");
	is_text(answer.head, WAITER, "  head");
	is_int((int64_t)answer.to_notify.count, 1, "  to notify");
	freeReplyObject(reply);
	reply = array(GRANT "+\n+garbage");
	ok(answer_read(&answer, ANSWER_TO_TRY, reply),
	    "a grant of nobody else");
	is_int(answer.permits, 0, "  permits");
	is_text(answer.head, "", "  a head that is no waiter");
	freeReplyObject(reply);
}

static void
test_refusals(void)
{
	void *not_due = array("2\n5\n+" NOW " 17 " NOW " run 0 7 web-3 u l c");
	void *same_id = array("5\n0\n+1 2 3 run 0 7 web-4 u l c");
	void *damaged = array("2\n5\n+x y");
	void *overtaken = array("3\n+" WAITER "\n+run 0 7 h u build%204711 c");
	void *by_nobody = array("3\n+\n+");
	struct answer answer;

	ok(answer_read(&answer, ANSWER_TO_TRY, not_due), "not due");
	ok(answer.outcome == ANSWER_NOT_DUE, "  is that");
	is_int(answer.ago_ms, 5, "  since the last success");
	is_text(answer.holder.host, "web-3", "  its host");
	ok(!answer.by_id, "  by its time");
	ok(answer_read(&answer, ANSWER_TO_TRY, same_id), "not due by its id");
	ok(answer.outcome == ANSWER_NOT_DUE && answer.by_id, "  is that");
	is_text(answer.holder.host, "web-4", "  its host");
	ok(answer_read(&answer, ANSWER_TO_TRY, damaged), "not due, damaged");
	is_text(answer.holder.host, "?", "  no host");
	ok(answer_read(&answer, ANSWER_TO_TRY, overtaken), "overtaken");
	ok(answer.outcome == ANSWER_OVERTAKEN, "  is that");
	is_text(answer.by.label, "build 4711", "  by a label");
	is_text(answer.by.host, "web-3", "  on a host");
	ok(answer_read(&answer, ANSWER_TO_TRY, by_nobody) &&
		strcmp(answer.by.host, "?") == 0,
	    "  by what is no waiter's name");
	freeReplyObject(not_due);
	freeReplyObject(same_id);
	freeReplyObject(damaged);
	freeReplyObject(overtaken);
	freeReplyObject(by_nobody);
}

static void
test_join(void)
{
	static const struct {
		const char *lines, *fence, *uncounted;
		enum answer_outcome outcome;
	} rows[] = {
	    {"1\n" ENTRY "\n+", "17", "", ANSWER_GRANTED},
	    {"1\n+" TOKEN ": 17 5 run\n+why", "17", "why", ANSWER_GRANTED},
	    {"1\n+" TOKEN " x 5 run\n+", "", "", ANSWER_GRANTED},
	    {"1\n+" TOKEN "\n+", "", "", ANSWER_GRANTED},
	    {"1\n+\n+", "", "", ANSWER_GRANTED},
	    {"1\n+a 99999999999999999999999999999999\n+",
		"99999999999999999999999", "", ANSWER_GRANTED},
	    {"0\n+\n+", "", "", ANSWER_NOT_HELD},
	};
	struct answer answer;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		void *reply = array(rows[i].lines);

		ok(answer_read(&answer, ANSWER_TO_JOIN, reply) &&
			answer.outcome == rows[i].outcome,
		    "join: '%s'", escaped(rows[i].lines));
		is_text(answer.fence, rows[i].fence, "  fence");
		is_text(answer.uncounted, rows[i].uncounted, "  not counted");
		is_text(answer.head, "", "  head");
		freeReplyObject(reply);
	}
}

/* In the plain tier a renewal takes the place of a join. */
static void
test_flags(void)
{
	static const struct {
		enum answer_to asked;
		enum answer_outcome yes, no;
	} rows[] = {
	    {ANSWER_TO_PLAIN_JOIN, ANSWER_GRANTED, ANSWER_NOT_HELD},
	    {ANSWER_TO_OTHER_KIND, ANSWER_OTHER_KIND, ANSWER_NOT_HELD},
	    {ANSWER_TO_RENEWAL, ANSWER_RENEWED, ANSWER_NOT_OURS},
	    {ANSWER_TO_PLAIN_RELEASE, ANSWER_FREED, ANSWER_NOT_OURS},
	};
	void *yes = parse(":1\r\n"), *no = parse(":0\r\n");
	struct answer answer;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ok(answer_read(&answer, rows[i].asked, yes) &&
			answer.outcome == rows[i].yes,
		    "flag %zu: yes", i);
		ok(answer_read(&answer, rows[i].asked, no) &&
			answer.outcome == rows[i].no,
		    "flag %zu: no", i);
	}
	freeReplyObject(yes);
	freeReplyObject(no);
}

/* --- orders ----------------------------------------------------------- */

static const struct {
	const char *text, *ordered, *pid, *host, *label;
} orders[] = {
    {TOKEN " 5 " WAITER " run 0 7 h u build%204712 c", TOKEN, "7", "web-3",
	"build 4712"},
    {TOKEN " 5 " WAITER, TOKEN, "7", "web-3", ""},
    {TOKEN " x x run 0 7 h u l c", TOKEN, "?", "?", "l"},
    {TOKEN " 5 x:" TOKEN ":@h run", TOKEN, "?", "h", ""},
    {TOKEN " 5 x:" TOKEN ":7@ run", TOKEN, "7", "?", ""},
    {TOKEN, TOKEN, "?", "?", ""},
    {"short 5 " WAITER " run 0 7 h u l c", "short", "7", "web-3", "l"},
    {"", "", "?", "?", ""},
};

static void
test_orders(void)
{
	struct answer answer;
	redisReply string = {.type = REDIS_REPLY_STRING},
		   nil = {.type = REDIS_REPLY_NIL};
	void *reply = &string, *none = &nil;

	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		string.str = (char *)orders[i].text;
		string.len = strlen(orders[i].text);
		ok(answer_read(&answer, ANSWER_TO_ORDER, reply), "an order: %s",
		    orders[i].text);
		is_text(answer.ordered, orders[i].ordered, "  to whom");
		is_text(answer.by.pid, orders[i].pid, "  by which process");
		is_text(answer.by.host, orders[i].host, "  from where");
		is_text(answer.by.label, orders[i].label, "  by whom");
	}
	ok(!answer_read(&answer, ANSWER_TO_ORDER, none), "nothing is no text");
}

/* --- renew, release, the others --------------------------------------- */

static const struct {
	const char *lines;
	int release; /* an outcome, or -1: no answer */
} releases[] = {
    {"0", -1},
    {"1", -1},
    {"", -1},
    {"[\n]", -1},
    {"+1\n+", -1},
    {"0\n+", -1},
    {"1\n+" WAITER, -1},
    {"5000\n+garbage", -1},
    {"-1\n+", -1},
    {MAX_NUMBER "\n+", -1},
    {"1\n5", -1},
    {"1\n+" WAITER "\n+" WAITER, -1},
    {"0\n0\n0\n+", ANSWER_NOT_OURS},
    {"1\n0\n0\n+" WAITER, ANSWER_FREED},
    {"2\n1\n0\n+", ANSWER_LEFT},
    {"3\n0\n5000\n+garbage", ANSWER_KEPT},
    {"3\n0\n3155760000000\n+", ANSWER_KEPT},
    {"3\n0\n3155760000001\n+", -1},
    {"3\n0\n-1\n+", -1},
    {"3\n0\n" MAX_NUMBER "\n+", -1},
    {"4\n0\n0\n+", -1},
    {"-1\n0\n0\n+", -1},
    {"1\n2\n0\n+", -1},
    {"1\n-1\n0\n+", -1},
    {"1\n0\n0\n5", -1},
    {"1\n0\n0", -1},
    {"1\n0\n0\n+" WAITER "\n+" WAITER, -1},
};

static void
test_releases(void)
{
	struct answer release;

	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++) {
		void *reply = array(releases[i].lines);

		is_int(answer_read(&release, ANSWER_TO_RELEASE, reply)
			   ? (int)release.outcome
			   : -1,
		    releases[i].release, escaped(releases[i].lines));
		freeReplyObject(reply);
	}
}

static void
test_renewals(void)
{
	static const struct {
		const char *wire;
		enum answer_outcome outcome;
	} rows[] = {{":0\r\n", ANSWER_NOT_OURS}, {":1\r\n", ANSWER_RENEWED},
	    {":2\r\n", ANSWER_RENEWED}, {":-1\r\n", ANSWER_NONE},
	    {"+1\r\n", ANSWER_NONE}, {"*1\r\n:1\r\n", ANSWER_NONE},
	    {"$-1\r\n", ANSWER_NONE}};
	struct answer answer;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		void *reply = parse(rows[i].wire);

		answer_read(&answer, ANSWER_TO_RENEWAL, reply);
		is_int(answer.outcome, rows[i].outcome, "a renewal");
		freeReplyObject(reply);
	}
}

static void
test_release(void)
{
	void *freed = array("1\n1\n0\n+" WAITER);
	void *kept = array("3\n0\n5000\n+");
	struct answer answer;

	ok(answer_read(&answer, ANSWER_TO_RELEASE, freed) && answer.unrecorded,
	    "a release whose end could not be recorded");
	is_text(answer.head, WAITER, "  who is to be rung");
	is_int(answer.outcome, ANSWER_FREED, "  the lock is free");
	ok(answer_read(&answer, ANSWER_TO_RELEASE, kept) && !answer.unrecorded,
	    "one that is recorded");
	is_int(answer.kept_ms, 5000, "  kept for so long");
	is_text(answer.head, "", "  nobody is to be rung");
	freeReplyObject(freed);
	freeReplyObject(kept);
}

static void
test_waiters(void)
{
	char lines[60 * sizeof(WAITER)] = GRANT "+\n+";
	struct answer answer;
	void *reply;

	for (int i = 0; i < LIMIT_NOTIFY; i++)
		strcat(lines, "\n+" WAITER);
	reply = array(lines);
	ok(answer_read(&answer, ANSWER_TO_TRY, reply),
	    "as many as a script names");
	is_int((int64_t)answer.to_notify.count, LIMIT_NOTIFY, "  all");
	freeReplyObject(reply);
	strcat(lines, "\n+" WAITER);
	reply = array(lines);
	ok(!answer_read(&answer, ANSWER_TO_TRY, reply), "one more");
	freeReplyObject(reply);
}

static void
test_no_waiter(void)
{
	char name[WAITER_SIZE] = WAITER;
	void *reply = array("+garbage");
	struct cursor cursor = cursor_of(reply);

	ok(!answer_waiter(&cursor, name), "garbage is no waiter's name");
	is_text(name, "", "  nor is what was there");
	freeReplyObject(reply);
}

/* Who has a name that is too long for a doorbell polls. */
static void
test_long_waiters(void)
{
	struct answer answer;

	for (int extra = 0; extra < 2; extra++) {
		char lines[WAITER_SIZE + 80], name[WAITER_SIZE + 1];
		void *reply;

		memset(name, 'h', sizeof(name));
		memcpy(name, WAITER, strlen(WAITER));
		name[WAITER_SIZE - 1 + extra] = '\0';
		snprintf(lines, sizeof(lines), GRANT "+\n+%s\n+" WAITER, name);
		reply = array(lines);
		ok(answer_read(&answer, ANSWER_TO_TRY, reply),
		    "a head whose name has %d bytes too many", extra);
		is_text(answer.head, extra == 0 ? name : "", "  it");
		is_int((int64_t)answer.to_notify.count, 1, "  and others");
		freeReplyObject(reply);
	}
}

static void
test_next(void)
{
	void *none = array("");
	void *garbage = array("+garbage");
	void *one = array("+" WAITER);
	void *two = array("+" WAITER "\n+" WAITER);
	struct answer answer;

	ok(answer_read(&answer, ANSWER_TO_HEAD, none) && *answer.head == '\0',
	    "nobody is next");
	ok(answer_read(&answer, ANSWER_TO_HEAD, garbage) &&
		*answer.head == '\0',
	    "nor is garbage");
	ok(answer_read(&answer, ANSWER_TO_HEAD, one), "a waiter is");
	is_text(answer.head, WAITER, "  its name");
	ok(!answer_read(&answer, ANSWER_TO_HEAD, two), "two are not");
	freeReplyObject(none);
	freeReplyObject(garbage);
	freeReplyObject(one);
	freeReplyObject(two);
}

static void
test_values(void)
{
	static const char *const wires[] = {"$-1\r\n", "+OK\r\n", "$1\r\n1\r\n",
	    "-ERR x\r\n", "*-1\r\n", "*1\r\n*0\r\n", "*1\r\n$-1\r\n"};
	struct answer answer;

	for (size_t i = 0; i < sizeof(wires) / sizeof(*wires); i++) {
		void *reply = parse(wires[i]);
		ok(!answer_read(&answer, ANSWER_TO_TRY, reply) &&
			!answer_read(&answer, ANSWER_TO_JOIN, reply) &&
			!answer_read(&answer, ANSWER_TO_RENEWAL, reply) &&
			!answer_read(&answer, ANSWER_TO_RELEASE, reply),
		    "no array of ours: %zu", i);
		freeReplyObject(reply);
	}
	ok(!answer_read(&answer, ANSWER_TO_TRY, NULL) &&
		answer.outcome == ANSWER_NONE,
	    "no reply");
}

static void
test_replicas(void)
{
	static const struct {
		const char *wire;
		int count;
	} acks[] = {{":0\r\n", 0}, {":1\r\n", 1}, {":3\r\n", 3}, {":-1\r\n", 0},
	    {":2147483647\r\n", INT32_MAX}, {":2147483648\r\n", 0}, {MAX, 0},
	    {"+OK\r\n", 0}, {"-ERR x\r\n", 0}};

	for (size_t i = 0; i < sizeof(acks) / sizeof(*acks); i++) {
		void *reply = parse(acks[i].wire);
		ok(answer_replicas(reply) == acks[i].count, "WAIT %zu", i);
		freeReplyObject(reply);
	}
}

static void
test_lacks_replicas(void)
{
	static const struct {
		const char *wire, *why;
	} rows[] = {{":2\r\n", ""}, {":3\r\n", ""},
	    {":1\r\n", "1 of 2 replicas have the lock"},
	    {"-ERR x\r\n", "--wait-replicas needs WAIT: ERR x"}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		void *reply = parse(rows[i].wire);
		char why[ANSWER_WHY_MAX] = "";

		is_int(answer_lacks_replicas(reply, 2, why),
		    *rows[i].why != '\0', escaped(rows[i].wire));
		is_text(why, rows[i].why, "  why");
		freeReplyObject(reply);
	}
}

/* Any reply to the wait on a doorbell is one; that of a ring has its name. */
static void
test_bell(void)
{
	void *over = parse("*-1\r\n"), *rung = array("+bell\n+1");
	struct answer answer;

	ok(answer_read(&answer, ANSWER_TO_BELL, over) && !answer_is_ring(over),
	    "the time of a doorbell is over");
	ok(answer_read(&answer, ANSWER_TO_BELL, rung) && answer_is_ring(rung),
	    "it is rung");
	ok(!answer_read(&answer, ANSWER_TO_BELL, NULL), "no reply");
	freeReplyObject(over);
	freeReplyObject(rung);
}

int
main(void)
{
	test_lacks_replicas();
	test_bell();
	test_tries();
	test_busy();
	test_holders();
	test_entry_length();
	test_grant();
	test_refusals();
	test_join();
	test_flags();
	test_orders();
	test_releases();
	test_renewals();
	test_release();
	test_waiters();
	test_no_waiter();
	test_long_waiters();
	test_next();
	test_values();
	test_replicas();
	return tap_done();
}
