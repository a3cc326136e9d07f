/* States of a lock:
 *
 *   IDLE --> ACQUIRING --granted--> HELD --released--> RELEASING --> RELEASED
 *             |  ^  |                |  renewal = 0         ^
 *             |  +--+ busy, silent   +--------> LOST        |
 *             |                                             |
 *             +--> FAILED          ACQUIRING --cancelled ---+
 *
 * Each of ACQUIRING, HELD and RELEASING has one command of its own that is out
 * or due (timer). Answers to a command of an earlier state are ignored.
 *
 * A waiter, within ACQUIRING. The try is claim, heartbeat and poll in one; a
 * doorbell only hints that it is time for one:
 *
 *            +------------- time is up, or any doubt ----------------+
 *            v                                                       |
 *   --> a try is out --busy, in line--> blocked on the doorbell -----+
 *         |  ^    |                         (BLPOP) | rung           |
 *         |  |    |                                 v                |
 *         |  |    |                              (a try)             |
 *         |  |    +--foreign holder and head of the line, no queue,  |
 *         |  |       no doorbell, server busy--> pause (timer) ------+
 *         |  +--- some keys can't be used: once more without them
 *         +--granted--> HELD
 *
 * A server's script is never interrupted, but the answer may be lost: whoever
 * can't tell (unsure) goes on as if it had been granted to us. */
#include "lock/lock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dice.h"
#include "base/num.h"
#include "lock/answer.h"
#include "lock/held.h"
#include "lock/key.h"
#include "lock/quorum.h"
#include "lock/script.h"
#include "redis/reply.h"

enum { BACKOFF_MIN_MS = 100, BACKOFF_MAX_MS = 1000 };
/* An answer is awaited so long, on a connection that may have died unnoticed.
 */
enum { RENEW_MS = 1000, RENEW_MAX_MS = 10000 };
/* Between two tries of who has no place in line, and of the head of a line that
 * a foreign holder keeps waiting: such a one rings no bell. */
enum { POLL_MIN_MS = 50, POLL_MAX_MS = 250 };
enum { FOREIGN_MIN_MS = 100, FOREIGN_MAX_MS = 500 };
/* Who may be the next soon tells more often that he lives. The script takes
 * three times as much for death. */
enum { HEARTBEAT_MS = 5000, HEARTBEAT_NEXT_MS = 1500, NEXT_RANKS = 2 };
enum { RELEASE_MS = 10000, CANCEL_MS = 300 };
/* A holder that has released its lock removes expired entries of others so
 * long, to find the waiter to ring; without it that one comes at its heartbeat.
 */
enum { SWEEP_MS = 1000 };
enum { WORDS_MAX = 2 * ANSWER_RINGS_MAX + 8 }; /* of a command */
enum { HELPER_LIFE_MS = 60 * 60 * 1000 };
enum { READ_BYTES = 16384, SLACK_BYTES = 256, UNDO_REST_BYTES = 1024 };

static void on_due(void *arg);
static void on_stray(void *arg);
static void send_release(struct lock *lock);
static void send_try(struct lock *lock);
static void give_up_trying(struct lock *lock);

/* --- small arithmetic ------------------------------------------------- */

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
helper_life(int64_t ttl_ms)
{
	return ttl_ms * 10 > HELPER_LIFE_MS ? ttl_ms * 10 : HELPER_LIFE_MS;
}

/* --- set-up ----------------------------------------------------------- */

static bool
name_keys(struct lock *lock)
{
	const char *key = lock->config->key;
	struct lock_keys *keys = &lock->keys;

	keys->fence = key_helper(key, 'f');
	keys->info = key_helper(key, 'i');
	keys->queue = key_helper(key, 'q');
	keys->alive = key_helper(key, 'l');
	keys->nested = key_helper(key, 'n');
	return keys->fence != NULL && keys->info != NULL &&
	       keys->queue != NULL && keys->alive != NULL &&
	       keys->nested != NULL;
}

/* A release that has been sent for a token may come late: it must meet nothing
 * that was granted afterwards. */
static bool
take_new_token(struct lock *lock)
{
	free(lock->keys.bell);
	lock->keys.bell = NULL;
	if (token_make(lock->token) == -1)
		return false;
	waiter_name(lock->waiter, *lock->config->kind->letter, lock->token,
	    &lock->self);
	lock->keys.bell = key_bell(lock->config->key, lock->token);
	return lock->keys.bell != NULL;
}

/* A try that was not answered may reach the server at any later time, and put
 * its token into the key after the lock was granted to the next try, lost, and
 * used by others. So the next try has another token and names the former ones:
 * what these have got passes to it. The waiter's name in the queue stays, and
 * so do its place and its doorbell. */
static bool
supersede_token(struct lock *lock)
{
	if (lock->former_count == LOCK_FORMER_MAX)
		memmove(lock->former[0], lock->former[1],
		    --lock->former_count * sizeof(*lock->former));
	memcpy(lock->former[lock->former_count++], lock->token,
	    sizeof(lock->token));
	return token_make(lock->token) == 0;
}

/* A nested run takes part in what those above it hold, by their token, as long
 * as the server still knows it. */
static void
find_outer(struct lock *lock)
{
	char token[TOKEN_SIZE];

	lock->outer = held_find(lock->config->held, lock->config->key, token);
	if (lock->outer == NULL)
		return;
	memcpy(lock->run, lock->token, sizeof(lock->run));
	memcpy(lock->token, token, sizeof(lock->token));
}

static void
forget_outer(struct lock *lock)
{
	lock->outer = NULL;
	memcpy(lock->token, lock->run, sizeof(lock->token));
	lock->run[0] = '\0';
}

/* They would lie in another slot, and so mostly on another node. */
static void
go_without_helpers(struct lock *lock)
{
	lock->tier = LOCK_KEY_ONLY;
	snprintf(lock->no_queue, sizeof(lock->no_queue),
	    "in a cluster, no key can lie beside a name with a '}' but without "
	    "a hash tag");
}

