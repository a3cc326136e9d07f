#include "run/event.h"

#include <string.h>

#include "base/exitcode.h"
#include "pipe.h"
#include "run/run.h"
#include "sink/event_text.h"
#include "sink/sinks.h"
#include "tap.h"

static const struct holder holder = {.state = HOLDER_KNOWN,
    .count = 1,
    .held_ms = -1,
    .host = "web-3",
    .pid = "4121",
    .user = "deploy"};

static const struct opts opts = {.conflict_exit = 3,
    .server_count = 1,
    .keys = {{.name = "a"}, {.name = "b"}},
    .key_count = 2};

static const struct facts of_opts = {.opts = &opts};

static const struct holder_by by = {.host = "ci-3",
    .pid = "421",
    .label = "build \"4711\""};
static const struct holder_by unlabelled = {.host = "ci-3", .pid = "421"};

/* With all facts known. */
static struct event
full_event(enum event_type type, enum ending_reason reason)
{
	return (struct event){.type = type,
	    .ending = reason,
	    .then = EVENT_THEN_STOPPED,
	    .name = "NAME",
	    .why = "WHY",
	    .server = "SERVER",
	    .fence = "FENCE",
	    .command = "COMMAND",
	    .who = "WHO",
	    .holder = &holder,
	    .by = &by,
	    .position = 3,
	    .count = 4,
	    .permits = 5,
	    .ms = 6000,
	    .status = 7};
}

static bool
is_filled_in(const struct event *event)
{
	char text[4096];

	event_text_format(event, &of_opts, text, sizeof(text));
	if (strpbrk(text, "{}[]<|>") == NULL && strstr(text, "  ") == NULL &&
	    strstr(text, ": :") == NULL)
		return true;
	printf("# %s\n", text);
	return false;
}

static void
test_all_messages(void)
{
	for (int type = EVENT_ENDING; type < EVENT_COUNT; type++) {
		struct event event =
		    full_event((enum event_type)type, ENDING_LOST);
		ok(is_filled_in(&event), "message of event %d", type);
	}
	for (int reason = 0; reason < ENDING_COUNT; reason++) {
		struct event event =
		    full_event(EVENT_ENDING, (enum ending_reason)reason);
		ok(is_filled_in(&event), "message of ending %d", reason);
	}
}

static void
is_message(const struct event *event, const char *want, const char *what)
{
	char text[4096];

	event_text_format(event, &of_opts, text, sizeof(text));
	is_text(text, want, what);
}

#define HELD "\"NAME\" is held by web-3 (pid 4121, deploy)"

static void
test_messages(void)
{
	static const struct opts no_keys = {.key_count = 0};
	static const struct facts no_locks = {.opts = &no_keys};
	struct event event = full_event(EVENT_WAITING, ENDING_NONE);
	char text[4096], little[8];

	is_message(&event, HELD "; waiting, position 3 in the queue",
	    "a part with a known fact");
	event.position = 1;
	is_message(&event, HELD "; waiting",
	    "the head of the queue gets no position");
	event_text_format(&event, &of_opts, little, sizeof(little));
	is_text(little, "\"NAME\" ", "what does not fit is cut off");
	event = full_event(EVENT_ENDING, ENDING_LOST);
	is_message(&event, "\"NAME\" was lost: WHY; stopping the job",
	    "what follows");
	event.then = EVENT_THEN_NOTHING;
	is_message(&event, "\"NAME\" was lost: WHY", "nothing follows");
	event = full_event(EVENT_ENDING, ENDING_OVERTAKEN);
	is_message(&event,
	    "\"NAME\" was overtaken by \"build \\\"4711\\\"\" on ci-3; "
	    "stopping the job",
	    "another run, by its label");
	event.by = &unlabelled;
	is_message(&event,
	    "\"NAME\" was overtaken by pid 421 on ci-3; stopping the job",
	    "  or by its pid");
	event = full_event(EVENT_NO_REPLY, ENDING_NONE);
	event.name = NULL;
	is_message(&event, "\"a\", \"b\": WHY; trying again",
	    "all locks by default");
	event_text_format(&event, &no_locks, text, sizeof(text));
	is_text(text, "WHY; trying again", "an unknown fact at the start");
	event = full_event(EVENT_RENEWED, ENDING_NONE);
	is_message(&event, "", "an event without a message");
	event = full_event(EVENT_JOB_ENDED, ENDING_NONE);
	event.status = -9;
	is_message(&event, "\"NAME\": the job ended with status 137 (signal 9)",
	    "a signal as a shell shows it");
}

