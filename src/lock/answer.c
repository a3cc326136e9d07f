#include "lock/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "lock/kind.h"
#include "lock/limit.h"
#include "lock/record.h"
#include "lock/waiter.h"
#include "redis/cursor.h"

enum { DIGEST_LENGTH = 40, DIGITS_MAX = 16 };
enum { HOLDER_VALUES = 5 }; /* of look.lua, for each */
enum { RUNS_MAX = 10 };
#define COUNT_MAX (INT64_C(1) << 40)
_Static_assert(LIMIT_AGE_MS == NUM_DURATION_MAX_MS, "no holder is older");

/* --- parts of an answer ------------------------------------------------ */

/* Decimal digits, or nothing. */
static const char *
take_digits(struct cursor *cursor, int64_t max)
{
	const char *text = cursor_text(cursor, DIGITS_MAX);
	int64_t value;

	if (*text == '\0' || num_int(text, 0, max, &value) == 0)
		return text;
	cursor->bad = true;
	return "";
}

/* A text of at most max bytes; what does not fit into the copy is cut off. */
static void
take_copy(struct cursor *cursor, char *copy, size_t size, size_t max)
{
	snprintf(copy, size, "%s", cursor_text(cursor, max));
}

/* The letter of a kind; '\0' for a lock that nobody has. */
static char
take_kind(struct cursor *cursor)
{
	const char *letter = cursor_text(cursor, 1);

	cursor->bad =
	    cursor->bad || (*letter != '\0' && kind_of(*letter) == NULL);
	return *letter;
}

/* A member of a queue may be any text. */
static const char *
take_waiter(struct cursor *cursor)
{
	const char *name = cursor_text(cursor, SIZE_MAX);
	struct waiter waiter;

	return waiter_parse(&waiter, name) ? name : "";
}

static void
take_waiters(struct cursor *cursor, struct answer_waiters *waiters)
{
	size_t most = cursor->at + LIMIT_NOTIFY;

	waiters->count = 0;
	if (cursor->count > most)
		cursor->bad = true;
	while (cursor_has_more(cursor)) {
		const char *name = take_waiter(cursor);
		waiters->names[waiters->count] = name;
		waiters->count += *name != '\0';
	}
}

static struct answer
no_answer(void)
{
	return (struct answer){.head = "",
	    .fence = "",
	    .uncounted = "",
	    .ticket = ""};
}

static struct answer *
copy_if_done(const struct cursor *cursor, const struct answer *read)
{
	struct answer *answer =
	    cursor_is_done(cursor) ? malloc(sizeof(*answer)) : NULL;

	if (answer != NULL)
		*answer = *read;
	return answer;
}

/* --- acquire, join ---------------------------------------------------- */

/* A name in the queue may be any text, or lack the pid or the host. */
static struct waiter
read_waiter(const char *name)
{
	struct waiter waiter;

	if (!waiter_parse(&waiter, name))
		return (struct waiter){.pid = "?", .host = "?"};
	if (*waiter.pid == '@')
		waiter.pid = "?";
	if (*waiter.host == '\0')
		waiter.host = "?";
	return waiter;
}

static void
name_by(struct holder_by *by, const char *name)
{
	const struct waiter waiter = read_waiter(name);

	snprintf(by->pid, sizeof(by->pid), "%.*s",
	    (int)strcspn(waiter.pid, "@"), waiter.pid);
	snprintf(by->host, sizeof(by->host), "%s", waiter.host);
}

/* A waiter, and the label in its record. */
static void
read_by(struct holder_by *by, const char *name, const char *record)
{
	struct record_words words = {record};
	struct holder holder = {.label = ""};

	name_by(by, name);
	record_read(&words, &holder, NULL, 0);
	snprintf(by->label, sizeof(by->label), "%s", holder.label);
}

/* A holder without an entry is a foreign one. */
static void
read_holder(struct holder *holder, const char *entry, int64_t now_ms)
{
	struct record_entry read;

	holder->state = HOLDER_FOREIGN;
	if (*entry != '\0')
		record_read_entry(entry, now_ms, holder, &read);
	else
		snprintf(holder->pid, sizeof(holder->pid), "?");
}

