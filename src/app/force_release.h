/* --force-release: takes a lock away from its holder, or from all of them. */
#ifndef FORCE_RELEASE_H
#define FORCE_RELEASE_H

#include "app/client.h"

/* The exit code. */
int force_release(struct client *client);

#endif
