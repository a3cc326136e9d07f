#include "admin/look.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/notes.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/moment.h"
#include "lock/claim.h"
#include "lock/limit.h"
#include "sink/holder_text.h"

enum { TENTHS_BELOW_MS = 60000 };

bool
look_has_history(const struct look *look)
{
	return look->run_count > 0 || look->success.end_ms > 0;
}

const struct look_problem *
look_history_problem(const struct look *look)
{
	for (size_t i = 0; i < look->problem_count; i++)
		if (strcmp(look->problems[i].key, look->keys->runs) == 0 ||
		    strcmp(look->problems[i].key, look->keys->info) == 0)
			return &look->problems[i];
	return NULL;
}

bool
look_is_ahead(int64_t at_ms, int64_t now_ms)
{
	return at_ms > now_ms + LIMIT_CLOCKS_MS;
}

void
look_describe_time(int64_t at_ms, int64_t now_ms, char *text, size_t size)
{
	size_t length;

	moment_describe_time(at_ms - now_ms, text, size);
	length = strlen(text);
	if (look_is_ahead(at_ms, now_ms))
		snprintf(text + length, size - length, " (future)");
}

void
look_describe_ago(int64_t at_ms, int64_t now_ms, char *text, size_t size)
{
	bool ahead = look_is_ahead(at_ms, now_ms);
	char age[32];

	moment_describe_age(ahead ? at_ms - now_ms : now_ms - at_ms, age,
	    sizeof(age));
	snprintf(text, size, "%s %s", age, ahead ? "in the future" : "ago");
}

enum look_due
look_due(const struct look *look, int64_t *overdue_ms)
{
	int64_t since_ms = look->success.end_ms;
	bool expected = look->expect_ms > 0;

	*overdue_ms = 0;
	if (since_ms == 0 && expected)
		since_ms = look->expect_since_ms;
	if (since_ms == 0 && expected && look->run_count > 0)
		since_ms = look->runs[look->run_count - 1].start_ms;
	if (look_is_ahead(since_ms, look->now_ms))
		return LOOK_DUE_UNKNOWN;
	if (since_ms == 0 || !expected)
		return LOOK_DUE_NEVER;
	*overdue_ms = look->now_ms - since_ms - look->expect_ms;
	return *overdue_ms > 0 ? LOOK_DUE_OVERDUE : LOOK_DUE_LATER;
}

const struct look_run *
look_last_over(const struct look *look)
{
	bool others_run = look->kind != '\0' && look->kind != 'x';

	for (size_t i = 0; i < look->run_count; i++) {
		const struct look_run *run = &look->runs[i];

		if (!look_run_is_on(run) && !(others_run && run->end_ms == 0))
			return run;
	}
	return NULL;
}

bool
look_run_has_failed(const struct look_run *run)
{
	return run->end_ms == 0 || run->status > 0;
}

bool
look_is_unknown(const struct look *look)
{
	return look->whole && look->problem_count == 0 && look->count == 0 &&
	       look->waiting == 0 && *look->fence == '\0' &&
	       !look_has_history(look) && look->note_count == 0;
}

static const char *
plural(int64_t count)
{
	return count == 1 ? "" : "s";
}

/* --- for people ------------------------------------------------------- */

void
look_describe_holders(const struct look *look, char *text, size_t size)
{
	size_t length;

	if (look->listed == 0) {
		snprintf(text, size, "nobody");
		return;
	}
	holder_text_format(&look->holders[0].who, text, size);
	length = strlen(text);
	if (look->count > 1)
		snprintf(text + length, size - length,
		    ", and by %" PRId64 " other%s", look->count - 1,
		    plural(look->count - 1));
}

void
look_describe_kind(const struct look *look, char *text, size_t size)
{
	if (look->kind == 'x')
		snprintf(text, size, "exclusive");
	else if (look->kind == 's')
		snprintf(text, size, "%" PRId64 " shared", look->count);
	else if (look->permits > 0)
		snprintf(text, size, "%" PRId64 "/%" PRId64 " permit%s",
		    look->count, look->permits, plural(look->permits));
	else
		snprintf(text, size, "%" PRId64 " permit%s", look->count,
		    plural(look->count));
}

