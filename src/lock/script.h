/* The Lua sources: all server-side semantics on one page. They are sent with
 * EVAL each time: a server that has forgotten its scripts (SCRIPT FLUSH, a
 * restart, a failover) is then no case of its own, and no round trip is lost to
 * NOSCRIPT. Each is idempotent for the same token (protocol rule R2).
 *
 * Those for exclusive and those for counted locks (shared, permits) take the
 * same keys and arguments. */
#ifndef SCRIPT_H
#define SCRIPT_H

/* KEYS: the lock, its fence (:f), its holder's record (:i), nested runs (:n),
 *       the queue (:q), who in it is alive (:l), the own doorbell (:m); all of
 *       them, or the first four, the first three or the lock alone.
 * ARGV: token, ttl in ms, life of the helper keys in ms, the kind's letter, how
 *       many permits or nothing, host, pid, user, command, the own name in the
 *       queue, 1 to wait in it or 0, how many may wait at most or nothing,
 *       padding, the former tokens: what tries under these have got is ours
 * now. Granted: {1, fence, first in line or '', how many permits the others
 * allow or 0, whom to ring...}. Else {0, ms to wait for (of the lease, -1: for
 * ever; or until the first in line has had his chance), own rank (-1: not in
 * line), how many wait, 'free', 'foreign', 'known' or 'kept' (for --min-hold),
 * the holder's kind, how many hold it, permits, host, pid, user, held for ms, 1
 * when there is room, but for those in line before, whom to ring...}. Of
 * several holders that one is told whose lease is waited for. {-1, ...} with
 * the same elements: one call has removed as many expired entries as it may,
 * and there are more before it is known whether the lock is free. Whoever waits
 * has its place in the queue. Ask again at once. */
extern const char script_acquire_exclusive[];
extern const char script_acquire_counted[];

/* KEYS: the lock. ARGV: token, ttl in ms, the kind's letter. {1}: ours until
 * ttl from now at least; {0}: lost. */
extern const char script_renew_exclusive[];
extern const char script_renew_counted[];

/* KEYS: as those of acquire; with the queue also the doorbell of the first in
 *       line as far as is known.
 * ARGV: token, the kind's letter, how many permits or nothing, the fencing
 *       number where the grant is to be undone as it should never have been,
 *       ms to keep the lock for or 0, the own name in the queue, the nested run
 *       or nothing, the first in line as far as is known, the former tokens:
 *       what these have got is freed, without a word.
 * {1: freed, 2: left to nested runs, 3: kept, 0: it was not ours; 1 if expired
 * entries are left that hide who is to be rung, or whether nested runs use the
 * lock: release again at once; ms that it is kept for; for script_ring_behind:
 * who comes next, or ''; whom to ring...}. The lock alone does where its slot
 * migrates. Nothing of ours is left in the queue: whoever gives up waiting uses
 * it, too. */
extern const char script_release_exclusive[];
extern const char script_release_counted[];

/* What a release does, but for the ringing: goes in front of one where a try is
 * still out. A server that was frozen meanwhile reads 16 kB at a time, and
 * forgets the rest when it finds that we have gone: this comes through with the
 * try. KEYS: the lock, its holder's record (:i), and with the queue it (:q),
 * who is alive (:l), the own doorbell (:m). ARGV: token, the own name in the
 * queue, the former tokens. */
extern const char script_undo[];

/* KEYS: the queue (:q), who is alive (:l), doorbells. ARGV: whose they are. Who
 * has left the queue in the meantime is not rung. */
extern const char script_ring[];

/* KEYS: the queue (:q), who is alive (:l), the doorbell of the first in line,
 * which was rung by an earlier command, and that of the next one. ARGV: the
 * next one. It is rung when the first has not taken its ring, as it may be
 * dead: so the next one learns in time that it has moved up. */
extern const char script_ring_behind[];

/* A nested run joins those that use the lock. KEYS: as those of acquire,
 * without the queue. ARGV: token, ttl in ms, the outer kind's letter, the run,
 * life of :n in ms, the own kind's letter. {1, fence or '', '', why it can't be
 * counted among them or ''}; {0}: not held by that token; {2}: held in another
 * kind. */
extern const char script_join_exclusive[];
extern const char script_join_counted[];

/* KEYS: nested runs (:n). ARGV: token:run, ttl in ms, life of :n in ms. */
extern const char script_stay[];

/* KEYS: the lock, :f, :i, :q, :l, :n. ARGV: how many of the holders, and of the
 * queue, at most. Changes nothing. Answers, in this order:
 *   the letter of its kind; empty when free
 *   how many hold it, and how many permits there are or 0
 *   ms left of the last lease to end (-1: for ever, -2: free)
 *   the server's time in ms
 *   the holders, those whose lease ends first before others; of each 12 values:
 *     token, of which 1024 bytes at most, and its length; the digest for
 *     script_force; ms left; 1 where there is a record of it, then host, pid,
 *     user, command, since (server's ms; 0: damaged), 1 when its job has
 *     ended, fence
 *   the last fence; empty where there is none
 *   how many wait; -1 where that isn't known
 *   the queue: {waiter, waiting for ms, waiter, ...}
 *   how many nested runs there are, and 1 where an outermost has ended
 *   what is wrong with the helper keys: {"key: error", ...} */
extern const char script_look[];

/* KEYS: the lock, :i, :n, :q, :l, and where ARGV names a waiter his doorbell.
 * ARGV: the waiter that is thought to be first, or nothing; the digests of the
 * holders. Takes the lock away from those, and goes on as a release does:
 * {how many have lost it, 1 where it was free; whom to ring...}; {0}: it is
 * others who have it; {-1}: nothing was done but to remove expired entries, ask
 * again at once. */
extern const char script_force[];

#endif
