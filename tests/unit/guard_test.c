/* The guard and its job, as real processes: how a job ends, and what rlockrun
 * knows of it then. Each case is a process of its own, which tells what it
 * finds. */
#include "job/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/supervisor.h"
#include "tap.h"

#define KEY "RLOCKRUN_KEY=k"
/* Whoever is asked to end by TERM does; the rest stays for a minute. */
#define STAY "sleep 60 & sleep 60 & echo ready; wait; wait"

struct run {
	struct signals signals;
	struct loop loop;
	struct loop_fd signal_fd;
	struct guard guard;
	struct child child;
	char *argv[4];
	int64_t begun;
	int out; /* what the job writes */
};

/* Not the job's: what a case finds. */
static int told;

/* --- a run ------------------------------------------------------------ */

static void
on_signal(void *arg, short revents)
{
	struct run *run = arg;
	struct signalfd_siginfo info;

	(void)revents;
	while (signals_next(&run->signals, &info))
		if (info.ssi_signo == SIGCHLD)
			guard_on_sigchld(&run->guard);
}

static void
begin(struct run *run, const char *script)
{
	int ends[2];

	*run = (struct run){.argv = {"sh", "-c", (char *)script, NULL},
	    .begun = clock_now()};
	if (signals_init(&run->signals) == -1 || loop_init(&run->loop) == -1 ||
	    guard_init(&run->guard, &run->loop) == -1 || pipe(ends) == -1)
		abort();
	dup2(ends[1], STDOUT_FILENO);
	close(ends[1]);
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	run->out = ends[0];
	run->signal_fd = (struct loop_fd){.fd = run->signals.fd,
	    .events = POLLIN,
	    .on_ready = on_signal,
	    .arg = run};
	loop_add(&run->loop, &run->signal_fd);
	run->child = (struct child){.argv = run->argv,
	    .signals = &run->signals,
	    .path = (char *)"/bin/sh"};
}

static void
start_until(struct run *run, int64_t deadline)
{
	static char entries[] = KEY "\0RLOCKRUN_TTL_MS=7";

	if (guard_fork(&run->guard, &run->child) == -1)
		abort();
	guard_start_job(&run->guard, entries, sizeof(entries), deadline);
	close(STDOUT_FILENO);
}

/* Waits for the first line of the job. */
static void
await_ready(const struct run *run)
{
	char byte = '\0';

	while (byte != '\n' && read(run->out, &byte, 1) == 1)
		continue;
}

static void
start(struct run *run, const char *script)
{
	begin(run, script);
	start_until(run, CLOCK_NEVER);
	await_ready(run);
}

static void
order(struct run *run, enum order_kind kind, int value)
{
	guard_order(&run->guard, kind, value);
}

static void
await_end(struct run *run)
{
	while (!guard_job_is_gone(&run->guard)) {
		if (run->guard.job.state != JOB_UNGUARDED) {
			loop_turn(&run->loop);
			continue;
		}
		guard_kill_job(&run->guard);
		poll(NULL, 0, 1);
	}
}

static void
await_stops(struct run *run, int stops)
{
	while (run->guard.job.stops < stops && loop_turn(&run->loop) == 0)
		continue;
}

static const char *
state_word(enum job_state state)
{
	static const char *const words[] = {"pending", "running", "killing",
	    "unguarded", "failed", "late", "gone", "killed", "cleared"};

	return words[state];
}

/* Tells how the job has ended, what it has written since, and that its times
 * are of this run. */
static void
tell(struct run *run)
{
	const struct job *job = &run->guard.job;
	char text[4096];
	ssize_t got;

	await_end(run);
	while (run->guard.pid != 0 && loop_turn(&run->loop) == 0)
		continue;
	dprintf(told, "%s", state_word(job->state));
	if (job->ended && WIFEXITED(job->status))
		dprintf(told, " %d", WEXITSTATUS(job->status));
	else if (job->ended)
		dprintf(told, " signal %d", WTERMSIG(job->status));
	if (job->leader != 0)
		dprintf(told, " not reaped");
	if (job->error != 0)
		dprintf(told, " error %d", job->error);
	if (job->gone_at < run->begun || job->gone_at > clock_now() ||
	    (job->ended &&
		(job->ended_at < run->begun || job->ended_at > job->gone_at)))
		dprintf(told, " at another time");
	while ((got = read(run->out, text, sizeof(text) - 1)) > 0) {
		text[got] = '\0';
		dprintf(told, ": %s", text);
	}
	guard_fini(&run->guard);
	guard_fini(&run->guard);
	loop_fini(&run->loop);
}

