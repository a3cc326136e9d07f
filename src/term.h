/* What a controlling terminal changes: the job stays in our process group, and
 * what the terminal sends, it sends to both. */
#ifndef TERM_H
#define TERM_H

#include <stdbool.h>
#include <sys/signalfd.h>

/* Whether this process has a controlling terminal. */
bool term_is_controlling(void);

/* Whether the kernel sent the signal for the terminal (Ctrl-C, Ctrl-Z, a
 * resize, a hang-up), so that the whole foreground group has got it. */
bool term_has_sent(const struct signalfd_siginfo *info);

/* Stops this process as Ctrl-Z does; returns when it is continued. */
void term_suspend(void);

#endif
