/* What goes from a lock to its server, and what is noted of each contact: for
 * acquire, lease and release alone. */
#ifndef CONTACT_H
#define CONTACT_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/lock.h"

#define CONTACT_BACKOFF_MIN_MS 100
/* How long a reply is awaited at least, on a connection that may have died
 * unnoticed. */
#define CONTACT_REPLY_MS 1000

/* --- sending ------------------------------------------------------------- */

/* Sends a request and ends it. What is asked, and awaited, decides how it
 * travels. One without words counts as sent. -1 when memory is out: a failed
 * contact like others, but on_reply (NULL: nobody awaits a reply) is not
 * called. It gets the link. */
int contact_send(struct lock_link *link, struct request *request,
    reply_handler *on_reply, int64_t deadline);
/* Makes the request first, and uses the link that is in use. */
int contact_ask(struct lock *lock, request_maker *make, reply_handler *on_reply,
    int64_t deadline);
/* Nobody awaits the reply. */
void contact_post(struct lock *lock, struct request *request);
/* Makes a release of what the lock has come to. */
void contact_make_release(struct lock *lock, struct request *request);
/* Sends it, and nobody awaits the reply. more: another command follows in the
 * same write. */
void contact_post_release(struct lock *lock, bool more);
/* Rings the doorbells of these waiters. */
void contact_ring(struct lock *lock, const char (*waiters)[WAITER_SIZE],
    size_t count);
/* Removes us from the queue by plain commands, as scripts or keys are denied: a
 * waiter that only stopped its heartbeats would delay the next one until it
 * counts as dead. */
void contact_leave_queue(struct lock *lock);

/* Both connections are given up. */
void contact_drop(struct lock *lock);
/* Both, where another server is the one to talk to, or might let us in. */
void contact_doubt(struct lock *lock, const struct lock_reply *heard);

/* --- time ---------------------------------------------------------------- */

/* The timer comes after the next back-off, but not later than lock_ends_at. */
void contact_retry(struct lock *lock);
/* A server or a name server that is always slow must not cost us the lock, and
 * an unresponsive one must be noticed soon. */
void contact_be_patient(struct lock *lock, int64_t ms);

/* --- what the last contact brought --------------------------------------- */

/* A reply, one with its round trip, */
void contact_note_reply(struct lock *lock);
void contact_note_round_trip(struct lock *lock, int64_t sent_at);
/* what a grant says of us: the release needs it for the record, */
void contact_note_grant(struct lock *lock, const struct answer *answer);
/* an error ("error from", the server's label, its words), */
void contact_note_error(struct lock *lock, const char *what, const char *label,
    const char *words);
/* that of a reply which may pass, or that it was one redirect too many, and
 * whether to give the connection up; why a lock has failed stays, */
void contact_note_trouble(struct lock *lock, const struct lock_reply *heard);
/* that what has just been noted has cost the queue, */
void contact_lose_queue(struct lock *lock);
/* no reply (NULL: as the server's error says), */
void contact_note_silence(struct lock *lock, const char *why);
/* or why a command is not even sent: the time may be over while the connection
 * is still being established. */
void contact_note_obstacle(struct lock *lock);

#endif