/* --- cases ------------------------------------------------------------ */

static void
end_by_itself(struct run *run)
{
	begin(run, "echo $RLOCKRUN_KEY $RLOCKRUN_TTL_MS; exit 7");
	start_until(run, CLOCK_NEVER);
	tell(run);
}

/* The guard has to make room for it. */
static void
get_long_entries(struct run *run)
{
	static char entries[5000] = "RLOCKRUN_KEY=";

	memset(entries + strlen(entries), 'x',
	    sizeof(entries) - strlen(entries) - 1);
	begin(run, "echo ${#RLOCKRUN_KEY}");
	if (guard_fork(&run->guard, &run->child) == -1)
		abort();
	guard_start_job(&run->guard, entries, sizeof(entries), CLOCK_NEVER);
	close(STDOUT_FILENO);
	tell(run);
}

static void
not_be_found(struct run *run)
{
	begin(run, "");
	run->child.path = (char *)"/no/such/file";
	start_until(run, CLOCK_NEVER);
	tell(run);
}

static void
come_too_late(struct run *run)
{
	begin(run, "echo ran");
	start_until(run, clock_now());
	tell(run);
}

static void
meet_deadline(struct run *run)
{
	start(run, "trap '' TERM; " STAY);
	guard_set_deadline(&run->guard, clock_now());
	tell(run);
}

static void
await_deadline(struct run *run)
{
	start(run, STAY);
	guard_set_deadline(&run->guard, clock_now() + 50);
	tell(run);
}

static void
keep_later_deadline(struct run *run)
{
	begin(run, "echo ready; read -r line </dev/null; exit 4");
	start_until(run, clock_now() + 3600000);
	await_ready(run);
	guard_set_deadline(&run->guard, CLOCK_NEVER);
	dprintf(told, "%s, ",
	    run->guard.page->deadline == CLOCK_NEVER ? "none" : "one");
	tell(run);
}

static void
get_signal(struct run *run)
{
	start(run,
	    "trap 'exit 5' USR1; echo ready; while :; do sleep 0.01; done");
	order(run, ORDER_CHECK_DEADLINE, 0);
	order(run, ORDER_SIGNAL_GROUP, SIGTERM); /* it is in ours */
	order(run, ORDER_SIGNAL, SIGUSR1);
	tell(run);
}

static void
be_terminated(struct run *run)
{
	start(run, STAY);
	order(run, ORDER_TERMINATE, 0);
	tell(run);
}

/* An order to continue that does not know of a stop leaves it alone. */
static void
be_stopped(struct run *run)
{
	start(run,
	    "trap 'echo continued; exit 6' CONT; echo ready; kill -STOP $$; "
	    "sleep 60");
	await_stops(run, 1);
	dprintf(told, "%d", guard_take_stop(&run->guard));
	dprintf(told, "%d ", guard_take_stop(&run->guard));
	order(run, ORDER_CONTINUE, 0);
	order(run, ORDER_CONTINUE, 1);
	tell(run);
}

/* As by a terminal: the whole group, and the kernel would not. */
static void
be_suspended(struct run *run)
{
	/* Not `wait`: dash blocks all signals there for a moment, and what is
	 * blocked is not stopped. */
	begin(run, "sleep 60 & echo ready; exec sleep 61");
	run->child.own_group = true;
	start_until(run, CLOCK_NEVER);
	await_ready(run);
	order(run, ORDER_SIGNAL_GROUP, SIGTSTP);
	await_stops(run, 1);
	dprintf(told, "%s, ", run->guard.job.suspended ? "suspended" : "");
	order(run, ORDER_CONTINUE, 1);
	order(run, ORDER_SIGNAL_GROUP, SIGTERM);
	tell(run);
}

static void
lose_guard(struct run *run)
{
	start(run, STAY);
	kill(run->guard.pid, SIGKILL);
	while (
	    run->guard.job.state < JOB_UNGUARDED && loop_turn(&run->loop) == 0)
		continue;
	dprintf(told, "%s, ", state_word(run->guard.job.state));
	tell(run);
}

