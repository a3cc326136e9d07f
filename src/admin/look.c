#include "admin/look.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "base/template.h"
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

	duration_describe_time(at_ms - now_ms, text, size);
	length = strlen(text);
	if (look_is_ahead(at_ms, now_ms))
		snprintf(text + length, size - length, " (future)");
}

void
look_describe_ago(int64_t at_ms, int64_t now_ms, char *text, size_t size)
{
	bool ahead = look_is_ahead(at_ms, now_ms);
	char age[32];

	duration_describe_age(ahead ? at_ms - now_ms : now_ms - at_ms, age,
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
		    look_plural(look->count - 1));
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
		    look->count, look->permits, look_plural(look->permits));
	else
		snprintf(text, size, "%" PRId64 " permit%s", look->count,
		    look_plural(look->count));
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
		duration_describe_age(left_ms, text, size);
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

/* --- notes ---------------------------------------------------------------
 *
 * What has happened to a lock beside its runs: skipped runs and why, pauses
 * that have ended, orders to stop, forced releases. So whoever asks why a job
 * did not run is answered on any host. */

enum { TEXT_SIZE = 4096, WORD_SIZE = 1280, LABEL_SIZE = 512 };

#define SKIPPED "last skipped: {host}[ ({label})], {at}, "

/* Templates, see word_of. Those of pauses and orders have two forms. */
static const char sentences[NOTED_COUNT][128] = {
    [NOTED_FORCE] = "taken from {whom} at {at} by {user}",
    [NOTED_BUSY] = SKIPPED "busy: {cause}",
    [NOTED_DUE] = SKIPPED "not due[: succeeded on {success} at {since}]",
    [NOTED_ID] = SKIPPED "not due[: succeeded with this id on {success} at "
			 "{since}]",
    [NOTED_OVERTAKEN] = SKIPPED "overtaken by {by}",
    [NOTED_PAUSED] = SKIPPED "{cause}",
    [NOTED_WAIT] = SKIPPED "the wait was over: {cause}",
};

#define REPLACED "{whom} was replaced at {at} by {who}"
#define ASKED "{whom} was asked to stop at {at} by {who}[, but is {not}]"
#define PAUSED "paused from {since} to {at} by {pauser}[; ended by {ender}]"
#define PAUSE_ENDED "paused until {at}, ended by {user}"

/* Who had the lock when a run was skipped. */
static const char causes[][48] = {
    [HOLDER_UNSEEN] = "others were queued",
    [HOLDER_FOREIGN] = "held by another client",
    [HOLDER_KNOWN] = "held by {by} since {since}",
    [HOLDER_ENDED] = "kept by --min-hold of {by} since {since}",
    [HOLDER_HOLD] = "held by {by} since {since}",
    [HOLDER_PAUSED] = "paused by {pauser}",
};

struct sentence {
	const struct look *look;
	const struct look_note *note;
	char cause[TEXT_SIZE];
	char room[WORD_SIZE];
};

/* "web-3 (pid 421, ci)" */
static void
describe_run(const struct holder *holder, char room[WORD_SIZE])
{
	struct holder_text text;

	holder_text_split(holder, &text);
	snprintf(room, WORD_SIZE, "%s%s", text.who, text.process);
}

/* "ops on adm-1: database upgrade" */
static void
describe_user(const struct holder *holder, char room[WORD_SIZE])
{
	snprintf(room, WORD_SIZE, "%s on %s%s%s", holder->user, holder->host,
	    *holder->label != '\0' ? ": " : "", holder->label);
}

/* A template_value: `who` is the run that was skipped, or the user that acted;
 * `by` is the cause of that, or the run that it happened to. */
static const char *
word_of(void *arg, const char *word, bool *many)
{
	struct sentence *sentence = arg;
	const struct look_note *note = sentence->note;
	const struct holder *who = &note->who, *by = &note->by;
	int64_t now_ms = sentence->look->now_ms;
	char *room = sentence->room;

	(void)many;
	*room = '\0';
	if (strcmp(word, "host") == 0)
		return who->host;
	if (strcmp(word, "success") == 0)
		return by->host;
	if (strcmp(word, "label") == 0 && *who->label != '\0')
		escape_quote(who->label, room, LABEL_SIZE);
	else if (strcmp(word, "at") == 0)
		duration_describe_time(note->at_ms - now_ms, room, WORD_SIZE);
	else if (strcmp(word, "since") == 0 && note->by_at_ms == 0)
		return "?";
	else if (strcmp(word, "since") == 0)
		duration_describe_time(note->by_at_ms - now_ms, room,
		    WORD_SIZE);
	else if (strcmp(word, "whom") == 0 && by->state == HOLDER_UNSEEN)
		return "the holder";
	else if (strcmp(word, "who") == 0)
		describe_run(who, room);
	else if (strcmp(word, "whom") == 0 || strcmp(word, "by") == 0)
		describe_run(by, room);
	else if (strcmp(word, "user") == 0)
		describe_user(who, room);
	else if (strcmp(word, "pauser") == 0)
		describe_user(by, room);
	else if (strcmp(word, "ender") == 0 &&
		 (strcmp(by->host, who->host) != 0 ||
		     strcmp(by->user, who->user) != 0))
		snprintf(room, WORD_SIZE, "%s on %s", who->user, who->host);
	else if (strcmp(word, "not") == 0 && holder_is_known(by) &&
		 !by->replaceable)
		return "not --replaceable";
	else if (strcmp(word, "cause") == 0) {
		template_fill(causes[by->state], word_of, sentence,
		    sentence->cause, sizeof(sentence->cause));
		return sentence->cause;
	}
	return room;
}

/* Whether the run that was asked to stop has ended, if its end is known. */
static bool
is_obeyed(const struct look *look, const struct look_note *note)
{
	for (size_t i = 0; i < look->run_count; i++)
		if (look->runs[i].status == EXITCODE_REPLACED &&
		    *note->by_fence != '\0' &&
		    strcmp(look->runs[i].fence, note->by_fence) == 0)
			return true;
	return false;
}

void
look_print_notes(const struct look *look)
{
	for (size_t i = 0; i < look->note_count; i++) {
		const struct look_note *note = &look->notes[i];
		struct sentence sentence = {.look = look, .note = note};
		const char *template = sentences[note->what];
		char text[TEXT_SIZE], *escaped;

		if (note->what == NOTED_ORDER)
			template = is_obeyed(look, note) ? REPLACED : ASKED;
		else if (note->what == NOTED_PAUSE)
			template = note->by.state == HOLDER_PAUSED
				       ? PAUSED
				       : PAUSE_ENDED;
		template_fill(template, word_of, &sentence, text, sizeof(text));
		escaped = escape_text(text, ESCAPE_TEXT);
		printf("%s\n", escaped);
		free(escaped);
	}
}
