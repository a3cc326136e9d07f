/* A way between a kind of its own and servers that are sockets of this test. */
#include "redis/way.h"
#include "redis/way_kind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tap.h"

#define SETNAME "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n"
#define ASKING "*1\r\n$6\r\nASKING\r\n"
#define PING "*1\r\n$4\r\nPING\r\n"

/* The first one may have no listener. */
enum { PLACES = 3 };

static char folder[] = "/tmp/way-XXXXXX", paths[PLACES][40];
static int listeners[PLACES];
static struct endpoint endpoints[PLACES];
static struct loop loop;

/* What the kind was asked, and what it is to say. */
static struct place {
	struct way *way;
	size_t at, missed, cancelled;
	enum again again;
} place;

static void
locate(void *arg, int64_t deadline)
{
	struct place *own = arg;

	(void)deadline;
	way_found(own->way, paths[own->at], 1, CLOCK_NEVER);
}

static enum again
heed(void *arg, const char *error)
{
	struct place *own = arg;

	if (error == NULL)
		return AGAIN_NO;
	if (own->again == AGAIN_AT_OWNER)
		own->at = 1;
	return own->again;
}

static bool
miss(void *arg, bool *permanent)
{
	struct place *own = arg;

	(void)permanent;
	own->at = 1;
	return own->missed++ == 0;
}

static void
locate_later(void *arg, int64_t deadline)
{
	(void)arg;
	(void)deadline;
}

static void
cancel(void *arg)
{
	struct place *own = arg;

	own->cancelled++;
}

static const struct way_kind slow_kind = {.locate = locate_later,
    .cancel = cancel};

static const struct way_kind kind = {.locate = locate,
    .heed = heed,
    .miss = miss};

/* --- the other side ------------------------------------------------------ */

static void
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

static void
turn(void)
{
	struct loop_timer soon = {.on_due = NULL};

	for (int i = 0; i < 4; i++) {
		loop_timer_set(&loop, &soon, clock_now());
		loop_turn(&loop);
	}
	loop_timer_remove(&loop, &soon);
}

/* What has arrived there, without the name of the connection. */
static void
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

static void
answer(int peer, const char *bytes)
{
	ok(send(peer, bytes, strlen(bytes), MSG_NOSIGNAL) > 0, "answered");
	turn();
}

/* --- this side ----------------------------------------------------------- */

static struct seen {
	int calls;
	struct reply reply;
	char error[40];
	bool sends_again, rejects;
} seen;

static void on_reply(void *arg, const struct reply *reply);

static struct command
ping(int tag)
{
	static const char *const words[] = {"PING", NULL};

	return (struct command){.words = words,
	    .deadline = clock_now() + 10000,
	    .on_reply = on_reply,
	    .arg = &seen,
	    .tag = tag};
}

static void
on_reply(void *arg, const struct reply *reply)
{
	struct seen *to = arg;
	struct command again = ping(9);

	to->calls++;
	to->reply = *reply;
	snprintf(to->error, sizeof(to->error), "%s",
	    reply->error != NULL ? reply->error : "");
	if (to->sends_again)
		way_send(place.way, &again);
	to->sends_again = false;
	if (to->rejects)
		way_reject(place.way);
}

static void
begin(size_t at, enum again again)
{
	seen = (struct seen){.calls = 0};
	place = (struct place){.at = at, .again = again};
	place.way = way_new_of(&loop, &endpoints[0], &kind, &place);
}

static void
send_both(const struct command commands[2])
{
	for (size_t i = 0; i < 2; i++)
		is_int(way_send(place.way, &commands[i]), 0, "sent");
}

static void
test_writes(void)
{
	struct command commands[] = {ping(0), ping(1)};
	int peer;

	begin(0, AGAIN_NO);
	for (int i = 1; i < 16; i++)
		is_int(way_send(place.way, &commands[0]), 0, "15 commands");
	is_int(way_send(place.way, &commands[1]), -1,
	    "  and no other, as one is of the handshake");
	way_free(place.way);
	close(accept(listeners[0], NULL, NULL));
	begin(0, AGAIN_NO);
	send_both(commands);
	turn();
	peer = accept(listeners[0], NULL, NULL);
	is_received(peer, PING PING, "  in one write, behind the handshake");
	ok(way_is_up(place.way), "  it is up");
	answer(peer, "+OK\r\n+PONG\r\n");
	is_int(seen.calls, 1, "  one is answered");
	is_int(seen.reply.tag, 0, "  the first");
	answer(peer, "+PONG\r\n");
	is_int(seen.reply.tag, 1, "  then the other");
	commands[0].more = true;
	way_send(place.way, &commands[0]);
	is_received(peer, "", "one that another follows: it waits");
	way_send(place.way, &commands[1]);
	is_received(peer, PING PING, "  and both are written");
	answer(peer, "+PONG\r\n+PONG\r\n");
	ok(way_is_idle(place.way), "  nothing is left");
	close(peer);
	turn();
	ok(!way_is_up(place.way), "  until it ends");
	way_free(place.way);
}

