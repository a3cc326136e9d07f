#include "network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "actor.h"
#include "node.h"

enum { CONNS = 1 << 17, PART = 4096 };

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): one network a world */
static struct {
	struct conn *conns[CONNS];
	int count;
} network;

/* A packet: bytes to one side of a connection. */
struct packet {
	char *bytes;
	size_t length;
};

/* --- time on the way --------------------------------------------------- */

static int64_t
delay_of(struct conn *conn)
{
	int64_t kind = die_between(&conn->die, 0, 99);

	if (world.is_still)
		return 0;
	if (world.calm || kind < 90)
		return die_between(&conn->die, 50, 900);
	if (kind < 99)
		return die_between(&conn->die, 900, 20 * WORLD_MS);
	return die_between(&conn->die, 20 * WORLD_MS, 400 * WORLD_MS);
}

/* A direction keeps its order: last is when its last packet arrives. */
static int64_t
next_arrival(struct conn *conn, int64_t *last)
{
	int64_t from = *last > world.now ? *last : world.now;

	return *last = from + delay_of(conn);
}

/* --- to the server -------------------------------------------------------- */

static void
on_server_packet(void *who, void *what)
{
	struct conn *conn = who;
	const struct packet *packet = what;

	if (conn->is_in_hole)
		return;
	if (packet == NULL)
		node_forget(conn);
	else if (conn->is_served) {
		redisReaderFeed(conn->reader, packet->bytes, packet->length);
		node_read(conn);
	}
}

static void
send_packet(struct conn *conn, const void *bytes, size_t size)
{
	struct packet *packet = NULL;

	if (bytes != NULL) {
		packet = world_alloc(sizeof(*packet));
		packet->bytes = world_copy(bytes, size);
		packet->length = size;
	}
	world_at(next_arrival(conn, &conn->to_server_at), on_server_packet,
	    conn, packet);
}

static void
on_open(void *who, void *what)
{
	struct conn *conn = who;

	(void)what;
	if (conn->state != CONN_DIALLED)
		return;
	if (conn->node == NULL || !node_accepts(conn->node)) {
		conn->state = CONN_REFUSED;
		return;
	}
	conn->state = CONN_OPEN;
	node_accept(conn);
}

/* --- in place of the kernel -------------------------------------------------
 */

static struct conn *
new_conn(struct actor *actor)
{
	struct conn *conn = world_alloc(sizeof(*conn));

	if (network.count == CONNS)
		abort();
	conn->number = network.count;
	conn->actor = actor;
	conn->die = die_of(actor_name(actor), actor_next_conn(actor));
	network.conns[network.count++] = conn;
	return conn;
}

int
network_socket(struct actor *actor)
{
	return NETWORK_FD + new_conn(actor)->number;
}

struct conn *
network_of(int fd)
{
	return fd < NETWORK_FD ? NULL : network_conn(fd - NETWORK_FD);
}

struct conn *
network_conn(int number)
{
	return number < network.count ? network.conns[number] : NULL;
}

int
network_count(void)
{
	return network.count;
}

void
network_connect(struct conn *conn, struct node *node)
{
	conn->state = CONN_DIALLED;
	conn->node = node;
	if (node == NULL || !node_is_hole(node))
		world_at(conn->open_at = world.now + 2 * delay_of(conn) +
					 (node ? node_delay(node) : 0),
		    on_open, conn, NULL);
}

ssize_t
network_send(struct conn *conn, const void *bytes, size_t size)
{
	if (conn->state == CONN_ENDED) {
		errno = EPIPE;
		return -1;
	}
	conn->owes = false;
	if (size > 1 && die_chance(&conn->die, 3)) {
		conn->owes = true;
		size = (size_t)die_between(&conn->die, 1, (int64_t)size - 1);
		conn->actor->parted_at = world.now;
	}
	conn->actor->cost.sent += (int64_t)size;
	send_packet(conn, bytes, size);
	if (conn->copy != NULL) {
		if (conn->copy->to_server_at < conn->to_server_at)
			conn->copy->to_server_at = conn->to_server_at;
		send_packet(conn->copy, bytes, size);
	}
	return (ssize_t)size;
}

ssize_t
network_receive(struct conn *conn, void *bytes, size_t size)
{
	size_t n = conn->in_length < size ? conn->in_length : size;

	if (n == 0) {
		errno = EAGAIN;
		return conn->state == CONN_ENDED ? 0 : -1;
	}
	if (n > 1 && die_chance(&conn->die, 10))
		n = (size_t)die_between(&conn->die, 1, (int64_t)n - 1);
	memcpy(bytes, conn->in, n);
	memmove(conn->in, conn->in + n, conn->in_length - n);
	conn->in_length -= n;
	conn->actor->cost.received += (int64_t)n;
	return (ssize_t)n;
}