int
lock_init(struct lock *lock, struct loop *loop,
    const struct lock_config *config)
{
	*lock = (struct lock){.config = config,
	    .loop = loop,
	    .rank = -1,
	    .poll_ms = FOREIGN_MIN_MS};
	lock->timer = (struct loop_timer){.on_due = on_due, .arg = lock};
	holder_self(&lock->self);
	lock->nodes = nodes_new(loop, &config->nodes);
	if (lock->nodes == NULL || !name_keys(lock) || !take_new_token(lock))
		return -1;
	nodes_watch_strays(lock->nodes, on_stray, lock);
	lock->tier =
	    nodes_are_one(lock->nodes) ? LOCK_WITH_QUEUE : LOCK_WITH_NESTED;
	find_outer(lock);
	if (!nodes_place(lock->nodes))
		go_without_helpers(lock);
	return 0;
}

void
lock_fini(struct lock *lock)
{
	if (lock->loop != NULL)
		loop_timer_remove(lock->loop, &lock->timer);
	nodes_free(lock->nodes);
	free(lock->keys.fence);
	free(lock->keys.info);
	free(lock->keys.queue);
	free(lock->keys.alive);
	free(lock->keys.nested);
	free(lock->keys.bell);
}

/* --- what all phases share -------------------------------------------- */

static void
due_in(struct lock *lock, int64_t ms)
{
	loop_timer_set(lock->loop, &lock->timer, clock_now() + ms);
}

static int64_t
next_backoff(struct lock *lock)
{
	int64_t ms = lock->backoff_ms;

	lock->backoff_ms = least(ms * 2, BACKOFF_MAX_MS);
	return ms;
}

/* A server or a name server that is always slow must not lose us the lock, and
 * one that went away must be noticed soon. */
static void
be_patient(struct lock *lock, int64_t ms)
{
	if (ms < RENEW_MS)
		ms = RENEW_MS;
	lock->patience_ms = least(ms, RENEW_MAX_MS);
}

static void
note_answer(struct lock *lock)
{
	lock->answered = true;
	lock->heard = true;
	lock->backoff_ms = BACKOFF_MIN_MS;
}

static void
note_round_trip(struct lock *lock, int64_t sent_at)
{
	lock->round_trip_ms = clock_now() - sent_at;
	be_patient(lock, 2 * lock->round_trip_ms);
}

static void
note_server_error(struct lock *lock, const char *what, const char *label,
    const char *words)
{
	snprintf(lock->error, sizeof(lock->error), "%s %.512s: %.256s", what,
	    label, reply_explain(words));
}

static void
note_silence(struct lock *lock, const char *why)
{
	lock->answered = false;
	lock->heard = false;
	snprintf(lock->error, sizeof(lock->error), "%s", why);
}

/* Our time may be over before that of a connection that is being made. */
static void
note_obstacle(struct lock *lock)
{
	bool is_one = nodes_are_one(lock->nodes);

	if (is_one ? nodes_are_up(lock->nodes) : !lock->in_flight)
		return;
	if (*nodes_error(lock->nodes) != '\0')
		snprintf(lock->error, sizeof(lock->error), "%s",
		    nodes_error(lock->nodes));
}

/* Writes how many keys the lock uses and which; returns the number of words. */
static size_t
put_keys(const struct lock *lock, const char **words)
{
	static const char *const counts[] = {[LOCK_KEY_ONLY] = "1",
	    [LOCK_WITH_RECORD] = "3",
	    [LOCK_WITH_NESTED] = "4",
	    [LOCK_WITH_QUEUE] = "7"};
	const struct lock_keys *keys = &lock->keys;
	const char *const names[] = {lock->config->key, keys->fence, keys->info,
	    keys->nested, keys->queue, keys->alive, keys->bell};

	words[0] = counts[lock->tier];
	memcpy(words + 1, names, lock->tier * sizeof(*names));
	return lock->tier + 1;
}

/* Writes the last arguments of a script, and the end. */
static void
put_former(const struct lock *lock, const char **words)
{
	for (size_t i = 0; i < lock->former_count; i++)
		*words++ = lock->former[i];
	*words = NULL;
}

/* Sends EVAL script with the number of keys, the keys and the arguments.
 * When memory is out, on_reply is not called: a failed contact like others. */
static int
eval(struct lock *lock, const char *script, const char *const *words,
    const struct conn_command *how, enum nodes_ask ask)
{
	const char *argv[WORDS_MAX] = {"EVAL", script};
	struct conn_command command = *how;

	command.argc = 2;
	while (*words != NULL)
		argv[command.argc++] = *words++;
	command.argv = argv;
	command.arg = lock;
	if (nodes_send(lock->nodes, &command, ask) == -1) {
		note_silence(lock, nodes_error(lock->nodes));
		return -1;
	}
	return 0;
}

/* --- the line ----------------------------------------------------------- */

static void
expect_next(struct lock *lock, const char *name)
{
	lock->next[0] = '\0';
	if (strlen(name) < sizeof(lock->next))
		memcpy(lock->next, name, strlen(name) + 1);
}

/* The doorbell of that waiter, to be freed; NULL for nobody. */
static char *
bell_of(const struct lock *lock, const char *name)
{
	struct waiter waiter;

	if (!waiter_parse(&waiter, name))
		return NULL;
	return key_bell(lock->config->key, waiter.token);
}

/* This is a hint: the reply does not matter. */
static void
ring(struct lock *lock, const struct answer_rings *rings)
{
	char count[16];
	char *bells[ANSWER_RINGS_MAX];
	const char *words[2 * ANSWER_RINGS_MAX + 4] = {count, lock->keys.queue,
	    lock->keys.alive};
	const struct conn_command how = {.deadline = clock_now() + RENEW_MS};
	const char **names = words + 3 + rings->count;
	size_t n = 0;

	while (n < rings->count &&
	       (bells[n] = bell_of(lock, rings->waiters[n])) != NULL) {
		words[3 + n] = bells[n];
		names[n] = rings->waiters[n];
		n++;
	}
	snprintf(count, sizeof(count), "%zu", n + 2);
	if (n > 0 && n == rings->count)
		eval(lock, script_ring, words, &how, NODES_TELL);
	while (n > 0)
		free(bells[--n]);
}

