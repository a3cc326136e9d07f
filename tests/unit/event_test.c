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
test_messages(void)
{
	static const struct opts no_keys = {.key_count = 0};
	static const struct facts no_locks = {.opts = &no_keys};
	struct event event = full_event(EVENT_WAITING, ENDING_NONE);
	char text[4096], little[8];

	event_text_format(&event, &of_opts, text, sizeof(text));
	is_text(text,
	    "\"NAME\" is held by web-3 (pid 4121, deploy); waiting, position 3 "
	    "in the queue",
	    "a part with a known fact");
	event.position = 1;
	event_text_format(&event, &of_opts, text, sizeof(text));
	is_text(text, "\"NAME\" is held by web-3 (pid 4121, deploy); waiting",
	    "the head of the queue gets no position");
	event_text_format(&event, &of_opts, little, sizeof(little));
	is_text(little, "\"NAME\" ", "what does not fit is cut off");
	event = full_event(EVENT_ENDING, ENDING_LOST);
	event_text_format(&event, &of_opts, text, sizeof(text));
	is_text(text, "\"NAME\" was lost: WHY; stopping the job",
	    "what follows");
	event = full_event(EVENT_ENDING, ENDING_OVERTAKEN);
	event_text_format(&event, &of_opts, text, sizeof(text));
	is_text(text,
	    "\"NAME\" was overtaken by \"build \\\"4711\\\"\" on ci-3; "
	    "stopping the job",
	    "another run, by its label");
	event.by = &unlabelled;
	event_text_format(&event, &of_opts, text, sizeof(text));
	is_text(text,
	    "\"NAME\" was overtaken by pid 421 on ci-3; stopping the job",
	    "  or by its pid");
	event = full_event(EVENT_ENDING, ENDING_LOST);
	event.then = EVENT_THEN_NOTHING;
	event_text_format(&event, &of_opts, text, sizeof(text));
	is_text(text, "\"NAME\" was lost: WHY", "nothing follows");
	event = full_event(EVENT_NO_REPLY, ENDING_NONE);
	event.name = NULL;
	event_text_format(&event, &of_opts, text, sizeof(text));
	is_text(text, "\"a\", \"b\": WHY; trying again",
	    "all locks by default");
	event_text_format(&event, &no_locks, text, sizeof(text));
	is_text(text, "WHY; trying again", "an unknown fact at the start");
	event = full_event(EVENT_RENEWED, ENDING_NONE);
	event_text_format(&event, &of_opts, text, sizeof(text));
	is_text(text, "", "an event without a message");
	event = full_event(EVENT_JOB_ENDED, ENDING_NONE);
	event.status = -9;
	event_text_format(&event, &of_opts, text, sizeof(text));
	is_text(text, "\"NAME\": the job ended with status 137 (signal 9)",
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
	    {EVENT_ENDING, 0, "\"NAME\" is held by web-3 (pid 4121, deploy)"},
	    {EVENT_ENDING, 1,
		"\"NAME\" is held by web-3 (pid 4121, deploy); 1 is waiting "
		"already"},
	    {EVENT_ENDING, 11,
		"\"NAME\" is held by web-3 (pid 4121, deploy); 11 are waiting "
		"already"},
	};
	char text[4096];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct event event =
		    full_event(cases[i].type, ENDING_QUEUE_FULL);

		event.then = EVENT_THEN_NOTHING;
		event.count = event.permits = cases[i].number;
		event_text_format(&event, &of_opts, text, sizeof(text));
		is_text(text, cases[i].text, "a number in a message");
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
	char text[4096], wanted[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct event event = full_event(EVENT_HELD_LONG, ENDING_NONE);

		event.ms = cases[i].ms;
		event_text_format(&event, &of_opts, text, sizeof(text));
		snprintf(wanted, sizeof(wanted),
		    "\"NAME\" has been held for %s", cases[i].text);
		is_text(text, wanted, "a duration in a message");
		event.name = NULL;
		event_text_format(&event, &of_opts, text, sizeof(text));
		snprintf(wanted, sizeof(wanted),
		    "\"a\", \"b\" have been held for %s", cases[i].text);
		is_text(text, wanted, "of two locks");
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

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
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

/* A wait that was reported a moment before its first minute is over. */
static const char *
wait_for_a_minute(const struct opts *how, struct loop *loop, int fd)
{
	struct event event = full_event(EVENT_WAITING, ENDING_NONE);
	const struct facts facts = {.opts = how};
	void *state = event_text.open(&facts, loop, NULL);

	event.ms = 59950;
	event_text.on_event(state, &event);
	drain(fd);
	if (loop->timers != NULL)
		loop_turn(loop);
	event.type = EVENT_JOB_STARTED;
	event_text.on_event(state, &event);
	event_text.close(state);
	return drain(fd);
}

static void
test_minutes(void)
{
	struct opts how = opts;
	struct loop loop;
	int fd = open_pipe();

	loop_init(&loop);
	how.wait_ms = OPTS_WAIT_FOREVER;
	is_text(wait_for_a_minute(&how, &loop, fd),
	    "rlockrun: \"NAME\" is held by web-3 (pid 4121, deploy); waiting "
	    "for 1m00s, position 3 in the queue\n",
	    "the message is repeated every minute");
	how.wait_ms = 300000;
	is_text(wait_for_a_minute(&how, &loop, fd),
	    "rlockrun: \"NAME\" is held by web-3 (pid 4121, deploy); waiting "
	    "for 1m00s, 4m00s left, position 3 in the queue\n",
	    "with what is left of -w");
	how.progress = OPTS_PROGRESS_ALWAYS;
	ok(strchr(wait_for_a_minute(&how, &loop, fd), '\n') == NULL,
	    "not if the line is drawn");
	how.progress = OPTS_PROGRESS_AUTO;
	how.quiet = true;
	is_text(wait_for_a_minute(&how, &loop, fd), "", "not with -q");
	ok(loop.timers == NULL, "no timer is left");
	loop_fini(&loop);
	close(fd);
}

/* A wait or a silence, and its end. */
static const char *
end_wait(const struct opts *how, enum event_type type, int fd)
{
	struct event event = full_event(type, ENDING_NONE);
	struct loop loop;
	void *state;
	const char *text;

	loop_init(&loop);
	state = event_text.open(&(struct facts){.opts = how}, &loop, NULL);
	event.minor = type == EVENT_NO_REPLY;
	if (type != EVENT_WAITED)
		event_text.on_event(state, &event);
	drain(fd);
	event.type = EVENT_WAITED;
	event.minor = false;
	event.ms = 200000;
	event_text.on_event(state, &event);
	text = drain(fd);
	event_text.close(state);
	loop_fini(&loop);
	return text;
}

static void
test_end_of_wait(void)
{
	static const char *const end =
	    "rlockrun: \"NAME\": acquired after 3m20s\n";
	struct opts how = opts;
	int fd = open_pipe();

	is_text(end_wait(&how, EVENT_WAITING, fd), end, "the end of a wait");
	is_text(end_wait(&how, EVENT_NO_REPLY, fd), end, "and of a silence");
	is_text(end_wait(&how, EVENT_WAITED, fd), "",
	    "not if the wait was not reported here");
	how.quiet = true;
	is_text(end_wait(&how, EVENT_WAITING, fd), "", "not with -q");
	how.quiet = false;
	how.progress = OPTS_PROGRESS_ALWAYS;
	is_text(end_wait(&how, EVENT_WAITING, fd), "",
	    "not if the line was drawn");
	is_text(end_wait(&how, EVENT_NO_REPLY, fd), "", "by no reason");
	close(fd);
}

static const char *
lose_contact(const struct opts *how, struct loop *loop, int fd)
{
	struct event event = full_event(EVENT_WAITING, ENDING_NONE);
	const struct facts facts = {.opts = how};
	void *state = event_text.open(&facts, loop, NULL);
	const char *text;

	event_text.on_event(state, &event);
	event.type = EVENT_NO_REPLY;
	event.minor = true;
	drain(fd);
	event_text.on_event(state, &event);
	event.minor = false;
	event_text.on_event(state, &event);
	text = drain(fd);
	event_text.close(state);
	return text;
}

static void
test_silence(void)
{
	struct opts how = opts;
	struct loop loop;
	int fd = open_pipe();

	loop_init(&loop);
	is_text(lose_contact(&how, &loop, fd),
	    "rlockrun: \"NAME\": WHY; trying again\n",
	    "a server that does not reply is reported once");
	how.quiet = true;
	is_text(lose_contact(&how, &loop, fd),
	    "rlockrun: \"NAME\": WHY; trying again\n", "with -q if it lasts");
	how.quiet = false;
	how.progress = OPTS_PROGRESS_ALWAYS;
	is_text(lose_contact(&how, &loop, fd),
	    "\r\033[Krlockrun: \"NAME\": WHY; trying again"
	    "\r\033[Krlockrun: \"NAME\": WHY; trying again\n",
	    "drawn, and printed if it lasts");
	how.verbose = true;
	is_text(lose_contact(&how, &loop, fd),
	    "\r\033[Krlockrun: \"NAME\": WHY; trying again\n",
	    "and with -v printed");
	loop_fini(&loop);
	close(fd);
}

/* With -q there is nothing to wake up for. */
static void
test_no_wake_up(void)
{
	struct opts how = opts;
	struct event event = full_event(EVENT_WAITING, ENDING_NONE);
	struct loop loop;
	void *state;

	loop_init(&loop);
	how.quiet = true;
	state = event_text.open(&(struct facts){.opts = &how}, &loop, NULL);
	event_text.on_event(state, &event);
	ok(loop.timers == NULL, "-q sets no timer");
	event_text.close(state);
	loop_fini(&loop);
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

static void
test_renewals(void)
{
	static const struct event_sink sink = {.on_event = add_to_log};
	const struct lock_config config = {.name = "a"};
	struct log log = {.count = 0};
	struct facts facts = {.opts = &opts, .acquired_at = 1};
	struct events events = {.sinks = {&sink},
	    .states = {&log},
	    .count = 1,
	    .facts = &facts};
	struct loop loop = {.now = 0};
	struct lock lock = {.state = AT_HELD,
	    .why.answered = true,
	    .config = &config};
	struct run run = {.opts = &opts,
	    .events = &events,
	    .facts = &facts,
	    .loop = &loop,
	    .state = RUN_ACQUIRE,
	    .set = {.about = &lock,
		.state = LOCK_HELD,
		.answered = true,
		.valid_until = 1000}};

	observer_look(&run);
	is_int(log.types[0], EVENT_BEGUN, "the first try is sent");
	run.state = RUN_JOB;
	run.cover = COVER_HELD;
	observer_look(&run);
	observer_look(&run);
	is_int((int64_t)log.count, 1, "nothing has changed");
	run.set.valid_until = 2000;
	observer_look(&run);
	observer_look(&run);
	is_int((int64_t)log.count, 2, "a renewal is emitted once");
	is_int(log.types[1], EVENT_RENEWED, "as such");
	run.set.answered = false;
	observer_look(&run);
	observer_look(&run);
	is_int((int64_t)log.count, 3, "a failure is emitted once");
	is_int(log.types[2], EVENT_RENEWAL_FAILED, "as such");
	run.set.answered = true;
	run.set.valid_until = 3000;
	observer_look(&run);
	observer_look(&run);
	is_int((int64_t)log.count, 5, "so is the end of the trouble");
	is_int(log.types[4], EVENT_RENEWED_AGAIN, "as such");
	run.set.answered = false;
	run.set.state = LOCK_LOST;
	lock.state = AT_LOST;
	observer_look(&run);
	is_int((int64_t)log.count, 5, "a lost lock is not renewed");
	run.set.state = LOCK_HELD;
	lock.state = AT_HELD;
	run.guard.job.ended = true;
	observer_look(&run);
	is_int((int64_t)log.count, 5, "nor is one whose job has ended");
	loop.late_ms = 1000;
	observer_look(&run);
	is_int(log.types[5], EVENT_PAUSED, "a pause is emitted even then");
}

/* A loop that waits for a server that does not reply does not turn before the
 * silence is to be reported. */
static void
test_first_silence(void)
{
	static const struct event_sink sink = {.on_event = add_to_log};
	const struct lock_config config = {.name = "a"};
	struct log log = {.count = 0};
	struct facts facts = {.opts = &opts};
	struct events events = {.sinks = {&sink},
	    .states = {&log},
	    .count = 1,
	    .facts = &facts};
	struct loop loop = {.now = 0};
	struct lock lock = {.state = AT_TRY, .config = &config};
	struct run run = {.opts = &opts,
	    .events = &events,
	    .facts = &facts,
	    .loop = &loop,
	    .state = RUN_ACQUIRE,
	    .until = 1,
	    .set = {.about = &lock, .error = ""}};

	observer_look(&run);
	run.set.state = LOCK_ACQUIRING;
	run.observer.silent_since -= 2000;
	observer_look(&run);
	is_int(log.types[1], EVENT_NO_REPLY,
	    "silence counts from the first try");
	run.observer.silence = OBSERVER_SILENCE;
	loop.now = 1;
	observer_look(&run);
	is_int((int64_t)log.count, 2, "but is not reported as -w ends");
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

#define KNOWN .state = HOLDER_KNOWN, .count = 1, .host = "web-3", .pid = "4121"
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
	    {{KNOWN},
		{.state = HOLDER_ENDED,
		    .count = 1,
		    .host = "web-3",
		    .pid = "4121"},
		0, 2, "another state"},
	    {{KNOWN}, {KNOWN, .order = HOLDER_ASKED}, 0, 2, "an order"},
	    {{KNOWN}, {KNOWN, .others_queued = true}, 0, 2, "others queued"},
	    {{KNOWN},
		{.state = HOLDER_KNOWN,
		    .count = 2,
		    .host = "web-3",
		    .pid = "4121"},
		0, 2, "another count"},
	    {{KNOWN}, {KNOWN, .permits = 2}, 0, 2, "permits"},
	    {{KNOWN},
		{.state = HOLDER_KNOWN,
		    .count = 1,
		    .host = "web-4",
		    .pid = "4121"},
		0, 2, "another host"},
	    {{KNOWN},
		{.state = HOLDER_KNOWN,
		    .count = 1,
		    .host = "web-3",
		    .pid = "4122"},
		0, 2, "another process"},
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
	static const struct event_sink sink = {.on_event = add_to_log};
	static const struct endpoint server;
	const struct lock_config config = {.name = "a",
	    .key = "a",
	    .server = &server};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct log log = {.count = 0};
		struct facts facts = {.opts = &opts, .begun_at = 1};
		struct events events = {.sinks = {&sink},
		    .states = {&log},
		    .count = 1,
		    .facts = &facts};
		struct loop loop = {.now = 0};
		struct lock_link link = {.way = NULL};
		struct lock lock = {.state = AT_TRY,
		    .config = &config,
		    .link = &link,
		    .holder = cases[i].first};
		struct run run = {.opts = &opts,
		    .events = &events,
		    .facts = &facts,
		    .loop = &loop,
		    .state = RUN_ACQUIRE,
		    .until = 1,
		    .set = {.about = &lock,
			.state = LOCK_ACQUIRING,
			.answered = true}};

		observer_look(&run);
		observer_look(&run);
		lock.holder = cases[i].then;
		lock.queue.position = cases[i].position;
		observer_look(&run);
		observer_look(&run);
		is_int((int64_t)log.count, (int64_t)cases[i].reports,
		    cases[i].what);
		ok(run.observer.waited && log.types[0] == EVENT_WAITING,
		    "  as a wait");
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
	static const struct event_sink sink = {.on_event = add_to_log};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct opts how = {.lock.ttl_ms = cases[i].ttl_ms};
		struct log log = {.count = 0};
		struct events events = {.sinks = {&sink},
		    .states = {&log},
		    .count = 1};
		struct loop loop = {.late_ms = cases[i].late_ms};
		struct run run = {.opts = &how,
		    .events = &events,
		    .loop = &loop,
		    .state = RUN_JOB};

		observer_look(&run);
		is_int((int64_t)log.count, (int64_t)cases[i].reports,
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
	return tap_done();
}
