/* A guard that does not act: from when on it is awaited, when it is killed, and
 * when the job is given up. The guard is played, and time stands still. */
#include "base/clock.h"
#include "job/guard.h"
#include "run/run.h"
#include "tap.h"

struct seen {
	int64_t deadline;
	int kills, job_kills, stuck, terms, stops;
};

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): one case at once */
static struct seen seen;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
bool __wrap_guard_job_is_gone(struct guard *guard);
bool __wrap_guard_is_unresponsive(struct guard *guard);
void __wrap_guard_kill(struct guard *guard);
void __wrap_guard_kill_job(struct guard *guard);
void __wrap_guard_set_deadline(struct guard *guard, int64_t deadline);
void __wrap_guard_order(struct guard *guard, enum order_kind kind, int value);

bool
__wrap_guard_job_is_gone(struct guard *guard)
{
	(void)guard;
	return false;
}

bool
__wrap_guard_is_unresponsive(struct guard *guard)
{
	return guard->job.state != JOB_UNGUARDED;
}

void
__wrap_guard_kill(struct guard *guard)
{
	(void)guard;
	seen.kills++;
}

void
__wrap_guard_kill_job(struct guard *guard)
{
	(void)guard;
	seen.job_kills++;
}

void
__wrap_guard_set_deadline(struct guard *guard, int64_t deadline)
{
	(void)guard;
	seen.deadline = deadline;
}

void
__wrap_guard_order(struct guard *guard, enum order_kind kind, int value)
{
	(void)guard, (void)value;
	seen.terms += kind == ORDER_TERMINATE;
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void
on_event(void *state, const struct event *event)
{
	(void)state;
	seen.stuck += event->type == EVENT_GUARD_STUCK;
	seen.stops += event->type == EVENT_JOB_STOPPING;
}

/* With a ttl of 30 s KILL comes 300 ms before the end of the lease, and the
 * guard has 150 ms to begin. */
static void
test_stop(void)
{
	static const struct {
		const char *what;
		int64_t stop_by, valid_until, since, now, late_ms;
		int64_t deadline, wake_at; /* 0: it is given up */
		enum job_state state;
		int kills;
	} cases[] = {
	    {"before the deadline", 1000, 99999, 500, 900, 0, 1000, 1150,
		JOB_RUNNING, 0},
	    {"a moment for the guard", 1000, 99999, 500, 1149, 0, 1000, 1150,
		JOB_RUNNING, 0},
	    {"which is over", 1000, 99999, 500, 1150, 0, 1000, 1170,
		JOB_RUNNING, 1},
	    {"until KILL has no effect", 1000, 99999, 500, 5999, 0, 1000, 6019,
		JOB_RUNNING, 1},
	    {"for five seconds", 1000, 99999, 500, 6000, 0, 1000, 0,
		JOB_RUNNING, 0},
	    {"at the end of the lease", 50000, 1300, 500, 1149, 0, 1000, 1150,
		JOB_RUNNING, 0},
	    {"from when it was stopped", 1000, 99999, 1299, 1300, 0, 1000, 1449,
		JOB_RUNNING, 0},
	    {"too late anyway", 1000, 99999, 1300, 1399, 0, 1000, 1400,
		JOB_RUNNING, 0},
	    {"awaited anew after a pause", 1000, 99999, 500, 1300, 150, 1000,
		1400, JOB_RUNNING, 0},
	    {"not after one that began later", 1000, 99999, 500, 1300, 149,
		1000, 1320, JOB_RUNNING, 1},
	    {"nor after one that was in time", 1000, 99999, 500, 1299, 900,
		1000, 1319, JOB_RUNNING, 1},
	    {"without a guard", 1000, 99999, 500, 900, 0, 1000, 920,
		JOB_UNGUARDED, 0},
	};
	static const struct event_sink sink = {.on_event = on_event};
	static const struct opts opts = {.lock.ttl_ms = 30000};
	struct facts facts = {.opts = &opts};
	const struct events events = {.sinks = {&sink},
	    .states = {&seen},
	    .count = 1,
	    .facts = &facts};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct loop loop = {.now = cases[i].now,
		    .late_ms = cases[i].late_ms};
		struct run run = {.opts = &opts,
		    .events = &events,
		    .facts = &facts,
		    .loop = &loop,
		    .state = RUN_STOP,
		    .cover = COVER_HELD,
		    .wake_at = INT64_MAX,
		    .guard.job.state = cases[i].state,
		    .limits = {.stop_by = cases[i].stop_by,
			.stopping_since = cases[i].since},
		    .set.valid_until = cases[i].valid_until};
		bool gives_up = cases[i].wake_at == 0;

		seen.kills = seen.job_kills = seen.stuck = 0;
		watch_step_stop(&run);
		is_int(seen.deadline, cases[i].deadline, cases[i].what);
		is_int(run.state, gives_up ? RUN_ABANDONED : RUN_STOP,
		    "  the state");
		is_int(run.wake_at, gives_up ? INT64_MAX : cases[i].wake_at,
		    "  the next look");
		is_int(seen.kills, cases[i].kills, "  the guard is killed");
		is_int(seen.stuck, cases[i].kills, "  which is reported");
		is_int(seen.job_kills, cases[i].state == JOB_UNGUARDED,
		    "  the job is killed without it");
		is_int(facts.ending, gives_up ? ENDING_UNKILLABLE : ENDING_NONE,
		    "  its end");
		facts.ending = ENDING_NONE;
	}
}

/* A guard that kills, or has died, while we look: the job is stopped. */
static void
test_job(void)
{
	static const struct {
		int64_t killed_at;
		enum job_state state;
		enum ending_reason ending;
	} cases[] = {{CLOCK_NEVER, JOB_KILLING, ENDING_LEASE_OVER},
	    {1, JOB_KILLING, ENDING_OVERRUN},
	    {CLOCK_NEVER, JOB_UNGUARDED, ENDING_GUARD_DIED}};
	static const struct event_sink sink = {.on_event = on_event};
	static const struct opts opts = {.lock.ttl_ms = 30000};
	const struct lock_config config = {.name = "a"};
	struct lock lock = {.config = &config};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct facts facts = {.opts = &opts, .started_at = 1};
		const struct events events = {.sinks = {&sink},
		    .states = {&seen},
		    .count = 1,
		    .facts = &facts};
		struct loop loop = {.now = 0};
		struct run run = {.opts = &opts,
		    .events = &events,
		    .facts = &facts,
		    .loop = &loop,
		    .state = RUN_JOB,
		    .cover = COVER_HELD,
		    .guard.job.state = cases[i].state,
		    .limits.killed_at = cases[i].killed_at,
		    .set.about = &lock};

		seen.terms = seen.stops = 0;
		watch_step_job(&run);
		is_int(facts.ending, cases[i].ending, "why it is stopped");
		is_int(run.state, RUN_STOP, "  the state");
		is_int(seen.terms, 1, "  TERM");
		is_int(seen.stops, 1, "  which is reported");
		ok(run.limits.stopping_since > 0, "  with its time");
		ok(run.limits.stop_by > 0 &&
			run.limits.stop_by <= run.limits.stopping_since,
		    "  and KILL is due");
	}
}

int
main(void)
{
	test_stop();
	test_job();
	return tap_done();
}
