/* States of a lock:
 *
 *   IDLE --> ACQUIRING --granted--> HELD --released--> RELEASING --> RELEASED
 *             |  ^  |                |  renewal = 0         ^
 *             |  +--+ busy, silent   +--------> LOST        |
 *             |                                             |
 *             +--> FAILED          ACQUIRING --cancelled ---+
 *
 * Each of ACQUIRING, HELD and RELEASING has one command of its own that is out
 * or due (timer). Answers to a command of an earlier state are ignored. */
#include "lock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "num.h"
#include "reply.h"
#include "script.h"

enum { BACKOFF_MIN_MS = 100, BACKOFF_MAX_MS = 1000 };
/* An answer is awaited so long, on a connection that may have died unnoticed.
 */
enum { TRY_MS = 5000, RENEW_MS = 1000, RENEW_MAX_MS = 10000 };
enum { POLL_MIN_MS = 50, POLL_MAX_MS = 250 };
enum { RELEASE_MS = 10000, CANCEL_MS = 300 };
enum { HELPER_LIFE_MS = 60 * 60 * 1000 };

static void on_due(void *arg);

/* --- small arithmetic ------------------------------------------------- */

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
random_between(int64_t low, int64_t high)
{
	uint32_t dice = 0;

	if (getrandom(&dice, sizeof(dice), GRND_NONBLOCK) != sizeof(dice))
		return low;
	return low + (int64_t)(dice % (uint64_t)(high - low + 1));
}

/* Clocks may differ by 1%, and 2 ms are for rounding on both sides. */
static int64_t
drift(int64_t ttl_ms)
{
	return ttl_ms / 100 + 2;
}

static int64_t
helper_life(int64_t ttl_ms)
{
	return ttl_ms * 10 > HELPER_LIFE_MS ? ttl_ms * 10 : HELPER_LIFE_MS;
}

/* --- set-up ----------------------------------------------------------- */

/* A version 4 UUID of RFC 9562. */
static int
make_token(char token[LOCK_TOKEN_SIZE])
{
	unsigned char b[16];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return -1;
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	snprintf(token, LOCK_TOKEN_SIZE,
	    "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
	    "%02x%02x%02x%02x%02x%02x",
	    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
	    b[11], b[12], b[13], b[14], b[15]);
	return 0;
}

/* As Redis Cluster sees it: the first '{' with a later '}' and something
 * between them. */
static bool
has_hash_tag(const char *key)
{
	const char *open = strchr(key, '{');
	const char *close = open == NULL ? NULL : strchr(open, '}');

	return close != NULL && close > open + 1;
}

/* In the same slot as the key itself. NULL when memory is out. */
static char *
helper_key(const char *key, char letter)
{
	size_t size = strlen(key) + sizeof("{}:rlkt:x");
	char *helper = malloc(size);

	if (helper == NULL)
		return NULL;
	if (has_hash_tag(key))
		snprintf(helper, size, "%s:rlkt:%c", key, letter);
	else
		snprintf(helper, size, "{%s}:rlk:%c", key, letter);
	return helper;
}

/* The login name is taken from the environment: asking the user database would
 * cost more than all the rest of a run. */
static void
fill_record(struct lock *lock)
{
	const char *user = getenv("LOGNAME");

	if (user == NULL || *user == '\0')
		user = getenv("USER");
	if (user != NULL && *user != '\0')
		snprintf(lock->record_user, sizeof(lock->record_user), "%s",
		    user);
	else
		snprintf(lock->record_user, sizeof(lock->record_user), "uid %u",
		    (unsigned)getuid());
	gethostname(lock->record_host, sizeof(lock->record_host) - 1);
}

int
lock_init(struct lock *lock, struct loop *loop,
    const struct lock_config *config)
{
	*lock = (struct lock){.config = config, .loop = loop};
	lock->timer = (struct loop_timer){.on_due = on_due, .arg = lock};
	if (make_token(lock->token) == -1)
		return -1;
	lock->conn = conn_new(loop, config->server);
	lock->fence_key = helper_key(config->key, 'f');
	lock->info_key = helper_key(config->key, 'i');
	fill_record(lock);
	if (lock->conn == NULL || lock->fence_key == NULL ||
	    lock->info_key == NULL)
		return -1;
	return 0;
}

