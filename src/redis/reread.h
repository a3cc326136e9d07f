/* When the files of a login are read again. A job may run for days, and its
 * passwords and certificates may be replaced meanwhile. So they are read again
 * when a connection is made; a read that fails changes nothing but is reported
 * once. */
#ifndef REREAD_H
#define REREAD_H

#include <stdbool.h>
#include <stdint.h>

struct reread {
	bool enabled;	 /* no pipe, which is empty by now */
	int64_t read_at; /* the last time, clock_now() at first */
	bool failed;
	/* May be NULL. The reason names the file. */
	void (*on_failure)(void *arg, const char *why);
	void *arg;
};

/* Whether to read now; then it counts as read. For a connection that is made
 * anew always, for another one unless it was read less than 100 ms ago: the
 * first connections of a run do not pay. */
bool reread_is_due(struct reread *reread, bool anew);

/* What came of it: NULL, or why it failed. */
void reread_finish(struct reread *reread, const char *why);

#endif
