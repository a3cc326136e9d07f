#include "run/relay.h"

#include <poll.h>

#include "job/terminal.h"

enum { SIGNALS = 64 }; /* as many as a set of bits holds */

static uint64_t
bit(int signo)
{
	return UINT64_C(1) << (signo - 1);
}

static bool
remove_signal(uint64_t *set, int signo)
{
	bool was = *set & bit(signo);

	*set &= ~bit(signo);
	return was;
}

/* The guard continues us when somebody has continued the job. */
static bool
comes_from_guard(const struct relay *relay, const struct signalfd_siginfo *info)
{
	pid_t guard = relay->guard != NULL ? relay->guard->pid : 0;

	return guard > 0 && (pid_t)info->ssi_pid == guard;
}

static void
relay_on_signal(void *arg, short revents)
{
	struct relay *relay = arg;
	struct signalfd_siginfo info;

	(void)revents;
	while (signals_next(relay->signals, &info)) {
		int signo = (int)info.ssi_signo;
		relay->caught |= bit(signo);
		if (signo == SIGCHLD || comes_from_guard(relay, &info))
			continue;
		if (relay->terminal && terminal_sent_to_group(&info))
			relay->shared |= bit(signo);
		else
			relay->forward |= bit(signo);
	}
}

void
relay_init(struct relay *relay, struct loop *loop, struct signals *signals,
    struct guard *guard)
{
	*relay = (struct relay){.terminal = terminal_is_controlling(),
	    .signals = signals,
	    .guard = guard,
	    .fd = {.fd = signals->fd,
		.events = POLLIN,
		.on_ready = relay_on_signal,
		.arg = relay}};
	loop_add(loop, &relay->fd);
}

void
relay_fini(struct relay *relay, struct loop *loop)
{
	loop_remove(loop, &relay->fd);
}

bool
relay_take_child(struct relay *relay)
{
	return remove_signal(&relay->caught, SIGCHLD);
}

int
relay_obey(struct relay *relay)
{
	relay->forward = relay->shared = 0;
	for (int signo = 1; signo <= SIGNALS && relay->caught != 0; signo++) {
		if (!remove_signal(&relay->caught, signo))
			continue;
		switch (signals_default_action(signo)) {
		case SIGNALS_END:
			return signo;
		case SIGNALS_STOP:
			if (terminal_suspend(signo) && relay->guard != NULL)
				guard_continue(relay->guard);
			break;
		case SIGNALS_IGNORE:
			break;
		}
	}
	return 0;
}

/* Whether one that was caught asks to end. */
static bool
take_caught(struct relay *relay)
{
	bool asked = false;

	for (int signo = 1; signo <= SIGNALS; signo++)
		if (remove_signal(&relay->caught, signo) &&
		    signals_asks_to_end(signo))
			asked = true;
	return asked;
}

/* When the job has stopped, so do we, so that the shell gets its terminal back.
 * If our group is orphaned no shell waits, and the kernel does not stop us: a
 * job that the guard has stopped for the terminal goes on, too. */
static void
follow_stop(struct relay *relay)
{
	relay->suspended = terminal_suspend(SIGTSTP);
	if (!relay->suspended && relay->guard->job.suspended)
		guard_continue(relay->guard);
}

/* The job, or the kernel, decides whether a stop signal stops the job.
 * Without a terminal no shell waits for us, and we go on renewing. */
void
relay_forward(struct relay *relay)
{
	if (relay->suspended && remove_signal(&relay->caught, SIGCONT)) {
		remove_signal(&relay->forward, SIGCONT);
		remove_signal(&relay->shared, SIGCONT);
		guard_continue(relay->guard);
		relay->suspended = false;
	}
	for (int signo = 1; signo <= SIGNALS; signo++) {
		if (remove_signal(&relay->forward, signo))
			guard_signal(relay->guard, signo);
		if (remove_signal(&relay->shared, signo))
			guard_signal_group(relay->guard, signo);
	}
	if (take_caught(relay))
		relay->asked_to_end = true;
	if (relay->terminal && guard_take_stop(relay->guard))
		follow_stop(relay);
}

bool
relay_take_end(struct relay *relay)
{
	relay->forward = relay->shared = 0;
	return take_caught(relay);
}
