/* The guard's own process: parent, signaller and reaper of the job. It acts on
 * orders and on the deadline in the shared page, and reports the facts about
 * the job as struct job. */
#ifndef SUPERVISOR_H
#define SUPERVISOR_H

#include <stdatomic.h>
#include <stdint.h>

#include "job/child.h"

/* Shared with rlockrun, which alone writes it. */
struct supervisor_page {
	_Atomic int64_t deadline; /* of clock_now: all must be dead by then */
};

/* Otherwise a lock of each process would guard it, and half of it be read. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "it is read in one piece");

enum order_kind {
	/* Start the job; value bytes follow: entries of child_add_env. */
	ORDER_START,
	ORDER_CHECK_DEADLINE, /* it has come nearer */
	ORDER_SIGNAL,	      /* send signal number value to the command */
	/* The terminal has sent signal number value to rlockrun's group. If the
	 * command leads another, send it to that. */
	ORDER_SIGNAL_GROUP,
	/* Continue stopped processes of the job, unless the command was stopped
	 * again: value is the number of stops of the last report. */
	ORDER_CONTINUE,
	ORDER_TERMINATE, /* send TERM to the command and all descendants */
};

struct order {
	enum order_kind kind;
	int value;
};

/* In the forked process: waits for the order to start the job, and supervises
 * it. An end of file on sock is the end of rlockrun. The guard does not exit
 * before rlockrun has its last report or has ended. */
_Noreturn void supervisor_main(struct supervisor_page *page, int sock,
    struct child *child);

#endif
