#include "lock/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "lock/kind.h"
#include "lock/limit.h"
#include "lock/waiter.h"

enum { DIGEST_LENGTH = 40, DIGITS_MAX = 16 };
enum { HOLDER_VALUES = 13, RUN_VALUES = 11 }; /* of look.lua, for each */
#define COUNT_MAX (INT64_C(1) << 40)
_Static_assert(LIMIT_AGE_MS == NUM_DURATION_MAX_MS, "no holder is older");

/* --- reading an array ------------------------------------------------- */

/* Takes one element after the other. What does not fit makes it bad, and is
 * taken for the least value, or for an empty text. */
struct cursor {
	const struct value *array;
	size_t count;
	size_t at;
	bool bad;
};

static struct cursor
read_array(const struct value *reply)
{
	struct cursor cursor = {.array = reply};

	cursor.bad = !value_count(reply, &cursor.count);
	return cursor;
}

static const struct value *
take_element(struct cursor *cursor)
{
	return value_at(cursor->array, cursor->at++);
}

static bool
is_done(const struct cursor *cursor)
{
	return !cursor->bad && cursor->at == cursor->count;
}

static int64_t
take_integer(struct cursor *cursor, int64_t min, int64_t max)
{
	int64_t value;

	if (value_integer(take_element(cursor), &value) && value >= min &&
	    value <= max)
		return value;
	cursor->bad = true;
	return min;
}

static bool
take_flag(struct cursor *cursor)
{
	return take_integer(cursor, 0, 1) == 1;
}

static const char *
take_text(struct cursor *cursor, size_t max)
{
	const char *text = value_text(take_element(cursor));

	if (text != NULL && strlen(text) <= max)
		return text;
	cursor->bad = true;
	return "";
}

/* Decimal digits, or nothing. */
static const char *
take_digits(struct cursor *cursor, int64_t max)
{
	const char *text = take_text(cursor, DIGITS_MAX);
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
	snprintf(copy, size, "%s", take_text(cursor, max));
}

/* The letter of a kind; '\0' for a lock that nobody has. */
static char
take_kind(struct cursor *cursor)
{
	const char *letter = take_text(cursor, 1);

	cursor->bad =
	    cursor->bad || (*letter != '\0' && kind_of(*letter) == NULL);
	return *letter;
}

/* A member of a queue may be any text. */
static const char *
take_waiter(struct cursor *cursor)
{
	const char *name = take_text(cursor, SIZE_MAX);
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
	while (!cursor->bad && cursor->at < cursor->count) {
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
	    .host = "",
	    .ticket = "",
	    .behind = ""};
}

static struct answer *
copy_if_done(const struct cursor *cursor, const struct answer *read)
{
	struct answer *answer =
	    is_done(cursor) ? malloc(sizeof(*answer)) : NULL;

	if (answer != NULL)
		*answer = *read;
	return answer;
}

/* --- acquire, join ---------------------------------------------------- */

/* What is known about the holder: "free", "foreign" and so on. */
static void
take_who(struct cursor *cursor, struct holder *holder)
{
	static const char states[][8] = {[HOLDER_NONE] = "free",
	    [HOLDER_FOREIGN] = "foreign",
	    [HOLDER_KNOWN] = "known",
	    [HOLDER_ENDED] = "kept",
	    [HOLDER_HOLD] = "hold",
	    [HOLDER_PAUSED] = "paused"};
	const char *who = take_text(cursor, LIMIT_TEXT);

	holder->replaceable = strcmp(who, "replaceable") == 0;
	if (holder->replaceable)
		who = states[HOLDER_KNOWN];

	for (int i = HOLDER_NONE; i <= HOLDER_PAUSED; i++)
		if (strcmp(who, states[i]) == 0)
			holder->state = (enum holder_state)i;
	if (holder->state == HOLDER_UNSEEN)
		cursor->bad = true;
}

/* Host, pid, user, label. */
static void
take_names(struct cursor *cursor, struct holder *holder)
{
	const char *pid;

	take_copy(cursor, holder->host, sizeof(holder->host), LIMIT_TEXT);
	pid = take_digits(cursor, LIMIT_PID);
	snprintf(holder->pid, sizeof(holder->pid), "%s",
	    *pid != '\0' ? pid : "?");
	take_copy(cursor, holder->user, sizeof(holder->user), LIMIT_TEXT);
	take_copy(cursor, holder->label, sizeof(holder->label), LIMIT_LABEL);
}

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

