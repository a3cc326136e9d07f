/* The holder of a lock, in words for people. */
#ifndef HOLDER_TEXT_H
#define HOLDER_TEXT_H

#include <stddef.h>

#include "lock/holder.h"

enum { HOLDER_TEXT_MAX = 1024 }; /* room for what holder_text_format prints */

/* The lock, after its name, in parts that make a sentence: "is held by ",
 * "web-3", " (pid 4121, deploy)" and so on. Those that do not matter are empty.
 */
struct holder_text {
	char how[80];
	char who[256];
	char process[3 * LIMIT_LABEL]; /* with the label */
	char since[80];
	char more[224]; /* about other holders */
	/* Shorter texts in place of how, process and since. */
	char brief_how[48];
	char brief_process[2 * LIMIT_LABEL + 4];
	char brief_since[40];
};

/* "web-3 (pid 4121, deploy) since 12:03:11, 3m12s ago", with a label
 * "web-3 (pid 4121, deploy, "nightly sync") since ...", and for a hold
 * "web-3 (deploy, "db migration") since 12:03:11, until 15:00:00". The times
 * are those of this machine's wall clock, reckoned from the server's answer. */
void holder_text_format(const struct holder *holder, char *text, size_t size);

/* The lock, after its name: "is held by web-3 (...) and 2 others", or "has not
 * been granted" if the server has not described a holder. */
void holder_text_format_lock(const struct holder *holder, char *text,
    size_t size);

/* "build 4711" on ci-3, with these quotes; without a label "pid 4121 on ci-3".
 */
void holder_text_format_by(const struct holder_by *by, char *text, size_t size);

void holder_text_split(const struct holder *holder, struct holder_text *words);

#endif
