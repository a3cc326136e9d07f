/* What commands ask about locks of others, decoded. A look at a lock: holders,
 * waiters, runs, what is expected, and what others have left in the keys. */
#include "admin/look.h"
#include "admin/script.h"

#include "lines.h"
#include "words.h"

static const struct key_names names = {
    .all = {"job", "INFO", "RUNS", "QUEUE", "ALIVE"}};

#define DIGEST "+0123456789012345678901234567890123456789"
#define HOLDER_OF(token, length, digest, left, entry) \
	"+" token "\n" length "\n" digest "\n" left "\n" entry "\n"
#define HOLDER HOLDER_OF(TOKEN, "36", DIGEST, "1500", ENTRY)
#define EMPTY5 "+\n+\n+\n+\n+\n"
#define EMPTY9 EMPTY5 "+\n+\n+\n+\n"
/* What is known: fence, success, expectation and since when, the holder's
 * entry. */
#define KNOWN(fence, success, expect, since, entry)                    \
	"[\n+" fence "\n+" success "\n+" expect "\n+" since "\n" entry \
	"\n" EMPTY9 "]\n"
#define UNKNOWN "[\n" EMPTY5 EMPTY9 "]\n"
#define QUEUE "[\n+" WAITER "\n+1699999998000000\n]\n"
#define NONE "[\n]\n"
#define HEAD(count) "+x\n" count "\n1500\n" NOW "\n"
#define FREE "+\n0\n-2\n" NOW "\n" NONE
#define REST UNKNOWN "1\n" QUEUE NONE "[\n]"
#define RUN "+1699999999900 3 12 job_ended 16 1699999999000 run 0 7 h u l c\n"
#define NO_END "+- - - - 15 1699999998000 run 0 8 h u - c\n"

static const struct {
	const char *lines;
	bool good;
} looks[] = {
    {HEAD("1") "[\n" HOLDER "]\n" REST, true},
    {FREE UNKNOWN "-1\n" NONE NONE "[\n+a\n+@user_script: 5: b\n]", true},
    {FREE UNKNOWN "0\n" NONE NONE "[\n]", true},
    {"+p\n2\n-1\n" NOW "\n[\n" HOLDER HOLDER "]\n" REST, true},
    {"+p\n5000\n-1\n" NOW "\n" NONE REST, true},
    {"+z\n1\n1500\n" NOW "\n[\n" HOLDER "]\n" REST, false},
    {HEAD("0") "[\n" HOLDER "]\n" REST, false},
    {"+\n1\n1500\n" NOW "\n[\n" HOLDER "]\n" REST, false},
    {"+x\n1\n-3\n" NOW "\n[\n" HOLDER "]\n" REST, false},
    {"+x\n1\n3155760000001\n" NOW "\n[\n" HOLDER "]\n" REST, false},
    {"+x\n1\n1500\n-1\n[\n" HOLDER "]\n" REST, false},
    {"+x\n1\n1500\n9007199254740992\n[\n" HOLDER "]\n" REST, false},
    {HEAD("1") "[\n" HOLDER "5\n]\n" REST, false},
    {HEAD("1") "[\n5\n]\n" REST, false},
    {HEAD("1") "5\n" REST, false},
    {HEAD("1") "[\n" HOLDER "]\n" REST "\n5", false},
    {HEAD("1") "[\n" HOLDER_OF(TOKEN, "-1", DIGEST, "1500", ENTRY) "]\n" REST,
	false},
    {HEAD("1") "[\n" HOLDER_OF(TOKEN, "36", DIGEST "0", "1500",
	 ENTRY) "]\n" REST,
	false},
    {HEAD("1") "[\n" HOLDER_OF(TOKEN, "36", DIGEST, "-2", ENTRY) "]\n" REST,
	false},
    {HEAD("1") "[\n" HOLDER_OF(TOKEN, "36", DIGEST, "1500", "5") "]\n" REST,
	false},
    {HEAD("1") "[\n" HOLDER_OF("", "0", "+", "-1", "+damaged") "]\n" REST,
	true},
    {FREE "[\n" EMPTY9 "]\n1\n" QUEUE NONE "[\n]", false},
    {FREE "[\n" EMPTY5 "]\n1\n" QUEUE NONE "[\n]", false},
    {FREE "[\n+\n+\n+\n+\n]\n1\n" QUEUE NONE "[\n]", false},
    {FREE NONE "1\n" QUEUE NONE "[\n]", false},
    {FREE "[\n" EMPTY5 "5\n]\n1\n" QUEUE NONE "[\n]", false},
    {FREE UNKNOWN "-2\n" NONE NONE "[\n]", false},
    {FREE UNKNOWN "1\n[\n+a\n]\n" NONE "[\n]", false},
    {FREE UNKNOWN "1\n[\n+a\n5\n]\n" NONE "[\n]", false},
    {FREE UNKNOWN "1\n[\n+a\n+inf\n]\n" NONE "[\n]", true},
    {FREE UNKNOWN "0\n" NONE "[\n5\n]\n[\n]", false},
    {FREE UNKNOWN "0\n" NONE "[\n+\n+damaged\n" RUN "]\n[\n]", true},
    {FREE UNKNOWN "0\n" NONE NONE "[\n+a\n5\n]", false},
    {FREE UNKNOWN "0\n" NONE NONE "[\n+a\n]", false},
    {FREE UNKNOWN "0\n" NONE NONE, false},
};

