#include "redis/names/resolve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/num.h"

/* An answer is one write to a pipe, which is atomic up to PIPE_BUF. */
_Static_assert(sizeof(struct resolve_answer) <= 4096, "more than PIPE_BUF");

/* A zone is the name or the number of an interface. */
int
resolve_numeric(const char *host, int port, struct resolve_address *address)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
	    .sin6_port = htons((uint16_t)port)};
	size_t length = strcspn(host, "%");
	const char *zone = host[length] == '\0' ? NULL : host + length + 1;
	char text[INET6_ADDRSTRLEN];
	int64_t number = 0;

	if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
		address->length = sizeof(v4);
		memcpy(&address->addr, &v4, sizeof(v4));
		return 1;
	}
	if (length >= sizeof(text))
		return 0;
	memcpy(text, host, length);
	text[length] = '\0';
	if (inet_pton(AF_INET6, text, &v6.sin6_addr) != 1)
		return 0;
	if (zone != NULL)
		number = if_nametoindex(zone);
	if (zone != NULL && number == 0 &&
	    num_int(zone, 1, INT32_MAX, &number) == -1)
		return -1;
	v6.sin6_scope_id = (uint32_t)number;
	address->length = sizeof(v6);
	memcpy(&address->addr, &v6, sizeof(v6));
	return 1;
}

/* The other thread, that of the sinks' writer, takes no lock of the C library,
 * so the helper may call what it likes after fork(2). It holds no descriptor of
 * the job's or the server's, and it ends with us. */
static _Noreturn void
helper(const char *host, int port, int out, pid_t parent)
{
	static struct resolve_answer answer;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (dup2(out, STDIN_FILENO) == -1 ||
	    descriptors_close(STDOUT_FILENO, INT_MAX) == -1)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	resolve_look_up(host, port, &answer);
	_exit(write(STDIN_FILENO, &answer, sizeof(answer)) == sizeof(answer)
		  ? 0
		  : 1);
}

static void
on_pipe(void *arg, short revents)
{
	struct resolve *resolve = arg;
	struct resolve_answer answer;
	ssize_t got = read(resolve->pipe.fd, &answer, sizeof(answer));

	(void)revents;
	resolve_cancel(resolve);
	if (got != sizeof(answer)) /* the helper was killed */
		answer = (struct resolve_answer){.error = EAI_AGAIN};
	resolve->on_answer(resolve->arg, &answer);
}

static int
start_helper(struct resolve *resolve, const char *host, int port)
{
	int ends[2];
	pid_t self = getpid();
	pid_t pid;
	int error;

	if (pipe2(ends, O_CLOEXEC) == -1)
		return -1;
	pid = fork();
	if (pid == 0)
		helper(host, port, ends[1], self);
	error = errno;
	close(ends[1]);
	if (pid == -1) {
		close(ends[0]);
		errno = error;
		return -1;
	}
	resolve->pipe = (struct loop_fd){.fd = ends[0],
	    .events = POLLIN,
	    .on_ready = on_pipe,
	    .arg = resolve};
	loop_add(resolve->loop, &resolve->pipe);
	return 0;
}

int
resolve_start(struct resolve *resolve, const struct endpoint *endpoint)
{
	struct resolve_answer answer = {.count = 1};
	struct resolve_address *first = &answer.address[0];
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int numeric = 1;

	if (endpoint->transport == URL_UNIX) {
		snprintf(un.sun_path, sizeof(un.sun_path), "%s",
		    endpoint->host);
		memcpy(&first->addr, &un, sizeof(un));
		first->length = sizeof(un);
	} else {
		numeric =
		    resolve_numeric(endpoint->host, endpoint->port, first);
	}
	if (numeric == 0)
		return start_helper(resolve, endpoint->host, endpoint->port);
	if (numeric == -1)
		return -1;
	resolve->on_answer(resolve->arg, &answer);
	return 0;
}

/* A helper that is still running writes to a closed pipe: SIGPIPE ends it. */
void
resolve_cancel(struct resolve *resolve)
{
	loop_remove(resolve->loop, &resolve->pipe);
	close(resolve->pipe.fd);
	resolve->pipe.fd = -1;
}
