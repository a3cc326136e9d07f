/* Finds the locks of a server, or of a whole cluster, by SCAN: page by page,
 * without blocking it. */
#ifndef SEARCH_H
#define SEARCH_H

#include "app/client.h"

enum { SEARCH_SEEN = 4096 };

/* The owner sets the first four members. */
struct search {
	struct client *client;
	/* A lock was found that is held. It is freed after the call. */
	void (*on_lock)(void *arg, const struct look *look, const char *key);
	/* A page was read, of which all locks were found. The exit code: any
	 * but EXITCODE_OK ends the search. */
	int (*on_page)(void *arg);
	void *arg;
	bool enough; /* to be set when no more locks are needed */

	/* SCAN may return a key twice if the server shrinks its table
	 * meanwhile, the second time soon after the first. So only recent keys
	 * are remembered. */
	char *seen[SEARCH_SEEN];
	char *cursor;
	char **found; /* keys of this page, NULL-terminated */
	bool incomplete;
	/* Of a cluster: */
	struct cluster_node *primaries;
	int primary_count;
};

/* The exit code; the reason is reported. */
int search_run(struct search *search);

/* Whether the access rules withhold a part of the lock: the first problem, or
 * NULL. */
const struct look_problem *search_find_denial(const struct look *look);

#endif
