#include "lock/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lock/script.h"
#include "lock/waiter.h"

enum { HELPER_LIFE_MS = 60 * 60 * 1000 };
enum { READ_BYTES = 16384, READ_ROUNDED = 4096, HANDSHAKE_BYTES = 128 };

/* --- words ------------------------------------------------------------ */

/* Adds these words. */
#define ADD(request, ...) \
	add_words(request, (const char *const[]){__VA_ARGS__, NULL})

static void
add_words(struct request *request, const char *const *words)
{
	while (*words != NULL)
		request->argv[request->argc++] = *words++;
	request->argv[request->argc] = NULL;
}

static const char *
number(struct request *request, int64_t value)
{
	char *text = request->numbers[request->number_count++];

	snprintf(text, sizeof(*request->numbers), "%" PRId64, value);
	return text;
}

static void
begin(struct request *request)
{
	*request = (struct request){.argv = request->words};
}

/* The arguments follow. */
static void
add_script(struct request *request, const struct script *script,
    const char *const *names, size_t count)
{
	request->script = script;
	ADD(request, number(request, (int64_t)count));
	for (size_t i = 0; i < count; i++)
		ADD(request, names[i]);
}

void
request_fini(struct request *request)
{
	while (request->doorbell_count > 0)
		free(request->doorbells[--request->doorbell_count]);
	free(request->more_words);
}

/* The doorbell of that waiter; NULL if the name is not one, or when memory is
 * out. */
static const char *
doorbell_of(struct request *request, const char *key, const char *name)
{
	struct waiter waiter;
	char *doorbell;

	if (!waiter_parse(&waiter, name))
		return NULL;
	doorbell = key_doorbell(key, waiter.token);
	if (doorbell != NULL)
		request->doorbells[request->doorbell_count++] = doorbell;
	return doorbell;
}

/* The keys of acquire, release and join. */
static void
begin_claim(struct request *request, const struct script *script,
    const struct claim *claim)
{
	const struct key_names *keys = &claim->keys;
	const char *const names[] = {keys->lock, keys->fence, keys->info,
	    keys->nested, keys->queue, keys->alive, claim->doorbell,
	    keys->history};

	begin(request);
	add_script(request, script, names, claim->tier);
}

static const char *
permits(struct request *request, const struct claim *claim)
{
	int count = claim_permits(claim);

	return count > 0 ? number(request, count) : "";
}

static void
add_former(struct request *request, const struct claim *claim)
{
	for (size_t i = 0; i < claim->former_count; i++)
		ADD(request, claim->former[i]);
}

static const char *
helper_life(struct request *request, const struct claim *claim)
{
	int64_t life_ms = 10 * claim->config->ttl_ms;

	return number(request,
	    life_ms > HELPER_LIFE_MS ? life_ms : HELPER_LIFE_MS);
}

static const char *
history_life(struct request *request, const struct claim *claim)
{
	return claim->tier == CLAIM_WITH_HISTORY
		   ? number(request, claim_history_ms(claim))
		   : "";
}

/* --- acquire ---------------------------------------------------------- */

/* "$LENGTH", and the word. */
static size_t
word_size(const char *word)
{
	size_t length = strlen(word);
	size_t size = strlen("$0\r\n\r\n") + length;

	while ((length /= 10) > 0)
		size++;
	return size;
}

static size_t
wire_size(const struct request *request, const char *name, const char *body)
{
	size_t size = strlen("*10\r\n") + word_size(name) + word_size(body);

	for (int i = 0; i < request->argc; i++)
		size += word_size(request->argv[i]);
	return size;
}

/* How much longer a try must be to end in the same read as what follows it. */
static size_t
missing(size_t size, size_t rest)
{
	const size_t end =
	    size < READ_ROUNDED
		? READ_BYTES
		: ((size - READ_ROUNDED) / READ_BYTES + 1) * READ_BYTES;

	return size + rest < end ? 0 : end + READ_ROUNDED - size;
}

/* A server that was frozen executes what it has read, then notices that we have
 * gone and drops the rest. So the undo that may follow a try must arrive with
 * the try's end. Redis reads READ_BYTES at a time; Redis 7 reads as much as it
 * has room for, which an allocator may have rounded up to READ_ROUNDED more. If
 * try and undo do not fit into the least of these, with a handshake before
 * them, the try is padded to end beyond the most. */
