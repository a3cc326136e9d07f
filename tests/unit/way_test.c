/* A way between a kind of its own and servers that are sockets of this test. */
#include "redis/way.h"

#include "peers.h"
#include "redis/way_kind.h"
#include "tap.h"

#define ASKING "*1\r\n$6\r\nASKING\r\n"

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

static void
locate_nothing(void *arg, int64_t deadline)
{
	struct place *own = arg;

	is_int(deadline, now + 10000, "  the deadline is known");
	if (own->at == 0)
		way_found(own->way, paths[0], 1, CLOCK_NEVER);
	else
		way_not_found(own->way, "NOPE", own->is_refused,
		    own->is_permanent);
}

static const struct way_kind lost_kind = {.locate = locate_nothing};
static const struct way_kind slow_kind = {.locate = locate_later,
    .cancel = cancel,
    .miss = miss};

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
	is_text(way_error(place.way), strerror(ENOMEM), "  it says so");
	turn();
	peer = accept(listeners[0], NULL, NULL);
	is_received(peer,
	    PING PING PING PING PING PING PING PING PING PING PING PING PING
		PING PING,
	    "  of which nothing is written");
	close(peer);
	end(place.way);
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
	end(place.way);
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
	end(place.way);
	begin(0, AGAIN_NO);
	place.missed = 1;
	is_int(way_send(place.way, &command), 0, "nor is there another one");
	turn();
	is_int(seen.calls, 1, "  the command fails");
	is_int(seen.reply.kind, REPLY_NONE, "  without an answer");
	is_int(seen.reply.sent_at, CLOCK_NEVER, "  nothing was written");
	end(place.way);
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
	end(place.way);
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
	end(place.way);
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
	end(place.way);
}

/* Nobody is asked any more for a server that is not needed. */
static void
test_cancel(void)
{
	struct command command = ping(1);

	begin_of(&slow_kind);
	way_drop(place.way);
	is_int((int64_t)place.cancelled, 0, "nothing is looked for");
	way_send(place.way, &command);
	turn();
	is_int((int64_t)place.cancelled, 0, "a server is");
	way_drop(place.way);
	is_int((int64_t)place.cancelled, 1, "  until the way is dropped");
	is_int(seen.calls, 1, "  the command is answered");
	is_int(seen.reply.sent_at, CLOCK_NEVER, "  as never sent");
	end(place.way);
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
	end(place.way);
}

/* A slot that migrates; slot_test.c has what comes of it. */
static void
test_asked(void)
{
	struct endpoint url = endpoints[0];
	struct command first = ping(1);
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
	first.again = AGAIN_ASKING;
	way_send(place.way, &first);
	turn();
	other = accept(listeners[1], NULL, NULL);
	is_received(other, ASKING PING, "  it is asked for there");
	is_int(seen.calls, 1, "  which calls no handler");
	answer(other, "+OK\r\n+OK\r\n+OK\r\n+PONG\r\n");
	is_int(seen.calls, 2, "  and answered");
	close(owner);
	close(other);
	end(place.way);
}

/* A way that is left awaits what it is owed. */
static void
test_leaving(void)
{
	struct command commands[] = {ping(1), ping(2)};
	int peer;

	begin(0, AGAIN_NO);
	way_leave(place.way);
	peer = meet(&commands[0], "+OK\r\n+PONG\r\n");
	ok(way_is_up(place.way), "left before it was opened: no matter");
	way_doubt(place.way);
	ok(way_is_up(place.way), "  nor is a doubt without sentinels");
	endpoints[0].master = paths[0];
	way_doubt(place.way);
	ok(!way_is_up(place.way), "  with them it is dropped");
	endpoints[0].master = NULL;
	close(peer);
	peer = meet(&commands[0], "+OK\r\n+PONG\r\n");
	send_both(commands);
	way_leave(place.way);
	ok(way_is_up(place.way), "it owes two replies");
	answer(peer, "+PONG\r\n");
	ok(way_is_up(place.way), "  one");
	answer(peer, "+PONG\r\n");
	ok(!way_is_up(place.way), "  it is left");
	is_int(seen.calls, 4, "  with all replies");
	close(peer);
	peer = meet(&commands[0], "+OK\r\n+PONG\r\n");
	commands[1].on_reply = NULL;
	way_send(place.way, &commands[1]);
	way_leave(place.way);
	ok(!way_is_up(place.way), "nobody awaits more: it is left at once");
	ok(way_is_idle(place.way), "  with nothing unanswered");
	is_received(peer, PING PING, "  what was sent travels");
	close(peer);
	peer = meet(&commands[0], "+OK\r\n+PONG\r\n");
	is_int(seen.calls, 6, "  and the next one has its own reply");
	close(peer);
	end(place.way);
}

