/* What servers answer, decoded: of each question each answer, and what is none
 * of them. See query_test for what commands ask. */
#include "lock/answer.h"

#include "lines.h"
#include "redis/value.h"

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

	for (size_t i = 0; i < LENGTH(tries); i++) {
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

/* --- what they say ----------------------------------------------------- */

/* The outcome, and all that is not 0 or empty. */
static void
tell_answer(const struct answer *answer)
{
	static const char *const states[] = {"", "none", "foreign", "known",
	    "ended", "hold", "paused"};
	static const char *const outcomes[] = {"none", "busy", "granted",
	    "not-due", "overtaken", "not-held", "other-kind", "not-ours",
	    "renewed", "freed", "left", "kept", "hint"};
	const struct holder *holder = &answer->holder;
	const struct {
		const char *name, *text;
	} texts[] = {{"head", answer->head}, {"fence", answer->fence},
	    {"uncounted", answer->uncounted}, {"ordered", answer->ordered},
	    {"ticket", answer->ticket}, {"state", states[holder->state]},
	    {"host", holder->host}, {"pid", holder->pid},
	    {"user", holder->user}, {"label", holder->label},
	    {"by-host", answer->by.host}, {"by-pid", answer->by.pid},
	    {"by-label", answer->by.label},
	    {"first", answer->to_notify.names[0]}};
	const struct {
		const char *name;
		int64_t value;
	} numbers[] = {{"start", answer->start}, {"life", answer->life_ms},
	    {"permits", answer->permits}, {"ahead", answer->ahead_ms},
	    {"ago", answer->ago_ms}, {"by-id", answer->by_id},
	    {"position", answer->position}, {"waiting", answer->waiting},
	    {"left", holder->left_ms}, {"held", holder->held_ms},
	    {"count", holder->count}, {"of", holder->permits},
	    {"queued", holder->others_queued},
	    {"unrecorded", answer->unrecorded}, {"kept", answer->kept_ms},
	    {"notify", (int64_t)answer->to_notify.count}};

	told[0] = '\0';
	tell("%s", outcomes[answer->outcome]);
	for (size_t i = 0; i < LENGTH(texts); i++)
		tell_text(texts[i].name, texts[i].text);
	for (size_t i = 0; i < LENGTH(numbers); i++)
		tell_number(numbers[i].name, numbers[i].value);
}

#define TRY ANSWER_TO_TRY
#define JOIN ANSWER_TO_JOIN
#define RELEASE ANSWER_TO_RELEASE
#define HEAD ANSWER_TO_HEAD
#define ORDER ANSWER_TO_ORDER

/* Lines, or one value; of an order, its text. NULL: no answer. */
static const struct {
	enum answer_to asked;
	const char *lines, *want;
} answers[] = {
    {TRY,
	BUSY "1\n+p\n2\n" NOW "\n+" TOKEN
	     ":kept 17 1699999999995 run 3 7 h u%20v l c\n+garbage\n+" WAITER,
	"busy ticket=17 state=ended host=h pid=7 user=u v label=l first=" WAITER
	" position=3 waiting=9 left=1500 held=5 count=2 of=3 queued=1 "
	"notify=1"},
    {TRY, HELD ENTRY,
	"busy ticket=17 state=known host=h pid=7 user=u label=l position=3 "
	"waiting=9 left=1500 held=5000 count=1 queued=1"},
    {TRY, HELD "+",
	"busy ticket=17 state=foreign pid=? position=3 waiting=9 left=1500 "
	"count=1 queued=1"},
    {TRY, HELD "+" TOKEN ": 17 " NOW " hold 0 7 h u l -",
	"busy ticket=17 state=hold host=h pid=7 user=u label=l position=3 "
	"waiting=9 left=1500 count=1 queued=1"},
    {TRY, HELD "+" TOKEN " 17 0 pause 0 x h u l -",
	"busy ticket=17 state=paused host=h pid=? user=u label=l position=3 "
	"waiting=9 left=1500 held=-1 count=1 queued=1"},
    {TRY, HELD "+" TOKEN " ",
	"busy ticket=17 state=known host=? pid=? user=? position=3 waiting=9 "
	"left=1500 held=-1 count=1 queued=1"},
    {TRY, "0\n0\n0\n1\n+\n1\n+\n0\n" NOW "\n" ENTRY,
	"busy state=none waiting=1 queued=1"},
    {TRY,
	"1\n+17\n" NOW "\n3600000\n9\n+" TOKEN " 16 " NOW
	" run 4 7 h u l c\n+" WAITER "\n+" WAITER,
	"granted head=" WAITER " fence=17 first=" WAITER " start=" NOW
	" life=3600000 permits=4 ahead=9 notify=1"},
    {TRY, GRANT "+\n+garbage", "granted fence=17 start=" NOW " life=3600000"},
    {TRY, "2\n5\n+" NOW " 17 " NOW " run 0 7 web-3 u l c",
	"not-due state=known host=web-3 pid=7 user=u label=l ago=5"},
    {TRY, "5\n0\n+1 2 3 run 0 7 web-4 u l c",
	"not-due state=known host=web-4 pid=7 user=u label=l by-id=1"},
    {TRY, "2\n5\n+x y", "not-due state=known host=? pid=? user=? ago=5"},
    {TRY, "3\n+" WAITER "\n+run 0 7 h u build%204711 c",
	"overtaken by-host=web-3 by-pid=7 by-label=build 4711"},
    {TRY, "3\n+\n+", "overtaken by-host=? by-pid=?"},
    {JOIN, "1\n" ENTRY "\n+", "granted fence=17"},
    {JOIN, "1\n+" TOKEN ": 17 5 run\n+why", "granted fence=17 uncounted=why"},
    {JOIN, "1\n+" TOKEN " x 5 run\n+", "granted"},
    {JOIN, "1\n+" TOKEN "\n+", "granted"},
    {JOIN, "1\n+\n+", "granted"},
    {JOIN, "1\n+a 99999999999999999999999999999999\n+",
	"granted fence=99999999999999999999999"},
    {JOIN, "0\n+\n+", "not-held"},
    /* In the plain tier a renewal takes the place of a join. */
    {ANSWER_TO_PLAIN_JOIN, ":1\r\n", "granted"},
    {ANSWER_TO_PLAIN_JOIN, ":0\r\n", "not-held"},
    {ANSWER_TO_OTHER_KIND, ":1\r\n", "other-kind"},
    {ANSWER_TO_OTHER_KIND, ":0\r\n", "not-held"},
    {ANSWER_TO_PLAIN_RELEASE, ":1\r\n", "freed"},
    {ANSWER_TO_PLAIN_RELEASE, ":0\r\n", "not-ours"},
    {ANSWER_TO_RENEWAL, ":0\r\n", "not-ours"},
    {ANSWER_TO_RENEWAL, ":1\r\n", "renewed"},
    {ANSWER_TO_RENEWAL, ":2\r\n", "renewed"},
    {ANSWER_TO_RENEWAL, ":-1\r\n", NULL},
    {ANSWER_TO_RENEWAL, "+1\r\n", NULL},
    {ANSWER_TO_RENEWAL, "*1\r\n:1\r\n", NULL},
    {ANSWER_TO_RENEWAL, "$-1\r\n", NULL},
    {ORDER, TOKEN " 5 " WAITER " run 0 7 h u build%204712 c",
	"hint ordered=" TOKEN " by-host=web-3 by-pid=7 by-label=build 4712"},
    {ORDER, TOKEN " 5 " WAITER,
	"hint ordered=" TOKEN " by-host=web-3 by-pid=7"},
    {ORDER, TOKEN " x x run 0 7 h u l c",
	"hint ordered=" TOKEN " by-host=? by-pid=? by-label=l"},
    {ORDER, TOKEN " 5 x:" TOKEN ":@h run",
	"hint ordered=" TOKEN " by-host=h by-pid=?"},
    {ORDER, TOKEN " 5 x:" TOKEN ":7@ run",
	"hint ordered=" TOKEN " by-host=? by-pid=7"},
    {ORDER, TOKEN, "hint ordered=" TOKEN " by-host=? by-pid=?"},
    {ORDER, "short 5 " WAITER " run 0 7 h u l c",
	"hint ordered=short by-host=web-3 by-pid=7 by-label=l"},
    {ORDER, "", "hint by-host=? by-pid=?"},
    {ORDER, "$-1\r\n", NULL},
    {RELEASE, "0\n0\n0\n+", "not-ours"},
    {RELEASE, "1\n0\n0\n+" WAITER, "freed head=" WAITER},
    {RELEASE, "1\n1\n0\n+" WAITER, "freed head=" WAITER " unrecorded=1"},
    {RELEASE, "2\n1\n0\n+", "left unrecorded=1"},
    {RELEASE, "3\n0\n5000\n+garbage", "kept kept=5000"},
    {RELEASE, "3\n0\n3155760000000\n+", "kept kept=3155760000000"},
    {RELEASE, "3\n0\n3155760000001\n+", NULL},
    {RELEASE, "3\n0\n-1\n+", NULL},
    {RELEASE, "3\n0\n" MAX_NUMBER "\n+", NULL},
    {RELEASE, "4\n0\n0\n+", NULL},
    {RELEASE, "-1\n0\n0\n+", NULL},
    {RELEASE, "1\n2\n0\n+", NULL},
    {RELEASE, "1\n-1\n0\n+", NULL},
    {RELEASE, "1\n0\n0\n5", NULL},
    {RELEASE, "1\n0\n0", NULL},
    {RELEASE, "1\n0\n0\n+" WAITER "\n+" WAITER, NULL},
    {RELEASE, "0", NULL},
    {RELEASE, "1", NULL},
    {RELEASE, "", NULL},
    {RELEASE, "[\n]", NULL},
    {RELEASE, "+1\n+", NULL},
    {RELEASE, "0\n+", NULL},
    {RELEASE, "1\n+" WAITER, NULL},
    {RELEASE, "1\n5", NULL},
    {HEAD, "", "hint"},
    {HEAD, "+garbage", "hint"},
    {HEAD, "+" WAITER, "hint head=" WAITER},
    {HEAD, "+" WAITER "\n+" WAITER, NULL},
};

static void *
text_value(const char *text)
{
	char wire[200];

	snprintf(wire, sizeof(wire), "$%zu\r\n%s\r\n", strlen(text), text);
	return parse(wire);
}

static void
test_answers(void)
{
	for (size_t i = 0; i < LENGTH(answers); i++) {
		const char *lines = answers[i].lines;
		bool is_value = strchr(lines, '\r') != NULL;
		void *reply = is_value			  ? parse(lines)
			      : answers[i].asked == ORDER ? text_value(lines)
							  : array(lines);
		struct answer answer;
		bool is_read = answer_read(&answer, answers[i].asked, reply);

		tell_answer(&answer);
		is_text(is_read ? told : NULL, answers[i].want, escaped(lines));
		freeReplyObject(reply);
	}
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
test_values(void)
{
	static const char *const wires[] = {"$-1\r\n", "+OK\r\n", "$1\r\n1\r\n",
	    "-ERR x\r\n", "*-1\r\n", "*1\r\n*0\r\n", "*1\r\n$-1\r\n"};
	struct answer answer;

	for (size_t i = 0; i < LENGTH(wires); i++) {
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

	for (size_t i = 0; i < LENGTH(acks); i++) {
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

	for (size_t i = 0; i < LENGTH(rows); i++) {
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
	test_answers();
	test_entry_length();
	test_waiters();
	test_no_waiter();
	test_long_waiters();
	test_values();
	test_replicas();
	return tap_done();
}