/* The first in line is the one that was expected, or the one named first. */
static void
ring_behind(struct lock *lock, const struct answer_release *answer)
{
	const struct answer_rings *rings = &answer->rings;
	char *first =
	    bell_of(lock, rings->count > 0 ? rings->waiters[0] : lock->next);
	char *second = bell_of(lock, answer->behind);
	const char *const words[] = {"4", lock->keys.queue, lock->keys.alive,
	    first, second, answer->behind, NULL};
	const struct conn_command how = {.deadline = clock_now() + RENEW_MS};

	if (first != NULL && second != NULL)
		eval(lock, script_ring_behind, words, &how, NODES_TELL);
	free(first);
	free(second);
}

/* --- release ---------------------------------------------------------- */

static void
finish_release(struct lock *lock, bool confirmed)
{
	lock->unconfirmed = !confirmed && !lock->settled;
	lock->state = lock->failure == 0 ? LOCK_RELEASED : LOCK_FAILED;
	loop_timer_set(lock->loop, &lock->timer, CLOCK_NEVER);
}

static void
give_up_within(struct lock *lock, int64_t ms)
{
	lock->give_up_at = least(lock->give_up_at, clock_now() + ms);
	loop_timer_set(lock->loop, &lock->timer,
	    least(lock->timer.at, lock->give_up_at));
}

static void
retry_release(struct lock *lock)
{
	int64_t at = clock_now() + next_backoff(lock);

	loop_timer_set(lock->loop, &lock->timer, least(at, lock->give_up_at));
}

static void
on_release_error(struct lock *lock, const struct reply *reply,
    const char *words)
{
	enum reply_verdict verdict = reply_judge(REPLY_RELEASING, words);

	note_server_error(lock, "error from", reply->label, words);
	if (verdict == REPLY_REPORT) {
		finish_release(lock, false);
		return;
	}
	/* The helper keys have moved to another node, the lock itself has not.
	 */
	if (strncmp(words, "TRYAGAIN", strlen("TRYAGAIN")) == 0)
		lock->tier = LOCK_KEY_ONLY;
	if (verdict == REPLY_RECONNECT || reply->kind == REPLY_NO_ACCESS)
		nodes_drop(lock->nodes);
	retry_release(lock);
}

/* The release is repeated until the server has removed what has expired: only
 * then is it known who is next. After a release that may have freed the lock,
 * "not yours" means nothing. */
static void
on_release_answer(struct lock *lock, const struct answer_release *answer)
{
	if (answer->how == ANSWER_NOT_OURS && !lock->unsure &&
	    clock_now() < lock->valid_until)
		lock->lost_at_release = true;
	ring(lock, &answer->rings);
	ring_behind(lock, answer);
	if (!lock->settled) {
		lock->released = answer->how;
		lock->kept_until = clock_now() + answer->kept_ms;
	}
	if (answer->how != ANSWER_LEFT && !lock->settled) {
		lock->settled = true;
		give_up_within(lock, SWEEP_MS);
	}
	if (answer->unfinished && clock_now() < lock->give_up_at) {
		lock->unsure = true;
		send_release(lock);
	} else {
		finish_release(lock, true);
	}
}

static void
on_released(void *arg, const struct reply *reply)
{
	struct lock *lock = arg;
	const char *error =
	    lock->failure == 0 ? reply->error : value_error(reply->value);
	struct answer_release answer;

	if (lock->state != LOCK_RELEASING)
		return;
	lock->in_flight = false;
	if (error != NULL) {
		on_release_error(lock, reply, error);
	} else if (answer_release(&answer, reply->value)) {
		on_release_answer(lock, &answer);
	} else {
		lock->unsure = lock->unsure || reply->sent_at != CLOCK_NEVER;
		note_silence(lock, reply->failure);
		be_patient(lock, 2 * lock->patience_ms);
		retry_release(lock);
	}
}

/* A nested run uses the lock as the run around it does. */
static const struct kind *
kind_in_use(const struct lock *lock)
{
	return lock->outer != NULL ? lock->outer : lock->config->kind;
}

/* 0 for other kinds. */
static int
permits_here(const struct lock *lock)
{
	const struct lock_config *config = lock->config;

	return config->kind == &kind_permits ? config->permits : 0;
}

static void
write_permits(const struct lock *lock, char *text, size_t size)
{
	text[0] = '\0';
	if (permits_here(lock) > 0)
		snprintf(text, size, "%d", permits_here(lock));
}

static int
eval_release(struct lock *lock, const struct conn_command *how,
    enum nodes_ask ask)
{
	const char *undo = lock->failure == LOCK_REFUSED ? lock->fence : "";
	char *bell = bell_of(lock, lock->next);
	const struct kind *kind = kind_in_use(lock);
	char permits[16];
	char kept[24];
	const char *const arguments[] = {lock->token, kind->letter, permits,
	    undo, kept, lock->waiter, lock->run, lock->next};
	const char *words[WORDS_MAX];
	size_t count = put_keys(lock, words);
	int64_t keep_ms = lock->keep_until - clock_now();
	struct conn_command own = *how;
	int sent;

	own.is_answer = answer_is_release;
	if (lock->tier == LOCK_WITH_QUEUE) {
		words[0] = "8";
		words[count++] = bell != NULL ? bell : lock->keys.bell;
	}
	memcpy(words + count, arguments, sizeof(arguments));
	put_former(lock,
	    words + count + sizeof(arguments) / sizeof(*arguments));
	snprintf(kept, sizeof(kept), "%" PRId64, keep_ms > 0 ? keep_ms : 0);
	write_permits(lock, permits, sizeof(permits));
	sent = eval(lock, kind->release, words, &own, ask);
	free(bell);
	return sent;
}

static void
send_release(struct lock *lock)
{
	const struct conn_command how = {.on_reply = on_released,
	    .deadline =
		least(lock->give_up_at, clock_now() + lock->patience_ms)};

	lock->release_waits = false;
	if (eval_release(lock, &how, NODES_RELEASE) == -1) {
		retry_release(lock);
		return;
	}
	lock->in_flight = true;
	loop_timer_set(lock->loop, &lock->timer, lock->give_up_at);
}

/* A nested run has nothing to undo but its place beside the others. Only the
 * keys that it needs: its bytes count, see script.h. more: a release follows.
 */
