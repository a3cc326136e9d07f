#include "lock/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/answer.h"
#include "lock/key.h"
#include "lock/script.h"

enum { WORDS_MAX = 2 * LIMIT_NOTIFY + 8 }; /* of a command */
enum { HELPER_LIFE_MS = 60 * 60 * 1000 };
enum { READ_BYTES = 16384, SLACK_BYTES = 256, UNDO_REST_BYTES = 1024 };

static int64_t
helper_life(int64_t ttl_ms)
{
	return ttl_ms * 10 > HELPER_LIFE_MS ? ttl_ms * 10 : HELPER_LIFE_MS;
}

/* Writes how many keys the lock uses and which; returns the number of words. */
static size_t
put_keys(const struct lock *lock, const char **words)
{
	static const char *const counts[] = {[CLAIM_KEY_ONLY] = "1",
	    [CLAIM_WITH_RECORD] = "3",
	    [CLAIM_WITH_NESTED] = "4",
	    [CLAIM_WITH_QUEUE] = "7"};
	const struct claim_keys *keys = &lock->claim.keys;
	const char *const names[] = {lock->config->key, keys->fence, keys->info,
	    keys->nested, keys->queue, keys->alive, keys->bell};

	words[0] = counts[lock->claim.tier];
	memcpy(words + 1, names, lock->claim.tier * sizeof(*names));
	return lock->claim.tier + 1;
}

/* Writes the last arguments of a script, and the end. */
static void
put_former(const struct lock *lock, const char **words)
{
	for (size_t i = 0; i < lock->claim.former_count; i++)
		*words++ = lock->claim.former[i];
	*words = NULL;
}

/* Sends EVAL script with the number of keys, the keys and the arguments.
 * When memory is out, on_reply is not called: a failed contact like others. */