/* The waiter that has overtaken us, and its label. */
static void
take_by(struct cursor *cursor, struct holder_by *by)
{
	name_by(by, take_text(cursor, LIMIT_LONG_TEXT));
	take_copy(cursor, by->label, sizeof(by->label), LIMIT_LABEL);
}

static void
take_busy(struct cursor *cursor, struct answer *answer)
{
	struct holder *holder = &answer->holder;

	holder->reported_at = clock_now();
	holder->left_ms = take_integer(cursor, -1, LIMIT_LEFT_MS);
	answer->position = take_integer(cursor, -1, COUNT_MAX);
	answer->waiting = take_integer(cursor, 0, COUNT_MAX);
	take_who(cursor, holder);
	holder->kind = take_kind(cursor);
	holder->count = take_integer(cursor, 0, COUNT_MAX);
	holder->permits = take_integer(cursor, 0, LIMIT_PERMITS);
	take_names(cursor, holder);
	holder->held_ms = take_integer(cursor, 0, LIMIT_AGE_MS);
	holder->others_queued = take_flag(cursor);
	if ((holder->state == HOLDER_NONE) != (holder->count == 0) ||
	    (holder->state == HOLDER_NONE) != (holder->kind == '\0'))
		cursor->bad = true;
	take_waiters(cursor, &answer->to_notify);
}

void *
answer_acquire(const struct value *reply)
{
	struct cursor cursor = read_array(reply);
	struct answer answer = no_answer();
	int64_t code = take_integer(&cursor, -1, 5);

	if (code == 4) {
		answer.ticket = take_digits(&cursor, LIMIT_EXACT);
		code = take_integer(&cursor, -1, 0);
	}
	if (code == 1) {
		answer.outcome = ANSWER_GRANTED;
		answer.fence = take_digits(&cursor, LIMIT_EXACT);
		answer.head = take_waiter(&cursor);
		answer.permits = take_integer(&cursor, 0, LIMIT_PERMITS);
		answer.ahead_ms = take_integer(&cursor, 0, LIMIT_AGE_MS);
		take_waiters(&cursor, &answer.to_notify);
	} else if (code == 2 || code == 5) {
		answer.outcome = ANSWER_NOT_DUE;
		answer.by_id = code == 5;
		answer.ago_ms = take_integer(&cursor, 0, LIMIT_AGE_MS);
		answer.host = take_text(&cursor, LIMIT_TEXT);
	} else if (code == 3) {
		answer.outcome = ANSWER_OVERTAKEN;
		take_by(&cursor, &answer.by);
	} else {
		answer.outcome = code == 0 ? ANSWER_BUSY : ANSWER_UNFINISHED;
		take_busy(&cursor, &answer);
	}
	return copy_if_done(&cursor, &answer);
}

void *
answer_join(const struct value *reply)
{
	static const enum answer_outcome outcomes[] = {ANSWER_NOT_HELD,
	    ANSWER_GRANTED, ANSWER_OTHER_KIND};
	struct cursor cursor = read_array(reply);
	struct answer answer = no_answer();

	answer.outcome = outcomes[take_integer(&cursor, 0, 2)];
	if (answer.outcome == ANSWER_GRANTED) {
		answer.fence = take_digits(&cursor, LIMIT_EXACT);
		answer.uncounted = take_text(&cursor, SIZE_MAX);
	}
	return copy_if_done(&cursor, &answer);
}

/* --- renew, release --------------------------------------------------- */

void *
answer_renew(const struct value *reply)
{
	struct cursor cursor = read_array(reply);
	struct answer answer = no_answer();

	answer.outcome = take_flag(&cursor) ? ANSWER_RENEWED : ANSWER_NOT_OURS;
	return copy_if_done(&cursor, &answer);
}

void *
answer_release(const struct value *reply)
{
	static const enum answer_outcome outcomes[] = {ANSWER_NOT_OURS,
	    ANSWER_FREED, ANSWER_LEFT, ANSWER_KEPT};
	struct cursor cursor = read_array(reply);
	struct answer answer = no_answer();
	int64_t flags;

	answer.outcome = outcomes[take_integer(&cursor, 0, 3)];
	flags = take_integer(&cursor, 0, 3);
	answer.unfinished = (flags & 1) != 0;
	answer.unrecorded = (flags & 2) != 0;
	answer.kept_ms = take_integer(&cursor, 0, LIMIT_LEFT_MS);
	answer.behind = take_waiter(&cursor);
	take_waiters(&cursor, &answer.to_notify);
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
	case ANSWER_UNFINISHED:
		return ANSWER_NOT_YET;
	default:
		return ANSWER_NO;
	}
}

