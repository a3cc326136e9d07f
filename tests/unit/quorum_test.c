/* Several servers that listen and never reply: all are asked, and all are
 * dropped. */
#include "lock/quorum.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

enum { SERVERS = 3 };

static char folder[] = "/tmp/quorum_test.XXXXXX";
static char paths[SERVERS][64];
static int listeners[SERVERS], peers[SERVERS];

static void
listen_at(size_t i, struct endpoint *endpoint)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(paths[i], sizeof(paths[i]), "%s/%zu", folder, i);
	memcpy(address.sun_path, paths[i], sizeof(paths[i]));
	listeners[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (bind(listeners[i], (struct sockaddr *)&address, sizeof(address)) ==
		-1 ||
	    listen(listeners[i], 1) == -1)
		abort();
	*endpoint = (struct endpoint){.transport = URL_UNIX,
	    .host = paths[i],
	    .label = paths[i]};
}

static void
on_stray(void *arg)
{
	(void)arg;
}

static void
on_answer(void *arg, const struct reply *reply)
{
	(void)arg;
	(void)reply;
}

/* A peer that has not written anything, but is there: -1 with EAGAIN. */
static bool
has_ended(int peer)
{
	char bytes[1024];
	ssize_t length;

	while ((length = recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		;
	return length == 0 || errno == ECONNRESET;
}

static void
turn(struct loop *loop)
{
	struct loop_timer soon = {0};

	loop_timer_set(loop, &soon, clock_now() + 1);
	loop_turn(loop);
	loop_timer_remove(loop, &soon);
}

static void
test_drop(struct loop *loop, struct quorum *quorum)
{
	const char *words[] = {"PING", NULL};
	const struct command command = {.words = words,
	    .deadline = clock_now() + 10000,
	    .on_reply = on_answer};

	is_int(quorum_send(quorum, &command, ASK_GRANT), 0, "all are asked");
	for (size_t i = 0; i < SERVERS; i++) {
		while ((peers[i] = accept(listeners[i], NULL, NULL)) == -1 &&
		       clock_now() < command.deadline)
			turn(loop);
		ok(peers[i] != -1 && !has_ended(peers[i]),
		    "server %zu is connected to", i + 1);
	}
	quorum_drop(quorum);
	for (size_t i = 0; i < SERVERS; i++)
		ok(has_ended(peers[i]), "server %zu is dropped", i + 1);
	ok(!quorum_is_up(quorum), "none is up");
}

int
main(void)
{
	struct endpoint servers[SERVERS];
	const struct lock_config config = {.key = "job",
	    .name = "job",
	    .servers = servers,
	    .server_count = SERVERS,
	    .ttl_ms = 30000,
	    .try_ms = 1000,
	    .kind = &kind_exclusive};
	struct loop loop;
	struct quorum *quorum;

	if (mkdtemp(folder) == NULL || loop_init(&loop) == -1)
		abort();
	for (size_t i = 0; i < SERVERS; i++)
		listen_at(i, &servers[i]);
	quorum = quorum_new(&loop, &config, on_stray, on_stray, NULL);
	test_drop(&loop, quorum);
	quorum_free(quorum);
	loop_fini(&loop);
	for (size_t i = 0; i < SERVERS; i++)
		unlink(paths[i]);
	rmdir(folder);
	return tap_done();
}
