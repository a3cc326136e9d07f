/* A look at one lock: at its key and at the keys beside it. */
#ifndef LOOKUP_H
#define LOOKUP_H

#include "app/client.h"
#include "lock/key.h"

/* Whether the helper keys lie in the key's slot, if it is a cluster. */
bool lookup_has_helpers(const struct client *client, const char *key);

/* Fills in *look, with so many holders at most. False after a failure. */
bool lookup(struct client *client, const struct key_names *keys, int holders,
    struct look *look);

/* Prints it as one line of JSON. */
void lookup_print_json(const struct client *client, const struct look *look,
    const char *key);

#endif
