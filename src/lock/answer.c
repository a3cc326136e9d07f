#include "lock/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/num.h"
#include "lock/claim.h"
#include "lock/kind.h"
#include "lock/limit.h"
#include "lock/record.h"

_Static_assert(LIMIT_AGE_MS == DURATION_MAX_MS, "no holder is older");

/* --- parts of an answer ------------------------------------------------ */

/* A whole number that a double has, in decimal digits, or nothing. */
static void
take_digits(struct cursor *cursor, char digits[ANSWER_DIGITS_SIZE])
{
	const char *text = cursor_text(cursor, ANSWER_DIGITS_SIZE - 1);
	int64_t value;

	if (*text != '\0' && num_int(text, 0, LIMIT_EXACT, &value) != 0)
		cursor->bad = true;
	else
		memcpy(digits, text, strlen(text) + 1);
}

char
answer_kind(struct cursor *cursor)
{
	const char *letter = cursor_text(cursor, 1);

	cursor->bad =
	    cursor->bad || (*letter != '\0' && kind_of(*letter) == NULL);
	return *letter;
}

bool
answer_waiter(struct cursor *cursor, char name[WAITER_SIZE])
{
	const char *text = cursor_text(cursor, SIZE_MAX);
	struct waiter waiter;

	name[0] = '\0';
	if (strlen(text) >= WAITER_SIZE || !waiter_parse(&waiter, text))
		return false;
	memcpy(name, text, strlen(text) + 1);
	return true;
}

static void
take_waiters(struct cursor *cursor, struct answer_waiters *waiters)
{
	size_t most = cursor->at + LIMIT_NOTIFY;

	waiters->count = 0;
	if (cursor->count > most)
		cursor->bad = true;
	while (cursor_has_more(cursor))
		waiters->count +=
		    answer_waiter(cursor, waiters->names[waiters->count]);
}

/* --- acquire, join ---------------------------------------------------- */

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
	take_digits(cursor, answer->ticket);
	holder->others_queued = cursor_flag(cursor);
	holder->kind = answer_kind(cursor);
	holder->count = cursor_integer(cursor, 0, ANSWER_COUNT_MAX);
	now_ms = cursor_integer(cursor, 0, LIMIT_EXACT);
	entry = cursor_text(cursor, LIMIT_ENTRY);
	holder->state = HOLDER_NONE;
	if (holder->count > 0)
		record_read_holder(entry, now_ms, holder);
	if ((holder->kind == '\0') != (holder->count == 0))
		cursor->bad = true;
	take_waiters(cursor, &answer->to_notify);
}

static void
take_grant(struct cursor *cursor, struct answer *answer)
{
	struct holder other = {.permits = 0};
	const char *entry;

	take_digits(cursor, answer->fence);
	answer->start = cursor_integer(cursor, 0, LIMIT_EXACT);
	answer->life_ms = cursor_integer(cursor, 0, LIMIT_LEFT_MS);
	answer->ahead_ms = cursor_integer(cursor, 0, LIMIT_AGE_MS);
	entry = cursor_text(cursor, LIMIT_ENTRY);
	if (*entry != '\0')
		record_read_holder(entry, answer->start, &other);
	answer->permits = other.permits;
	answer_waiter(cursor, answer->head);
	take_waiters(cursor, &answer->to_notify);
}

static void
take_try(struct cursor *cursor, struct answer *answer)
{
	int64_t code = cursor_integer(cursor, 0, 5);
	const char *text;

	if (code == 1) {
		answer->outcome = ANSWER_GRANTED;
		take_grant(cursor, answer);
	} else if (code == 2 || code == 5) {
		answer->outcome = ANSWER_NOT_DUE;
		answer->by_id = code == 5;
		answer->ago_ms = cursor_integer(cursor, 0, LIMIT_AGE_MS);
		text = cursor_text(cursor, LIMIT_ENTRY);
		record_read_success(text, &answer->holder);
	} else if (code == 3) {
		answer->outcome = ANSWER_OVERTAKEN;
		text = cursor_text(cursor, LIMIT_ENTRY);
		record_read_by(text, cursor_text(cursor, LIMIT_ENTRY),
		    &answer->by);
	} else {
		answer->outcome = ANSWER_BUSY;
		take_busy(cursor, answer);
	}
}

