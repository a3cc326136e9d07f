#include "admin/commands.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/lock_row.h"
#include "admin/look.h"
#include "base/duration.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "base/mem.h"
#include "sink/holder_text.h"

/* The last runs; of those of --status only the last is shown, but others say
 * who was replaced. */
enum { HOLDERS_SHOWN = 100, RUNS_SHOWN = 10 };

__attribute__((format(printf, 2, 3))) static void
print_line(const char *title, const char *format, ...)
{
	va_list arguments;
	char *text, *escaped;

	va_start(arguments, format);
	text = mem_vprintf(format, arguments);
	va_end(arguments);
	escaped = escape_text(text, ESCAPE_TEXT);
	printf("%-9s %s\n", title, escaped);
	free(escaped);
	free(text);
}

static void
print_queue(const struct look *look)
{
	int64_t others = look->waiting - (int64_t)look->queued;

	if (look->waiting < 0)
		return;
	print_line("waiting:", "%" PRId64, look->waiting);
	for (size_t i = 0; i < look->queued; i++) {
		const struct look_waiter *waiter = &look->queue[i];
		char place[32], age[32];

		snprintf(place, sizeof(place), "%6zu.", i + 1);
		duration_describe_age(waiter->waiting_ms, age, sizeof(age));
		print_line(place, "%s (pid %s) for %s", waiter->host,
		    waiter->pid, age);
	}
	if (others > 0)
		print_line("", "and %" PRId64 " more", others);
}

/* How many hold it, if more than one can. */
static void
print_kind(const struct look *look)
{
	int64_t unused = look->permits - look->count;

	if (look->kind == 's')
		print_line("kind:", "shared, %" PRId64 " holder%s", look->count,
		    look_plural(look->count));
	else if (look->permits > 0)
		print_line("kind:",
		    "%" PRId64 " permit%s, %" PRId64 " used, %" PRId64 " free",
		    look->permits, look_plural(look->permits), look->count,
		    unused > 0 ? unused : 0);
	else
		print_line("kind:", "permits, %" PRId64 " used", look->count);
}

static void
print_holder(const struct look_holder *holder)
{
	struct holder unlabelled = holder->who;
	char who[HOLDER_TEXT_MAX], left[32];

	unlabelled.label[0] = '\0';
	holder_text_format(&unlabelled, who, sizeof(who));
	print_line("holder:", "%s", who);
	if (*holder->who.label != '\0')
		print_line("label:", "%s", holder->who.label);
	if (holder->who.state == HOLDER_ENDED)
		print_line("job:", "has ended; kept for --min-hold");
	else if (holder->who.state == HOLDER_HOLD)
		print_line("job:", "none; this is a --hold");
	else if (holder->who.state == HOLDER_PAUSED)
		print_line("job:", "none; the lock is paused by --pause");
	else if (*holder->who.label == '\0' && *holder->command != '\0')
		print_line("command:", "%s", holder->command);
	if (holder->who.replaceable)
		print_line("may be:", "replaced, as of --replaceable");
	print_line("token:", "%s", holder->token);
	look_describe_left(holder->who.left_ms, left, sizeof(left));
	print_line("ttl left:", "%s", left);
}

/* --- the last run ------------------------------------------------------- */

/* The holder was shown already. */
static void
print_last_run(const struct look *look)
{
	const struct look_run *run = look->runs;
	/* The job has ended by itself, or so it seems. */
	bool is_usual =
	    *run->reason == '\0' || strcmp(run->reason, "job_ended") == 0;
	char start[32], end[32], took[32], status[72] = "";
	struct holder_text words;

	if (look->run_count == 0 || look_run_is_on(run))
		return;
	holder_text_split(&run->who, &words);
	look_describe_time(run->start_ms, look->now_ms, start, sizeof(start));
	if (run->end_ms == 0) {
		print_line("last run:", "%s%s, since %s, did not finish",
		    words.who, words.process, start);
		return;
	}
	look_describe_time(run->end_ms, look->now_ms, end, sizeof(end));
	duration_describe_age(run->end_ms - run->start_ms, took, sizeof(took));
	if (run->status != -1)
		snprintf(status, sizeof(status), ", status %d%s%s", run->status,
		    is_usual ? "" : ", ", is_usual ? "" : run->reason);
	print_line("last run:", "%s%s, %s to %s (%s)%s", words.who,
	    words.process, start, end, took, status);
}

