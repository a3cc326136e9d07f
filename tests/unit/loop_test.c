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
static bool memory_is_out, kernel_memory_is_out;
/* NOLINTNEXTLINE(*-avoid-non-const-global-variables) */
static int dispatched;
/* Something arrives there right after poll(2) has returned. */
/* NOLINTNEXTLINE(*-avoid-non-const-global-variables) */
static int late_writer = -1;

/* In place of the C library's: nothing but the loop calls these here. */
void *
reallocarray(void *memory, size_t count, size_t size)
{
	if (memory_is_out) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(memory, count * size);
}

/* The kernel allocates for more waits than fit on its stack. */
int
poll(struct pollfd *polled, nfds_t count, int timeout_ms)
{
	const struct timespec timeout = {timeout_ms / 1000,
	    timeout_ms % 1000 * 1000000L};

	int rc;

	if (kernel_memory_is_out && count > 8) {
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
	check_one(loop, &all[62], "descriptor 63");
	check_one(loop, &all[63], "descriptor 64");
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
	memory_is_out = kernel_memory_is_out = false;
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

/* --- idle callbacks ----------------------------------------------------- */

/* Calls itself again until left is 0, and takes so long each time. */
struct work {
	struct loop_idle idle;
	struct loop *loop;
	int left, calls;
	long takes_ms; /* less than a second */
	int64_t called_at;
};

static void
on_idle(void *arg)
{
	struct work *work = arg;
	const struct timespec time = {.tv_nsec = work->takes_ms * 1000000};

	work->calls++;
	work->called_at = clock_now();
	nanosleep(&time, NULL);
	if (--work->left > 0)
		loop_idle_add(work->loop, &work->idle);
}

static struct work
work_of(struct loop *loop, int left, long takes_ms)
{
	return (struct work){.idle = {.on_idle = on_idle},
	    .loop = loop,
	    .left = left,
	    .takes_ms = takes_ms};
}

static void
add_work(struct work *work)
{
	work->idle.arg = work;
	loop_idle_add(work->loop, &work->idle);
}

static void
check_idle_turns(struct loop *loop)
{
	struct work one = work_of(loop, 2, 0), other = work_of(loop, 2, 0);
	struct work removed = work_of(loop, 1, 0);

	add_work(&one);
	add_work(&removed);
	add_work(&other);
	add_work(&one);
	loop_idle_remove(loop, &removed.idle);
	loop_idle_remove(loop, &removed.idle);
	for (int turn = 1; turn <= 4; turn++) {
		int before = one.calls + other.calls;
		while (one.calls + other.calls == before)
			loop_turn(loop);
		is_int(one.calls + other.calls, turn, "one call per turn");
		is_int(one.calls, (turn + 1) / 2, "they take turns");
	}
	ok(loop->idles == NULL, "none is left");
	is_int(removed.calls, 0, "one that was removed is not called");
}

/* Each turn has an event, the next one a moment later. */
static void
check_idle_waits(struct loop *loop)
{
	struct work work = work_of(loop, 1, 0);
	struct watched busy = {.order = 0};
	int ends[2];

	if (pipe(ends) == -1 || write(ends[1], "12345678", 8) != 8)
		return;
	busy.fd = (struct loop_fd){.fd = ends[0],
	    .events = POLLIN,
	    .on_ready = on_ready,
	    .arg = &busy};
	loop_add(loop, &busy.fd);
	dispatched = 0;
	add_work(&work);
	for (int turn = 0; turn < 8; turn++)
		loop_turn(loop);
	is_int(dispatched, 8, "events come first");
	is_int(work.calls, 0, "no idle callback among them");
	loop->quiet_at = clock_now() + 50;
	while (work.calls == 0)
		loop_turn(loop);
	ok(work.called_at >= loop->quiet_at, "it is called when all is quiet");
	loop_remove(loop, &busy.fd);
	close(ends[0]);
	close(ends[1]);
}

/* A timer as near as the last call was long goes first. */
static void
check_idle_is_put_off(struct loop *loop)
{
	struct work work = work_of(loop, 2, 100);
	struct loop_timer timer = {.on_due = on_due};
	bool due = false;

	timer.arg = &due;
	add_work(&work);
	while (work.calls == 0)
		loop_turn(loop);
	work.takes_ms = 0;
	loop_timer_set(loop, &timer, clock_now() + 60);
	while (!due)
		loop_turn(loop);
	is_int(work.calls, 1, "a slow one waits for a timer that is near");
	due = false;
	for (int turn = 0; turn < 1000 && work.calls == 1; turn++) {
		loop_timer_set(loop, &timer, clock_now() + 10);
		loop_turn(loop);
	}
	is_int(work.calls, 2, "but not for ever");
	loop_timer_remove(loop, &timer);
}

static void
check_idle(void)
{
	struct loop loop;

	is_int(loop_init(&loop), 0, "loop_init");
	check_idle_turns(&loop);
	check_idle_waits(&loop);
	check_idle_is_put_off(&loop);
	loop_fini(&loop);
}

static void
on_due_after(void *arg)
{
	*(int *)arg = dispatched;
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

int
main(void)
{
	check_late_arrival();
	check_idle();
	check_change(0, 3, "due again in the same turn");
	check_change(60000, 1, "or later");
	check_loop("with memory");
	memory_is_out = true;
	check_loop("without memory");
	kernel_memory_is_out = true;
	check_loop("without memory in the kernel");
	return tap_done();
}
