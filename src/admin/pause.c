#include <stdlib.h>
#include <string.h>

#include "admin/commands.h"
#include "admin/lock_row.h"
#include "admin/look.h"
#include "admin/search.h"
#include "admin/target.h"
#include "base/clock.h"
#include "base/exitcode.h"
#include "base/mem.h"

/* Each round asks about all locks, so their number is limited. The head of a
 * queue may be notified between two rounds, and has a second for its try. */
enum { PAUSE_LOCKS = 1000, POLL_MIN_MS = 100, POLL_MAX_MS = 500 };
/* The ends of the pauses may differ by this much. */
enum { PAUSE_SLACK_MS = 1000 };

struct pause {
	struct client *client;
	struct target **targets;
	size_t count;
	bool is_incomplete; /* without randomness or memory for a target */
	bool must_find_nodes;
	bool has_progress; /* in this round */
	int64_t heard_at;  /* the last answer */
};

/* --- the locks ---------------------------------------------------------- */

/* In the order of their names, each once: several helper keys lead to the same
 * lock. One more than are permitted is enough to know that there are too many.
 */
static void
add_target(void *arg, const char *key)
{
	struct pause *pause = arg;
	size_t size = (pause->count + 1) * sizeof(struct target *), at = 0;
	struct target **targets;

	while (at < pause->count &&
	       strcmp(pause->targets[at]->config.key, key) < 0)
		at++;
	if (pause->count > PAUSE_LOCKS ||
	    (at < pause->count &&
		strcmp(pause->targets[at]->config.key, key) == 0))
		return;
	pause->targets = targets = mem_realloc(pause->targets, size);
	memmove(&targets[at + 1], &targets[at],
	    (pause->count++ - at) * sizeof(struct target *));
	targets[at] = mem_alloc(sizeof(**targets));
	if (target_init(targets[at], pause->client, key) == -1)
		pause->is_incomplete = true;
}

/* --- asking ------------------------------------------------------------- */

/* The lock has moved to another node, which may have to be found. */
static bool
has_lock_moved(struct pause *pause, struct target *target,
    const struct question *question)
{
	const struct enquiry *enquiry = &pause->client->enquiry;
	struct url_address to;
	int node;

	if (question->outcome != QUESTION_FAILED ||
	    !pause->client->endpoint->cluster ||
	    cluster_redirect(question->error, &to) == CLUSTER_NONE)
		return false;
	node = enquiry_find_node(enquiry, &to);
	if (node != -1)
		target->node = node;
	else
		pause->must_find_nodes = true;
	return true;
}

/* A try without a reply may arrive at any time: its token is not used again.
 * A target that leaves does not try again: place and lease end by themselves.
 */
