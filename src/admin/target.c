#include "admin/target.h"

#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "lock/answer.h"
#include "lock/outer.h"

void
target_refuse(struct target *target, enum ending_reason failure,
    const char *why)
{
	target->failure = failure;
	target->why = mem_strdup(why);
	target->state = target->is_queued ? TARGET_LEAVE : TARGET_OUT;
}

int
target_init(struct target *target, const struct client *client, const char *key)
{
	const struct opts *opts = client->opts;
	char token[TOKEN_SIZE];
	const struct kind *held =
	    outer_find(getenv("RLOCKRUN_HELD"), key, token);

	*target = (struct target){.client = client,
	    .node = client->enquiry.node,
	    .key = mem_strdup(key)};
	target->config = (struct lock_config){.key = target->key,
	    .name = target->key + strlen(opts->prefix),
	    .server = opts->servers,
	    .ttl_ms = opts->lock.ttl_ms,
	    .wait = true,
	    .max_waiters = CONFIG_ANY_WAITERS,
	    .expect_ms = CONFIG_EXPECT_UNSTATED,
	    .kind = &kind_exclusive,
	    .is_hold = true,
	    .is_pause = true,
	    .hold_ms = opts->pause_ms,
	    .command = "",
	    .label = opts->lock.label};
	if (held != NULL)
		target_refuse(target, ENDING_OTHER_KIND, held->adverb);
	else if (!client_reaches_helpers(client, key))
		target_refuse(target, ENDING_MISCONFIGURED,
		    "in a cluster there is no queue for a lock of this name");
	return claim_init(&target->claim, &target->config);
}

void
target_fini(struct target *target)
{
	free(target->why);
	claim_fini(&target->claim);
	free(target->key);
}

/* --- what is asked ------------------------------------------------------ */

/* The pause of another process is lengthened. */
static bool
read_target_look(struct target *target, const struct value *value)
{
	const struct look_holder *holder;
	struct look look = {.keys = &target->claim.keys};

	if (!query_read_look(&look, value))
		return false;
	holder = look.listed > 0 ? &look.holders[0] : NULL;
	target->state = TARGET_TRY;
	if (holder != NULL && holder->who.state == HOLDER_PAUSED &&
	    strlen(holder->token) < sizeof(target->other)) {
		memcpy(target->other, holder->token, strlen(holder->token) + 1);
		target->other_until = target->asked_at + holder->who.left_ms;
		target->state = TARGET_MARK;
	}
	query_fini(&look);
	return true;
}

static bool
read_try(struct target *target, const struct value *value)
{
	struct answer answer;

	if (!answer_read(&answer, ANSWER_TO_TRY, value))
		return false;
	target->claim.former_count = 0;
	target->holder = answer.holder;
	target->holder.others_queued = false;
	if (answer.outcome == ANSWER_GRANTED)
		target->state = TARGET_MARK;
	else if (answer.holder.state == HOLDER_PAUSED)
		target->state = TARGET_LOOK;
	return true;
}

bool
target_lose(struct target *target, bool was_paused)
{
	bool is_own = *target->other == '\0';

	target->until = 0;
	*target->other = '\0';
	if (was_paused)
		target->why = mem_strdup("its pause has ended");
	target->state = was_paused ? TARGET_OUT : TARGET_LOOK;
	return !is_own || claim_supersede_token(&target->claim);
}

/* A lock that we lost before it was marked is acquired again, with a fresh
 * token. A pause that --resume has ended is not renewed. */
static bool
read_mark(struct target *target, const struct value *value)
{
	bool was_paused = target->until > clock_now();
	struct answer answer;

	if (!answer_read(&answer, ANSWER_TO_RENEWAL, value))
		return false;
	target->until = 0;
	if (answer.outcome == ANSWER_RENEWED) {
		target->until =
		    target->asked_at + target->client->opts->pause_ms;
		if (*target->other != '\0' &&
		    target->until < target->other_until)
			target->until = target->other_until;
		target->state = TARGET_NOTE;
		return true;
	}
	return target_lose(target, was_paused);
}

/* No table of functions, whose addresses the loader would have to adjust at the
 * start of each run. */
void
target_ask(struct request *request, struct target *target)
{
	struct claim *claim = &target->claim;
	const char *token =
	    *target->other != '\0' ? target->other : claim->token;

	switch (target->state) {
	case TARGET_LOOK:
		query_look(request, &claim->keys, QUERY_HELPERS,
		    &(struct query_limits){1, 0, 0});
		break;
	case TARGET_TRY:
		target->is_queued = true;
		request_try(request, claim);
		break;
	case TARGET_MARK:
		query_lengthen(request, &claim->keys, token,
		    target->client->opts->pause_ms);
		break;
	case TARGET_NOTE:
		query_pause(request, &claim->keys, token,
		    target->until - clock_now());
		break;
	case TARGET_LEAVE:
		claim->was_queued = true;
		request_release(request, claim,
		    &(struct request_end){.run.status = REQUEST_NO_JOB});
		break;
	case TARGET_NOTIFY:
		request_ring(request, &claim->keys, &target->head, 1);
		if (request->argc == 0)
			log_die(EXITCODE_RESOURCE, "out of memory");
		break;
	case TARGET_PAUSED:
	case TARGET_OUT:
		break;
	}
}

bool
target_read(void *arg, const struct value *value)
{
	struct target *target = arg;
	struct answer answer;

	switch (target->state) {
	case TARGET_LOOK:
		return read_target_look(target, value);
	case TARGET_TRY:
		return read_try(target, value);
	case TARGET_MARK:
		return read_mark(target, value);
	case TARGET_LEAVE:
		if (!answer_read(&answer, ANSWER_TO_RELEASE, value))
			return false;
		target->is_queued = false;
		memcpy(target->head, answer.head, sizeof(target->head));
		target->state =
		    *target->head != '\0' ? TARGET_NOTIFY : TARGET_OUT;
		return true;
	case TARGET_NOTIFY:
		target->state = TARGET_OUT;
		return true;
	case TARGET_NOTE:
	case TARGET_PAUSED:
	case TARGET_OUT:
		break;
	}
	return false;
}