/* Numbers of one, and of none. */
static void
test_numbers(void)
{
	static const struct {
		enum event_type type;
		int64_t number;
		const char *text;
	} cases[] = {
	    {EVENT_PERMITS_DIFFER, 1,
		"\"NAME\": 1 permit here, but another holder was started "
		"with 1"},
	    {EVENT_PERMITS_DIFFER, 2,
		"\"NAME\": 2 permits here, but another holder was started "
		"with 2"},
	    {EVENT_FORCE_AGAIN, 1,
		"\"NAME\": 1 other still holds it; release it again"},
	    {EVENT_FORCE_AGAIN, 2,
		"\"NAME\": 2 others still hold it; release it again"},
	    {EVENT_ENDING, 0, HELD},
	    {EVENT_ENDING, 1, HELD "; 1 is waiting already"},
	    {EVENT_ENDING, 11, HELD "; 11 are waiting already"},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct event event =
		    full_event(cases[i].type, ENDING_QUEUE_FULL);

		event.then = EVENT_THEN_NOTHING;
		event.count = event.permits = cases[i].number;
		is_message(&event, cases[i].text, "a number in a message");
	}
}

static void
test_durations(void)
{
	static const struct {
		int64_t ms;
		const char *text;
	} cases[] = {{1, "1ms"}, {500, "500ms"}, {1000, "1s"}, {1500, "1.5s"},
	    {59900, "59.9s"}, {60500, "1m00s"}, {192000, "3m12s"}};
	char wanted[64];

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct event event = full_event(EVENT_HELD_LONG, ENDING_NONE);

		event.ms = cases[i].ms;
		snprintf(wanted, sizeof(wanted),
		    "\"NAME\" has been held for %s", cases[i].text);
		is_message(&event, wanted, "a duration in a message");
		event.name = NULL;
		snprintf(wanted, sizeof(wanted),
		    "\"a\", \"b\" have been held for %s", cases[i].text);
		is_message(&event, wanted, "of two locks");
	}
}

/* --- names ------------------------------------------------------------ */

/* A message about a lock or a command with a tricky name is the one about NAME
 * or COMMAND with the other name in quotes: it is nowhere without them. */
static void
check_name(struct event event, const char *name, const char *quoted)
{
	char text[4096], wanted[8192], *end = wanted;

	event_text_format(&event, &of_opts, text, sizeof(text));
	for (const char *rest = text; *rest != '\0';) {
		size_t length = strncmp(rest, "\"NAME\"", 6) == 0      ? 6
				: strncmp(rest, "\"COMMAND\"", 9) == 0 ? 9
								       : 0;
		if (length > 0)
			end = stpcpy(end, quoted);
		else
			*end++ = *rest;
		rest += length > 0 ? length : 1;
	}
	*end = '\0';
	event.name = event.command = name;
	event_text_format(&event, &of_opts, text, sizeof(text));
	is_text(text, wanted, "a tricky name");
	ok(strstr(wanted, "NAME") == NULL && strstr(wanted, "COMMAND") == NULL,
	    "  all names are quoted");
}

static void
test_names(void)
{
	static const char *const names[][2] = {{"was lost", "\"was lost\""},
	    {"a b", "\"a b\""}, {"x\"y", "\"x\\\"y\""}, {"a\\", "\"a\\\\\""},
	    {"a\nb", "\"a\\nb\""}};

	for (size_t i = 0; i < LENGTH(names); i++) {
		for (int type = EVENT_ENDING; type < EVENT_COUNT; type++)
			check_name(full_event((enum event_type)type,
				       ENDING_LOST),
			    names[i][0], names[i][1]);
		for (int reason = 0; reason < ENDING_COUNT; reason++)
			check_name(full_event(EVENT_ENDING,
				       (enum ending_reason)reason),
			    names[i][0], names[i][1]);
	}
}

/* --- waiting ------------------------------------------------------------ */

/* Events that the text gets one after the other, and what it prints of the
 * last one. Minor ones begin with a silence that may pass. */
static struct {
	struct opts how;
	struct loop loop;
	int fd;
	struct facts facts;
	void *state;
} told;

static void
begin_text(void)
{
	loop_init(&told.loop);
	told.facts = (struct facts){.opts = &told.how};
	told.state = event_text.open(&told.facts, &told.loop, NULL);
	drain(told.fd);
}