static void
test_looks(void)
{
	struct look look = {.keys = &names};

	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
		void *reply = array(looks[i].lines);
		bool good = query_read_look(&look, reply);
		ok(good == looks[i].good, "look %zu: %s", i,
		    escaped(looks[i].lines));
		if (good)
			query_fini(&look);
		freeReplyObject(reply);
	}
}

/* A look that is one. */
static void
look_at(struct look *look, const char *lines)
{
	void *reply = array(lines);

	look->keys = &names;
	if (!query_read_look(look, reply))
		abort();
	freeReplyObject(reply);
}

static void
test_look(void)
{
	struct look look;

	look_at(&look, looks[0].lines);
	ok(look.kind == 'x', "a look at a kind");
	is_int((int64_t)look.listed, 1, "  a holder");
	is_text(look.holders[0].token, TOKEN, "  its token");
	ok(look.holders[0].token_is_whole, "  all of it");
	is_text(look.holders[0].digest, &DIGEST[1], "  its digest");
	is_int(look.holders[0].who.held_ms, 5000, "  held for");
	is_int(look.holders[0].since_ms, 1699999995000, "  since");
	is_text(look.holders[0].who.pid, "7", "  pid");
	is_text(look.holders[0].who.label, "l", "  label");
	is_text(look.holders[0].command, "backup", "  command");
	is_text(look.holders[0].fence, "17", "  fence");
	ok(!look.released, "  it has not left");
	is_int(look.waiting, 1, "  so many wait");
	is_int((int64_t)look.queued, 1, "  a waiter");
	is_text(look.queue[0].host, "web-3", "  its host");
	is_text(look.queue[0].pid, "7", "  its pid");
	is_int(look.queue[0].waiting_ms, 2000, "  waits for");
	ok(look.run_count == 0 && look.success.end_ms == 0,
	    "  no run is known");
	query_fini(&look);
}

/* Holders that are foreign, shared, left to nested runs, and cut. */
static void
test_look_holders(void)
{
	struct look look;

	look_at(&look,
	    "+s\n4\n1500\n" NOW
	    "\n[\n" HOLDER_OF("s:" TOKEN, "38", DIGEST, "1500",
		"+s:" TOKEN " 17 " NOW " run 4 7 h u l c") HOLDER_OF(TOKEN,
		"36", DIGEST, "1500", "+" TOKEN ": 17 " NOW " run 0 7 h u l c")
		HOLDER_OF("long", "2000", "+", "3155760000000", "+")
		    HOLDER_OF("s:x", "3", DIGEST, "-1", "+damaged") "]\n" REST);
	is_int(look.permits, 4, "permits that a holder states");
	ok(look.released && look.holders[1].is_left,
	    "a holder that has left the lock to nested runs");
	is_text(look.holders[0].token, TOKEN, "a reader's token");
	ok(look.holders[0].token_is_whole, "  is whole");
	ok(!look.holders[2].token_is_whole, "a token that was cut is not");
	is_int(look.holders[2].who.state, HOLDER_FOREIGN,
	    "  and foreign without an entry");
	is_int(look.holders[2].since_ms, 0, "  since an unknown time");
	is_text(look.holders[2].command, "", "  with an unknown command");
	is_int(look.holders[3].who.state, HOLDER_FOREIGN,
	    "so is one whose entry is no text of ours");
	query_fini(&look);
	look_at(&look,
	    HEAD("1500") "[\n" HOLDER_OF(TOKEN ":kept", "41", DIGEST, "1500",
		"+" TOKEN ":kept 17 " NOW " run 0 7 h u l c") "]\n" REST);
	is_text(look.holders[0].token, TOKEN, "the token of a kept lock");
	ok(look.holders[0].token_is_whole, "  is whole");
	query_fini(&look);
}

