/* The Lua sources: all server-side semantics on one page. They are sent with
 * EVAL each time: a server that has forgotten its scripts (SCRIPT FLUSH, a
 * restart, a failover) is then no case of its own, and no round trip is lost to
 * NOSCRIPT. Each is idempotent for the same token (protocol rule R2). */
#ifndef SCRIPT_H
#define SCRIPT_H

/* KEYS: the lock, its fence (:f), its holder's record (:i).
 * ARGV: token, ttl in ms, life of the helper keys in ms, host, pid, user,
 *       command.
 * Granted: {1, fence}. Held by another: {0, ms left (-1: for ever)}, and where
 * the record is that holder's: {0, ms left, host, pid, user, held for ms}. */
extern const char script_acquire[];

/* KEYS: the lock. ARGV: token, ttl in ms. {1}: ours until ttl from now at
 * least; {0}: lost. */
extern const char script_renew[];

/* KEYS: the lock, its holder's record (:i). ARGV: token. 1: freed; 0: it was
 * not ours. The lock alone does where its slot migrates. With the fence (:f)
 * and the number that was granted behind them, a grant is undone that should
 * never have been: that number goes, too. */
extern const char script_release[];

#endif