static void
kill_guard(struct run *run)
{
	start(run, STAY);
	kill(run->guard.pid, SIGSTOP);
	guard_kill(&run->guard);
	dprintf(told, "%s, ", state_word(run->guard.job.state));
	tell(run);
}

/* A signal that somebody sends to the guard is not for the job. */
static void
be_apart(struct run *run)
{
	char path[64], name[32] = "";
	pid_t guard, leader;
	int fd;

	start(run, "echo ready; kill -STOP $$; sleep 60");
	await_stops(run, 1);
	guard = run->guard.pid;
	leader = run->guard.job.leader;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)guard);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (read(fd, name, sizeof(name) - 1) > 0)
		name[strcspn(name, "\n")] = '\0';
	dprintf(told, "%s %d%d%d ", name, getsid(guard) == guard,
	    getsid(leader) == getsid(0), getpgid(leader) == getpgrp());
	kill(guard, SIGTERM);
	kill(guard, SIGUSR1);
	order(run, ORDER_TERMINATE, 0);
	tell(run);
}

/* A report that it has sent before is still read. */
static void
kill_guard_that_reported(struct run *run)
{
	struct pollfd polled = {.events = POLLIN};

	start(run, "echo ready; kill -STOP $$; sleep 60");
	polled.fd = run->guard.sock.fd;
	poll(&polled, 1, -1);
	guard_kill(&run->guard);
	await_stops(run, 1);
	dprintf(told, "%s, ", state_word(run->guard.job.state));
	tell(run);
}

static void
start_without_guard(struct run *run)
{
	siginfo_t info;

	begin(run, "echo ran");
	if (guard_fork(&run->guard, &run->child) == -1)
		abort();
	kill(run->guard.pid, SIGKILL);
	waitid(P_PID, (id_t)run->guard.pid, &info, WEXITED | WNOWAIT);
	guard_start_job(&run->guard, KEY, sizeof(KEY), 7);
	dprintf(told, "%s, ", state_word(run->guard.job.state));
	run->guard.job.state = JOB_PENDING;
	while (run->guard.sock.fd != -1)
		loop_turn(&run->loop);
	dprintf(told, "%s ", state_word(run->guard.job.state));
	guard_start_job(&run->guard, KEY, sizeof(KEY), 8);
	dprintf(told, "%d, ", (int)run->guard.page->deadline);
	close(STDOUT_FILENO);
	tell(run);
}

/* A stop of the guard is none of the job's. */
static void
continue_guard(struct run *run)
{
	start(run, "echo ready; sleep 0.2; exit 3");
	kill(run->guard.pid, SIGSTOP);
	tell(run);
}

/* What the command leaves behind lives on. */
static void
dismiss_guard(struct run *run)
{
	char text[32] = "";

	start(run,
	    "echo ready; sh -c 'echo $$; exec >&-; exec sleep 60' & exit 2");
	while (!run->guard.job.ended && loop_turn(&run->loop) == 0)
		continue;
	guard_dismiss(&run->guard);
	dprintf(told, "%s %d, ", state_word(run->guard.job.state),
	    (int)run->guard.pid);
	while (read(run->out, text + strlen(text), 1) == 1)
		continue;
	dprintf(told, "%d", kill((pid_t)atoi(text), SIGKILL));
}

/* Then the pipe to us has no other writer. */
static void
let_descriptors_go(struct run *run)
{
	int ours[2];
	char byte;

	begin(run, "exec >&-; while :; do sleep 0.01; done");
	if (pipe2(ours, O_CLOEXEC) == -1)
		abort();
	start_until(run, CLOCK_NEVER);
	dprintf(told, "%zd", read(run->out, &byte, 1));
	close(ours[1]);
	dprintf(told, "%zd ", read(ours[0], &byte, 1));
	order(run, ORDER_TERMINATE, 0);
	tell(run);
}

/* Whoever tells it is gone before the job: it must end as well. */
static void
leave_job(struct run *run)
{
	start(run, "trap '' TERM; " STAY);
	dprintf(told, "left");
}

