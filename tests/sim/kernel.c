/* In place of the kernel's calls that have to do with time, chance, connections
 * and signals: the linker sends the program's calls here (--wrap). All others
 * are the real ones. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "actor.h"
#include "base/clock.h"
#include "job/signals.h"
#include "network.h"
#include "node.h"
#include "oracle.h"
#include "redis/names/resolve.h"
#include "sink/writer.h"

/* What the wall clocks of hosts show when a history begins is 2026-06-15,
 * 10:26:40 UTC, as on servers, and what clock_now shows then is 1000 s. */
#define EPOCH_MS (INT64_C(1781519200000) - 1000 * INT64_C(1000))

/* The declarations of what the linker renames. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
#define WRAP(name) __wrap_##name
#define REAL(name) __real_##name

/* --- time ------------------------------------------------------------------
 */

int64_t WRAP(clock_now)(void);
int64_t WRAP(clock_now_us)(void);
int64_t WRAP(clock_epoch)(void);
int WRAP(clock_arm)(int timer_fd, int64_t at);
time_t WRAP(time)(time_t *at);
int WRAP(clock_gettime)(clockid_t clock, struct timespec *now);
int WRAP(clock_timer)(void);

time_t
WRAP(time)(time_t *at)
{
	(void)at;
	return WRAP(clock_epoch)() / 1000;
}

int
WRAP(clock_gettime)(clockid_t clock, struct timespec *now)
{
	int64_t us = WRAP(clock_now_us)();

	if (clock == CLOCK_REALTIME)
		us += EPOCH_MS * 1000;
	now->tv_sec = us / 1000000;
	now->tv_nsec = us % 1000000 * 1000;
	return 0;
}

int64_t
WRAP(clock_now_us)(void)
{
	return actor_clock_us(actor_current());
}

int64_t
WRAP(clock_now)(void)
{
	return WRAP(clock_now_us)() / 1000;
}

int64_t
WRAP(clock_epoch)(void)
{
	return EPOCH_MS + WRAP(clock_now_us)() / 1000;
}

int
WRAP(clock_arm)(int timer_fd, int64_t at)
{
	(void)timer_fd;
	actor_current()->timer_at = at == CLOCK_NEVER ? -1 : at;
	return 0;
}

int
WRAP(clock_timer)(void)
{
	return ACTOR_TIMER_FD + actor_current()->number;
}

/* --- who it is ---------------------------------------------------------------
 */

pid_t REAL(getpid)(void);
pid_t WRAP(getpid)(void);
uid_t WRAP(getuid)(void);
int WRAP(gethostname)(char *name, size_t size);
ssize_t WRAP(getrandom)(void *data, size_t size, unsigned flags);
int WRAP(isatty)(int fd);
bool WRAP(terminal_is_controlling)(void);

pid_t
WRAP(getpid)(void)
{
	const struct actor *actor = actor_current();

	/* What counts for `make coverage` asks before main. */
	return actor == NULL ? REAL(getpid)() : 1000 + actor->number;
}

uid_t
WRAP(getuid)(void)
{
	return 1000;
}

int
WRAP(gethostname)(char *name, size_t size)
{
	strncpy(name, actor_current()->name, size);
	return 0;
}

ssize_t
WRAP(getrandom)(void *data, size_t size, unsigned flags)
{
	struct die *die = &actor_current()->random_die;
	unsigned char *bytes = data;

	(void)flags;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)die_bits(die);
	return (ssize_t)size;
}

int
WRAP(isatty)(int fd)
{
	(void)fd;
	return 0;
}

bool
WRAP(terminal_is_controlling)(void)
{
	return false;
}

/* --- signals and the end
 * ------------------------------------------------------- */

int WRAP(signals_init)(struct signals *signals);
bool WRAP(signals_next)(struct signals *signals, struct signalfd_siginfo *info);
_Noreturn void WRAP(signals_die)(int signo);
_Noreturn void WRAP(exit)(int status);
int WRAP(prctl)(int option, ...);

int
WRAP(signals_init)(struct signals *signals)
{
	*signals =
	    (struct signals){.fd = ACTOR_SIGNAL_FD + actor_current()->number};
	return 0;
}

bool
WRAP(signals_next)(struct signals *signals, struct signalfd_siginfo *info)
{
	struct actor *self = actor_current();

	(void)signals;
	for (int signo = 1; signo < 64; signo++) {
		uint64_t bit = UINT64_C(1) << signo;
		if ((self->pending_signals & bit) == 0)
			continue;
		self->pending_signals &= ~bit;
		*info = (struct signalfd_siginfo){.ssi_signo = (uint32_t)signo};
		return true;
	}
	return false;
}

_Noreturn void
WRAP(signals_die)(int signo)
{
	actor_exit(-signo);
}

