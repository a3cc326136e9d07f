/* The Lua scripts: everything that is decided on the server. Each stands in
 * script/NAME.lua, headed by what its keys, arguments and answers are; those
 * with a kind exist for exclusive and for counted locks (shared, permits), and
 * take the same keys and arguments.
 *
 * A server may forget them at any time (SCRIPT FLUSH, a restart, a failover):
 * see pipeline.h. Each is idempotent for the same token (protocol rule R2). The
 * build makes the strings and their digests, see script/embed.awk. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "redis/script.h"

extern const struct script script_acquire_exclusive;
extern const struct script script_acquire_counted;
extern const struct script script_renew_exclusive;
extern const struct script script_renew_counted;
extern const struct script script_release_exclusive;
extern const struct script script_release_counted;
extern const struct script script_join_exclusive;
extern const struct script script_join_counted;
extern const struct script script_plain_acquire_exclusive;
extern const struct script script_plain_acquire_counted;
extern const struct script script_plain_release_exclusive;
extern const struct script script_plain_release_counted;
extern const struct script script_ring;
extern const struct script script_order;
extern const struct script script_heal;

#endif