static const char *
print(enum event_type type, bool minor, int64_t ms)
{
	struct event event = full_event(type, ENDING_NONE);

	event.minor = minor;
	event.ms = ms;
	drain(told.fd);
	event_text.on_event(told.state, &event);
	return drain(told.fd);
}

static void
end_text(void)
{
	event_text.close(told.state);
	ok(told.loop.timers == NULL, "  no timer is left");
	loop_fini(&told.loop);
}

/* A wait that was reported a moment before its first minute is over. */
static void
is_minute(const char *want, const char *what)
{
	const char *text;

	begin_text();
	print(EVENT_WAITING, false, 59950);
	if (told.loop.timers != NULL)
		loop_turn(&told.loop);
	text = drain(told.fd);
	if (want != NULL)
		is_text(text, want, what);
	else
		ok(strchr(text, '\n') == NULL, "%s", what);
	print(EVENT_JOB_STARTED, false, 0);
	end_text();
}

static void
test_minutes(void)
{
	told.how = opts;
	told.how.wait_ms = OPTS_WAIT_FOREVER;
	is_minute("rlockrun: " HELD
		  "; waiting for 1m00s, position 3 in the queue\n",
	    "the message is repeated every minute");
	told.how.wait_ms = 300000;
	is_minute("rlockrun: " HELD "; waiting for 1m00s, 4m00s left, "
		  "position 3 in the queue\n",
	    "with what is left of -w");
	told.how.progress = OPTS_PROGRESS_ALWAYS;
	is_minute(NULL, "not if the line is drawn");
	told.how.progress = OPTS_PROGRESS_AUTO;
	told.how.quiet = true;
	is_minute("", "not with -q");
}

/* The end of a wait, of a silence, or of what was not reported. */
static void
is_end(enum event_type type, const char *want, const char *what)
{
	begin_text();
	if (type != EVENT_WAITED)
		print(type, type == EVENT_NO_REPLY, 6000);
	is_text(print(EVENT_WAITED, false, 200000), want, what);
	end_text();
}

static void
test_end_of_wait(void)
{
	static const char *const end =
	    "rlockrun: \"NAME\": acquired after 3m20s\n";

	told.how = opts;
	is_end(EVENT_WAITING, end, "the end of a wait");
	is_end(EVENT_NO_REPLY, end, "and of a silence");
	is_end(EVENT_WAITED, "", "not if the wait was not reported here");
	told.how.quiet = true;
	is_end(EVENT_WAITING, "", "not with -q");
	told.how.quiet = false;
	told.how.progress = OPTS_PROGRESS_ALWAYS;
	is_end(EVENT_WAITING, "", "not if the line was drawn");
	is_end(EVENT_NO_REPLY, "", "by no reason");
}

/* Of a server that does not reply for a moment, and for longer. */
static void
is_silence(const char *moment, const char *longer, const char *what)
{
	begin_text();
	print(EVENT_WAITING, false, 6000);
	is_text(print(EVENT_NO_REPLY, true, 6000), moment, what);
	is_text(print(EVENT_NO_REPLY, false, 6000), longer,
	    "  and if it lasts");
	end_text();
}

#define SILENCE "rlockrun: \"NAME\": WHY; trying again"

static void
test_silence(void)
{
	told.how = opts;
	is_silence(SILENCE "\n", "", "a silence is reported once");
	told.how.quiet = true;
	is_silence("", SILENCE "\n", "with -q if it lasts");
	told.how.quiet = false;
	told.how.progress = OPTS_PROGRESS_ALWAYS;
	is_silence("\r\033[K" SILENCE, "\r\033[K" SILENCE "\n",
	    "drawn, and printed if it lasts");
	told.how.verbose = true;
	is_silence("\r\033[K" SILENCE "\n", "", "and with -v printed");
}

/* With -q there is nothing to wake up for. */
static void
test_no_wake_up(void)
{
	told.how = opts;
	told.how.quiet = true;
	begin_text();
	print(EVENT_WAITING, false, 6000);
	ok(told.loop.timers == NULL, "-q sets no timer");
	end_text();
}

/* --- observer --------------------------------------------------------- */

struct log {
	enum event_type types[8];
	size_t count;
};

static void
add_to_log(void *state, const struct event *event)
{
	struct log *log = state;

	log->types[log->count++ % 8] = event->type;
}

/* A run of one lock that is looked at. */
static struct {
	struct log log;
	struct facts facts;
	struct events events;
	struct loop loop;
	struct lock_config config;
	struct lock_link link;
	struct lock lock;
	struct run run;
} seen;

