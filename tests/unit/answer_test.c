#include "lock/answer.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "admin/look.h"
#include "tap.h"

#define W "x:01234567-89ab-4def-8123-456789abcdef:7@web-3"
#define MAX ":9223372036854775807\r\n"

static void *
parse(const char *wire)
{
	redisReader *reader = redisReaderCreate();
	void *reply = NULL;

	redisReaderFeed(reader, wire, strlen(wire));
	redisReaderGetReply(reader, &reply);
	redisReaderFree(reader);
	if (reply == NULL)
		abort();
	return reply;
}

/* Elements, one a line: "+text" is a text, "[" and "]" enclose an array. */
static size_t
put_array(char *wire, size_t size, const char **line)
{
	char elements[8192] = "";
	size_t length = 0;
	int count = 0;

	for (; **line != '\0' && **line != ']'; count++) {
		const char *end = strchrnul(*line, '\n');
		int words = (int)(end - *line);

		if (**line == '[') {
			*line += 2;
			length += put_array(elements + length,
			    sizeof(elements) - length, line);
			end = strchrnul(*line, '\n');
		} else if (**line == '+') {
			length += (size_t)snprintf(elements + length,
			    sizeof(elements) - length, "$%d\r\n%.*s\r\n",
			    words - 1, words - 1, *line + 1);
		} else {
			length += (size_t)snprintf(elements + length,
			    sizeof(elements) - length, ":%.*s\r\n", words,
			    *line);
		}
		*line = *end == '\0' ? end : end + 1;
	}
	return (size_t)snprintf(wire, size, "*%d\r\n%s", count, elements);
}

static void *
array(const char *lines)
{
	char wire[8300];

	put_array(wire, sizeof(wire), &lines);
	return parse(wire);
}

/* Whether it is an answer to that question; *answer is undefined otherwise. */
static bool
is_answer(struct answer *answer, void *(*decode)(const struct value *value),
    const struct value *reply)
{
	struct answer *decoded = decode(reply);

	if (decoded == NULL)
		return false;
	*answer = *decoded;
	free(decoded);
	return true;
}

/* --- acquire, join ---------------------------------------------------- */

