/* Signals as a descriptor. All that can be are blocked before anything else
 * happens and read from a signalfd, so nothing is done in handlers and nothing
 * is lost; what was inherited is given back to the job. */
#ifndef SIG_H
#define SIG_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

struct sig {
	int fd;
	sigset_t inherited_mask;
	struct sigaction inherited_chld;
};

/* 0, or -1 with errno. */
int sig_init(struct sig *sig);
void sig_fini(struct sig *sig);

/* The next signal that has come, false when there is none. One that was
 * inherited as ignored, or that we caused ourselves (SIGPIPE), is left out. */
bool sig_next(struct sig *sig, struct signalfd_siginfo *info);

/* Mask and SIGCHLD as inherited, for the job. Async-signal-safe. */
void sig_restore(const struct sig *sig);

/* What a signal does to a process that hasn't asked for anything else. */
enum sig_default { SIG_IGNORED, SIG_STOPS, SIG_ENDS };
enum sig_default sig_default_action(int signo);

/* Asks a job to come to its end: HUP, INT, QUIT, TERM. */
bool sig_asks_to_end(int signo);

/* Ends this process by signo, without a core file of ours; by exit status
 * 128+signo where that can't be done (as PID 1). */
_Noreturn void sig_die(int signo);

#endif
