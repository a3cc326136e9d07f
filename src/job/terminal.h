/* The controlling terminal. With one, the job stays in our process group, and
 * signals of the terminal reach both, unless the command leaves it. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <sys/signalfd.h>

/* Whether this process has a controlling terminal. */
bool terminal_is_controlling(void);

/* Whether fd is a terminal and our process group is in its foreground. */
bool terminal_is_foreground(int fd);

/* Whether the terminal sent the signal (Ctrl-C, Ctrl-Z, a resize, a hang-up) to
 * the whole foreground group, so that a job in our group has received it. */
bool terminal_sent_to_group(const struct signalfd_siginfo *info);

/* Does what a stop signal of a terminal does by default: stops this process,
 * unless its group is orphaned and no shell could continue it. Returns when it
 * is continued, and whether it was stopped. */
bool terminal_suspend(int signo);

#endif
