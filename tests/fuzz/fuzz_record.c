/* Records, byte for byte: what others have left is read with all numbers in
 * range and all words cut, and what was read is written and read again. */
#include "fuzz.h"
#include "lock/record.h"

/* What a run may say of itself. */
static void
check_again(struct holder *holder, const char *command)
{
	const struct lock_config config = {.kind = &kind_permits,
	    .permits = (int)holder->permits,
	    .replaceable = holder->replaceable,
	    .is_hold = holder->state == HOLDER_HOLD,
	    .is_pause = holder->state == HOLDER_PAUSED,
	    .label = holder->label,
	    .command = command};
	char record[RECORD_SIZE];
	char again_command[LIMIT_LONG_TEXT + 1];
	struct record_words words = {record};
	struct holder again;

	record_make(record, &config, holder);
	require(strlen(record) < RECORD_SIZE &&
		strpbrk(record, "|\n\r\t\x7f") == NULL);
	record_read(&words, &again, again_command, sizeof(again_command));
	require(*words.at == '\0');
	require(again.state == holder->state);
	require(again.permits == holder->permits);
	require(strcmp(again.pid, holder->pid) == 0);
	require(strcmp(again.host, holder->host) == 0);
	require(strcmp(again.user, holder->user) == 0);
	require(strcmp(again.label, holder->label) == 0);
	require(strcmp(again_command, command) == 0);
}

static void
check_record(const char *text)
{
	char command[LIMIT_LONG_TEXT + 1];
	struct record_words words = {text};
	struct holder holder;

	record_read(&words, &holder, command, sizeof(command));
	require(words.at >= text && words.at <= text + strlen(text));
	require(holder.state >= HOLDER_KNOWN && holder.state <= HOLDER_PAUSED);
	require(holder.permits >= 0 && holder.permits <= LIMIT_PERMITS);
	check_again(&holder, command);
	require(record_time(&words, 0) >= 0);
	require(words.at <= text + strlen(text));
}

static void
check_entry(const char *text)
{
	const int64_t now_ms = INT64_C(1700000000000);
	struct record_entry entry;
	struct holder holder;

	if (!record_read_entry(text, now_ms, &holder, &entry))
		return;
	require(entry.since_ms >= 0 && entry.since_ms < now_ms + LIMIT_AGE_MS);
	require(holder.held_ms >= -1 && holder.held_ms < LIMIT_AGE_MS);
	require(entry.fence[strspn(entry.fence, "0123456789")] == '\0');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	check_record(text);
	check_entry(text);
	free(text);
	return 0;
}
