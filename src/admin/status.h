/* --status: the holders and the waiters of a lock. */
#ifndef STATUS_H
#define STATUS_H

#include "admin/client.h"

/* The exit code. */
int status_show(struct client *client);

#endif