static void
test_next_place(void)
{
	struct command command = ping(5);
	int peer;

	close(listeners[0]);
	begin(0, AGAIN_NO);
	is_int(way_send(place.way, &command), 0, "nobody listens there");
	turn();
	turn();
	is_int(seen.calls, 0, "  the command waits for the next place");
	is_int((int64_t)place.missed, 1, "  which is asked for");
	peer = accept(listeners[1], NULL, NULL);
	is_received(peer, PING, "  and gets it, with the handshake");
	answer(peer, "+OK\r\n+PONG\r\n");
	is_int(seen.reply.tag, 5, "  its reply");
	close(peer);
	way_free(place.way);
	begin(0, AGAIN_NO);
	place.missed = 1;
	is_int(way_send(place.way, &command), 0, "nor is there another one");
	turn();
	is_int(seen.calls, 1, "  the command fails");
	is_int(seen.reply.kind, REPLY_NONE, "  without an answer");
	is_int(seen.reply.sent_at, CLOCK_NEVER, "  nothing was written");
	way_free(place.way);
	listen_at(0);
}

static void
test_owner(void)
{
	struct command commands[] = {ping(1), ping(2)};
	int peer, next;

	begin(0, AGAIN_AT_OWNER);
	commands[1].on_reply = NULL;
	send_both(commands);
	turn();
	peer = accept(listeners[0], NULL, NULL);
	seen.sends_again = true;
	answer(peer, "+OK\r\n-MOVED\r\n");
	is_int(seen.reply.again, AGAIN_AT_OWNER,
	    "moved, and nobody awaits more");
	next = accept(listeners[1], NULL, NULL);
	is_received(next, PING, "  what the handler sends reaches the owner");
	ok(recv(peer, (char[99]){0}, 99, MSG_DONTWAIT) > 0 &&
		recv(peer, (char[1]){0}, 1, MSG_DONTWAIT) == 0,
	    "  the old connection is closed");
	close(next);
	close(peer);
	way_free(place.way);
	begin(0, AGAIN_AT_OWNER);
	commands[1].on_reply = on_reply;
	send_both(commands);
	turn();
	peer = accept(listeners[0], NULL, NULL);
	seen.sends_again = true;
	answer(peer, "+OK\r\n-MOVED\r\n");
	is_int(seen.calls, 2, "moved, and a reply is awaited: both have one");
	is_int(seen.reply.tag, 2, "  in their order");
	is_int(seen.reply.again, AGAIN_AT_OWNER, "  by the same");
	is_text(seen.error, "MOVED", "  in its words");
	next = accept(listeners[1], NULL, NULL);
	is_received(next, PING, "  and the first was asked again");
	close(next);
	close(peer);
	way_free(place.way);
}

/* The server has run what stands before WAIT. */
static void
test_wait_is_redirected(void)
{
	struct command commands[] = {ping(1), ping(2)};
	int peer;

	begin(0, AGAIN_AT_OWNER);
	commands[0].replicas = 2;
	commands[0].replicas_ms = 500;
	send_both(commands);
	turn();
	peer = accept(listeners[0], NULL, NULL);
	answer(peer, "+OK\r\n+PONG\r\n-MOVED\r\n");
	is_int(seen.calls, 1, "WAIT is redirected: the command is answered");
	is_int(seen.reply.tag, 1, "  the first");
	is_int(seen.reply.again, AGAIN_NO, "  and is not asked again");
	way_drop(place.way);
	is_int(seen.calls, 2, "  dropped: so is the next one");
	close(peer);
	way_free(place.way);
}

/* Nobody is asked any more for a server that is not needed. */
static void
test_cancel(void)
{
	struct command command = ping(1);

	seen = (struct seen){.calls = 0};
	place = (struct place){.at = 0};
	place.way = way_new_of(&loop, &endpoints[0], &slow_kind, &place);
	way_drop(place.way);
	is_int((int64_t)place.cancelled, 0, "nothing is looked for");
	way_send(place.way, &command);
	turn();
	is_int((int64_t)place.cancelled, 0, "a server is");
	way_drop(place.way);
	is_int((int64_t)place.cancelled, 1, "  until the way is dropped");
	is_int(seen.calls, 1, "  the command is answered");
	is_int(seen.reply.sent_at, CLOCK_NEVER, "  as never sent");
	way_free(place.way);
	is_int((int64_t)place.cancelled, 1, "  once");
}

