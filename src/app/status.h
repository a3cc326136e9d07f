/* --status: who has a lock, and who waits for it. */
#ifndef STATUS_H
#define STATUS_H

#include "app/client.h"

/* The exit code. */
int status_show(struct client *client);

#endif
