/* The locks of a server, or of a whole cluster, as --list shows them. */
#ifndef LIST_H
#define LIST_H

#include "admin/look.h"
#include "admin/search.h"
#include "base/table.h"

struct list {
	struct client *client;
	struct search search;
	struct table table;
	char place[LOOK_PLACE_MAX];
	size_t count;	/* of locks that are shown */
	size_t waiting; /* for them */
};

/* Prints those that are found as they come; unless text is NULL: then that is
 * what would be printed, sorted by name and to be freed. The exit code; the
 * reason is reported. Dies when memory is out. */
int list_read(struct list *list, struct client *client, char **text);

#endif