/* A way that is closed already has nothing to connect for. */
static void
test_reject(void)
{
	struct command command = ping(1);
	int peer;

	begin(0, AGAIN_AT_OWNER);
	way_send(place.way, &command);
	turn();
	peer = accept(listeners[0], NULL, NULL);
	seen.rejects = true;
	answer(peer, "+OK\r\n-MOVED\r\n");
	ok(!way_is_up(place.way), "rejected by its handler");
	turn();
	is_int(accept(listeners[1], NULL, NULL), -1, "  nobody connects");
	close(peer);
	way_free(place.way);
}

/* A slot that migrates to a third node while the second still owes a reply. */
static void
test_asked_elsewhere(void)
{
	struct endpoint url = endpoints[0];
	struct command first = ping(1), second = ping(2);
	char error[64];
	int owner, other;

	url.cluster = true;
	url.hosts = &endpoints[0];
	url.host_count = 1;
	seen = (struct seen){.calls = 0};
	place = (struct place){.way = way_new(&loop, &url, "job")};
	way_send(place.way, &first);
	turn();
	owner = accept(listeners[0], NULL, NULL);
	snprintf(error, sizeof(error), "+OK\r\n+OK\r\n-ASK 1 %s:1\r\n",
	    paths[1]);
	answer(owner, error);
	is_int(seen.reply.again, AGAIN_ASKING, "a key is on its way");
	first.again = second.again = AGAIN_ASKING;
	way_send(place.way, &first);
	turn();
	other = accept(listeners[1], NULL, NULL);
	is_received(other, ASKING PING, "  it is asked for there");
	second.again = AGAIN_NO;
	way_send(place.way, &second);
	snprintf(error, sizeof(error), "-ASK 1 %s:1\r\n", paths[2]);
	answer(owner, error);
	is_int(seen.calls, 2, "a second one is on its way elsewhere");
	second.again = AGAIN_ASKING;
	is_int(way_send(place.way, &second), 0, "  it is asked for");
	is_int(seen.calls, 2, "  which calls no handler");
	answer(owner, error);
	is_int(seen.reply.tag, 2, "  the owner names the node once more");
	answer(other, "+OK\r\n+OK\r\n+OK\r\n+PONG\r\n");
	is_int(seen.reply.tag, 1, "the first one is answered");
	way_send(place.way, &second);
	turn();
	close(other);
	other = accept(listeners[2], NULL, NULL);
	is_received(other, ASKING PING, "  and its node is left");
	close(owner);
	close(other);
	way_free(place.way);
}

/* Other bytes than replies, or more of them, or none. */
static void
test_strange(void)
{
	static const struct {
		const char *bytes, *error;
	} cases[] = {
	    {"+OK\r\n+PONG\r\n+PONG\r\n", "it sends what was not asked for"},
	    {"HTTP/1.1 400 Bad Request\r\n", "it speaks HTTP"},
	    {"+OK\r\nPONG\r\n", "Protocol error"},
	    {"-ERR max number of clients reached\r\n",
		"max number of clients reached (raise its maxclients)"},
	    {"+OK\r\n", "closed by the server"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct command command = ping(1);
		int peer;

		begin(0, AGAIN_NO);
		way_send(place.way, &command);
		turn();
		peer = accept(listeners[0], NULL, NULL);
		answer(peer, cases[i].bytes);
		if (i == sizeof(cases) / sizeof(*cases) - 1)
			shutdown(peer, SHUT_WR);
		turn();
		ok(!way_is_up(place.way), "strange: it is left");
		ok(strstr(way_error(place.way), cases[i].error) != NULL,
		    "  as %s: %s", cases[i].error, way_error(place.way));
		is_int(seen.calls, 1, "  the command is answered once");
		close(peer);
		way_free(place.way);
	}
}

int
main(void)
{
	if (mkdtemp(folder) == NULL || loop_init(&loop) == -1)
		return 1;
	for (size_t i = 0; i < PLACES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%zu", folder, i);
		endpoints[i] = (struct endpoint){.transport = URL_UNIX,
		    .host = paths[i],
		    .label = paths[i]};
		listen_at(i);
	}
	test_writes();
	test_next_place();
	test_owner();
	test_wait_is_redirected();
	test_cancel();
	test_reject();
	test_asked_elsewhere();
	test_strange();
	for (size_t i = 0; i < PLACES; i++)
		unlink(paths[i]);
	rmdir(folder);
	loop_fini(&loop);
	return tap_done();
}