static void
test_history(void)
{
	struct look look;

	look_at(&look,
	    FREE KNOWN("17", "1699999999900 16 1699999999000 run 0 7 h u l c",
		"5000", "1699999990000", "+") "0\n" NONE "[\n" NO_END RUN
					      "]\n[\n]");
	is_text(look.fence, "17", "a look with a fence");
	is_int((int64_t)look.run_count, 2, "  two runs");
	is_text(look.runs[0].who.host, "h", "  the last one's host");
	is_text(look.runs[0].who.pid, "7", "  pid");
	is_text(look.runs[0].who.label, "l", "  label");
	is_int(look.runs[0].start_ms, 1699999999000, "  start");
	is_int(look.runs[0].end_ms, 1699999999900, "  end");
	is_int(look.runs[0].status, 3, "  status");
	is_text(look.runs[0].fence, "16", "  fence");
	is_int(look.runs[0].waited_ms, 12, "  waited");
	is_text(look.runs[0].reason, "job_ended", "  reason");
	ok(!look.runs[0].holds && look_last_over(&look) == &look.runs[0],
	    "  it has ended");
	ok(look.runs[1].end_ms == 0 && look_run_has_failed(&look.runs[1]),
	    "  the one that began before left no end");
	is_int(look.runs[1].waited_ms, -1, "  nor how long it waited");
	is_text(look.runs[1].reason, "", "  nor a reason");
	is_int(look.success.end_ms, 1699999999900, "  the last success");
	is_text(look.success.who.host, "h", "  its host");
	is_text(look.success.fence, "16", "  its fence");
	is_int(look.expect_ms, 5000, "  another is due");
	is_int(look.expect_since_ms, 1699999990000, "  since then");
	query_fini(&look);
}

/* Notes come the newest first; a pause that goes on, and one that is damaged,
 * are none. */
static void
test_notes(void)
{
	struct look look;

	look_at(&look,
	    FREE "[\n" EMPTY5 "+t 1700000000000 x:y:7@h run 0 7 h u l c | "
		 "k:kept 3 1699999990000 replaceable 0 8 web-3 u - c\n"
		 "+1700000000001 pause 0 0 adm-1 ops a%20b -\n+\n"
		 "+1699999999000 run 0 5 web-5 u - c | -\n"
		 "+1699999999500 run 0 6 web-6 u - c | 1699999999400 9 "
		 "1699999990000 run 0 7 web-7 v - c\n"
		 "+damaged\n+\n+1699999999600 run\n+\n]\n0\n" NONE NONE "[\n]");
	is_int((int64_t)look.note_count, 4, "four notes");
	is_int(look.notes[0].what, NOTED_PAUSED, "a skip without more");
	is_int(look.notes[0].by.state, HOLDER_UNSEEN, "  by nobody");
	is_int(look.notes[1].what, NOTED_DUE, "one that was not due");
	is_int(look.notes[1].at_ms, 1699999999500, "  then");
	is_text(look.notes[1].who.host, "web-6", "  its host");
	is_text(look.notes[1].by.host, "web-7", "  the host of the success");
	is_int(look.notes[1].by_at_ms, 1699999999400, "  whose end");
	is_text(look.notes[1].by_fence, "9", "  and fence are known");
	is_int(look.notes[2].what, NOTED_BUSY, "a busy lock");
	is_int(look.notes[2].by.state, HOLDER_FOREIGN, "  of another client");
	is_int(look.notes[3].what, NOTED_ORDER, "an order to stop");
	is_int(look.notes[3].at_ms, 1699999995000,
	    "  five seconds before its end");
	is_text(look.notes[3].who.host, "h", "  by a waiter");
	is_text(look.notes[3].by.host, "web-3", "  to the holder");
	is_text(look.notes[3].by_fence, "3", "  with that fence");
	query_fini(&look);
}