static void
take_busy(struct cursor *cursor, struct answer *answer)
{
	struct holder *holder = &answer->holder;
	const char *entry;
	int64_t now_ms;

	holder->reported_at = clock_now();
	holder->left_ms = cursor_integer(cursor, -1, LIMIT_LEFT_MS);
	answer->position = cursor_integer(cursor, -1, COUNT_MAX);
	answer->waiting = cursor_integer(cursor, 0, COUNT_MAX);
	answer->ticket = take_digits(cursor, LIMIT_EXACT);
	holder->others_queued = cursor_flag(cursor);
	holder->kind = take_kind(cursor);
	holder->count = cursor_integer(cursor, 0, COUNT_MAX);
	now_ms = cursor_integer(cursor, 0, LIMIT_EXACT);
	entry = cursor_text(cursor, LIMIT_ENTRY);
	holder->state = HOLDER_NONE;
	if (holder->count > 0)
		read_holder(holder, entry, now_ms);
	if ((holder->kind == '\0') != (holder->count == 0))
		cursor->bad = true;
	take_waiters(cursor, &answer->to_notify);
}

static void
take_grant(struct cursor *cursor, struct answer *answer)
{
	struct holder other = {.permits = 0};
	const char *entry;

	answer->fence = take_digits(cursor, LIMIT_EXACT);
	answer->start = cursor_integer(cursor, 0, LIMIT_EXACT);
	answer->life_ms = cursor_integer(cursor, 0, LIMIT_LEFT_MS);
	answer->ahead_ms = cursor_integer(cursor, 0, LIMIT_AGE_MS);
	entry = cursor_text(cursor, LIMIT_ENTRY);
	if (*entry != '\0')
		read_holder(&other, entry, answer->start);
	answer->permits = other.permits;
	answer->head = take_waiter(cursor);
	take_waiters(cursor, &answer->to_notify);
}

/* A success: when it ended, fence, start, record. */
static void
take_success(struct cursor *cursor, struct answer *answer)
{
	struct record_words words;

	answer->ago_ms = cursor_integer(cursor, 0, LIMIT_AGE_MS);
	words.at = cursor_text(cursor, LIMIT_ENTRY);
	for (int i = 0; i < 3; i++)
		record_number(&words, LIMIT_EXACT);
	record_read(&words, &answer->holder, NULL, 0);
}

void *
answer_acquire(const struct value *reply)
{
	struct cursor cursor = cursor_of(reply);
	struct answer answer = no_answer();
	int64_t code = cursor_integer(&cursor, 0, 5);
	const char *waiter;

	if (code == 1) {
		answer.outcome = ANSWER_GRANTED;
		take_grant(&cursor, &answer);
	} else if (code == 2 || code == 5) {
		answer.outcome = ANSWER_NOT_DUE;
		answer.by_id = code == 5;
		take_success(&cursor, &answer);
	} else if (code == 3) {
		answer.outcome = ANSWER_OVERTAKEN;
		waiter = cursor_text(&cursor, LIMIT_ENTRY);
		read_by(&answer.by, waiter, cursor_text(&cursor, LIMIT_ENTRY));
	} else {
		answer.outcome = ANSWER_BUSY;
		take_busy(&cursor, &answer);
	}
	return copy_if_done(&cursor, &answer);
}

void *
answer_join(const struct value *reply)
{
	struct cursor cursor = cursor_of(reply);
	struct answer answer = no_answer();
	struct record_words words;

	answer.outcome =
	    cursor_flag(&cursor) ? ANSWER_GRANTED : ANSWER_NOT_HELD;
	words.at = cursor_text(&cursor, LIMIT_ENTRY);
	words.at += strcspn(words.at, " ");
	words.at += *words.at == ' ';
	snprintf(answer.own_fence, sizeof(answer.own_fence), "%.*s",
	    (int)strspn(words.at, "0123456789"), words.at);
	answer.uncounted = cursor_text(&cursor, SIZE_MAX);
	return copy_if_done(&cursor, &answer);
}

