#include "lock/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "lock/script.h"
#include "lock/waiter.h"

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

/* Takes a text that is freed with the request. */
static const char *
own(struct request *request, char *text)
{
	if (text == NULL)
		request->failed = true;
	else
		request->owned[request->owned_count++] = text;
	return text != NULL ? text : "";
}

__attribute__((format(printf, 2, 3))) static const char *
print(struct request *request, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) == -1)
		text = NULL;
	va_end(arguments);
	return own(request, text);
}

static void
begin_request(struct request *request)
{
	request->script = NULL;
	request->argc = 0;
	request->argv = request->words;
	request->decode = NULL;
	request->withdraws = request->more = request->failed = false;
	request->more_words = NULL;
	request->number_count = request->owned_count = 0;
}

/* With these keys. The arguments follow. */
static void
add_script(struct request *request, const struct script *script,
    const char *const *keys, size_t count)
{
	request->script = script;
	ADD(request, number(request, (int64_t)count));
	for (size_t i = 0; i < count; i++)
		ADD(request, keys[i]);
}

void
request_fini(struct request *request)
{
	while (request->owned_count > 0)
		free(request->owned[--request->owned_count]);
	free(request->more_words);
}

/* What stands for a token in the lock's key. */
static const char *
member_of(struct request *request, const struct claim *claim, const char *token)
{
	size_t i =
	    token == claim->token
		? CLAIM_FORMER_MAX
		: (size_t)((const char(*)[TOKEN_SIZE])token - claim->former);

	snprintf(request->members[i], MEMBER_SIZE,
	    claim_kind(claim) == &kind_shared ? "s:%s" : "%s", token);
	return request->members[i];
}

static const char *
own_member(struct request *request, const struct claim *claim)
{
	return member_of(request, claim, claim->token);
}

static void
add_former(struct request *request, const struct claim *claim)
{
	for (size_t i = 0; i < claim->former_count; i++)
		ADD(request, member_of(request, claim, claim->former[i]));
}

/* The doorbell of that waiter, or NULL. */
static const char *
doorbell_of(struct request *request, const char *key, const char *name)
{
	struct waiter waiter;

	if (!waiter_parse(&waiter, name))
		return NULL;
	return own(request, key_of_token(key, 'm', waiter.token));
}

static const char *
key_of_nested(struct request *request, const struct claim *claim)
{
	return own(request, key_of_token(claim->keys.lock, 'n', claim->token));
}

/* --- acquire ---------------------------------------------------------- */

static const char *
permits(struct request *request, const struct claim *claim)
{
	int count = claim_permits(claim);

	return count > 0 ? number(request, count) : "";
}

/* Several servers have no queue, and a try is not the last one. */
static const char *
wait_word(struct request *request, const struct lock_config *config)
{
	if (config_is_vote(config))
		return "?";
	if (!config->wait)
		return "";
	return config->max_waiters == CONFIG_ANY_WAITERS
		   ? "-"
		   : number(request, config->max_waiters);
}

/* A number that is given, or nothing. */
static const char *
number_if(struct request *request, bool given, int64_t value)
{
	return given ? number(request, value) : "";
}

static void
add_policies(struct request *request, const struct claim *claim)
{
	const struct lock_config *config = claim->config;
	int64_t asked_ms =
	    claim->asked_at != 0 ? clock_now() - claim->asked_at : 0;

	ADD(request, number_if(request, config->once_ms > 0, config->once_ms),
	    config->once_id != NULL ? config->once_id : "",
	    number_if(request, config->expect_ms >= 0, config->expect_ms),
	    number_if(request, config->newest, asked_ms),
	    config->replace	  ? "r"
	    : config->replaceable ? "o"
				  : "");
}

/* How long the last runs are remembered; 0: they are not. */
static const char *
runs_life(struct request *request, const struct claim *claim)
{
	bool is_kept = claim->outer == NULL && !config_is_vote(claim->config);

	return number(request, is_kept ? claim->config->history_ms : 0);
}

static void
make_acquire(struct request *request, const struct claim *claim)
{
	const struct lock_config *config = claim->config;
	bool has_policy = config_has_policy(config);
	const char *const keys[] = {claim->keys.lock, claim->keys.info,
	    claim->keys.runs, claim->keys.queue, claim->keys.alive,
	    claim->doorbell, has_policy ? key_of_nested(request, claim) : NULL};

	request->decode = answer_acquire;
	if (claim->tier == CLAIM_PLAIN) {
		add_script(request, config->kind->plain_acquire, keys, 1);
		ADD(request, own_member(request, claim),
		    number(request, config->ttl_ms), permits(request, claim));
		return;
	}
	add_script(request, config->kind->acquire, keys, has_policy ? 7 : 6);
	ADD(request, own_member(request, claim),
	    number(request, config->ttl_ms), claim->record,
	    number(request, claim_life_ms(claim)), runs_life(request, claim),
	    claim->waiter, wait_word(request, config), permits(request, claim),
	    claim->ticket);
	if (!has_policy && claim->former_count == 0)
		return;
	add_policies(request, claim);
	add_former(request, claim);
}

