/* What a controlling terminal changes: the job stays in our process group, and
 * what the terminal sends, it sends to both. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <sys/signalfd.h>

/* Whether this process has a controlling terminal. */
bool terminal_is_controlling(void);

/* Whether fd is a terminal whose foreground is ours. */
bool terminal_is_foreground(int fd);

/* Whether the kernel sent the signal for the terminal (Ctrl-C, Ctrl-Z, a
 * resize, a hang-up) to the whole foreground group, so that the job has it. */
bool terminal_sent_to_group(const struct signalfd_siginfo *info);

/* Does to this process what a terminal's stop signal does by default: stops it,
 * unless its group is orphaned and nobody could continue it. Returns when it is
 * continued, and whether it was stopped at all. */
bool terminal_suspend(int signo);

#endif