static const struct {
	const char *lines;
	bool is_acquire;
	bool is_join;
} tries[] = {
    {"1\n+5\n+\n0\n0", true, false},
    {"1\n+\n+" W "\n1000000\n0\n+" W "\n+garbage", true, false},
    {"1\n+9007199254740991\n+\n0\n0", true, false},
    {"1\n+9007199254740992\n+\n0\n0", false, false},
    {"1\n+5x\n+\n0\n0", false, false},
    {"1\n5\n+\n0\n0", false, false},
    {"1\n+5\n+\n1000001\n0", false, false},
    {"1\n+5\n+\n-1\n0", false, false},
    {"1\n+5\n+\n0\n315619200000", true, false},
    {"1\n+5\n+\n0\n315619200001", false, false},
    {"1\n+5\n+\n0\n-1", false, false},
    {"1\n+5\n+\n0", false, false},
    {"2\n0\n+h", true, false},
    {"2\n5\n+", true, false},
    {"2\n-1\n+h", false, false},
    {"2\n315619200001\n+h", false, false},
    {"2\n5\n6", false, false},
    {"2\n5\n+h\n6", false, false},
    {"1\n+5\n+", false, true},
    {"1\n+5\n+ERR why", false, true},
    {"1\n+\n+", false, true},
    {"1\n+x\n+", false, false},
    {"1", false, false},
    {"0", false, true},
    {"2", false, true},
    {"0\n0", false, false},
    {"3", false, false},
    {"", false, false},
    {"+1\n+5\n+\n0\n0", false, false},
    {"0\n0\n-1\n0\n+free\n+\n0\n0\n+\n+\n+\n+\n0\n1", true, false},
    {"-1\n0\n-1\n0\n+free\n+\n0\n0\n+\n+\n+\n+\n0\n0", true, false},
    {"-2\n0\n-1\n0\n+free\n+\n0\n0\n+\n+\n+\n+\n0\n0", false, false},
    {"-1\n5\n+\n0", false, false},
    {"-1", false, false},
    {"0\n-1\n3\n9\n+known\n+x\n1\n0\n+h\n+7\n+u\n+l\n5\n0", true, false},
    {"0\n-1\n3\n9\n+known\n+x\n1\n0\n+h\n+7\n+u\n+l\n5\n0\n+" W, true, false},
    {"0\n9\n3\n9\n+hold\n+x\n1\n0\n+h\n+7\n+u\n+l\n5\n0", true, false},
    {"0\n9\n3\n9\n+paused\n+x\n1\n0\n+h\n+7\n+u\n+l\n5\n0", true, false},
    {"0\n-1\n3\n9\n+kept\n+p\n2\n3\n+h\n+\n+u\n+\n5\n0", true, false},
    {"0\n3155760000000\n3\n9\n+foreign\n+s\n2\n0\n+\n+\n+\n+\n0\n0", true,
	false},
    {"0\n3155760000001\n3\n9\n+foreign\n+s\n2\n0\n+\n+\n+\n+\n0\n0", false,
	false},
    {"0\n-2\n3\n9\n+foreign\n+s\n2\n0\n+\n+\n+\n+\n0\n0", false, false},
    {"0\n0\n-2\n9\n+foreign\n+s\n2\n0\n+\n+\n+\n+\n0\n0", false, false},
    {"0\n0\n3\n-1\n+foreign\n+s\n2\n0\n+\n+\n+\n+\n0\n0", false, false},
    {"0\n0\n3\n9\n+strange\n+s\n2\n0\n+\n+\n+\n+\n0\n0", false, false},
    {"0\n0\n3\n9\n+foreign\n+z\n2\n0\n+\n+\n+\n+\n0\n0", false, false},
    {"0\n0\n3\n9\n+foreign\n+sx\n2\n0\n+\n+\n+\n+\n0\n0", false, false},
    {"0\n0\n3\n9\n+foreign\n+\n2\n0\n+\n+\n+\n+\n0\n0", false, false},
    {"0\n0\n3\n9\n+foreign\n+s\n0\n0\n+\n+\n+\n+\n0\n0", false, false},
    {"0\n0\n3\n9\n+free\n+s\n1\n0\n+\n+\n+\n+\n0\n0", false, false},
    {"0\n0\n3\n9\n+known\n+s\n1\n0\n+h\n+7x\n+u\n+l\n0\n0", false, false},
    {"0\n0\n3\n9\n+known\n+s\n1\n0\n+h\n+4194305\n+u\n+l\n0\n0", false, false},
    {"0\n0\n3\n9\n+known\n+s\n1\n0\n+h\n+7\n+u\n+l\n-1\n0", false, false},
    {"0\n0\n3\n9\n+known\n+s\n1\n0\n+h\n+7\n+u\n+l\n315619200001\n0", false,
	false},
    {"0\n0\n3\n9\n+known\n+s\n1\n0\n+h\n+7\n+u\n+l\n0\n2", false, false},
    {"0\n0\n3\n9\n+known\n+s\n1\n0\n+h\n+7\n+u\n+l\n0", false, false},
    {"0\n0\n3\n9\n+known\n+s\n1\n0\n+h\n+7\n+u\n+l\n0\n0\n5", false, false},
};

static void
test_tries(void)
{
	struct answer answer;

	for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
		void *reply = array(tries[i].lines);

		ok(is_answer(&answer, answer_acquire, reply) ==
			tries[i].is_acquire,
		    "acquire %zu", i);
		ok(is_answer(&answer, answer_join, reply) == tries[i].is_join,
		    "join %zu", i);
		freeReplyObject(reply);
	}
}

static void
test_busy(void)
{
	void *reply =
	    array("0\n1500\n3\n9\n+kept\n+p\n2\n3\n+h\n+\n+u\n+l\n5\n1\n"
		  "+garbage\n+" W);
	struct answer answer;

	ok(is_answer(&answer, answer_acquire, reply), "busy");
	ok(answer.outcome == ANSWER_BUSY, "  is that");
	is_int(answer.position, 3, "  position");
	is_int(answer.waiting, 9, "  waiting");
	is_int(answer.holder.left_ms, 1500, "  left");
	is_int(answer.holder.held_ms, 5, "  held for");
	is_int(answer.holder.count, 2, "  holders");
	is_int(answer.holder.permits, 3, "  permits");
	ok(answer.holder.state == HOLDER_ENDED && answer.holder.others_queued,
	    "  flags");
	is_text(answer.holder.host, "h", "  host");
	is_text(answer.holder.pid, "?", "  a pid that is none");
	is_text(answer.holder.user, "u", "  user");
	is_text(answer.holder.label, "l", "  label");
	is_int((int64_t)answer.to_notify.count, 1, "  one has a doorbell");
	is_text(answer.to_notify.names[0], W, "  its name");
	is_text(answer.fence, "", "  no fence");
	freeReplyObject(reply);
}

/* A hostile server's label may be as long as one of ours, no longer. */
static void
test_label(void)
{
	char lines[400], label[LIMIT_LABEL + 2];
	struct answer answer;

	for (int extra = 0; extra < 2; extra++) {
		void *reply;

		memset(label, 'l', sizeof(label));
		label[LIMIT_LABEL + extra] = '\0';
		snprintf(lines, sizeof(lines),
		    "0\n0\n3\n9\n+known\n+x\n1\n0\n+h\n+7\n+u\n+%s\n5\n0",
		    label);
		reply = array(lines);
		ok(is_answer(&answer, answer_acquire, reply) == (extra == 0),
		    "a label with %d bytes too many", extra);
		freeReplyObject(reply);
	}
}

