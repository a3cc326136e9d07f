/* Servers: the double of Redis (redis.lua) behind connections, and what strikes
 * it. Sentinels are servers, too. */
#ifndef NODE_H
#define NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "network.h"

enum { NODES = 16 };

struct node {
	const char *name; /* of the plan, such as s1 */
	int number;
	int lua;	   /* a reference: the double */
	int starts;	   /* but the first */
	int own_client;	   /* of node_execute; 0: none yet */
	int64_t rate_ppm;  /* of its clock */
	int64_t offset_us; /* likewise */
	bool is_frozen;	   /* reads nothing, but connections are open */
	bool is_down;	   /* refuses connections */
	bool is_hole;	   /* answers no connection */
	int64_t delay_us;  /* until a connection is made */
	int64_t tick_at;   /* what is planned already */
	bool is_sentinel;
	struct node *primary;	/* that it follows */
	int64_t link_cut_until; /* to its primary */
	bool is_linking;	/* something is on its way */
	struct die die;
};

/* Once a process: loads the double from that folder. */
void node_load(const char *folder);
/* An empty server, known by that name. */
struct node *node_add(const char *name);
/* A sentinel of the master "main". */
struct node *node_add_sentinel(const char *name, struct node *primary);
struct node *node_find(const char *name);
/* That of an address 10.0.0.N, or NULL. */
struct node *node_at(uint32_t ipv4);
int node_count(void);
struct node *node_number(int number);
void node_end(void);

/* What their clocks show when a history begins. */
int64_t node_epoch_us(void);
int64_t node_clock_us(const struct node *node);

/* For replica.c: calls a function of fleet.lua about two servers, for a number
 * if it returns one; and sends what that has the double reply to clients. */
int64_t node_relate(const char *function, const struct node *a,
    const struct node *b);
void node_drain(struct node *node);

/* For the network. */
bool node_accepts(const struct node *node);
bool node_is_hole(const struct node *node);
int64_t node_delay(const struct node *node);
void node_accept(struct conn *conn);
void node_read(struct conn *conn);
void node_forget(struct conn *conn);

/* For oracles and foreign clients: executes a command at once. The reply is
 * RESP, valid until the next call. words ends with NULL. */
const char *node_execute(struct node *node, const char *const *words);
/* The same, unless the server refuses it in its present state. */
const char *node_request(struct node *node, const char *const *words);

/* Faults. */
void node_freeze(struct node *node, bool frozen);
void node_stop(struct node *node);
/* With its data (kept), without (lost), or with that of its last dump (dumped).
 */
void node_start(struct node *node, const char *data);
void node_step_clock(struct node *node, int64_t us);
/* Calls a method of the double with that word, for what needs no code here. */
void node_do(struct node *node, const char *method, const char *word);

/* All servers so far become a cluster. Those that follow one of them belong to
 * it, too. */
void node_make_cluster(void);
/* The slot of a key moves from its owner to the next node, in stages: 0 begins,
 * 1 moves some of the keys, 2 all, 3 ends it. */
void node_move_slot(const char *key, int stage);

#endif
