/* How the command is found, and what it gets: its arguments, environment, group
 * and signals. */
#include "job/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "tap.h"

static char folder[] = "/tmp/child_test.XXXXXX";

static void
make_file(const char *path, mode_t mode, const char *text)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, mode);

	if (fd == -1 || write(fd, text, strlen(text)) == -1)
		abort();
	close(fd);
}

/* Folders with a file, but one that is a folder itself. */
static void
make_files(void)
{
	mkdir("none", 0700);
	mkdir("plain", 0700);
	mkdir("good", 0700);
	mkdir("folder", 0700);
	mkdir("folder/tool", 0700);
	make_file("plain/tool", 0600, "exit 1\n");
	make_file("good/tool", 0700, "echo \"$0 $# $1 $2\"\n");
	make_file("here", 0700, "exit 3\n");
}

static void
test_find(void)
{
	static const struct {
		const char *path, *name, *found;
		int code, error;
	} rows[] = {
	    {"none:folder:plain:good", "tool", "good/tool", 0, 0},
	    {"good:plain", "tool", "good/tool", 0, 0},
	    {"none:plain:none", "tool", NULL, EXITCODE_CANNOT_RUN, EACCES},
	    {"none", "tool", NULL, EXITCODE_NOT_FOUND, ENOENT},
	    {":none", "here", "./here", 0, 0},
	    {"none:", "here", "./here", 0, 0},
	    {"none::good", "here", "./here", 0, 0},
	    {"none:good", "here", NULL, EXITCODE_NOT_FOUND, ENOENT},
	    {"good", "", NULL, EXITCODE_NOT_FOUND, ENOENT},
	    {"good", "./here", "./here", 0, 0},
	    {"good", "plain/tool", NULL, EXITCODE_CANNOT_RUN, EACCES},
	    {"good", "./folder", NULL, EXITCODE_CANNOT_RUN, EISDIR},
	    {"good", "./tool", NULL, EXITCODE_NOT_FOUND, ENOENT},
	    {"good", "here/tool", NULL, EXITCODE_NOT_FOUND, ENOTDIR},
	    {NULL, "sh", "/bin/sh", 0, 0},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		char *argv[] = {(char *)rows[i].name, NULL};
		struct child child = {.argv = argv};

		if (rows[i].path == NULL)
			unsetenv("PATH");
		else
			setenv("PATH", rows[i].path, 1);
		errno = 0;
		is_int(child_find(&child), rows[i].code, rows[i].name);
		if (rows[i].code != 0)
			is_int(errno, rows[i].error, "  why not");
		is_text(child.path, rows[i].found, "  where");
		free(child.path);
	}
}

static void
test_exit_code(void)
{
	static const struct {
		const char *path;
		int error, code;
	} rows[] = {
	    {"here", ENOENT, EXITCODE_CANNOT_RUN}, /* its interpreter */
	    {"here", EACCES, EXITCODE_CANNOT_RUN},
	    {"gone", ENOENT, EXITCODE_NOT_FOUND},
	    {"gone", ENOTDIR, EXITCODE_NOT_FOUND},
	    {"gone", E2BIG, EXITCODE_CANNOT_RUN},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct child child = {.path = (char *)rows[i].path};

		is_int(child_exec_exit_code(&child, rows[i].error),
		    rows[i].code, "an exit code");
	}
}

/* What act writes in a child, and its exit status behind that. */
static const char *
told_by(int (*act)(void))
{
	static char text[2048];
	size_t length = 0;
	ssize_t got;
	int ends[2], status = 0;
	pid_t child;

	if (pipe(ends) == -1)
		abort();
	child = fork();
	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		_exit(act());
	}
	close(ends[1]);
	while ((got = read(ends[0], text + length,
		    sizeof(text) - length - 20)) > 0)
		length += (size_t)got;
	close(ends[0]);
	waitpid(child, &status, 0);
	snprintf(text + length, sizeof(text) - length, "%d",
	    WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return text;
}

/* --- the environment -------------------------------------------------- */

/* The pid of the test is rlockrun's. */
static char listen_pid[32], watchdog_pid[32];

static int
print_env(char **env)
{
	char more[] = "RLOCKRUN_KEY=new\0RLOCKRUN_HELD=a";
	struct child child = {.path = NULL};

	environ = env;
	if (child_prepare_env(&child) == -1)
		return 1;
	child_add_env(&child, more, sizeof(more));
	for (char **entry = child.env; *entry != NULL; entry++)
		dprintf(STDOUT_FILENO, "%s ", *entry);
	free(child.env);
	return 0;
}

static int
print_of_rlockrun(void)
{
	char *env[] = {"A=1", "RLOCKRUN_KEY=k", "RLOCKRUN_TOKEN=t",
	    "RLOCKRUN_FENCE=1", "RLOCKRUN_TTL_MS=2", "RLOCKRUN_HELD=h",
	    "RLOCKRUN_KEYS=stays", "LISTEN_PIDFDID=7", listen_pid, watchdog_pid,
	    "LISTEN_PIDS=3", "B=", NULL};

	return print_env(env);
}