/* The run that has the lock, or has died with it, is known by its entry. */
static void
test_present_run(void)
{
	static const struct {
		const char *lines;
		bool exists, holds;
	} rows[] = {
	    {HEAD("1") "[\n" HOLDER "]\n" KNOWN("", "", "", "", ENTRY), true,
		true},
	    {FREE KNOWN("", "", "", "", ENTRY), true, false},
	    {FREE KNOWN("", "", "", "",
		 "+" TOKEN ": 17 1699999995000 run 0 7 h"),
		false, false},
	    {FREE KNOWN("", "", "", "",
		 "+" TOKEN ":kept 17 1699999995000 run 0 7 h"),
		false, false},
	    {FREE KNOWN("", "", "", "",
		 "+" TOKEN " 17 1699999995000 hold 0 7 h"),
		false, false},
	    {FREE KNOWN("", "", "", "", "+" TOKEN " 17 x run 0 7 h"), false,
		false},
	    {FREE KNOWN("", "", "", "", "+a 17 1699999995000 run 0 7 h"), false,
		false},
	    {FREE KNOWN("", "", "", "", "+" TOKEN), false, false},
	};
	char lines[1000];
	struct look look;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(lines, sizeof(lines), "%s0\n" NONE "[\n" RUN "]\n[\n]",
		    rows[i].lines);
		look_at(&look, lines);
		is_int((int64_t)look.run_count, 1 + rows[i].exists,
		    escaped(rows[i].lines));
		is_int(look_run_is_on(&look.runs[look.run_count - 1]),
		    rows[i].holds, "  whether it still holds");
		is_int(look_last_over(&look)->end_ms, 1699999999900,
		    "  the last one that is over");
		query_fini(&look);
	}
}

/* Bytes of others: numbers out of range, and no more than can be shown. */
static void
test_damage(void)
{
	static char lines[4000] =
	    FREE KNOWN("9007199254740992", "99999999999999 -1 x run",
		"315619200001", "1e12", "+" TOKEN " x") "0\n" NONE "[\n";
	struct look look;

	for (int i = 0; i < 20; i++)
		strcat(lines, RUN);
	strcat(lines, "+1699999999900 256 -5 word%0A"
		      "long-enough-to-be-cut-off-at-the-end 1 0 run\n"
		      "+x 1 2 3 4 5 6\n"
		      "+1e12 0 0 w 17 1699999999999 run 0 7 h u l c\n]\n[\n]");
	look_at(&look, lines);
	is_text(look.fence, "", "a fence out of range");
	is_int(look.success.end_ms, 0, "  a success of no time");
	is_int(look.expect_ms, 0, "  a period out of range");
	is_int(look.expect_since_ms, 0, "  since no time");
	is_int((int64_t)look.run_count, 11, "  so many runs at most");
	query_fini(&look);
	look_at(&look, FREE UNKNOWN "0\n" NONE "[\n+0 256 315619200001 "
				    "word%0Along-enough-to-be-cut-off-here 0 "
				    "1699999999000 run 0 7 h u l c\n]\n[\n]");
	is_int(look.runs[0].end_ms, 0, "an end at no time");
	is_int(look.runs[0].status, -1, "  a status out of range");
	is_int(look.runs[0].waited_ms, -1, "  a wait out of range");
	is_text(look.runs[0].reason, "word\nlong-enough-to-be-cut-off-h",
	    "  a reason that is cut off");
	query_fini(&look);
}

/* Others may add any member to a queue. */
static void
test_queue(void)
{
	struct look look;

	look_at(&look,
	    FREE UNKNOWN "3\n[\n+x:" TOKEN ":@\n+5\n+y\n+1700000000001000\n+\n"
			 "+-inf\n]\n" NONE "[\n]");
	for (size_t i = 0; i < 3; i++) {
		is_text(look.queue[i].pid, "?", "a waiter of others: its pid");
		is_text(look.queue[i].host, "?", "  its host");
	}
	is_int(look.queue[1].waiting_ms, 0, "  a ticket of the future");
	is_int(look.queue[2].waiting_ms, 0, "  one that is no number");
	query_fini(&look);
}

/* A pause's ticket lies below all others. */
static void
test_front(void)
{
	struct look look;

	look_at(&look, FREE UNKNOWN "1\n[\n+" WAITER
				    "\n+699999998000000\n]\n" NONE "[\n]");
	is_int(look.queue[0].waiting_ms, 2000, "a pause waits for");
	query_fini(&look);
}

static void
test_problems(void)
{
	struct look look;

	look_at(&look, looks[1].lines);
	is_int((int64_t)look.problem_count, 1, "a look with a problem");
	is_text(look.problems[0].key, "a", "  its key");
	is_text(look.problems[0].error, "ERR b", "  its error");
	query_fini(&look);
}

