/* Finds the locks of a server, or of a whole cluster, by SCAN: page by page,
 * without blocking it. */
#ifndef SEARCH_H
#define SEARCH_H

#include "admin/client.h"

enum { SEARCH_SEEN = 4096 };

/* The owner sets the first members. */
struct search {
	struct client *client;
	/* A lock was found that is held; with --all one that is known. May ask
	 * the server. A failure that the client has after the call ends the
	 * search; one that it had before is to stay. */
	void (*on_lock)(void *arg, const struct look *look);
	/* All locks of a page were found. The exit code: any but EXITCODE_OK
	 * ends the search. NULL: nothing is to be done. */
	int (*on_page)(void *arg);
	int runs; /* that a look is to show; 0: the last one */
	/* Replaces all of these unless NULL: a lock was found, perhaps more
	 * than once, and perhaps free. The search does not look at it. */
	void (*on_key)(void *arg, const char *key);
	void *arg;
	bool enough; /* to be set when no more locks are needed */

	/* SCAN may return a key twice if the server shrinks its table
	 * meanwhile, the second time soon after the first. So only recent keys
	 * are remembered. */
	char *seen[SEARCH_SEEN];
	bool incomplete;
	bool is_denied; /* a record is: that has been reported */
	int result;	/* of the servers so far */
};

/* The exit code; the reason is reported. */
int search_run(struct search *search);

/* The key that has this helper, to be freed: key_helper the other way round.
 * NULL when it is not the helper of any. Dies when memory is out. */
char *search_key_of(const char *helper);

/* Asks a cluster for its primaries, which become the nodes of the enquiry.
 * False after a failure. */
bool search_nodes(struct client *client);

#endif
