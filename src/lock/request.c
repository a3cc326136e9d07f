#include "lock/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lock/claim.h"
#include "lock/script.h"

/* --- words ------------------------------------------------------------ */

#define ADD REQUEST_ADD

void
request_begin(struct request *request)
{
	request->argc = 0;
	request->argv = request->words;
	request->command = (struct command){.words = request->argv};
	request->number_count = request->member_count = 0;
	request->owned = NULL;
}

void
request_fini(struct request *request)
{
	free(request->owned);
}

void
request_script(struct request *request, const struct script *script,
    char *const *keys, size_t count)
{
	request->command.script = script;
	ADD(request, request_number(request, (int64_t)count));
	for (size_t i = 0; i < count; i++)
		ADD(request, keys[i]);
}

void
request_add(struct request *request, const char *const *words)
{
	while (*words != NULL)
		request->argv[request->argc++] = *words++;
	request->argv[request->argc] = NULL;
}

const char *
request_number(struct request *request, int64_t value)
{
	char *text = request->numbers[request->number_count++];

	snprintf(text, sizeof(*request->numbers), "%" PRId64, value);
	return text;
}

/* A number that is given, or nothing. */
static const char *
number_if(struct request *request, bool given, int64_t value)
{
	return given ? request_number(request, value) : "";
}

/* What stands for a token in the lock's key. */
static const char *
member(struct request *request, const struct claim *claim, const char *token)
{
	char *text = request->members[request->member_count++];

	snprintf(text, sizeof(*request->members),
	    claim_kind(claim) == &kind_shared ? "s:%s" : "%s", token);
	return text;
}

static void
add_former(struct request *request, const struct claim *claim)
{
	for (size_t i = 0; i < claim->former_count; i++)
		ADD(request, member(request, claim, claim->former[i]));
}

/* The last arguments of the two scripts of a plain run may be missing. */
static void
drop_empty(struct request *request)
{
	while (*request->argv[request->argc - 1] == '\0')
		request->argv[--request->argc] = NULL;
}

/* --- acquire ---------------------------------------------------------- */

static const char *
permits(struct request *request, const struct claim *claim)
{
	int count = claim_permits(claim);

	return number_if(request, count > 0, count);
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
		   : request_number(request, config->max_waiters);
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

	return request_number(request, is_kept ? claim->config->history_ms : 0);
}

/* A renewal shows whether the token is that of the outer run. */
static void
renew(struct request *request, const struct claim *claim)
{
	request_script(request, claim_kind(claim)->renew, claim->keys.all, 1);
	ADD(request, member(request, claim, claim->token),
	    request_number(request, claim->config->ttl_ms));
	request->command.tag = ANSWER_TO_RENEWAL;
}

static void
join(struct request *request, const struct claim *claim)
{
	const struct lock_config *config = claim->config;
	char *const keys[] = {claim->keys.lock, claim->keys.nested,
	    claim->keys.info};

	if (config->is_hold || config->kind != claim->outer) {
		renew(request, claim);
		request->command.tag = ANSWER_TO_OTHER_KIND;
	} else if (claim->tier == CLAIM_PLAIN) {
		renew(request, claim);
		request->command.tag = ANSWER_TO_PLAIN_JOIN;
	} else {
		request_script(request, claim->outer->join, keys, 3);
		ADD(request, member(request, claim, claim->token),
		    request_number(request, config->ttl_ms), claim->run,
		    request_number(request, 10 * config->ttl_ms));
		request->command.tag = ANSWER_TO_JOIN;
	}
}

void
request_try(struct request *request, const struct claim *claim)
{
	const struct lock_config *config = claim->config;
	bool has_policy = config_has_policy(config);
	bool is_plain = claim->tier == CLAIM_PLAIN;

	request_begin(request);
	if (claim->outer != NULL) {
		join(request, claim);
		return;
	}
	request->command.tag = ANSWER_TO_TRY;
	request_script(request,
	    is_plain ? config->kind->plain_acquire : config->kind->acquire,
	    claim->keys.all,
	    is_plain	 ? KEY_INFO
	    : has_policy ? KEY_COUNT
			 : KEY_NESTED);
	ADD(request, member(request, claim, claim->token),
	    request_number(request, config->ttl_ms));
	if (is_plain) {
		ADD(request, permits(request, claim));
		return;
	}
	ADD(request, claim->record,
	    request_number(request, claim_life_ms(claim)),
	    runs_life(request, claim), claim->waiter,
	    wait_word(request, config), permits(request, claim),
	    config->is_pause ? "front" : claim->ticket);
	add_policies(request, claim);
	add_former(request, claim);
	drop_empty(request);
}

void
request_heal(struct request *request, const struct claim *claim)
{
	request_begin(request);
	request_script(request, &script_heal, &claim->keys.all[KEY_INFO], 6);
	ADD(request, "hash", "list", "zset", "zset", "list", "set");
}

void
request_renewal(struct request *request, const struct claim *claim)
{
	request_begin(request);
	renew(request, claim);
}

