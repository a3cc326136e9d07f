/* Signals are caught as they come, and acted on by the step of a state: before
 * there is a job they end or stop this process (relay_obey), then the job gets
 * them (relay_forward), and after it they end the wait for servers
 * (relay_take_end). */
#include <poll.h>

#include "job/terminal.h"
#include "run/run.h"

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
static void
on_signal(void *arg, short revents)
{
	struct run *run = arg;
	struct relay *relay = &run->relay;
	struct signalfd_siginfo info;

	(void)revents;
	while (signals_next(relay->signals, &info)) {
		int signo = (int)info.ssi_signo;
		bool is_of_guard =
		    run->guard.pid > 0 && (pid_t)info.ssi_pid == run->guard.pid;

		if (signo == SIGCHLD) {
			relay->child_changed = true;
			continue;
		}
		relay->caught |= bit(signo);
		if (is_of_guard)
			continue;
		if (relay->terminal != RELAY_NO_TERMINAL &&
		    terminal_sent_to_group(&info))
			relay->shared |= bit(signo);
		else
			relay->forward |= bit(signo);
	}
}

void
relay_init(struct run *run, struct signals *signals)
{
	run->relay = (struct relay){.signals = signals,
	    .terminal =
		terminal_is_controlling() ? RELAY_TERMINAL : RELAY_NO_TERMINAL,
	    .fd = {.fd = signals->fd,
		.events = POLLIN,
		.on_ready = on_signal,
		.arg = run}};
	loop_add(run->loop, &run->relay.fd);
}

/* Unless it was stopped again by then. */
static void
order_continue(struct run *run)
{
	guard_order(&run->guard, ORDER_CONTINUE, run->guard.job.stops);
}

bool
relay_obey(struct run *run)
{
	struct relay *relay = &run->relay;

	relay->forward = relay->shared = 0;
	for (int signo = 1; signo <= SIGNALS && relay->caught != 0; signo++) {
		if (!remove_signal(&relay->caught, signo))
			continue;
		switch (signals_default_action(signo)) {
		case SIGNALS_END:
			run_add_ending(run, ENDING_SIGNAL,
			    (struct event){.status = -signo});
			return true;
		case SIGNALS_STOP:
			if (terminal_suspend(signo) && run->guard.pid > 0)
				order_continue(run);
			break;
		case SIGNALS_IGNORE:
			break;
		}
	}
	return false;
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

/* The job, or the kernel, decides whether a stop signal stops the job. When it
 * has, so do we, so that the shell gets its terminal back. If our group is
 * orphaned no shell waits, and the kernel does not stop us: a job that the
 * guard has stopped for the terminal goes on, too. Without a terminal no shell
 * waits either, and we go on renewing. */
void
relay_forward(struct run *run)
{
	struct relay *relay = &run->relay;

	if (relay->terminal == RELAY_SUSPENDED &&
	    remove_signal(&relay->caught, SIGCONT)) {
		remove_signal(&relay->forward, SIGCONT);
		remove_signal(&relay->shared, SIGCONT);
		order_continue(run);
		relay->terminal = RELAY_TERMINAL;
	}
	for (int signo = 1; signo <= SIGNALS; signo++) {
		if (remove_signal(&relay->forward, signo))
			guard_order(&run->guard, ORDER_SIGNAL, signo);
		if (remove_signal(&relay->shared, signo))
			guard_order(&run->guard, ORDER_SIGNAL_GROUP, signo);
	}
	if (take_caught(relay))
		relay->asked_to_end = true;
	if (relay->terminal == RELAY_NO_TERMINAL ||
	    !guard_take_stop(&run->guard))
		return;
	if (terminal_suspend(SIGTSTP)) {
		relay->terminal = RELAY_SUSPENDED;
	} else {
		relay->terminal = RELAY_TERMINAL;
		if (run->guard.job.suspended)
			order_continue(run);
	}
}

bool
relay_take_end(struct run *run)
{
	run->relay.forward = run->relay.shared = 0;
	return take_caught(&run->relay);
}
