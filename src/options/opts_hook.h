/* Hooks: commands that run on events, see HOOKS in rlockrun-events(7). */
#ifndef OPTS_HOOK_H
#define OPTS_HOOK_H

#include <stdbool.h>
#include <stddef.h>

#define OPTS_HOOKS_MAX 16

enum opts_hook_event {
	OPTS_HOOK_BUSY,
	OPTS_HOOK_WAITING,
	OPTS_HOOK_ACQUIRED,
	OPTS_HOOK_SLOW,
	OPTS_HOOK_LOSING,
	OPTS_HOOK_LOST,
	OPTS_HOOK_RELEASED,
	OPTS_HOOK_FAILED,
	OPTS_HOOK_OVERTAKEN,
	OPTS_HOOK_REPLACED,
	OPTS_HOOK_PAUSED,
	OPTS_HOOK_EVENTS,
};

struct opts_hook_word {
	char text[12];
	const char *meant; /* of a mistake for it */
};

extern const struct opts_hook_word opts_hook_words[OPTS_HOOK_EVENTS];

struct opts_hook {
	unsigned events;  /* as bits */
	const char *text; /* as it was given, so long */
	size_t length;
	const char *command; /* the last part of it */
	int line;	     /* of the file that sets it, or 0 */
};

/* Takes the first hook off a text that is not empty: "CMD", or
 * "lost,failed=CMD" if each word before the '=' is an event or "all". A line
 * that begins with such words and '=' begins the next hook. */
struct opts_hook opts_hook_take(const char **text);

/* NULL, or why its first line is probably mistyped events: to a shell, "fail=X"
 * is a command that sets a variable. "A=B COMMAND" is a hook, unless A is like
 * an event and B like a command. */
const char *opts_hook_mistake(const struct opts_hook *hook);

#endif