static void
check(void (*play)(struct run *run), const char *want, const char *what)
{
	char text[4096];
	size_t length = 0;
	ssize_t got;
	int ends[2];
	pid_t child;

	if (pipe(ends) == -1)
		abort();
	child = fork();
	if (child == 0) {
		static struct run run;

		alarm(60);
		/* The job has it, too, so that its end shows. */
		told = ends[1];
		close(ends[0]);
		play(&run);
		_exit(0);
	}
	close(ends[1]);
	while (
	    (got = read(ends[0], text + length, sizeof(text) - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	close(ends[0]);
	waitpid(child, NULL, 0);
	is_text(text, want, what);
}

/* --- what is known without a job -------------------------------------- */

static pid_t
stopped_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(60);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, NULL, WUNTRACED);
	return pid;
}

static void
test_states(void)
{
	struct guard guard;
	struct loop loop;
	pid_t stopped;
	int fd;

	loop_init(&loop);
	guard_init(&guard, &loop);
	guard_order(&guard, ORDER_TERMINATE, 0);
	guard_kill(&guard);
	is_int(guard.job.state, JOB_UNGUARDED, "no guard");
	ok(!guard_has_earlier_children(&guard), "no child");
	stopped = stopped_child();
	for (int state = JOB_PENDING; state <= JOB_CLEARED; state++) {
		guard.job.state = (enum job_state)state;
		is_int(guard_job_is_gone(&guard), state >= JOB_FAILED,
		    state_word(guard.job.state));
		guard.pid = stopped;
		is_int(guard_is_unresponsive(&guard), state <= JOB_KILLING,
		    "  with a guard that is stopped");
		guard.pid = getpid();
		is_int(guard_is_unresponsive(&guard), state < JOB_KILLING,
		    "  with one that runs");
	}
	guard.stopped = true;
	ok(!guard_take_stop(&guard), "a command that has been reaped");
	guard.job.leader = getpid();
	guard.stopped = true;
	ok(!guard_take_stop(&guard), "a stop that is over");
	guard.job.leader = stopped;
	ok(!guard_take_stop(&guard), "one that has been taken");
	guard.stopped = true;
	ok(guard_take_stop(&guard), "a stop");
	guard_fini(&guard);
	guard_init(&guard, &loop);
	ok(guard_has_earlier_children(&guard), "a child from before");
	guard.sock.fd = dup(STDOUT_FILENO);
	loop_add(&loop, &guard.sock);
	fd = guard.sock.fd;
	guard_fini(&guard);
	ok(loop.fds == NULL && guard.sock.fd == -1 && fcntl(fd, F_GETFD) == -1,
	    "no socket is left");
	loop_fini(&loop);
	kill(stopped, SIGKILL);
	waitpid(stopped, NULL, 0);
}

int
main(void)
{
	test_states();
	check(end_by_itself, "gone 7: k 7\n", "a job that ends by itself");
	check(get_long_entries, "gone 0: 4986\n", "long entries");
	check(not_be_found, "gone 1", "no command");
	check(come_too_late, "late", "the deadline before the start");
	check(meet_deadline, "killed not reaped",
	    "a deadline that comes nearer");
	check(await_deadline, "killed not reaped", "one that comes by itself");
	check(keep_later_deadline, "none, gone 4", "one that goes");
	check(get_signal, "gone 5", "a signal for the command");
	check(be_terminated, "gone signal 15", "all are asked to end");
	check(be_stopped, "10 gone 6: continued\n", "a stop");
	check(be_suspended, "suspended, gone signal 15", "a group is stopped");
	check(lose_guard, "unguarded, cleared", "a guard that dies");
	check(kill_guard, "unguarded, cleared", "one that we kill");
	check(be_apart, "rlockrun-guard 111 gone signal 15",
	    "one of another session");
	check(kill_guard_that_reported, "unguarded, cleared not reaped",
	    "one that has reported");
	check(start_without_guard, "failed, unguarded 8, cleared",
	    "one that dies before the start");
	check(continue_guard, "gone 3", "one that is stopped");
	check(dismiss_guard, "running 0, 0", "one that is dismissed");
	check(let_descriptors_go, "00 gone signal 15",
	    "descriptors that the guard keeps");
	check(leave_job, "left", "rlockrun is gone");
	return tap_done();
}
