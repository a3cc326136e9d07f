/* The guard's own process: parent, signaller and reaper of the job. It acts on
 * orders and on the deadline in the shared page, and reports the facts about
 * the job as struct job. */
#ifndef SUPERVISOR_H
#define SUPERVISOR_H

#include <stdatomic.h>
#include <stdint.h>

#include "job/child.h"
#include "job/job.h"

/* Shared with rlockrun, which alone writes it. */
struct supervisor_page {
	_Atomic int64_t deadline; /* of clock_now: all must be dead by then */
};

/* Otherwise a lock of each process would guard it, and half of it be read. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "it is read in one piece");

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
