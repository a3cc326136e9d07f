/* One logical primary: whoever talks to it need not know how it is found. The
 * calls are those of conn.h, with the same contracts. */
#ifndef NODE_H
#define NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "redis/cluster.h"
#include "redis/conn.h"
#include "redis/url.h"

struct node;

/* The URL must outlive the node. All commands are about that key, or NULL: any
 * node of a cluster will do. NULL when memory is out. */
struct node *node_new(struct loop *loop, const struct endpoint *url,
    const char *key);
void node_free(struct node *node);

void node_allow(struct node *node, size_t bytes, size_t elements);
int node_send(struct node *node, const struct conn_command *command);
bool node_is_up(const struct node *node);
void node_drop(struct node *node);
/* Something speaks against its being the primary: where that can be looked for,
 * the next command does. */
void node_doubt(struct node *node);
const char *node_error(const struct node *node);

/* Whether sentinels have named a primary to this node, and before that another
 * one to the node from. */
bool node_has_moved(const struct node *node, const struct node *from);

/* Whether it is a cluster: a script's keys must lie in one hash slot there. */
bool node_is_clustered(const struct node *node);

/* The primaries in an answer to CLUSTER SLOTS of this node, each once, to be
 * freed: their number, or -1 when it is none, or memory is out. */
int node_primaries(const struct node *node, const struct value *slots,
    struct cluster_node **primaries);

/* The server that is talked to, for messages. */
const char *node_label(const struct node *node);

#endif
