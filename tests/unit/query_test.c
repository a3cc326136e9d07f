/* What commands ask about locks of others, decoded. A look at a lock: holders,
 * waiters, runs, what is expected, and what others have left in the keys. */
#include "admin/look.h"
#include "admin/script.h"

#include "lines.h"
#include "words.h"

static const struct key_names names = {
    .all = {"job", "INFO", "RUNS", "QUEUE", "ALIVE"}};

#define DIGITS "0123456789012345678901234567890123456789"
#define DIGEST "+" DIGITS
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

/* --- what a look shows ------------------------------------------------- */

static void
tell_holder(const struct holder *who)
{
	static const char *const states[] = {"", "none", "foreign", "known",
	    "ended", "hold", "paused"};

	tell(" %s:%s/%s/%s/%s", states[who->state], who->host, who->pid,
	    who->user, who->label);
	tell_number("held", who->held_ms);
}

static void
tell_holders(const struct look *look)
{
	for (size_t i = 0; i < look->listed; i++) {
		const struct look_holder *holder = &look->holders[i];

		tell(" HOLDER %s%s", holder->token,
		    holder->token_is_whole ? "" : "...");
		tell_holder(&holder->who);
		tell_text("digest", holder->digest);
		tell_number("left", holder->is_left);
		tell_number("since", holder->since_ms);
		tell_text("fence", holder->fence);
		tell_text("command", holder->command);
	}
}

static void
tell_run(const struct look *look, const char *name, const struct look_run *run)
{
	tell(" %s%s", name, look_last_over(look) == run ? "-OVER" : "");
	tell_holder(&run->who);
	tell_number("holds", run->holds);
	tell_number("on", look_run_is_on(run));
	tell_number("failed", look_run_has_failed(run));
	tell_number("start", run->start_ms);
	tell_number("end", run->end_ms);
	tell_number("status", run->status);
	tell_number("waited", run->waited_ms);
	tell_text("reason", run->reason);
	tell_text("fence", run->fence);
}

static void
tell_notes(const struct look *look)
{
	static const char *const what[] = {"ORDER", "PAUSE", "FORCE", "BUSY",
	    "DUE", "ID", "OVERTAKEN", "PAUSED", "WAIT"};

	for (size_t i = 0; i < look->note_count; i++) {
		const struct look_note *note = &look->notes[i];

		tell(" NOTE %s", what[note->what]);
		tell_number("at", note->at_ms);
		tell_holder(&note->who);
		tell(" by");
		tell_holder(&note->by);
		tell_number("at", note->by_at_ms);
		tell_text("fence", note->by_fence);
	}
}

static void
tell_look(const struct look *look)
{
	told[0] = '\0';
	tell("%c %" PRId64, look->kind != '\0' ? look->kind : '-', look->count);
	tell_number("permits", look->permits);
	tell_number("left", look->left_ms);
	tell_text("fence", look->fence);
	tell_number("waiting", look->waiting);
	tell_number("released", look->released);
	tell_number("expect", look->expect_ms);
	tell_number("since", look->expect_since_ms);
	tell_holders(look);
	for (size_t i = 0; i < look->queued; i++)
		tell(" WAITER %s/%s/%" PRId64, look->queue[i].host,
		    look->queue[i].pid, look->queue[i].waiting_ms);
	for (size_t i = 0; i < look->run_count; i++)
		tell_run(look, "RUN", &look->runs[i]);
	if (look->success.end_ms != 0)
		tell_run(look, "SUCCESS", &look->success);
	tell_notes(look);
	for (size_t i = 0; i < look->problem_count; i++)
		tell(" PROBLEM %s/%s", look->problems[i].key,
		    look->problems[i].error);
}

/* The run that has the lock, or has died with it, is known by its entry. */
#define WITH_RUN "0\n" NONE "[\n" RUN "]\n[\n]"
#define PRESENT(entry) FREE KNOWN("", "", "", "", entry) WITH_RUN

#define FORMER                                                             \
	"- 0 left=-2 RUN-OVER known:h/7/u/l failed=1 start=1699999999000 " \
	"end=1699999999900 status=3 waited=12 reason=job_ended fence=16"

