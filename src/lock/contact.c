#include "lock/contact.h"

#include <stdio.h>
#include <string.h>

#include "base/dice.h"
#include "redis/way.h"

enum { BACKOFF_MAX_MS = 1000, PATIENCE_MAX_MS = 10000 };

/* --- sending ------------------------------------------------------------ */

void
contact_drop(struct lock *lock)
{
	lock_drop_link(lock->link);
	lock_drop_link(lock_other_link(lock));
}

static bool
is_try(int tag)
{
	return tag >= ANSWER_TO_TRY && tag <= ANSWER_TO_OTHER_KIND;
}

static bool
is_release(int tag)
{
	return tag == ANSWER_TO_RELEASE || tag == ANSWER_TO_PLAIN_RELEASE ||
	       tag == ANSWER_TO_RECORD;
}

/* How long replicas have for what is asked, 0 if they are not waited for. WAIT
 * behind a release is a part of its time: a failover must not forget the
 * success of a run, or how long its lock is kept. WAIT 0 would wait for ever.
 */
static int64_t
replicas_ms(const struct lock *lock, const struct command *command)
{
	bool ends_run = lock->release.run.status != REQUEST_NO_JOB;
	int64_t left_ms = command->deadline - clock_now();
	int64_t ms = lock->config->replicas_ms;

	if (command->on_reply == NULL)
		return 0;
	if (is_try(command->tag) || command->tag == ANSWER_TO_RENEWAL)
		return ms;
	if (!is_release(command->tag) || !ends_run || ms == 0)
		return 0;
	return left_ms > 1 ? clock_min(ms, left_ms) : 1;
}

/* A lease ends while it is renewed, so a renewal must not take two round trips:
 * it travels as a text, which is short. So does a release if nobody may be left
 * to ask again, and that of a vote, whose reply may not be awaited. A try or a
 * release gives the second connection up. */
int
contact_send(struct lock_link *link, struct request *request,
    reply_handler *on_reply, int64_t deadline)
{
	struct lock *lock = link->lock;
	struct command *command = &request->command;
	bool votes = config_is_vote(lock->config);
	bool renews = on_reply != NULL && command->tag == ANSWER_TO_RENEWAL;
	bool tries = on_reply != NULL && is_try(command->tag);
	bool ends = on_reply != NULL && is_release(command->tag);
	int64_t wait_ms;
	int sent = 0;

	command->deadline = deadline;
	command->on_reply = on_reply;
	command->arg = link;
	wait_ms = replicas_ms(lock, command);
	command->replicas = wait_ms > 0 ? lock->config->replicas : 0;
	command->replicas_ms = wait_ms;
	if (votes && tries)
		command->counts_until =
		    clock_now() + wait_ms + lock->config->vote_ms;
	command->again = lock->pace.again;
	if (lock->pace.again == AGAIN_NO)
		lock->pace.repeats = 0;
	if (lock->pace.again == AGAIN_NO &&
	    (renews || (ends && (lock->debt == DEBT_MAYBE || votes))))
		command->again = AGAIN_AS_TEXT;
	lock->pace.again = AGAIN_NO;
	if (tries || ends)
		lock_drop_link(lock_other_link(lock));
	if (tries || ends || (renews && link == lock->link))
		lock->is_unsafe = false;
	if (request->argc > 0)
		sent = way_send(link->way, command);
	if (renews)
		link->renewal = sent == 0 ? LINK_AWAITED : LINK_QUIET;
	if (sent == -1)
		contact_note_silence(lock, NULL);
	request_fini(request);
	return sent;
}

int
contact_ask(struct lock *lock, request_maker *make, reply_handler *on_reply,
    int64_t deadline)
{
	struct request request;

	make(&request, &lock->claim);
	return contact_send(lock->link, &request, on_reply, deadline);
}

void
contact_post(struct lock *lock, struct request *request)
{
	contact_send(lock->link, request, NULL, clock_now() + CONTACT_REPLY_MS);
}

void
contact_make_release(struct lock *lock, struct request *request)
{
	const struct request_end end = {.keep_ms = lock->release.keep_until -
						   clock_now(),
	    .is_late =
		lock->release.is_late || clock_now() >= lock->lease.valid_until,
	    .is_skip = lock->release.is_skip,
	    .run = lock->release.run};

	if (lock->lease.acquired_at == 0)
		lock->claim.was_queued = true;
	request_release(request, &lock->claim, &end);
}