/* The last success, if that was another run, and when the next one is due. */
static void
print_expected(const struct look *look)
{
	const struct look_run *success = &look->success;
	bool ahead = look_is_ahead(success->end_ms, look->now_ms);
	char end[32], ago[64], every[32], late[32];
	int64_t overdue_ms;
	enum look_due due = look_due(look, &overdue_ms);

	if (success->end_ms > 0 &&
	    (look->run_count == 0 || look->runs[0].end_ms != success->end_ms)) {
		duration_describe_time(success->end_ms - look->now_ms, end,
		    sizeof(end));
		look_describe_ago(success->end_ms, look->now_ms, ago,
		    sizeof(ago));
		print_line("success:", "%s at %s, %s%s", success->who.host, end,
		    ago, ahead ? " by the clock of the server" : "");
	}
	if (look->expect_ms == 0)
		return;
	duration_describe_age(look->expect_ms, every, sizeof(every));
	duration_describe_age(overdue_ms, late, sizeof(late));
	if (due == LOOK_DUE_OVERDUE)
		print_line("expected:", "a success every %s, overdue for %s",
		    every, late);
	else
		print_line("expected:", "a success every %s%s", every,
		    due == LOOK_DUE_UNKNOWN
			? "; whether it is overdue is not known"
			: "");
}

static void
print_look(const struct look *look, const struct client *client)
{
	int64_t others = look->count - (int64_t)look->listed;
	char place[LOOK_PLACE_MAX];

	look_describe_place(client, way_label(client->enquiry.server), place,
	    sizeof(place));
	print_line("lock:", "%s", client->opts->keys[0].name);
	print_line("server:", "%s", place);
	if (look->listed == 0)
		print_line("holder:", "nobody%s",
		    look_is_unknown(look) ? "; no such lock is known" : "");
	else if (look->kind != 'x')
		print_kind(look);
	for (size_t i = 0; i < look->listed; i++)
		print_holder(&look->holders[i]);
	if (others > 0)
		print_line("holders:", "%" PRId64 " more", others);
	if (*look->fence != '\0')
		print_line("fence:", "%s", look->fence);
	if (look->nested > 0 || look->released)
		print_line("nested:", "%" PRId64 " run%s inside%s",
		    look->nested, look_plural(look->nested),
		    look->released ? "; the outer one has ended" : "");
	print_last_run(look);
	print_expected(look);
	print_queue(look);
	look_print_notes(look);
	fflush(stdout);
}

/* --- the commands ------------------------------------------------------- */

static void
print_runs(const struct look *look)
{
	struct table table;
	struct row row = {.table = &table};

	table_init(&table, LOCK_ROW_RUNS);
	for (size_t i = 0; i < look->run_count; i++) {
		table_add(&table);
		lock_row_put_run(&row, NULL, &look->runs[i], look->now_ms);
	}
	table_print(&table);
}

int
lock_show(struct client *client)
{
	static const struct query_limits status = {HOLDERS_SHOWN,
	    CLIENT_QUEUE_SHOWN, RUNS_SHOWN};
	static const struct query_limits history = {1, 0, RUNS_SHOWN};
	const struct opts *opts = client->opts;
	const struct look *look = &client->look;
	bool is_history = opts->action == OPTS_HISTORY;
	bool quiet = opts->quiet && !is_history;
	int result = client_look(client, opts->keys[0].key,
	    is_history ? &history : &status);

	if (result != EXITCODE_OK)
		return result;
	client->is_held |= look->kind != '\0' && !is_history;
	if (!quiet && opts->json) {
		lock_row_print_json(look, client);
	} else if (is_history) {
		if (look->run_count > 0)
			print_runs(look);
		look_print_notes(look);
	} else if (!quiet) {
		print_look(look, client);
	}
	client_note_output(client);
	for (size_t i = 0; i < look->problem_count; i++)
		if (!quiet && !opts->json)
			client_report_problem(client, look, &look->problems[i]);
	if (is_history && look->run_count == 0 && !opts->json &&
	    look_history_problem(look) == NULL)
		CLIENT_EMIT(client, .type = EVENT_NOT_SHOWN,
		    .name = client_name_of(client, look),
		    .why = "no run is recorded");
	return client_check_output(client);
}