static void
undo_try(struct lock *lock, enum nodes_ask ask, bool more)
{
	const struct lock_keys *keys = &lock->keys;
	const char *words[WORDS_MAX] = {"5", lock->config->key, keys->info,
	    keys->queue, keys->alive, keys->bell};
	const struct conn_command how = {.deadline = clock_now() + RENEW_MS,
	    .more = more};
	size_t count = 6;

	if (lock->tier < LOCK_WITH_QUEUE) {
		count = lock->tier == LOCK_KEY_ONLY ? 2 : 3;
		words[0] = lock->tier == LOCK_KEY_ONLY ? "1" : "2";
	}
	words[count++] = lock->token;
	words[count++] = lock->waiter;
	put_former(lock, words + count);
	if (lock->outer == NULL)
		eval(lock, script_undo, words, &how, ask);
}

static void
on_stray(void *arg)
{
	undo_try(arg, NODES_RECALL, false);
}

/* A renewal that overtakes the release, on a connection of its own, would
 * lengthen the lease of a lock that is to be kept for a while. */
static void
begin_release(struct lock *lock, int64_t give_up_at)
{
	if ((lock->in_flight && lock->unsure) ||
	    (nodes_owe_grant(lock->nodes) && lock->keep_until <= clock_now()))
		undo_try(lock, NODES_UNDO, true);
	lock->state = LOCK_RELEASING;
	lock->settled = false;
	lock->give_up_at = give_up_at;
	lock->backoff_ms = BACKOFF_MIN_MS;
	lock->release_waits = nodes_renew_twice(lock->nodes);
	if (lock->release_waits)
		loop_timer_set(lock->loop, &lock->timer,
		    least(clock_now() + lock->patience_ms, give_up_at));
	else
		send_release(lock);
}

static int64_t
release_by(const struct lock *lock)
{
	return least(lock->valid_until, clock_now() + RELEASE_MS);
}

void
lock_release(struct lock *lock, int64_t keep_until)
{
	lock->keep_until = keep_until;
	begin_release(lock, release_by(lock));
}

/* A connection that is blocked, on the doorbell or until replicas have a grant,
 * executes nothing that is sent behind, so that a fresh one is needed. */
static bool
leave_blocked(struct lock *lock)
{
	bool waits = lock->in_flight && lock->config->replicas > 0 &&
		     nodes_are_up(lock->nodes);

	if (!lock->blocked && !waits)
		return false;
	lock->state = LOCK_RELEASING;
	nodes_drop(lock->nodes);
	return true;
}

/* A try that is out is overtaken by nothing on its own connection. One that was
 * sent on an earlier connection may still come later: that costs others a ttl
 * and can't be helped. */
void
lock_cancel(struct lock *lock)
{
	bool may_be_ours =
	    lock->state == LOCK_HELD || lock->unsure || lock->in_flight;
	bool in_line =
	    lock->rank != -1 && (lock->answered || lock->former_count > 0);
	bool left;

	if (lock->state == LOCK_RELEASING)
		give_up_within(lock, CANCEL_MS);
	if (lock->state == LOCK_RELEASING || lock->state == LOCK_RELEASED)
		return;
	note_obstacle(lock);
	lock->unsure = true;
	left = leave_blocked(lock);
	if ((may_be_ours && (left || nodes_are_up(lock->nodes))) || in_line) {
		begin_release(lock, clock_now() + CANCEL_MS);
	} else {
		finish_release(lock, !may_be_ours);
		nodes_drop(lock->nodes); /* a try that isn't sent never is */
	}
}

/* --- acquire ---------------------------------------------------------- */

static void
fail(struct lock *lock, enum lock_failure failure)
{
	lock->failure = failure;
	lock->state = LOCK_FAILED;
	loop_timer_set(lock->loop, &lock->timer, CLOCK_NEVER);
}

static void
free_and_fail(struct lock *lock, enum lock_failure failure)
{
	lock->failure = failure;
	begin_release(lock, clock_now() + CANCEL_MS);
}

static int64_t
silence_ends_at(const struct lock *lock)
{
	return lock->silent_since + lock->config->server_timeout_ms;
}

static void
try_again(struct lock *lock)
{
	int64_t at = clock_now() + next_backoff(lock);

	if (!lock->heard)
		at = least(at, silence_ends_at(lock));
	loop_timer_set(lock->loop, &lock->timer, at);
}

/* With a password or a db that was refused the script may have run all the
 * same, as an open default user or in db 0. */
static void
on_refused(struct lock *lock, const struct reply *reply)
{
	note_server_error(lock, "refused by", reply->label, reply->error);
	lock->failure = LOCK_REFUSED;
	lock_cancel(lock);
}

/* With fewer keys, as long as others may be to blame. A nested run waits in no
 * queue, and only permissions speak against the key of nested runs. */
static bool
try_lower_tier(struct lock *lock, enum reply_verdict verdict)
{
	bool nested = lock->outer != NULL;
	bool refused = verdict == REPLY_REFUSED;

	if (lock->tier == LOCK_WITH_QUEUE && (refused || !nested))
		lock->tier = LOCK_WITH_NESTED;
	else if (lock->tier == LOCK_WITH_NESTED && refused)
		lock->tier = LOCK_WITH_RECORD;
	else
		return false;
	if (!nested || lock->tier == LOCK_WITH_RECORD)
		memcpy(lock->no_queue, lock->error, sizeof(lock->no_queue));
	send_try(lock);
	return true;
}

static void
on_try_error(struct lock *lock, const struct reply *reply)
{
	enum reply_verdict verdict = reply_judge(REPLY_ACQUIRING, reply->error);
	bool refused = reply->kind == REPLY_NO_ACCESS;
	bool hopeless = verdict == REPLY_NOT_A_LOCK ||
			verdict == REPLY_REFUSED || verdict == REPLY_REPORT;

	note_server_error(lock, "error from", reply->label, reply->error);
	lock->answered = false;
	if (hopeless && !refused && try_lower_tier(lock, verdict))
		return;
	if (verdict == REPLY_NOT_A_LOCK) {
		fail(lock, LOCK_NOT_A_LOCK);
	} else if (verdict == REPLY_REFUSED) {
		fail(lock, LOCK_REFUSED);
	} else if (verdict == REPLY_REPORT) {
		fail(lock, LOCK_ERROR);
	} else {
		/* A server that says so is not silent: who waits goes on. */
		lock->heard = lock->config->wait;
		if (verdict == REPLY_RECONNECT || refused)
			nodes_drop(lock->nodes);
		try_again(lock);
	}
}

