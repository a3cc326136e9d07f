#include "run/events.h"

#include <string.h>

#include "tap.h"

static const struct opts opts = {.keys = {{.name = "a"}, {.name = "b"}},
    .key_count = 2};

static void
emit(struct facts *facts, struct event event)
{
	const struct events events = {.facts = facts};

	events_emit(&events, &event);
}

static void
take(struct facts *facts, enum event_type type)
{
	emit(facts, (struct event){.type = type});
}

static void
take_acquired(struct facts *facts, const char *name)
{
	emit(facts, (struct event){.type = EVENT_ACQUIRED,
			.name = name,
			.token = "2f5c0e9a-9c4e-4e0a-8d3c-000000000000",
			.fence = "none",
			.server = "redis://h:6379"});
}

static void
test_locks(void)
{
	struct facts_lock locks[2] = {{.token = ""}};
	struct facts facts = {.opts = &opts, .locks = locks};

	ok(facts_find(&facts, "c") == NULL, "no lock of the run");
	ok(facts_find(&facts, NULL) == NULL, "all locks are none of them");
	take_acquired(&facts, "b");
	ok(facts_find(&facts, "a")->token[0] == '\0', "a is not acquired");
	ok(strncmp(facts_find(&facts, "b")->token, "2f5c0e9a", 8) == 0, "b is");
	ok(facts_find(&facts, "b")->fence[0] == '\0', "it has no fence");
	ok(strcmp(facts_find(&facts, "b")->server, "redis://h:6379") == 0,
	    "its server");
	take_acquired(&facts, "c");
	ok(true, "a lock that is not of the run is ignored");
}

static void
test_times(void)
{
	struct facts_lock locks[2] = {{.token = ""}};
	struct facts facts = {.opts = &opts, .locks = locks};

	is_int(facts_waited_ms(&facts), -1, "nothing is awaited");
	is_int(facts_held_ms(&facts), -1, "nothing is held");
	take(&facts, EVENT_BEGUN);
	ok(facts_waited_ms(&facts) >= 0, "it waits");
	is_int(facts_held_ms(&facts), -1, "and does not hold");
	take_acquired(&facts, "a");
	facts.begun_at = 1000;
	facts.acquired_at = 3000;
	is_int(facts_waited_ms(&facts), 2000, "until it was acquired");
	take_acquired(&facts, "b");
	is_int(facts.acquired_at, 3000, "the first one counts");
	ok(facts_held_ms(&facts) > 0, "it holds");
	emit(&facts,
	    (struct event){.type = EVENT_ENDING, .ending = ENDING_OVERRUN});
	is_int(facts.freed_at, 0, "--max-run does not free it");
	emit(&facts,
	    (struct event){.type = EVENT_ENDING, .ending = ENDING_LOST});
	ok(facts.freed_at > 0, "a loss does");
	facts.freed_at = 7000;
	take(&facts, EVENT_RELEASED);
	take(&facts, EVENT_ENDED);
	is_int(facts_held_ms(&facts), 4000, "until it was lost");
}

static void
test_end_of_lock(void)
{
	static const struct {
		enum event_type type;
		bool frees;
	} cases[] = {{EVENT_RELEASED, true}, {EVENT_KEPT, true},
	    {EVENT_LEFT, true}, {EVENT_UNCONFIRMED, true},
	    {EVENT_JOB_ENDED, false}};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct facts facts = {.opts = &opts};

		take(&facts, cases[i].type);
		ok((facts.freed_at > 0) == cases[i].frees, "event %d frees it",
		    cases[i].type);
	}
}

static void
test_never_acquired(void)
{
	struct facts_lock locks[2] = {{.token = ""}};
	struct facts facts = {.opts = &opts, .locks = locks};

	take(&facts, EVENT_BEGUN);
	facts.begun_at = 1000;
	take(&facts, EVENT_ENDED);
	facts.ended_at = 1500;
	is_int(facts_waited_ms(&facts), 500, "until the run ended");
	is_int(facts_held_ms(&facts), -1, "never held");
	facts.acquired_at = 1200;
	is_int(facts_held_ms(&facts), 300, "held until it ended, if not freed");
}

int
main(void)
{
	test_locks();
	test_times();
	test_end_of_lock();
	test_never_acquired();
	return tap_done();
}
