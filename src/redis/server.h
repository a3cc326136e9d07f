/* One logical server, however it is found: at an address, by sentinels, or as
 * the owner of a slot in a cluster. Redirects and failover stay inside. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "redis/pipeline.h"
#include "redis/tls/tls.h"
#include "redis/url.h"
#include "redis/ways/cluster.h"

struct server;

/* The URL must outlive the server. All commands are about that key, or NULL:
 * any node of a cluster will do. NULL when memory is out. */
struct server *server_new(struct loop *loop, const struct endpoint *url,
    const char *key);
void server_free(struct server *server);

/* 0, or -1 when memory is out or too many commands are unanswered. */
int server_send(struct server *server, const struct command *command);

/* Gives the connection up: unanswered commands get a reply before this
 * returns. */
void server_drop(struct server *server);

/* The same, where a reply is no answer to the command, which breaks the
 * protocol: server_error says so. */
void server_reject(struct server *server);

/* The same where sentinels can be asked for another primary: this one may not
 * be it any more. */
void server_doubt(struct server *server);

/* Whether commands can be written at once. */
bool server_is_up(const struct server *server);

/* As conn_rests_until. */
int64_t server_rests_until(const struct server *server);

/* What is waited for, or why the last connection failed: one line that names
 * the server, empty before the first failure. */
const char *server_error(const struct server *server);

/* The one that is talked to, for messages. */
const char *server_label(const struct server *server);

/* As conn_address and conn_describe_tls. */
bool server_address(const struct server *server, char *text, size_t size);
bool server_describe_tls(const struct server *server,
    struct tls_session *session);

/* Whether sentinels have named a primary to this server, and before that
 * another one to the server from. */
bool server_has_moved(const struct server *server, const struct server *from);

/* Whether it is a cluster: a script's keys must lie in one hash slot there. */
bool server_is_clustered(const struct server *server);

/* The primaries in an answer to CLUSTER SLOTS of this server, each once, to be
 * freed: their number, or -1 when it is none, or memory is out. */
int server_primaries(const struct server *server, const struct value *slots,
    struct cluster_node **primaries);

#endif
