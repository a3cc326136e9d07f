/* What a server answers, byte for byte: each decoder takes it for an answer to
 * its question with all numbers in range and all texts in place, or for none.
 */
#include <stdio.h>

#include "admin/lock_row.h"
#include "admin/look.h"
#include "admin/query.h"
#include "base/duration.h"
#include "base/num.h"
#include "fuzz.h"
#include "lock/answer.h"
#include "lock/claim.h"
#include "lock/kind.h"
#include "sink/holder_text.h"

static const struct key_names names = {
    .all = {"job", "INFO", "RUNS", "QUEUE", "ALIVE"}};

static void
check_number(const char *text)
{
	int64_t value;

	require(*text == '\0' ||
		num_int(text, 0, (INT64_C(1) << 53) - 1, &value) == 0);
}

static void
check_waiters(const struct answer_waiters *waiters)
{
	struct waiter waiter;

	require(waiters->count <= LIMIT_NOTIFY);
	for (size_t i = 0; i < waiters->count; i++)
		require(waiter_parse(&waiter, waiters->names[i]));
}

static void
check_busy(const struct answer *answer)
{
	char text[640];

	require(answer->position >= -1 && answer->position <= INT64_C(1) << 40);
	require(answer->waiting >= 0 && answer->holder.left_ms >= -1);
	require(answer->holder.held_ms >= -1);
	require(answer->holder.held_ms <= DURATION_MAX_MS);
	require(answer->holder.left_ms <= 10 * DURATION_MAX_MS);
	require(
	    answer->holder.count > 0 || answer->holder.state == HOLDER_NONE);
	require(answer->holder.state == HOLDER_NONE ||
		kind_of(answer->holder.kind) != NULL);
	holder_text_format_lock(&answer->holder, text, sizeof(text));
}

/* Whether it is one. */
static bool
check_answer(const struct value *reply, enum answer_to asked)
{
	static struct answer read;
	const struct answer *answer = &read;
	struct waiter waiter;

	if (!answer_read(&read, asked, reply)) {
		require(answer->outcome == ANSWER_NONE);
		return false;
	}
	check_waiters(&answer->to_notify);
	if (asked != ANSWER_TO_JOIN)
		check_number(answer->fence);
	check_number(answer->ticket);
	require(answer->start >= 0 && answer->life_ms >= 0);
	require(*answer->head == '\0' || waiter_parse(&waiter, answer->head));
	require(answer->outcome != ANSWER_NONE);
	if (asked == ANSWER_TO_TRY && answer->outcome == ANSWER_BUSY)
		check_busy(answer);
	return true;
}

/* As a table of each kind, and as JSON with all members. */
static void
check_rows(const struct look *look)
{
	static const char *const titles[] = {LOCK_ROW_HELD, LOCK_ROW_ALL};
	static const enum opts_action actions[] = {OPTS_STATUS, OPTS_HISTORY};
	static struct endpoint endpoint = {.label = "server"};
	static struct opts opts = {.prefix = ""};
	static struct client client = {.opts = &opts, .endpoint = &endpoint};
	static struct loop loop;

	if (client.enquiry.server == NULL)
		client.enquiry.server = way_new(&loop, &endpoint, NULL);
	for (size_t i = 0; i < 2; i++) {
		struct table table;
		struct row row = {.table = &table};

		opts.all = i > 0;
		opts.action = actions[i];
		table_init(&table, titles[i]);
		table_add(&table);
		lock_row_put(&row, look, &client);
		for (size_t j = 0; j < table.columns; j++)
			require(*table.cell[1][j] != '\0');
		table_print(&table);
		lock_row_print_json(look, &client);
	}
	for (size_t i = 0; i < look->run_count; i++)
		check_number(look->runs[i].fence);
}

static void
check_notes(const struct look *look)
{
	for (size_t i = 0; i < look->note_count; i++) {
		const struct look_note *note = &look->notes[i];

		require(note->what < NOTED_COUNT && note->at_ms > 0);
		require(i == 0 || look->notes[i - 1].at_ms >= note->at_ms);
		check_number(note->by_fence);
	}
	look_print_notes(look);
}

static void
check_look(const struct value *reply)
{
	static FILE *nowhere;
	struct look look = {.keys = &names};
	char text[640];

	if (!query_read_look(&look, reply))
		return;
	if (nowhere == NULL)
		nowhere = freopen("/dev/null", "w", stdout);
	look_describe_holders(&look, text, sizeof(text));
	look_describe_kind(&look, text, sizeof(text));
	look_describe_left(look.left_ms, text, sizeof(text));
	look_oldest(&look);
	check_number(look.fence);
	for (size_t i = 0; i < look.listed; i++)
		check_number(look.holders[i].fence);
	check_rows(&look);
	check_notes(&look);
	query_fini(&look);
}

/* Of a damaged text, what there is. */
static void
check_order(const struct value *reply)
{
	struct answer read;
	const struct answer *answer = &read;
	bool good = answer_read(&read, ANSWER_TO_ORDER, reply);
	char text[640];

	require(good == (value_text(reply) != NULL));
	if (!good)
		return;
	require(strlen(answer->ordered) <= TOKEN_SIZE - 1);
	require(strlen(answer->by.label) <= LIMIT_LABEL);
	require(*answer->by.pid != '\0' && *answer->by.host != '\0');
	holder_text_format_by(&answer->by, text, sizeof(text));
}

static void
check_page(const struct value *reply)
{
	struct query_page page;

	if (!query_read_page(&page, reply))
		return;
	for (char **key = page.keys; *key != NULL; key++)
		free(*key);
	free(page.keys);
	free(page.cursor);
}

static void
check(const struct value *reply)
{
	struct waiter waiter;
	struct query_forced forced;
	int64_t count;
	bool is_acquire = check_answer(reply, ANSWER_TO_TRY);
	bool is_join = check_answer(reply, ANSWER_TO_JOIN);
	bool is_renewal = check_answer(reply, ANSWER_TO_RENEWAL);
	bool is_release = check_answer(reply, ANSWER_TO_RELEASE);

	require(is_acquire + is_release + is_join + is_renewal <= 1);
	require(check_answer(reply, ANSWER_TO_PLAIN_JOIN) == is_renewal);
	require(check_answer(reply, ANSWER_TO_OTHER_KIND) == is_renewal);
	require(check_answer(reply, ANSWER_TO_PLAIN_RELEASE) == is_renewal);
	if (query_read_force(&forced, reply))
		require(
		    *forced.head == '\0' || waiter_parse(&waiter, forced.head));
	if (query_read_nested(&count, reply))
		require(count >= 0);
	check_answer(reply, ANSWER_TO_HEAD);
	check_order(reply);
	require(answer_replicas(reply) >= 0);
	check_look(reply);
	check_page(reply);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct value_limits limits = {1 << 20, 10000};
	struct value_reader *reader = value_reader_new();
	struct value *reply;

	require(reader != NULL);
	require(value_reader_feed(reader, (const char *)data, size) == 0);
	while (value_reader_next(reader, limits, &reply) == 1) {
		check(reply);
		value_free(reply);
	}
	value_reader_free(reader);
	return 0;
}
