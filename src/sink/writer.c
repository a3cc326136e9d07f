#include "sink/writer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdalign.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "job/signals.h"

/* What precedes the data. */
struct head {
	struct writer_source *source;
};

/* flags: MSG_DONTWAIT to end when nothing waits. Otherwise the end comes when
 * the other socket was shut down. */
static void
work(struct writer *writer, int64_t until, int flags)
{
	alignas(max_align_t) char data[WRITER_SIZE_MAX];
	struct head head;
	struct iovec parts[] = {{&head, sizeof(head)}, {data, sizeof(data)}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t got;

	while (clock_now() < until &&
	       (got = recvmsg(writer->from, &message, flags)) > 0) {
		head.source->write(head.source->arg, data,
		    (size_t)got - sizeof(head));
		head.source->written++;
	}
}

void
writer_work(struct writer *writer, int64_t until)
{
	work(writer, until, MSG_DONTWAIT);
}

/* Unlike close(2), shutdown(2) ends a connection of which a child has a copy.
 */
static void *
run_thread(void *arg)
{
	struct writer *writer = arg;

	work(writer, CLOCK_NEVER, 0);
	shutdown(writer->from, SHUT_RDWR);
	return NULL;
}

/* The kernel counts some hundred bytes more for each message. */
int
writer_add(struct writer *writer, struct writer_source *source)
{
	const int room = 2 * WRITER_WAITING_MAX * 1024;
	int socks[2];

	source->writer = writer;
	if (writer->is_open)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) == -1)
		return -1;
	setsockopt(socks[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	*writer =
	    (struct writer){.is_open = true, .to = socks[0], .from = socks[1]};
	return 0;
}

bool
writer_put(struct writer_source *source, const void *data, size_t size)
{
	struct head head = {source};
	struct iovec parts[] = {{&head, sizeof(head)},
	    {(void *)(uintptr_t)data, size}};
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	if (source->put - source->written >= WRITER_WAITING_MAX ||
	    source->writer->has_finished ||
	    sendmsg(source->writer->to, &message,
		MSG_DONTWAIT | MSG_NOSIGNAL) == -1)
		return false;
	source->put++;
	return true;
}

void
writer_start(struct writer *writer)
{
	sigset_t former;

	if (writer->has_thread || signals_block(&former) == -1)
		return;
	writer->has_thread =
	    pthread_create(&writer->thread, NULL, run_thread, writer) == 0;
	signals_unblock(&former);
}

/* What the thread has not taken from the queue by then is dropped. */
static void
end_thread(struct writer *writer)
{
	struct pollfd polled = {.fd = writer->to, .events = POLLIN};
	char none;

	writer->has_finished = true;
	if (!writer->has_thread)
		writer_work(writer, clock_now() + WRITER_FINISH_MS);
	shutdown(writer->to, SHUT_WR);
	if (writer->has_thread && poll(&polled, 1, WRITER_FINISH_MS) == 1) {
		pthread_join(writer->thread, NULL);
		writer->has_thread = false;
	}
	while (recv(writer->from, &none, sizeof(none), MSG_DONTWAIT) > 0)
		continue;
}

size_t
writer_finish(struct writer_source *source)
{
	if (!source->writer->has_finished)
		end_thread(source->writer);
	return source->put - source->written;
}
