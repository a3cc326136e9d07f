#include "lock/lock.h"

#include <stdio.h>

#include "redis/reply.h"
#include "redis/way.h"

/* How often the same may be asked again. */
enum { REPEATS_MAX = 5 };

#define BIT(answer_to) (1u << (answer_to))
#define TRIES                                       \
	(BIT(ANSWER_TO_TRY) | BIT(ANSWER_TO_JOIN) | \
	    BIT(ANSWER_TO_PLAIN_JOIN) | BIT(ANSWER_TO_OTHER_KIND))
#define RELEASES (BIT(ANSWER_TO_RELEASE) | BIT(ANSWER_TO_PLAIN_RELEASE))

/* What a state is to others, which replies it listens to, and what sends its
 * command. Other replies are to a question of an earlier state. */
static const struct state {
	enum lock_phase phase;
	unsigned hears;
	lock_sender *send;
} states[LOCK_STATES] = {
    [AT_IDLE] = {.phase = LOCK_IDLE},
    [AT_TRY] = {LOCK_ACQUIRING, TRIES, acquire_send_try},
    [AT_BELL] = {LOCK_ACQUIRING, BIT(ANSWER_TO_BELL), bell_send},
    [AT_REST] = {.phase = LOCK_ACQUIRING},
    [AT_HELD] = {.phase = LOCK_HELD},
    [AT_RENEW] = {LOCK_HELD, BIT(ANSWER_TO_RENEWAL), lease_send_renewal},
    [AT_TWICE] = {LOCK_HELD, BIT(ANSWER_TO_RENEWAL), lease_send_beside},
    [AT_LOST] = {.phase = LOCK_LOST},
    [AT_PLANT] = {LOCK_LOST, TRIES, vote_send_plant},
    [AT_AWAIT] = {LOCK_RELEASING, BIT(ANSWER_TO_RENEWAL), release_await},
    [AT_FREE] = {LOCK_RELEASING, RELEASES, release_send},
    [AT_PAUSE] = {.phase = LOCK_RELEASING},
    [AT_RECORD] = {LOCK_RELEASING, BIT(ANSWER_TO_RECORD), release_send_record},
    [AT_LATER] = {.phase = LOCK_RELEASING},
    [AT_DONE] = {.phase = LOCK_RELEASED},
    [AT_FAILED] = {.phase = LOCK_FAILED},
};

