#include "lock/lock.h"

#include <stdio.h>
#include <string.h>

#include "base/dice.h"
#include "redis/reply.h"
#include "redis/way.h"

enum { BACKOFF_MAX_MS = 1000, PATIENCE_MAX_MS = 10000 };
enum { REPEATS_MAX = 5 };

int
lock_init(struct lock *lock, struct loop *loop,
    const struct lock_config *config)
{
	*lock = (struct lock){.config = config,
	    .loop = loop,
	    .release.run.status = REQUEST_NO_JOB};
	lock->timer.arg = lock;
	queue_init(&lock->queue);
	lock->links[0].lock = lock->links[1].lock = lock;
	lock->link = &lock->links[0];
	lock->link->way = way_new(loop, config->server, config->key);
	if (claim_init(&lock->claim, config) == -1 || lock->link->way == NULL)
		return -1;
	if (lock->claim.tier == CLAIM_PLAIN)
		snprintf(lock->no_queue, sizeof(lock->no_queue),
		    "in a cluster, no key can lie beside a name with a '}' but "
		    "without a hash tag");
	return 0;
}

void
lock_fini(struct lock *lock)
{
	if (lock->loop != NULL)
		loop_timer_remove(lock->loop, &lock->timer);
	if (lock->loop != NULL)
		loop_timer_remove(lock->loop, &lock->order_timer);
	way_free(lock->links[0].way);
	way_free(lock->links[1].way);
	claim_fini(&lock->claim);
}

void
lock_begin_anew(struct lock *lock)
{
	lock_end(lock, LOCK_IDLE);
	lock->failure = 0;
	lock->command = LOCK_NONE_OUT;
	lock->acquired_at = lock->valid_until = 0;
	lock->grant_unknown = false;
	lock->try = (struct lock_try){.sent_at = 0};
	lock->vote = (struct lock_vote){.is_out = false};
	lock->release = (struct lock_release){.run.status = REQUEST_NO_JOB};
}

/* --- the server --------------------------------------------------------- */

struct lock_link *
lock_other_link(struct lock *lock)
{
	return &lock->links[lock->link == &lock->links[0]];
}

void
lock_drop_link(struct lock_link *link)
{
	link->renewal = LINK_QUIET;
	if (link->way != NULL)
		way_drop(link->way);
}

