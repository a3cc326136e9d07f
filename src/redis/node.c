#include "redis/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/sentinel.h"
#include "redis/slot.h"

/* One that is slow must be able to answer when time is short. */
enum { ANSWER_MS = 2000 };

struct node {
	const struct endpoint *url;
	struct slot *slot; /* of a cluster, else NULL */
	struct conn *conn; /* NULL with a slot */
	/* Where sentinels know the server: */
	struct sentinel *sentinel;
	struct conn_locator locator;
	struct endpoint found; /* borrows credentials from the URL */
	int64_t found_at;
	char host[256];
	char label[1024];
};

static void
start_locating(void *arg, int64_t deadline)
{
	struct node *node = arg;

	node->found.label = node->url->label;
	sentinel_ask(node->sentinel, deadline);
}

static void
cancel_locating(void *arg)
{
	struct node *node = arg;

	sentinel_cancel(node->sentinel);
}

/* One that may not be asked refuses by itself what a replica must not run; then
 * another sentinel is asked. */
static const char *
judge_role(void *arg, const struct value *value)
{
	struct node *node = arg;
	const char *role = value_text(value_at(value, 0));

	if (role == NULL)
		return NULL;
	if (strcmp(role, "master") == 0) {
		sentinel_confirm(node->sentinel);
		return NULL;
	}
	return strcmp(role, "slave") == 0 ? "it is a replica, not the primary"
					  : "it is not a primary";
}

static void
on_located(void *arg, const struct sentinel_answer *answer)
{
	struct node *node = arg;
	bool ipv6;

	if (answer->host == NULL) {
		conn_not_found(node->conn, answer->why, answer->refused,
		    answer->hopeless);
		return;
	}
	ipv6 = strchr(answer->host, ':') != NULL;
	snprintf(node->host, sizeof(node->host), "%s", answer->host);
	snprintf(node->label, sizeof(node->label), "%s://%s%s%s:%d (%s)",
	    node->url->tls ? "rediss" : "redis", ipv6 ? "[" : "", node->host,
	    ipv6 ? "]" : "", answer->port, node->url->master);
	node->found.host = node->host;
	node->found.port = answer->port;
	node->found.label = node->label;
	node->found_at = clock_now();
	conn_found(node->conn, CLOCK_NEVER);
}

static int
set_up_sentinel(struct node *node, struct loop *loop)
{
	static const char *const role[] = {"ROLE", NULL};

	node->found = *node->url;
	node->sentinel = sentinel_new(loop, node->url, on_located, node);
	node->conn = conn_new(loop, &node->found);
	if (node->sentinel == NULL || node->conn == NULL)
		return -1;
	node->locator = (struct conn_locator){.start = start_locating,
	    .cancel = cancel_locating,
	    .greeting = role,
	    .judge = judge_role,
	    .arg = node};
	conn_set_locator(node->conn, &node->locator);
	return 0;
}

static int
set_up(struct node *node, struct loop *loop, const char *key)
{
	if (node->url->cluster) {
		node->slot = slot_new(loop, node->url, key);
		return node->slot == NULL ? -1 : 0;
	}
	if (node->url->master != NULL)
		return set_up_sentinel(node, loop);
	node->conn = conn_new(loop, node->url);
	return node->conn == NULL ? -1 : 0;
}

struct node *
node_new(struct loop *loop, const struct endpoint *url, const char *key)
{
	struct node *node = calloc(1, sizeof(*node));

	if (node == NULL)
		return NULL;
	node->url = url;
	if (set_up(node, loop, key) == -1) {
		node_free(node);
		return NULL;
	}
	return node;
}

void
node_free(struct node *node)
{
	if (node == NULL)
		return;
	slot_free(node->slot);
	conn_free(node->conn);
	sentinel_free(node->sentinel);
	free(node);
}

void
node_allow(struct node *node, size_t bytes, size_t elements)
{
	if (node->slot != NULL)
		slot_allow(node->slot, bytes, elements);
	else
		conn_allow(node->conn, bytes, elements);
}

/* Who is silent may have been replaced: half of the time that is left is for
 * whoever the sentinels name then. */
static int
send_located(struct node *node, const struct conn_command *command)
{
	struct conn_command sooner = *command;
	int64_t now = clock_now();
	int64_t half_ms = (command->deadline - now) / 2;
	int64_t by = now + (half_ms > ANSWER_MS ? half_ms : ANSWER_MS);

	if (!conn_is_up(node->conn) && by < command->deadline)
		sooner.deadline = by;
	return conn_send(node->conn, &sooner);
}

int
node_send(struct node *node, const struct conn_command *command)
{
	if (node->slot != NULL)
		return slot_send(node->slot, command);
	if (node->sentinel != NULL)
		return send_located(node, command);
	return conn_send(node->conn, command);
}

bool
node_is_up(const struct node *node)
{
	return node->slot != NULL ? slot_is_up(node->slot)
				  : conn_is_up(node->conn);
}

void
node_drop(struct node *node)
{
	if (node->slot != NULL)
		slot_drop(node->slot);
	else
		conn_drop(node->conn);
}

void
node_doubt(struct node *node)
{
	if (node->sentinel != NULL)
		conn_drop(node->conn);
}

const char *
node_error(const struct node *node)
{
	return node->slot != NULL ? slot_error(node->slot)
				  : conn_error(node->conn);
}

const char *
node_label(const struct node *node)
{
	return node->slot != NULL ? slot_label(node->slot)
				  : conn_label(node->conn);
}

static bool
is_located(const struct node *node)
{
	return node->sentinel != NULL && node->found.label == node->label;
}

bool
node_has_moved(const struct node *node, const struct node *from)
{
	return is_located(node) && is_located(from) &&
	       node->found_at >= from->found_at &&
	       strcmp(node->label, from->label) != 0;
}

bool
node_is_clustered(const struct node *node)
{
	return node->slot != NULL;
}

int
node_primaries(const struct node *node, const struct value *slots,
    struct cluster_node **primaries)
{
	return node->slot == NULL
		   ? -1
		   : slot_primaries(node->slot, slots, primaries);
}
