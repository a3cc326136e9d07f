/* --force-release: releases a lock, whoever holds it. */
#ifndef FORCE_RELEASE_H
#define FORCE_RELEASE_H

#include "admin/client.h"

/* The exit code. */
int force_release(struct client *client);

#endif
