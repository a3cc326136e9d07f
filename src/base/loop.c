#include "base/loop.h"

#include <errno.h>
#include <unistd.h>

#include "base/descriptors.h"

/* How many descriptors are polled at a time: more than most runs have, or as
 * many as poll(2) takes without allocating memory, on its own stack. */
enum { LOOP_ROOM = 128, LOOP_PART = 8, LOOP_PART_MS = 10 };

int
loop_init(struct loop *loop)
{
	*loop = (struct loop){.armed_at = CLOCK_NEVER, .now = clock_now()};
	loop->timer_fd = clock_timer();
	return loop->timer_fd == -1 ? -1 : 0;
}

void
loop_fini(struct loop *loop)
{
	close(loop->timer_fd);
}

void
loop_add(struct loop *loop, struct loop_fd *fd)
{
	struct loop_fd **end = &loop->fds;

	while (*end != NULL)
		end = &(*end)->next;
	fd->revents = 0;
	fd->next = NULL;
	*end = fd;
}

void
loop_remove(struct loop *loop, struct loop_fd *fd)
{
	for (struct loop_fd **p = &loop->fds; *p != NULL; p = &(*p)->next) {
		if (*p == fd) {
			*p = fd->next;
			return;
		}
	}
}

void
loop_timer_remove(struct loop *loop, struct loop_timer *timer)
{
	for (struct loop_timer **p = &loop->timers; *p != NULL;
	     p = &(*p)->next) {
		if (*p == timer) {
			*p = timer->next;
			return;
		}
	}
}

void
loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t at)
{
	loop_timer_remove(loop, timer);
	timer->at = at;
	if (at == CLOCK_NEVER)
		return;
	timer->next = loop->timers;
	loop->timers = timer;
}

static struct loop_timer *
nearest_timer(const struct loop *loop)
{
	struct loop_timer *nearest = loop->timers;

	for (struct loop_timer *t = loop->timers; t != NULL; t = t->next)
		if (t->at < nearest->at)
			nearest = t;
	return nearest;
}

/* Polls the timer and all descriptors, so many at a time. If that takes several
 * calls, none of them waits for long. */
static int
poll_parts(struct loop *loop, nfds_t room, int timeout_ms)
{
	struct pollfd polled[LOOP_ROOM];
	struct loop_fd *first = loop->fds, *fd;
	nfds_t count;

	polled[0] = (struct pollfd){.fd = loop->timer_fd, .events = POLLIN};
	do {
		count = 1;
		for (fd = first; fd != NULL && count < room; fd = fd->next)
			polled[count++] =
			    (struct pollfd){.fd = fd->fd, .events = fd->events};
		if (fd != NULL && timeout_ms == -1)
			timeout_ms = LOOP_PART_MS;
		if (descriptors_poll(polled, count, timeout_ms) == -1)
			return -1;
		timeout_ms = 0;
		for (count = 1; first != fd; first = first->next)
			first->revents = polled[count++].revents;
	} while (fd != NULL);
	return 0;
}

/* A lack of memory must neither hide an event nor end the run. */
static int
poll_events(struct loop *loop, int timeout_ms)
{
	int rc = poll_parts(loop, LOOP_ROOM, timeout_ms);

	if (rc == -1 && errno == ENOMEM)
		rc = poll_parts(loop, LOOP_PART, timeout_ms);
	return rc == -1 && errno != EINTR ? -1 : 0;
}

/* Starts again after each callback, which may have removed any descriptor. */
static void
dispatch_fds(struct loop *loop)
{
	struct loop_fd *fd = loop->fds;

	while (fd != NULL) {
		short revents = fd->revents;
		if (revents == 0) {
			fd = fd->next;
			continue;
		}
		fd->revents = 0;
		fd->on_ready(fd->arg, revents);
		fd = loop->fds;
	}
}

/* Timers are due by a time that is taken before the last look at what has
 * arrived: if we were stopped, all that has come meanwhile is dispatched first.
 */
int
loop_turn(struct loop *loop)
{
	struct loop_timer *nearest = nearest_timer(loop);
	int64_t at = nearest == NULL ? CLOCK_NEVER : nearest->at;

	if (at != loop->armed_at) {
		loop->armed_at = at;
		if (clock_arm(loop->timer_fd, at) == -1)
			return -1;
	}
	if (poll_events(loop, -1) == -1)
		return -1;
	loop->now = clock_now();
	loop->late_ms = 0;
	if (loop->now >= loop->armed_at) {
		loop->late_ms = loop->now - loop->armed_at;
		loop->armed_at = CLOCK_NEVER - 1; /* expired: arm anew */
		if (poll_events(loop, 0) == -1)
			return -1;
	}
	dispatch_fds(loop);
	while ((nearest = nearest_timer(loop)) != NULL &&
	       nearest->at <= loop->now) {
		loop_timer_remove(loop, nearest);
		nearest->at = CLOCK_NEVER;
		if (nearest->on_due != NULL)
			nearest->on_due(nearest->arg);
	}
	return 0;
}
