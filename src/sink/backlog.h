/* What is to be written to a disk, which may be slow: one system call or so at
 * a time, when the loop is idle. When the release comes, the rest stays until
 * the run has ended. */
#ifndef BACKLOG_H
#define BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "run/event.h"

/* How long backlog_finish writes, apart from the step that it ends with. */
enum { BACKLOG_FINISH_MS = 2000 };

struct backlog {
	struct loop *loop;
	struct loop_idle idle;
	/* Writes the next part. Returns whether there is more. */
	bool (*step)(void *arg);
	void *arg;
	bool waits;	   /* something is to be written */
	bool is_held_back; /* the release comes first */
};

void backlog_init(struct backlog *backlog, struct loop *loop,
    bool (*step)(void *arg), void *arg);

/* There is something to be written. */
void backlog_add(struct backlog *backlog);

/* Sees the release coming. */
void backlog_take(struct backlog *backlog, const struct event *event);

/* Writes the rest, for a bounded time. Returns whether all is written. The loop
 * calls step no more. */
bool backlog_finish(struct backlog *backlog);

#endif