/* A renewal shows whether the token is that of the outer run. */
static void
make_renewal(struct request *request, const struct claim *claim)
{
	const char *const keys[] = {claim->keys.lock};

	add_script(request, claim_kind(claim)->renew, keys, 1);
	ADD(request, own_member(request, claim),
	    number(request, claim->config->ttl_ms));
	request->decode = answer_renew;
}

static void
make_join(struct request *request, const struct claim *claim, bool again)
{
	const struct lock_config *config = claim->config;
	const char *const keys[] = {claim->keys.lock,
	    key_of_nested(request, claim), claim->keys.info};

	if (config->is_hold || config->kind != claim->outer) {
		make_renewal(request, claim);
		request->decode = answer_other_kind;
	} else if (claim->tier == CLAIM_PLAIN) {
		make_renewal(request, claim);
		request->decode = answer_plain_join;
	} else {
		add_script(request, claim->outer->join, keys, again ? 2 : 3);
		ADD(request, own_member(request, claim),
		    number(request, config->ttl_ms), claim->run,
		    number(request, 10 * config->ttl_ms));
		request->decode = answer_join;
	}
}

static void
make_heal(struct request *request, const struct claim *claim)
{
	const char *const keys[] = {claim->keys.info, claim->keys.runs,
	    claim->keys.queue, claim->keys.alive, claim->doorbell,
	    key_of_nested(request, claim)};

	add_script(request, &script_heal, keys, 6);
	ADD(request, "hash", "list", "zset", "zset", "list", "set");
}

void
request_make(struct request *request, const struct claim *claim,
    enum request_what what)
{
	const struct key_names *keys = &claim->keys;
	const char *const info[] = {keys->info};
	bool is_full = claim->tier == CLAIM_FULL;

	begin_request(request);
	request->more = what == REQUEST_LIFE || what == REQUEST_HEAD;
	if (what == REQUEST_TRY && claim->outer == NULL) {
		make_acquire(request, claim);
	} else if (what == REQUEST_TRY || what == REQUEST_JOIN_AGAIN) {
		make_join(request, claim, what == REQUEST_JOIN_AGAIN);
	} else if (what == REQUEST_HEAL) {
		make_heal(request, claim);
	} else if (what == REQUEST_RENEWAL) {
		make_renewal(request, claim);
	} else if (what == REQUEST_LIFE && is_full) {
		ADD(request, "PEXPIRE", keys->info,
		    number(request, claim_life_ms(claim)));
	} else if (what == REQUEST_HEAD) {
		if (is_full)
			ADD(request, "ZRANGE", keys->queue, "0", "0");
		request->decode = answer_head;
	} else if (what == REQUEST_LEAVE_QUEUE) {
		ADD(request, "ZREM", keys->queue, claim->waiter);
	} else if (what == REQUEST_LEAVE_ALIVE) {
		ADD(request, "ZREM", keys->alive, claim->waiter);
	} else if (what == REQUEST_ORDER) {
		add_script(request, &script_order, info, 1);
		request->decode = answer_order;
	}
}

/* --- release ---------------------------------------------------------- */

void
request_drop_former(struct request *request, const struct claim *claim,
    size_t which)
{
	const char *const keys[] = {claim->keys.lock};

	begin_request(request);
	add_script(request, claim->config->kind->plain_release, keys, 1);
	ADD(request, member_of(request, claim, claim->former[which]), "0");
}

static void
make_plain_release(struct request *request, const struct claim *claim,
    const struct request_end *end)
{
	const char *const keys[] = {claim->keys.lock};

	if (claim->outer != NULL)
		return;
	add_script(request, claim->config->kind->plain_release, keys, 1);
	ADD(request, own_member(request, claim),
	    number(request, end->keep_ms > 0 ? end->keep_ms : 0));
	request->decode = answer_plain_release;
}

/* Of a run that had a job: its grant, and what it has come to. */
static void
add_run(struct request *request, const struct claim *claim,
    const struct request_run *run)
{
	if (claim->fence[0] != '\0')
		ADD(request, print(request, "%s %" PRId64 " %s", claim->fence,
				 claim->start, claim->record));
	else
		ADD(request, "");
	if (run->status != REQUEST_NO_JOB && claim->fence[0] != '\0')
		ADD(request,
		    print(request, "%d %" PRId64 " %s", run->status,
			run->waited_ms > 0 ? run->waited_ms : 0, run->reason));
	else
		ADD(request, "");
}