static void
test_times(void)
{
	struct command commands[] = {ping(1), ping(2)};
	int peer;

	begin(0, AGAIN_NO);
	is_int(way_rests_until(place.way), 0, "no pause at first");
	is_text(way_error(place.way), "", "  and no failure");
	commands[1].deadline += 5;
	send_both(commands);
	turn();
	peer = accept(listeners[0], NULL, NULL);
	now += 9999;
	turn();
	is_int(seen.calls, 0, "the deadline is not over");
	now++;
	turn();
	is_int(seen.calls, 2, "  it is: both have failed");
	is_int(seen.reply.tag, 2, "  in their order");
	is_int(seen.reply.sent_at, now - 10000, "  as they were written");
	ok(strncmp(seen.failure, "no answer from", 14) == 0, "  %s",
	    seen.failure);
	close(peer);
	commands[0].deadline = now + 10000;
	place.at = 0;
	peer = meet(&commands[0], "+OK\r\n+PONG\r\n");
	now += 999;
	close(peer);
	turn();
	ok(way_rests_until(place.way) >= now + 80 &&
		way_rests_until(place.way) <= now + 100,
	    "it hangs up soon: a pause");
	end(place.way);
	begin_of(&slow_kind);
	commands[0].deadline = now + 10;
	way_send(place.way, &commands[0]);
	now += 10;
	turn();
	is_int(seen.calls, 1, "no place is found in time, and no other is");
	ok(strstr(seen.failure, "no sentinel answers in time") != NULL,
	    "  it says so");
	end(place.way);
}

/* Without a place, and whether the server had answered before. */
static void
test_not_found(void)
{
	static const struct {
		bool is_refused, is_permanent, is_known;
		enum reply_kind kind;
		bool stays;
	} rows[] = {{false, false, false, REPLY_NONE, false},
	    {false, true, false, REPLY_NONE, true},
	    {true, false, false, REPLY_NO_ACCESS, true},
	    {true, true, false, REPLY_NO_ACCESS, true},
	    {true, false, true, REPLY_NONE, false},
	    {true, true, true, REPLY_NO_ACCESS, false},
	    {false, true, true, REPLY_NONE, false}};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct command command = ping(1);

		begin_of(&lost_kind);
		place.is_refused = rows[i].is_refused;
		place.is_permanent = rows[i].is_permanent;
		if (rows[i].is_known)
			close(meet(&command, "+OK\r\n+PONG\r\n"));
		turn();
		place.at = 1;
		seen.calls = 0;
		way_send(place.way, &command);
		is_int(seen.calls, 0, "not found: not inside of way_send");
		turn();
		is_int(seen.calls, 1, "  then it fails");
		is_int(seen.reply.kind, rows[i].kind, "  so");
		is_text(seen.error, rows[i].kind == REPLY_NONE ? "" : "NOPE",
		    "  in these words");
		is_int(seen.reply.permanent, rows[i].stays, "  for ever");
		ok(strncmp(seen.failure, "cannot find the primary of", 26) == 0,
		    "  %s", seen.failure);
		end(place.way);
	}
}

/* A connection that the server ends after so long. */
static int64_t
pause_after(int64_t lasted_ms)
{
	struct command command = ping(1);
	int peer = meet(&command, "+OK\r\n+PONG\r\n");
	int64_t until;

	now += lasted_ms;
	close(peer);
	turn();
	until = way_rests_until(place.way);
	return until == 0 ? 0 : until - now;
}

static void
test_rests(void)
{
	static const int64_t most_ms[] = {100, 200, 400, 800, 1000, 1000};
	struct command command = ping(1);

	begin_of(&way_address);
	is_int(way_rests_until(place.way), 0, "no pause before the first");
	for (size_t i = 0; i < LENGTH(most_ms); i++) {
		int64_t ms = pause_after(999);

		ok(ms >= most_ms[i] * 4 / 5 && ms <= most_ms[i],
		    "%d connections that have ended soon", (int)i + 1);
	}
	is_int(pause_after(1000), 0, "none after one that has lasted");
	ok(pause_after(0) <= 100, "then it begins anew");
	close(meet(&command, "+OK\r\n+PONG\r\n"));
	now += 999;
	ok(way_rests_until(place.way) > 0,
	    "the next connection does not show yet that they last");
	now++;
	is_int(way_rests_until(place.way), 0, "now it does");
	way_drop(place.way);
	ok(way_rests_until(place.way) > 0, "not if it is not up");
	end(place.way);
}

int
main(void)
{
	if (set_up() == -1)
		return 1;
	test_writes();
	test_next_place();
	test_owner();
	test_wait_is_redirected();
	test_cancel();
	test_reject();
	test_asked();
	test_leaving();
	test_times();
	test_not_found();
	test_rests();
	return tear_down();
}
