#include "admin/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/script.h"
#include "base/clock.h"
#include "base/mem.h"
#include "lock/answer.h"
#include "lock/claim.h"
#include "lock/limit.h"
#include "lock/record.h"
#include "redis/reply.h"

enum { HOLDER_VALUES = 5 }; /* of look.lua, for each */
enum { RUNS_MAX = 10 };

/* What was done is asked for on the next days, also if no run is remembered. */
#define NOTES_LIFE_MS (INT64_C(4) * 24 * 3600 * 1000)

/* --- what is asked ---------------------------------------------------- */

void
query_look(struct request *request, const struct key_names *keys,
    enum query_keys count, const struct query_limits *limits)
{
	char *const looked_at[] = {keys->lock, keys->info, keys->queue,
	    keys->alive, keys->runs};

	request_begin(request);
	request_script(request, &script_look, looked_at, count);
	REQUEST_ADD(request, request_number(request, limits->holders),
	    request_number(request, limits->waiters),
	    request_number(request, limits->runs));
}

void
query_nested(struct request *request, const struct key_names *keys,
    const char *token)
{
	size_t prefix = strlen(keys->nested) - (TOKEN_SIZE - 1);

	request_begin(request);
	request->owned = mem_printf("%.*s%s", (int)prefix, keys->nested, token);
	REQUEST_ADD(request, "SMEMBERS", request->owned);
}

void
query_pause(struct request *request, const struct key_names *keys,
    const char *token, int64_t left_ms)
{
	request_begin(request);
	request_script(request, &script_pause, &keys->info, 1);
	REQUEST_ADD(request, token, request_number(request, left_ms),
	    request_number(request, left_ms + NOTES_LIFE_MS));
}

void
query_lengthen(struct request *request, const struct key_names *keys,
    const char *token, int64_t ms)
{
	request_begin(request);
	request_script(request, kind_exclusive.renew, keys->all, 1);
	REQUEST_ADD(request, token, request_number(request, ms));
	request->command.tag = ANSWER_TO_RENEWAL;
}

/* There may be more holders than a request has room for. */
void
query_force(struct request *request, const struct look *look,
    const struct look_holder *only, const char *who, bool helpers)
{
	const struct key_names *keys = look->keys;
	char *const needed[] = {keys->lock, keys->info, keys->queue,
	    keys->alive};

	request_begin(request);
	request->argv = request->owned =
	    mem_alloc((REQUEST_WORDS + look->listed) * sizeof(*request->argv));
	request->command.words = request->argv;
	request_script(request, &script_force, needed, helpers ? 4 : 1);
	REQUEST_ADD(request, who, request_number(request, NOTES_LIFE_MS));
	for (size_t i = 0; i < look->listed; i++)
		if (only == NULL || only == &look->holders[i])
			REQUEST_ADD(request, look->holders[i].digest);
}

/* --- a look ----------------------------------------------------------- */

/* A helper key that cannot be shown as a whole, once for each reason. */
static void
add_problem(struct look *look, const char *key, const char *error)
{
	struct look_problem *problem;

	for (size_t i = 0; i < look->problem_count; i++)
		if (strcmp(look->problems[i].key, key) == 0 &&
		    strcmp(look->problems[i].error, error) == 0)
			return;
	look->problems = mem_realloc(look->problems,
	    (look->problem_count + 1) * sizeof(*look->problems));
	problem = &look->problems[look->problem_count++];
	problem->key = mem_strdup(key);
	problem->error = mem_strdup(error);
	value_strip_place(problem->error);
	problem->is_denied =
	    reply_judge_error(problem->error) == VERDICT_REFUSED;
	look->has_info = look->has_info || strcmp(key, look->keys->info) == 0;
}

static void
check_number(struct look *look, bool is_good, const char *what)
{
	char error[80];

	snprintf(error, sizeof(error), "%s is no number in range", what);
	if (!is_good)
		add_problem(look, look->keys->info, error);
}

static void
read_fence(struct record_words *words, char fence[LOOK_FENCE_SIZE])
{
	int64_t number = record_number(words, LIMIT_EXACT);

	fence[0] = '\0';
	if (number >= 0)
		snprintf(fence, LOOK_FENCE_SIZE, "%lld", (long long)number);
}

/* Fence, start and record. */
static void
read_grant(struct record_words *words, struct look_run *run, int64_t now_ms)
{
	run->who.reported_at = clock_now();
	read_fence(words, run->fence);
	run->start_ms = record_time(words, now_ms);
	record_read(words, &run->who, NULL, 0);
}

