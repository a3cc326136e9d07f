/* Which signals end or stop a process, which of them are read and which come
 * from a terminal, and that only SIGCHLD ends the wait for a child. */
#include "job/signals.h"
#include "job/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
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

	for (size_t i = 0; i < LENGTH(rows); i++) {
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
	raise(SIGCHLD);
	ok(signals_await_child(1999), "in less than 1.999 s");
}

/* --- in a process of its own ------------------------------------------ */

/* Its exit status, or minus the signal that ended it. */
static int
end_of(int (*act)(void))
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		alarm(60);
		_exit(act());
	}
	while (
	    waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status))
		kill(child, SIGCONT);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static struct signals signals;

static int
next_signal(void)
{
	struct signalfd_siginfo info;

	return signals_next(&signals, &info) ? (int)info.ssi_signo : 0;
}

/* Those that are ignored and our own SIGPIPE are skipped. */
static int
read_signals(void)
{
	signal(SIGUSR2, SIG_IGN);
	if (signals_init(&signals) == -1 || next_signal() != 0)
		return 1;
	raise(SIGUSR2);
	raise(SIGPIPE);
	raise(SIGTERM);
	raise(SIGRTMIN + 3);
	if (next_signal() != SIGTERM || next_signal() != SIGRTMIN + 3)
		return 2;
	if (fcntl(signals.fd, F_GETFD) != FD_CLOEXEC)
		return 3;
	if (fork() == 0)
		_exit(kill(getppid(), SIGPIPE));
	signals_await_child(LONG_MS);
	return next_signal() == SIGPIPE && next_signal() == 0 ? 0 : 4;
}

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP};

enum { FAULTS = LENGTH(faults) };

/* All are blocked but those of faults, which have a handler unless they were
 * ignored. */
static int
block_signals(void)
{
	struct sigaction action;
	sigset_t mask;

	signal(SIGBUS, SIG_IGN);
	if (signals_init(&signals) == -1)
		return 1;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int i = 0; i < FAULTS; i++) {
		sigaction(faults[i], NULL, &action);
		if (sigismember(&mask, faults[i]) != 0 ||
		    action.sa_handler == SIG_DFL ||
		    (faults[i] == SIGBUS && action.sa_handler != SIG_IGN))
			return 10 + i;
	}
	sigaction(SIGABRT, NULL, &action);
	if (action.sa_handler == SIG_DFL)
		return 2;
	return sigismember(&mask, SIGABRT) == 1 &&
		       sigismember(&mask, SIGCHLD) == 1 &&
		       sigismember(&mask, SIGHUP) == 1 &&
		       sigismember(&mask, SIGRTMIN) == 1
		   ? 0
		   : 3;
}

static int
restore_signals(void)
{
	struct sigaction action;
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	signal(SIGCHLD, SIG_IGN);
	if (signals_init(&signals) == -1)
		return 1;
	sigaction(SIGCHLD, NULL, &action);
	if (action.sa_handler != SIG_DFL)
		return 2;
	signals_restore(&signals);
	sigaction(SIGCHLD, NULL, &action);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	return action.sa_handler == SIG_IGN &&
		       sigismember(&mask, SIGUSR1) == 1 &&
		       sigismember(&mask, SIGTERM) == 0
		   ? 0
		   : 3;
}

static int
lack_descriptors(void)
{
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3});
	return signals_init(&signals) == -1 && errno == EMFILE ? 0 : 1;
}

static int
fault(void)
{
	signals_init(&signals);
	kill(getpid(), SIGSEGV);
	return 1;
}

static int
call_abort(void)
{
	signals_init(&signals);
	abort();
}

/* A thread's: what is blocked again is what was blocked. */
static int
block_in_thread(void)
{
	sigset_t all, former, mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (signals_block(&former) != 0)
		return 1;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	if (sigismember(&mask, SIGTERM) != 1 || sigismember(&mask, SIGFPE) != 0)
		return 2;
	signals_unblock(&former);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	signals_fill(&all);
	for (int signo = 1; signo < NSIG; signo++)
		if (sigismember(&all, signo) == 0)
			return 3;
	return sigismember(&mask, SIGTERM) == 0 &&
		       sigismember(&mask, SIGUSR1) == 1
		   ? 0
		   : 4;
}

