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

/* The head of a queue may be notified between two rounds, and has a second for
 * its try. */
enum { POLL_MIN_MS = 100, POLL_MAX_MS = 500 };
/* The ends of the pauses may differ by this much. */
enum { PAUSE_SLACK_MS = 1000 };

/* --- until all are paused ----------------------------------------------- */

/* The locks that are not settled; or those of them that failed when they were
 * asked last. */
static size_t
count_open(const struct targets *targets, bool failing)
{
	size_t count = 0;

	for (size_t i = 0; i < targets->count; i++)
		count += targets->list[i]->state < TARGET_PAUSED &&
			 (!failing || targets->list[i]->failing_since != 0);
	return count;
}

/* Pauses with less time left than this are renewed. Whether there are any, or
 * some that could not be renewed. */
static bool
renew_below(struct targets *targets, int64_t left_ms)
{
	int64_t until = clock_now() + left_ms;
	bool any = false;

	for (size_t i = 0; i < targets->count; i++) {
		struct target *target = targets->list[i];

		if (target->state == TARGET_PAUSED && target->until < until)
			target->state = TARGET_MARK;
		any |= target->state == TARGET_MARK && target->until > 0;
	}
	return any;
}

/* Each holder once. */
static void
report_holders(struct targets *targets)
{
	for (size_t i = 0; i < targets->count; i++) {
		struct target *target = targets->list[i];
		const struct holder *holder = &target->holder;
		const struct holder *former = &target->reported;

		if (target->state >= TARGET_MARK ||
		    holder->state < HOLDER_FOREIGN ||
		    (holder->state == former->state &&
			strcmp(holder->host, former->host) == 0 &&
			strcmp(holder->pid, former->pid) == 0))
			continue;
		target->reported = *holder;
		CLIENT_EMIT(targets->client, .type = EVENT_PAUSE_WAITS,
		    .name = target->config.name, .holder = holder);
	}
}

/* The server refuses us, or has not replied for too long. */
static bool
has_given_up(const struct targets *targets)
{
	const struct client *client = targets->client;

	return client->failure == ENDING_REFUSED ||
	       (client->failure != ENDING_NONE &&
		   clock_now() >= targets->heard_at +
				      client->opts->lock.server_timeout_ms);
}

static void
wait_for_all(struct targets *targets)
{
	const struct opts *opts = targets->client->opts;
	int64_t give_up_at = opts->wait_ms == OPTS_WAIT_FOREVER
				 ? INT64_MAX
				 : clock_now() + opts->wait_ms;
	int64_t poll_ms = POLL_MIN_MS;

	for (;;) {
		targets_ask(targets);
		if (count_open(targets, false) == 0 || has_given_up(targets) ||
		    clock_now() >= give_up_at)
			return;
		if (opts->wait_ms != 0)
			report_holders(targets);
		if (targets->has_progress)
			poll_ms = POLL_MIN_MS;
		enquiry_sleep(&targets->client->enquiry,
		    clock_min(clock_now() + poll_ms, give_up_at));
		poll_ms = clock_min(poll_ms * 2, POLL_MAX_MS);
		renew_below(targets, opts->pause_ms / 2);
	}
}

/* Makes all pauses end at the same time. A slot that moves or a replica that is
 * behind may hold up a renewal; the others are renewed again if that takes
 * long. A lock that is lost at this moment is reported as not paused. */
static void
renew_all(struct targets *targets)
{
	const struct opts *opts = targets->client->opts;
	int64_t least_ms =
	    opts->pause_ms - clock_min(PAUSE_SLACK_MS, opts->pause_ms / 4);
	int64_t give_up_at = clock_now() + opts->lock.server_timeout_ms;
	int64_t wait_ms = 0;

	while (renew_below(targets, least_ms)) {
		enquiry_sleep(&targets->client->enquiry,
		    clock_min(clock_now() + wait_ms, give_up_at));
		wait_ms = POLL_MIN_MS;
		targets_ask(targets);
		if (has_given_up(targets) || clock_now() >= give_up_at)
			return;
	}
}

