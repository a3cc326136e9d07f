/* Who has a lock, for people. */
#ifndef HOLDER_H
#define HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct holder {
	bool seen;	 /* the lock was met held */
	bool known;	 /* by a rlockrun, which left a record */
	int64_t left_ms; /* of the lease; -1: it has no end */
	int64_t held_ms; /* since it was acquired */
	int64_t told_at; /* when the server said so */
	char host[256];
	char pid[16];
	char user[64];
};

/* "web-3 (pid 4121, deploy) since 12:03:11, 3m12s ago". The time is that of
 * this machine's wall clock, reckoned back from the server's answer. */
void holder_describe(const struct holder *holder, char *text, size_t size);

#endif
