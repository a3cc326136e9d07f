#include "admin/target.h"

#include <stdlib.h>
#include <string.h>

#include "admin/search.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "lock/answer.h"
#include "lock/outer.h"

/* The lock cannot be paused, for that reason. */
static void
target_refuse(struct target *target, enum ending_reason failure,
    const char *why)
{
	target->failure = failure;
	target->why = mem_strdup(why);
	target->state = target->is_queued ? TARGET_LEAVE : TARGET_OUT;
}

static int
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

/* In the order of their names, each once: several helper keys lead to the same
 * lock. One more than are permitted is enough to know that there are too many.
 */
void
targets_add(void *arg, const char *key)
{
	struct targets *targets = arg;
	size_t size = (targets->count + 1) * sizeof(struct target *), at = 0;
	struct target **list;

	while (at < targets->count &&
	       strcmp(targets->list[at]->config.key, key) < 0)
		at++;
	if (targets->count > TARGETS_MAX ||
	    (at < targets->count &&
		strcmp(targets->list[at]->config.key, key) == 0))
		return;
	targets->list = list = mem_realloc(targets->list, size);
	memmove(&list[at + 1], &list[at],
	    (targets->count++ - at) * sizeof(struct target *));
	list[at] = mem_alloc(sizeof(**list));
	if (target_init(list[at], targets->client, key) == -1)
		targets->is_incomplete = true;
}

void
targets_fini(struct targets *targets)
{
	for (size_t i = 0; i < targets->count; i++) {
		struct target *target = targets->list[i];

		free(target->why);
		claim_fini(&target->claim);
		free(target->key);
		free(target);
	}
	free(targets->list);
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

/* Others have the lock by now. A pause is not renewed, or the lock acquired
 * again; then false without randomness. */
static bool
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

/* Makes the request of the present state, which is neither PAUSED nor OUT. No
 * table of functions, whose addresses the loader would have to adjust at the
 * start of each run. */
static void
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

/* Reads the answer, except that to NOTE, and enters the next state, or stays to
 * send the same request again. */
static bool
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

/* --- asking ------------------------------------------------------------- */

/* The lock has moved to another node, which may have to be found. */
static bool
has_lock_moved(struct targets *targets, struct target *target,
    const struct question *question)
{
	const struct enquiry *enquiry = &targets->client->enquiry;
	struct url_address to;
	int node;

	if (question->outcome != QUESTION_FAILED ||
	    !targets->client->endpoint->cluster ||
	    cluster_redirect(question->error, &to) == CLUSTER_NONE)
		return false;
	node = enquiry_find_node(enquiry, &to);
	if (node != -1)
		target->node = node;
	else
		targets->must_find_nodes = true;
	return true;
}

/* A try without a reply may arrive at any time: its token is not used again.
 * A target that leaves does not try again: place and lease end by themselves.
 */
static void
note_target_failure(struct targets *targets, struct target *target,
    const struct question *question)
{
	struct client *client = targets->client;
	bool is_silent = question->outcome == QUESTION_SILENT;

	targets->must_find_nodes |= is_silent && client->endpoint->cluster;
	if (target->state == TARGET_LEAVE || target->state == TARGET_NOTIFY)
		target->state = TARGET_OUT;
	else if (client->failure == ENDING_NOT_A_LOCK &&
		 target->state == TARGET_MARK)
		target_lose(target, target->until > clock_now());
	else if (client->failure == ENDING_NOT_A_LOCK)
		target_refuse(target, client->failure, question->error);
	else if (target->state == TARGET_TRY && is_silent)
		claim_supersede_token(&target->claim);
	if (target->failing_since == 0)
		target->failing_since = clock_now();
	/* Other nodes may well reply. */
	if (client->endpoint->cluster && target->until == 0 &&
	    target->state < TARGET_LEAVE &&
	    clock_now() >=
		target->failing_since + client->opts->lock.server_timeout_ms)
		target_refuse(target, ENDING_UNAVAILABLE, client->error);
}

/* A permanent failure stays, another one is forgotten at the next answer. */
static void
take_answers(struct targets *targets, struct target **some,
    struct question *questions, size_t count)
{
	struct client *client = targets->client;

	for (size_t i = 0; i < count; i++) {
		enum target_state before = some[i]->state;
		bool is_fatal = client->failure == ENDING_REFUSED;

		if (before == TARGET_NOTE) {
			some[i]->state = TARGET_PAUSED;
			continue;
		}
		if (!is_fatal)
			client_forget_failure(client);
		some[i]->asked_at = questions[i].sent_us / 1000;
		if (is_fatal || has_lock_moved(targets, some[i], &questions[i]))
			continue;
		client_take(client, &questions[i], target_read, some[i]);
		if (client->failure != ENDING_NONE) {
			note_target_failure(targets, some[i], &questions[i]);
		} else {
			targets->heard_at = clock_now();
			some[i]->failing_since = 0;
		}
		targets->has_progress |= some[i]->state != before;
	}
	enquiry_forget(questions, count);
}

static void
ask_together(struct targets *targets, struct target **some, size_t count)
{
	struct enquiry *enquiry = &targets->client->enquiry;
	struct question questions[ENQUIRY_AT_ONCE];
	enum target_state state = some[0]->state;
	struct request requests[ENQUIRY_AT_ONCE];

	enquiry->replicas =
	    state == TARGET_MARK ? targets->client->opts->lock.replicas : 0;
	for (size_t i = 0; i < count; i++) {
		target_ask(&requests[i], some[i]);
		questions[i] = enquiry_question(&requests[i]);
	}
	enquiry_ask(enquiry, questions, count);
	for (size_t i = 0; i < count; i++)
		request_fini(&requests[i]);
	enquiry->replicas = 0;
	take_answers(targets, some, questions, count);
}

/* Asks the node about its locks, one state after the other. */
static void
visit_node(void *arg)
{
	struct targets *targets = arg;
	const struct client *client = targets->client;
	struct target *some[ENQUIRY_AT_ONCE];
	size_t count = 0;

	for (enum target_state state = 0; state < TARGET_PAUSED; state++)
		for (size_t i = 0; i < targets->count; i++) {
			struct target *target = targets->list[i];

			if (client->failure == ENDING_REFUSED &&
			    state < TARGET_LEAVE)
				break;
			if (target->state == state &&
			    target->node == client->enquiry.node)
				some[count++] = target;
			if (count == ENQUIRY_AT_ONCE ||
			    (i + 1 == targets->count && count > 0)) {
				ask_together(targets, some, count);
				count = 0;
			}
		}
}

/* Asks once about each lock that is not settled. */
void
targets_ask(struct targets *targets)
{
	struct client *client = targets->client;

	targets->has_progress = false;
	client_forget_failure(client);
	if (targets->must_find_nodes) {
		targets->must_find_nodes = !search_nodes(client);
		for (size_t i = 0; i < targets->count; i++)
			targets->list[i]->node = 0;
	}
	enquiry_visit_nodes(&client->enquiry, visit_node, targets);
}