static void
test_grant(void)
{
	void *reply = array("1\n+17\n+" W "\n4\n9\n+" W);
	void *not_due = array("2\n5\n+web-3");
	void *overtaken = array("3\n+" W "\n+build 4711");
	void *by_nobody = array("3\n+\n+");
	void *too_late = array("4\n+17\n1\n+17\n+" W "\n4\n9");
	void *newest =
	    array("4\n+17\n0\n0\n3\n9\n+known\n+x\n1\n0\n+h\n+7\n+u\n+l\n5\n0");
	void *same_id = array("5\n0\n+web-4");
	void *join = array("1\n+17\n+why");
	void *gone = array("0");
	struct answer answer;

	ok(is_answer(&answer, answer_acquire, reply), "a grant");
	ok(answer.outcome == ANSWER_GRANTED, "  is that");
	is_text(answer.fence, "17", "  fence");
	is_text(answer.head, W, "  head");
	is_int(answer.permits, 4, "  permits");
	is_int(answer.ahead_ms, 9, "  the last success is ahead");
	is_int((int64_t)answer.to_notify.count, 1, "  to notify");
	ok(is_answer(&answer, answer_acquire, not_due), "not due");
	ok(answer.outcome == ANSWER_NOT_DUE, "  is that");
	is_int(answer.ago_ms, 5, "  since the last success");
	is_text(answer.host, "web-3", "  its host");
	ok(!answer.by_id, "  by its time");
	ok(is_answer(&answer, answer_acquire, same_id), "not due by its id");
	ok(answer.outcome == ANSWER_NOT_DUE && answer.by_id, "  is that");
	is_text(answer.host, "web-4", "  its host");
	ok(is_answer(&answer, answer_acquire, overtaken), "overtaken");
	ok(answer.outcome == ANSWER_OVERTAKEN, "  is that");
	is_text(answer.by.label, "build 4711", "  by a label");
	is_text(answer.by.host, "web-3", "  on a host");
	ok(is_answer(&answer, answer_acquire, by_nobody) &&
		strcmp(answer.by.host, "?") == 0,
	    "  by what is no waiter's name");
	ok(is_answer(&answer, answer_acquire, newest) &&
		answer.outcome == ANSWER_BUSY && answer.position == 3,
	    "busy, with a ticket");
	is_text(answer.ticket, "17", "  which is known");
	ok(!is_answer(&answer, answer_acquire, too_late),
	    "a ticket with a grant is no answer");
	ok(is_answer(&answer, answer_join, join), "joined");
	ok(answer.outcome == ANSWER_GRANTED, "  is that");
	is_text(answer.fence, "17", "  fence");
	is_text(answer.uncounted, "why", "  not counted");
	is_text(answer.head, "", "  head");
	ok(is_answer(&answer, answer_join, gone) &&
		answer.outcome == ANSWER_NOT_HELD,
	    "not held");
	freeReplyObject(reply);
	freeReplyObject(not_due);
	freeReplyObject(overtaken);
	freeReplyObject(by_nobody);
	freeReplyObject(too_late);
	freeReplyObject(newest);
	freeReplyObject(same_id);
	freeReplyObject(join);
	freeReplyObject(gone);
}

#define T "01234567-89ab-4def-8123-456789abcdef"

static const struct {
	const char *text, *ordered, *pid, *host, *label;
} orders[] = {
    {T " " W "\nbuild 4712", T, "7", "web-3", "build 4712"},
    {T " " W "\n", T, "7", "web-3", ""},
    {T " x\nl", T, "?", "?", "l"},
    {T " \nl", T, "?", "?", "l"},
    {T " x:" T ":@h\n", T, "?", "h", ""},
    {T " x:" T ":7@\n", T, "7", "?", ""},
    {T "\nl", "", "", "", ""},
    {T " " W, "", "", "", ""},
    {T ":" W "\nl", "", "", "", ""},
    {"x\n", "", "", "", ""},
    {"", "", "", "", ""},
};

