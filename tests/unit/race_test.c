#include "redis/names/race.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

enum { HOUR_MS = 3600 * 1000, TURNS = 10000 };
enum { UNDER_WAY = -1 };

/* Addresses of this host, all with other ports: one that accepts, one whose
 * queue of connections is full, so that nothing is ever heard of it, and one
 * that refuses. */
static struct resolve_address working, deaf, refusing, working_too;
/* Never read: they keep the queue full. */
static int listeners[4], filler;

static struct loop loop;
static struct stream winner;
static struct race race;
static int ended;

static void
on_end(void *arg, int error)
{
	(void)arg;
	ended = error;
}

static struct resolve_address
address_of(int fd)
{
	struct resolve_address address = {.length = sizeof(address.addr)};

	getsockname(fd, (struct sockaddr *)&address.addr, &address.length);
	return address;
}

/* Of the kernel's choice. */
static struct resolve_address
listen_on(int *fd, int queue)
{
	const struct sockaddr_in any = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(*fd, (const struct sockaddr *)&any, sizeof(any)) == -1 ||
	    (queue >= 0 && listen(*fd, queue) == -1))
		perror("a socket on 127.0.0.1");
	return address_of(*fd);
}

static void
set_up(void)
{
	loop_init(&loop);
	working = listen_on(&listeners[0], 8);
	working_too = listen_on(&listeners[1], 8);
	deaf = listen_on(&listeners[2], 0);
	refusing = listen_on(&listeners[3], -1);
	filler = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(filler, (struct sockaddr *)&deaf.addr, deaf.length) == -1)
		perror("a queue to be filled");
	winner = (struct stream){.loop = &loop, .fd = {.fd = -1}};
	race =
	    (struct race){.loop = &loop, .winner = &winner, .on_end = on_end};
}

/* As race_go, but waits for the end: 0 or an errno. */
static int
go_on(int64_t ms)
{
	ended = UNDER_WAY;
	race_go(&race, clock_now() + ms);
	for (int i = 0; i < TURNS && ended == UNDER_WAY; i++)
		loop_turn(&loop);
	return ended;
}

static int
play(const struct resolve_address *first, const struct resolve_address *second)
{
	const struct resolve_answer both = {.count = 2,
	    .address = {*first, *second}};

	stream_close(&winner);
	race_enter(&race, &both);
	return go_on(HOUR_MS);
}

static bool
has_won(const struct resolve_address *address)
{
	struct sockaddr_in peer;
	socklen_t length = sizeof(peer);

	return winner.fd.fd != -1 &&
	       getpeername(winner.fd.fd, (struct sockaddr *)&peer, &length) ==
		   0 &&
	       memcmp(&peer, &address->addr, sizeof(peer)) == 0 &&
	       memcmp(&race.lanes[race.won].address.addr, &address->addr,
		   sizeof(peer)) == 0;
}

/* --- who wins --------------------------------------------------------- */

static void
test_winner(void)
{
	is_int(play(&working, &working_too), 0, "two work: one wins");
	ok(has_won(&working), "that is the first");
	race_confirm(&race);
	/* Otherwise it would wait for half an hour. */
	is_int(play(&deaf, &working), 0,
	    "with an hour left, a silent one is not waited for");
	ok(has_won(&working), "the next wins");
	is_int(play(&refusing, &working), 0, "one that refuses is passed over");
	ok(has_won(&working), "the next wins");
	is_int(play(&refusing, &refusing), ECONNREFUSED,
	    "when all refuse, that is the end");
	is_int(winner.fd.fd, -1, "without a winner");
	is_int((int64_t)race_left(&race), 0, "and none is left");
	ok(loop.fds == NULL && loop.timers == NULL, "nothing is left behind");
}

static void
test_cancel(void)
{
	const struct resolve_answer silent = {.count = 2,
	    .address = {deaf, deaf}};

	race_enter(&race, &silent);
	ended = UNDER_WAY;
	race_go(&race, clock_now() + HOUR_MS);
	is_int(ended, UNDER_WAY, "under way");
	ok(loop.fds != NULL && loop.timers != NULL, "the next has its turn");
	race_cancel(&race);
	ok(loop.fds == NULL && loop.timers == NULL, "nothing is left behind");
}

