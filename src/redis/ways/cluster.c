#include "redis/ways/cluster.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

/* Nodes that are learnt: one of them that is alive is enough. */
enum { LEARNT_MAX = 32 };
/* More primaries than the specification recommends nodes. */
enum { PRIMARIES_MAX = 1024 };

/* CRC16-CCITT (XMODEM), as in the specification's appendix. */
static unsigned
crc16(const char *text, size_t length)
{
	unsigned crc = 0;

	for (size_t i = 0; i < length; i++) {
		crc ^= (unsigned)(unsigned char)text[i] << 8;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
	}
	return crc & 0xffff;
}

int
cluster_slot(const char *key)
{
	const char *open = strchr(key, '{');
	const char *close = open == NULL ? NULL : strchr(open, '}');
	const char *hashed = key;
	size_t length = strlen(key);

	if (close != NULL && close > open + 1) {
		hashed = open + 1;
		length = (size_t)(close - hashed);
	}
	return (int)(crc16(hashed, length) % CLUSTER_SLOTS);
}

static int
set_node(struct url_address *node, const char *host, size_t length,
    int64_t port)
{
	if (length >= sizeof(node->host))
		return -1;
	if (length == 1 && *host == '?')
		length = 0;
	memcpy(node->host, host, length);
	node->host[length] = '\0';
	node->port = (int)port;
	return 0;
}

/* "MOVED 3999 10.0.0.3:6381": an IPv6 address has no brackets. */
enum cluster_redirect
cluster_redirect(const char *error, struct url_address *to)
{
	enum cluster_redirect redirect = CLUSTER_NONE;
	const char *host, *colon;
	int64_t port;

	if (strncmp(error, "MOVED ", 6) == 0)
		redirect = CLUSTER_MOVED;
	else if (strncmp(error, "ASK ", 4) == 0)
		redirect = CLUSTER_ASK;
	if (redirect == CLUSTER_NONE)
		return CLUSTER_NONE;
	host = strchr(strchr(error, ' ') + 1, ' ');
	colon = host == NULL ? NULL : strrchr(host, ':');
	if (colon == NULL || num_int(colon + 1, 1, 65535, &port) == -1)
		return CLUSTER_NONE;
	host++;
	if (set_node(to, host, (size_t)(colon - host), port) == -1)
		return CLUSTER_NONE;
	return redirect;
}

int
cluster_init(struct cluster *cluster, const struct endpoint *url, int slot)
{
	size_t count = url->host_count;

	*cluster =
	    (struct cluster){.slot = slot, .seeds = count, .count = count};
	cluster->nodes = calloc(count + LEARNT_MAX, sizeof(*cluster->nodes));
	if (cluster->nodes == NULL)
		return -1;
	for (size_t i = 0; i < count; i++) {
		snprintf(cluster->nodes[i].host, URL_HOST_SIZE, "%s",
		    url->hosts[i].host);
		cluster->nodes[i].port = url->hosts[i].port;
	}
	/* Mostly slots are assigned in order, and nodes are named in order. */
	if (slot != CLUSTER_ANY_SLOT)
		cluster->next = (size_t)slot * count / CLUSTER_SLOTS;
	return 0;
}

void
cluster_fini(struct cluster *cluster)
{
	free(cluster->nodes);
}

const struct url_address *
cluster_pick(struct cluster *cluster)
{
	if (!cluster->trusted) {
		cluster->picked = cluster->nodes[cluster->next];
		cluster->next = (cluster->next + 1) % cluster->count;
		cluster->tried++;
	}
	cluster->trusted = false;
	return &cluster->picked;
}

void
cluster_confirm(struct cluster *cluster)
{
	cluster->trusted = true;
	cluster->tried = 0;
}

void
cluster_doubt(struct cluster *cluster)
{
	cluster->trusted = false;
}

void
cluster_moved(struct cluster *cluster, const struct url_address *to)
{
	if (*to->host != '\0')
		memcpy(cluster->picked.host, to->host, sizeof(to->host));
	cluster->picked.port = to->port;
	cluster->trusted = true;
}

/* Adds a node of an answer to the list, once: {host, port, id...}; no host
 * means that of the node which was asked. */
static void
add_node(struct url_address *nodes, size_t *count, const struct value *value,
    const char *asked)
{
	struct url_address *node = &nodes[*count];
	const char *host = value_text(value_at(value, 0));
	int64_t port;

	if (host == NULL)
		host = "";
	if (!value_integer(value_at(value, 1), &port) || port < 1 ||
	    port > 65535 || set_node(node, host, strlen(host), port) == -1)
		return;
	if (*node->host == '\0')
		snprintf(node->host, sizeof(node->host), "%s", asked);
	for (size_t i = 0; i < *count; i++)
		if (nodes[i].port == node->port &&
		    strcmp(nodes[i].host, node->host) == 0)
			return;
	++*count;
}

/* {first slot, last slot, node...} */
static void
learn_range(struct cluster *cluster, const struct value *range)
{
	size_t most = cluster->seeds + LEARNT_MAX;
	const struct value *node;

	for (size_t i = 2;
	     cluster->count < most && (node = value_at(range, i)) != NULL; i++)
		add_node(cluster->nodes, &cluster->count, node,
		    cluster->picked.host);
}

int
cluster_learn(struct cluster *cluster, const struct value *slots)
{
	const struct value *range;
	int64_t first, last;

	if (value_at(value_at(slots, 0), 2) == NULL)
		return -1;
	cluster->count = cluster->seeds;
	for (size_t i = 0; (range = value_at(slots, i)) != NULL; i++)
		if (value_integer(value_at(range, 0), &first) &&
		    value_integer(value_at(range, 1), &last) &&
		    first <= cluster->slot && cluster->slot <= last)
			learn_range(cluster, range);
	for (size_t i = 0; (range = value_at(slots, i)) != NULL; i++)
		learn_range(cluster, range);
	cluster->next %= cluster->count;
	return 0;
}

int
cluster_primaries(const struct value *slots, const char *host,
    struct url_address **primaries)
{
	struct url_address *list;
	const struct value *range;
	size_t count = 0;

	if (value_at(value_at(slots, 0), 2) == NULL)
		return -1;
	list = calloc(PRIMARIES_MAX, sizeof(*list));
	if (list == NULL)
		return -1;
	for (size_t i = 0;
	     count < PRIMARIES_MAX && (range = value_at(slots, i)) != NULL; i++)
		add_node(list, &count, value_at(range, 2), host);
	*primaries = list;
	return (int)count;
}
