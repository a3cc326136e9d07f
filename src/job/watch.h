/* The guard's own process: the job's parent, its signaller and its reaper. Told
 * by orders and by the deadline in the shared page, it answers by reports. */
#ifndef WATCH_H
#define WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "job/child.h"

/* Shared with rlockrun, which alone writes it. */
struct watch_page {
	_Atomic int64_t deadline; /* of clock_now: all must be dead by then */
};

enum watch_order_kind {
	WATCH_ORDER_GO,	  /* start the job; value bytes follow: its late env */
	WATCH_ORDER_LOOK, /* at the deadline, which has come nearer */
	WATCH_ORDER_SIGNAL, /* send value to the command */
	/* Continue what of the job is stopped; value: the stops of the last
	 * report. After another stop it is too late. */
	WATCH_ORDER_CONTINUE,
	WATCH_ORDER_TERMINATE, /* send TERM to it and all that descends */
};

struct watch_order {
	enum watch_order_kind kind;
	int value;
};

enum watch_report_kind {
	WATCH_REPORT_FAILED,   /* the job can't be guarded; value: errno */
	WATCH_REPORT_NOT_RUN,  /* exec failed; value: errno */
	WATCH_REPORT_LATE,     /* the deadline had come before exec */
	WATCH_REPORT_STOPPED,  /* the command has; value: its process id */
	WATCH_REPORT_ENDED,    /* the command has; value: of waitpid(2) */
	WATCH_REPORT_GONE,     /* nothing is left; the guard ends */
	WATCH_REPORT_KILLING,  /* the deadline came, and KILL was sent */
	WATCH_REPORT_ENFORCED, /* after that nothing is left; the guard ends */
};

struct watch_report {
	enum watch_report_kind kind;
	int value;
	int64_t at;
	int stops; /* how often the command has been stopped so far */
};

/* In the forked process: waits for the order to go, starts the job and keeps
 * watch over it. sock's end of file is rlockrun's end. Reports that do not fit
 * into the socket are queued, and the guard does not exit before rlockrun has
 * its last one or has ended. */
_Noreturn void watch_main(struct watch_page *page, int sock,
    struct child *child);

#endif
