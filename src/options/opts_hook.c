#include "options/opts_hook.h"

#include <ctype.h>
#include <string.h>

#include "options/nearest.h"

#define OPTS_HOOK_ALL ((1U << OPTS_HOOK_EVENTS) - 1)
#define WORDS                        \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"abcdefghijklmnopqrstuvwxyz0123456789_,"
#define BLANKS_AND_OPERATORS " \t\n;&|<>()$`"

/* Of a mistyped word. */
enum { EDITS_MAX = 2, ALIKE_MIN = 3, LONG_WORD = 5 };

/* clang-format off */
#define WORD(word) {word, "no such event (did you mean " word "=?)"}
/* clang-format on */

const struct opts_hook_word opts_hook_words[OPTS_HOOK_EVENTS] = {
    [OPTS_HOOK_BUSY] = WORD("busy"),
    [OPTS_HOOK_WAITING] = WORD("waiting"),
    [OPTS_HOOK_ACQUIRED] = WORD("acquired"),
    [OPTS_HOOK_SLOW] = WORD("slow"),
    [OPTS_HOOK_LOSING] = WORD("losing"),
    [OPTS_HOOK_LOST] = WORD("lost"),
    [OPTS_HOOK_RELEASED] = WORD("released"),
    [OPTS_HOOK_FAILED] = WORD("failed"),
    [OPTS_HOOK_OVERTAKEN] = WORD("overtaken"),
    [OPTS_HOOK_REPLACED] = WORD("replaced"),
    [OPTS_HOOK_PAUSED] = WORD("paused"),
};

/* Of a word, as bits; 0 if it is no event. */
static unsigned
find_event(const char *word, size_t length)
{
	if (length == strlen("all") && strncmp(word, "all", length) == 0)
		return OPTS_HOOK_ALL;
	for (unsigned i = 0; i < OPTS_HOOK_EVENTS; i++)
		if (strlen(opts_hook_words[i].text) == length &&
		    strncmp(opts_hook_words[i].text, word, length) == 0)
			return 1U << i;
	return 0;
}

/* Those that the text begins with, or 0; *command is what follows them. */
static unsigned
read_events(const char *text, const char **command)
{
	unsigned events = 0;

	for (;;) {
		size_t length = strcspn(text, ",=\n ");
		unsigned event = find_event(text, length);

		if (event == 0 || (text[length] != ',' && text[length] != '='))
			return 0;
		events |= event;
		text += length + 1;
		if (text[-1] == '=')
			break;
	}
	*command = text;
	return events;
}

/* --- mistyped events -------------------------------------------------- */

/* How much of the text is before the '=', if that are words only, otherwise 0.
 */
static size_t
words_length(const char *text)
{
	size_t length = strspn(text, WORDS);

	return text[length] == '=' ? length : 0;
}

/* What the first word was probably meant to be, or NULL. A short word has too
 * many neighbours, such as "host" of "lost": if it may be a variable, it is
 * one.
 */
static const char *
find_meant(const char *text, bool may_be_variable)
{
	char word[sizeof(opts_hook_words[0].text) + EDITS_MAX];
	size_t length = strcspn(text, ",=");
	int edits =
	    may_be_variable ? length >= LONG_WORD : 1 + (length >= LONG_WORD);

	if (length >= sizeof(word))
		return NULL;
	memcpy(word, text, length);
	word[length] = '\0';
	for (char *letter = word; !may_be_variable && *letter != '\0'; letter++)
		*letter = (char)tolower((unsigned char)*letter);
	for (unsigned i = 0; i < OPTS_HOOK_EVENTS; i++) {
		const struct opts_hook_word *event = &opts_hook_words[i];
		size_t whole = strlen(event->text);
		size_t shared = length < whole ? length : whole;

		/* Or letters are missing or too many at the end: "fail". */
		if (nearest_edits_suffice(word, event->text, edits) ||
		    (shared >= ALIKE_MIN &&
			strncmp(word, event->text, shared) == 0))
			return event->meant;
	}
	return NULL;
}

static const char *
find_mistyped(const struct opts_hook *hook)
{
	const char *text = hook->text, *meant;
	size_t length = words_length(text);
	const char *value = text + length + strlen("=");
	bool is_list, is_command;

	if (length == 0 || hook->command != text)
		return NULL;
	is_list = memchr(text, ',', length) != NULL;
	/* Otherwise a shell would do nothing but set a variable. */
	is_command = !is_list && value + strcspn(value, BLANKS_AND_OPERATORS) <
				     text + hook->length;
	/* Not "release=$(./version) ./send", nor "wait=5; ...". */
	if (is_command && !isalpha((unsigned char)*value) &&
	    (*value == '\0' || strchr("/.~", *value) == NULL))
		return NULL;
	while (is_list && find_event(text, strcspn(text, ",=")) != 0)
		text += strcspn(text, ",=") + 1;
	meant = find_meant(text, is_command);
	return meant == NULL && !is_command ? "no such event, and no command"
					    : meant;
}

/* ---------------------------------------------------------------------- */

static struct opts_hook
take_hook(const char **text)
{
	struct opts_hook hook = {.text = *text, .command = *text};
	const char *end = *text, *ignored;
	bool is_next = false;

	hook.events = read_events(*text, &hook.command);
	if (hook.events == 0)
		hook.events = OPTS_HOOK_ALL;
	for (end += strcspn(end, "\n"); *end != '\0' && !is_next;) {
		size_t length = words_length(++end);

		/* Also a line that would begin it but for a mistyped event. */
		is_next = read_events(end, &ignored) != 0 ||
			  (length > 0 && end[length + 1] == '/' &&
			      find_meant(end, true) != NULL);
		if (!is_next)
			end += strcspn(end, "\n");
	}
	hook.length = (size_t)(end - *text);
	if (*end != '\0')
		hook.length--;
	*text = end;
	return hook;
}

/* A hook gets "none" in its environment, so that it runs no others. */
const char *
opts_hook_add(struct opts *opts, const char *text, int line, bool only_one)
{
	const char *reason;

	if (strcmp(text, "none") == 0) {
		opts->hook_count = 0;
		return NULL;
	}
	while (*text != '\0') {
		struct opts_hook hook = take_hook(&text);

		if (only_one) {
			text += strlen(text);
			hook.length = (size_t)(text - hook.text);
		}
		if (hook.command == hook.text + hook.length)
			return "a hook without a command";
		reason = find_mistyped(&hook);
		if (reason != NULL)
			return reason;
		if (opts->hook_count == OPTS_HOOKS_MAX)
			return "more than " OPTS_TEXT_OF(
			    OPTS_HOOKS_MAX) " hooks";
		hook.line = line;
		opts->hooks[opts->hook_count++] = hook;
	}
	return NULL;
}
