/* What a client knows of a Redis Cluster: to which slot a key belongs, which
 * nodes there are, and who owns that slot: redis.io's "Redis cluster
 * specification". Pure: no node is asked here. */
#ifndef CLUSTER_H
#define CLUSTER_H

#include <stdbool.h>
#include <stddef.h>

#include "redis/url.h"
#include "redis/value.h"

#define CLUSTER_SLOTS 16384
#define CLUSTER_ANY_SLOT (-1)
#define CLUSTER_LABEL_SIZE (URL_HOST_SIZE + 32)

enum cluster_redirect {
	CLUSTER_NONE,
	CLUSTER_MOVED, /* the slot has another owner */
	CLUSTER_ASK,   /* it is on its way there: this command only */
};

struct cluster {
	int slot;
	struct url_address *nodes; /* those of the URL, then those learnt */
	size_t seeds, count;
	size_t next; /* to be tried, when the owner is not known */
	struct url_address picked;
	bool trusted; /* the next pick is the last one's again */
	size_t tried; /* nodes, since the owner was known */
};

/* The slot of a key: of the text in its first {} unless that is empty. */
int cluster_slot(const char *key);

/* Whether an error is a redirect, and to which node. The host is empty if it is
 * that of the node which sent the redirect. */
enum cluster_redirect cluster_redirect(const char *error,
    struct url_address *to);

/* url is one of a cluster; slot may be CLUSTER_ANY_SLOT. 0, or -1 when memory
 * is out. */
int cluster_init(struct cluster *cluster, const struct endpoint *url, int slot);
void cluster_fini(struct cluster *cluster);

/* The node to connect to. The owner is picked as long as it proves right, and
 * once after that; then each of the nodes in turn. */
const struct url_address *cluster_pick(struct cluster *cluster);

/* About the one that was picked: it owns the slot; it should not be picked
 * again at once; it names the owner of the slot. */
void cluster_confirm(struct cluster *cluster);
void cluster_doubt(struct cluster *cluster);
void cluster_moved(struct cluster *cluster, const struct url_address *to);

/* An answer to CLUSTER SLOTS of the one that was picked. The nodes of our own
 * slot come first, as they may take it over; there is room for some only. -1
 * when it is no such answer, or memory is out: then nothing has changed. */
int cluster_learn(struct cluster *cluster, const struct value *slots);

/* The primaries in an answer to CLUSTER SLOTS of host, each once, to be freed;
 * their number, or -1 as above. */
int cluster_primaries(const struct value *slots, const char *host,
    struct url_address **primaries);

#endif
