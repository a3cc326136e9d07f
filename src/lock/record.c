#include "lock/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

/* How a run holds the lock. */
static const char hows[][12] =
    {[HOLDER_KNOWN] = "run", [HOLDER_HOLD] = "hold", [HOLDER_PAUSED] = "pause"};
#define REPLACEABLE "replaceable"
enum { RECORD_HEAD = 32 }; /* how, and the number of permits */
/* Each byte of a word may be encoded, and a blank is behind it. */
#define ROOM(size) ((size_t)3 * (size) + 2)
#define ROOM_OF(field) ROOM(sizeof(((struct holder *)NULL)->field))
_Static_assert(RECORD_HEAD + ROOM_OF(pid) + ROOM_OF(host) + ROOM_OF(user) +
		       ROOM(LIMIT_LABEL) + ROOM(LIMIT_LONG_TEXT) <
		   RECORD_SIZE,
    "a record of five words");

/* --- words ------------------------------------------------------------ */

/* Writes the word, with a blank behind it, and returns its end. It takes three
 * bytes for each of the text at most, and two more. */
static char *
put_word(char *end, const char *text, size_t max)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *from = text;

	if (*text == '\0')
		*end++ = '-';
	for (; *text != '\0' && max > 0; text++, max--) {
		unsigned char c = (unsigned char)*text;

		if (c > ' ' && c != 0x7f && c != '%' && c != '|' &&
		    strcmp(from, "-") != 0) {
			*end++ = (char)c;
			continue;
		}
		*end++ = '%';
		*end++ = digits[c / 16];
		*end++ = digits[c % 16];
	}
	*end++ = ' ';
	return end;
}

static int
hex_value(char c)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *digit = c != '\0' ? strchr(digits, c) : NULL;

	return digit != NULL ? (int)(digit - digits) : -1;
}

void
record_word(struct record_words *words, char *word, size_t size)
{
	const char *at = words->at;
	size_t length = 0;

	if (strncmp(at, "-", strcspn(at, " ")) == 0 && *at == '-')
		at++;
	for (; *at != ' ' && *at != '\0'; at++) {
		int high = *at == '%' ? hex_value(at[1]) : -1;
		int low = high != -1 ? hex_value(at[2]) : -1;
		char c = *at;

		if (low > 0 || (low == 0 && high > 0)) {
			c = (char)(16 * high + low);
			at += 2;
		}
		if (length + 1 < size)
			word[length++] = c;
	}
	word[length] = '\0';
	words->at = *at == ' ' ? at + 1 : at;
}

int64_t
record_number(struct record_words *words, int64_t max)
{
	char word[24];
	int64_t number;

	record_word(words, word, sizeof(word));
	return *word != '\0' && num_int(word, 0, max, &number) == 0 ? number
								    : -1;
}

int64_t
record_time(struct record_words *words, int64_t now_ms)
{
	int64_t ms = record_number(words, LIMIT_EXACT);

	return ms > 0 && llabs(now_ms - ms) < LIMIT_AGE_MS ? ms : 0;
}

/* --- records ---------------------------------------------------------- */

void
record_make(char record[RECORD_SIZE], const struct lock_config *config,
    const struct holder *self)
{
	const struct {
		const char *text;
		size_t most;
	} words[] = {{self->pid, sizeof(self->pid)},
	    {self->host, sizeof(self->host)}, {self->user, sizeof(self->user)},
	    {config->label, LIMIT_LABEL}, {config->command, LIMIT_LONG_TEXT}};
	const size_t count = sizeof(words) / sizeof(*words);
	const char *how = hows[HOLDER_KNOWN];
	char *end = record;

	if (config->is_pause)
		how = hows[HOLDER_PAUSED];
	else if (config->is_hold)
		how = hows[HOLDER_HOLD];
	else if (config->replaceable)
		how = REPLACEABLE;
	end += snprintf(record, RECORD_HEAD, "%s %d ", how,
	    config->kind == &kind_permits ? config->permits : 0);
	for (size_t i = 0; i < count; i++)
		end = put_word(end, words[i].text, words[i].most);
	end[-1] = '\0';
}

