/* Hooks as text: commands that run on events, see HOOKS in rlockrun-events(7).
 */
#ifndef OPTS_HOOK_H
#define OPTS_HOOK_H

#include "options/opts.h"

struct opts_hook_word {
	char text[12];
	const char *meant; /* of a mistake for it */
};

extern const struct opts_hook_word opts_hook_words[OPTS_HOOK_EVENTS];

/* Adds the hooks of a text: "CMD", or "lost,failed=CMD" if each word before the
 * '=' is an event or "all". A line that begins with such words and '=' begins
 * the next hook, unless there is only one. "none" drops the hooks before it.
 * NULL, or the reason why not: a first line is refused if it is probably
 * mistyped events, since to a shell, "fail=X" is a command that sets a
 * variable. "A=B COMMAND" is a hook, unless A is like an event and B like a
 * command. */
const char *opts_hook_add(struct opts *opts, const char *text, int line,
    bool only_one);

#endif
