/* Orders to a guard whose job has not started and cannot be: it obeys, or
 * leaves with a last report. As rlockrun does, entries end with a NUL each and
 * are at most as many as there are variables. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include "fuzz.h"

static jmp_buf left;

/* The guard has no process of its own here, and starts none. */
#define _exit(status) longjmp(left, 1)
#define vfork() (errno = EAGAIN, -1)
#define malloc(size) ((size) > 1 << 20 ? NULL : (malloc)(size))
#define supervisor_main fuzzed_supervisor_main
#include "job/supervisor.c"

const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0"; /* an end of the process frees all */
}

/* The entries of the first order to start, which is the last that is read. */
static bool
is_fit(const uint8_t *data, size_t size)
{
	struct order order = {.kind = ORDER_CHECK_DEADLINE};
	size_t length, nuls = 0;

	if (size == 0 || size >= 4096)
		return false;
	while (order.kind != ORDER_START && size >= sizeof(order)) {
		memcpy(&order, data, sizeof(order));
		data += sizeof(order);
		size -= sizeof(order);
	}
	length = (size_t)order.value;
	if (order.kind != ORDER_START || length == 0 || length > size)
		return true;
	for (size_t i = 0; i < length; i++)
		nuls += data[i] == '\0';
	return data[length - 1] == '\0' && nuls <= CHILD_VARIABLES;
}

static void
check_report(int sock)
{
	struct job job;

	require(recv(sock, &job, sizeof(job), MSG_DONTWAIT) == sizeof(job));
	require(job.state == JOB_FAILED || job.state == JOB_LATE);
	require(job.leader <= 0 && !job.ended && job.gone_at > 0);
}

static void
play(struct supervisor *self, int sock, const uint8_t *data, size_t size)
{
	require(send(sock, data, size, 0) == (ssize_t)size);
	shutdown(sock, SHUT_WR);
	if (setjmp(left) == 0)
		for (;;)
			obey(self);
	check_report(sock);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char entries[ENTRIES_ROOM];
	struct supervisor_page page = {.deadline = CLOCK_NEVER};
	struct child child = {.argv = NULL};
	struct supervisor *self;
	int socks[2];

	if (!is_fit(data, size))
		return -1;
	require(socketpair(AF_UNIX, SOCK_STREAM, 0, socks) == 0);
	self = calloc(1, sizeof(*self));
	require(self != NULL && child_prepare_env(&child) == 0);
	self->page = &page;
	self->sock = socks[0];
	self->timer = clock_timer();
	self->child = &child;
	self->entries = entries;
	require(descendants_open(&self->descendants) == 0);
	play(self, socks[1], data, size);
	close(self->timer);
	close(socks[0]);
	close(socks[1]);
	close(self->descendants.proc);
	if (self->descendants.children != -1)
		close(self->descendants.children);
	if (self->entries != entries)
		free(self->entries);
	free(self->descendants.earlier.list);
	free(child.env);
	free(self);
	return 0;
}