static void
pad(struct request *request, const struct claim *claim)
{
	const struct script *script = request->script;
	struct request undo;
	size_t rest;

	request_undo(&undo, claim);
	rest = wire_size(&undo, "EVAL", script_undo.text) + HANDSHAKE_BYTES;
	request->padding.by_digest =
	    missing(wire_size(request, "EVALSHA", script->digest), rest);
	request->padding.whole =
	    missing(wire_size(request, "EVAL", script->text), rest);
}

static void
request_acquire(struct request *request, const struct claim *claim)
{
	const struct lock_config *config = claim->config;
	const struct holder *self = &claim->self;
	const char *most =
	    config->max_waiters == CONFIG_ANY_WAITERS ? "" : NULL;

	begin_claim(request, config->kind->acquire, claim);
	if (most == NULL)
		most = number(request, config->max_waiters);
	ADD(request, claim->token, number(request, config->ttl_ms),
	    helper_life(request, claim), config->kind->letter,
	    permits(request, claim), self->host, self->pid, self->user,
	    config->command, config->label, claim->waiter,
	    config->wait ? "1" : "0", most);
	request->padding.at = request->argc;
	ADD(request, "", history_life(request, claim),
	    config->once_ms > 0 ? number(request, config->once_ms) : "");
	add_former(request, claim);
	pad(request, claim);
	request->decode = answer_acquire;
}

static void
request_join(struct request *request, const struct claim *claim)
{
	begin_claim(request, claim->outer->join, claim);
	ADD(request, claim->token, number(request, claim->config->ttl_ms),
	    claim->outer->letter, claim->run, helper_life(request, claim),
	    claim->config->is_hold ? "" : claim->config->kind->letter);
	request->decode = answer_join;
}

void
request_try(struct request *request, const struct claim *claim)
{
	if (claim->outer != NULL)
		request_join(request, claim);
	else
		request_acquire(request, claim);
}

/* --- renew ------------------------------------------------------------ */

void
request_renewal(struct request *request, const struct claim *claim)
{
	const struct kind *kind = claim_kind(claim);

	begin(request);
	add_script(request, kind->renew, &claim->keys.lock, 1);
	ADD(request, claim->token, number(request, claim->config->ttl_ms),
	    kind->letter);
	request->decode = answer_renew;
}

void
request_record(struct request *request, const struct claim *claim)
{
	begin(request);
	if (claim->tier >= CLAIM_WITH_RECORD)
		ADD(request, "PEXPIRE", claim->keys.info,
		    helper_life(request, claim));
}

void
request_history(struct request *request, const struct claim *claim)
{
	const char *const names[] = {claim->keys.history};

	begin(request);
	if (claim->tier < CLAIM_WITH_HISTORY)
		return;
	add_script(request, &script_remember, names, 1);
	ADD(request, history_life(request, claim));
}

void
request_stay(struct request *request, const struct claim *claim)
{
	const char *const names[] = {claim->keys.nested};

	begin(request);
	if (claim->outer == NULL || claim->tier < CLAIM_WITH_NESTED)
		return;
	add_script(request, &script_stay, names, 1);
	ADD(request, claim->member, number(request, claim->config->ttl_ms),
	    helper_life(request, claim));
}

void
request_head(struct request *request, const struct claim *claim)
{
	begin(request);
	if (claim->tier >= CLAIM_WITH_QUEUE)
		ADD(request, "ZRANGE", claim->keys.queue, "0", "0");
	request->decode = answer_head;
}

/* --- release ---------------------------------------------------------- */

/* With the queue also the doorbell of its head, before the history. */
static void
begin_release(struct request *request, const struct claim *claim)
{
	const char *doorbell;

	begin_claim(request, claim_kind(claim)->release, claim);
	if (claim->tier < CLAIM_WITH_QUEUE)
		return;
	doorbell = doorbell_of(request, claim->keys.lock, claim->head);
	request->argv[0] = number(request, claim->tier + 1);
	request->argc = CLAIM_WITH_QUEUE + 1;
	ADD(request, doorbell != NULL ? doorbell : claim->doorbell);
	if (claim->tier == CLAIM_WITH_HISTORY)
		ADD(request, claim->keys.history);
}

void
request_release(struct request *request, const struct claim *claim,
    const struct request_end *end)
{
	begin_release(request, claim);
	ADD(request, claim->token, claim_kind(claim)->letter,
	    permits(request, claim), end->undo_fence ? end->fence : "",
	    number(request, end->keep_ms > 0 ? end->keep_ms : 0), claim->waiter,
	    claim->run, claim->head, history_life(request, claim), end->status,
	    end->fence, claim->self.host);
	add_former(request, claim);
	request->decode = answer_release;
	request->withdraws = true;
}

