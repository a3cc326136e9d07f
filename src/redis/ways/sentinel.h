/* Finds the primary by the sentinels that watch it: redis.io's "Guidelines for
 * Redis clients with support for Redis Sentinel". They are asked one after the
 * other, each time the connection opens. One that answered is asked first the
 * next time, unless its answer proved wrong: then it is asked last. */
#ifndef SENTINEL_H
#define SENTINEL_H

#include <stdbool.h>

#include "redis/url.h"
#include "redis/value.h"

/* What SENTINEL get-master-addr-by-name was answered. False if that is no
 * address; then it is not changed. */
bool sentinel_read_address(struct url_address *address,
    const struct value *value);

#endif
