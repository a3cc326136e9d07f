/* The only server of a lock. Commands and replies go straight through, but for
 * two things: what too few replicas have counts as not done, and a renewal that
 * is overdue can be sent once more on a second connection. */
#ifndef SINGLE_H
#define SINGLE_H

#include <stdbool.h>

#include "base/loop.h"
#include "redis/pipeline.h"
#include "redis/url.h"

struct single;

/* The endpoint must outlive it. All commands are about that key. NULL when
 * memory is out. */
struct single *single_new(struct loop *loop, const struct endpoint *endpoint,
    const char *key);
void single_free(struct single *single);

/* A grant, or a renewal. What fewer than command->replicas have is delivered as
 * REPLY_TOO_FEW. */
int single_ask(struct single *single, const struct conn_command *command,
    bool grant);

/* The renewal that is out once more, on a fresh connection. A yes or a no on
 * either connection answers both; a failure is delivered when the other has
 * failed, too. The other connection is left open until its reply. Replaces an
 * earlier one. -1 also when no renewal is out. */
int single_ask_again(struct single *single, const struct conn_command *command);

/* The replies of a renewal on two connections are both awaited. */
bool single_asks_twice(const struct single *single);

/* Whether the server may still execute a renewal that was sent on another
 * connection than the one in use. Then on_quiet is called once, with the
 * argument of on_reply, as soon as that is answered or has failed, unless a
 * release is sent before. */
bool single_await_quiet(struct single *single, void (*on_quiet)(void *arg));

/* Gives the second connection up. */
int single_release(struct single *single, const struct conn_command *command);

/* The one in use. What is neither granted, renewed nor released is sent there.
 */
struct server *single_server(const struct single *single);

/* As those of server.h. */
void single_drop(struct single *single);
const char *single_error(const struct single *single);

#endif