static void
test_orders(void)
{
	char label[LIMIT_LABEL + 2 + TOKEN_SIZE + 10];
	struct answer answer;
	redisReply string = {.type = REDIS_REPLY_STRING},
		   nil = {.type = REDIS_REPLY_NIL};
	void *reply = &string;

	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		string.str = (char *)orders[i].text;
		string.len = strlen(orders[i].text);
		ok(is_answer(&answer, answer_order, reply), "an order: %s",
		    orders[i].text);
		is_text(answer.ordered, orders[i].ordered, "  to whom");
		is_text(answer.by.pid, orders[i].pid, "  by which process");
		is_text(answer.by.host, orders[i].host, "  from where");
		is_text(answer.by.label, orders[i].label, "  by whom");
	}
	reply = &nil;
	ok(is_answer(&answer, answer_order, reply) && *answer.ordered == '\0',
	    "no order");
	memset(label, 'l', sizeof(label) - 1);
	label[sizeof(label) - 1] = '\0';
	memcpy(label, T " x\n", TOKEN_SIZE + 2);
	string.str = label;
	string.len = strlen(label);
	reply = &string;
	ok(is_answer(&answer, answer_order, reply) &&
		strlen(answer.by.label) == LIMIT_LABEL,
	    "a label that is too long is cut off");
}

/* --- renew, release, the others --------------------------------------- */

static const struct {
	const char *lines;
	int renew; /* a vote, or -1: no answer */
	int release;
	int force;
} others[] = {
    {"0", ANSWER_NO, -1, 0},
    {"1", ANSWER_YES, -1, 1},
    {"2", -1, -1, 2},
    {"-2", -1, -1, -1},
    {"9223372036854775807", -1, -1, -1},
    {"1\n+" W, -1, -1, 1},
    {"1\n5", -1, -1, -1},
    {"+1", -1, -1, -1},
    {"", -1, -1, -1},
    {"[\n]", -1, -1, -1},
    {"0\n0", -1, -1, -1},
    {"0\n0\n0", -1, -1, -1},
    {"0\n0\n0\n+", -1, ANSWER_NOT_OURS, -1},
    {"1\n0\n0\n+", -1, ANSWER_FREED, -1},
    {"2\n1\n0\n+", -1, ANSWER_LEFT, -1},
    {"3\n0\n5000\n+", -1, ANSWER_KEPT, -1},
    {"3\n0\n-1\n+", -1, -1, -1},
    {"3\n0\n9223372036854775807\n+", -1, -1, -1},
    {"4\n0\n0\n+", -1, -1, -1},
    {"-1\n0\n0\n+", -1, -1, -1},
    {"1\n2\n0\n+", -1, ANSWER_FREED, -1},
    {"1\n4\n0\n+", -1, -1, -1},
    {"1\n-1\n0\n+", -1, -1, -1},
    {"1\n0\n0\n+" W "\n+" W, -1, ANSWER_FREED, -1},
    {"1\n0\n0\n5", -1, -1, -1},
    {"1\n0\n0\n+\n5", -1, -1, -1},
};

static void
test_others(void)
{
	struct answer release;
	struct answer_force force;
	struct answer renewal;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		void *reply = array(others[i].lines);
		int renewed = is_answer(&renewal, answer_renew, reply)
				  ? (int)answer_vote(&renewal)
				  : -1;
		int released = is_answer(&release, answer_release, reply)
				   ? (int)release.outcome
				   : -1;
		int forced =
		    answer_force(&force, reply) ? (int)force.freed : -1;

		ok(renewed == others[i].renew, "renew %zu", i);
		ok(released == others[i].release, "release %zu", i);
		ok(forced == others[i].force, "force %zu", i);
		freeReplyObject(reply);
	}
}

/* Entries are left to remove. */
static void
test_unfinished(void)
{
	void *try = array("-1\n0\n-1\n0\n+free\n+\n0\n0\n+\n+\n+\n+\n0\n0");
	void *more = array("2\n1\n0\n+");
	void *less = array("2\n2\n0\n+");
	void *forced = array("-1");
	void *done = array("1");
	struct answer answer;
	struct answer release;
	struct answer_force force;

	ok(is_answer(&answer, answer_acquire, try) &&
		answer.outcome == ANSWER_UNFINISHED,
	    "a try that is to be repeated");
	is_int(answer_vote(&answer), ANSWER_NOT_YET,
	    "  says neither yes nor no");
	ok(is_answer(&release, answer_release, more) && release.unfinished,
	    "a release that is to be repeated");
	ok(!release.unrecorded, "  the end is recorded");
	ok(is_answer(&release, answer_release, less) && !release.unfinished,
	    "one that is not");
	ok(release.unrecorded, "  the end could not be recorded");
	ok(answer_force(&force, forced) && force.unfinished,
	    "a release by force that is to be repeated");
	ok(answer_force(&force, done) && !force.unfinished, "one that is not");
	freeReplyObject(try);
	freeReplyObject(more);
	freeReplyObject(less);
	freeReplyObject(forced);
	freeReplyObject(done);
}