static void
begin_run(const struct opts *how)
{
	static const struct event_sink sink = {.on_event = add_to_log};
	static const struct endpoint server;

	memset(&seen, 0, sizeof(seen));
	seen.facts.opts = how;
	seen.events = (struct events){.sinks = {&sink},
	    .states = {&seen.log},
	    .count = 1,
	    .facts = &seen.facts};
	seen.config =
	    (struct lock_config){.name = "a", .key = "a", .server = &server};
	seen.lock = (struct lock){.state = AT_TRY,
	    .config = &seen.config,
	    .link = &seen.link};
	seen.run = (struct run){.opts = how,
	    .events = &seen.events,
	    .facts = &seen.facts,
	    .loop = &seen.loop,
	    .state = RUN_ACQUIRE,
	    .until = 1,
	    .set = {.about = &seen.lock, .error = ""}};
}

/* Looked at twice, as nothing is emitted again. */
static void
is_emitted(size_t count, enum event_type last, const char *what)
{
	observer_look(&seen.run);
	observer_look(&seen.run);
	is_int((int64_t)seen.log.count, (int64_t)count, what);
	if (count > 0)
		is_int(seen.log.types[count - 1], last, "  as such");
}

static void
test_renewals(void)
{
	struct run *run = &seen.run;

	begin_run(&opts);
	seen.facts.acquired_at = 1;
	seen.lock.state = AT_HELD;
	seen.lock.why.answered = true;
	run->set.state = LOCK_HELD;
	run->set.answered = true;
	run->set.valid_until = 1000;
	observer_look(run);
	is_int(seen.log.types[0], EVENT_BEGUN, "the first try is sent");
	run->state = RUN_JOB;
	run->cover = COVER_HELD;
	is_emitted(1, EVENT_BEGUN, "nothing has changed");
	run->set.valid_until = 2000;
	is_emitted(2, EVENT_RENEWED, "a renewal is emitted once");
	run->set.answered = false;
	is_emitted(3, EVENT_RENEWAL_FAILED, "a failure is emitted once");
	run->set.answered = true;
	run->set.valid_until = 3000;
	is_emitted(5, EVENT_RENEWED_AGAIN, "so is the end of the trouble");
	run->set.answered = false;
	run->set.state = LOCK_LOST;
	seen.lock.state = AT_LOST;
	is_emitted(5, EVENT_RENEWED_AGAIN, "a lost lock is not renewed");
	run->set.state = LOCK_HELD;
	seen.lock.state = AT_HELD;
	run->guard.job.ended = true;
	is_emitted(5, EVENT_RENEWED_AGAIN, "nor is one whose job has ended");
	seen.loop.late_ms = 1000;
	observer_look(run);
	is_int(seen.log.types[5], EVENT_PAUSED, "a pause is emitted even then");
}

/* A loop that waits for a server that does not reply does not turn before the
 * silence is to be reported. */
static void
test_first_silence(void)
{
	struct run *run = &seen.run;

	begin_run(&opts);
	observer_look(run);
	run->set.state = LOCK_ACQUIRING;
	run->observer.silent_since -= 2000;
	observer_look(run);
	is_int(seen.log.types[1], EVENT_NO_REPLY,
	    "silence counts from the first try");
	run->observer.silence = OBSERVER_SILENCE;
	seen.loop.now = 1;
	observer_look(run);
	is_int((int64_t)seen.log.count, 2, "but is not reported as -w ends");
}

/* The connection is up. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier): the linker's name */
int64_t __wrap_way_rests_until(const struct way *way);

int64_t
__wrap_way_rests_until(const struct way *way)
{
	(void)way;
	return 0;
}

#define SHOWN(is, number, on, by) \
	.state = (is), .count = (number), .host = (on), .pid = (by)
#define KNOWN SHOWN(HOLDER_KNOWN, 1, "web-3", "4121")
#define HOLD .state = HOLDER_HOLD, .count = 1, .host = "web-3"