/* Locks that are not paused leave the queue, and so do those that had a pause
 * of another process. A pause whose renewal got no reply is as it was. */
static void
leave_locks(struct targets *targets)
{
	for (size_t i = 0; i < targets->count; i++) {
		struct target *target = targets->list[i];
		bool is_paused = target->until > clock_now();

		if (!is_paused)
			target->until = 0;
		if (is_paused && *target->other == '\0')
			target->state = TARGET_PAUSED;
		else
			target->state =
			    target->is_queued ? TARGET_LEAVE : TARGET_OUT;
	}
	targets_ask(targets);
	targets_ask(targets);
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
report_all(struct targets *targets)
{
	struct client *client = targets->client;
	char place[LOOK_PLACE_MAX];
	int result = EXITCODE_OK;
	int64_t count = 0;

	for (size_t i = 0; i < targets->count; i++) {
		int one = report_target(client, targets->list[i]);

		if (result == EXITCODE_OK || result == EXITCODE_BUSY)
			result = one != EXITCODE_OK ? one : result;
		count += one == EXITCODE_OK;
	}
	look_describe_place(client, client->endpoint->label, place,
	    sizeof(place));
	if (count > 0)
		CLIENT_EMIT(client, .type = EVENT_PAUSES_SET, .count = count,
		    .why = is_pattern(client->opts->glob)
			       ? "locks that never ran are not covered "
				 "unless -k names them"
			       : NULL,
		    .server = place);
	return result;
}

/* --- --pause ------------------------------------------------------------ */

/* Those that are known and match, and those that -k names. The exit code. */
static int
find_targets(struct targets *targets)
{
	struct client *client = targets->client;
	const struct opts *opts = client->opts;
	struct search *search = mem_alloc(sizeof(*search));
	const char *why = NULL;
	int result;

	*search = (struct search){.client = client,
	    .on_key = targets_add,
	    .arg = targets};
	result = search_run(search);
	free(search);
	for (size_t i = 0; i < opts->key_count; i++)
		targets_add(targets, opts->keys[i].key);
	if (result != EXITCODE_OK)
		return result;
	if (targets->count > TARGETS_MAX)
		why = "more than 1000 locks match";
	else if (targets->count == 0 && is_pattern(opts->glob))
		why = "no known lock matches; -k pauses one that has never run";
	else if (targets->count == 0)
		why = "no such lock is known; if it has never run, name it "
		      "with -k, too";
	else if (targets->is_incomplete)
		return client_end(client, ENDING_NO_LOCK, NULL,
		    "no randomness, or no memory");
	else
		return EXITCODE_OK;
	CLIENT_EMIT(client, .type = EVENT_ENDING,
	    .ending = ENDING_MISCONFIGURED, .name = opts->glob, .why = why,
	    .status = EXITCODE_USAGE);
	return EXITCODE_USAGE;
}

static int
pause_targets(struct targets *targets)
{
	struct client *client = targets->client;
	size_t open;
	enum ending_reason failure;
	char error[sizeof(client->error)];
	int result, output;

	targets->heard_at = clock_now();
	wait_for_all(targets);
	open = count_open(targets, false);
	failure = has_given_up(targets) ||
			  (open > 0 && count_open(targets, true) == open)
		      ? client->failure
		      : ENDING_NONE;
	memcpy(error, client->error, sizeof(error));
	if (failure == ENDING_NONE)
		renew_all(targets);
	leave_locks(targets);
	result = report_all(targets);
	if (failure != ENDING_NONE)
		result = client_end(client, failure, NULL, error);
	output = client_check_output(client);
	return result != EXITCODE_OK ? result : output;
}

int
pause_locks(struct client *client)
{
	struct targets targets = {.client = client};
	int result = find_targets(&targets);

	if (result == EXITCODE_OK)
		result = pause_targets(&targets);
	targets_fini(&targets);
	return result;
}
