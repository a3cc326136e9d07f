/* One slot of a Redis Cluster: commands reach the node that owns it, and follow
 * it when it moves. The calls are those of conn.h, with the same contracts.
 *
 * Each command is kept until it is answered. A redirect shows that the node did
 * not run it: it is sent again where it was pointed to, within its deadline, in
 * the order of all that were under way. Other answers, and silence once it was
 * written, are told: whoever sent it knows whether it may run twice. */
#ifndef SLOT_H
#define SLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "redis/cluster.h"
#include "redis/conn.h"
#include "redis/url.h"

struct slot;

/* That of the key, or NULL: any node will do. The URL must outlive it. NULL
 * when memory is out. */
struct slot *slot_new(struct loop *loop, const struct endpoint *url,
    const char *key);
void slot_free(struct slot *slot);

void slot_allow(struct slot *slot, size_t bytes, size_t elements);
int slot_send(struct slot *slot, const struct conn_command *command);
bool slot_is_up(const struct slot *slot);
void slot_drop(struct slot *slot);
bool slot_is_hopeless(const struct slot *slot); /* nor are the others */
const char *slot_error(const struct slot *slot);

/* As node_primaries. */
int slot_primaries(const struct slot *slot, const struct value *slots,
    struct cluster_node **primaries);

/* During on_reply the connection that the answer came on, else that to the
 * owner: for questions only. */
const struct conn *slot_conn(const struct slot *slot);

#endif