_Noreturn void
WRAP(exit)(int status)
{
	actor_exit(status);
}

/* The simulation stays as it is. */
int
WRAP(prctl)(int option, ...)
{
	(void)option;
	return 0;
}

/* --- descriptors
 * ----------------------------------------------------------------- */

int WRAP(descriptors_poll)(struct pollfd *polled, nfds_t count, int timeout_ms);
int WRAP(socket_open)(const struct resolve_address *to);
int WRAP(socket_connect)(int fd, const struct resolve_address *to);
int WRAP(socket_error)(int fd);
ssize_t WRAP(socket_read)(int fd, void *data, size_t size);
ssize_t WRAP(socket_write)(int fd, const void *data, size_t size);
bool WRAP(socket_address)(int fd, char *text, size_t size);
void WRAP(socket_close)(int fd);
int WRAP(close)(int fd);
int WRAP(dup2)(int from, int to);
ssize_t WRAP(write)(int fd, const void *data, size_t size);
ssize_t WRAP(descriptors_write)(int fd, const struct iovec *parts, int count);
int REAL(close)(int fd);
ssize_t REAL(descriptors_write)(int fd, const struct iovec *parts, int count);

static int
count_ready(struct pollfd *polled, nfds_t count)
{
	int ready = 0;

	for (nfds_t i = 0; i < count; i++) {
		polled[i].revents = actor_events(&polled[i]);
		ready += polled[i].revents != 0;
	}
	return ready;
}

int
WRAP(descriptors_poll)(struct pollfd *polled, nfds_t count, int timeout_ms)
{
	if (timeout_ms != 0)
		actor_wait(polled, count, timeout_ms);
	return count_ready(polled, count);
}

int
WRAP(socket_open)(const struct resolve_address *to)
{
	(void)to;
	return network_socket(actor_current());
}

int
WRAP(socket_connect)(int fd, const struct resolve_address *to)
{
	const struct sockaddr_in *in = (const void *)&to->addr;

	network_connect(network_of(fd), node_at(ntohl(in->sin_addr.s_addr)));
	return 0;
}

int
WRAP(socket_error)(int fd)
{
	return network_of(fd)->state == CONN_REFUSED ? ECONNREFUSED : 0;
}

ssize_t
WRAP(socket_read)(int fd, void *data, size_t size)
{
	return network_receive(network_of(fd), data, size);
}

ssize_t
WRAP(socket_write)(int fd, const void *data, size_t size)
{
	return network_send(network_of(fd), data, size);
}

bool
WRAP(socket_address)(int fd, char *text, size_t size)
{
	(void)fd, (void)text, (void)size;
	return false;
}

void
WRAP(socket_close)(int fd)
{
	network_close(network_of(fd));
}

int
WRAP(close)(int fd)
{
	if (fd > STDERR_FILENO && fd < ACTOR_TIMER_FD)
		return REAL(close)(fd);
	return 0;
}

int
WRAP(dup2)(int from, int to)
{
	(void)from;
	return to;
}

static ssize_t
append(char **text, size_t *length, const void *data, size_t size)
{
	char *more = world_alloc(*length + size + 1);

	if (*length > 0)
		memcpy(more, *text, *length);
	memcpy(more + *length, data, size);
	*text = more;
	*length += size;
	return (ssize_t)size;
}

ssize_t
WRAP(write)(int fd, const void *data, size_t size)
{
	struct actor *self = actor_current();

	return fd == STDERR_FILENO
		   ? append(&self->err, &self->err_length, data, size)
		   : append(&self->out, &self->out_length, data, size);
}

ssize_t
WRAP(descriptors_write)(int fd, const struct iovec *parts, int count)
{
	ssize_t size = 0;

	if (fd > STDERR_FILENO)
		return REAL(descriptors_write)(fd, parts, count);
	for (int i = 0; i < count; i++)
		size += WRAP(write)(fd, parts[i].iov_base, parts[i].iov_len);
	if (fd == STDERR_FILENO && world_is_traced())
		world_trace("%s: says %.*s", actor_current()->name,
		    (int)(size > 0 ? size - 1 : 0),
		    actor_current()->err + actor_current()->err_length - size);
	return size;
}

/* --- files
 * -------------------------------------------------------------------------- */

void WRAP(writer_start)(struct writer *writer);

/* No thread: what one would write is written at once. */
void
WRAP(writer_start)(struct writer *writer)
{
	writer_work(writer, CLOCK_NEVER);
}

/* --- events
 * -------------------------------------------------------------------------- */

void WRAP(events_emit)(const struct events *events, const struct event *event);
void REAL(events_emit)(const struct events *events, const struct event *event);

void
WRAP(events_emit)(const struct events *events, const struct event *event)
{
	REAL(events_emit)(events, event);
	oracle_on_event(actor_current(), events, event);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
