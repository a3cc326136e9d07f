/* `make static`: getent(1) of the system looks names up. Its name services
 * (nsswitch.conf) are shared libraries, which a static program cannot load. */
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "redis/names/resolve.h"

enum { NO_GETENT = 1 }; /* those of netdb.h are negative */
enum { EXIT_NO_GETENT = 127 };

#define PATH_1 "/usr/bin/getent"
#define PATH_2 "/bin/getent"
#define PATH_3 "/run/current-system/sw/bin/getent" /* NixOS */

/* What it reports goes into the pipe as well, where it is no address. So
 * nothing depends on /dev/null. */
static _Noreturn void
exec_getent(const char *host, int out, pid_t parent)
{
	static const char *const paths[] = {PATH_1, PATH_2, PATH_3};
	char *const argv[] = {"getent", "ahosts", "--", (char *)host, NULL};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(out, fd);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		execv(paths[i], argv);
	_exit(EXIT_NO_GETENT);
}

/* Each address comes once for each type of socket. */
static void
read_addresses(struct resolve_answer *answer, int fd, int port)
{
	FILE *lines = fdopen(fd, "r");
	char line[1024];

	if (lines == NULL)
		return;
	while (answer->count < RESOLVE_MAX &&
	       fgets(line, sizeof(line), lines) != NULL) {
		struct resolve_address *to = &answer->address[answer->count];
		size_t same = 0;

		line[strcspn(line, " \t\n")] = '\0';
		memset(to, 0, sizeof(*to));
		if (resolve_numeric(line, port, to) != 1)
			continue;
		while (memcmp((const char *)&answer->address[same],
			   (const char *)to, sizeof(*to)) != 0)
			same++;
		if (same == answer->count)
			answer->count++;
	}
	fclose(lines);
}

/* An address counts, whatever the status: not every getent knows the "--". */
void
resolve_look_up(const char *host, int port, struct resolve_answer *answer)
{
	pid_t self = getpid();
	int ends[2];
	int status = 0;
	pid_t pid;

	answer->error = EAI_AGAIN;
	signal(SIGCHLD, SIG_DFL); /* otherwise there might be no status */
	if (pipe(ends) == -1)
		return;
	pid = fork();
	if (pid == 0)
		exec_getent(host, ends[1], self);
	close(ends[1]);
	if (pid == -1)
		return;
	read_addresses(answer, ends[0], port);
	if (waitpid(pid, &status, 0) != pid)
		return;
	if (answer->count > 0)
		answer->error = 0;
	else if (WIFEXITED(status))
		answer->error = WEXITSTATUS(status) == EXIT_NO_GETENT
				    ? NO_GETENT
				    : EAI_NONAME;
}

const char *
resolve_failure(int error, const char **advice, bool *permanent)
{
	*permanent = error == NO_GETENT;
	if (error == NO_GETENT) {
		*advice = "use an address";
		return "a static rlockrun requires getent(1) for that, and can "
		       "execute none of " PATH_1 ", " PATH_2 ", " PATH_3;
	}
	*advice =
	    error == EAI_AGAIN ? RESOLVE_CHECK_DNS : "check the host name";
	return gai_strerror(error);
}
