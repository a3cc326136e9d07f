/* Hooks that wait for their turn: 64 at most, in order, and the others are
 * counted. What a hook gets of the environment. The end of the runner. */
#include "sink/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

enum { KEPT = 65 }; /* one runs, 64 wait */

static char folder[] = "/tmp/hooks_test.XXXXXX";

static const char *
content_of(const char *path)
{
	static char text[8192];
	FILE *file = fopen(path, "r");
	size_t length = 0;

	if (file != NULL) {
		length = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[length] = '\0';
	return text;
}

static void
truncate_err(void)
{
	if (truncate("err", 0) == -1)
		abort();
}

/* The queue of the socket may be shorter. */
static int
run_hook(const struct hooks *hooks, const char *command, const char *event,
    const char *entry)
{
	struct pollfd out = {.fd = hooks->sock, .events = POLLOUT};
	char entries[256];
	int length = snprintf(entries, sizeof(entries), "EVENT=%s%c%s", event,
	    '\0', entry);

	while (hooks_run(hooks, command, strlen(command), entries,
		   (size_t)length + 1) == -1)
		if (errno != EAGAIN || poll(&out, 1, 10) == -1)
			return -1;
	return 0;
}

static void
check_queue(int orders, const char *said)
{
	const char command[] =
	    ": >begun; until [ -e go ]; do sleep 0.01; done; "
	    "echo $EVENT $REMOVED $KEPT >>log";
	struct hooks hooks;
	int started = hooks_start(&hooks);
	char want[8192], name[16];
	size_t length = 0;

	ok(started == 0, "the runner is started");
	is_int(waitpid(-1, NULL, WNOHANG), -1, "it is no child");
	for (int i = 0; i < orders; i++) {
		snprintf(name, sizeof(name), "%d", i);
		if (run_hook(&hooks, command, name, "REMOVED") == -1)
			ok(false, "order %d", i);
		while (access("begun", F_OK) == -1)
			poll(NULL, 0, 1);
		if (i < KEPT)
			length += (size_t)snprintf(want + length,
			    sizeof(want) - length, "%d kept\n", i);
	}
	close(open("go", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	hooks_finish(&hooks);
	is_text(content_of("log"), want, "the first ones run, in order");
	is_text(content_of("err"), said, "the others are counted");
	unlink("begun");
	unlink("go");
	unlink("log");
	truncate_err();
}

/* What is said of a hook, by how it ends. */
static void
check_ends(void)
{
	static const struct {
		const char *command, *said;
	} rows[] = {
	    {":", ""},
	    {"exit 1", "rlockrun: the hook for e ended with status 1\n"},
	    {"exit 255", "rlockrun: the hook for e ended with status 255\n"},
	    {"kill -9 $$", "rlockrun: the hook for e was ended by signal 9\n"},
	    {"(kill -STOP $$; kill -CONT $$) & wait; exit 4",
		"rlockrun: the hook for e ended with status 4\n"},
	    /* Its own session and group, and no signal is blocked. */
	    {"read -r _ _ _ _ group session _ </proc/$$/stat; "
	     "exit $((group != $$ || session != $$))",
		""},
	    {"grep -q '^SigBlk:.0*$' /proc/self/status", ""},
	    {"echo lost; read -r line; [ $? = 1 ]", ""},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct hooks hooks;

		hooks_start(&hooks);
		run_hook(&hooks, rows[i].command, "e", "X=");
		hooks_finish(&hooks);
		is_int(hooks.sock, -1, rows[i].command);
		is_text(content_of("err"), rows[i].said, "  what is said");
		truncate_err();
	}
}

/* Waits for a file that a hook makes, and removes it. */
static void
await_file(const char *name)
{
	while (unlink(name) == -1)
		poll(NULL, 0, 1);
}

/* It ends the wait, and the hook goes on. */
static void
check_signal(void)
{
	struct hooks hooks;

	hooks_start(&hooks);
	run_hook(&hooks,
	    ": >begun; until [ -e go ]; do sleep 0.01; done; : >done", "e",
	    "X=");
	await_file("begun");
	raise(SIGTERM);
	hooks_finish(&hooks);
	is_int(access("done", F_OK), -1, "a signal ends the wait");
	close(open("go", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	await_file("done");
	unlink("go");
	is_text(content_of("err"), "", "  and nothing else");
}

/* A runner that is stopped is continued when it is left. */
static void
check_leave(void)
{
	struct hooks hooks;
	int sock;

	hooks_start(&hooks);
	ok(hooks.runner > 1 && kill(hooks.runner, SIGSTOP) == 0,
	    "the runner is known");
	run_hook(&hooks, ": >done", "e", "X=");
	sock = hooks.sock;
	hooks_leave(&hooks);
	is_int(fcntl(sock, F_GETFD), -1, "its socket is closed");
	await_file("done");
}

/* waitpid(2) then knows no status of what starts the runner. */
static void
check_ignored_sigchld(void)
{
	struct hooks hooks;

	signal(SIGCHLD, SIG_IGN);
	is_int(hooks_start(&hooks), 0, "started although SIGCHLD is ignored");
	run_hook(&hooks, "exit 9", "e", "X=");
	hooks_finish(&hooks);
	is_text(content_of("err"),
	    "rlockrun: the hook for e ended with status 9\n", "  and runs");
	signal(SIGCHLD, SIG_DFL);
	truncate_err();
}

static void
check_runner_gone(void)
{
	struct hooks hooks;

	hooks_start(&hooks);
	run_hook(&hooks, "kill -KILL $PPID", "a", "X=");
	hooks_finish(&hooks);
	ok(true, "the wait ends with a runner that is killed");
	hooks_start(&hooks);
	/* It first takes all orders that there are: leave it time to start. */
	while (run_hook(&hooks, "kill -KILL $PPID; sleep 60", "a", "X=") == 0)
		poll(NULL, 0, 1);
	ok(errno == EPIPE || errno == ECONNRESET, "and orders fail");
	hooks_leave(&hooks);
}

int
main(void)
{
	sigset_t all;

	if (mkdtemp(folder) == NULL || chdir(folder) == -1)
		abort();
	dup2(open("err", O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600),
	    STDERR_FILENO);
	setenv("REMOVED", "not", 1);
	setenv("KEPT", "kept", 1);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	check_queue(KEPT, "");
	check_queue(KEPT + 1, "rlockrun: 1 hook was not run\n");
	check_queue(100, "rlockrun: 35 hooks were not run\n");
	check_ends();
	check_signal();
	check_leave();
	check_ignored_sigchld();
	check_runner_gone();
	unlink("err");
	rmdir(folder);
	return tap_done();
}