/* The whole machine. A pair without a cell does not matter. */
static const struct cell {
	lock_note *note;
	enum lock_state next;
} cells[LOCK_STATES][LOCK_EVENTS] = {
    [AT_IDLE] = {[ON_ACQUIRE] = {acquire_begin, AT_TRY},
	[ON_WITHDRAW] = {release_withdraw, AT_AWAIT}},

    /* --- acquiring --- */
    [AT_TRY] = {[ON_GRANTED] = {acquire_note_grant, AT_HELD},
	[ON_LATE] = {acquire_note_late, AT_REST},
	[ON_BUSY] = {acquire_note_busy, AT_BELL},
	[ON_SKIP] = {acquire_skip, AT_AWAIT},
	[ON_NO_OUTER] = {acquire_forget_outer, AT_TRY},
	[ON_SHUT] = {acquire_shut_out, AT_AWAIT},
	[ON_SPOILT] = {acquire_heal, AT_TRY},
	[ON_AGAIN] = {lock_follow, AT_TRY},
	[ON_TROUBLE] = {acquire_back_off, AT_REST},
	[ON_SILENT] = {acquire_note_silence, AT_REST},
	[ON_DEAD] = {acquire_give_up, AT_AWAIT},
	[ON_DENIED] = {acquire_fall_back, AT_TRY},
	[ON_REFUSED] = {acquire_fail, AT_AWAIT},
	[ON_LATER] = {NULL, AT_REST},
	[ON_DUE] = {acquire_abandon, AT_SAME}, /* the answer is ON_SILENT */
	[ON_OVER] = {acquire_give_up, AT_AWAIT},
	[ON_RELEASE] = {release_begin, AT_AWAIT},
	[ON_WITHDRAW] = {release_withdraw, AT_AWAIT},
	[ON_BEHIND] = {release_behind, AT_DONE}},
    [AT_BELL] = {[ON_BELL] = {bell_note_ring, AT_TRY},
	[ON_FRACTION] = {bell_note_ring, AT_BELL},
	[ON_AGAIN] = {lock_follow, AT_BELL},
	[ON_TROUBLE] = {contact_put_off, AT_REST},
	[ON_REFUSED] = {bell_lose, AT_REST},
	[ON_LATER] = {NULL, AT_REST},
	[ON_WITHDRAW] = {release_withdraw, AT_AWAIT}},
    [AT_REST] = {[ON_DUE] = {NULL, AT_TRY},
	[ON_OVER] = {acquire_give_up, AT_AWAIT},
	[ON_WITHDRAW] = {release_withdraw, AT_AWAIT}},

    /* --- held --- */
    [AT_HELD] = {[ON_DUE] = {NULL, AT_RENEW},
	[ON_RENEW] = {NULL, AT_RENEW},
	[ON_RELEASE] = {release_begin, AT_AWAIT},
	[ON_WITHDRAW] = {release_withdraw, AT_AWAIT},
	[ON_BEHIND] = {release_behind, AT_DONE}},
    [AT_RENEW] = {[ON_OURS] = {lease_note_ours, AT_HELD},
	[ON_GONE] = {lease_note_loss, AT_LOST},
	[ON_AGAIN] = {lock_follow, AT_RENEW},
	[ON_TROUBLE] = {lease_note_trouble, AT_HELD},
	[ON_LATER] = {NULL, AT_HELD},
	[ON_DUE] = {lease_note_overdue, AT_TWICE},
	[ON_RELEASE] = {release_begin, AT_AWAIT},
	[ON_WITHDRAW] = {release_withdraw, AT_AWAIT},
	[ON_BEHIND] = {release_behind, AT_DONE}},
    [AT_TWICE] = {[ON_OURS] = {lease_note_ours, AT_HELD},
	[ON_GONE] = {lease_note_loss, AT_LOST},
	[ON_AGAIN] = {lock_follow, AT_RENEW},
	[ON_TROUBLE] = {lease_note_trouble, AT_HELD},
	[ON_DUE] = {lease_note_overdue, AT_TWICE},
	[ON_RELEASE] = {release_begin, AT_AWAIT},
	[ON_WITHDRAW] = {release_withdraw, AT_AWAIT},
	[ON_BEHIND] = {release_behind, AT_DONE}},
    [AT_LOST] = {[ON_DUE] = {vote_plant, AT_PLANT},
	[ON_ACQUIRE] = {acquire_begin, AT_TRY},
	[ON_PLANT] = {vote_plant, AT_PLANT},
	[ON_RELEASE] = {release_begin, AT_AWAIT},
	[ON_RECORD] = {NULL, AT_RECORD},
	[ON_WITHDRAW] = {release_withdraw, AT_AWAIT}},
    [AT_PLANT] = {[ON_GRANTED] = {vote_note_planted, AT_HELD},
	[ON_AGAIN] = {lock_follow, AT_PLANT},
	[ON_TROUBLE] = {vote_not_planted, AT_LACKS},
	[ON_LATER] = {NULL, AT_LACKS},
	[ON_DUE] = {contact_put_off, AT_SAME},
	[ON_RELEASE] = {release_begin, AT_AWAIT},
	[ON_WITHDRAW] = {release_withdraw, AT_AWAIT}},

    /* --- releasing --- */
    [AT_AWAIT] = {[ON_OURS] = {release_go_on, AT_AWAIT},
	[ON_GONE] = {release_go_on, AT_AWAIT},
	[ON_AGAIN] = {release_go_on, AT_AWAIT},
	[ON_TROUBLE] = {release_go_on, AT_AWAIT},
	[ON_READY] = {NULL, AT_FREE},
	[ON_NO_NEED] = {NULL, AT_END},
	[ON_QUIET] = {release_go_on, AT_FREE},
	[ON_DUE] = {NULL, AT_FREE},
	[ON_OVER] = {NULL, AT_FREE},
	[ON_RELEASE] = {release_begin, AT_AWAIT},
	[ON_WITHDRAW] = {release_hurry, AT_SAME}},
    [AT_FREE] = {[ON_FREED] = {release_note_answer, AT_RECORD},
	[ON_AGAIN] = {lock_follow, AT_FREE},
	[ON_TROUBLE] = {contact_put_off, AT_PAUSE},
	[ON_SILENT] = {release_note_silence, AT_PAUSE},
	[ON_DENIED] = {release_lower_tier, AT_FREE},
	[ON_REFUSED] = {release_tell, AT_END},
	[ON_LATER] = {NULL, AT_PAUSE},
	[ON_DUE] = {release_repeat, AT_SAME},
	[ON_OVER] = {release_over, AT_END},
	[ON_RELEASE] = {release_begin, AT_AWAIT},
	[ON_WITHDRAW] = {release_hurry, AT_SAME}},
    [AT_PAUSE] = {[ON_DUE] = {NULL, AT_FREE},
	[ON_OVER] = {release_over, AT_END},
	[ON_RELEASE] = {release_begin, AT_AWAIT},
	[ON_WITHDRAW] = {release_hurry, AT_SAME}},
    [AT_RECORD] = {[ON_FREED] = {release_note_record, AT_END},
	[ON_AGAIN] = {lock_follow, AT_RECORD},
	[ON_TROUBLE] = {release_note_record, AT_LATER},
	[ON_REFUSED] = {release_note_record, AT_END},
	[ON_NO_NEED] = {NULL, AT_END},
	[ON_DUE] = {NULL, AT_RECORD},
	[ON_OVER] = {NULL, AT_RECORD},
	[ON_WITHDRAW] = {release_hurry, AT_SAME}},
    [AT_LATER] = {[ON_DUE] = {NULL, AT_RECORD},
	[ON_OVER] = {NULL, AT_RECORD},
	[ON_WITHDRAW] = {release_hurry, AT_SAME}},

    /* --- over --- */
    [AT_DONE] = {[ON_DUE] = {vote_plant, AT_PLANT},
	[ON_ACQUIRE] = {acquire_begin, AT_TRY},
	[ON_PLANT] = {vote_plant, AT_PLANT},
	[ON_RELEASE] = {release_begin, AT_AWAIT},
	[ON_RECORD] = {NULL, AT_RECORD}},
    [AT_FAILED] = {[ON_DUE] = {vote_plant, AT_PLANT},
	[ON_ACQUIRE] = {acquire_begin, AT_TRY},
	[ON_PLANT] = {vote_plant, AT_PLANT},
	[ON_RELEASE] = {release_begin, AT_AWAIT},
	[ON_WITHDRAW] = {release_withdraw, AT_AWAIT},
	[ON_BEHIND] = {release_behind, AT_DONE}},
};

