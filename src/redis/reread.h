/* When the files of a login are read again. A job may run for days, and its
 * passwords and certificates may be replaced meanwhile. So their files are read
 * again when a connection is made. If that fails, what was read before is kept,
 * and the failure is reported once. */
#ifndef REREAD_H
#define REREAD_H

#include <stdbool.h>
#include <stdint.h>

struct reread {
	bool enabled;	 /* not for a pipe, which is empty by now */
	int64_t read_at; /* when it was read last */
	bool failed;
	/* May be NULL. The reason names the file. */
	void (*on_failure)(void *arg, const char *why);
	void *arg;
};

/* Whether to read now; if so, read_at becomes now. For a reconnect (anew)
 * always. For a first connection only if the last time is 100 ms ago, so that
 * the start of a run does not pay. */
bool reread_is_due(struct reread *reread, bool anew);

/* What came of it: NULL, or why it failed. */
void reread_finish(struct reread *reread, const char *why);

#endif