void
request_correction(struct request *request, const struct claim *claim,
    const char *fence, const char *status)
{
	const char *const names[] = {claim->keys.history};

	begin(request);
	add_script(request, &script_correct, names, 1);
	ADD(request, fence, status);
	request->decode = answer_renew; /* as they are alike */
}

/* Only with the keys that it needs: its bytes count, see pad(). */
void
request_undo(struct request *request, const struct claim *claim)
{
	const struct key_names *keys = &claim->keys;
	const char *const names[] = {keys->lock, keys->info, keys->queue,
	    keys->alive, claim->doorbell, keys->history};
	size_t count = claim->tier == CLAIM_WITH_HISTORY ? 6 : 5;

	begin(request);
	if (claim->outer != NULL)
		return;
	if (claim->tier < CLAIM_WITH_QUEUE)
		count = claim->tier == CLAIM_KEY_ONLY ? 1 : 2;
	add_script(request, &script_undo, names, count);
	request->withdraws = true;
	ADD(request, claim->token, claim->waiter);
	add_former(request, claim);
}

/* --- doorbells -------------------------------------------------------- */

void
request_doorbell(struct request *request, const struct claim *claim, int64_t ms)
{
	char *seconds;

	begin(request);
	seconds = request->numbers[0];
	snprintf(seconds, sizeof(*request->numbers), "%.*f",
	    ms % 1000 == 0 ? 0 : 3, (double)ms / 1000);
	ADD(request, "BLPOP", claim->doorbell, claim->keys.doorbell, seconds);
}

void
request_leave(struct request *request, const struct claim *claim,
    const char *key)
{
	begin(request);
	ADD(request, "ZREM", key, claim->waiter);
}

void
request_notify(struct request *request, const struct key_names *keys,
    const char *const *waiters, size_t count)
{
	const char *names[LIMIT_NOTIFY + 2] = {keys->queue, keys->alive};

	begin(request);
	for (size_t i = 0; i < count; i++)
		names[i + 2] = doorbell_of(request, keys->lock, waiters[i]);
	if (count == 0 || request->doorbell_count < count)
		return;
	add_script(request, &script_notify, names, count + 2);
	for (size_t i = 0; i < count; i++)
		ADD(request, waiters[i]);
}

/* The head of the queue is the one expected, or the one named first. */
void
request_notify_behind(struct request *request, const struct claim *claim,
    const struct answer *answer)
{
	const struct answer_waiters *named = &answer->to_notify;
	const char *head = named->count > 0 ? named->names[0] : claim->head;
	const char *names[] = {claim->keys.queue, claim->keys.alive, NULL, NULL,
	    claim->keys.doorbell};

	begin(request);
	names[2] = doorbell_of(request, claim->keys.lock, head);
	names[3] = doorbell_of(request, claim->keys.lock, answer->behind);
	if (request->doorbell_count < 2)
		return;
	add_script(request, &script_notify_behind, names, 5);
	ADD(request, answer->behind);
}

/* --- for people ------------------------------------------------------- */

void
request_look(struct request *request, const struct key_names *keys,
    enum request_look_keys count, int holders, int waiters)
{
	const char *const names[] = {keys->lock, keys->fence, keys->info,
	    keys->queue, keys->alive, keys->nested, keys->history};

	begin(request);
	add_script(request, &script_look, names, count);
	ADD(request, number(request, holders), number(request, waiters));
}

void
request_force(struct request *request, const struct key_names *keys,
    bool helpers, const struct look *look, const struct look_holder *only)
{
	const char *head = look->queued > 0 ? look->queue[0].id : "";
	const char *names[] = {keys->lock, keys->info, keys->nested,
	    keys->queue, keys->alive, NULL};
	size_t count = helpers ? 5 : 1;

	begin(request);
	request->argv = request->more_words =
	    mem_alloc((REQUEST_WORDS + look->listed) * sizeof(*request->argv));
	names[count] = doorbell_of(request, keys->lock, head);
	if (names[count] != NULL)
		count++;
	else
		head = "";
	add_script(request, &script_force, names, count);
	ADD(request, head);
	for (size_t i = 0; i < look->listed; i++)
		if (only == NULL || only == &look->holders[i])
			ADD(request, look->holders[i].digest);
}