/* What a plain run can do without. */
static void
add_rest(struct request *request, const struct claim *claim,
    const struct request_end *end)
{
	static const char modes[2][2][3] = {{"", "1"}, {"0", "01"}};
	const char *mode = modes[end->run.is_unproven][end->is_late];
	const char *id = claim->config->once_id;

	if (end->keep_ms <= 0 && *mode == '\0' && claim->run[0] == '\0' &&
	    id == NULL && claim->head[0] == '\0' && !end->is_skip &&
	    claim->former_count == 0)
		return;
	ADD(request, number_if(request, end->keep_ms > 0, end->keep_ms), mode,
	    claim->run, id != NULL ? id : "", claim->head);
	if (!end->is_skip && claim->former_count == 0)
		return;
	ADD(request,
	    end->is_skip ? print(request, "wait|%s", claim->record) : "");
	add_former(request, claim);
}

void
request_release(struct request *request, const struct claim *claim,
    const struct request_end *end)
{
	const struct key_names *keys = &claim->keys;
	const char *needed[8] = {keys->lock, keys->info, keys->runs,
	    keys->queue, keys->alive};
	size_t count = 6;

	begin_request(request);
	request->withdraws = true;
	if (claim->tier == CLAIM_PLAIN) {
		make_plain_release(request, claim, end);
		return;
	}
	needed[5] = end->run.status == REQUEST_NO_JOB && claim->outer == NULL
			? claim->doorbell
			: key_of_nested(request, claim);
	if (claim->was_queued || claim->head[0] != '\0')
		needed[count++] = claim->doorbell;
	if (claim->head[0] != '\0')
		needed[count++] = doorbell_of(request, keys->lock, claim->head);
	add_script(request, claim_kind(claim)->release, needed, count);
	ADD(request, own_member(request, claim),
	    claim->was_queued || claim_kind(claim) != &kind_exclusive
		? claim->waiter
		: "");
	add_run(request, claim, &end->run);
	ADD(request, number(request, claim_life_ms(claim)),
	    runs_life(request, claim));
	add_rest(request, claim, end);
	request->decode = answer_release;
}

/* --- doorbells -------------------------------------------------------- */

void
request_doorbell(struct request *request, const struct claim *claim, int64_t ms)
{
	begin_request(request);
	ADD(request, "BLPOP", claim->doorbell,
	    print(request, "%.*f", ms % 1000 == 0 ? 0 : 3, (double)ms / 1000));
}

void
request_ring(struct request *request, const struct key_names *keys,
    const char *const *waiters, size_t count)
{
	const char *needed[LIMIT_NOTIFY + 2] = {keys->queue, keys->alive};

	begin_request(request);
	for (size_t i = 0; i < count; i++) {
		needed[i + 2] = doorbell_of(request, keys->lock, waiters[i]);
		if (needed[i + 2] == NULL || request->failed)
			return;
	}
	if (count == 0)
		return;
	add_script(request, &script_ring, needed, count + 2);
	for (size_t i = 0; i < count; i++)
		ADD(request, waiters[i]);
}

void
request_front(struct request *request, const struct claim *claim)
{
	const char *const keys[] = {claim->keys.lock, claim->keys.info,
	    claim->keys.runs, claim->keys.queue, claim->keys.alive,
	    claim->doorbell};

	begin_request(request);
	add_script(request, &script_front, keys, 6);
	ADD(request, claim->waiter);
}

void
request_lengthen(struct request *request, const struct key_names *keys,
    const char *token, int64_t ms)
{
	const char *const needed[] = {keys->lock};

	begin_request(request);
	add_script(request, &script_renew_exclusive, needed, 1);
	ADD(request, token, number(request, ms));
	request->decode = answer_renew;
}

/* --- for people ------------------------------------------------------- */

void
request_look(struct request *request, const struct key_names *keys,
    enum request_look_keys count, const struct request_look_limits *limits)
{
	const char *const looked_at[] = {keys->lock, keys->info, keys->queue,
	    keys->alive, keys->runs};

	begin_request(request);
	add_script(request, &script_look, looked_at, count);
	ADD(request, number(request, limits->holders),
	    number(request, limits->waiters), number(request, limits->runs));
}

void
request_nested(struct request *request, const struct key_names *keys,
    const char *token)
{
	begin_request(request);
	ADD(request, "SMEMBERS",
	    own(request, key_of_token(keys->lock, 'n', token)));
}

void
request_force(struct request *request, const struct key_names *keys,
    const struct request_force *force)
{
	const struct look *look = force->look;
	const char *head = look->queued > 0 ? look->queue[0].id : "";
	const char *needed[] = {keys->lock, keys->info, keys->queue,
	    keys->alive, NULL};
	size_t count = force->helpers ? 4 : 1;

	begin_request(request);
	request->argv = request->more_words =
	    mem_alloc((REQUEST_WORDS + look->listed) * sizeof(*request->argv));
	needed[4] = count == 4 ? doorbell_of(request, keys->lock, head) : NULL;
	if (needed[4] != NULL)
		count++;
	else
		head = "";
	add_script(request, &script_force, needed, count);
	ADD(request, head, force->who, "3600000",
	    force->ends_pause ? "p" : "x");
	for (size_t i = 0; i < look->listed; i++)
		if (force->only == NULL || force->only == &look->holders[i])
			ADD(request, look->holders[i].digest);
}