static void *
answer_flag(const struct value *reply, enum answer_outcome yes,
    enum answer_outcome no)
{
	struct cursor cursor = {.array = reply};
	struct answer answer = no_answer();
	int64_t flag;

	if (!value_integer(reply, &flag) || flag < 0)
		return NULL;
	answer.outcome = flag > 0 ? yes : no;
	return copy_if_done(&cursor, &answer);
}

void *
answer_plain_join(const struct value *reply)
{
	return answer_flag(reply, ANSWER_GRANTED, ANSWER_NOT_HELD);
}

void *
answer_other_kind(const struct value *reply)
{
	return answer_flag(reply, ANSWER_OTHER_KIND, ANSWER_NOT_HELD);
}

/* --- renew, release --------------------------------------------------- */

void *
answer_renew(const struct value *reply)
{
	return answer_flag(reply, ANSWER_RENEWED, ANSWER_NOT_OURS);
}

void *
answer_plain_release(const struct value *reply)
{
	return answer_flag(reply, ANSWER_FREED, ANSWER_NOT_OURS);
}

void *
answer_release(const struct value *reply)
{
	static const enum answer_outcome outcomes[] = {ANSWER_NOT_OURS,
	    ANSWER_FREED, ANSWER_LEFT, ANSWER_KEPT};
	struct cursor cursor = cursor_of(reply);
	struct answer answer = no_answer();

	answer.outcome = outcomes[cursor_integer(&cursor, 0, 3)];
	answer.unrecorded = cursor_flag(&cursor);
	answer.kept_ms = cursor_integer(&cursor, 0, LIMIT_LEFT_MS);
	answer.head = take_waiter(&cursor);
	return copy_if_done(&cursor, &answer);
}

enum answer_vote
answer_vote(const struct answer *answer)
{
	if (answer == NULL)
		return ANSWER_ABSENT;
	switch (answer->outcome) {
	case ANSWER_GRANTED:
	case ANSWER_RENEWED:
	case ANSWER_FREED:
	case ANSWER_LEFT:
	case ANSWER_KEPT:
		return ANSWER_YES;
	default:
		return ANSWER_NO;
	}
}

bool
answer_nested(int64_t *count, const struct value *reply)
{
	struct cursor cursor = cursor_of(reply);

	*count = 0;
	while (cursor_has_more(&cursor))
		*count += *cursor_text(&cursor, SIZE_MAX) != '!';
	return cursor_is_done(&cursor);
}

bool
answer_force(struct answer_force *answer, const struct value *reply)
{
	struct cursor cursor = cursor_of(reply);

	answer->freed = cursor_integer(&cursor, 0, COUNT_MAX);
	answer->to_notify.names[0] = take_waiter(&cursor);
	answer->to_notify.count = *answer->to_notify.names[0] != '\0';
	return cursor_is_done(&cursor);
}

void *
answer_head(const struct value *reply)
{
	struct cursor cursor = cursor_of(reply);
	struct answer answer = no_answer();

	if (cursor.count > 0)
		answer.head = take_waiter(&cursor);
	return copy_if_done(&cursor, &answer);
}

void *
answer_order(const struct value *reply)
{
	const struct cursor read = {.array = reply};
	struct answer answer = no_answer();
	const char *text = value_text(reply);
	struct record_words words = {text != NULL ? text : ""};
	char name[WAITER_SIZE];

	record_word(&words, answer.ordered, sizeof(answer.ordered));
	record_number(&words, LIMIT_EXACT);
	record_word(&words, name, sizeof(name));
	read_by(&answer.by, name, words.at);
	return text != NULL ? copy_if_done(&read, &answer) : NULL;
}

bool
answer_is_ring(const struct value *reply)
{
	return value_at(reply, 0) != NULL;
}

int
answer_replicas(const struct value *reply)
{
	int64_t count;

	if (!value_integer(reply, &count) || count < 0 || count > INT32_MAX)
		return 0;
	return (int)count;
}

/* --- look ------------------------------------------------------------- */

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
	run->exists = true;
	run->who.reported_at = clock_now();
	read_fence(words, run->fence);
	run->start_ms = record_time(words, now_ms);
	record_read(words, &run->who, NULL, 0);
}

