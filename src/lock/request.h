/* What is sent for a lock: which keys and arguments each script gets. The
 * functions return 0, or -1 when nothing could be sent: on_reply is not called
 * then, and the lock's error says why. */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/answer.h"
#include "lock/lock.h"
#include "redis/conn.h"

/* A try, or a planting: acquires the lock, or joins the outer run. */
int request_try(struct lock *lock, const struct conn_command *how,
    enum quorum_ask ask);

int request_renewal(struct lock *lock, const struct conn_command *how,
    enum quorum_ask ask);

/* What goes along with a renewal, in the same write: a renewal itself touches
 * the lock's key alone (protocol rule R5). */
void request_with_renewal(struct lock *lock, int64_t deadline);

int request_release(struct lock *lock, const struct conn_command *how,
    enum quorum_ask ask);

/* Withdraws a try; a nested run has nothing to undo but its place beside the
 * others. more: a release follows in the same write. */
void request_undo(struct lock *lock, enum quorum_ask ask, bool more);

/* Rings the doorbells of these waiters. The reply does not matter. */
void request_rings(struct lock *lock, const struct answer_rings *rings);

/* Rings the waiter behind the head of the queue, if the head is dead. */
void request_ring_behind(struct lock *lock,
    const struct answer_release *answer);

#endif