static int
eval(struct lock *lock, const char *script, const char *const *words,
    const struct conn_command *how, enum quorum_ask ask)
{
	const char *argv[WORDS_MAX] = {"EVAL", script};
	struct conn_command command = *how;

	command.argc = 2;
	while (*words != NULL)
		argv[command.argc++] = *words++;
	command.argv = argv;
	command.arg = lock;
	if (quorum_send(lock->quorum, &command, ask) == -1) {
		lock_note_silence(lock, quorum_error(lock->quorum));
		return -1;
	}
	return 0;
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

void
request_rings(struct lock *lock, const struct answer_rings *rings)
{
	char count[16];
	char *bells[LIMIT_NOTIFY];
	const char *words[2 * LIMIT_NOTIFY + 4] = {count,
	    lock->claim.keys.queue, lock->claim.keys.alive};
	const struct conn_command how = {
	    .deadline = clock_now() + LOCK_REPLY_MS};
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
		eval(lock, script_notify, words, &how, QUORUM_SEND);
	while (n > 0)
		free(bells[--n]);
}

/* The head of the queue is the one expected, or the one named first. */
void
request_ring_behind(struct lock *lock, const struct answer_release *answer)
{
	const struct answer_rings *rings = &answer->rings;
	char *first = bell_of(lock,
	    rings->count > 0 ? rings->waiters[0] : lock->claim.next);
	char *second = bell_of(lock, answer->behind);
	const char *const words[] = {"4", lock->claim.keys.queue,
	    lock->claim.keys.alive, first, second, answer->behind, NULL};
	const struct conn_command how = {
	    .deadline = clock_now() + LOCK_REPLY_MS};

	if (first != NULL && second != NULL)
		eval(lock, script_notify_behind, words, &how, QUORUM_SEND);
	free(first);
	free(second);
}

static void
write_permits(const struct lock *lock, char *text, size_t size)
{
	text[0] = '\0';
	if (claim_permits(&lock->claim) > 0)
		snprintf(text, size, "%d", claim_permits(&lock->claim));
}

int
request_release(struct lock *lock, const struct conn_command *how,
    enum quorum_ask ask)
{
	const char *undo = lock->failure == LOCK_REFUSED ? lock->fence : "";
	char *bell = bell_of(lock, lock->claim.next);
	const struct kind *kind = claim_kind(&lock->claim);
	char permits[16];
	char kept[24];
	const char *const arguments[] = {lock->claim.token, kind->letter,
	    permits, undo, kept, lock->claim.waiter, lock->claim.run,
	    lock->claim.next};
	const char *words[WORDS_MAX];
	size_t count = put_keys(lock, words);
	int64_t keep_ms = lock->release.keep_until - clock_now();
	struct conn_command own = *how;
	int sent;

	own.is_answer = answer_is_release;
	if (lock->claim.tier == CLAIM_WITH_QUEUE) {
		words[0] = "8";
		words[count++] = bell != NULL ? bell : lock->claim.keys.bell;
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

/* Only the keys that it needs: its bytes count, see script.h. */
void
request_undo(struct lock *lock, enum quorum_ask ask, bool more)
{
	const struct claim_keys *keys = &lock->claim.keys;
	const char *words[WORDS_MAX] = {"5", lock->config->key, keys->info,
	    keys->queue, keys->alive, keys->bell};
	const struct conn_command how = {.deadline =
					     clock_now() + LOCK_REPLY_MS,
	    .more = more};
	size_t count = 6;

	if (lock->claim.tier < CLAIM_WITH_QUEUE) {
		count = lock->claim.tier == CLAIM_KEY_ONLY ? 2 : 3;
		words[0] = lock->claim.tier == CLAIM_KEY_ONLY ? "1" : "2";
	}
	words[count++] = lock->claim.token;
	words[count++] = lock->claim.waiter;
	put_former(lock, words + count);
	if (lock->claim.outer == NULL)
		eval(lock, script_undo, words, &how, ask);
}

static int
eval_join(struct lock *lock, const struct conn_command *how,
    enum quorum_ask ask)
{
	const struct lock_config *config = lock->config;
	char ttl[24];
	char life[24];
	const char *const arguments[] = {lock->claim.token, ttl,
	    lock->claim.outer->letter, lock->claim.run, life,
	    config->kind->letter, NULL};
	const char *words[WORDS_MAX];
	size_t count = put_keys(lock, words);

	struct conn_command own = *how;

	own.is_answer = answer_is_join;
	memcpy(words + count, arguments, sizeof(arguments));
	snprintf(ttl, sizeof(ttl), "%" PRId64, config->ttl_ms);
	snprintf(life, sizeof(life), "%" PRId64, helper_life(config->ttl_ms));
	return eval(lock, lock->claim.outer->join, words, &own, ask);
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
    enum quorum_ask ask)
{
	const struct lock_config *config = lock->config;
	const struct holder *self = &lock->claim.self;
	char ttl[24];
	char life[24];
	char most[16] = "";
	char permits[16];
	const char *const arguments[] = {lock->claim.token, ttl, life,
	    config->kind->letter, permits, self->host, self->pid, self->user,
	    config->command, lock->claim.waiter, config->wait ? "1" : "0", most,
	    ""};
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
	if (config->max_waiters != CONFIG_ANY_WAITERS)
		snprintf(most, sizeof(most), "%d", config->max_waiters);
	words[count - 1] = padding(lock, config->kind->acquire, words);
	return eval(lock, config->kind->acquire, words, &own, ask);
}

int
request_try(struct lock *lock, const struct conn_command *how,
    enum quorum_ask ask)
{
	return lock->claim.outer != NULL ? eval_join(lock, how, ask)
					 : eval_acquire(lock, how, ask);
}

static void
on_next(void *arg, const struct reply *reply)
{
	const char *name;

	if (answer_next(&name, reply->value))
		claim_expect_next(arg, name);
}

void
request_with_renewal(struct lock *lock, int64_t deadline)
{
	const struct claim_keys *keys = &lock->claim.keys;
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

	if (lock->claim.tier == CLAIM_KEY_ONLY)
		return;
	snprintf(ttl, sizeof(ttl), "%" PRId64, lock->config->ttl_ms);
	snprintf(life, sizeof(life), "%" PRId64,
	    helper_life(lock->config->ttl_ms));
	quorum_send(lock->quorum, &command, QUORUM_SEND);
	snprintf(run, sizeof(run), "%s:%s", lock->claim.token, lock->claim.run);
	if (lock->claim.outer != NULL && lock->claim.tier >= CLAIM_WITH_NESTED)
		eval(lock, script_stay, stay, &command, QUORUM_SEND);
	if (lock->claim.tier < CLAIM_WITH_QUEUE)
		return;
	command.argc = 4;
	command.argv = next;
	command.on_reply = on_next;
	command.is_answer = answer_is_next;
	command.arg = &lock->claim;
	quorum_send(lock->quorum, &command, QUORUM_SEND);
}

int
request_renewal(struct lock *lock, const struct conn_command *how,
    enum quorum_ask ask)
{
	char ttl[24];
	const struct kind *kind = claim_kind(&lock->claim);
	const char *const words[] = {"1", lock->config->key, lock->claim.token,
	    ttl, kind->letter, NULL};
	struct conn_command own = *how;

	own.is_answer = answer_is_renew;
	snprintf(ttl, sizeof(ttl), "%" PRId64, lock->config->ttl_ms);
	return eval(lock, kind->renew, words, &own, ask);
}
