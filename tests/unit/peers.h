/* What a test of a way needs: servers that are sockets of this test, a command
 * whose reply is kept, and a clock that stands still until the test moves it:
 * see PEERED in tests/tests.mk. */
#ifndef PEERS_H
#define PEERS_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "redis/way.h"
#include "redis/way_kind.h"
#include "tap.h"

#define SETNAME "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n"
#define PING "*1\r\n$4\r\nPING\r\n"

static struct loop loop;
static int64_t now = 1000000;

int64_t __wrap_clock_now(void);
int64_t
__wrap_clock_now(void)
{
	return now;
}

/* No turn waits. */
int __real_clock_arm(int timer_fd, int64_t at);
int __wrap_clock_arm(int timer_fd, int64_t at);
int
__wrap_clock_arm(int timer_fd, int64_t at)
{
	return __real_clock_arm(timer_fd, at == CLOCK_NEVER ? at : 1);
}

/* --- the servers ---------------------------------------------------------- */

/* The first one may have no listener. */
enum { PLACES = 3 };

static char folder[] = "/tmp/way-XXXXXX", paths[PLACES][40];
static int listeners[PLACES];
static struct endpoint endpoints[PLACES];

static inline void
listen_at(size_t i)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memcpy(address.sun_path, paths[i], sizeof(paths[i]));
	unlink(paths[i]);
	listeners[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (bind(listeners[i], (struct sockaddr *)&address, sizeof(address)) ==
		-1 ||
	    listen(listeners[i], 4) == -1)
		abort();
}

static inline int
set_up(void)
{
	if (mkdtemp(folder) == NULL || loop_init(&loop) == -1)
		return -1;
	for (size_t i = 0; i < PLACES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%zu", folder, i);
		endpoints[i] = (struct endpoint){.transport = URL_UNIX,
		    .host = paths[i],
		    .label = paths[i]};
		listen_at(i);
	}
	return 0;
}

static inline int
tear_down(void)
{
	for (size_t i = 0; i < PLACES; i++)
		unlink(paths[i]);
	rmdir(folder);
	loop_fini(&loop);
	return tap_done();
}

static inline void
turn(void)
{
	struct loop_timer soon = {.on_due = NULL};

	for (int i = 0; i < 4; i++) {
		loop_timer_set(&loop, &soon, clock_now());
		errno = EIO; /* whoever reads it without a reason reports it */
		loop_turn(&loop);
	}
	loop_timer_remove(&loop, &soon);
}

/* What has arrived there, without the name of the connection. */
static inline void
is_received(int peer, const char *want, const char *what)
{
	char bytes[4096] = "";
	ssize_t length = recv(peer, bytes, sizeof(bytes) - 1, MSG_DONTWAIT);
	char *name = strstr(bytes, SETNAME), *rest = bytes;

	if (name != NULL) {
		rest =
		    strstr(strstr(name + strlen(SETNAME), "\r\n") + 2, "\r\n") +
		    2;
		memmove(name, rest, strlen(rest) + 1);
	}
	ok(length > 0 || *want == '\0', "%s: bytes", what);
	is_text(bytes, want, what);
}

static inline void
answer(int peer, const char *bytes)
{
	ok(send(peer, bytes, strlen(bytes), MSG_NOSIGNAL) > 0, "answered");
	turn();
}

/* --- a command ------------------------------------------------------------ */

static struct seen {
	struct way *way;
	int calls;
	struct reply reply;
	char error[100], failure[REPLY_FAILURE_MAX];
	bool sends_again, rejects;
} seen;

static inline void on_reply(void *arg, const struct reply *reply);

static inline struct command
ping(int tag)
{
	static const char *const words[] = {"PING", NULL};

	return (struct command){.words = words,
	    .deadline = clock_now() + 10000,
	    .on_reply = on_reply,
	    .arg = &seen,
	    .tag = tag};
}

static inline void
on_reply(void *arg, const struct reply *reply)
{
	struct seen *to = arg;
	struct command again = ping(9);

	to->calls++;
	to->reply = *reply;
	snprintf(to->error, sizeof(to->error), "%s",
	    reply->error != NULL ? reply->error : "");
	snprintf(to->failure, sizeof(to->failure), "%s",
	    reply->failure != NULL ? reply->failure : "");
	if (to->sends_again)
		way_send(to->way, &again);
	to->sends_again = false;
	if (to->rejects)
		way_reject(to->way);
}

/* --- a way that asks us where its server is ------------------------------ */

/* What the kind was asked, and what it is to say. */
static struct place {
	struct way *way;
	size_t at, missed, cancelled, heeded;
	enum again again;
	bool is_refused, is_permanent;
	const char *misfit;
} place;

static inline void
locate(void *arg, int64_t deadline)
{
	struct place *own = arg;

	(void)deadline;
	way_found(own->way, paths[own->at], 1, CLOCK_NEVER);
}

static inline enum again
heed(void *arg, const char *error)
{
	struct place *own = arg;

	own->heeded++;
	if (error == NULL)
		return AGAIN_NO;
	if (own->again == AGAIN_AT_OWNER)
		own->at = 1;
	return own->again;
}

static inline bool
miss(void *arg, bool *permanent)
{
	struct place *own = arg;

	(void)permanent;
	own->at = 1;
	return own->missed++ == 0;
}

static const struct way_kind kind = {.locate = locate,
    .heed = heed,
    .miss = miss};

static inline void
begin_of(const struct way_kind *of)
{
	place = (struct place){.at = 0};
	place.way = way_new_of(&loop, &endpoints[0], of, &place);
	seen = (struct seen){.way = place.way};
}

static inline void
begin(size_t at, enum again again)
{
	begin_of(&kind);
	place.at = at;
	place.again = again;
}

/* A first connection that the server answers so. */
static inline int
meet(const struct command *command, const char *bytes)
{
	int peer;

	way_send(place.way, command);
	turn();
	peer = accept(listeners[0], NULL, NULL);
	if (*bytes != '\0')
		answer(peer, bytes);
	return peer;
}

static inline void
send_both(const struct command commands[2])
{
	for (size_t i = 0; i < 2; i++)
		is_int(way_send(place.way, &commands[i]), 0, "sent");
}

/* Nothing of it is left in the loop. */
static inline void
end(struct way *way)
{
	way_free(way);
	ok(loop.fds == NULL && loop.timers == NULL, "  nothing is left of it");
}

#endif
