#include "loop.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* More than signals, guard, resolver and one server will ever need. */
#define LOOP_FDS_MAX 64

int
loop_init(struct loop *loop)
{
	*loop = (struct loop){.armed_at = CLOCK_NEVER};
	loop->timer_fd =
	    timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
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

/* Setting a timerfd also takes back an expiry that nobody has read. */
static int
arm(struct loop *loop)
{
	const struct loop_timer *nearest = nearest_timer(loop);
	int64_t at = nearest == NULL ? CLOCK_NEVER : nearest->at;
	struct itimerspec spec = {{0, 0}, {0, 0}};

	if (at == loop->armed_at)
		return 0;
	loop->armed_at = at;
	if (at != CLOCK_NEVER) {
		/* A time of zero would disarm. */
		int64_t when = at < 1 ? 1 : at;
		spec.it_value.tv_sec = when / 1000;
		spec.it_value.tv_nsec = (long)(when % 1000) * 1000000;
	}
	return timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static int
wait_for_events(struct loop *loop)
{
	struct pollfd polled[LOOP_FDS_MAX];
	nfds_t count = 0;
	struct loop_fd *fd;

	polled[count++] =
	    (struct pollfd){.fd = loop->timer_fd, .events = POLLIN};
	for (fd = loop->fds; fd != NULL && count < LOOP_FDS_MAX; fd = fd->next)
		polled[count++] =
		    (struct pollfd){.fd = fd->fd, .events = fd->events};
	if (poll(polled, count, -1) == -1)
		return errno == EINTR ? 0 : -1;
	count = 1;
	for (fd = loop->fds; fd != NULL && count < LOOP_FDS_MAX; fd = fd->next)
		fd->revents = polled[count++].revents;
	return 0;
}

/* Starts over after each callback, as it may have removed any of them. */
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

static void
dispatch_timers(struct loop *loop, int64_t now)
{
	struct loop_timer *due;

	while ((due = nearest_timer(loop)) != NULL && due->at <= now) {
		loop_timer_remove(loop, due);
		due->at = CLOCK_NEVER;
		if (due->on_due != NULL)
			due->on_due(due->arg);
	}
}

int
loop_turn(struct loop *loop)
{
	int64_t now;

	if (arm(loop) == -1 || wait_for_events(loop) == -1)
		return -1;
	now = clock_now();
	loop->late_ms = 0;
	if (now >= loop->armed_at) {
		loop->late_ms = now - loop->armed_at;
		loop->armed_at = CLOCK_NEVER - 1; /* expired: arm anew */
	}
	dispatch_fds(loop);
	dispatch_timers(loop, now);
	return 0;
}
