#include "node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sentinel.h"

struct node {
	const struct endpoint *url;
	struct conn *conn;
	/* Where sentinels know the server: */
	struct sentinel *sentinel;
	struct conn_locator locator;
	struct endpoint found; /* borrows credentials from the URL */
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

static void
on_primary(void *arg)
{
	struct node *node = arg;

	sentinel_confirm(node->sentinel);
}

static void
on_located(void *arg, const struct sentinel_answer *answer)
{
	struct node *node = arg;
	bool ipv6;

	if (answer->host == NULL) {
		conn_not_found(node->conn, answer->why, answer->hopeless);
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
	conn_found(node->conn);
}

static int
set_up_sentinel(struct node *node, struct loop *loop)
{
	node->found = *node->url;
	node->sentinel = sentinel_new(loop, node->url, on_located, node);
	node->conn = conn_new(loop, &node->found);
	if (node->sentinel == NULL || node->conn == NULL)
		return -1;
	node->locator = (struct conn_locator){.start = start_locating,
	    .cancel = cancel_locating,
	    .on_primary = on_primary,
	    .arg = node};
	conn_set_locator(node->conn, &node->locator);
	return 0;
}

static int
set_up(struct node *node, struct loop *loop)
{
	if (node->url->master != NULL)
		return set_up_sentinel(node, loop);
	node->conn = conn_new(loop, node->url);
	return node->conn == NULL ? -1 : 0;
}

struct node *
node_new(struct loop *loop, const struct endpoint *url)
{
	struct node *node = calloc(1, sizeof(*node));

	if (node == NULL)
		return NULL;
	node->url = url;
	if (set_up(node, loop) == -1) {
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
	conn_free(node->conn);
	sentinel_free(node->sentinel);
	free(node);
}

void
node_allow(struct node *node, size_t bytes, size_t elements)
{
	conn_allow(node->conn, bytes, elements);
}

int
node_send(struct node *node, const struct conn_command *command)
{
	return conn_send(node->conn, command);
}

const struct conn_reply *
node_acks(const struct node *node)
{
	return conn_acks(node->conn);
}

bool
node_is_up(const struct node *node)
{
	return conn_is_up(node->conn);
}

void
node_drop(struct node *node)
{
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
	return conn_error(node->conn);
}

bool
node_is_hopeless(const struct node *node)
{
	return conn_is_hopeless(node->conn);
}

const char *
node_refusal(const struct node *node)
{
	return conn_refusal(node->conn);
}

const char *
node_label(const struct node *node)
{
	return conn_label(node->conn);
}
