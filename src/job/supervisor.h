/* The guard's own process: the job's parent, its signaller and its reaper. Told
 * by orders and by the deadline in the shared page, it answers by reports. */
#ifndef SUPERVISOR_H
#define SUPERVISOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "job/child.h"

/* Shared with rlockrun, which alone writes it. */
struct supervisor_page {
	_Atomic int64_t deadline; /* of clock_now: all must be dead by then */
};

enum order_kind {
	ORDER_GO,     /* start the job; value bytes follow: its late env */
	ORDER_LOOK,   /* at the deadline, which has come nearer */
	ORDER_SIGNAL, /* send value to the command */
	/* Continue what of the job is stopped; value: the stops of the last
	 * report. After another stop it is too late. */
	ORDER_CONTINUE,
	ORDER_TERMINATE, /* send TERM to it and all that descends */
};

struct order {
	enum order_kind kind;
	int value;
};

enum report_kind {
	REPORT_FAILED,	 /* the job can't be guarded; value: errno */
	REPORT_NOT_RUN,	 /* exec failed; value: errno */
	REPORT_LATE,	 /* the deadline had come before exec */
	REPORT_STOPPED,	 /* the command has; value: its process id */
	REPORT_ENDED,	 /* the command has; value: of waitpid(2) */
	REPORT_GONE,	 /* nothing is left; the guard ends */
	REPORT_KILLING,	 /* the deadline came, and KILL was sent */
	REPORT_ENFORCED, /* after that nothing is left; the guard ends */
};

struct report {
	enum report_kind kind;
	int value;
	int64_t at;
	int stops; /* how often the command has been stopped so far */
};

/* In the forked process: waits for the order to go, starts the job and keeps
 * watch over it. sock's end of file is rlockrun's end. Reports that do not fit
 * into the socket are queued, and the guard does not exit before rlockrun has
 * its last one or has ended. */
_Noreturn void supervisor_main(struct supervisor_page *page, int sock,
    struct child *child);

#endif
