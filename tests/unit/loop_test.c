#include "base/loop.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
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

	if (kernel_memory_is_out && count > 8) {
		errno = ENOMEM;
		return -1;
	}
	return ppoll(polled, count, timeout_ms < 0 ? NULL : &timeout, NULL);
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

int
main(void)
{
	check_loop("with memory");
	memory_is_out = true;
	check_loop("without memory");
	kernel_memory_is_out = true;
	check_loop("without memory in the kernel");
	return tap_done();
}
