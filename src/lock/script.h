/* The Lua scripts: everything that is decided on the server. Each stands in
 * script/NAME.lua, headed by what its keys, arguments and answers are; those
 * with a kind exist for exclusive and for counted locks (shared, permits), and
 * take the same keys and arguments.
 *
 * They are sent with EVAL each time: a server that has forgotten its scripts
 * (SCRIPT FLUSH, a restart, a failover) is then no case of its own, and no
 * round trip is lost to NOSCRIPT. Each is idempotent for the same token
 * (protocol rule R2). The build makes the strings, see script/embed.awk. */
#ifndef SCRIPT_H
#define SCRIPT_H

extern const char script_acquire_exclusive[];
extern const char script_acquire_counted[];
extern const char script_renew_exclusive[];
extern const char script_renew_counted[];
extern const char script_release_exclusive[];
extern const char script_release_counted[];
extern const char script_join_exclusive[];
extern const char script_join_counted[];
extern const char script_undo[];
extern const char script_notify[];
extern const char script_notify_behind[];
extern const char script_stay[];
extern const char script_look[];
extern const char script_force[];

#endif
