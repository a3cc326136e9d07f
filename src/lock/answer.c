#include "lock/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "lock/claim.h"
#include "lock/kind.h"
#include "lock/limit.h"
#include "lock/record.h"
#include "redis/cursor.h"

enum { DIGITS_MAX = 16 };
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

char
answer_kind(struct cursor *cursor)
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

static void
name_by(struct holder_by *by, const char *name)
{
	const struct waiter waiter = waiter_read(name);

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
	answer->position = cursor_integer(cursor, -1, ANSWER_COUNT_MAX);
	answer->waiting = cursor_integer(cursor, 0, ANSWER_COUNT_MAX);
	answer->ticket = take_digits(cursor, LIMIT_EXACT);
	holder->others_queued = cursor_flag(cursor);
	holder->kind = answer_kind(cursor);
	holder->count = cursor_integer(cursor, 0, ANSWER_COUNT_MAX);
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