/* When the next success is due: after the last one, otherwise after that was
 * first stated, or the first run that is known. */
static void
test_due(void)
{
	enum { DAY = 1000000 };
	static const struct {
		int64_t success_ms, since_ms, start_ms,
		    expect_ms; /* from DAY */
		enum look_due due;
		int64_t overdue_ms;
	} rows[] = {
	    {-100, -800, -500, 100, LOOK_DUE_LATER, 0},
	    {-100, -800, -500, 99, LOOK_DUE_OVERDUE, 1},
	    {-900, -800, -500, 800, LOOK_DUE_OVERDUE, 100},
	    {-DAY, -800, -500, 600, LOOK_DUE_OVERDUE, 200},
	    {-DAY, -800, -500, 900, LOOK_DUE_LATER, -100},
	    {-DAY, -800, -DAY, 600, LOOK_DUE_OVERDUE, 200},
	    {-DAY, -DAY, -500, 400, LOOK_DUE_OVERDUE, 100},
	    {-DAY, -DAY, -500, 600, LOOK_DUE_LATER, -100},
	    {-DAY, -DAY, -DAY, 600, LOOK_DUE_NEVER, 0},
	    {-100, -800, -500, 0, LOOK_DUE_NEVER, 0},
	    {60000, -800, -500, 100, LOOK_DUE_LATER, -60100},
	    {60001, -800, -500, 100, LOOK_DUE_UNKNOWN, 0},
	    {60001, -800, -500, 0, LOOK_DUE_UNKNOWN, 0},
	    {60000, -800, -500, 0, LOOK_DUE_NEVER, 0},
	    {-100, 60001, 60001, 100, LOOK_DUE_LATER, 0},
	    {-DAY, 60000, -500, 100, LOOK_DUE_LATER, -60100},
	    {-DAY, 60001, -500, 100, LOOK_DUE_UNKNOWN, 0},
	    {-DAY, 60001, -500, 0, LOOK_DUE_NEVER, 0},
	    {-DAY, -DAY, 60001, 100, LOOK_DUE_UNKNOWN, 0},
	    {-DAY, -DAY, 60001, 0, LOOK_DUE_NEVER, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct look_run runs[2] = {{.start_ms = DAY - 10},
		    {.start_ms = DAY + rows[i].start_ms}};
		const struct look look = {.now_ms = DAY,
		    .expect_ms = rows[i].expect_ms,
		    .expect_since_ms = DAY + rows[i].since_ms,
		    .success.end_ms = DAY + rows[i].success_ms,
		    .runs = runs,
		    .run_count = rows[i].start_ms > -DAY ? 2 : 0};
		int64_t overdue_ms;

		ok(look_due(&look, &overdue_ms) == rows[i].due,
		    "row %zu: whether a success is due", i);
		is_int(overdue_ms, rows[i].overdue_ms, "  overdue for");
	}
}

/* --- others ----------------------------------------------------------- */

static const struct {
	const char *lines;
	int64_t freed; /* or -1: no answer */
	const char *head;
} forces[] = {
    {"0", -1, ""},
    {"", -1, ""},
    {"[\n]", -1, ""},
    {"+1\n+", -1, ""},
    {"0\n+", 0, ""},
    {"1\n+" WAITER, 1, WAITER},
    {"5000\n+garbage", 5000, ""},
    {"-1\n+", -1, ""},
    {"9223372036854775807\n+", -1, ""},
    {"1\n5", -1, ""},
    {"1\n+" WAITER "\n+" WAITER, -1, ""},
    {"1\n0\n0\n+" WAITER, -1, ""},
};

static void
test_forces(void)
{
	for (size_t i = 0; i < sizeof(forces) / sizeof(*forces); i++) {
		void *reply = array(forces[i].lines);
		struct query_forced forced;
		bool good = query_read_force(&forced, reply);

		is_int(good ? forced.freed : -1, forces[i].freed,
		    escaped(forces[i].lines));
		if (good)
			is_text(forced.head, forces[i].head,
			    "  to be notified");
		freeReplyObject(reply);
	}
}

static void
test_nested(void)
{
	static const struct {
		const char *lines;
		int64_t count; /* or -1: no answer */
	} rows[] = {{"", 0}, {"+a\n+b", 2}, {"+!\n+a", 1}, {"+!k", 0},
	    {"5", -1}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		void *reply = array(rows[i].lines);
		int64_t count;

		is_int(query_read_nested(&count, reply) ? count : -1,
		    rows[i].count, "nested runs");
		freeReplyObject(reply);
	}
}

static void
test_page(void)
{
	void *good = parse("*2\r\n$1\r\n7\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n");
	void *none = parse("*1\r\n$1\r\n7\r\n");
	struct query_page page;

	ok(query_read_page(&page, good), "a page");
	is_text(page.cursor, "7", "  cursor");
	is_text(page.keys[0], "a", "  the first key");
	is_text(page.keys[1], "b", "  the last");
	ok(page.keys[2] == NULL, "  the end");
	free(page.cursor);
	free(page.keys[0]);
	free(page.keys[1]);
	free(page.keys);
	ok(!query_read_page(&page, none), "without keys it is none");
	freeReplyObject(good);
	freeReplyObject(none);
}

/* Replies of other shapes. */
static void
test_values(void)
{
	static const char *const wires[] = {"$-1\r\n", "+OK\r\n", "$1\r\n1\r\n",
	    "-ERR x\r\n", "*-1\r\n", "*1\r\n*0\r\n", "*1\r\n$-1\r\n"};
	struct look look = {.keys = &names};
	struct query_forced forced;
	struct query_page page;

	for (size_t i = 0; i < sizeof(wires) / sizeof(*wires); i++) {
		void *reply = parse(wires[i]);

		ok(!query_read_look(&look, reply) &&
			!query_read_force(&forced, reply) &&
			!query_read_page(&page, reply),
		    "no array of ours: %zu", i);
		freeReplyObject(reply);
	}
}

/* --- what is asked ---------------------------------------------------- */

static void
test_asked(void)
{
	static const struct query_limits limits = {1, 2, 3};
	struct key_names keys;
	struct request request;

	key_names_init(&keys, "job", NULL);
	query_look(&request, &keys, QUERY_KEY_ONLY, &limits);
	is_request(&request, &script_look, "1 job 1 2 3", "a look at the key");
	query_look(&request, &keys, QUERY_WITHOUT_RUNS, &limits);
	is_request(&request, &script_look,
	    "4 job {job}:rlk:i {job}:rlk:q {job}:rlk:l 1 2 3",
	    "a look without the runs");
	query_look(&request, &keys, QUERY_HELPERS, &limits);
	is_request(&request, &script_look,
	    "5 job {job}:rlk:i {job}:rlk:q {job}:rlk:l {job}:rlk:r 1 2 3",
	    "a look at all");
	query_nested(&request, &keys, TOKEN);
	is_request(&request, NULL,
	    "SMEMBERS "
	    "{job}:rlk:n:" TOKEN,
	    "the nested runs");
	query_lengthen(&request, &keys, TOKEN, 5000);
	is_request(&request, kind_exclusive.renew, "1 job " TOKEN " 5000",
	    "a longer lease");
	query_pause(&request, &keys, TOKEN, 5000);
	is_request(&request, &script_pause,
	    "1 {job}:rlk:i " TOKEN " 5000 345605000", "a note of a pause");
	key_names_fini(&keys);
}

static void
test_force_asked(void)
{
	struct look_holder holders[] = {{.digest = "D1"}, {.digest = "D2"}};
	struct key_names keys;
	struct look look = {.keys = &keys, .holders = holders, .listed = 2};
	struct request request;

	key_names_init(&keys, "job", NULL);
	query_force(&request, &look, NULL, "RECORD", true);
	is_request(&request, &script_force,
	    "4 job {job}:rlk:i {job}:rlk:q {job}:rlk:l RECORD 345600000 D1 D2",
	    "from all holders");
	query_force(&request, &look, &holders[1], "RECORD", true);
	is_request(&request, &script_force,
	    "4 job {job}:rlk:i {job}:rlk:q {job}:rlk:l RECORD 345600000 D2",
	    "from one of them");
	query_force(&request, &look, &holders[1], "RECORD", false);
	is_request(&request, &script_force, "1 job RECORD 345600000 D2",
	    "with the lock's key alone");
	key_names_fini(&keys);
}

int
main(void)
{
	test_looks();
	test_look();
	test_look_holders();
	test_history();
	test_present_run();
	test_notes();
	test_damage();
	test_queue();
	test_front();
	test_problems();
	test_due();
	test_asked();
	test_force_asked();
	test_forces();
	test_nested();
	test_page();
	test_values();
	return tap_done();
}