/* --- what a reply means -------------------------------------------------- */

/* Of the errors of WAIT a refusal counts as one, as it will be refused the next
 * time, too. Others pass, such as that of a primary that is being replaced. */
static void
count_replicas(struct lock *lock, struct lock_reply *heard)
{
	struct reply *reply = &heard->reply;
	const char *error = value_error(reply->acks), *label = reply->label;
	char why[ANSWER_WHY_MAX];

	if (reply->kind != REPLY_VALUE ||
	    (heard->answer.outcome != ANSWER_GRANTED &&
		heard->answer.outcome != ANSWER_RENEWED) ||
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

/* What a reply means, and what it says, also where AUTH or SELECT was refused.
 * A yes that too few replicas have counts as silence. Whether it is an answer
 * to what was asked. */
static bool
hear(struct lock *lock, const struct reply *reply, struct lock_reply *heard)
{
	bool is_ours;

	heard->reply = *reply;
	is_ours = answer_read(&heard->answer, (enum answer_to)reply->tag,
		      reply->value) ||
		  reply->value == NULL || value_error(reply->value) != NULL;
	count_replicas(lock, heard);
	heard->verdict = reply_judge(&heard->reply);
	if (!is_ours && heard->verdict == VERDICT_VALUE)
		heard->verdict = VERDICT_SILENT;
	return is_ours;
}

/* A busy lock is waited for with a place in the queue. Outside the full tier
 * nobody queues; in it, one without a place has found the queue full. */
static enum lock_event
judge_try_answer(const struct lock *lock, const struct lock_reply *heard)
{
	bool is_vote = config_is_vote(lock->config);
	int64_t late_ms = lock->config->ttl_ms / 2;

	switch (heard->answer.outcome) {
	case ANSWER_GRANTED:
		return !is_vote && clock_now() - late_ms > heard->reply.sent_at
			   ? ON_LATE
			   : ON_GRANTED;
	case ANSWER_BUSY:
		return lock->config->wait && !is_vote &&
			       (heard->answer.position != -1 ||
				   lock->claim.tier != CLAIM_FULL)
			   ? ON_BUSY
			   : ON_SKIP;
	case ANSWER_NOT_HELD:
		return is_vote ? ON_SKIP : ON_NO_OUTER;
	default: /* NOT_DUE, OVERTAKEN, OTHER_KIND */
		return ON_SKIP;
	}
}

/* Where AUTH or SELECT was refused the script may have run all the same, as an
 * open default user or in db 0. A helper key of a wrong type is somebody's
 * mistake; if there is none, it is the lock's own key that holds something
 * else. Of keys and commands that are denied, the lock's own may be no part. */
static enum lock_event
judge_try(const struct lock *lock, const struct lock_reply *heard)
{
	bool is_granted = heard->answer.outcome == ANSWER_GRANTED;
	bool is_shut = heard->reply.kind == REPLY_NO_ACCESS;
	bool is_full = lock->claim.tier == CLAIM_FULL;

	if (lock->state == AT_PLANT)
		return is_granted && !is_shut &&
			       *heard->answer.uncounted == '\0'
			   ? ON_GRANTED
			   : ON_TROUBLE;
	if (is_shut && (is_granted || heard->verdict != VERDICT_RETRY))
		return ON_SHUT;
	switch (heard->verdict) {
	case VERDICT_VALUE:
		return judge_try_answer(lock, heard);
	case VERDICT_SILENT:
		return ON_SILENT;
	case VERDICT_DEAD:
		return config_is_vote(lock->config) ? ON_SILENT : ON_DEAD;
	case VERDICT_WRONGTYPE:
		return is_full && !lock->healed ? ON_SPOILT : ON_REFUSED;
	case VERDICT_REFUSED:
		return is_full && !claim_needs_helpers(&lock->claim)
			   ? ON_DENIED
			   : ON_REFUSED;
	case VERDICT_REPORT:
		return ON_REFUSED;
	default:
		return ON_TROUBLE;
	}
}

static bool
may_pass(enum verdict verdict)
{
	return verdict == VERDICT_RETRY || verdict == VERDICT_ANEW ||
	       verdict == VERDICT_AGAIN;
}

/* Whatever ends the wait, the next try shows what it was worth. */
static enum lock_event
judge_bell(const struct lock *lock, const struct lock_reply *heard)
{
	const char *error = value_error(heard->reply.value);

	if (heard->verdict == VERDICT_AGAIN)
		return ON_TROUBLE;
	if (error == NULL)
		return ON_BELL;
	/* In the words of Redis before 6. */
	if (!lock->queue.whole_seconds &&
	    reply_is(error, "ERR timeout is not an integer"))
		return ON_FRACTION;
	return may_pass(reply_judge_error(error)) ? ON_TROUBLE : ON_REFUSED;
}

/* Of a lock that has failed only what the script has come to matters. */
static enum lock_event
judge_release(const struct lock *lock, const struct lock_reply *heard)
{
	bool has_failed = lock->failure != 0;
	const char *error =
	    has_failed ? value_error(heard->reply.value) : heard->reply.error;

	if (heard->verdict == VERDICT_AGAIN)
		return ON_TROUBLE;
	if (error == NULL)
		return heard->answer.outcome != ANSWER_NONE ? ON_FREED
							    : ON_SILENT;
	if (may_pass(has_failed ? reply_judge_error(error) : heard->verdict))
		return ON_TROUBLE;
	return lock->claim.tier == CLAIM_FULL && lock->claim.outer == NULL
		   ? ON_DENIED
		   : ON_REFUSED;
}

/* To a renewal a refusal says nothing about the lock: passwords and rules
 * change under long jobs, and may change back before the lease ends. So the
 * lease decides, of other errors too. After a refused AUTH or SELECT a value
 * may be about another db. */
enum lock_event
lock_judge(const struct lock *lock, const struct lock_reply *heard)
{
	enum verdict verdict = heard->verdict;
	enum answer_outcome outcome = heard->answer.outcome;

	if (verdict == VERDICT_AGAIN && lock->pace.repeats < REPEATS_MAX)
		return ON_AGAIN;
	switch (heard->reply.tag) {
	case ANSWER_TO_BELL:
		return judge_bell(lock, heard);
	case ANSWER_TO_RENEWAL:
		if (verdict == VERDICT_WRONGTYPE)
			return ON_GONE;
		if (verdict != VERDICT_VALUE)
			return ON_TROUBLE;
		return outcome == ANSWER_NOT_OURS ? ON_GONE : ON_OURS;
	case ANSWER_TO_RELEASE:
	case ANSWER_TO_PLAIN_RELEASE:
		return judge_release(lock, heard);
	case ANSWER_TO_RECORD:
		if (outcome != ANSWER_NONE)
			return ON_FREED;
		return clock_now() < lock->release.give_up_at &&
			       (heard->reply.error == NULL || may_pass(verdict))
			   ? ON_TROUBLE
			   : ON_REFUSED;
	default:
		return judge_try(lock, heard);
	}
}

/* --- events -------------------------------------------------------------- */

/* The next state is entered before the note: what that gives up is not awaited
 * any more. Of a vote that has failed, the set decides about the next try. */
static void
take_event(struct lock *lock, enum lock_event event,
    const struct lock_reply *heard)
{
	const struct lock_news news = {lock->state, event, heard};
	const struct cell *cell = &cells[lock->state][event];
	const struct state *state;

	if (cell->next != AT_SAME)
		lock->state = cell->next;
	if (cell->note != NULL)
		cell->note(lock, &news);
	if (cell->next == AT_SAME)
		return;
	if (cell->next == AT_LACKS)
		lock->state = lock->vote.lacks;
	if (cell->next == AT_END)
		lock->state = lock->failure == 0 ? AT_DONE : AT_FAILED;
	if (cell->next == AT_REST && lock->failure != 0)
		lock->state = AT_FAILED;
	state = &states[lock->state];
	if (cell->next != AT_LACKS &&
	    (state->phase == LOCK_RELEASED || state->phase == LOCK_FAILED))
		lock_due_at(lock, CLOCK_NEVER);
	if (state->send != NULL && (event = state->send(lock)) != ON_NOTHING)
		take_event(lock, event, NULL);
}

void
lock_order(struct lock *lock, enum lock_event order)
{
	take_event(lock, order, NULL);
}

/* Whether the reply to a renewal counts. While both are awaited, only a yes or
 * a no about the lock itself does, and none of a server that was the primary
 * before the other connection found a new one. */
static bool
is_counted(struct lock_link *link, const struct lock_reply *heard)
{
	struct lock *lock = link->lock;
	struct lock_link *other = &lock->links[link == &lock->links[0]];
	bool both =
	    link->renewal == LINK_AWAITED && other->renewal == LINK_AWAITED;

	if (link->renewal == LINK_IGNORED ||
	    (both && (heard->reply.kind != REPLY_VALUE ||
			 heard->answer.outcome == ANSWER_NONE ||
			 way_has_moved(other->way, link->way))))
		return false;
	link->renewal = LINK_QUIET;
	if (both)
		other->renewal = LINK_IGNORED;
	lock->link = link;
	return true;
}

/* A connection whose renewal does not count is not needed any more. */
void
lock_on_reply(void *arg, const struct reply *reply)
{
	struct lock_link *link = arg;
	struct lock *lock = link->lock;
	struct lock_reply heard;
	bool renews = reply->tag == ANSWER_TO_RENEWAL, is_ours;

	if (renews && link->renewal == LINK_QUIET)
		return; /* it was given up */
	is_ours = hear(lock, reply, &heard);
	if (renews && !is_counted(link, &heard)) {
		lock_drop_link(link);
		if (lock_other_link(lock)->renewal == LINK_QUIET)
			take_event(lock, ON_QUIET, NULL);
		return;
	}
	if (!is_ours)
		way_reject(link->way);
	if (TRIES & BIT(reply->tag))
		lock->vote.is_out = false;
	if (reply->tag == ANSWER_TO_HEAD && heard.answer.outcome != ANSWER_NONE)
		claim_expect_head(&lock->claim, heard.answer.head);
	else if (reply->tag == ANSWER_TO_ORDER)
		lease_note_order(lock, &heard);
	else if (states[lock->state].hears & BIT(reply->tag))
		take_event(lock, lock_judge(lock, &heard), &heard);
	if (heard.reply.kind == REPLY_TOO_FEW)
		way_doubt(lock->link->way);
}

void
lock_follow(struct lock *lock, const struct lock_news *news)
{
	lock->pace.again = news->heard->reply.again;
	lock->pace.repeats++;
}

void
lock_due_at(struct lock *lock, int64_t at)
{
	loop_timer_set(lock->loop, &lock->timer, at);
}

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

int64_t
lock_ends_at(const struct lock *lock)
{
	enum lock_phase phase = states[lock->state].phase;

	if (phase == LOCK_ACQUIRING && lock->pace.silent_since != 0)
		return lock->pace.silent_since +
		       lock->config->server_timeout_ms;
	return phase == LOCK_RELEASING ? lock->release.give_up_at : CLOCK_NEVER;
}

static void
on_due(void *arg)
{
	struct lock *lock = arg;

	take_event(lock, clock_now() >= lock_ends_at(lock) ? ON_OVER : ON_DUE,
	    NULL);
}

enum lock_phase
lock_phase(const struct lock *lock)
{
	return states[lock->state == AT_PLANT ? lock->vote.lacks : lock->state]
	    .phase;
}

int
lock_init(struct lock *lock, struct loop *loop,
    const struct lock_config *config)
{
	*lock = (struct lock){.state = AT_IDLE,
	    .config = config,
	    .loop = loop,
	    .timer = {.on_due = on_due, .arg = lock},
	    .release.run.status = REQUEST_NO_JOB};
	queue_init(&lock->queue);
	lock->links[0].lock = lock->links[1].lock = lock;
	lock->link = &lock->links[0];
	lock->link->way = way_new(loop, config->server, config->key);
	if (claim_init(&lock->claim, config) == -1 || lock->link->way == NULL)
		return -1;
	if (lock->claim.tier == CLAIM_FULL)
		return 0;
	lock->why.no_queue = true;
	snprintf(lock->why.cost, sizeof(lock->why.cost),
	    "in a cluster, no key can lie beside a name with a '}' but "
	    "without a hash tag");
	return 0;
}

void
lock_fini(struct lock *lock)
{
	if (lock->loop != NULL) {
		loop_timer_remove(lock->loop, &lock->timer);
		loop_timer_remove(lock->loop, &lock->order.timer);
	}
	way_free(lock->links[0].way);
	way_free(lock->links[1].way);
	claim_fini(&lock->claim);
}