/* The fence is that in the outer run's entry. */
static void
take_join(struct cursor *cursor, struct answer *answer)
{
	const char *entry;

	answer->outcome =
	    cursor_flag(cursor) ? ANSWER_GRANTED : ANSWER_NOT_HELD;
	entry = cursor_text(cursor, LIMIT_ENTRY);
	entry += strcspn(entry, " ");
	entry += *entry == ' ';
	snprintf(answer->fence, sizeof(answer->fence), "%.*s",
	    (int)strspn(entry, "0123456789"), entry);
	snprintf(answer->uncounted, sizeof(answer->uncounted), "%s",
	    cursor_text(cursor, SIZE_MAX));
}

/* --- renew, release --------------------------------------------------- */

static void
take_release(struct cursor *cursor, struct answer *answer)
{
	static const enum answer_outcome outcomes[] = {ANSWER_NOT_OURS,
	    ANSWER_FREED, ANSWER_LEFT, ANSWER_KEPT};

	answer->outcome = outcomes[cursor_integer(cursor, 0, 3)];
	answer->unrecorded = cursor_flag(cursor);
	answer->kept_ms = cursor_integer(cursor, 0, LIMIT_LEFT_MS);
	answer_waiter(cursor, answer->head);
}

/* --- all ---------------------------------------------------------------- */

/* A number says whether the token is in the key. */
static bool
read_asked(struct answer *answer, enum answer_to asked,
    const struct value *reply)
{
	static const enum answer_outcome outcomes[][2] = {
	    [ANSWER_TO_PLAIN_JOIN] = {ANSWER_NOT_HELD, ANSWER_GRANTED},
	    [ANSWER_TO_OTHER_KIND] = {ANSWER_NOT_HELD, ANSWER_OTHER_KIND},
	    [ANSWER_TO_RENEWAL] = {ANSWER_NOT_OURS, ANSWER_RENEWED},
	    [ANSWER_TO_PLAIN_RELEASE] = {ANSWER_NOT_OURS, ANSWER_FREED}};
	struct cursor cursor = cursor_of(reply);
	int64_t number;

	switch (asked) {
	case ANSWER_TO_TRY:
		take_try(&cursor, answer);
		break;
	case ANSWER_TO_JOIN:
		take_join(&cursor, answer);
		break;
	case ANSWER_TO_PLAIN_JOIN:
	case ANSWER_TO_OTHER_KIND:
	case ANSWER_TO_RENEWAL:
	case ANSWER_TO_PLAIN_RELEASE:
		if (!value_integer(reply, &number) || number < 0)
			return false;
		answer->outcome = outcomes[asked][number > 0];
		return true;
	case ANSWER_TO_RELEASE:
	case ANSWER_TO_RECORD:
		take_release(&cursor, answer);
		break;
	case ANSWER_TO_BELL:
		return reply != NULL;
	case ANSWER_TO_HEAD:
		answer->outcome = ANSWER_HINT;
		if (cursor.count > 0)
			answer_waiter(&cursor, answer->head);
		break;
	case ANSWER_TO_ORDER:
		answer->outcome = ANSWER_HINT;
		if (value_text(reply) != NULL)
			record_read_order(value_text(reply), answer->ordered,
			    &answer->by);
		return value_text(reply) != NULL;
	}
	return cursor_is_done(&cursor);
}

bool
answer_read(struct answer *answer, enum answer_to asked,
    const struct value *reply)
{
	*answer = (struct answer){.outcome = ANSWER_NONE};
	if (read_asked(answer, asked, reply))
		return true;
	answer->outcome = ANSWER_NONE;
	return false;
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

bool
answer_lacks_replicas(const struct value *reply, int replicas,
    char why[ANSWER_WHY_MAX])
{
	const char *error = value_error(reply);
	int count = answer_replicas(reply);

	if (count >= replicas)
		return false;
	if (error != NULL)
		snprintf(why, ANSWER_WHY_MAX, ANSWER_NEEDS_WAIT ": %s", error);
	else
		snprintf(why, ANSWER_WHY_MAX, "%d of %d replicas have the lock",
		    count, replicas);
	return true;
}