/* One that is missing is unknown. */
static void
read_name(struct record_words *words, char *name, size_t size)
{
	record_word(words, name, size);
	if (*name == '\0')
		snprintf(name, size, "?");
}

void
record_read(struct record_words *words, struct holder *holder, char *command,
    size_t size)
{
	char how[16];
	int64_t number;

	record_word(words, how, sizeof(how));
	holder->state = HOLDER_KNOWN;
	for (enum holder_state i = HOLDER_KNOWN; i <= HOLDER_PAUSED; i++)
		if (*how != '\0' && strcmp(how, hows[i]) == 0)
			holder->state = i;
	holder->replaceable = strcmp(how, REPLACEABLE) == 0;
	number = record_number(words, LIMIT_PERMITS);
	holder->permits = number > 0 ? number : 0;
	number = record_number(words, LIMIT_PID);
	snprintf(holder->pid, sizeof(holder->pid),
	    number >= 0 ? "%" PRId64 : "?", number);
	read_name(words, holder->host, sizeof(holder->host));
	read_name(words, holder->user, sizeof(holder->user));
	record_word(words, holder->label, sizeof(holder->label));
	record_word(words, command != NULL ? command : how,
	    command != NULL ? size : sizeof(how));
}

bool
record_read_entry(const char *text, int64_t now_ms, struct holder *holder,
    struct record_entry *entry)
{
	const char *mark = strchr(text, ' ');
	struct record_words words = {mark != NULL ? mark + 1 : text};
	int64_t fence;

	*entry = (struct record_entry){.fence = ""};
	if (mark == NULL)
		return false;
	entry->is_left = mark > text && mark[-1] == ':';
	entry->is_kept = mark - text > 5 && strncmp(mark - 5, ":kept", 5) == 0;
	fence = record_number(&words, LIMIT_EXACT);
	if (fence > 0)
		snprintf(entry->fence, sizeof(entry->fence), "%" PRId64, fence);
	entry->since_ms = record_time(&words, now_ms);
	record_read(&words, holder, entry->command, sizeof(entry->command));
	if (entry->is_kept)
		holder->state = HOLDER_ENDED;
	if (entry->is_kept || entry->is_left)
		holder->replaceable = false;
	holder->held_ms = entry->since_ms == 0	     ? -1
			  : now_ms > entry->since_ms ? now_ms - entry->since_ms
						     : 0;
	return true;
}

void
record_read_holder(const char *entry, int64_t now_ms, struct holder *holder)
{
	struct record_entry read;

	holder->state = HOLDER_FOREIGN;
	if (*entry != '\0')
		record_read_entry(entry, now_ms, holder, &read);
	else
		snprintf(holder->pid, sizeof(holder->pid), "?");
}

void
record_read_success(const char *text, struct holder *holder)
{
	struct record_words words = {text};

	for (int i = 0; i < 3; i++)
		record_number(&words, LIMIT_EXACT);
	record_read(&words, holder, NULL, 0);
}

void
record_read_by(const char *name, const char *record, struct holder_by *by)
{
	const struct waiter waiter = waiter_read(name);
	struct record_words words = {record};
	struct holder holder = {.label = ""};

	snprintf(by->pid, sizeof(by->pid), "%.*s",
	    (int)strcspn(waiter.pid, "@"), waiter.pid);
	snprintf(by->host, sizeof(by->host), "%s", waiter.host);
	record_read(&words, &holder, NULL, 0);
	snprintf(by->label, sizeof(by->label), "%s", holder.label);
}

void
record_read_order(const char *text, char token[TOKEN_SIZE],
    struct holder_by *by)
{
	struct record_words words = {text};
	char name[WAITER_SIZE];

	record_word(&words, token, TOKEN_SIZE);
	record_number(&words, LIMIT_EXACT);
	record_word(&words, name, sizeof(name));
	record_read_by(name, words.at, by);
}