static void
note_holder(struct lock *lock, const struct answer_try *answer)
{
	lock->rank = answer->rank;
	lock->waiting = answer->waiting;
	lock->holder = answer->holder;
	lock->holder.permits_here = permits_here(lock);
}

/* The first ones in line wake when the lease ends, one after the other: nobody
 * rings for a holder who has died. */
static int64_t
next_heartbeat(const struct lock *lock)
{
	static const int64_t after_end_ms[] = {2, 50, 100};
	const int64_t ranks = sizeof(after_end_ms) / sizeof(*after_end_ms);
	int64_t beat =
	    lock->rank < NEXT_RANKS ? HEARTBEAT_NEXT_MS : HEARTBEAT_MS;
	int64_t ms = dice_between(beat - beat / 10, beat + beat / 10);

	if (lock->rank < ranks && lock->holder.left_ms >= 0)
		ms = least(ms, lock->holder.left_ms + after_end_ms[lock->rank]);
	return ms;
}

/* Whatever ends the wait, the next try tells what it was worth. */
static void
on_rung(void *arg, const struct reply *reply)
{
	struct lock *lock = arg;
	const char *error = value_error(reply->value);

	lock->blocked = false;
	if (lock->state != LOCK_ACQUIRING)
		return;
	if (error == NULL) {
		send_try(lock);
		return;
	}
	note_server_error(lock, "error from", reply->label, error);
	switch (reply_judge(REPLY_ACQUIRING, error)) {
	case REPLY_RECONNECT:
		nodes_drop(lock->nodes);
		/* FALLTHROUGH */
	case REPLY_RETRY:
		try_again(lock);
		break;
	default:
		memcpy(lock->no_queue, lock->error, sizeof(lock->no_queue));
		lock->deaf = true;
		due_in(lock, POLL_MIN_MS);
		break;
	}
}

static void
block_on_bell(struct lock *lock)
{
	int64_t ms = next_heartbeat(lock);
	char seconds[32];
	const char *argv[] = {"BLPOP", lock->keys.bell, seconds};
	const struct conn_command command = {.argc = 3,
	    .argv = argv,
	    .deadline = clock_now() + ms + lock->patience_ms,
	    .on_reply = on_rung,
	    .arg = lock};

	snprintf(seconds, sizeof(seconds), "%.3f", (double)ms / 1000);
	if (nodes_send(lock->nodes, &command, NODES_TELL) == -1) {
		due_in(lock, POLL_MIN_MS);
		return;
	}
	lock->blocked = true;
	loop_timer_set(lock->loop, &lock->timer, CLOCK_NEVER);
}

static int64_t
next_look(struct lock *lock)
{
	int64_t ms = lock->poll_ms;

	lock->poll_ms = least(ms * 2, FOREIGN_MAX_MS);
	return dice_between(ms - ms / 5, ms);
}

static void
await_turn(struct lock *lock)
{
	bool foreign = !lock->holder.known && !lock->holder.nobody;
	int64_t left = lock->holder.left_ms;
	int64_t pause;

	if (lock->rank == -1 || lock->deaf) {
		pause = dice_between(POLL_MIN_MS, POLL_MAX_MS);
	} else if (foreign && lock->rank == 0) {
		pause = next_look(lock);
	} else {
		lock->poll_ms = FOREIGN_MIN_MS;
		block_on_bell(lock);
		return;
	}
	due_in(lock, left >= 0 ? least(pause, left + 2) : pause);
}

static void
on_busy(struct lock *lock, const struct answer_try *answer, bool partial)
{
	const struct lock_config *config = lock->config;

	note_answer(lock);
	lock->unsure = false;
	note_holder(lock, answer);
	ring(lock, &answer->rings);
	if (!config->wait && partial)
		free_and_fail(lock, LOCK_BUSY);
	else if (!config->wait ||
		 (lock->rank == -1 && lock->tier == LOCK_WITH_QUEUE))
		fail(lock, LOCK_BUSY);
	else
		await_turn(lock);
}

/* The server has expired entries left to remove before it can say whether the
 * lock is free: the same try goes on with that. */
static void
on_unfinished(struct lock *lock, const struct answer_try *answer,
    const char *label)
{
	note_answer(lock);
	lock->unsure = false;
	lock->rank = answer->rank;
	lock->heard = lock->config->wait;
	snprintf(lock->error, sizeof(lock->error),
	    "%.512s still removes expired entries", label);
	send_try(lock);
}

static void
schedule_renewal(struct lock *lock, int64_t since)
{
	int64_t ttl = lock->config->ttl_ms;

	loop_timer_set(lock->loop, &lock->timer,
	    since + ttl / 3 + dice_between(-ttl / 60, ttl / 60));
}

static void
prove(struct lock *lock, int64_t sent_at)
{
	int64_t ttl = lock->config->ttl_ms;
	int64_t until = quorum_valid_until(sent_at, ttl);

	if (until > lock->valid_until)
		lock->valid_until = until;
	schedule_renewal(lock, sent_at);
}

/* The outer run doesn't wait for one that it can't see. */
static void
note_uncounted(struct lock *lock, const char *label, const char *why)
{
	if (*why == '\0')
		return;
	note_server_error(lock, "error from", label, why);
	memcpy(lock->no_queue, lock->error, sizeof(lock->no_queue));
}

/* A grant that has come so late that little is left of it is asked for again:
 * the own token is granted anew. */
static void
on_granted(struct lock *lock, const struct answer_try *answer,
    const struct reply *reply)
{
	int64_t sent_at = reply->sent_at;

	if (clock_now() > sent_at + lock->config->ttl_ms / 2) {
		note_server_error(lock, "too slow for this ttl", reply->label,
		    "the answer came when half of the lease was over");
		lock->unsure = true;
		lock->answered = false;
		lock->heard = false;
		try_again(lock);
		return;
	}
	note_answer(lock);
	lock->unsure = false;
	lock->state = LOCK_HELD;
	lock->acquired_at = sent_at;
	expect_next(lock, answer->next);
	note_uncounted(lock, reply->label, answer->uncounted);
	lock->permits = answer->permits;
	ring(lock, &answer->rings);
	note_round_trip(lock, sent_at);
	prove(lock, sent_at);
}