void
look_describe_left(int64_t left_ms, char *text, size_t size)
{
	if (left_ms == -1)
		snprintf(text, size, "no limit");
	else if (left_ms < TENTHS_BELOW_MS)
		snprintf(text, size, "%" PRId64 ".%ds", left_ms / 1000,
		    (int)(left_ms % 1000 / 100));
	else
		moment_describe_age(left_ms, text, size);
}

void
look_describe_place(const struct client *client, const char *server, char *text,
    size_t size)
{
	char prefix[LOOK_PLACE_MAX] = "no prefix";

	if (*client->opts->prefix != '\0') {
		snprintf(prefix, sizeof(prefix), "prefix ");
		escape_quote(client->opts->prefix, prefix + strlen(prefix),
		    sizeof(prefix) - strlen(prefix));
	}
	snprintf(text, size, "%s, db %d, %s", server, client->endpoint->db,
	    prefix);
}

const struct look_holder *
look_oldest(const struct look *look)
{
	const struct look_holder *oldest = NULL;

	for (size_t i = 0; i < look->listed; i++) {
		const struct look_holder *holder = &look->holders[i];

		if (holder_is_known(&holder->who) &&
		    (oldest == NULL ||
			holder->who.held_ms > oldest->who.held_ms))
			oldest = holder;
	}
	return oldest;
}

const struct look_holder *
look_holder_with(const struct look *look, const char *token)
{
	for (size_t i = 0; i < look->listed; i++) {
		const struct look_holder *holder = &look->holders[i];

		if (holder->token_is_whole && strcmp(holder->token, token) == 0)
			return holder;
	}
	return NULL;
}

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
		moment_describe_age(waiter->waiting_ms, age, sizeof(age));
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
		    plural(look->count));
	else if (look->permits > 0)
		print_line("kind:",
		    "%" PRId64 " permit%s, %" PRId64 " used, %" PRId64 " free",
		    look->permits, plural(look->permits), look->count,
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

/* The job has ended by itself, or so it seems. */
static bool
is_usual(const struct look_run *run)
{
	return *run->reason == '\0' || strcmp(run->reason, "job_ended") == 0;
}

/* The holder was shown already. */
static void
print_last_run(const struct look *look)
{
	const struct look_run *run = look->runs;
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
	moment_describe_age(run->end_ms - run->start_ms, took, sizeof(took));
	if (run->status != -1)
		snprintf(status, sizeof(status), ", status %d%s%s", run->status,
		    is_usual(run) ? "" : ", ",
		    is_usual(run) ? "" : run->reason);
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
		moment_describe_time(success->end_ms - look->now_ms, end,
		    sizeof(end));
		look_describe_ago(success->end_ms, look->now_ms, ago,
		    sizeof(ago));
		print_line("success:", "%s at %s, %s%s", success->who.host, end,
		    ago, ahead ? " by the clock of the server" : "");
	}
	if (look->expect_ms == 0)
		return;
	moment_describe_age(look->expect_ms, every, sizeof(every));
	moment_describe_age(overdue_ms, late, sizeof(late));
	if (due == LOOK_DUE_OVERDUE)
		print_line("expected:", "a success every %s, overdue for %s",
		    every, late);
	else
		print_line("expected:", "a success every %s%s", every,
		    due == LOOK_DUE_UNKNOWN
			? "; whether it is overdue is not known"
			: "");
}

/* ---------------------------------------------------------------------- */

void
look_print(const struct look *look, const struct client *client)
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
		    look->nested, plural(look->nested),
		    look->released ? "; the outer one has ended" : "");
	print_last_run(look);
	print_expected(look);
	print_queue(look);
	notes_print(look);
	fflush(stdout);
}
