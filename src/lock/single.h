/* The only server of a lock. Commands and replies go straight through, but for
 * two things: what too few replicas have counts as not done, and a renewal that
 * is overdue can be sent once more on a second connection. */
#ifndef SINGLE_H
#define SINGLE_H

#include <stdbool.h>

#include "base/loop.h"
#include "lock/ask.h"
#include "redis/command.h"
#include "redis/url.h"
#include "redis/way.h"

struct single;

/* The endpoint must outlive it. All commands are about that key. NULL when
 * memory is out. */
struct single *single_new(struct loop *loop, const struct endpoint *endpoint,
    const char *key);
void single_free(struct single *single);

/* A grant or a renewal that fewer than command->replicas have is delivered as
 * REPLY_TOO_FEW. A grant or a release gives the second connection up. */
int single_send(struct single *single, const struct command *command,
    enum ask ask);

/* Whether a release must wait for a renewal that is out on two connections:
 * until the first reply, which shows which connection works; and if the lock is
 * to be kept, until the second, as a renewal that is executed after the release
 * would lengthen the lease. Then on_quiet is called, with the argument of
 * on_reply, when neither is out, unless a release is sent before. */
bool single_await_renewals(struct single *single, bool keep,
    void (*on_quiet)(void *arg));

/* The connection that is in use. */
struct way *single_server(const struct single *single);

/* As those of server.h. */
void single_drop(struct single *single);
const char *single_error(const struct single *single);

#endif