/* The one that has started last is the first, and so many are known at most. */
static void
add_look_run(struct look *look, const struct look_run *run)
{
	size_t at = look->run_count;

	if (run->start_ms == 0) {
		add_problem(look, look->keys->runs, "a former run is damaged");
		return;
	}
	while (at > 0 && look->runs[at - 1].start_ms < run->start_ms)
		at--;
	if (at > RUNS_MAX)
		return;
	if (look->run_count <= RUNS_MAX)
		look->run_count++;
	memmove(&look->runs[at + 1], &look->runs[at],
	    (look->run_count - 1 - at) * sizeof(*look->runs));
	look->runs[at] = *run;
}

/* The run whose entry no release has changed has the lock, or has died. */
static void
add_present_run(struct look *look, const char *entry, bool holds)
{
	struct look_run run = {.holds = holds, .status = -1, .waited_ms = -1};
	struct record_entry read;

	if (strcspn(entry, " ") < TOKEN_SIZE - 1 ||
	    !record_read_entry(entry, look->now_ms, &run.who, &read) ||
	    read.is_left || read.is_kept || read.since_ms == 0 ||
	    holder_has_end(&run.who))
		return;
	run.who.reported_at = clock_now();
	run.start_ms = read.since_ms;
	snprintf(run.fence, sizeof(run.fence), "%s", read.fence);
	add_look_run(look, &run);
}

/* Without what a kind or --min-hold puts before or behind it. */
static void
read_token(const char *member, char token[LIMIT_LONG_TEXT + 1])
{
	static const char kept[] = ":kept";

	if (strncmp(member, "s:", 2) == 0)
		member += 2;
	snprintf(token, LIMIT_LONG_TEXT + 1, "%s", member);
	if (strlen(token) == TOKEN_SIZE - 1 + strlen(kept) &&
	    strcmp(token + TOKEN_SIZE - 1, kept) == 0)
		token[TOKEN_SIZE - 1] = '\0';
}

static void
take_holder(struct cursor *cursor, struct look_holder *holder,
    struct look *look)
{
	struct holder *who = &holder->who;
	struct record_entry read;
	const char *entry, *member;
	int64_t length;

	member = cursor_text(cursor, LIMIT_LONG_TEXT);
	length = cursor_integer(cursor, 0, LIMIT_EXACT);
	holder->token_is_whole = (int64_t)strlen(member) == length;
	read_token(member, holder->token);
	snprintf(holder->digest, sizeof(holder->digest), "%s",
	    cursor_text(cursor, LOOK_DIGEST_SIZE - 1));
	who->reported_at = clock_now();
	who->left_ms = cursor_integer(cursor, -1, LIMIT_LEFT_MS);
	entry = cursor_text(cursor, LIMIT_ENTRY);
	who->state = HOLDER_FOREIGN;
	snprintf(who->pid, sizeof(who->pid), "?");
	who->held_ms = -1;
	if (!record_read_entry(entry, look->now_ms, who, &read))
		return;
	memcpy(holder->command, read.command, sizeof(read.command));
	holder->since_ms = read.since_ms;
	holder->is_left = read.is_left;
	snprintf(holder->fence, sizeof(holder->fence), "%s", read.fence);
	check_number(look, *who->pid != '?', "pid");
	check_number(look, read.since_ms != 0, "since");
	check_number(look, *read.fence != '\0', "fence");
	if (look->kind != 'x')
		add_present_run(look, entry, true);
}

static void
take_holders(struct cursor *values, struct look *look)
{
	size_t count = values->count / HOLDER_VALUES;

	look->holders = mem_alloc(count * sizeof(*look->holders));
	while (look->listed < count && !values->bad)
		take_holder(values, &look->holders[look->listed++], look);
}

/* The runs of the history, each with end, status, ms waited, reason, and its
 * grant. */
static void
take_runs(struct cursor *values, struct look *look)
{
	while (cursor_has_more(values)) {
		struct look_run run = {.fence = ""};
		struct record_words words = {cursor_text(values, LIMIT_ENTRY)};

		run.end_ms = record_time(&words, look->now_ms);
		run.status = (int)record_number(&words, LIMIT_STATUS);
		run.waited_ms = record_number(&words, LIMIT_AGE_MS);
		record_word(&words, run.reason, sizeof(run.reason));
		read_grant(&words, &run, look->now_ms);
		add_look_run(look, &run);
	}
}