static int
print_of_other(void)
{
	char *env[] = {"LISTEN_PID=2147483647", "LISTEN_PIDFDID=7",
	    "WATCHDOG_PID=x", NULL};

	return print_env(env);
}

static int
print_of_watchdog(void)
{
	char *env[] = {"LISTEN_PIDFDID=7", watchdog_pid, NULL};

	return print_env(env);
}

static int
print_of_none(void)
{
	return print_env(NULL);
}

static void
test_env(void)
{
	snprintf(listen_pid, sizeof(listen_pid), "LISTEN_PID=%d",
	    (int)getpid());
	snprintf(watchdog_pid, sizeof(watchdog_pid), "WATCHDOG_PID=%d",
	    (int)getpid());
	is_text(told_by(print_of_rlockrun),
	    "A=1 RLOCKRUN_KEYS=stays LISTEN_PID= WATCHDOG_PID= LISTEN_PIDS=3 "
	    "B= RLOCKRUN_KEY=new RLOCKRUN_HELD=a 0",
	    "variables of rlockrun, and those that name it");
	is_text(told_by(print_of_other),
	    "LISTEN_PID=2147483647 LISTEN_PIDFDID=7 WATCHDOG_PID=x "
	    "RLOCKRUN_KEY=new "
	    "RLOCKRUN_HELD=a 0",
	    "those that name another process");
	is_text(told_by(print_of_watchdog),
	    "LISTEN_PIDFDID=7 WATCHDOG_PID= RLOCKRUN_KEY=new RLOCKRUN_HELD=a 0",
	    "a watchdog, but no socket");
	is_text(told_by(print_of_none), "RLOCKRUN_KEY=new RLOCKRUN_HELD=a 0",
	    "no environment");
}

/* --- exec ------------------------------------------------------------- */

/* Does not return if it can be executed. */
static int
become(bool own_group, char **argv)
{
	struct signals signals = {
	    .inherited_chld = {.sa_handler = SIG_IGN},
	};
	struct child child = {.argv = argv,
	    .signals = &signals,
	    .own_group = own_group};
	char more[] = "MORE=more";
	int error;
	char *env[] = {"PATH=good:/bin:/usr/bin", listen_pid, watchdog_pid,
	    NULL};

	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&signals.inherited_mask);
	sigaddset(&signals.inherited_mask, SIGUSR1);
	environ = env;
	if (child_find(&child) != 0 || child_prepare_env(&child) == -1)
		return 99;
	child_add_env(&child, more, sizeof(more));
	unlink("here"); /* as if somebody removed it meanwhile */
	error = child_exec(&child);
	free(child.env);
	free(child.path);
	return error;
}

#define SCRIPT                                                \
	"read -r _ _ _ _ group _ </proc/$$/stat; "            \
	"echo $((LISTEN_PID == $$)) $((WATCHDOG_PID == $$)) " \
	"$((group == $$)) $MORE; exit 7"

static int
exec_shell(void)
{
	return become(false, (char *[]){"sh", "-c", SCRIPT, NULL});
}

static int
exec_in_own_group(void)
{
	return become(true, (char *[]){"sh", "-c", SCRIPT, NULL});
}

static int
exec_script(void)
{
	return become(false, (char *[]){"tool", "one 1", "two", NULL});
}

static int
exec_script_alone(void)
{
	return become(false, (char *[]){"tool", NULL});
}

static int
exec_blocked(void)
{
	return become(false, (char *[]){"grep", "-c",
				 "^SigBlk:.0*200$\\|^SigIgn:.*[13579bdf]....$",
				 "/proc/self/status", NULL});
}

static int
exec_gone(void)
{
	return become(false, (char *[]){"./here", NULL});
}

static void
test_exec(void)
{
	char want[8];

	/* Their ids have one more digit at 10, 100 and so on. */
	for (int i = 0; i < 10; i++)
		is_text(told_by(exec_shell), "1 1 0 more\n7", "a command");
	is_text(told_by(exec_in_own_group), "1 1 1 more\n7",
	    "in a group of its own");
	is_text(told_by(exec_script), "good/tool 2 one 1 two\n0",
	    "a script without #!");
	is_text(told_by(exec_script_alone), "good/tool 0  \n0",
	    "  without arguments");
	is_text(told_by(exec_blocked), "2\n0", "signals as inherited");
	make_file("here", 0700, "");
	snprintf(want, sizeof(want), "%d", ENOENT);
	is_text(told_by(exec_gone), want, "it cannot be executed");
}

int
main(void)
{
	char command[64];

	if (mkdtemp(folder) == NULL || chdir(folder) == -1)
		abort();
	make_files();
	test_find();
	test_exit_code();
	test_env();
	test_exec();
	setenv("PATH", "/bin:/usr/bin", 1);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	ok(system(command) == 0, "removed");
	return tap_done();
}
