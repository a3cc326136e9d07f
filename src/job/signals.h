/* Signals as a descriptor. Before anything else they are blocked, except those
 * that our own faults raise, and then read from a signalfd: no handler runs,
 * and none is lost. The job gets the inherited mask back. A fault ends us
 * without a core. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>

struct signals {
	int fd;
	sigset_t inherited_mask;
	struct sigaction inherited_chld;
};

/* All signals, also those that a C library keeps for itself. */
void signals_fill(sigset_t *set);

/* Blocks all of them in this thread, except those that our own faults raise. 0,
 * or -1 with errno. */
int signals_block(sigset_t *former);
void signals_unblock(const sigset_t *former);

/* 0, or -1 with errno. */
int signals_init(struct signals *signals);

/* The next pending signal, false if there is none. Signals that were inherited
 * as ignored, and SIGPIPE from our own writes, are skipped. */
bool signals_next(struct signals *signals, struct signalfd_siginfo *info);

/* A descriptor for signals_next that has only signals that ask to end, as
 * below. -1 with errno. */
int signals_open_ends(void);

/* Mask and SIGCHLD as inherited, for the job. Async-signal-safe. */
void signals_restore(const struct signals *signals);

/* What a signal does by default, as in signal(7). */
enum signals_action { SIGNALS_IGNORE, SIGNALS_STOP, SIGNALS_END };
enum signals_action signals_default_action(int signo);

/* Whether the signal asks a job to end: HUP, INT, QUIT, TERM. */
bool signals_asks_to_end(int signo);

/* Waits for SIGCHLD, at most that long. It must be blocked, and is consumed.
 * False if it did not come. */
bool signals_await_child(int64_t ms);

/* Ends this process by signo without a core, or with exit status 128+signo if
 * that is not possible (as PID 1). */
_Noreturn void signals_die(int signo);

#endif
