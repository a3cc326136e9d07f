/* A client of another library: SET NX PX until it has the lock, then
 * compare-and-delete. It talks to the server without delay. */
#ifndef FOREIGN_H
#define FOREIGN_H

#include <stdint.h>

struct node;

void foreign_start(struct node *node, const char *key, int64_t ttl_us,
    int64_t holds_us);

#endif
