/* One slot of a Redis Cluster: commands reach the node that owns it. A redirect
 * shows that the node did not run the command: the reply asks for it again, and
 * then it reaches the node where the redirect points. One that could not be
 * written is tried at the other nodes. A failure is permanent when all nodes
 * have failed so, one after the other. */
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