/* Whom a note names behind the '|': by what its reason has there. */
static void
read_noted(struct look_note *note, const char *text, int64_t now_ms)
{
	struct record_words words = {text};
	struct record_entry entry;
	bool is_success = note->what == NOTED_DUE || note->what == NOTED_ID;

	if (*text == '\0')
		return;
	if (is_success) {
		note->by_at_ms = record_time(&words, now_ms);
		read_fence(&words, note->by_fence);
		record_number(&words, LIMIT_EXACT);
		record_read(&words, &note->by, NULL, 0);
	} else if (note->what == NOTED_OVERTAKEN) {
		record_read(&words, &note->by, NULL, 0);
	} else if (record_read_entry(text, now_ms, &note->by, &entry)) {
		note->by_at_ms = entry.since_ms;
		snprintf(note->by_fence, sizeof(note->by_fence), "%s",
		    entry.fence);
	} else {
		note->by.state = HOLDER_FOREIGN;
	}
}

/* A note without a time is damaged, and says nothing. A pause that goes on is
 * seen as the holder. */
static void
add_note(struct look *look, enum look_noted what, const char *text)
{
	struct record_words words = {text};
	const char *noted = strstr(text, " | ");
	struct look_note note = {.what = what};
	size_t at = look->note_count;
	char word[LIMIT_TEXT];

	/* The order to stop has the token of the holder and the end of the
	 * order in front, and the waiter's name behind it. */
	if (what == NOTED_ORDER)
		record_word(&words, word, sizeof(word));
	note.at_ms = record_time(&words, look->now_ms);
	if (what == NOTED_ORDER) {
		record_word(&words, word, sizeof(word));
		note.at_ms -= note.at_ms > 0 ? LIMIT_ORDER_MS : 0;
	}
	if (note.at_ms == 0 ||
	    (what == NOTED_PAUSE && note.at_ms > look->now_ms))
		return;
	record_read(&words, &note.who, NULL, 0);
	read_noted(&note, noted != NULL ? noted + strlen(" | ") : "",
	    look->now_ms);
	look->notes = mem_realloc(look->notes,
	    (look->note_count + 1) * sizeof(*look->notes));
	for (; at > 0 && look->notes[at - 1].at_ms < note.at_ms; at--)
		look->notes[at] = look->notes[at - 1];
	look->notes[at] = note;
	look->note_count++;
}

/* What :i says: see look.lua. */
static void
take_known(struct cursor *values, struct look *look)
{
	const char *fence = cursor_text(values, LIMIT_ENTRY);
	const char *success, *period, *entry;
	struct record_words words = {fence};
	int64_t ms;
	bool holds;

	look->has_info = look->has_info || *fence != '\0';
	if (*fence != '\0')
		read_fence(&words, look->fence);
	check_number(look, *fence == '\0' || *look->fence != '\0', "the fence");
	words.at = success = cursor_text(values, LIMIT_ENTRY);
	look->success.end_ms = record_time(&words, look->now_ms);
	read_grant(&words, &look->success, look->now_ms);
	check_number(look, *success == '\0' || look->success.end_ms != 0,
	    "the last success");
	words.at = period = cursor_text(values, LIMIT_ENTRY);
	ms = record_number(&words, LIMIT_AGE_MS);
	look->expect_ms = ms > 0 ? ms : 0;
	check_number(look, *period == '\0' || ms >= 0, "expect");
	words.at = cursor_text(values, LIMIT_ENTRY);
	look->expect_since_ms = record_time(&words, look->now_ms);
	check_number(look, look->expect_ms == 0 || look->expect_since_ms != 0,
	    "since when that is expected");
	entry = cursor_text(values, LIMIT_ENTRY);
	/* It is that of the exclusive holder, or of one that has died. */
	holds =
	    look->kind == 'x' && look->listed > 0 &&
	    strlen(look->holders[0].token) == strcspn(entry, " ") &&
	    strncmp(look->holders[0].token, entry, strcspn(entry, " ")) == 0;
	add_present_run(look, entry, holds);
	for (enum look_noted what = 0; what < NOTED_COUNT; what++)
		add_note(look, what, cursor_text(values, LIMIT_ENTRY));
}