/* A run of the history: end, status, ms waited, reason, and its grant. */
static void
read_run(const char *text, struct look_run *run, int64_t now_ms)
{
	struct record_words words = {text};

	run->end_ms = record_time(&words, now_ms);
	run->status = (int)record_number(&words, LIMIT_STATUS);
	run->waited_ms = record_number(&words, LIMIT_AGE_MS);
	record_word(&words, run->reason, sizeof(run->reason));
	read_grant(&words, run, now_ms);
}

/* The one that has started last is the first, and so many are known at most. */
static void
add_run(struct look *look, const struct look_run *run)
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
	struct look_run run = {.exists = true,
	    .holds = holds,
	    .status = -1,
	    .waited_ms = -1};
	struct record_entry read;

	if (strcspn(entry, " ") < TOKEN_SIZE - 1 ||
	    !record_read_entry(entry, look->now_ms, &run.who, &read) ||
	    read.is_left || read.is_kept || read.since_ms == 0 ||
	    holder_has_end(&run.who))
		return;
	run.who.reported_at = clock_now();
	run.start_ms = read.since_ms;
	snprintf(run.fence, sizeof(run.fence), "%s", read.fence);
	add_run(look, &run);
}

/* Without what a kind or --min-hold puts before or behind it. */
static char *
token_of(const char *member)
{
	static const char kept[] = ":kept";
	size_t length;

	if (strncmp(member, "s:", 2) == 0)
		member += 2;
	length = strlen(member);
	if (length == TOKEN_SIZE - 1 + strlen(kept) &&
	    strcmp(member + TOKEN_SIZE - 1, kept) == 0)
		length = TOKEN_SIZE - 1;
	return mem_strndup(member, length);
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
	holder->token = token_of(member);
	take_copy(cursor, holder->digest, sizeof(holder->digest),
	    DIGEST_LENGTH);
	who->reported_at = clock_now();
	who->left_ms = cursor_integer(cursor, -1, LIMIT_LEFT_MS);
	entry = cursor_text(cursor, LIMIT_ENTRY);
	read_holder(who, "", look->now_ms);
	who->held_ms = -1;
	if (!record_read_entry(entry, look->now_ms, who, &read)) {
		holder->command = mem_strdup("");
		return;
	}
	holder->command = mem_strdup(read.command);
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

/* The runs of the history follow. */
static void
take_runs(struct cursor *values, struct look *look)
{
	while (cursor_has_more(values)) {
		struct look_run run = {.exists = true};

		read_run(cursor_text(values, LIMIT_ENTRY), &run, look->now_ms);
		add_run(look, &run);
	}
	if (look->run_count > 0)
		look->last = look->runs[0];
}

static void
read_success(struct look *look, const char *text)
{
	struct record_words words = {text};
	struct look_run run = {.exists = true};

	look->success.end_ms = record_time(&words, look->now_ms);
	read_grant(&words, &run, look->now_ms);
	check_number(look, *text == '\0' || look->success.end_ms != 0,
	    "the last success");
	if (look->success.end_ms == 0)
		return;
	snprintf(look->success.host, sizeof(look->success.host), "%s",
	    run.who.host);
	snprintf(look->success.fence, sizeof(look->success.fence), "%s",
	    run.fence);
}

static void
read_expectation(struct look *look, const char *period, const char *since)
{
	struct record_words words = {period};
	int64_t ms = record_number(&words, LIMIT_AGE_MS);

	look->expect_ms = ms > 0 ? ms : 0;
	check_number(look, *period == '\0' || ms >= 0, "expect");
	words.at = since;
	look->expect_since_ms = record_time(&words, look->now_ms);
	check_number(look, look->expect_ms == 0 || look->expect_since_ms != 0,
	    "since when that is expected");
}

/* Whether the entry is that of the exclusive holder. */
static bool
is_entry_of_holder(const struct look *look, const char *entry)
{
	size_t length = strcspn(entry, " ");

	return look->kind == 'x' && look->listed > 0 &&
	       strlen(look->holders[0].token) == length &&
	       strncmp(look->holders[0].token, entry, length) == 0;
}

/* What :i says: see look.lua. */
static void
take_known(struct cursor *values, struct look *look)
{
	const char *fence = cursor_text(values, LIMIT_ENTRY), *period, *entry;
	struct record_words words = {fence};

	look->has_info = look->has_info || *fence != '\0';
	if (*fence != '\0')
		read_fence(&words, look->fence);
	check_number(look, *fence == '\0' || *look->fence != '\0', "the fence");
	read_success(look, cursor_text(values, LIMIT_ENTRY));
	period = cursor_text(values, LIMIT_ENTRY);
	read_expectation(look, period, cursor_text(values, LIMIT_ENTRY));
	entry = cursor_text(values, LIMIT_ENTRY);
	add_present_run(look, entry, is_entry_of_holder(look, entry));
	while (cursor_has_more(values))
		cursor_text(values, LIMIT_ENTRY);
}

/* By the ticket, in us; those of pauses lie far below. */
static int64_t
waiting_since(const char *ticket, int64_t now_ms)
{
	double us = strtod(ticket, NULL);
	int64_t ms;

	if (us < (double)LIMIT_FRONT_US)
		us += (double)LIMIT_FRONT_US;
	ms = us >= 0 && us < 9e15 ? (int64_t)(us / 1000) : now_ms;
	return now_ms > ms ? now_ms - ms : 0;
}

static void
take_queue(struct cursor *values, struct look *look)
{
	size_t count = values->count / 2;

	look->queue = mem_alloc(count * sizeof(*look->queue));
	while (look->queued < count && !values->bad) {
		struct look_waiter *waiter = &look->queue[look->queued++];
		struct waiter parsed;

		waiter->id = mem_strdup(cursor_text(values, SIZE_MAX));
		parsed = read_waiter(waiter->id);
		waiter->pid = mem_strndup(parsed.pid, strcspn(parsed.pid, "@"));
		waiter->host = mem_strdup(parsed.host);
		waiter->waiting_ms =
		    waiting_since(cursor_text(values, LIMIT_TEXT),
			look->now_ms);
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
answer_look_fini(struct look *look)
{
	for (size_t i = 0; i < look->queued; i++) {
		free(look->queue[i].id);
		free(look->queue[i].pid);
		free(look->queue[i].host);
	}
	for (size_t i = 0; i < look->listed; i++) {
		free(look->holders[i].token);
		free(look->holders[i].command);
	}
	for (size_t i = 0; i < look->problem_count; i++) {
		free(look->problems[i].key);
		free(look->problems[i].error);
	}
	free(look->holders);
	free(look->queue);
	free(look->runs);
	free(look->problems);
}

bool
answer_look(struct look *look, const struct value *reply,
    const struct key_names *keys)
{
	struct cursor cursor = cursor_of(reply);
	bool good;

	*look = (struct look){.keys = keys, .kind = take_kind(&cursor)};
	look->runs = mem_alloc((RUNS_MAX + 1) * sizeof(*look->runs));
	look->count = cursor_integer(&cursor, 0, COUNT_MAX);
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
	look->waiting = cursor_integer(&cursor, -1, COUNT_MAX);
	take_part(&cursor, look, take_queue);
	take_part(&cursor, look, take_runs);
	take_part(&cursor, look, take_problems);
	good = cursor_is_done(&cursor);
	if (!good)
		answer_look_fini(look);
	return good;
}

/* --- scan ------------------------------------------------------------- */

bool
answer_page(const char **cursor, char ***keys, const struct value *reply)
{
	struct cursor page = cursor_of(reply);
	struct cursor found;
	char **key;

	*cursor = cursor_text(&page, LIMIT_TEXT);
	found = cursor_of(cursor_take(&page));
	if (!cursor_is_done(&page) || found.bad)
		return false;
	*keys = key = mem_alloc((found.count + 1) * sizeof(**keys));
	while (found.at < found.count)
		*key++ = mem_strdup(cursor_text(&found, SIZE_MAX));
	return true;
}
