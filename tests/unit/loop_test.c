#include "base/loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

/* More than any run has: 32 keys on a cluster have 66. */
enum { MANY = 200 };

struct watched {
	struct loop_fd fd;
	int writer;
	int order; /* in which it was dispatched, from 1 */
};

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables) */
static bool memory_is_out;
/* NOLINTNEXTLINE(*-avoid-non-const-global-variables) */
static int dispatched;
/* Something arrives there right after poll(2) has returned. */
/* NOLINTNEXTLINE(*-avoid-non-const-global-variables) */
static int late_writer = -1;

/* The poll(2) that fails, and why; negative: none. */
/* NOLINTNEXTLINE(*-avoid-non-const-global-variables) */
static int polls_before_error = -1, poll_error;

/* In place of the C library's: nothing but the loop calls it here. The kernel
 * allocates for more waits than fit on its stack. */
int
poll(struct pollfd *polled, nfds_t count, int timeout_ms)
{
	const struct timespec timeout = {timeout_ms / 1000,
	    timeout_ms % 1000 * 1000000L};

	int rc;

	if (polls_before_error-- == 0) {
		errno = poll_error;
		return -1;
	}
	if (memory_is_out && count > 8) {
		errno = ENOMEM;
		return -1;
	}
	rc = ppoll(polled, count, timeout_ms < 0 ? NULL : &timeout, NULL);

	if (late_writer != -1 && write(late_writer, "", 1) == 1)
		late_writer = -1;
	return rc;
}

static void
on_ready(void *arg, short revents)
{
	struct watched *watched = arg;
	char byte;

	if ((revents & POLLIN) && read(watched->fd.fd, &byte, 1) == 1)
		watched->order = ++dispatched;
}

static void
on_due(void *arg)
{
	*(bool *)arg = true;
}

static bool
open_all(struct loop *loop, struct watched *all)
{
	for (int i = 0; i < MANY; i++) {
		int ends[2];

		if (pipe(ends) == -1)
			return false;
		all[i] = (struct watched){.writer = ends[1]};
		all[i].fd = (struct loop_fd){.fd = ends[0],
		    .events = POLLIN,
		    .on_ready = on_ready,
		    .arg = &all[i]};
		loop_add(loop, &all[i].fd);
	}
	return true;
}

/* A turn may end without an event. */
static void
turn_until_dispatched(struct loop *loop, int count)
{
	struct loop_timer end = {.on_due = on_due};
	bool over = false;

	end.arg = &over;
	loop_timer_set(loop, &end, clock_now() + 2000);
	while (!over && dispatched < count)
		if (loop_turn(loop) == -1)
			break;
	loop_timer_remove(loop, &end);
}

static void
check_one(struct loop *loop, struct watched *watched, const char *what)
{
	dispatched = 0;
	watched->order = 0;
	ok(write(watched->writer, "", 1) == 1, "%s is ready", what);
	turn_until_dispatched(loop, 1);
	is_int(watched->order, 1, what);
}

static void
check_all(struct loop *loop, struct watched *all)
{
	bool in_order = true;

	check_one(loop, &all[0], "the first descriptor");
	check_one(loop, &all[126], "descriptor 127");
	check_one(loop, &all[127], "descriptor 128");
	check_one(loop, &all[MANY - 1], "the last descriptor");
	dispatched = 0;
	for (int i = MANY; i-- > 0;)
		in_order = write(all[i].writer, "", 1) == 1 && in_order;
	turn_until_dispatched(loop, MANY);
	is_int(dispatched, MANY, "all descriptors in the end");
	for (int i = 0; i < MANY; i++)
		in_order = in_order && all[i].order == i + 1;
	ok(in_order, "in the order in which they were added");
}

static void
check_timer(struct loop *loop)
{
	struct loop_timer timer = {.on_due = on_due};
	int64_t begun = clock_now();
	bool due = false;

	timer.arg = &due;
	loop_timer_set(loop, &timer, begun + 50);
	while (!due && loop_turn(loop) == 0)
		;
	ok(clock_now() >= begun + 50, "a timer is not early");
}

static void
check_loop(const char *what)
{
	static struct watched all[MANY];
	struct loop loop;

	is_int(loop_init(&loop), 0, "loop_init");
	ok(open_all(&loop, all), "%d descriptors %s", MANY, what);
	check_all(&loop, all);
	check_timer(&loop);
	memory_is_out = false;
	check_one(&loop, &all[MANY - 1], "with memory in the end");
	for (int i = 0; i < MANY; i++) {
		close(all[i].fd.fd);
		close(all[i].writer);
	}
	loop_fini(&loop);
}

/* --- callbacks that change the loop -------------------------------------- */

/* Sets its own time anew until left is 0, and adds a descriptor. */
struct changer {
	struct loop *loop;
	struct loop_timer timer;
	struct loop_fd added;
	int64_t ahead_ms; /* of the turn */
	int left, calls, ready;
};

static void
on_added_ready(void *arg, short revents)
{
	struct changer *changer = arg;

	(void)revents;
	changer->ready++;
	loop_remove(changer->loop, &changer->added);
}

static void
on_change(void *arg)
{
	struct changer *changer = arg;
	struct loop *loop = changer->loop;

	if (changer->calls++ == 0)
		loop_add(loop, &changer->added);
	if (--changer->left > 0)
		loop_timer_set(loop, &changer->timer,
		    loop->now + changer->ahead_ms);
}

