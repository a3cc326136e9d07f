/* --list: the locks of a server, or of a whole cluster, that are held. */
#ifndef LIST_H
#define LIST_H

#include "admin/client.h"

/* The exit code. */
int list_show(struct client *client);

#endif