static void
take_queue(struct cursor *values, struct look *look)
{
	size_t count = values->count / 2;

	look->queue = mem_alloc(count * sizeof(*look->queue));
	while (look->queued < count && !values->bad) {
		struct look_waiter *waiter = &look->queue[look->queued++];
		struct waiter parsed;
		double us;
		int64_t ms;

		waiter->id = mem_strdup(cursor_text(values, SIZE_MAX));
		parsed = waiter_read(waiter->id);
		waiter->pid = mem_strndup(parsed.pid, strcspn(parsed.pid, "@"));
		waiter->host = mem_strdup(parsed.host);
		/* By the ticket, in us; those of pauses lie far below. */
		us = strtod(cursor_text(values, LIMIT_TEXT), NULL);
		if (us < (double)LIMIT_FRONT_US)
			us += (double)LIMIT_FRONT_US;
		ms = us >= 0 && us < 9e15 ? (int64_t)(us / 1000) : look->now_ms;
		waiter->waiting_ms = look->now_ms > ms ? look->now_ms - ms : 0;
	}
}

static void
take_problems(struct cursor *values, struct look *look)
{
	while (cursor_has_more(values)) {
		const char *key = cursor_text(values, SIZE_MAX);

		add_problem(look, key, cursor_text(values, SIZE_MAX));
	}
}

/* An array within the array. */
static void
take_part(struct cursor *cursor, struct look *look,
    void (*take)(struct cursor *values, struct look *look))
{
	struct cursor values = cursor_of(cursor_take(cursor));

	take(&values, look);
	cursor->bad = cursor->bad || !cursor_is_done(&values);
}

void
query_fini(struct look *look)
{
	for (size_t i = 0; i < look->queued; i++) {
		free(look->queue[i].id);
		free(look->queue[i].pid);
		free(look->queue[i].host);
	}
	for (size_t i = 0; i < look->problem_count; i++) {
		free(look->problems[i].key);
		free(look->problems[i].error);
	}
	free(look->holders);
	free(look->queue);
	free(look->runs);
	free(look->notes);
	free(look->problems);
	*look = (struct look){.keys = look->keys};
}

bool
query_read_look(void *arg, const struct value *reply)
{
	struct look *look = arg;
	struct cursor cursor = cursor_of(reply);
	bool good;

	*look = (struct look){.keys = look->keys, .kind = answer_kind(&cursor)};
	look->runs = mem_alloc((RUNS_MAX + 1) * sizeof(*look->runs));
	look->count = cursor_integer(&cursor, 0, ANSWER_COUNT_MAX);
	look->left_ms = cursor_integer(&cursor, -2, LIMIT_LEFT_MS);
	look->now_ms = cursor_integer(&cursor, 0, LIMIT_EXACT);
	if ((look->kind == '\0') != (look->count == 0))
		cursor.bad = true;
	take_part(&cursor, look, take_holders);
	for (size_t i = 0; i < look->listed; i++) {
		if (look->holders[i].who.permits > 0)
			look->permits = look->holders[i].who.permits;
		look->released = look->released || look->holders[i].is_left;
	}
	take_part(&cursor, look, take_known);
	look->waiting = cursor_integer(&cursor, -1, ANSWER_COUNT_MAX);
	take_part(&cursor, look, take_queue);
	take_part(&cursor, look, take_runs);
	take_part(&cursor, look, take_problems);
	good = cursor_is_done(&cursor);
	if (!good)
		query_fini(look);
	return good;
}

/* --- others ----------------------------------------------------------- */

/* An entry with a '!' says that the outermost run has ended: see release.lua.
 */
bool
query_read_nested(void *arg, const struct value *reply)
{
	int64_t *count = arg;
	struct cursor members = cursor_of(reply);

	*count = 0;
	while (cursor_has_more(&members))
		*count += *cursor_text(&members, SIZE_MAX) != '!';
	return cursor_is_done(&members);
}

bool
query_read_force(void *arg, const struct value *reply)
{
	struct query_forced *forced = arg;
	struct cursor answer = cursor_of(reply);

	forced->freed = cursor_integer(&answer, 0, ANSWER_COUNT_MAX);
	answer_waiter(&answer, forced->head);
	return cursor_is_done(&answer);
}

bool
query_read_page(void *arg, const struct value *reply)
{
	struct query_page *page = arg;
	struct cursor cursor = cursor_of(reply), found;
	const char *next = cursor_text(&cursor, LIMIT_TEXT);
	char **key;

	found = cursor_of(cursor_take(&cursor));
	if (!cursor_is_done(&cursor) || found.bad)
		return false;
	page->cursor = mem_strdup(next);
	page->keys = key = mem_alloc((found.count + 1) * sizeof(*key));
	while (found.at < found.count)
		*key++ = mem_strdup(cursor_text(&found, SIZE_MAX));
	return true;
}