static void
test_waiters(void)
{
	char lines[60 * sizeof(W)] = "1\n0\n0\n+";
	struct answer answer;
	void *reply;

	for (int i = 0; i < LIMIT_NOTIFY; i++)
		strcat(lines, "\n+" W);
	reply = array(lines);
	ok(is_answer(&answer, answer_release, reply),
	    "as many as a script names");
	is_int((int64_t)answer.to_notify.count, LIMIT_NOTIFY, "  all");
	freeReplyObject(reply);
	strcat(lines, "\n+" W);
	reply = array(lines);
	ok(!is_answer(&answer, answer_release, reply), "one more");
	freeReplyObject(reply);
}

static void
test_next(void)
{
	void *none = array("");
	void *garbage = array("+garbage");
	void *one = array("+" W);
	void *two = array("+" W "\n+" W);
	struct answer answer;

	ok(is_answer(&answer, answer_head, none) && *answer.head == '\0',
	    "nobody is next");
	ok(is_answer(&answer, answer_head, garbage) && *answer.head == '\0',
	    "nor is garbage");
	ok(is_answer(&answer, answer_head, one), "a waiter is");
	is_text(answer.head, W, "  its name");
	ok(!is_answer(&answer, answer_head, two), "two are not");
	freeReplyObject(none);
	freeReplyObject(garbage);
	freeReplyObject(one);
	freeReplyObject(two);
}

static void
test_values(void)
{
	static const char *const wires[] = {"$-1\r\n", "+OK\r\n", "$1\r\n1\r\n",
	    ":1\r\n", "-ERR x\r\n", "*-1\r\n", "*1\r\n*0\r\n", "*1\r\n$-1\r\n"};
	struct answer answer;
	struct look look;

	for (size_t i = 0; i < sizeof(wires) / sizeof(*wires); i++) {
		void *reply = parse(wires[i]);
		ok(!is_answer(&answer, answer_acquire, reply) &&
			!is_answer(&answer, answer_join, reply) &&
			!is_answer(&answer, answer_renew, reply) &&
			!is_answer(&answer, answer_release, reply) &&
			!answer_look(&look, reply),
		    "no array of ours: %zu", i);
		freeReplyObject(reply);
	}
	ok(!is_answer(&answer, answer_acquire, NULL) &&
		answer_vote(NULL) == ANSWER_ABSENT,
	    "no reply");
}

static void
test_replicas(void)
{
	static const struct {
		const char *wire;
		int count;
	} acks[] = {{":0\r\n", 0}, {":3\r\n", 3}, {":-1\r\n", 0}, {MAX, 0},
	    {"+OK\r\n", 0}, {"-ERR x\r\n", 0}};

	for (size_t i = 0; i < sizeof(acks) / sizeof(*acks); i++) {
		void *reply = parse(acks[i].wire);
		ok(answer_replicas(reply) == acks[i].count, "WAIT %zu", i);
		freeReplyObject(reply);
	}
}

/* --- look ------------------------------------------------------------- */

#define DIGEST "+0123456789012345678901234567890123456789"
#define HOLDER_OF(digest, state)                                           \
	"+token\n5\n" digest "\n1500\n1\n+h\n+7\n+u\n+l\n+sh\n900\n" state \
	"\n+17\n"
#define HOLDER_IN(state) HOLDER_OF(DIGEST, state)
#define HOLDER HOLDER_IN("0")
#define NO_RUN "[\n]\n[\n]\n0\n0\n"
#define REST "+17\n1\n[\n+" W "\n2000\n]\n0\n0\n" NO_RUN "[\n]"

#define RUN_OF(end) "+h\n+7\n+u\n+l\n800\n" end "\n+0\n+16\n0\n"
#define RUN(end) "[\n" RUN_OF(end) "+12\n+job_ended\n]\n"
#define SUCCESS "[\n+h\n900\n+16\n]\n5000\n700\n"
#define FREE "+\n0\n0\n-2\n1000\n[\n]\n+\n-1\n[\n]\n0\n0\n"