void
request_life(struct request *request, const struct claim *claim)
{
	request_begin(request);
	request->command.more = true;
	if (claim->tier == CLAIM_FULL)
		ADD(request, "PEXPIRE", claim->keys.info,
		    request_number(request, claim_life_ms(claim)));
}

void
request_head(struct request *request, const struct claim *claim)
{
	request_begin(request);
	request->command.tag = ANSWER_TO_HEAD;
	request->command.more = true;
	if (claim->tier == CLAIM_FULL)
		ADD(request, "ZRANGE", claim->keys.queue, "0", "0");
}

void
request_order(struct request *request, const struct claim *claim)
{
	request_begin(request);
	request->command.tag = ANSWER_TO_ORDER;
	request_script(request, &script_order, &claim->keys.all[KEY_INFO], 1);
}

/* --- release ---------------------------------------------------------- */

void
request_drop_former(struct request *request, const struct claim *claim,
    size_t which)
{
	request_begin(request);
	request_script(request, claim->config->kind->plain_release,
	    claim->keys.all, 1);
	ADD(request, member(request, claim, claim->former[which]), "0");
}

/* Of a run that had a job: its grant, and what it has come to. */
static void
add_grant_and_end(struct request *request, const struct claim *claim,
    const struct request_run *run)
{
	request->grant[0] = request->end[0] = '\0';
	if (claim->fence[0] != '\0')
		snprintf(request->grant, sizeof(request->grant),
		    "%s %" PRId64 " %s", claim->fence, claim->start,
		    claim->record);
	if (claim->fence[0] != '\0' && run->status != REQUEST_NO_JOB)
		snprintf(request->end, sizeof(request->end),
		    "%d %" PRId64 " %s", run->status,
		    run->waited_ms > 0 ? run->waited_ms : 0, run->reason);
	ADD(request, request->grant, request->end);
}

static void
add_rest(struct request *request, const struct claim *claim,
    const struct request_end *end)
{
	static const char modes[][2][3] = {{"", "1"}, {"0", "01"}};
	const char *id = claim->config->once_id;

	ADD(request, number_if(request, end->keep_ms > 0, end->keep_ms),
	    modes[end->run.is_unproven][end->is_late], claim->run,
	    id != NULL ? id : "", claim->head,
	    end->is_skip ? claim->record : "");
	add_former(request, claim);
	drop_empty(request);
}

void
request_release(struct request *request, const struct claim *claim,
    const struct request_end *end)
{
	const struct key_names *keys = &claim->keys;
	char *needed[8] = {keys->lock, keys->info, keys->runs, keys->queue,
	    keys->alive};
	size_t count = 6;

	request_begin(request);
	if (claim->tier == CLAIM_PLAIN && claim->outer != NULL)
		return;
	if (claim->tier == CLAIM_PLAIN) {
		request->command.tag = ANSWER_TO_PLAIN_RELEASE;
		request_script(request, claim->config->kind->plain_release,
		    keys->all, 1);
		ADD(request, member(request, claim, claim->token),
		    request_number(request,
			end->keep_ms > 0 ? end->keep_ms : 0));
		return;
	}
	request->command.tag = ANSWER_TO_RELEASE;
	needed[5] = end->run.status == REQUEST_NO_JOB && claim->outer == NULL
			? claim->keys.doorbell
			: claim->keys.nested;
	if (claim->was_queued || claim->head[0] != '\0')
		needed[count++] = claim->keys.doorbell;
	if (claim->head[0] != '\0')
		needed[count++] = claim->head_doorbell;
	request_script(request, claim_kind(claim)->release, needed, count);
	ADD(request, member(request, claim, claim->token),
	    claim->was_queued || claim_kind(claim) != &kind_exclusive
		? claim->waiter
		: "");
	add_grant_and_end(request, claim, &end->run);
	ADD(request, request_number(request, claim_life_ms(claim)),
	    runs_life(request, claim));
	add_rest(request, claim, end);
}

/* --- doorbells -------------------------------------------------------- */

void
request_doorbell(struct request *request, const struct claim *claim, int64_t ms)
{
	request_begin(request);
	snprintf(request->end, sizeof(request->end), "%.*f",
	    ms % 1000 == 0 ? 0 : 3, (double)ms / 1000);
	request->command.tag = ANSWER_TO_BELL;
	ADD(request, "BLPOP", claim->keys.doorbell, request->end);
}

void
request_ring(struct request *request, const struct key_names *keys,
    const char (*waiters)[WAITER_SIZE], size_t count)
{
	size_t size = strlen(keys->doorbell) + 1;
	char *needed[LIMIT_NOTIFY + 2] = {keys->queue, keys->alive};
	struct waiter waiter;
	char *doorbells;

	request_begin(request);
	if (count == 0)
		return;
	request->owned = doorbells = malloc(count * size);
	if (doorbells == NULL)
		return;
	for (size_t i = 0; i < count; i++) {
		if (!waiter_parse(&waiter, waiters[i]))
			return;
		needed[i + 2] =
		    memcpy(doorbells + i * size, keys->doorbell, size);
		key_set_token(needed[i + 2], waiter.token);
	}
	request_script(request, &script_ring, needed, count + 2);
	for (size_t i = 0; i < count; i++)
		ADD(request, waiters[i]);
}
