#include "lock/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
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
begin_request(struct request *request)
{
	*request = (struct request){.argv = request->words};
}

/* With these keys. The arguments follow. */
static void
add_script(struct request *request, const struct script *script,
    char *const *keys, size_t count)
{
	request->script = script;
	ADD(request, number(request, (int64_t)count));
	for (size_t i = 0; i < count; i++)
		ADD(request, keys[i]);
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
static char *
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

/* With the period in which a success is due, if the run states one. */
static const char *
life_and_period(struct request *request, const struct claim *claim)
{
	const char *life = history_life(request, claim);
	int64_t expect_ms = claim->config->expect_ms;

	if (expect_ms < 0 || *life == '\0')
		return life;
	snprintf(request->joined, sizeof(request->joined), "%s:%" PRId64, life,
	    expect_ms);
	return request->joined;
}

/* The number, or nothing, and the id of --once-id if there is one. */
static const char *
with_id(struct request *request, const struct claim *claim, const char *text)
{
	const char *id = claim->config->once_id;

	if (id == NULL)
		return text;
	snprintf(request->tagged, sizeof(request->tagged), "%s:%s", text, id);
	return request->tagged;
}

/* --- acquire ---------------------------------------------------------- */

/* Only with the keys that it needs: its bytes count, see pad_try(). */
static void
make_undo(struct request *request, const struct claim *claim)
{
	const struct key_names *keys = &claim->keys;
	char *const needed[] = {keys->lock, keys->record, keys->queue,
	    keys->alive, keys->doorbell, keys->history};
	size_t count = claim->tier == CLAIM_WITH_HISTORY ? 6 : 5;

	if (claim->outer != NULL)
		return;
	if (claim->tier < CLAIM_WITH_QUEUE)
		count = claim->tier == CLAIM_KEY_ONLY ? 1 : 2;
	add_script(request, &script_undo, needed, count);
	request->withdraws = true;
	ADD(request, claim->token, claim->waiter);
	add_former(request, claim);
}

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
pad_try(struct request *request, const struct claim *claim)
{
	const struct script *script = request->script;
	struct request undo;
	size_t rest;

	begin_request(&undo);
	make_undo(&undo, claim);
	rest = wire_size(&undo, "EVAL", script_undo.text) + HANDSHAKE_BYTES;
	request->padding.by_digest =
	    missing(wire_size(request, "EVALSHA", script->digest), rest);
	request->padding.whole =
	    missing(wire_size(request, "EVAL", script->text), rest);
}

/* The keys of the tier, then those of the policies: no other request has them.
 */
static void
add_acquire(struct request *request, const struct claim *claim)
{
	char *keys[KEY_COUNT];
	size_t count = claim->tier;

	memcpy(keys, claim->keys.all, count * sizeof(*keys));
	if (claim->config->newest)
		keys[count++] = claim->keys.newest;
	if (claim->config->replace || claim->config->replaceable)
		keys[count++] = claim->keys.order;
	add_script(request, claim->config->kind->acquire, keys, count);
}

/* "n", and the ticket, or for how long it has been asked for. */
static void
put_newest(const struct claim *claim, char *end, size_t size)
{
	if (claim->ticket[0] != '\0' || claim->asked_at == 0)
		snprintf(end, size, "n%.20s", claim->ticket);
	else
		snprintf(end, size, "n-%" PRId64,
		    clock_now() - claim->asked_at);
}

/* "1" or "0", and the letters of the policies. */
static const char *
wait_word(struct request *request, const struct claim *claim)
{
	const struct lock_config *config = claim->config;
	char *text;

	if (!config_needs_queue(config))
		return config->wait ? "1" : "0";
	text = request->numbers[request->number_count++];
	snprintf(text, sizeof(*request->numbers), "%d%s%s", config->wait,
	    config->replace ? "r" : "", config->replaceable ? "o" : "");
	if (config->newest)
		put_newest(claim, text + strlen(text),
		    sizeof(*request->numbers) - strlen(text));
	return text;
}

static void
make_join(struct request *request, const struct claim *claim, const char *ttl,
    size_t keys)
{
	const struct lock_config *config = claim->config;
	const struct kind *kind = claim_kind(claim);

	add_script(request, kind->join, claim->keys.all, keys);
	ADD(request, claim->token, ttl);
	ADD(request, kind->letter, claim->run, helper_life(request, claim),
	    config->is_hold ? "" : config->kind->letter);
	request->decode = answer_join;
}

static void
make_try(struct request *request, const struct claim *claim, const char *ttl)
{
	const struct lock_config *config = claim->config;
	const struct kind *kind = claim_kind(claim);
	const struct holder *self = &claim->self;

	if (claim->outer != NULL) {
		/* All keys of the tier: this shows whether a release may use
		 * them. */
		make_join(request, claim, ttl, claim->tier);
		return;
	}
	add_acquire(request, claim);
	ADD(request, claim->token, ttl);
	ADD(request, helper_life(request, claim), kind->letter,
	    permits(request, claim), self->host, self->pid, self->user,
	    config->command, config->label, claim->waiter,
	    wait_word(request, claim),
	    config->max_waiters == CONFIG_ANY_WAITERS
		? ""
		: number(request, config->max_waiters));
	request->padding.at = request->argc;
	ADD(request, "", life_and_period(request, claim),
	    with_id(request, claim,
		config->once_ms > 0 ? number(request, config->once_ms) : ""));
	add_former(request, claim);
	pad_try(request, claim);
	request->decode = answer_acquire;
}

void
request_make(struct request *request, const struct claim *claim,
    enum request_what what)
{
	const struct key_names *keys = &claim->keys;
	const struct kind *kind = claim_kind(claim);
	const char *ttl;

	begin_request(request);
	ttl = number(request, claim->config->ttl_ms);
	request->more = what >= REQUEST_RECORD && what <= REQUEST_HEAD;
	switch (what) {
	case REQUEST_TRY:
		make_try(request, claim, ttl);
		break;
	case REQUEST_JOIN_AGAIN:
		make_join(request, claim, ttl, CLAIM_WITH_NESTED);
		break;
	case REQUEST_UNDO:
		make_undo(request, claim);
		break;
	case REQUEST_RENEWAL:
		add_script(request, kind->renew, &keys->lock, 1);
		ADD(request, claim->token, ttl, kind->letter);
		request->decode = answer_renew;
		break;
	case REQUEST_RECORD:
		if (claim->tier >= CLAIM_WITH_RECORD)
			ADD(request, "PEXPIRE", keys->record,
			    helper_life(request, claim));
		break;
	case REQUEST_HISTORY:
		if (claim->tier < CLAIM_WITH_HISTORY)
			break;
		add_script(request, &script_remember, &keys->history, 1);
		ADD(request, history_life(request, claim));
		break;
	case REQUEST_HEAD:
		if (claim->tier >= CLAIM_WITH_QUEUE)
			ADD(request, "ZRANGE", keys->queue, "0", "0");
		request->decode = answer_head;
		break;
	case REQUEST_ORDER:
		ADD(request, "GET", keys->order);
		request->decode = answer_order;
		break;
	case REQUEST_LEAVE:
		ADD(request, "ZREM", keys->queue, claim->waiter);
		break;
	case REQUEST_LEAVE_ALIVE:
		ADD(request, "ZREM", keys->alive, claim->waiter);
		break;
	}
}

/* --- release ---------------------------------------------------------- */

/* What the run has come to: "0", and for the history "0 1500 job_ended". */
static const char *
describe_end(struct request *request, const struct claim *claim,
    const struct request_run *run)
{
	if (run->status == REQUEST_NO_JOB)
		return "";
	if (claim->tier < CLAIM_WITH_HISTORY)
		return number(request, run->status);
	snprintf(request->joined, sizeof(request->joined),
	    "%d %" PRId64 " %.20s", run->status,
	    run->waited_ms > 0 ? run->waited_ms : 0, run->reason);
	return request->joined;
}

/* With the queue also the doorbell of its head, before the history. */
void
request_release(struct request *request, const struct claim *claim,
    const struct request_end *end)
{
	const struct key_names *keys = &claim->keys;
	const char *doorbell;

	begin_request(request);
	add_script(request, claim_kind(claim)->release, keys->all, claim->tier);
	if (claim->tier >= CLAIM_WITH_QUEUE) {
		doorbell = doorbell_of(request, keys->lock, claim->head);
		request->argv[0] = number(request, claim->tier + 1);
		request->argc = CLAIM_WITH_QUEUE + 1;
		ADD(request, doorbell != NULL ? doorbell : keys->doorbell);
	}
	if (claim->tier == CLAIM_WITH_HISTORY)
		ADD(request, keys->history);
	ADD(request, claim->token, claim_kind(claim)->letter,
	    permits(request, claim), end->undo_fence ? end->fence : "",
	    number(request, end->keep_ms > 0 ? end->keep_ms : 0), claim->waiter,
	    claim->run, claim->head,
	    with_id(request, claim, history_life(request, claim)),
	    describe_end(request, claim, &end->run), end->fence,
	    claim->self.host);
	add_former(request, claim);
	request->decode = answer_release;
	request->withdraws = true;
}

void
request_correction(struct request *request, const struct claim *claim,
    const char *fence, const struct request_run *run)
{
	int64_t ago_ms = run->ended_at != 0 ? clock_now() - run->ended_at : 0;
	const char *id = claim->config->once_id;

	begin_request(request);
	add_script(request, &script_correct, &claim->keys.history, 1);
	ADD(request, fence, number(request, run->status),
	    number(request, run->waited_ms > 0 ? run->waited_ms : 0),
	    run->reason, number(request, ago_ms), history_life(request, claim),
	    claim->self.host, id != NULL ? id : "");
	request->decode = answer_renew; /* as they are alike */
}

/* --- doorbells -------------------------------------------------------- */

void
request_doorbell(struct request *request, const struct claim *claim, int64_t ms)
{
	char *seconds;

	begin_request(request);
	seconds = request->numbers[0];
	snprintf(seconds, sizeof(*request->numbers), "%.*f",
	    ms % 1000 == 0 ? 0 : 3, (double)ms / 1000);
	ADD(request, "BLPOP", claim->keys.doorbell, claim->shared_doorbell,
	    seconds);
}

void
request_notify(struct request *request, const struct key_names *keys,
    const char *const *waiters, size_t count)
{
	char *needed[LIMIT_NOTIFY + 2] = {keys->queue, keys->alive};

	begin_request(request);
	for (size_t i = 0; i < count; i++)
		needed[i + 2] = doorbell_of(request, keys->lock, waiters[i]);
	if (count == 0 || request->doorbell_count < count)
		return;
	add_script(request, &script_notify, needed, count + 2);
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
	char *needed[] = {claim->keys.queue, claim->keys.alive, NULL, NULL,
	    claim->shared_doorbell};

	begin_request(request);
	needed[2] = doorbell_of(request, claim->keys.lock, head);
	needed[3] = doorbell_of(request, claim->keys.lock, answer->behind);
	if (request->doorbell_count < 2)
		return;
	add_script(request, &script_notify_behind, needed, 5);
	ADD(request, answer->behind);
}

/* --- pauses ----------------------------------------------------------- */

void
request_front(struct request *request, const struct claim *claim)
{
	char *const needed[] = {claim->keys.queue, claim->keys.alive};

	begin_request(request);
	add_script(request, &script_front, needed, 2);
	ADD(request, claim->waiter);
}

void
request_pause(struct request *request, const struct key_names *keys,
    const char *token, int64_t ms)
{
	char *const needed[] = {keys->lock, keys->record};

	begin_request(request);
	add_script(request, &script_pause, needed, 2);
	ADD(request, token, number(request, ms));
}

/* --- for people ------------------------------------------------------- */

void
request_look(struct request *request, const struct key_names *keys,
    enum request_look_keys count, const struct request_look_limits *limits)
{
	char *const looked_at[] = {keys->lock, keys->fence, keys->record,
	    keys->queue, keys->alive, keys->nested, keys->history};

	begin_request(request);
	add_script(request, &script_look, looked_at, count);
	ADD(request, number(request, limits->holders),
	    number(request, limits->waiters), number(request, limits->runs));
}

void
request_force(struct request *request, const struct key_names *keys,
    bool helpers, const struct look *look, const struct look_holder *only)
{
	const char *head = look->queued > 0 ? look->queue[0].id : "";
	char *needed[] = {keys->lock, keys->record, keys->nested, keys->queue,
	    keys->alive, NULL};
	size_t count = helpers ? 5 : 1;

	begin_request(request);
	request->argv = request->more_words =
	    mem_alloc((REQUEST_WORDS + look->listed) * sizeof(*request->argv));
	needed[count] = doorbell_of(request, keys->lock, head);
	if (needed[count] != NULL)
		count++;
	else
		head = "";
	add_script(request, &script_force, needed, count);
	ADD(request, head);
	for (size_t i = 0; i < look->listed; i++)
		if (only == NULL || only == &look->holders[i])
			ADD(request, look->holders[i].digest);
}
