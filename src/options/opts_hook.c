#include "options/opts_hook.h"

#include <string.h>

#define OPTS_HOOK_ALL ((1U << OPTS_HOOK_EVENTS) - 1)

const char opts_hook_words[OPTS_HOOK_EVENTS][12] = {
    [OPTS_HOOK_BUSY] = "busy",
    [OPTS_HOOK_WAITING] = "waiting",
    [OPTS_HOOK_ACQUIRED] = "acquired",
    [OPTS_HOOK_SLOW] = "slow",
    [OPTS_HOOK_LOSING] = "losing",
    [OPTS_HOOK_LOST] = "lost",
    [OPTS_HOOK_RELEASED] = "released",
    [OPTS_HOOK_FAILED] = "failed",
    [OPTS_HOOK_OVERTAKEN] = "overtaken",
    [OPTS_HOOK_REPLACED] = "replaced",
    [OPTS_HOOK_PAUSED] = "paused",
};

/* Of a word, as bits; 0 if it is no event. */
static unsigned
find_event(const char *word, size_t length)
{
	if (length == strlen("all") && strncmp(word, "all", length) == 0)
		return OPTS_HOOK_ALL;
	for (unsigned i = 0; i < OPTS_HOOK_EVENTS; i++)
		if (strlen(opts_hook_words[i]) == length &&
		    strncmp(opts_hook_words[i], word, length) == 0)
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

struct opts_hook
opts_hook_take(const char **text)
{
	struct opts_hook hook = {.text = *text, .command = *text};
	const char *end = *text, *ignored;

	hook.events = read_events(*text, &hook.command);
	if (hook.events == 0)
		hook.events = OPTS_HOOK_ALL;
	do
		end += strcspn(end, "\n");
	while (*end != '\0' && read_events(++end, &ignored) == 0);
	hook.length = (size_t)(end - *text);
	if (*end != '\0')
		hook.length--;
	*text = end;
	return hook;
}