static const struct {
	const char *lines;
	bool good;
} looks[] = {
    {"+x\n1\n0\n1500\n1000\n[\n" HOLDER "]\n" REST, true},
    {"+\n0\n0\n-2\n1000\n[\n]\n+\n-1\n[\n]\n0\n0\n" NO_RUN
     "[\n+a\n+@user_script: 5: b\n]",
	true},
    {"+\n0\n0\n-2\n0\n[\n]\n+\n-1\n[\n]\n0\n0\n" NO_RUN "[\n]", true},
    {"+p\n2\n3\n-1\n1000\n[\n" HOLDER HOLDER "]\n" REST, true},
    {"+x\n0\n0\n1500\n1000\n[\n" HOLDER "]\n" REST, false},
    {"+\n1\n0\n1500\n1000\n[\n" HOLDER "]\n" REST, false},
    {"+x\n1\n0\n-3\n1000\n[\n" HOLDER "]\n" REST, false},
    {"+x\n1\n1000001\n1\n1000\n[\n" HOLDER "]\n" REST, false},
    {"+x\n1\n0\n1500\n-1\n[\n" HOLDER "]\n" REST, false},
    {"+x\n1\n0\n1500\n1000\n[\n" HOLDER "5\n]\n" REST, false},
    {"+x\n1\n0\n1500\n1000\n[\n5\n]\n" REST, false},
    {"+x\n1\n0\n1500\n1000\n5\n" REST, false},
    {"+x\n1\n0\n1500\n1000\n[\n" HOLDER "]\n" REST "\n5", false},
    {"+x\n1\n0\n1500\n1000\n[\n]\n+x\n1\n[\n]\n0\n0\n" NO_RUN "[\n]", false},
    {"+x\n1\n0\n1500\n1000\n[\n]\n+\n-2\n[\n]\n0\n0\n" NO_RUN "[\n]", false},
    {"+x\n1\n0\n1500\n1000\n[\n]\n+\n1\n[\n+a\n]\n0\n0\n" NO_RUN "[\n]", false},
    {"+x\n1\n0\n1500\n1000\n[\n]\n+\n1\n[\n+a\n-1\n]\n0\n0\n" NO_RUN "[\n]",
	false},
    {"+x\n1\n0\n1500\n1000\n[\n]\n+\n1\n[\n]\n-1\n0\n[\n]", false},
    {"+x\n1\n0\n1500\n1000\n[\n]\n+\n1\n[\n]\n0\n2\n" NO_RUN "[\n]", false},
    {"+x\n1\n0\n1500\n1000\n[\n]\n+\n1\n[\n]\n0\n0\n" NO_RUN "[\n+a\n5\n]",
	false},
    {"+x\n1\n0\n1500\n1000\n[\n]\n+\n1\n[\n]\n0\n0\n" NO_RUN "[\n+a\n]", false},
    {"+x\n1\n0\n1500\n1000\n[\n" HOLDER_OF(DIGEST "0", "0") "]\n" REST, false},
    {"+x\n1\n0\n1500\n1000\n[\n" HOLDER_IN("1") "]\n" REST, true},
    {"+x\n1\n0\n1500\n1000\n[\n" HOLDER_IN("2") "]\n" REST, true},
    {"+x\n1\n0\n1500\n1000\n[\n" HOLDER_IN("3") "]\n" REST, true},
    {"+x\n1\n0\n1500\n1000\n[\n" HOLDER_IN("4") "]\n" REST, true},
    {"+x\n1\n0\n1500\n1000\n[\n" HOLDER_IN("5") "]\n" REST, false},
    {FREE RUN("900") SUCCESS "[\n]", true},
    {FREE RUN("0") "[\n]\n0\n0\n[\n]", true},
    {FREE RUN("0") "[\n]\n-1\n0\n[\n]", false},
    {FREE RUN("0") "[\n]\n315619200001\n0\n[\n]", false},
    {FREE RUN("0") "[\n]\n+1\n0\n[\n]", false},
    {FREE RUN("0") "[\n]\n5000\n-1\n[\n]", false},
    {FREE RUN("0") "[\n]\n5000\n9007199254740992\n[\n]", false},
    {FREE RUN("0") "[\n]\n5000\n[\n]", false},
    {FREE RUN("-1") SUCCESS "[\n]", false},
    {FREE "[\n" RUN_OF("900") "+\n+\n" RUN_OF("0") "+5\n+lost\n]\n" SUCCESS
						   "[\n]",
	true},
    {FREE "[\n" RUN_OF("900") "+-1\n+\n]\n" SUCCESS "[\n]", false},
    {FREE "[\n" RUN_OF("900") "+x\n+\n]\n" SUCCESS "[\n]", false},
    {FREE "[\n" RUN_OF("900") "+\n]\n" SUCCESS "[\n]", false},
    {FREE "[\n" RUN_OF("900") "+\n+\n" RUN_OF("900") "]\n" SUCCESS "[\n]",
	false},
    {FREE "[\n+h\n+7\n+u\n+l\n800\n900\n+256\n+16\n0\n+\n+\n]\n" SUCCESS "[\n]",
	false},
    {FREE "[\n+h\n+7\n+u\n+l\n0\n900\n+0\n+16\n0\n+\n+\n]\n" SUCCESS "[\n]",
	false},
    {FREE "[\n+h\n+7\n]\n" SUCCESS "[\n]", false},
    {FREE RUN("900") "[\n+h\n0\n+16\n]\n[\n]", false},
    {FREE RUN("900") "[\n+h\n900\n+16\n1\n]\n[\n]", false},
    {FREE "[\n]\n[\n]", false},
};

