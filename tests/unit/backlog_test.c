#include "sink/backlog.h"

#include <time.h>

#include "base/clock.h"
#include "tap.h"

/* So many steps are left, each of which takes so long. */
struct work {
	int left, steps;
	long takes_ms; /* less than a second */
};

static bool
step(void *arg)
{
	struct work *work = arg;
	const struct timespec time = {.tv_nsec = work->takes_ms * 1000000};

	nanosleep(&time, NULL);
	work->steps++;
	return --work->left > 0;
}

/* Without anything to wait for a turn would not end: one timer is so far away
 * that the loop is idle before, on any machine, the other is for turns in which
 * nothing may happen. */
enum { FAR_MS = 10000, SOON_MS = 4 * LOOP_QUIET_MS };

static void
turn(struct loop *loop, int64_t within_ms)
{
	struct loop_timer due = {.on_due = NULL};

	loop_timer_set(loop, &due, clock_now() + within_ms);
	loop_turn(loop);
	loop_timer_remove(loop, &due);
}

/* Turns until so many steps were made, and some more. */
static void
turn_until(struct loop *loop, const struct work *work, int steps)
{
	for (int i = 0; i < 10 && work->steps < steps; i++)
		turn(loop, FAR_MS);
	for (int i = 0; i < 5; i++)
		turn(loop, SOON_MS);
}

static void
check_loop(struct loop *loop)
{
	struct work work = {.left = 3};
	struct backlog backlog;

	backlog_init(&backlog, loop, step, &work);
	turn(loop, SOON_MS);
	is_int(work.steps, 0, "nothing is written without need");
	backlog_add(&backlog);
	is_int(work.steps, 0, "adding writes nothing");
	turn_until(loop, &work, 3);
	is_int(work.steps, 3, "all is written when the loop is idle");
	ok(backlog_finish(&backlog), "and nothing is left");
	is_int(work.steps, 3, "it is written once");
}

static void
check_event(struct loop *loop, struct event event, int steps, const char *what)
{
	struct work work = {.left = 2};
	struct backlog backlog;

	backlog_init(&backlog, loop, step, &work);
	backlog_add(&backlog);
	backlog_take(&backlog, &event);
	backlog_add(&backlog);
	turn_until(loop, &work, steps);
	is_int(work.steps, steps, what);
	ok(backlog_finish(&backlog), "the rest is written in the end");
	is_int(work.steps, 2, "all of it");
}

static void
check_slow(struct loop *loop)
{
	struct work work = {.left = 1000, .takes_ms = 100};
	int64_t begun = clock_now();
	struct backlog backlog;

	backlog_init(&backlog, loop, step, &work);
	backlog_add(&backlog);
	ok(!backlog_finish(&backlog), "a slow disk is given up");
	ok(clock_now() >= begun + BACKLOG_FINISH_MS, "not early");
	ok(work.steps <= BACKLOG_FINISH_MS / 100, "nor late");
}

int
main(void)
{
	struct loop loop;

	if (loop_init(&loop) == -1)
		return 1;
	check_loop(&loop);
	check_event(&loop, (struct event){.type = EVENT_JOB_ENDED}, 0,
	    "nothing once the job has ended");
	check_event(&loop, (struct event){.type = EVENT_ENDING}, 0,
	    "nothing before the release");
	check_event(&loop,
	    (struct event){.type = EVENT_ENDING, .then = EVENT_THEN_STOPPED}, 2,
	    "a job that is stopped takes its time");
	check_event(&loop,
	    (struct event){.type = EVENT_ENDING, .then = EVENT_THEN_CONTINUES},
	    2, "so does one that continues");
	check_event(&loop, (struct event){.type = EVENT_RENEWED}, 2,
	    "a renewal changes nothing");
	check_slow(&loop);
	loop_fini(&loop);
	return tap_done();
}