/* A wait is reported again when something changes that it says. */
static void
test_changes(void)
{
	static const struct {
		struct holder first, then;
		int64_t position;
		size_t reports;
		const char *what;
	} cases[] = {
	    {{KNOWN}, {KNOWN, .left_ms = 9000}, 0, 1, "the lease is renewed"},
	    {{KNOWN}, {KNOWN}, 1, 2, "another position"},
	    {{KNOWN}, {SHOWN(HOLDER_ENDED, 1, "web-3", "4121")}, 0, 2,
		"another state"},
	    {{KNOWN}, {KNOWN, .order = HOLDER_ASKED}, 0, 2, "an order"},
	    {{KNOWN}, {KNOWN, .others_queued = true}, 0, 2, "others queued"},
	    {{KNOWN}, {SHOWN(HOLDER_KNOWN, 2, "web-3", "4121")}, 0, 2,
		"another count"},
	    {{KNOWN}, {KNOWN, .permits = 2}, 0, 2, "permits"},
	    {{KNOWN}, {SHOWN(HOLDER_KNOWN, 1, "web-4", "4121")}, 0, 2,
		"another host"},
	    {{KNOWN}, {SHOWN(HOLDER_KNOWN, 1, "web-3", "4122")}, 0, 2,
		"another process"},
	    {{HOLD, .reported_at = 1000, .left_ms = 5000},
		{HOLD, .reported_at = 3000, .left_ms = 4999}, 0, 1,
		"a hold ends within two seconds of that"},
	    {{HOLD, .reported_at = 1000, .left_ms = 5000},
		{HOLD, .reported_at = 3000, .left_ms = 5000}, 0, 2,
		"a hold ends later"},
	    {{HOLD, .reported_at = 1000, .left_ms = 5000},
		{HOLD, .reported_at = 3000, .left_ms = 1000}, 0, 2,
		"a hold ends earlier"},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		begin_run(&opts);
		seen.lock.holder = cases[i].first;
		seen.facts.begun_at = 1;
		seen.run.set.state = LOCK_ACQUIRING;
		seen.run.set.answered = true;
		is_emitted(1, EVENT_WAITING, cases[i].what);
		seen.lock.holder = cases[i].then;
		seen.lock.queue.position = cases[i].position;
		is_emitted(cases[i].reports, EVENT_WAITING, "  then");
		ok(seen.run.observer.waited, "  as a wait");
	}
}

/* A pause counts from a fifth of the ttl on, and from 200 ms. */
static void
test_pauses(void)
{
	static const struct {
		int64_t ttl_ms, late_ms;
		size_t reports;
	} cases[] = {{500, 199, 0}, {500, 200, 1}, {10000, 1999, 0},
	    {10000, 2000, 1}};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		const struct opts how = {.lock.ttl_ms = cases[i].ttl_ms};

		begin_run(&how);
		seen.run.state = RUN_JOB;
		seen.run.set.about = NULL;
		seen.loop.late_ms = cases[i].late_ms;
		observer_look(&seen.run);
		is_int((int64_t)seen.log.count, (int64_t)cases[i].reports,
		    "a pause of the process");
	}
}

/* --- endings ---------------------------------------------------------- */

static void
on_event(void *state, const struct event *event)
{
	*(struct event *)state = *event;
}

static void
test_endings(void)
{
	static const struct event_sink sink = {.on_event = on_event};
	struct facts facts = {.opts = &opts};
	struct event last;
	struct events events = {.sinks = {&sink},
	    .states = {&last},
	    .count = 1,
	    .facts = &facts};
	struct run run = {.opts = &opts, .events = &events, .facts = &facts};
	const struct event none = {.why = NULL};

	run_add_ending(&run, ENDING_BUSY, none);
	is_int(facts.status, 3, "--conflict-exit-code");
	run_add_ending(&run, ENDING_SIGNAL, (struct event){.status = -15});
	is_int(facts.status, 3, "an earlier one in the enum does not count");
	run_add_ending(&run, ENDING_OVERRUN, none);
	is_int(facts.status, EXITCODE_OVERRUN, "a later one does");
	ok(!facts_say_lost(&facts), "not lost");
	run_add_ending(&run, ENDING_UNKILLABLE, none);
	is_int(facts.status, EXITCODE_RESOURCE, "nor at the end");
	run_add_ending(&run, ENDING_LOST, none);
	is_int(facts.status, EXITCODE_LOST, "a loss counts more");
	ok(facts_say_lost(&facts), "lost");
	run_add_ending(&run, ENDING_JOB_LATE, none);
	is_int(facts.ending, ENDING_LOST, "the first loss counts");
	run_add_ending(&run, ENDING_UNKILLABLE, none);
	is_int(facts.status, EXITCODE_LOST, "and stays");
	is_int(last.status, EXITCODE_RESOURCE, "but all are emitted");
}

#define NOT_STARTED "; command not started"