static void
test_pause(void)
{
	static const struct {
		const char *lines;
		int64_t left_ms; /* -1: no answer */
	} replies[] = {
	    {"1\n3600000", 3600000},
	    {"1\n3155760000000", 3155760000000},
	    {"0\n0", 0},
	    {"1\n0", -1},
	    {"0\n1", -1},
	    {"1\n-1", -1},
	    {"1\n3155760000001", -1},
	    {"2\n5", -1},
	    {"1", -1},
	    {"1\n5\n5", -1},
	    {"1\n+5", -1},
	    {"", -1},
	};

	for (size_t i = 0; i < sizeof(replies) / sizeof(*replies); i++) {
		void *reply = array(replies[i].lines);
		int64_t left_ms;

		if (!answer_pause(&left_ms, reply))
			left_ms = -1;
		ok(left_ms == replies[i].left_ms, "reply %zu to a pause", i);
		freeReplyObject(reply);
	}
}

static void
test_looks(void)
{
	struct look look;

	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
		void *reply = array(looks[i].lines);
		bool good = answer_look(&look, reply);
		ok(good == looks[i].good, "look %zu", i);
		if (good)
			answer_look_fini(&look);
		freeReplyObject(reply);
	}
}

static void
test_look(void)
{
	void *reply = array(looks[0].lines);
	struct look look;

	ok(answer_look(&look, reply), "a look");
	ok(look.kind == 'x', "  kind");
	is_int((int64_t)look.listed, 1, "  a holder");
	is_text(look.holders[0].token, "token", "  its token");
	ok(look.holders[0].token_is_whole, "  all of it");
	is_int(look.holders[0].who.held_ms, 100, "  held for");
	is_text(look.holders[0].who.pid, "7", "  pid");
	is_text(look.holders[0].who.label, "l", "  label");
	is_text(look.holders[0].fence, "17", "  fence");
	is_int((int64_t)look.queued, 1, "  a waiter");
	is_text(look.queue[0].host, "web-3", "  its host");
	is_text(look.queue[0].pid, "7", "  its pid");
	answer_look_fini(&look);
	freeReplyObject(reply);
}

/* When the next success is due: after the last one, otherwise after that was
 * first stated, or the first run that is known. */
