/* Connections between runs and servers, as the kernel shows them to both.
 *
 * Each direction of a connection keeps its order; between connections there is
 * none. A packet takes most often less than a millisecond, rarely much longer.
 * What is lost on the way arrives late (TCP sends it again) or, in a black
 * hole, never. */
#ifndef NETWORK_H
#define NETWORK_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "world.h"

struct actor;
struct node;
struct redisReader;

/* Of sockets, which no real descriptor reaches. */
enum { NETWORK_FD = 40000 };

enum conn_state {
	CONN_NEW,
	CONN_DIALLED,
	CONN_REFUSED,
	CONN_OPEN,
	CONN_ENDED,  /* by the server: what has arrived can still be read */
	CONN_CLOSED, /* by the run, or with it */
};

struct conn {
	int number;
	enum conn_state state;
	struct actor *actor;
	struct node *node;
	struct die die;
	int64_t open_at;

	/* To the run: has arrived, is not read yet. */
	char *in;
	size_t in_length, in_room;
	int64_t to_actor_at; /* the last packet arrives */

	/* To the server. */
	struct redisReader *reader;
	int64_t to_server_at;
	int client;	   /* a reference of the server's double */
	bool owes;	   /* the rest of what was to be sent last */
	bool is_served;	   /* the server knows it, and has not hung up */
	bool is_in_hole;   /* nothing arrives any more, in either direction */
	struct conn *copy; /* gets all that this one sends, a moment later */
};

void network_end(void);

/* In place of the kernel's calls, for the run that makes them. */
int network_socket(struct actor *actor);
void network_connect(struct conn *conn, struct node *node);
ssize_t network_send(struct conn *conn, const void *bytes, size_t size);
ssize_t network_receive(struct conn *conn, void *bytes, size_t size);
void network_close(struct conn *conn);
short network_events(const struct conn *conn);

/* That of a descriptor. */
struct conn *network_of(int fd);
/* All of this history, by number. */
struct conn *network_conn(int number);
int network_count(void);

/* From a server: a reply on its way, and the end of the connection behind it.
 */
void network_reply(struct conn *conn, const char *bytes, size_t length);
void network_hang_up(struct conn *conn);
/* The process of the run is gone: the kernel closes what it had. */
void network_close_all_of(const struct actor *actor);

/* Which connections a fault strikes. NULL: all of them. */
struct network_choice {
	const struct actor *actor;
	const struct node *node;
};
/* Nothing is delivered to (or from) the server until then. */
void network_stall(struct network_choice choice, bool to_server, int64_t until);
void network_cut(struct network_choice choice);
/* Half open: what is sent vanishes, also the end. */
void network_open_hole(struct network_choice choice);
/* What a run sends from here on reaches the server a second time, later, as by
 * a proxy that tries again; nobody reads those replies. */
void network_double(struct network_choice choice);

#endif