void
contact_post_release(struct lock *lock, bool more)
{
	struct request request;

	contact_make_release(lock, &request);
	request.command.more = more;
	contact_post(lock, &request);
}

void
contact_ring(struct lock *lock, const char (*waiters)[WAITER_SIZE],
    size_t count)
{
	struct request request;

	request_ring(&request, &lock->claim.keys, waiters, count);
	contact_post(lock, &request);
}

void
contact_leave_queue(struct lock *lock)
{
	const struct key_names *keys = &lock->claim.keys;
	const char *const from[] = {keys->queue, keys->alive};
	struct request request;

	if (!lock->claim.was_queued)
		return;
	for (size_t i = 0; i < 2; i++) {
		request_begin(&request);
		REQUEST_ADD(&request, "ZREM", from[i], lock->claim.waiter);
		contact_post(lock, &request);
	}
	lock->queue.position = -1;
	lock->claim.was_queued = false;
}

void
contact_doubt(struct lock *lock, const struct lock_reply *heard)
{
	if (heard->verdict == VERDICT_ANEW ||
	    heard->reply.kind == REPLY_NO_ACCESS)
		contact_drop(lock);
}

/* --- time --------------------------------------------------------------- */

void
contact_retry(struct lock *lock)
{
	int64_t ms = lock->pace.backoff_ms;
	int64_t at = clock_now() + dice_between(ms - ms / 5, ms);

	lock->pace.backoff_ms = clock_min(ms * 2, BACKOFF_MAX_MS);
	lock_due_at(lock, clock_min(at, lock_ends_at(lock)));
}

void
contact_put_off(struct lock *lock, const struct lock_news *news)
{
	if (news->heard != NULL)
		contact_note_trouble(lock, news->heard);
	contact_retry(lock);
}

void
contact_be_patient(struct lock *lock, int64_t ms)
{
	if (ms < CONTACT_REPLY_MS)
		ms = CONTACT_REPLY_MS;
	lock->pace.patience_ms = clock_min(ms, PATIENCE_MAX_MS);
}

/* --- what the last contact brought -------------------------------------- */

void
contact_note_reply(struct lock *lock)
{
	lock->why.answered = true;
	lock->pace.silent_since = 0;
	lock->pace.backoff_ms = CONTACT_BACKOFF_MIN_MS;
}

void
contact_note_grant(struct lock *lock, const struct answer *answer)
{
	struct claim *claim = &lock->claim;

	if (!config_is_vote(lock->config))
		memcpy(lock->grant.fence, answer->fence,
		    sizeof(lock->grant.fence));
	if (claim->outer != NULL)
		return;
	memcpy(claim->fence, answer->fence, sizeof(claim->fence));
	claim->start = answer->start;
	claim->life_ms = answer->life_ms;
}

void
contact_note_round_trip(struct lock *lock, int64_t sent_at)
{
	contact_note_reply(lock);
	lock->pace.round_trip_ms = clock_now() - sent_at;
	contact_be_patient(lock, 2 * lock->pace.round_trip_ms);
}

void
contact_note_error(struct lock *lock, const char *what, const char *label,
    const char *words)
{
	reply_describe(lock->why.text, sizeof(lock->why.text), what, label,
	    words);
}

void
contact_note_trouble(struct lock *lock, const struct lock_reply *heard)
{
	const struct reply *reply = &heard->reply;

	if (heard->verdict == VERDICT_AGAIN) {
		lock->why.answered = false;
		snprintf(lock->why.text, sizeof(lock->why.text),
		    "redirected too often, last by %.960s", reply->label);
		return;
	}
	if (lock->failure == 0)
		contact_note_error(lock, "error from", reply->label,
		    reply->error);
	contact_doubt(lock, heard);
}

void
contact_lose_queue(struct lock *lock)
{
	lock->why.no_queue = true;
	memcpy(lock->why.cost, lock->why.text, sizeof(lock->why.cost));
}

/* That too few replicas have what the server did stays what is wrong with it.
 */
void
contact_note_silence(struct lock *lock, const char *why)
{
	lock->why.answered = false;
	if (why == NULL && lock->is_unsafe)
		return;
	snprintf(lock->why.text, sizeof(lock->why.text), "%s",
	    why != NULL ? why : way_error(lock->link->way));
}

void
contact_note_obstacle(struct lock *lock)
{
	const char *error = way_error(lock->link->way);

	if (!lock->is_unsafe && !way_is_up(lock->link->way) && *error != '\0')
		snprintf(lock->why.text, sizeof(lock->why.text), "%s", error);
}