/* What some have granted is freed at once: it must not stay with whoever is not
 * to have it. False when nothing can be tried any more. */
static bool
withdraw(struct lock *lock)
{
	const struct conn_command how = {.deadline = clock_now() + RENEW_MS};

	if (nodes_owe_grant(lock->nodes))
		undo_try(lock, NODES_UNDO, true);
	eval_release(lock, &how, NODES_TELL);
	if (lock->outer != NULL || take_new_token(lock))
		return true;
	note_server_error(lock, "cannot try again at", nodes_label(lock->nodes),
	    "out of memory");
	fail(lock, LOCK_ERROR);
	return false;
}

static void
on_unanswered(struct lock *lock, const struct reply *reply)
{
	bool may_come_late = reply->sent_at != CLOCK_NEVER;

	lock->unsure = lock->unsure || may_come_late;
	lock->try_ms *= 2;
	note_silence(lock, reply->failure);
	lock->heard = lock->config->wait && reply->kind == REPLY_TOO_FEW;
	if (may_come_late && lock->outer == NULL &&
	    nodes_are_one(lock->nodes) && !supersede_token(lock))
		fail(lock, LOCK_ERROR);
	else if (reply->kind == REPLY_DUPLICATE)
		fail(lock, LOCK_MISCONFIGURED);
	else if (reply->permanent)
		give_up_trying(lock);
	else
		try_again(lock);
}

/* Several servers give none that could be compared. */
static void
note_fence(struct lock *lock, const char *number)
{
	if (nodes_are_one(lock->nodes))
		snprintf(lock->fence, sizeof(lock->fence), "%s", number);
}

/* The environment has outlived the run that it came from. */
static void
on_outer_gone(struct lock *lock)
{
	note_answer(lock);
	lock->unsure = false;
	forget_outer(lock);
	send_try(lock);
}

static void
on_answered(struct lock *lock, const struct answer_try *answer,
    const struct reply *reply)
{
	switch (answer->outcome) {
	case ANSWER_BUSY:
		on_busy(lock, answer, reply->partial);
		break;
	case ANSWER_UNFINISHED:
		on_unfinished(lock, answer, reply->label);
		break;
	case ANSWER_GRANTED:
		on_granted(lock, answer, reply);
		break;
	case ANSWER_NOT_HELD:
		on_outer_gone(lock);
		break;
	case ANSWER_OTHER_KIND:
		fail(lock, LOCK_OTHER_KIND);
		break;
	}
}

static bool
read_try(const struct lock *lock, struct answer_try *answer,
    const struct value *value)
{
	return lock->outer != NULL ? answer_join(answer, value)
				   : answer_acquire(answer, value);
}

static void
on_tried(void *arg, const struct reply *reply)
{
	struct lock *lock = arg;
	bool refused = reply->kind == REPLY_NO_ACCESS;
	bool for_now = refused && reply_judge(REPLY_ACQUIRING, reply->error) ==
				      REPLY_RETRY;
	struct answer_try answer;
	bool answered, granted, busy;

	if (lock->state != LOCK_ACQUIRING)
		return;
	answered = read_try(lock, &answer, reply->value);
	granted = answered && answer.outcome == ANSWER_GRANTED;
	busy = answered && answer.outcome == ANSWER_BUSY;
	lock->in_flight = false;
	/* A try that is busy and does not wait has time to undo its grants. */
	if (reply->partial && refused)
		lock->unsure = true;
	else if (reply->partial && (lock->config->wait || !busy) &&
		 !withdraw(lock))
		return;
	lock->unsure = lock->unsure || granted;
	if (answered)
		note_fence(lock, answer.fence);
	if (refused && !(for_now && !granted))
		on_refused(lock, reply);
	else if (reply->error != NULL)
		on_try_error(lock, reply);
	else if (answered)
		on_answered(lock, &answer, reply);
	else
		on_unanswered(lock, reply);
}

static int
eval_join(struct lock *lock, const struct conn_command *how, enum nodes_ask ask)
{
	const struct lock_config *config = lock->config;
	char ttl[24];
	char life[24];
	const char *const arguments[] = {lock->token, ttl, lock->outer->letter,
	    lock->run, life, config->kind->letter, NULL};
	const char *words[WORDS_MAX];
	size_t count = put_keys(lock, words);

	struct conn_command own = *how;

	own.is_answer = answer_is_join;
	memcpy(words + count, arguments, sizeof(arguments));
	snprintf(ttl, sizeof(ttl), "%" PRId64, config->ttl_ms);
	snprintf(life, sizeof(life), "%" PRId64, helper_life(config->ttl_ms));
	return eval(lock, lock->outer->join, words, &own, ask);
}

/* Or up to SLACK_BYTES less. */
static size_t
wire_size(const char *const *words)
{
	size_t size = 0;

	for (; *words != NULL; words++)
		size += strlen(*words) + sizeof("$12345\r\n\r\n");
	return size;
}

/* Redis reads READ_BYTES at a time. A server that was frozen executes what it
 * has read, then notices that we have gone and drops the rest. So the undo that
 * may follow a try must arrive with the try's end: in the same read if both fit
 * there, else in the next one, which the try is padded to reach. */
static const char *
padding(const struct lock *lock, const char *script, const char *const *words)
{
	static char spaces[READ_BYTES + SLACK_BYTES + 1];
	const size_t end = READ_BYTES + SLACK_BYTES;
	const size_t keys = 5 * (strlen(lock->config->key) + TOKEN_SIZE);
	const size_t undo = strlen(script_undo) + keys + UNDO_REST_BYTES;
	const size_t size = strlen(script) + wire_size(words);

	if (size >= end || size + undo < READ_BYTES)
		return "";
	memset(spaces, ' ', end - size);
	spaces[end - size] = '\0';
	return spaces;
}

static int
eval_acquire(struct lock *lock, const struct conn_command *how,
    enum nodes_ask ask)
{
	const struct lock_config *config = lock->config;
	const struct holder *self = &lock->self;
	char ttl[24];
	char life[24];
	char most[16] = "";
	char permits[16];
	const char *const arguments[] = {lock->token, ttl, life,
	    config->kind->letter, permits, self->host, self->pid, self->user,
	    config->command, lock->waiter, config->wait ? "1" : "0", most, ""};
	const char *words[WORDS_MAX];
	size_t count = put_keys(lock, words);
	struct conn_command own = *how;

