/* The end of a lock: released after it was held, or withdrawn earlier. Its
 * orders:
 *
 * ON_RELEASE: -> RELEASING -> RELEASED, within max(min(valid_until, 10 s), 1
 * s): a run whose lease has ended is recorded, too. The server keeps the lock
 * until release.keep_until, which is set before; a time in the past frees it at
 * once.
 *
 * ON_WITHDRAW: from any state to RELEASED (FAILED, if the lock had failed), by
 * RELEASING for a moment if the server may have granted us the lock: leaves
 * nothing behind that can be helped. Cuts a release short.
 *
 * ON_BEHIND: of a vote, -> RELEASED: sends a release behind the try that is out
 * or has no reply. Nobody awaits either, and a connection that is being made
 * goes on: it is to serve the next try. */
#ifndef RELEASE_H
#define RELEASE_H

#include <stdbool.h>

#include "lock/lock.h"

/* RELEASED -> RELEASING -> RELEASED: records that the run ended this way, where
 * the release has recorded nothing. */
void release_correct(struct lock *lock, const struct request_run *run);

/* LOST, and the job is dead. LOST -> RELEASING -> RELEASED if the end of the
 * run is to be recorded. */
void release_lost(struct lock *lock);

/* RELEASING, and the server would miss the release if we went: it is not
 * connected to though it had the lock, or it cannot send an earlier reply. */
bool release_is_unsent(const struct lock *lock);

/* --- for acquire alone ---------------------------------------------------- */

/* Undoes what a try may have got, for a moment from now. */
void release_undo(struct lock *lock, const struct lock_news *news);

/* The same after a silence that has lasted too long: nobody waits for the
 * reply, unless the connection was blocked. */
void release_silently(struct lock *lock, const struct lock_news *news);

#endif