/* NULL: no look. */
static const struct {
	const char *lines, *want;
} looks[] = {
    {HEAD("1") "[\n" HOLDER "]\n" REST,
	"x 1 left=1500 waiting=1 HOLDER " TOKEN
	" known:h/7/u/l held=5000 digest=" DIGITS
	" since=1699999995000 fence=17 command=backup WAITER web-3/7/2000"},
    {FREE UNKNOWN "-1\n" NONE NONE "[\n+a\n+@user_script: 5: b\n]",
	"- 0 left=-2 waiting=-1 PROBLEM a/ERR b"},
    {FREE UNKNOWN "0\n" NONE NONE "[\n]", "- 0 left=-2"},
    {"+p\n2\n-1\n" NOW "\n[\n" HOLDER HOLDER "]\n" REST,
	"p 2 left=-1 waiting=1 HOLDER " TOKEN
	" known:h/7/u/l held=5000 digest=" DIGITS
	" since=1699999995000 fence=17 command=backup HOLDER " TOKEN
	" known:h/7/u/l held=5000 digest=" DIGITS
	" since=1699999995000 fence=17 command=backup WAITER web-3/7/2000 RUN "
	"known:h/7/u/l held=5000 holds=1 on=1 failed=1 start=1699999995000 "
	"status=-1 waited=-1 fence=17 RUN known:h/7/u/l held=5000 holds=1 on=1 "
	"failed=1 start=1699999995000 status=-1 waited=-1 fence=17"},
    {"+p\n5000\n-1\n" NOW "\n" NONE REST,
	"p 5000 left=-1 waiting=1 WAITER web-3/7/2000"},
    {"+z\n1\n1500\n" NOW "\n[\n" HOLDER "]\n" REST, NULL},
    {HEAD("0") "[\n" HOLDER "]\n" REST, NULL},
    {"+\n1\n1500\n" NOW "\n[\n" HOLDER "]\n" REST, NULL},
    {"+x\n1\n-3\n" NOW "\n[\n" HOLDER "]\n" REST, NULL},
    {"+x\n1\n3155760000001\n" NOW "\n[\n" HOLDER "]\n" REST, NULL},
    {"+x\n1\n1500\n-1\n[\n" HOLDER "]\n" REST, NULL},
    {"+x\n1\n1500\n9007199254740992\n[\n" HOLDER "]\n" REST, NULL},
    {HEAD("1") "[\n" HOLDER "5\n]\n" REST, NULL},
    {HEAD("1") "[\n5\n]\n" REST, NULL},
    {HEAD("1") "5\n" REST, NULL},
    {HEAD("1") "[\n" HOLDER "]\n" REST "\n5", NULL},
    {HEAD("1") "[\n" HOLDER_OF(TOKEN, "-1", DIGEST, "1500", ENTRY) "]\n" REST,
	NULL},
    {HEAD("1") "[\n" HOLDER_OF(TOKEN, "36", DIGEST "0", "1500",
	 ENTRY) "]\n" REST,
	NULL},
    {HEAD("1") "[\n" HOLDER_OF(TOKEN, "36", DIGEST, "-2", ENTRY) "]\n" REST,
	NULL},
    {HEAD("1") "[\n" HOLDER_OF(TOKEN, "36", DIGEST, "1500", "5") "]\n" REST,
	NULL},
    {HEAD("1") "[\n" HOLDER_OF("", "0", "+", "-1", "+damaged") "]\n" REST,
	"x 1 left=1500 waiting=1 HOLDER  foreign:/?// held=-1 WAITER "
	"web-3/7/2000"},
    {FREE "[\n" EMPTY9 "]\n1\n" QUEUE NONE "[\n]", NULL},
    {FREE "[\n" EMPTY5 "]\n1\n" QUEUE NONE "[\n]", NULL},
    {FREE "[\n+\n+\n+\n+\n]\n1\n" QUEUE NONE "[\n]", NULL},
    {FREE NONE "1\n" QUEUE NONE "[\n]", NULL},
    {FREE "[\n" EMPTY5 "5\n]\n1\n" QUEUE NONE "[\n]", NULL},
    {FREE UNKNOWN "-2\n" NONE NONE "[\n]", NULL},
    {FREE UNKNOWN "1\n[\n+a\n]\n" NONE "[\n]", NULL},
    {FREE UNKNOWN "1\n[\n+a\n5\n]\n" NONE "[\n]", NULL},
    {FREE UNKNOWN "1\n[\n+a\n+inf\n]\n" NONE "[\n]",
	"- 0 left=-2 waiting=1 WAITER ?/?/0"},
    {FREE UNKNOWN "0\n" NONE "[\n5\n]\n[\n]", NULL},
    {FREE UNKNOWN "0\n" NONE "[\n+\n+damaged\n" RUN "]\n[\n]",
	FORMER " PROBLEM RUNS/a former run is damaged"},
    {FREE UNKNOWN "0\n" NONE NONE "[\n+a\n5\n]", NULL},
    {FREE UNKNOWN "0\n" NONE NONE "[\n+a\n]", NULL},
    {FREE UNKNOWN "0\n" NONE NONE, NULL},
    /* foreign, shared, left to nested runs, and cut */
    {"+s\n4\n1500\n" NOW "\n[\n" HOLDER_OF("s:" TOKEN, "38", DIGEST, "1500",
	 "+s:" TOKEN " 17 " NOW " run 4 7 h u l c") HOLDER_OF(TOKEN, "36",
	 DIGEST, "1500", "+" TOKEN ": 17 " NOW " run 0 7 h u l c")
	    HOLDER_OF("long", "2000", "+", "3155760000000", "+")
		HOLDER_OF("s:x", "3", DIGEST, "-1", "+damaged") "]\n" REST,
	"s 4 permits=4 left=1500 waiting=1 released=1 HOLDER " TOKEN
	" known:h/7/u/l digest=" DIGITS " since=" NOW
	" fence=17 command=c HOLDER " TOKEN " known:h/7/u/l digest=" DIGITS
	" left=1 since=" NOW
	" fence=17 command=c HOLDER long... foreign:/?// held=-1 HOLDER x "
	"foreign:/?// held=-1 digest=" DIGITS
	" WAITER web-3/7/2000 RUN known:h/7/u/l holds=1 on=1 failed=1 "
	"start=" NOW " status=-1 waited=-1 fence=17"},
    {HEAD("1500") "[\n" HOLDER_OF(TOKEN ":kept", "41", DIGEST, "1500",
	 "+" TOKEN ":kept 17 " NOW " run 0 7 h u l c") "]\n" REST,
	"x 1500 left=1500 waiting=1 HOLDER " TOKEN
	" ended:h/7/u/l digest=" DIGITS " since=" NOW
	" fence=17 command=c WAITER web-3/7/2000"},
    {FREE KNOWN("17", "1699999999900 16 1699999999000 run 0 7 h u l c", "5000",
	 "1699999990000", "+") "0\n" NONE "[\n" NO_END RUN "]\n[\n]",
	"- 0 left=-2 fence=17 expect=5000 since=1699999990000 RUN-OVER "
	"known:h/7/u/l failed=1 start=1699999999000 end=1699999999900 status=3 "
	"waited=12 reason=job_ended fence=16 RUN known:h/8/u/ failed=1 "
	"start=1699999998000 status=-1 waited=-1 fence=15 SUCCESS "
	"known:h/7/u/l start=1699999999000 end=1699999999900 fence=16"},
    {HEAD("1") "[\n" HOLDER "]\n" KNOWN("", "", "", "", ENTRY) WITH_RUN,
	"x 1 left=1500 HOLDER " TOKEN " known:h/7/u/l held=5000 digest=" DIGITS
	" since=1699999995000 fence=17 command=backup RUN-OVER known:h/7/u/l "
	"failed=1 start=1699999999000 end=1699999999900 status=3 waited=12 "
	"reason=job_ended fence=16 RUN known:h/7/u/l held=5000 holds=1 on=1 "
	"failed=1 start=1699999995000 status=-1 waited=-1 fence=17"},
    {PRESENT(ENTRY),
	FORMER " RUN "
	       "known:h/7/u/l held=5000 failed=1 start=1699999995000 status=-1 "
	       "waited=-1 fence=17"},
    {PRESENT("+" TOKEN ": 17 1699999995000 run 0 7 h"), FORMER},
    {PRESENT("+" TOKEN ":kept 17 1699999995000 run 0 7 h"), FORMER},
    {PRESENT("+" TOKEN " 17 1699999995000 hold 0 7 h"), FORMER},
    {PRESENT("+" TOKEN " 17 x run 0 7 h"), FORMER},
    {PRESENT("+a 17 1699999995000 run 0 7 h"), FORMER},
    {PRESENT("+" TOKEN), FORMER},
    /* Notes come the newest first; a pause that goes on, and one that is
     * damaged, are none. */
    {FREE "[\n" EMPTY5 "+t 1700000000000 x:y:7@h run 0 7 h u l c | "
	  "k:kept 3 1699999990000 replaceable 0 8 web-3 u - c\n"
	  "+1700000000001 pause 0 0 adm-1 ops a%20b -\n+\n"
	  "+1699999999000 run 0 5 web-5 u - c | -\n"
	  "+1699999999500 run 0 6 web-6 u - c | 1699999999400 9 "
	  "1699999990000 run 0 7 web-7 v - c\n"
	  "+damaged\n+\n+1699999999600 run\n+\n]\n0\n" NONE NONE "[\n]",
	"- 0 left=-2 NOTE PAUSED at=1699999999600 known:?/?/?/ by :/// NOTE "
	"DUE at=1699999999500 known:web-6/6/u/ by known:web-7/7/v/ "
	"at=1699999999400 fence=9 NOTE BUSY at=1699999999000 known:web-5/5/u/ "
	"by foreign:/// NOTE ORDER at=1699999995000 known:h/7/u/l by "
	"ended:web-3/8/u/ held=10000 at=1699999990000 fence=3"},
    /* Others may add any member to a queue. */
    {FREE UNKNOWN "3\n[\n+x:" TOKEN ":@\n+5\n+y\n+1700000000001000\n+\n"
		  "+-inf\n]\n" NONE "[\n]",
	"- 0 left=-2 waiting=3 WAITER ?/?/700000000000 WAITER ?/?/0 WAITER "
	"?/?/0"},
    /* A pause's ticket lies below all others. */
    {FREE UNKNOWN "1\n[\n+" WAITER "\n+699999998000000\n]\n" NONE "[\n]",
	"- 0 left=-2 waiting=1 WAITER web-3/7/2000"},
    /* numbers out of range */
    {FREE UNKNOWN "0\n" NONE "[\n+0 256 315619200001 "
		  "word%0Along-enough-to-be-cut-off-here 0 "
		  "1699999999000 run 0 7 h u l c\n]\n[\n]",
	"- 0 left=-2 RUN-OVER known:h/7/u/l failed=1 start=1699999999000 "
	"status=-1 waited=-1 reason=word\nlong-enough-to-be-cut-off-h fence=0"},
};