	own.is_answer = answer_is_acquire;
	memcpy(words + count, arguments, sizeof(arguments));
	count += sizeof(arguments) / sizeof(*arguments);
	put_former(lock, words + count);
	snprintf(ttl, sizeof(ttl), "%" PRId64, config->ttl_ms);
	snprintf(life, sizeof(life), "%" PRId64, helper_life(config->ttl_ms));
	write_permits(lock, permits, sizeof(permits));
	if (config->max_waiters != LOCK_ANY_WAITERS)
		snprintf(most, sizeof(most), "%d", config->max_waiters);
	words[count - 1] = padding(lock, config->kind->acquire, words);
	return eval(lock, config->kind->acquire, words, &own, ask);
}

static int
eval_try(struct lock *lock, const struct conn_command *how, enum nodes_ask ask)
{
	return lock->outer != NULL ? eval_join(lock, how, ask)
				   : eval_acquire(lock, how, ask);
}

/* When a fresh connection tries. The first gets a part of the time only, since
 * its reply may have been lost; the later ones get twice as long each. */
static int64_t
try_ends_at(const struct lock *lock)
{
	return least(silence_ends_at(lock),
	    lock->tried_at + lock->try_ms + lock->config->replicas_ms);
}

/* When a connection that was not up is given up. It gets twice the time: by
 * default it takes 5 s to resolve a name past a dead name server
 * (resolv.conf(5)). */
static int64_t
connect_ends_at(const struct lock *lock)
{
	return least(silence_ends_at(lock), try_ends_at(lock) + lock->try_ms);
}

/* Our own timers come before the connection's: they send an undo behind the
 * try. */
static void
send_try(struct lock *lock)
{
	struct conn_command how = {.on_reply = on_tried,
	    .replicas = lock->config->replicas,
	    .replicas_ms = lock->config->replicas_ms};

	lock->tried_at = clock_now();
	if (lock->heard) {
		lock->silent_since = lock->tried_at;
		lock->try_ms = lock->config->try_ms;
	}
	how.deadline = 1 + (nodes_are_up(lock->nodes) ? try_ends_at(lock)
						      : connect_ends_at(lock));
	if (eval_try(lock, &how, NODES_GRANT) == -1) {
		try_again(lock);
		return;
	}
	lock->in_flight = true;
	loop_timer_set(lock->loop, &lock->timer, try_ends_at(lock));
}

/* An undo follows the try on its connection, so that a late try leaves nothing
 * behind. A waiter with a place in the queue sends none: the undo would give up
 * the place. A connection that is not up ends by itself, and its error says how
 * far it came. */
static void
abandon_try(struct lock *lock)
{
	bool late = clock_now() >= connect_ends_at(lock);

	loop_timer_set(lock->loop, &lock->timer,
	    late ? silence_ends_at(lock) : connect_ends_at(lock));
	if (!nodes_are_one(lock->nodes) || !nodes_are_up(lock->nodes))
		return;
	if (lock->rank == -1 && lock->config->replicas == 0)
		undo_try(lock, NODES_UNDO, false);
	nodes_drop(lock->nodes);
	note_server_error(lock, "no answer from", nodes_label(lock->nodes),
	    strerror(ETIMEDOUT));
}

/* Where a try is still out, a release goes behind it, so that a frozen server
 * frees the lock right after it has granted it; nobody waits for the answer. */
static void
give_up_trying(struct lock *lock)
{
	bool may_be_ours = lock->unsure || lock->in_flight;

	note_obstacle(lock);
	lock->answered = false;
	lock->unsure = true;
	fail(lock, LOCK_UNAVAILABLE);
	if (may_be_ours && leave_blocked(lock))
		begin_release(lock, clock_now() + CANCEL_MS);
	else if (may_be_ours && nodes_are_up(lock->nodes))
		begin_release(lock, clock_now());
	else
		nodes_drop(lock->nodes);
}

void
lock_acquire(struct lock *lock)
{
	lock->state = LOCK_ACQUIRING;
	snprintf(lock->error, sizeof(lock->error), "no answer from %.512s",
	    nodes_label(lock->nodes));
	lock->silent_since = clock_now();
	lock->try_ms = lock->config->try_ms;
	lock->backoff_ms = BACKOFF_MIN_MS;
	lock->patience_ms = RENEW_MS;
	send_try(lock);
}

/* --- renew ------------------------------------------------------------ */

static void
lose(struct lock *lock, const char *why)
{
	const struct conn_command how = {.deadline = clock_now() + RENEW_MS};

	snprintf(lock->error, sizeof(lock->error), "%s", why);
	lock->state = LOCK_LOST;
	if (!nodes_are_one(lock->nodes)) /* a minority still has it */
		eval_release(lock, &how, NODES_TELL);
	loop_timer_set(lock->loop, &lock->timer, CLOCK_NEVER);
}

static void
on_renewal_error(struct lock *lock, const struct reply *reply)
{
	enum reply_verdict verdict = reply_judge(REPLY_HOLDING, reply->error);

	if (verdict == REPLY_LOST) {
		lose(lock, "its key holds something else now");
		return;
	}
	note_server_error(lock, "error from", reply->label, reply->error);
	lock->answered = false;
	if (verdict == REPLY_RECONNECT)
		nodes_drop(lock->nodes);
	due_in(lock, next_backoff(lock));
}

/* A server that has come back without the lock gets it again. */
static void
plant(struct lock *lock)
{
	const struct conn_command how = {
	    .deadline = clock_now() + lock->patience_ms};

	if (nodes_lack_it(lock->nodes))
		eval_try(lock, &how, NODES_PLANT);
}

static void
release_after_renewal(struct lock *lock, const struct reply *reply)
{
	bool ours;

	if (answer_renew(&ours, reply->value) && ours)
		prove(lock, reply->sent_at);
	lock->give_up_at = release_by(lock);
	send_release(lock);
}

