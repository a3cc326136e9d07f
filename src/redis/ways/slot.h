/* One slot of a Redis Cluster: commands reach the node that owns it, and follow
 * it when it moves.
 *
 * Each command is kept until it is answered. A redirect shows that the node did
 * not run it: it is sent again where the redirect points, within its deadline,
 * in the order of all that were under way. Other answers, and silence once it
 * was written, are delivered: the sender knows whether it may run twice. A
 * failure is permanent when all nodes have failed so, one after the other. */
#ifndef SLOT_H
#define SLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "redis/conn.h"
#include "redis/url.h"

struct slot;

/* That of the key, or NULL: any node will do. Becomes the locator of the
 * connection, which is to the owner. The URL and the connection must outlive
 * it. NULL when memory is out. */
struct slot *slot_new(struct loop *loop, const struct endpoint *url,
    const char *key, struct conn *conn);
void slot_free(struct slot *slot);

/* As those of conn.h. */
int slot_send(struct slot *slot, const struct command *command);
bool slot_is_up(const struct slot *slot);
void slot_drop(struct slot *slot);

#endif