static void
note_target_failure(struct pause *pause, struct target *target,
    const struct question *question)
{
	struct client *client = pause->client;
	bool is_silent = question->outcome == QUESTION_SILENT;

	pause->must_find_nodes |= is_silent && client->endpoint->cluster;
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
take_answers(struct pause *pause, struct target **targets,
    struct question *questions, size_t count)
{
	struct client *client = pause->client;

	for (size_t i = 0; i < count; i++) {
		enum target_state before = targets[i]->state;
		bool is_fatal = client->failure == ENDING_REFUSED;

		if (before == TARGET_NOTE) {
			targets[i]->state = TARGET_PAUSED;
			continue;
		}
		if (!is_fatal)
			client_forget_failure(client);
		targets[i]->asked_at = questions[i].sent_us / 1000;
		if (is_fatal ||
		    has_lock_moved(pause, targets[i], &questions[i]))
			continue;
		client_take(client, &questions[i], target_read, targets[i]);
		if (client->failure != ENDING_NONE) {
			note_target_failure(pause, targets[i], &questions[i]);
		} else {
			pause->heard_at = clock_now();
			targets[i]->failing_since = 0;
		}
		pause->has_progress |= targets[i]->state != before;
	}
	enquiry_forget(questions, count);
}

static void
ask_together(struct pause *pause, struct target **targets, size_t count)
{
	struct enquiry *enquiry = &pause->client->enquiry;
	struct question questions[ENQUIRY_AT_ONCE];
	enum target_state state = targets[0]->state;
	struct request requests[ENQUIRY_AT_ONCE];

	enquiry->replicas =
	    state == TARGET_MARK ? pause->client->opts->lock.replicas : 0;
	for (size_t i = 0; i < count; i++) {
		target_ask(&requests[i], targets[i]);
		questions[i] = enquiry_question(&requests[i]);
	}
	enquiry_ask(enquiry, questions, count);
	for (size_t i = 0; i < count; i++)
		request_fini(&requests[i]);
	enquiry->replicas = 0;
	take_answers(pause, targets, questions, count);
}

/* Asks the node about its locks, one state after the other. */
static void
visit_node(void *arg)
{
	struct pause *pause = arg;
	const struct client *client = pause->client;
	struct target *some[ENQUIRY_AT_ONCE];
	size_t count = 0;

	for (enum target_state state = 0; state < TARGET_PAUSED; state++)
		for (size_t i = 0; i < pause->count; i++) {
			struct target *target = pause->targets[i];

			if (client->failure == ENDING_REFUSED &&
			    state < TARGET_LEAVE)
				break;
			if (target->state == state &&
			    target->node == client->enquiry.node)
				some[count++] = target;
			if (count == ENQUIRY_AT_ONCE ||
			    (i + 1 == pause->count && count > 0)) {
				ask_together(pause, some, count);
				count = 0;
			}
		}
}

/* Asks once about each lock that is not settled. */
static void
run_round(struct pause *pause)
{
	struct client *client = pause->client;

	pause->has_progress = false;
	client_forget_failure(client);
	if (pause->must_find_nodes) {
		pause->must_find_nodes = !search_nodes(client);
		for (size_t i = 0; i < pause->count; i++)
			pause->targets[i]->node = 0;
	}
	enquiry_visit_nodes(&client->enquiry, visit_node, pause);
}

/* --- until all are paused ----------------------------------------------- */

/* The locks that are not settled; or those of them that failed when they were
 * asked last. */
static size_t
count_open(const struct pause *pause, bool failing)
{
	size_t count = 0;

	for (size_t i = 0; i < pause->count; i++)
		count += pause->targets[i]->state < TARGET_PAUSED &&
			 (!failing || pause->targets[i]->failing_since != 0);
	return count;
}

/* Pauses with less time left than this are renewed. Whether there are any, or
 * some that could not be renewed. */
static bool
renew_below(struct pause *pause, int64_t left_ms)
{
	int64_t until = clock_now() + left_ms;
	bool any = false;

	for (size_t i = 0; i < pause->count; i++) {
		struct target *target = pause->targets[i];

		if (target->state == TARGET_PAUSED && target->until < until)
			target->state = TARGET_MARK;
		any |= target->state == TARGET_MARK && target->until > 0;
	}
	return any;
}

/* Each holder once. */
static void
report_holders(struct pause *pause)
{
	for (size_t i = 0; i < pause->count; i++) {
		struct target *target = pause->targets[i];
		const struct holder *holder = &target->holder;
		const struct holder *former = &target->reported;

		if (target->state >= TARGET_MARK ||
		    holder->state < HOLDER_FOREIGN ||
		    (holder->state == former->state &&
			strcmp(holder->host, former->host) == 0 &&
			strcmp(holder->pid, former->pid) == 0))
			continue;
		target->reported = *holder;
		CLIENT_EMIT(pause->client, .type = EVENT_PAUSE_WAITS,
		    .name = target->config.name, .holder = holder);
	}
}

/* The server refuses us, or has not replied for too long. */
static bool
has_given_up(const struct pause *pause)
{
	const struct client *client = pause->client;

	return client->failure == ENDING_REFUSED ||
	       (client->failure != ENDING_NONE &&
		   clock_now() >=
		       pause->heard_at + client->opts->lock.server_timeout_ms);
}

static void
wait_for_all(struct pause *pause)
{
	const struct opts *opts = pause->client->opts;
	int64_t give_up_at = opts->wait_ms == OPTS_WAIT_FOREVER
				 ? INT64_MAX
				 : clock_now() + opts->wait_ms;
	int64_t poll_ms = POLL_MIN_MS;

	for (;;) {
		run_round(pause);
		if (count_open(pause, false) == 0 || has_given_up(pause) ||
		    clock_now() >= give_up_at)
			return;
		if (opts->wait_ms != 0)
			report_holders(pause);
		if (pause->has_progress)
			poll_ms = POLL_MIN_MS;
		enquiry_sleep(&pause->client->enquiry,
		    clock_min(clock_now() + poll_ms, give_up_at));
		poll_ms = clock_min(poll_ms * 2, POLL_MAX_MS);
		renew_below(pause, opts->pause_ms / 2);
	}
}

/* Makes all pauses end at the same time. A slot that moves or a replica that is
 * behind may hold up a renewal; the others are renewed again if that takes
 * long. A lock that is lost at this moment is reported as not paused. */
static void
renew_all(struct pause *pause)
{
	const struct opts *opts = pause->client->opts;
	int64_t least_ms =
	    opts->pause_ms - clock_min(PAUSE_SLACK_MS, opts->pause_ms / 4);
	int64_t give_up_at = clock_now() + opts->lock.server_timeout_ms;
	int64_t wait_ms = 0;

	while (renew_below(pause, least_ms)) {
		enquiry_sleep(&pause->client->enquiry,
		    clock_min(clock_now() + wait_ms, give_up_at));
		wait_ms = POLL_MIN_MS;
		run_round(pause);
		if (has_given_up(pause) || clock_now() >= give_up_at)
			return;
	}
}

/* Locks that are not paused leave the queue, and so do those that had a pause
 * of another process. A pause whose renewal got no reply is as it was. */
static void
leave_locks(struct pause *pause)
{
	for (size_t i = 0; i < pause->count; i++) {
		struct target *target = pause->targets[i];
		bool is_paused = target->until > clock_now();

		if (!is_paused)
			target->until = 0;
		if (is_paused && *target->other == '\0')
			target->state = TARGET_PAUSED;
		else
			target->state =
			    target->is_queued ? TARGET_LEAVE : TARGET_OUT;
	}
	run_round(pause);
	run_round(pause);
}

/* --- the result --------------------------------------------------------- */

/* Otherwise it is the name of one lock. */
static bool
is_pattern(const char *glob)
{
	return strpbrk(glob, "*?[\\") != NULL;
}

/* Its exit code. */
static int
report_target(struct client *client, const struct target *target)
{
	int64_t left_ms = target->until > 0 ? target->until - clock_now() : -1;
	struct event event = {.type = EVENT_NOT_PAUSED,
	    .name = target->config.name,
	    .holder = target->why == NULL ? &target->holder : NULL,
	    .why = target->why};

	lock_row_print_act(client, "paused", target->config.key,
	    target->until > 0, left_ms);
	if (target->until > 0) {
		event.type = EVENT_PAUSE_SET;
		event.ms = left_ms;
	} else if (target->failure != ENDING_NONE) {
		event.type = EVENT_ENDING;
		event.ending = target->failure;
		event.status = event_rows[target->failure].status;
	}
	events_emit(client->events, &event);
	return target->until > 0   ? EXITCODE_OK
	       : event.status != 0 ? event.status
				   : EXITCODE_BUSY;
}

static int
report_all(struct pause *pause)
{
	struct client *client = pause->client;
	char place[LOOK_PLACE_MAX];
	int result = EXITCODE_OK;
	int64_t count = 0;

	for (size_t i = 0; i < pause->count; i++) {
		int one = report_target(client, pause->targets[i]);

		if (result == EXITCODE_OK || result == EXITCODE_BUSY)
			result = one != EXITCODE_OK ? one : result;
		count += one == EXITCODE_OK;
	}
	look_describe_place(client, client->endpoint->label, place,
	    sizeof(place));
	if (count > 0)
		CLIENT_EMIT(client, .type = EVENT_PAUSES_SET, .count = count,
		    .why = is_pattern(client->opts->glob)
			       ? "locks that never ran are "
				 "not covered unless -k "
				 "names them"
			       : NULL,
		    .server = place);
	return result;
}

/* ---------------------------------------------------------------------------
 */

static int
pause_targets(struct pause *pause)
{
	struct client *client = pause->client;
	size_t open;
	enum ending_reason failure;
	char error[sizeof(client->error)];
	int result, output;

	pause->heard_at = clock_now();
	wait_for_all(pause);
	open = count_open(pause, false);
	failure =
	    has_given_up(pause) || (open > 0 && count_open(pause, true) == open)
		? client->failure
		: ENDING_NONE;
	memcpy(error, client->error, sizeof(error));
	if (failure == ENDING_NONE)
		renew_all(pause);
	leave_locks(pause);
	result = report_all(pause);
	if (failure != ENDING_NONE)
		result = client_end(client, failure, NULL, error);
	output = client_check_output(client);
	return result != EXITCODE_OK ? result : output;
}

static int
pause_found(struct pause *pause)
{
	struct event mistake = {.type = EVENT_ENDING,
	    .ending = ENDING_MISCONFIGURED,
	    .name = pause->client->opts->glob,
	    .status = EXITCODE_USAGE};

	if (pause->count > PAUSE_LOCKS)
		mistake.why = "more than 1000 locks match";
	else if (pause->count == 0 && is_pattern(mistake.name))
		mistake.why = "no known lock matches; -k pauses one that has "
			      "never run";
	else if (pause->count == 0)
		mistake.why = "no such lock is known; if it has never run, "
			      "name it with -k, too";
	if (mistake.why != NULL) {
		events_emit(pause->client->events, &mistake);
		return EXITCODE_USAGE;
	}
	if (pause->is_incomplete)
		return client_end(pause->client, ENDING_NO_LOCK, NULL,
		    "no randomness, or no memory");
	return pause_targets(pause);
}

int
pause_locks(struct client *client)
{
	const struct opts *opts = client->opts;
	struct pause pause = {.client = client};
	struct search *search = mem_alloc(sizeof(*search));
	int result;

	*search = (struct search){.client = client,
	    .on_key = add_target,
	    .arg = &pause};
	result = search_run(search);
	free(search);
	for (size_t i = 0; i < opts->key_count; i++)
		add_target(&pause, opts->keys[i].key);
	if (result == EXITCODE_OK)
		result = pause_found(&pause);
	for (size_t i = 0; i < pause.count; i++) {
		target_fini(pause.targets[i]);
		free(pause.targets[i]);
	}
	free(pause.targets);
	return result;
}