/* Where AUTH or SELECT was refused an answer speaks of another db, perhaps. */
static void
on_renewed(void *arg, const struct reply *reply)
{
	struct lock *lock = arg;
	bool ours;

	if (lock->state == LOCK_RELEASING && lock->release_waits)
		release_after_renewal(lock, reply);
	if (lock->state != LOCK_HELD)
		return;
	lock->in_flight = false;
	if (reply->value != NULL && reply->kind == REPLY_NO_ACCESS) {
		on_renewal_error(lock, reply);
		nodes_drop(lock->nodes);
	} else if (reply->kind == REPLY_ERROR) {
		on_renewal_error(lock, reply);
	} else if (!answer_renew(&ours, reply->value)) {
		note_silence(lock, reply->failure);
		be_patient(lock, 2 * lock->patience_ms);
		due_in(lock, next_backoff(lock));
		plant(lock);
	} else if (ours) {
		note_answer(lock);
		note_round_trip(lock, reply->sent_at);
		prove(lock, reply->sent_at);
		plant(lock);
	} else {
		lose(lock, "its key was taken away or has expired");
	}
}

static void
on_next(void *arg, const struct reply *reply)
{
	const char *name;

	if (answer_next(&name, reply->value))
		expect_next(arg, name);
}

/* What goes along with a renewal, in the same write: a renewal itself touches
 * the lock's key alone (protocol rule R5). */
static void
send_with_renewal(struct lock *lock, int64_t deadline)
{
	const struct lock_keys *keys = &lock->keys;
	char ttl[24];
	char life[24];
	const char *rearm[] = {"PEXPIRE", keys->info, life};
	const char *next[] = {"ZRANGE", keys->queue, "0", "0"};
	char run[2 * TOKEN_SIZE];
	const char *const stay[] = {"1", keys->nested, run, ttl, life, NULL};
	struct conn_command command = {.argc = 3,
	    .argv = rearm,
	    .deadline = deadline,
	    .more = true};

	if (lock->tier == LOCK_KEY_ONLY)
		return;
	snprintf(ttl, sizeof(ttl), "%" PRId64, lock->config->ttl_ms);
	snprintf(life, sizeof(life), "%" PRId64,
	    helper_life(lock->config->ttl_ms));
	nodes_send(lock->nodes, &command, NODES_TELL);
	snprintf(run, sizeof(run), "%s:%s", lock->token, lock->run);
	if (lock->outer != NULL && lock->tier >= LOCK_WITH_NESTED)
		eval(lock, script_stay, stay, &command, NODES_TELL);
	if (lock->tier < LOCK_WITH_QUEUE)
		return;
	command.argc = 4;
	command.argv = next;
	command.on_reply = on_next;
	command.is_answer = answer_is_next;
	command.arg = lock;
	nodes_send(lock->nodes, &command, NODES_TELL);
}

/* How long a renewal's reply may take before a second connection asks, too. */
static int64_t
overdue_ms(const struct lock *lock)
{
	return lock->config->replicas_ms +
	       least(lock->patience_ms, lock->config->ttl_ms / 4);
}

static int
eval_renewal(struct lock *lock, int64_t deadline, enum nodes_ask ask)
{
	char ttl[24];
	const struct kind *kind = kind_in_use(lock);
	const char *const words[] = {"1", lock->config->key, lock->token, ttl,
	    kind->letter, NULL};
	const struct conn_command renewal = {.on_reply = on_renewed,
	    .is_answer = answer_is_renew,
	    .deadline = deadline,
	    .replicas = lock->config->replicas,
	    .replicas_ms = lock->config->replicas_ms};

	snprintf(ttl, sizeof(ttl), "%" PRId64, lock->config->ttl_ms);
	return eval(lock, kind->renew, words, &renewal, ask);
}

/* With one server the reply is awaited as long as it can prove anything: a slow
 * network is no reason to ask again from the start. A connection that has died
 * unnoticed is what the second one is for. */
static void
send_renewal(struct lock *lock)
{
	int64_t now = clock_now();
	int64_t deadline =
	    now + (nodes_are_one(lock->nodes) ? lock->config->ttl_ms
					      : overdue_ms(lock));

	send_with_renewal(lock, deadline);
	lock->overdue = false;
	lock->in_flight = eval_renewal(lock, deadline, NODES_RENEW) == 0;
	if (!lock->in_flight)
		due_in(lock, next_backoff(lock));
	else if (nodes_are_one(lock->nodes))
		due_in(lock, overdue_ms(lock));
}

/* No trouble where round trips always take that long. */
static void
renew_beside(struct lock *lock)
{
	if (lock->overdue || overdue_ms(lock) >= 2 * lock->round_trip_ms) {
		note_server_error(lock, "no answer from",
		    nodes_label(lock->nodes), strerror(ETIMEDOUT));
		lock->answered = false;
		be_patient(lock, 2 * lock->patience_ms);
	}
	lock->overdue = true;
	eval_renewal(lock, clock_now() + overdue_ms(lock), NODES_RENEW_BESIDE);
	due_in(lock, overdue_ms(lock));
}

void
lock_renew(struct lock *lock)
{
	if (lock->state == LOCK_HELD && !lock->in_flight)
		send_renewal(lock);
}

int64_t
lock_renewal_at(const struct lock *lock)
{
	bool planned = lock->state == LOCK_HELD && lock->answered;

	return planned && !lock->in_flight ? lock->timer.at : CLOCK_NEVER;
}

void
lock_renew_at(struct lock *lock, int64_t at)
{
	loop_timer_set(lock->loop, &lock->timer, at);
}

static void
on_due(void *arg)
{
	struct lock *lock = arg;

	if (lock->state == LOCK_HELD && lock->in_flight)
		renew_beside(lock);
	else if (lock->state == LOCK_HELD)
		lock_renew(lock);
	else if (lock->state == LOCK_ACQUIRING &&
		 (lock->in_flight || !lock->heard) &&
		 clock_now() >= silence_ends_at(lock))
		give_up_trying(lock);
	else if (lock->state == LOCK_ACQUIRING && lock->in_flight)
		abandon_try(lock);
	else if (lock->state == LOCK_ACQUIRING)
		send_try(lock);
	else if (lock->state == LOCK_RELEASING &&
		 (lock->release_waits || clock_now() < lock->give_up_at))
		send_release(lock);
	else if (lock->state == LOCK_RELEASING)
		finish_release(lock, false);
}