static void
test_due(void)
{
	enum { NOW = 1000000 };
	static const struct {
		int64_t success_ms, since_ms, start_ms,
		    expect_ms; /* from NOW */
		enum look_due due;
		int64_t overdue_ms;
	} rows[] = {
	    {-100, -800, -500, 100, LOOK_DUE_LATER, 0},
	    {-100, -800, -500, 99, LOOK_DUE_OVERDUE, 1},
	    {-900, -800, -500, 800, LOOK_DUE_OVERDUE, 100},
	    {-NOW, -800, -500, 600, LOOK_DUE_OVERDUE, 200},
	    {-NOW, -800, -500, 900, LOOK_DUE_LATER, -100},
	    {-NOW, -800, -NOW, 600, LOOK_DUE_OVERDUE, 200},
	    {-NOW, -NOW, -500, 400, LOOK_DUE_OVERDUE, 100},
	    {-NOW, -NOW, -500, 600, LOOK_DUE_LATER, -100},
	    {-NOW, -NOW, -NOW, 600, LOOK_DUE_NEVER, 0},
	    {-100, -800, -500, 0, LOOK_DUE_NEVER, 0},
	    {60000, -800, -500, 100, LOOK_DUE_LATER, -60100},
	    {60001, -800, -500, 100, LOOK_DUE_UNKNOWN, 0},
	    {60001, -800, -500, 0, LOOK_DUE_UNKNOWN, 0},
	    {60000, -800, -500, 0, LOOK_DUE_NEVER, 0},
	    {-100, 60001, 60001, 100, LOOK_DUE_LATER, 0},
	    {-NOW, 60000, -500, 100, LOOK_DUE_LATER, -60100},
	    {-NOW, 60001, -500, 100, LOOK_DUE_UNKNOWN, 0},
	    {-NOW, 60001, -500, 0, LOOK_DUE_NEVER, 0},
	    {-NOW, -NOW, 60001, 100, LOOK_DUE_UNKNOWN, 0},
	    {-NOW, -NOW, 60001, 0, LOOK_DUE_NEVER, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct look_run runs[2] = {{.start_ms = NOW - 10},
		    {.start_ms = NOW + rows[i].start_ms}};
		const struct look look = {.now_ms = NOW,
		    .expect_ms = rows[i].expect_ms,
		    .expect_since_ms = NOW + rows[i].since_ms,
		    .success.end_ms = NOW + rows[i].success_ms,
		    .runs = runs,
		    .run_count = rows[i].start_ms > -NOW ? 2 : 0};
		int64_t overdue_ms;

		ok(look_due(&look, &overdue_ms) == rows[i].due,
		    "row %zu: whether a success is due", i);
		is_int(overdue_ms, rows[i].overdue_ms, "  overdue for");
	}
}

static void
test_history(void)
{
	void *reply = array(FREE RUN("900") SUCCESS "[\n]");
	struct look look;

	ok(answer_look(&look, reply), "a look with a last run");
	ok(look.last.exists && !look.last.holds, "  it has ended");
	is_text(look.last.who.host, "h", "  host");
	is_text(look.last.who.pid, "7", "  pid");
	is_text(look.last.who.label, "l", "  label");
	is_int(look.last.start_ms, 800, "  start");
	is_int(look.last.end_ms, 900, "  end");
	is_int(look.last.status, 0, "  status");
	is_text(look.last.fence, "16", "  fence");
	is_int(look.last.waited_ms, 12, "  waited");
	is_text(look.last.reason, "job_ended", "  reason");
	is_int((int64_t)look.run_count, 1, "  the only one");
	is_int(look.success.end_ms, 900, "  the last success");
	is_int(look.expect_ms, 5000, "  another is due");
	is_int(look.expect_since_ms, 700, "  since then");
	answer_look_fini(&look);
	freeReplyObject(reply);
	reply = array(FREE
	    "[\n" RUN_OF("0") "+\n+\n" RUN_OF("900") "+5\n+lost"
						     "\n]\n" SUCCESS "[\n]");
	ok(answer_look(&look, reply), "a look with two runs");
	is_int((int64_t)look.run_count, 2, "  two");
	ok(look.last.end_ms == 0 && look_run_has_failed(&look.last),
	    "  the last left no end");
	is_int(look.last.waited_ms, -1, "  nor how long it waited");
	ok(look_last_over(&look) == &look.runs[0], "  and is over");
	look.runs[0].holds = true;
	ok(look_run_is_on(&look.runs[0]) &&
		look_last_over(&look) == &look.runs[1],
	    "  or still has the lock: then the one before");
	is_text(look.runs[1].reason, "lost", "  its reason");
	ok(!look_run_has_failed(&look.runs[1]), "  its status");
	answer_look_fini(&look);
	freeReplyObject(reply);
	reply = array(FREE NO_RUN "[\n]");
	ok(answer_look(&look, reply), "a look without one");
	ok(!look.last.exists && look.success.end_ms == 0, "  none is known");
	answer_look_fini(&look);
	freeReplyObject(reply);
}

/* Others may add any member to a queue. */
static void
test_queue(void)
{
	void *reply = array("+\n0\n0\n-2\n1000\n[\n]\n+\n2\n"
			    "[\n+x:" T ":@\n5\n+y\n6\n]\n"
			    "0\n0\n" NO_RUN "[\n]");
	struct look look;

	ok(answer_look(&look, reply), "a look with waiters of others");
	for (size_t i = 0; i < 2; i++) {
		is_text(look.queue[i].pid, "?", "  its pid");
		is_text(look.queue[i].host, "?", "  its host");
	}
	answer_look_fini(&look);
	freeReplyObject(reply);
}

static void
test_problems(void)
{
	void *reply = array(looks[1].lines);
	struct look look;

	ok(answer_look(&look, reply), "a look with a problem");
	is_int((int64_t)look.problem_count, 1, "  one");
	is_text(look.problems[0].key, "a", "  its key");
	is_text(look.problems[0].error, "ERR b", "  its error");
	answer_look_fini(&look);
	freeReplyObject(reply);
}

static void
test_page(void)
{
	void *page = parse("*2\r\n$1\r\n7\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n");
	void *none = parse("*1\r\n$1\r\n7\r\n");
	const char *cursor;
	char **keys;

	ok(answer_page(&cursor, &keys, page), "a page");
	is_text(cursor, "7", "  cursor");
	is_text(keys[0], "a", "  the first key");
	is_text(keys[1], "b", "  the last");
	ok(keys[2] == NULL, "  the end");
	free(keys[0]);
	free(keys[1]);
	free(keys);
	ok(!answer_page(&cursor, &keys, none), "without keys it is none");
	freeReplyObject(page);
	freeReplyObject(none);
}

int
main(void)
{
	test_tries();
	test_busy();
	test_label();
	test_grant();
	test_orders();
	test_others();
	test_unfinished();
	test_waiters();
	test_next();
	test_values();
	test_replicas();
	test_pause();
	test_looks();
	test_look();
	test_history();
	test_due();
	test_queue();
	test_problems();
	test_page();
	return tap_done();
}