bool
answer_pause(int64_t *left_ms, const struct value *reply)
{
	struct cursor cursor = read_array(reply);
	bool is_ours = take_flag(&cursor);

	*left_ms = take_integer(&cursor, is_ours, LIMIT_LEFT_MS);
	return is_done(&cursor) && (is_ours || *left_ms == 0);
}

bool
answer_force(struct answer_force *answer, const struct value *reply)
{
	struct cursor cursor = read_array(reply);

	answer->freed = take_integer(&cursor, -1, COUNT_MAX);
	answer->unfinished = answer->freed == -1;
	take_waiters(&cursor, &answer->to_notify);
	return is_done(&cursor);
}

void *
answer_head(const struct value *reply)
{
	struct cursor cursor = read_array(reply);
	struct answer answer = no_answer();

	if (cursor.count > 0)
		answer.head = take_waiter(&cursor);
	return copy_if_done(&cursor, &answer);
}

/* The token, the waiter's name and its label, with ' ' and '\n' between. */
void *
answer_order(const struct value *reply)
{
	const struct cursor read = {.array = reply};
	struct answer answer = no_answer();
	const char *text = value_text(reply), *end;
	char name[WAITER_SIZE];

	end = text != NULL ? strchr(text, '\n') : NULL;
	if (end != NULL && end - text >= TOKEN_SIZE &&
	    text[TOKEN_SIZE - 1] == ' ') {
		memcpy(answer.ordered, text, TOKEN_SIZE - 1);
		text += TOKEN_SIZE;
		snprintf(name, sizeof(name), "%.*s", (int)(end - text), text);
		name_by(&answer.by, name);
		snprintf(answer.by.label, sizeof(answer.by.label), "%.*s",
		    LIMIT_LABEL, end + 1);
	}
	return copy_if_done(&read, &answer);
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

static void
take_fence(struct cursor *cursor, char fence[LOOK_FENCE_SIZE])
{
	snprintf(fence, LOOK_FENCE_SIZE, "%s",
	    take_digits(cursor, LIMIT_EXACT));
}

static void
take_holder(struct cursor *cursor, struct look_holder *holder, int64_t now_ms)
{
	static const enum holder_state jobs[] = {HOLDER_KNOWN, HOLDER_ENDED,
	    HOLDER_HOLD, HOLDER_KNOWN, HOLDER_PAUSED};
	struct holder *who = &holder->who;
	int64_t length, job;

	holder->token = mem_strdup(take_text(cursor, LIMIT_LONG_TEXT));
	length = take_integer(cursor, 0, LIMIT_EXACT);
	holder->token_is_whole = (int64_t)strlen(holder->token) == length;
	take_copy(cursor, holder->digest, sizeof(holder->digest),
	    DIGEST_LENGTH);
	who->reported_at = clock_now();
	who->left_ms = take_integer(cursor, -1, LIMIT_LEFT_MS);
	who->state = take_flag(cursor) ? HOLDER_KNOWN : HOLDER_FOREIGN;
	take_names(cursor, who);
	holder->command = mem_strdup(take_text(cursor, SIZE_MAX));
	holder->since_ms = take_integer(cursor, 0, LIMIT_EXACT);
	who->held_ms =
	    now_ms > holder->since_ms ? now_ms - holder->since_ms : 0;
	if (holder->since_ms == 0)
		who->held_ms = -1;
	job = take_integer(cursor, 0, 4);
	if (job > 0)
		who->state = jobs[job];
	who->replaceable = job == 3;
	take_fence(cursor, holder->fence);
}

static void
take_holders(struct cursor *values, struct look *look)
{
	size_t count = values->count / HOLDER_VALUES;

	look->holders = mem_alloc(count * sizeof(*look->holders));
	while (look->listed < count && !values->bad)
		take_holder(values, &look->holders[look->listed++],
		    look->now_ms);
}

/* A number that may be missing: then -1. */
static int64_t
take_number(struct cursor *cursor, int64_t max)
{
	const char *text = take_digits(cursor, max);
	int64_t number = -1;

	if (*text != '\0')
		num_int(text, 0, max, &number);
	return number;
}

static void
take_run(struct cursor *values, struct look_run *run)
{
	run->exists = true;
	run->who.state = HOLDER_KNOWN;
	run->who.reported_at = clock_now();
	take_names(values, &run->who);
	run->start_ms = take_integer(values, 1, LIMIT_EXACT);
	run->end_ms = take_integer(values, 0, LIMIT_EXACT);
	run->status = (int)take_number(values, LIMIT_STATUS);
	take_fence(values, run->fence);
	run->holds = take_flag(values);
	run->waited_ms = take_number(values, LIMIT_AGE_MS);
	take_copy(values, run->reason, sizeof(run->reason), LIMIT_TEXT);
}

static void
take_runs(struct cursor *values, struct look *look)
{
	size_t count = values->count / RUN_VALUES;

	look->runs = mem_alloc(count * sizeof(*look->runs));
	while (look->run_count < count && !values->bad)
		take_run(values, &look->runs[look->run_count++]);
	if (look->run_count > 0)
		look->last = look->runs[0];
}

static void
take_last_success(struct cursor *values, struct look *look)
{
	struct look_success *success = &look->success;

	if (values->count == 0)
		return;
	take_copy(values, success->host, sizeof(success->host), LIMIT_TEXT);
	success->end_ms = take_integer(values, 1, LIMIT_EXACT);
	take_fence(values, success->fence);
}

static void
take_queue(struct cursor *values, struct look *look)
{
	size_t count = values->count / 2;

	look->queue = mem_alloc(count * sizeof(*look->queue));
	while (look->queued < count && !values->bad) {
		struct look_waiter *waiter = &look->queue[look->queued++];
		struct waiter parsed;

		waiter->id = mem_strdup(take_text(values, SIZE_MAX));
		parsed = read_waiter(waiter->id);
		waiter->pid = mem_strndup(parsed.pid, strcspn(parsed.pid, "@"));
		waiter->host = mem_strdup(parsed.host);
		waiter->waiting_ms = take_integer(values, 0, LIMIT_EXACT);
	}
}

static void
take_problems(struct cursor *values, struct look *look)
{
	size_t count = values->count / 2;

	look->problems = mem_alloc(count * sizeof(*look->problems));
	while (look->problem_count < count && !values->bad) {
		struct look_problem *problem =
		    &look->problems[look->problem_count++];
		problem->key = mem_strdup(take_text(values, SIZE_MAX));
		problem->error = mem_strdup(take_text(values, SIZE_MAX));
		value_strip_place(problem->error);
	}
}

/* An array within the array. */
static void
take_part(struct cursor *cursor, struct look *look,
    void (*take)(struct cursor *values, struct look *look))
{
	struct cursor values = read_array(take_element(cursor));

	take(&values, look);
	cursor->bad = cursor->bad || !is_done(&values);
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
answer_look(struct look *look, const struct value *reply)
{
	struct cursor cursor = read_array(reply);
	bool good;

	*look = (struct look){.kind = take_kind(&cursor)};
	look->count = take_integer(&cursor, 0, COUNT_MAX);
	look->permits = take_integer(&cursor, 0, LIMIT_PERMITS);
	look->left_ms = take_integer(&cursor, -2, LIMIT_LEFT_MS);
	look->now_ms = take_integer(&cursor, 0, LIMIT_EXACT);
	if ((look->kind == '\0') != (look->count == 0))
		cursor.bad = true;
	take_part(&cursor, look, take_holders);
	take_fence(&cursor, look->fence);
	look->waiting = take_integer(&cursor, -1, COUNT_MAX);
	take_part(&cursor, look, take_queue);
	look->nested = take_integer(&cursor, 0, COUNT_MAX);
	look->released = take_flag(&cursor);
	take_part(&cursor, look, take_runs);
	take_part(&cursor, look, take_last_success);
	look->expect_ms = take_integer(&cursor, 0, LIMIT_AGE_MS);
	look->expect_since_ms = take_integer(&cursor, 0, LIMIT_EXACT);
	take_part(&cursor, look, take_problems);
	good = is_done(&cursor);
	if (!good)
		answer_look_fini(look);
	return good;
}

/* --- scan ------------------------------------------------------------- */

bool
answer_page(const char **cursor, char ***keys, const struct value *reply)
{
	struct cursor page = read_array(reply);
	struct cursor found;
	char **key;

	*cursor = take_text(&page, LIMIT_TEXT);
	found = read_array(take_element(&page));
	if (!is_done(&page) || found.bad)
		return false;
	*keys = key = mem_alloc((found.count + 1) * sizeof(**keys));
	while (found.at < found.count)
		*key++ = mem_strdup(take_text(&found, SIZE_MAX));
	return true;
}
