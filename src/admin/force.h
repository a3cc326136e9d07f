/* Takes a lock away from holders that were seen, and notifies its waiters. */
#ifndef FORCE_H
#define FORCE_H

#include "admin/client.h"

/* From that one, or from all that are in the look (NULL). How many have lost it
 * (1 if it was free); 0 if others hold it by now; -1 after a failure, which the
 * client knows. */
int64_t force_holders(struct client *client, const struct look *look,
    const struct look_holder *only);

#endif