void
network_close(struct conn *conn)
{
	bool was_open = conn->state == CONN_OPEN || conn->state == CONN_ENDED;

	conn->state = CONN_CLOSED;
	if (conn->owes)
		conn->actor->broke_off_at = world.now;
	if (was_open)
		send_packet(conn, NULL, 0);
}

short
network_events(const struct conn *conn)
{
	switch (conn->state) {
	case CONN_REFUSED:
		return POLLOUT | POLLERR | POLLHUP;
	case CONN_ENDED:
		return POLLIN | POLLOUT;
	case CONN_OPEN:
		return conn->in_length > 0 ? POLLIN | POLLOUT : POLLOUT;
	default:
		return 0;
	}
}

void
network_close_all_of(const struct actor *actor)
{
	for (int i = 0; i < network.count; i++)
		if (network.conns[i]->actor == actor &&
		    network.conns[i]->state != CONN_CLOSED)
			network_close(network.conns[i]);
}

/* --- from the server
 * ---------------------------------------------------------- */

static void
on_actor_packet(void *who, void *what)
{
	struct conn *conn = who;
	const struct packet *packet = what;

	if (conn->state != CONN_OPEN || conn->is_in_hole)
		return;
	if (packet == NULL) {
		conn->state = CONN_ENDED;
		return;
	}
	if (conn->in_length + packet->length > conn->in_room) {
		size_t room = 2 * (conn->in_length + packet->length);
		char *more = world_alloc(room);
		if (conn->in_length > 0)
			memcpy(more, conn->in, conn->in_length);
		conn->in = more;
		conn->in_room = room;
	}
	memcpy(conn->in + conn->in_length, packet->bytes, packet->length);
	conn->in_length += packet->length;
}

void
network_reply(struct conn *conn, const char *bytes, size_t length)
{
	struct packet *packet;

	if (conn->actor == NULL)
		return; /* a copy's reply */
	packet = world_alloc(sizeof(*packet));
	packet->bytes = world_copy(bytes, length);
	packet->length = length;
	world_at(next_arrival(conn, &conn->to_actor_at), on_actor_packet, conn,
	    packet);
}

void
network_hang_up(struct conn *conn)
{
	conn->is_served = false;
	world_at(next_arrival(conn, &conn->to_actor_at), on_actor_packet, conn,
	    NULL);
}

/* --- faults
 * -------------------------------------------------------------------- */

/* The next one that is struck, from *number on; NULL after the last. */
static struct conn *
next_struck(struct network_choice choice, int *number)
{
	while (*number < network.count) {
		struct conn *conn = network.conns[(*number)++];
		bool lives =
		    conn->state == CONN_OPEN || conn->state == CONN_DIALLED;

		if (lives && conn->actor != NULL &&
		    (choice.actor == NULL || conn->actor == choice.actor) &&
		    (choice.node == NULL || conn->node == choice.node))
			return conn;
	}
	return NULL;
}

void
network_stall(struct network_choice choice, bool to_server, int64_t until)
{
	struct conn *conn;

	for (int i = 0; (conn = next_struck(choice, &i)) != NULL;) {
		int64_t *last =
		    to_server ? &conn->to_server_at : &conn->to_actor_at;
		*last = *last > until ? *last : until;
	}
}

void
network_cut(struct network_choice choice)
{
	struct conn *conn;

	for (int i = 0; (conn = next_struck(choice, &i)) != NULL;) {
		if (conn->is_served)
			node_forget(conn);
		network_hang_up(conn);
	}
}

void
network_open_hole(struct network_choice choice)
{
	struct conn *conn;

	for (int i = 0; (conn = next_struck(choice, &i)) != NULL;)
		conn->is_in_hole = true;
}

void
network_double(struct network_choice choice)
{
	struct conn *conn;

	for (int i = 0, count = network.count;
	     (conn = next_struck(choice, &i)) != NULL && i <= count;) {
		if (conn->state != CONN_OPEN || conn->copy != NULL)
			continue;
		conn->copy = new_conn(conn->actor);
		conn->copy->actor = NULL;
		conn->copy->node = conn->node;
		conn->copy->state = CONN_OPEN;
		conn->copy->to_server_at =
		    world.now + die_between(&conn->die, 0, 2 * WORLD_S);
		node_accept(conn->copy);
	}
}

void
network_end(void)
{
	for (int i = 0; i < network.count; i++)
		if (network.conns[i]->reader != NULL)
			redisReaderFree(network.conns[i]->reader);
	network.count = 0;
}