void
lock_drop(struct lock *lock)
{
	way_drop(lock->link->way);
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
	return tag == ANSWER_TO_RELEASE || tag == ANSWER_TO_PLAIN_RELEASE;
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
lock_send(struct lock_link *link, struct request *request,
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
	command->again = lock->again;
	if (lock->again == AGAIN_NO)
		lock->repeats = 0;
	if (lock->again == AGAIN_NO &&
	    (renews || (ends && (lock->grant_unknown || votes))))
		command->again = AGAIN_AS_TEXT;
	lock->again = AGAIN_NO;
	if (tries || ends)
		lock_drop_link(lock_other_link(lock));
	if (tries || ends || (renews && link == lock->link))
		lock->is_unsafe = false;
	if (request->argc > 0)
		sent = way_send(link->way, command);
	if (renews)
		link->renewal = sent == 0 ? LINK_AWAITED : LINK_QUIET;
	if (sent == -1)
		lock_note_silence(lock, NULL);
	request_fini(request);
	return sent;
}

int
lock_ask(struct lock *lock, request_maker *make, reply_handler *on_reply,
    int64_t deadline)
{
	struct request request;

	make(&request, &lock->claim);
	return lock_send(lock->link, &request, on_reply, deadline);
}

/* Of the errors of WAIT a refusal counts as one, as it will be refused the next
 * time, too. Others pass, such as that of a primary that is being replaced. */
static void
count_replicas(struct lock *lock, struct lock_reply *heard)
{
	struct reply *reply = &heard->reply;
	const char *error = value_error(reply->acks), *label = reply->label;
	char why[ANSWER_WHY_MAX];

	if (reply->kind != REPLY_VALUE || is_release(reply->tag) ||
	    answer_vote(&heard->answer) != ANSWER_YES ||
	    !answer_lacks_replicas(reply->acks, lock->config->replicas, why))
		return;
	if (error != NULL && reply_judge_error(error) == VERDICT_REFUSED) {
		reply->kind = REPLY_NO_ACCESS;
		reply->error = error;
		reply->label = heard->label;
		snprintf(heard->label, sizeof(heard->label),
		    "%.400s: " ANSWER_NEEDS_WAIT, label);
		return;
	}
	lock->is_unsafe = true;
	reply->kind = REPLY_TOO_FEW;
	reply->value = NULL;
	reply->failure = heard->failure;
	snprintf(heard->failure, sizeof(heard->failure), "%s %.512s: %s",
	    config_is_vote(lock->config) ? "not counted" : "not safe on", label,
	    why);
	heard->answer.outcome = ANSWER_NONE;
}

void
lock_hear(struct lock_link *link, const struct reply *reply,
    struct lock_reply *heard)
{
	bool is_ours;

	heard->reply = *reply;
	is_ours = answer_read(&heard->answer, (enum answer_to)reply->tag,
	    reply->value);
	count_replicas(link->lock, heard);
	heard->verdict = reply_judge(&heard->reply);
	if (is_ours || reply->value == NULL ||
	    value_error(reply->value) != NULL)
		return;
	way_reject(link->way);
	if (heard->verdict == VERDICT_VALUE)
		heard->verdict = VERDICT_SILENT;
}

bool
lock_may_repeat(struct lock *lock, const struct reply *reply)
{
	if (++lock->repeats <= REPEATS_MAX) {
		lock->again = reply->again;
		return true;
	}
	lock->answered = false;
	snprintf(lock->error, sizeof(lock->error),
	    "redirected too often, last by %.960s", reply->label);
	return false;
}

static void
post(struct lock *lock, struct request *request)
{
	lock_send(lock->link, request, NULL, clock_now() + LOCK_REPLY_MS);
}

void
lock_make_release(struct lock *lock, struct request *request)
{
	const struct request_end end = {.keep_ms = lock->release.keep_until -
						   clock_now(),
	    .is_late =
		lock->release.is_late || clock_now() >= lock->valid_until,
	    .is_skip = lock->release.is_skip,
	    .run = lock->release.run};

	if (lock->acquired_at == 0)
		lock->claim.was_queued = true;
	request_release(request, &lock->claim, &end);
}

void
lock_post_release(struct lock *lock, bool more)
{
	struct request request;

	lock_make_release(lock, &request);
	request.command.more = more;
	post(lock, &request);
}

void
lock_drop_former(struct lock *lock)
{
	struct request request;

	for (size_t i = 0; i < lock->claim.former_count; i++) {
		request_drop_former(&request, &lock->claim, i);
		request.command.more = true;
		post(lock, &request);
	}
}

void
lock_ring(struct lock *lock, const char (*waiters)[WAITER_SIZE], size_t count)
{
	struct request request;

	request_ring(&request, &lock->claim.keys, waiters, count);
	post(lock, &request);
}

void
lock_enter(struct lock *lock, enum lock_state state, void (*on_due)(void *arg))
{
	lock->state = state;
	lock->timer.on_due = on_due;
}

void
lock_end(struct lock *lock, enum lock_state state)
{
	lock->state = state;
	lock_due_at(lock, CLOCK_NEVER);
}

void
lock_due_at(struct lock *lock, int64_t at)
{
	loop_timer_set(lock->loop, &lock->timer, at);
}

void
lock_due_in(struct lock *lock, int64_t ms)
{
	lock_due_at(lock, clock_now() + ms);
}

void
lock_retry(struct lock *lock, int64_t by)
{
	int64_t ms = lock->backoff_ms;
	int64_t at = clock_now() + dice_between(ms - ms / 5, ms);

	lock->backoff_ms = clock_min(ms * 2, BACKOFF_MAX_MS);
	lock_due_at(lock, clock_min(at, by));
}

void
lock_be_patient(struct lock *lock, int64_t ms)
{
	if (ms < LOCK_REPLY_MS)
		ms = LOCK_REPLY_MS;
	lock->patience_ms = clock_min(ms, PATIENCE_MAX_MS);
}

void
lock_note_reply(struct lock *lock)
{
	lock->answered = true;
	lock->grant_unknown = false;
	lock->try.silent_since = 0;
	lock->backoff_ms = LOCK_BACKOFF_MIN_MS;
}

void
lock_note_grant(struct lock *lock, const struct answer *answer)
{
	struct claim *claim = &lock->claim;

	if (!config_is_vote(lock->config))
		memcpy(lock->fence, answer->fence, sizeof(lock->fence));
	if (claim->outer != NULL)
		return;
	memcpy(claim->fence, answer->fence, sizeof(claim->fence));
	claim->start = answer->start;
	claim->life_ms = answer->life_ms;
}

void
lock_note_round_trip(struct lock *lock, int64_t sent_at)
{
	lock->round_trip_ms = clock_now() - sent_at;
	lock_be_patient(lock, 2 * lock->round_trip_ms);
}

void
lock_note_error(struct lock *lock, const char *what, const char *label,
    const char *words)
{
	reply_describe(lock->error, sizeof(lock->error), what, label, words);
}

/* That too few replicas have what the server did stays what is wrong with it.
 */
void
lock_note_silence(struct lock *lock, const char *why)
{
	lock->answered = false;
	if (why == NULL && lock->is_unsafe)
		return;
	snprintf(lock->error, sizeof(lock->error), "%s",
	    why != NULL ? why : way_error(lock->link->way));
}

void
lock_note_obstacle(struct lock *lock)
{
	const char *error = way_error(lock->link->way);

	if (!lock->is_unsafe && !way_is_up(lock->link->way) && *error != '\0')
		snprintf(lock->error, sizeof(lock->error), "%s", error);
}
