/* Signals as a descriptor. All that can be are blocked before anything else
 * happens and read from a signalfd, so nothing is done in handlers and nothing
 * is lost; what was inherited is given back to the job. */
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

/* 0, or -1 with errno. */
int signals_init(struct signals *signals);
void signals_fini(struct signals *signals);

/* The next signal that has come, false when there is none. One that was
 * inherited as ignored, or that we caused ourselves (SIGPIPE), is left out. */
bool signals_next(struct signals *signals, struct signalfd_siginfo *info);

/* Mask and SIGCHLD as inherited, for the job. Async-signal-safe. */
void signals_restore(const struct signals *signals);

/* What a signal does to a process that hasn't asked for anything else. */
enum signals_action { SIGNALS_IGNORE, SIGNALS_STOP, SIGNALS_END };
enum signals_action signals_default_action(int signo);

/* Asks a job to come to its end: HUP, INT, QUIT, TERM. */
bool signals_asks_to_end(int signo);

/* Waits until a child changes its state, at most that long. SIGCHLD must be
 * blocked; the one waited for is consumed. */
void signals_await_child(int64_t ms);

/* Ends this process by signo, without a core file of ours; by exit status
 * 128+signo where that can't be done (as PID 1). */
_Noreturn void signals_die(int signo);

#endif