static void
test_looks(void)
{
	for (size_t i = 0; i < LENGTH(looks); i++) {
		void *reply = array(looks[i].lines);
		struct look look = {.keys = &names};
		bool good = query_read_look(&look, reply);

		if (good)
			tell_look(&look);
		is_text(good ? told : NULL, looks[i].want,
		    escaped(looks[i].lines));
		if (good)
			query_fini(&look);
		freeReplyObject(reply);
	}
}

/* Bytes of others: numbers out of range, and no more than can be shown. */
static void
test_damage(void)
{
	static char lines[4000] =
	    FREE KNOWN("9007199254740992", "99999999999999 -1 x run",
		"315619200001", "1e12", "+" TOKEN " x") "0\n" NONE "[\n";
	struct look look = {.keys = &names};
	void *reply;

	for (int i = 0; i < 20; i++)
		strcat(lines, RUN);
	strcat(lines, "+1699999999900 256 -5 word%0A"
		      "long-enough-to-be-cut-off-at-the-end 1 0 run\n"
		      "+x 1 2 3 4 5 6\n"
		      "+1e12 0 0 w 17 1699999999999 run 0 7 h u l c\n]\n[\n]");
	reply = array(lines);
	ok(query_read_look(&look, reply), "a look with damaged texts");
	is_int((int64_t)look.run_count, 11, "  so many runs at most");
	look.run_count = 0;
	tell_look(&look);
	is_text(told,
	    "- 0 left=-2 PROBLEM INFO/the fence is no number in range "
	    "PROBLEM INFO/the last success is no number in range "
	    "PROBLEM INFO/expect is no number in range "
	    "PROBLEM RUNS/a former run is damaged",
	    "  nothing is known, and that is said");
	query_fini(&look);
	freeReplyObject(reply);
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

	for (size_t i = 0; i < LENGTH(rows); i++) {
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
	for (size_t i = 0; i < LENGTH(forces); i++) {
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

	for (size_t i = 0; i < LENGTH(rows); i++) {
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

	for (size_t i = 0; i < LENGTH(wires); i++) {
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
	test_damage();
	test_due();
	test_asked();
	test_force_asked();
	test_forces();
	test_nested();
	test_page();
	test_values();
	return tap_done();
}
