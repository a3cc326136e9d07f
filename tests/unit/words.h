/* The words of a request as a line, for tests. */
#ifndef WORDS_H
#define WORDS_H

#include "lock/request.h"
#include "tap.h"

/* The words between blanks, where "-" is an empty one; `...` ends them. */
static inline void
is_request(struct request *request, const struct script *script,
    const char *words, const char *what)
{
	char text[4096] = "";
	size_t length = 0;

	for (int i = 0; i < request->argc; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length,
		    "%s%s", i > 0 ? " " : "",
		    *request->argv[i] != '\0' ? request->argv[i] : "-");
	ok(request->command.script == script, "%s: its script", what);
	is_text(text, words, "  its words");
	ok(request->argc == 0 || request->argv[request->argc] == NULL,
	    "  which end with NULL");
	request_fini(request);
}

#endif