static int
read_ends(void)
{
	static const int raised[] = {SIGUSR1, SIGALRM, SIGCHLD, SIGCONT, SIGHUP,
	    SIGINT, SIGQUIT, SIGTERM};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signals.fd = signals_open_ends();
	for (size_t i = 0; i < LENGTH(raised); i++) {
		signal(raised[i], SIG_DFL); /* a shell may have ignored it */
		raise(raised[i]);
	}
	return next_signal() == SIGHUP && next_signal() == SIGINT &&
		       next_signal() == SIGQUIT && next_signal() == SIGTERM &&
		       next_signal() == 0
		   ? 0
		   : 1;
}

static int
die_of_term(void)
{
	sigset_t all;

	signal(SIGTERM, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signals_die(SIGTERM);
}

static int
die_of_urgent_data(void)
{
	signals_die(SIGURG);
}

/* --- a terminal ------------------------------------------------------- */

static const char *terminal_path;

static int
have_terminal(void)
{
	int fd, pipe_ends[2];

	if (setsid() == -1 || terminal_is_controlling())
		return 1;
	fd = open(terminal_path, O_RDWR);
	if (!terminal_is_controlling() || !terminal_is_foreground(fd))
		return 2;
	if (pipe(pipe_ends) == -1 || terminal_is_foreground(pipe_ends[0]))
		return 3;
	if (fork() == 0) {
		setpgid(0, 0);
		_exit(terminal_is_foreground(fd) ? 1 : 0);
	}
	return wait(pipe_ends) > 0 && pipe_ends[0] == 0 ? 0 : 4;
}

static int
suspend_self(void)
{
	sigset_t all;

	setpgid(0, 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	return terminal_suspend(SIGTSTP);
}

/* No shell could continue it. */
static int
suspend_orphan(void)
{
	sigset_t all;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	return terminal_suspend(SIGTSTP);
}

static bool
is_from_terminal(int signo, int code)
{
	struct signalfd_siginfo info = {.ssi_signo = (unsigned)signo,
	    .ssi_code = code};

	return terminal_sent_to_group(&info);
}

static int
lead_session(void)
{
	setsid();
	return is_from_terminal(SIGHUP, SI_KERNEL);
}

static int
follow_session(void)
{
	return is_from_terminal(SIGHUP, SI_KERNEL);
}

static void
test_terminal(void)
{
	static const struct {
		int signo;
		bool is_from_terminal;
		const char *name;
	} rows[] = {{SIGINT, true, "INT"}, {SIGQUIT, true, "QUIT"},
	    {SIGTSTP, true, "TSTP"}, {SIGTTIN, true, "TTIN"},
	    {SIGTTOU, true, "TTOU"}, {SIGCONT, true, "CONT"},
	    {SIGWINCH, true, "WINCH"}, {SIGALRM, false, "ALRM"},
	    {SIGXCPU, false, "XCPU"}, {SIGTERM, false, "TERM"}};
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	for (size_t i = 0; i < LENGTH(rows); i++) {
		is_int(is_from_terminal(rows[i].signo, SI_KERNEL),
		    rows[i].is_from_terminal, rows[i].name);
		ok(!is_from_terminal(rows[i].signo, SI_USER), "  by a process");
	}
	is_int(end_of(lead_session), false, "a hang-up of a session's leader");
	is_int(end_of(follow_session), true, "  and of another process");
	if (master == -1 || grantpt(master) == -1 || unlockpt(master) == -1)
		abort();
	terminal_path = ptsname(master);
	is_int(end_of(have_terminal), 0, "a terminal");
	is_int(end_of(suspend_self), true, "stopped and continued");
	is_int(end_of(suspend_orphan), false, "an orphan is not stopped");
	close(master);
}

static void
test_processes(void)
{
	is_int(end_of(read_signals), 0, "which signals are read");
	is_int(end_of(block_signals), 0, "which are blocked");
	is_int(end_of(restore_signals), 0, "what the job gets back");
	is_int(end_of(lack_descriptors), 0, "no descriptor");
	is_int(end_of(fault), -SIGSEGV, "a fault");
	is_int(end_of(call_abort), -SIGABRT, "abort");
	is_int(end_of(block_in_thread), 0, "blocked for a while");
	is_int(end_of(read_ends), 0, "those that ask to end");
	is_int(end_of(die_of_term), -SIGTERM, "death by a signal");
	is_int(end_of(die_of_urgent_data), 128 + SIGURG,
	    "one that ends nobody");
}

int
main(void)
{
	test_terminal();
	test_processes();
	test_actions();
	test_await();
	return tap_done();
}
