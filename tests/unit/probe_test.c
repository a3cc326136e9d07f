/* Which language a server speaks, by what it answers to a probe. The server is
 * a socket of this test. */
#include "redis/tls/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tap.h"

#define HELLO "\x16\x03\x01\x00\x04\x01\x00\x00\x00"

enum { OUT = -1 };

static char folder[] = "/tmp/probe-XXXXXX";
static struct resolve_address address;
static struct loop loop;
static struct probe probe;
static int listener, said;

static void
on_answer(void *arg, bool speaks)
{
	(void)arg;
	said = speaks;
}

static void
turn(void)
{
	struct loop_timer soon = {.on_due = NULL};

	for (int i = 0; i < 4; i++) {
		loop_timer_set(&loop, &soon, clock_now());
		loop_turn(&loop);
	}
	loop_timer_remove(&loop, &soon);
}

/* The other end. */
static int
begin(enum probe_language language)
{
	probe = (struct probe){.loop = &loop,
	    .language = language,
	    .on_answer = on_answer};
	said = OUT;
	probe_start(&probe, &address);
	turn();
	return accept(listener, NULL, NULL);
}

static void
answers(enum probe_language language, const char *bytes, size_t length,
    bool speaks, const char *what)
{
	int peer = begin(language);

	turn();
	is_int(said, OUT, "it waits for an answer");
	/* What an earlier call left there does not count. */
	errno = EAGAIN;
	if (length == 0)
		shutdown(peer, SHUT_RDWR);
	else if (send(peer, bytes, length, MSG_NOSIGNAL) == -1)
		abort();
	turn();
	is_int(said, speaks, what);
	ok(probe.loop == NULL && loop.fds == NULL && loop.timers == NULL,
	    "  nothing is left");
	close(peer);
}

static void
test_answers(void)
{
	answers(PROBE_REDIS, "+PONG\r\n", 7, true, "PONG is Redis");
	answers(PROBE_REDIS, "-NOAUTH\r\n", 9, true, "an error, too");
	answers(PROBE_REDIS, "\x15\x03\x01", 3, false, "an alert is not");
	answers(PROBE_TLS, "\x15\x03\x01", 3, true, "an alert is TLS");
	answers(PROBE_TLS, "\x15\x03", 2, true, "its beginning, too");
	answers(PROBE_TLS, "\x15", 1, false, "a part of it is not");
	answers(PROBE_TLS, "-ERR\r\n", 6, false, "nor is an error");
	answers(PROBE_REDIS, "", 0, false, "who hangs up speaks neither");
}

static void
test_bytes(void)
{
	char bytes[32];
	int peer = begin(PROBE_REDIS);

	turn();
	is_int(recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT), 6, "PING");
	ok(memcmp(bytes, "PING\r\n", 6) == 0, "  its bytes");
	/* Bytes that are not read reset the connection. */
	close(peer);
	turn();
	is_int(said, false, "hung up");
	peer = begin(PROBE_TLS);
	turn();
	is_int(recv(peer, bytes, 1, MSG_DONTWAIT), 1, "a part is read");
	close(peer);
	turn();
	is_int(said, false, "a connection that is reset is no answer");
	peer = begin(PROBE_TLS);
	turn();
	is_int(recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT), 9, "a greeting");
	ok(memcmp(bytes, HELLO, 9) == 0, "  its bytes");
	probe_cancel(&probe);
	probe_cancel(&probe);
	is_int(said, OUT, "canceled: it says nothing");
	ok(loop.fds == NULL && loop.timers == NULL, "  nothing is left");
	close(peer);
}

static void
test_recognition(void)
{
	is_text(probe_recognize("<html>", 6), "it speaks HTTP", "HTML");
	is_text(probe_recognize("HTTP/1.1", 8), "it speaks HTTP", "HTTP");
	is_text(probe_recognize("HTTP/", 5), "it speaks HTTP", "its beginning");
	is_text(probe_recognize("HTTPS", 5), NULL, "not quite");
	is_text(probe_recognize("\x15\x03\x01", 3), "it speaks TLS", "TLS");
	is_text(probe_recognize("+OK", 3), NULL, "Redis");
}

int
main(void)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	if (mkdtemp(folder) == NULL || loop_init(&loop) == -1)
		return 1;
	snprintf(un.sun_path, sizeof(un.sun_path), "%s/s", folder);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (bind(listener, (struct sockaddr *)&un, sizeof(un)) == -1 ||
	    listen(listener, 4) == -1)
		return 1;
	memcpy(&address.addr, &un, sizeof(un));
	address.length = sizeof(un);
	test_answers();
	test_bytes();
	test_recognition();
	close(listener);
	unlink(un.sun_path);
	rmdir(folder);
	loop_fini(&loop);
	return tap_done();
}
