/* A way to one logical server: a connection, and a table of how its server is
 * found, at an address, by sentinels or as the owner of a slot. It opens by
 * itself when a command is sent, and the handshake (AUTH, a greeting, SELECT,
 * CLIENT SETNAME) travels in one write with that command. Commands are
 * answered in their order, each by its deadline.
 *
 *   CLOSED --send--> LOCATING --> RESOLVING --> CONNECTING --> SECURING --> UP
 *      ^                 | ^          |            | next |       (TLS)     |
 *      |                 | +-- next --+            +address+        |       |
 *      +-----------------+---- place, or any failure ------+--------+-------+
 *
 * A way to an address skips LOCATING. A failure gives all unanswered commands a
 * reply that says why. If nothing was written, there is time left, and the kind
 * knows other places, the commands wait for the next. command.h says when their
 * handlers are called. */
#ifndef WAY_H
#define WAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "redis/command.h"
#include "redis/tls/tls.h"
#include "redis/url.h"

struct way;

/* The URL must outlive the way. All commands are about that key, or NULL: any
 * node of a cluster will do. NULL when memory is out. */
struct way *way_new(struct loop *loop, const struct endpoint *url,
    const char *key);
/* Closes without replies; what was written still travels. Not from a handler of
 * this way. */
void way_free(struct way *way);

/* Behind what was sent before. It is written at once if the way is up, unless
 * another one follows in the same write: command->more. 0, or -1 when memory is
 * out or more than 16 commands would be unanswered, with those of the
 * handshake, ASKING and WAIT: then it is not sent, and gets no reply. */
int way_send(struct way *way, const struct command *command);

/* Gives the connection up. Whoever awaits a reply gets one before this returns,
 * as after any failure: what silence means is decided in one place. The next
 * command finds the server anew. */
void way_drop(struct way *way);

/* As way_drop if sentinels can be asked for another primary, since this one may
 * not be it any more. Otherwise nothing happens. */
void way_doubt(struct way *way);

/* From a handler: the reply is not that of our script. The connection fails,
 * and what else is unanswered gets a reply before this returns. */
void way_reject(struct way *way);

/* Whether commands can be written at once. */
bool way_is_up(const struct way *way);

/* When it should be opened anew, as the other side ended the last connection
 * less than a second after it had been made: a pause of 100 ms, which doubles
 * up to 1 s, less up to 20%. 0 if connections last. way_send does not wait for
 * that: a renewal or a release must not. */
int64_t way_rests_until(const struct way *way);

/* Whether sentinels have named a primary to this way, and before that another
 * one to the other. */
bool way_has_moved(const struct way *way, const struct way *from);

/* For messages: the server, as its URL or as it was found. */
const char *way_label(const struct way *way);
/* For messages: what a connection waits for, or why the last one failed, in one
 * line that names the server. Empty before either. */
const char *way_error(const struct way *way);

/* Where sentinels or a cluster have found the server last; empty for a way to
 * an address. */
const char *way_host(const struct way *way);

/* The address that it is connected to, if it is up and that is no unix socket:
 * false otherwise. */
bool way_address_text(const struct way *way, char *text, size_t size);

/* Whether it is up and has a TLS session, and what that came to. */
bool way_describe_tls(const struct way *way, struct tls_session *session);

#endif
