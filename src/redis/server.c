#include "redis/server.h"

#include <stdlib.h>

#include "redis/conn.h"
#include "redis/ways/sentinel.h"
#include "redis/ways/slot.h"

/* A slow server must be able to answer when time is short. */
enum { ANSWER_MS = 2000 };

struct server {
	struct conn *conn;
	struct sentinel *sentinel; /* finds the server, or NULL */
	struct slot *slot;	   /* of a cluster, or NULL */
};

static int
set_up_server(struct server *server, struct loop *loop,
    const struct endpoint *url, const char *key)
{
	server->conn = conn_new(loop, url);
	if (server->conn == NULL)
		return -1;
	if (url->cluster) {
		server->slot = slot_new(loop, url, key, server->conn);
		return server->slot == NULL ? -1 : 0;
	}
	if (url->master == NULL)
		return 0;
	server->sentinel = sentinel_new(loop, url, server->conn);
	return server->sentinel == NULL ? -1 : 0;
}

struct server *
server_new(struct loop *loop, const struct endpoint *url, const char *key)
{
	struct server *server = calloc(1, sizeof(*server));

	if (server == NULL)
		return NULL;
	if (set_up_server(server, loop, url, key) == -1) {
		server_free(server);
		return NULL;
	}
	return server;
}

void
server_free(struct server *server)
{
	if (server == NULL)
		return;
	conn_free(server->conn);
	slot_free(server->slot);
	sentinel_free(server->sentinel);
	free(server);
}

/* A primary that is silent may have been replaced: half of the time that is
 * left is for the one that the sentinels name then. */
static int
send_located(struct server *server, const struct command *command)
{
	struct command sooner = *command;
	int64_t now = clock_now();
	int64_t half_ms = (command->deadline - now) / 2;
	int64_t by = now + (half_ms > ANSWER_MS ? half_ms : ANSWER_MS);

	if (!conn_is_up(server->conn) && by < command->deadline)
		sooner.deadline = by;
	return conn_send(server->conn, &sooner);
}

int
server_send(struct server *server, const struct command *command)
{
	if (server->slot != NULL)
		return slot_send(server->slot, command);
	if (server->sentinel != NULL)
		return send_located(server, command);
	return conn_send(server->conn, command);
}

void
server_drop(struct server *server)
{
	if (server->slot != NULL)
		slot_drop(server->slot);
	else
		conn_drop(server->conn);
}

void
server_reject(struct server *server)
{
	conn_reject(server->conn);
	if (server->slot != NULL)
		slot_drop(server->slot);
}

void
server_doubt(struct server *server)
{
	if (server->sentinel != NULL)
		conn_drop(server->conn);
}

bool
server_is_up(const struct server *server)
{
	return server->slot != NULL ? slot_is_up(server->slot)
				    : conn_is_up(server->conn);
}

int64_t
server_rests_until(const struct server *server)
{
	return conn_rests_until(server->conn);
}

const char *
server_error(const struct server *server)
{
	return conn_error(server->conn);
}

const char *
server_label(const struct server *server)
{
	return conn_label(server->conn);
}

bool
server_address(const struct server *server, char *text, size_t size)
{
	return conn_address(server->conn, text, size);
}

bool
server_describe_tls(const struct server *server, struct tls_session *session)
{
	return conn_describe_tls(server->conn, session);
}

bool
server_has_moved(const struct server *server, const struct server *from)
{
	return server->sentinel != NULL && from->sentinel != NULL &&
	       sentinel_has_moved(server->sentinel, from->sentinel);
}

bool
server_is_clustered(const struct server *server)
{
	return server->slot != NULL;
}

int
server_primaries(const struct server *server, const struct value *slots,
    struct cluster_node **primaries)
{
	return server->slot == NULL ? -1
				    : cluster_primaries(slots,
					  conn_host(server->conn), primaries);
}