static bool
ends_with_not_started(const struct event *event)
{
	char text[4096];
	size_t length;

	event_text_format(event, &of_opts, text, sizeof(text));
	length = strlen(text);
	return length > strlen(NOT_STARTED) &&
	       strstr(text, NOT_STARTED) == text + length - strlen(NOT_STARTED);
}

/* Each character takes four in a message, which is cut. */
static void
check_long_name(void)
{
	struct event event = full_event(EVENT_ENDING, ENDING_BUSY);
	char name[OPTS_KEY_MAX + 1] = "";

	event.then = EVENT_THEN_NOT_STARTED;
	memset(name, '\x01', OPTS_KEY_MAX);
	event.name = name;
	ok(ends_with_not_started(&event), "ending with a long name");
}

static void
test_not_started(void)
{
	static const struct event_sink sink = {.on_event = on_event};
	struct event last;
	struct facts facts = {.opts = &opts};
	struct events events = {.sinks = {&sink},
	    .states = {&last},
	    .count = 1,
	    .facts = &facts};
	struct run run = {.opts = &opts, .events = &events, .facts = &facts};

	for (int reason = 0; reason < ENDING_COUNT; reason++) {
		struct event event =
		    full_event(EVENT_ENDING, (enum ending_reason)reason);

		event.then = EVENT_THEN_NOTHING;
		ok(!ends_with_not_started(&event), "ending %d of no run",
		    reason);
		facts.started_at = 0;
		run_add_ending(&run, (enum ending_reason)reason, event);
		ok(ends_with_not_started(&last) ==
			(*event_rows[reason].message != '\0'),
		    "ending %d before the job", reason);
		facts.started_at = 1;
		run_add_ending(&run, (enum ending_reason)reason, event);
		ok(!ends_with_not_started(&last), "ending %d of a job", reason);
	}
	check_long_name();
	run_add_unguarded(&run, 0);
	ok(ends_with_not_started(&last), "a guard that started no job");
}

/* A lost lock never looks like success. Metrics count by word and outcome. */
static void
test_ending_rows(void)
{
	for (int reason = 0; reason < ENDING_COUNT; reason++) {
		const struct event_row *row = &event_rows[reason];
		ok((row->outcome == EVENT_OUTCOME_LOST) ==
			(row->status == EXITCODE_LOST),
		    "status of ending %d", reason);
		for (int other = 0; other < reason; other++)
			ok(strcmp(row->word, event_rows[other].word) != 0 ||
				row->outcome != event_rows[other].outcome,
			    "%s is one ending", row->word);
		ok((*row->message != '\0') == (reason > ENDING_SIGNAL),
		    "ending %d has a row", reason);
	}
}

/* Texts that are as long as their arrays would have no end. */
static void
test_rows(void)
{
	for (int i = 0; i < EVENT_COUNT; i++) {
		const struct event_row *row = &event_rows[i];
		ok(memchr(row->word, '\0', sizeof(row->word)) != NULL &&
			memchr(row->ms, '\0', sizeof(row->ms)) != NULL &&
			memchr(row->message, '\0', sizeof(row->message)) !=
			    NULL,
		    "the texts of row %d end", i);
		ok((row->level != LEVEL_NONE) == (*row->message != '\0'),
		    "what has a message has a level");
	}
}

static void
test_outcomes(void)
{
	struct event event = {.type = EVENT_ENDED, .ending = ENDING_JOB};

	is_int(event_outcome(&event), EVENT_OUTCOME_SUCCESS,
	    "a job with status 0");
	event.status = -9;
	is_int(event_outcome(&event), EVENT_OUTCOME_FAILURE,
	    "one that was killed");
	event.ending = ENDING_WAIT_OVER;
	event.status = 3;
	is_int(event_outcome(&event), EVENT_OUTCOME_BUSY,
	    "a wait that is over");
	is_int(event_shell_status(-9), 137, "a signal as a shell shows it");
	is_int(event_shell_status(3), 3, "a status as it is");
}

int
main(void)
{
	told.fd = open_pipe();
	test_all_messages();
	test_messages();
	test_numbers();
	test_durations();
	test_names();
	test_minutes();
	test_no_wake_up();
	test_end_of_wait();
	test_silence();
	test_renewals();
	test_first_silence();
	test_changes();
	test_pauses();
	test_endings();
	test_not_started();
	test_ending_rows();
	test_rows();
	test_outcomes();
	close(told.fd);
	return tap_done();
}