/* --- memory ----------------------------------------------------------- */

static void
test_memory(void)
{
	race.first.length = 0;
	is_int(play(&deaf, &working), 0, "a winner that answers");
	race_confirm(&race);
	play(&working_too, &working);
	ok(has_won(&working), "is the first in the next race");
	play(&working_too, &working);
	ok(has_won(&working_too), "one that did not answer is the last");
	race.first.length = 0;
	play(&working, &working_too);
	stream_close(&winner);
	is_int(go_on(HOUR_MS), 0, "it goes on without the winner");
	ok(has_won(&working_too), "the other one wins");
	stream_close(&winner);
	is_int((int64_t)race_left(&race), 1, "which alone is left");
	ok(go_on(HOUR_MS) != 0, "until that has failed, too");
}

/* --- the order -------------------------------------------------------- */

static struct resolve_address
numbered(sa_family_t family, unsigned char number)
{
	struct resolve_address address = {.length = sizeof(address.addr),
	    .addr.ss_family = family};

	((unsigned char *)&address.addr)[sizeof(sa_family_t)] = number;
	return address;
}

static const char *
order(const struct resolve_answer *answer)
{
	static char text[2 * RESOLVE_MAX + 1];
	char *end = text;

	race_enter(&race, answer);
	for (size_t i = 0; i < race.count; i++) {
		const struct sockaddr_storage *to = &race.lanes[i].address.addr;

		*end++ = to->ss_family == AF_INET6 ? '6' : '4';
		*end++ =
		    (char)('a' +
			   ((const unsigned char *)to)[sizeof(sa_family_t)]);
	}
	*end = '\0';
	return text;
}

static void
test_order(void)
{
	struct resolve_answer answer = {.count = 5};
	const sa_family_t families[] = {AF_INET6, AF_INET6, AF_INET6, AF_INET,
	    AF_INET};

	for (unsigned char i = 0; i < answer.count; i++)
		answer.address[i] = numbered(families[i], i);
	race.first.length = 0;
	is_text(order(&answer), "6a4d6b4e6c", "the families take turns");
	race.first = answer.address[1];
	is_text(order(&answer), "6b4e6c6a4d", "from the one that worked on");
	answer.count = 3;
	race.first.length = 0;
	is_text(order(&answer), "6a6b6c", "one family alone keeps its order");
}

/* --- time ------------------------------------------------------------- */

static void
test_budget(void)
{
	struct resolve_answer silent = {.count = RESOLVE_MAX};
	int64_t by = clock_now() + 320;

	for (size_t i = 0; i < silent.count; i++)
		silent.address[i] = deaf;
	race_enter(&race, &silent);
	race_go(&race, by);
	/* Or this machine was too slow for that. */
	ok(race.timer.at <= by - 320 + 30 || clock_now() > by - 320 + 10,
	    "sixteen share a third of a second");
	race_cancel(&race);
	race_enter(&race, &silent);
	by = clock_now();
	race_go(&race, by - HOUR_MS);
	ok(race.timer.at >= by + 10 && race.timer.at <= clock_now() + 10,
	    "when the time is over, each has ten milliseconds");
	race_cancel(&race);
	race_enter(&race, &silent);
	by = clock_now();
	race_go(&race, CLOCK_NEVER);
	ok(race.timer.at >= by + 250 && race.timer.at <= clock_now() + 250,
	    "however much there is, the next has its turn after 250 ms");
	race_cancel(&race);
}

int
main(void)
{
	set_up();
	test_winner();
	test_cancel();
	test_memory();
	test_order();
	test_budget();
	stream_close(&winner);
	close(filler);
	for (size_t i = 0; i < LENGTH(listeners); i++)
		close(listeners[i]);
	loop_fini(&loop);
	return tap_done();
}
