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

enum { ORDERS = 100, KEPT = 65 }; /* one runs, 64 wait */

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
check_queue(void)
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
	for (int i = 0; i < ORDERS; i++) {
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
	is_text(content_of("err"), "rlockrun: 35 hooks were not run\n",
	    "the others are counted");
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
	check_queue();
	check_runner_gone();
	unlink("begun");
	unlink("go");
	unlink("log");
	unlink("err");
	rmdir(folder);
	return tap_done();
}