static void
check_change(int64_t ahead_ms, int want, const char *what)
{
	struct loop loop;
	int ends[2];
	struct changer changer = {.loop = &loop,
	    .ahead_ms = ahead_ms,
	    .left = 3,
	    .timer = {.on_due = on_change, .arg = &changer},
	    .added = {.events = POLLIN,
		.on_ready = on_added_ready,
		.arg = &changer}};

	is_int(loop_init(&loop), 0, "loop_init");
	is_int(pipe(ends), 0, "pipe");
	ok(write(ends[1], "", 1) == 1, "it is ready");
	changer.added.fd = ends[0];
	loop_timer_set(&loop, &changer.timer, clock_now());
	while (changer.calls == 0 && loop_turn(&loop) == 0)
		;
	is_int(changer.calls, want, what);
	is_int(changer.ready, 0, "what it adds is not polled in this turn");
	while (changer.ready == 0 && loop_turn(&loop) == 0)
		;
	is_int(changer.ready, 1, "but in the next one");
	loop_fini(&loop);
	close(ends[0]);
	close(ends[1]);
}

static void
on_due_after(void *arg)
{
	*(int *)arg = dispatched;
}

static void
on_due_in_order(void *arg)
{
	*(int *)arg = ++dispatched;
}

/* As when the process is stopped between poll(2) and its look at the clock. */
static void
check_late_arrival(void)
{
	struct watched watched = {.order = 0};
	struct loop loop;
	int ends[2], before = -1;
	struct loop_timer timer = {.on_due = on_due_after, .arg = &before};

	is_int(loop_init(&loop), 0, "loop_init");
	is_int(pipe(ends), 0, "pipe");
	watched.fd = (struct loop_fd){.fd = ends[0],
	    .events = POLLIN,
	    .on_ready = on_ready,
	    .arg = &watched};
	loop_add(&loop, &watched.fd);
	loop_timer_set(&loop, &timer, clock_now() - 1);
	late_writer = ends[1];
	dispatched = 0;
	loop_turn(&loop);
	is_int(before, 1, "what arrives after poll(2) comes before a timer");
	ok(loop.now <= clock_now() && loop.late_ms > 0, "the time of a turn");
	loop_fini(&loop);
	close(ends[0]);
	close(ends[1]);
}

/* A turn whose timer is due polls twice. */
static void
check_errors(void)
{
	static const struct {
		int polls, error, rc;
		const char *what;
	} rows[] = {
	    {0, EBADF, -1, "the first poll(2) fails"},
	    {1, EBADF, -1, "the second one"},
	    {0, EINTR, 0, "a signal ends the first one"},
	    {1, EINTR, 0, "or the second one"},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct loop loop;
		bool due = false;
		struct loop_timer timer = {.on_due = on_due, .arg = &due};
		struct loop_timer later = {.on_due = NULL};
		struct pollfd polled;

		loop_init(&loop);
		loop_timer_set(&loop, &timer, clock_now() - 1);
		polls_before_error = rows[i].polls;
		poll_error = rows[i].error;
		is_int(loop_turn(&loop), rows[i].rc, rows[i].what);
		polls_before_error = -1;
		ok(due == (rows[i].rc == 0), "  the timer");
		/* A timer without a callback only ends the turn. */
		loop_timer_set(&loop, &later, clock_now());
		ok(loop_turn(&loop) == 0 && later.at == CLOCK_NEVER, "  later");
		/* It is late, but later turns are not. */
		polls_before_error = 0;
		poll_error = EINTR;
		loop_turn(&loop);
		is_int(loop.late_ms, 0, "  a turn without a timer");
		/* With none, the descriptor must not stay readable. */
		polls_before_error = -1;
		polled = (struct pollfd){.fd = loop.timer_fd, .events = POLLIN};
		ok(poll(&polled, 1, 0) == 0, "  nothing is due");
		close(loop.timer_fd);
		loop_timer_set(&loop, &timer, clock_now());
		is_int(loop_turn(&loop), -1, "  a timer cannot be armed");
		loop_timer_remove(&loop, &timer);
	}
}

/* Only the last setting of a timer counts. Of two that are due, the earlier one
 * comes first. */
static void
check_timers(void)
{
	int order[3] = {-1, -1, -1};
	struct loop loop;
	struct loop_timer timers[3];
	int64_t now = clock_now();

	loop_init(&loop);
	for (int i = 0; i < 3; i++)
		timers[i] = (struct loop_timer){.on_due = on_due_in_order,
		    .arg = &order[i]};
	dispatched = 0;
	loop_timer_set(&loop, &timers[0], now - 2);
	loop_timer_set(&loop, &timers[1], now - 3);
	loop_timer_set(&loop, &timers[2], now - 4);
	loop_timer_set(&loop, &timers[2], now + 3600000);
	loop_turn(&loop);
	is_int(order[1], 1, "the earlier timer");
	is_int(order[0], 2, "  then the later one");
	is_int(order[2], -1, "  and not one that was set anew");
	loop_timer_set(&loop, &timers[2], CLOCK_NEVER);
	ok(loop.timers == NULL, "  nor disarmed");
	loop_timer_remove(&loop, &timers[2]);
	loop_fini(&loop);
}

int
main(void)
{
	check_errors();
	check_timers();
	check_late_arrival();
	check_change(0, 3, "due again in the same turn");
	check_change(60000, 1, "or later");
	check_loop("with memory");
	memory_is_out = true;
	check_loop("without memory");
	return tap_done();
}
