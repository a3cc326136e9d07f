/* The end of a lock: released after it was held, or withdrawn earlier. */
#ifndef RELEASE_H
#define RELEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/lock.h"

/* HELD -> RELEASING -> RELEASED, within max(min(valid_until, 10 s), 1 s): a run
 * whose lease has ended is recorded, too. The server keeps the lock until
 * keep_until; a time in the past frees it at once. */
void release_start(struct lock *lock, int64_t keep_until);

/* RELEASED -> RELEASING -> RELEASED: records that the run ended this way, where
 * the release has recorded nothing. */
void release_correct(struct lock *lock, const struct request_run *run);

/* LOST, and the job is dead. LOST -> RELEASING -> RELEASED if the end of the
 * run is to be recorded. */
void release_lost(struct lock *lock);

/* From any state to RELEASED (FAILED, if the lock had failed), by RELEASING for
 * a moment if the server may have granted us the lock: leaves nothing behind
 * that can be helped. Cuts a release short. */
void release_at_once(struct lock *lock);

/* Of a vote, -> RELEASED: sends a release behind the try that is out or has no
 * reply. Nobody awaits either, and a connection that is being made goes on: it
 * is to serve the next try. */
void release_behind(struct lock *lock);

/* RELEASING, and the server would miss the release if we went: it is not
 * connected to though it had the lock, or it cannot send an earlier reply. */
bool release_is_unsent(const struct lock *lock);

/* --- for acquire and lease alone ---------------------------------------- */

/* RELEASING, until a moment from now: undoes what a try may have got. */
void release_withdraw(struct lock *lock);

/* Removes us from the queue by plain commands, as scripts or keys are denied: a
 * waiter that only stopped its heartbeats would delay the next one until it
 * counts as dead. */
void release_leave_queue(struct lock *lock);

/* The same after a silence that has lasted too long: nobody waits for the
 * reply, unless the connection was blocked. */
void release_silently(struct lock *lock);

/* A renewal that the release of that lock has waited for is answered. */
void release_go_on(struct lock *lock);

#endif
