/* Which signals end or stop a process, and that only SIGCHLD ends the wait for
 * a child. */
#include "job/signals.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

enum { LONG_MS = 60000 };

static void
test_actions(void)
{
	static const struct {
		int signo;
		enum signals_action action;
		bool asks_to_end;
		const char *name;
	} rows[] = {
	    {SIGHUP, SIGNALS_END, true, "HUP"},
	    {SIGINT, SIGNALS_END, true, "INT"},
	    {SIGQUIT, SIGNALS_END, true, "QUIT"},
	    {SIGTERM, SIGNALS_END, true, "TERM"},
	    {SIGUSR1, SIGNALS_END, false, "USR1"},
	    {SIGALRM, SIGNALS_END, false, "ALRM"},
	    {SIGCHLD, SIGNALS_IGNORE, false, "CHLD"},
	    {SIGCONT, SIGNALS_IGNORE, false, "CONT"},
	    {SIGURG, SIGNALS_IGNORE, false, "URG"},
	    {SIGWINCH, SIGNALS_IGNORE, false, "WINCH"},
	    {SIGTSTP, SIGNALS_STOP, false, "TSTP"},
	    {SIGTTIN, SIGNALS_STOP, false, "TTIN"},
	    {SIGTTOU, SIGNALS_STOP, false, "TTOU"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		is_int(signals_default_action(rows[i].signo), rows[i].action,
		    rows[i].name);
		is_int(signals_asks_to_end(rows[i].signo), rows[i].asks_to_end,
		    "  whether it asks to end");
	}
}

/* What was on the stack before must not be waited for. */
static __attribute__((noinline)) void
fill_stack(void)
{
	volatile unsigned char bytes[4096];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0xff;
}

static void
test_await(void)
{
	sigset_t all, pending;
	pid_t child;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	fill_stack();
	ok(!signals_await_child(0), "no child ends");
	raise(SIGUSR1);
	fill_stack();
	ok(!signals_await_child(1), "nor is another signal one");
	sigpending(&pending);
	is_int(sigismember(&pending, SIGUSR1), 1, "  which stays");
	child = fork();
	if (child == 0)
		_exit(0);
	ok(signals_await_child(LONG_MS), "a child ends");
	waitpid(child, NULL, 0);
	ok(!signals_await_child(0), "  once");
}

int
main(void)
{
	test_actions();
	test_await();
	return tap_done();
}