void
lock_fini(struct lock *lock)
{
	if (lock->loop != NULL)
		loop_timer_remove(lock->loop, &lock->timer);
	conn_free(lock->conn);
	free(lock->fence_key);
	free(lock->info_key);
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
note_server_error(struct lock *lock, const char *what, const char *words)
{
	snprintf(lock->error, sizeof(lock->error), "%s %.512s: %.256s", what,
	    lock->config->server->label, words);
}

static void
note_silence(struct lock *lock)
{
	lock->answered = false;
	lock->heard = false;
	snprintf(lock->error, sizeof(lock->error), "%s",
	    conn_error(lock->conn));
}

/* An answer that is none of our script's belongs to another command, or to
 * another program: nothing on that connection can be believed any more. */
static void
note_no_answer(struct lock *lock, const struct conn_reply *reply)
{
	note_silence(lock);
	if (reply == NULL)
		return;
	note_server_error(lock, "unexpected answer from",
	    "not that of our script");
	conn_drop(lock->conn);
}

/* Sends EVAL script with the number of keys, the keys and the arguments.
 * When memory is out, on_reply is not called: a failed contact like others. */
static int
eval(struct lock *lock, const char *script, const char *const *words,
    const struct conn_command *how)
{
	const char *argv[16] = {"EVAL", script};
	struct conn_command command = *how;

	command.argc = 2;
	while (*words != NULL)
		argv[command.argc++] = *words++;
	command.argv = argv;
	command.arg = lock;
	if (conn_send(lock->conn, &command) == -1) {
		note_silence(lock);
		return -1;
	}
	return 0;
}

/* --- release ---------------------------------------------------------- */

static void
finish_release(struct lock *lock, bool confirmed)
{
	lock->unconfirmed = !confirmed;
	lock->state = lock->failure == 0 ? LOCK_RELEASED : LOCK_FAILED;
	loop_timer_set(lock->loop, &lock->timer, CLOCK_NEVER);
}

static void
retry_release(struct lock *lock)
{
	int64_t at = clock_now() + next_backoff(lock);

	loop_timer_set(lock->loop, &lock->timer, least(at, lock->give_up_at));
}

static void
on_release_error(struct lock *lock, const char *words)
{
	enum reply_verdict verdict = reply_judge(REPLY_RELEASING, words);

	note_server_error(lock, "error from", words);
	if (verdict == REPLY_REPORT) {
		finish_release(lock, false);
		return;
	}
	/* The helper keys have moved to another node, the lock itself has not.
	 */
	lock->key_alone = strncmp(words, "TRYAGAIN", strlen("TRYAGAIN")) == 0;
	if (verdict == REPLY_RECONNECT || conn_refusal(lock->conn) != NULL)
		conn_drop(lock->conn);
	retry_release(lock);
}

/* A release that went unanswered may have freed the lock: after it, "not yours"
 * means nothing. */
static void
on_released(void *arg, const struct conn_reply *reply, int64_t sent_at)
{
	struct lock *lock = arg;
	const char *error = conn_reply_error(reply);
	const char *refusal = conn_refusal(lock->conn);
	int64_t freed;

	if (lock->state != LOCK_RELEASING)
		return;
	lock->in_flight = false;
	if (refusal != NULL && lock->failure == 0) {
		on_release_error(lock, refusal);
	} else if (error != NULL) {
		on_release_error(lock, error);
	} else if (conn_reply_integer(reply, &freed)) {
		lock->lost_at_release = freed == 0 && !lock->unsure &&
					clock_now() < lock->valid_until;
		finish_release(lock, true);
	} else {
		lock->unsure = lock->unsure || sent_at != CLOCK_NEVER;
		note_no_answer(lock, reply);
		be_patient(lock, 2 * lock->patience_ms);
		retry_release(lock);
	}
}

static int
eval_release(struct lock *lock, const struct conn_command *how)
{
	const char *key = lock->config->key;
	const char *const release[] = {"2", key, lock->info_key, lock->token,
	    NULL};
	const char *const alone[] = {"1", key, lock->token, NULL};
	const char *const undo[] = {"3", key, lock->info_key, lock->fence_key,
	    lock->token, lock->fence, NULL};

	if (lock->key_alone)
		return eval(lock, script_release, alone, how);
	if (lock->failure == LOCK_REFUSED)
		return eval(lock, script_release, undo, how);
	return eval(lock, script_release, release, how);
}

static void
send_release(struct lock *lock)
{
	const struct conn_command how = {.on_reply = on_released,
	    .deadline =
		least(lock->give_up_at, clock_now() + lock->patience_ms)};

	if (eval_release(lock, &how) == -1) {
		retry_release(lock);
		return;
	}
	lock->in_flight = true;
	loop_timer_set(lock->loop, &lock->timer, lock->give_up_at);
}

static void
begin_release(struct lock *lock, int64_t give_up_at)
{
	lock->state = LOCK_RELEASING;
	lock->give_up_at = give_up_at;
	lock->backoff_ms = BACKOFF_MIN_MS;
	send_release(lock);
}

void
lock_release(struct lock *lock)
{
	begin_release(lock, least(lock->valid_until, clock_now() + RELEASE_MS));
}

/* A try that is out is overtaken by nothing on its own connection. One that was
 * sent on an earlier connection may still come later: that costs others a ttl
 * and can't be helped. */
void
lock_cancel(struct lock *lock)
{
	bool may_be_ours =
	    lock->state == LOCK_HELD || lock->unsure || lock->in_flight;

	if (lock->state == LOCK_RELEASING || lock->state == LOCK_RELEASED)
		return;
	lock->unsure = true;
	if (may_be_ours && conn_is_up(lock->conn)) {
		begin_release(lock, clock_now() + CANCEL_MS);
	} else {
		finish_release(lock, !may_be_ours);
		conn_drop(lock->conn); /* a try that isn't sent never is */
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
on_refused(struct lock *lock, const char *words)
{
	note_server_error(lock, "refused by", words);
	lock->failure = LOCK_REFUSED;
	lock_cancel(lock);
}

static void
on_try_error(struct lock *lock, const char *words)
{
	enum reply_verdict verdict = reply_judge(REPLY_ACQUIRING, words);

	note_server_error(lock, "error from", words);
	lock->answered = false;
	if (verdict == REPLY_NOT_A_LOCK) {
		fail(lock, LOCK_NOT_A_LOCK);
	} else if (verdict == REPLY_REFUSED) {
		fail(lock, LOCK_REFUSED);
	} else if (verdict == REPLY_REPORT) {
		fail(lock, LOCK_ERROR);
	} else {
		/* A server that says so is not silent: who waits goes on. */
		lock->heard = lock->config->wait;
		if (verdict == REPLY_RECONNECT ||
		    conn_refusal(lock->conn) != NULL)
			conn_drop(lock->conn);
		try_again(lock);
	}
}

static void
copy_text(char *to, size_t size, const struct conn_reply *reply)
{
	const char *text = conn_reply_text(reply);

	snprintf(to, size, "%s", text == NULL ? "" : text);
}

static void
on_busy(struct lock *lock, const struct conn_reply *reply)
{
	struct holder *holder = &lock->holder;
	int64_t pause = random_between(POLL_MIN_MS, POLL_MAX_MS);

	note_answer(lock);
	lock->unsure = false;
	*holder = (struct holder){.seen = true, .told_at = clock_now()};
	conn_reply_integer(conn_reply_at(reply, 1), &holder->left_ms);
	copy_text(holder->host, sizeof(holder->host), conn_reply_at(reply, 2));
	copy_text(holder->pid, sizeof(holder->pid), conn_reply_at(reply, 3));
	copy_text(holder->user, sizeof(holder->user), conn_reply_at(reply, 4));
	holder->known =
	    conn_reply_integer(conn_reply_at(reply, 5), &holder->held_ms);
	if (holder->held_ms < 0 || holder->held_ms > NUM_DURATION_MAX_MS)
		holder->known = false;
	if (!lock->config->wait)
		fail(lock, LOCK_BUSY);
	else if (holder->left_ms >= 0)
		due_in(lock, least(pause, holder->left_ms + 2));
	else
		due_in(lock, pause);
}

static void
schedule_renewal(struct lock *lock, int64_t since)
{
	int64_t ttl = lock->config->ttl_ms;

	loop_timer_set(lock->loop, &lock->timer,
	    since + ttl / 3 + random_between(-ttl / 60, ttl / 60));
}

static void
prove(struct lock *lock, int64_t sent_at)
{
	int64_t ttl = lock->config->ttl_ms;
	int64_t until = sent_at + ttl - drift(ttl);

	if (until > lock->valid_until)
		lock->valid_until = until;
	schedule_renewal(lock, sent_at);
}

/* A grant that has come so late that little is left of it is asked for again:
 * the own token is granted anew. */
static void
on_granted(struct lock *lock, int64_t sent_at)
{
	if (clock_now() > sent_at + lock->config->ttl_ms / 2) {
		note_server_error(lock, "too slow for this ttl",
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
	be_patient(lock, 2 * (clock_now() - sent_at));
	prove(lock, sent_at);
}

static void
on_tried(void *arg, const struct conn_reply *reply, int64_t sent_at)
{
	struct lock *lock = arg;
	const char *error = conn_reply_error(reply);
	const char *refusal = conn_refusal(lock->conn);
	bool for_now = refusal != NULL &&
		       reply_judge(REPLY_ACQUIRING, refusal) == REPLY_RETRY;
	int64_t granted;

	if (lock->state != LOCK_ACQUIRING)
		return;
	lock->in_flight = false;
	if (conn_reply_integer(conn_reply_at(reply, 0), &granted)) {
		lock->unsure = lock->unsure || granted == 1;
		copy_text(lock->fence, sizeof(lock->fence),
		    conn_reply_at(reply, 1));
		if (refusal != NULL && (granted == 1 || !for_now))
			on_refused(lock, refusal);
		else if (refusal != NULL)
			on_try_error(lock, refusal);
		else if (granted == 1)
			on_granted(lock, sent_at);
		else
			on_busy(lock, reply);
	} else if (refusal != NULL) {
		if (for_now)
			on_try_error(lock, refusal);
		else
			on_refused(lock, refusal);
	} else if (error != NULL) {
		on_try_error(lock, error);
	} else {
		lock->unsure = lock->unsure || sent_at != CLOCK_NEVER;
		note_no_answer(lock, reply);
		try_again(lock);
	}
}

static void
send_try(struct lock *lock)
{
	const struct lock_config *config = lock->config;
	char ttl[24];
	char life[24];
	char pid[16];
	const char *const words[] = {"3", config->key, lock->fence_key,
	    lock->info_key, lock->token, ttl, life, lock->record_host, pid,
	    lock->record_user, config->command, NULL};
	struct conn_command how = {.on_reply = on_tried};

	if (lock->heard)
		lock->silent_since = clock_now();
	/* Our own timer comes first: it sends a release behind this. */
	how.deadline = silence_ends_at(lock) + 1;
	if (conn_is_up(lock->conn))
		how.deadline = least(how.deadline, clock_now() + TRY_MS);
	snprintf(ttl, sizeof(ttl), "%" PRId64, config->ttl_ms);
	snprintf(life, sizeof(life), "%" PRId64, helper_life(config->ttl_ms));
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (eval(lock, script_acquire, words, &how) == -1) {
		try_again(lock);
		return;
	}
	lock->in_flight = true;
	loop_timer_set(lock->loop, &lock->timer, silence_ends_at(lock));
}

/* Where a try is still out, a release goes behind it, so that a frozen server
 * frees the lock right after it has granted it; nobody waits for the answer. */
static void
give_up_trying(struct lock *lock)
{
	bool may_be_ours = lock->unsure || lock->in_flight;

	lock->answered = false;
	lock->unsure = true;
	fail(lock, LOCK_UNAVAILABLE);
	if (may_be_ours && conn_is_up(lock->conn))
		begin_release(lock, clock_now());
	else
		conn_drop(lock->conn);
}

void
lock_acquire(struct lock *lock)
{
	lock->state = LOCK_ACQUIRING;
	snprintf(lock->error, sizeof(lock->error), "no answer from %.512s",
	    lock->config->server->label);
	lock->silent_since = clock_now();
	lock->backoff_ms = BACKOFF_MIN_MS;
	lock->patience_ms = RENEW_MS;
	send_try(lock);
}

/* --- renew ------------------------------------------------------------ */

static void
lose(struct lock *lock, const char *why)
{
	snprintf(lock->error, sizeof(lock->error), "%s", why);
	lock->state = LOCK_LOST;
	loop_timer_set(lock->loop, &lock->timer, CLOCK_NEVER);
}

static void
on_renewal_error(struct lock *lock, const char *words)
{
	enum reply_verdict verdict = reply_judge(REPLY_HOLDING, words);

	if (verdict == REPLY_LOST) {
		lose(lock, "its key holds something else now");
		return;
	}
	note_server_error(lock, "error from", words);
	lock->answered = false;
	if (verdict == REPLY_RECONNECT)
		conn_drop(lock->conn);
	due_in(lock, next_backoff(lock));
}

/* Where AUTH or SELECT was refused an answer speaks of another db, perhaps. */
static void
on_renewed(void *arg, const struct conn_reply *reply, int64_t sent_at)
{
	struct lock *lock = arg;
	const char *error = conn_reply_error(reply);
	const char *refusal = conn_refusal(lock->conn);
	int64_t ours;

	if (lock->state != LOCK_HELD)
		return;
	lock->in_flight = false;
	if (reply != NULL && refusal != NULL) {
		on_renewal_error(lock, refusal);
		conn_drop(lock->conn);
	} else if (error != NULL) {
		on_renewal_error(lock, error);
	} else if (!conn_reply_integer(conn_reply_at(reply, 0), &ours)) {
		note_no_answer(lock, reply);
		be_patient(lock, 2 * lock->patience_ms);
		due_in(lock, next_backoff(lock));
	} else if (ours == 1) {
		note_answer(lock);
		be_patient(lock, 2 * (clock_now() - sent_at));
		prove(lock, sent_at);
	} else {
		lose(lock, "its key was taken away or has expired");
	}
}

/* The holder's record is re-armed by a command of its own: a renewal touches
 * the lock's key alone (protocol rule R5). */
static void
send_renewal(struct lock *lock)
{
	int64_t ttl_ms = lock->config->ttl_ms;
	int64_t deadline = clock_now() + least(lock->patience_ms, ttl_ms / 4);
	char ttl[24];
	char life[24];
	const char *const words[] = {"1", lock->config->key, lock->token, ttl,
	    NULL};
	const char *rearm[] = {"PEXPIRE", lock->info_key, life};
	const struct conn_command rearming = {.argc = 3,
	    .argv = rearm,
	    .deadline = deadline,
	    .more = true};
	const struct conn_command renewal = {.on_reply = on_renewed,
	    .deadline = deadline};

	snprintf(ttl, sizeof(ttl), "%" PRId64, ttl_ms);
	snprintf(life, sizeof(life), "%" PRId64, helper_life(ttl_ms));
	conn_send(lock->conn, &rearming);
	if (eval(lock, script_renew, words, &renewal) == -1)
		due_in(lock, next_backoff(lock));
	else
		lock->in_flight = true;
}

void
lock_renew(struct lock *lock)
{
	if (lock->state == LOCK_HELD && !lock->in_flight)
		send_renewal(lock);
}

static void
on_due(void *arg)
{
	struct lock *lock = arg;

	if (lock->state == LOCK_HELD)
		lock_renew(lock);
	else if (lock->state == LOCK_ACQUIRING &&
		 (lock->in_flight ||
		     (!lock->heard && clock_now() >= silence_ends_at(lock))))
		give_up_trying(lock);
	else if (lock->state == LOCK_ACQUIRING)
		send_try(lock);
	else if (lock->state == LOCK_RELEASING &&
		 clock_now() >= lock->give_up_at)
		finish_release(lock, false);
	else if (lock->state == LOCK_RELEASING)
		send_release(lock);
}
