/* A server on 127.0.0.1 that speaks TLS alone, or not at all, and the probe
 * that finds out which. */
#include <arpa/inet.h>

#include "peers.h"
#include "redis/tls/tls.h"
#include "tap.h"

#define HELLO "\x16\x03\x01\x00\x04\x01\x00\x00\x00"
#define NO_REPLY                                                         \
	"closed without a reply, perhaps by a proxy that does not know " \
	"CLIENT SETNAME"
/* A fatal alert (RFC 8446, 6). */
#define ALERT(number) "\x15\x03\x03\x00\x02\x02" number
#define ALERT_SIZE 7

static struct endpoint url;
static struct way *way;
static int listener;

/* The kernel may need a moment. */
static int
accept_one(void)
{
	int peer = -1;

	for (int i = 0; i < 10000 && peer == -1; i++) {
		turn();
		peer = accept(listener, NULL, NULL);
		if (peer == -1)
			usleep(100);
	}
	return peer;
}

/* What comes next; "" at the end of the connection. */
static void
is_read(int peer, const char *want, size_t size, const char *what)
{
	char bytes[1024] = "";
	ssize_t got = -1;

	for (int i = 0; i < 10000 && got == -1; i++) {
		turn();
		got = recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (got == -1)
			usleep(100);
	}
	ok(got >= (ssize_t)size && memcmp(bytes, want, size) == 0, "%s", what);
	ok(size > 0 || got == 0, "  and no more");
}

static void
wait_for_call(void)
{
	for (int i = 0; i < 10000 && seen.calls == 0; i++) {
		turn();
		if (seen.calls == 0)
			usleep(100);
	}
}

/* By a reset if it is to be one. */
static void
hang_up(int peer, bool resets)
{
	const struct linger linger = {.l_onoff = resets};

	setsockopt(peer, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(peer);
}

static int
open_way(void)
{
	const struct command command = ping(1);

	way = way_new(&loop, &url, NULL);
	seen = (struct seen){.way = way};
	way_send(way, &command);
	return accept_one();
}

static void
is_failure(const char *why, bool permanent)
{
	wait_for_call();
	is_int(seen.calls, 1, "  it fails");
	is_int(seen.reply.kind, REPLY_NONE, "  without an answer");
	ok(strstr(seen.failure, why) != NULL, "  as %s: %s", why, seen.failure);
	is_int(seen.reply.permanent, permanent, "  perhaps for ever");
}

/* What the probe is answered; silence if it is so long. */
struct probe {
	const char *answer;
	size_t size;
	int64_t silence_ms;
	const char *why;
	bool permanent;
};

static void
play_probe(const struct probe *row, int probe)
{
	if (row->size > 0)
		ok(send(probe, row->answer, row->size, 0) > 0, "  answers");
	else if (row->silence_ms == 0)
		close(probe);
	if (row->silence_ms > 0) {
		now += row->silence_ms - 1;
		turn();
		is_int(seen.calls, 0, "  it has so long");
		now++;
	}
	is_failure(row->why, row->permanent);
	if (row->size > 0 || row->silence_ms > 0)
		close(probe);
}

/* --- without TLS -------------------------------------------------------- */

static const struct probe plain[] = {
    {ALERT("\x28"), ALERT_SIZE, 0,
	"no Redis server at redis://S: it speaks TLS", true},
    {"\x15\x03", 2, 0, ": it speaks TLS", true},
    {"-ERR", 4, 0, NO_REPLY, false},
    {"", 0, 0, NO_REPLY, false},
    {"", 0, 1000, NO_REPLY, false},
};

static void
test_plain(void)
{
	for (size_t i = 0; i < LENGTH(plain); i++) {
		struct command command = ping(2);
		int probe;

		hang_up(open_way(), i == 1);
		probe = accept_one();
		is_read(probe, HELLO, sizeof(HELLO) - 1,
		    "it is greeted by TLS");
		play_probe(&plain[i], probe);
		seen.calls = 0;
		command.deadline = now + 10000;
		way_send(way, &command);
		hang_up(accept_one(), false);
		is_failure(NO_REPLY, false);
		is_int(accept(listener, NULL, NULL), -1, "  it asks once");
		end(way);
	}
}

/* A server that has answered may hang up. */
static void
test_known(void)
{
	struct tls_session session;
	char text[INET6_ADDRSTRLEN] = "";
	int peer = open_way();

	is_received(peer, PING, "a server without TLS");
	answer(peer, "+OK\r\n+PONG\r\n");
	wait_for_call();
	is_int(seen.reply.kind, REPLY_VALUE, "  answers");
	ok(way_address_text(way, text, sizeof(text)), "  has an address");
	is_text(text, "127.0.0.1", "  this one");
	ok(!way_describe_tls(way, &session), "  and no session");
	hang_up(peer, false);
	for (int i = 0; i < 10000 && way_is_up(way); i++)
		turn();
	ok(strstr(way_error(way), "closed by the server") != NULL,
	    "  hangs up: %s", way_error(way));
	is_int(accept(listener, NULL, NULL), -1, "  and is asked nothing");
	ok(!way_address_text(way, text, sizeof(text)) &&
		!way_describe_tls(way, &session),
	    "  it has none any more");
	end(way);
}

static void
test_given_up(void)
{
	int probe;

	hang_up(open_way(), false);
	probe = accept_one();
	is_read(probe, HELLO, sizeof(HELLO) - 1, "given up while it asks");
	way_drop(way);
	is_int(seen.calls, 1, "  one reply");
	is_read(probe, "", 0, "  it has hung up");
	close(probe);
	end(way);
}

/* --- with TLS ----------------------------------------------------------- */

#define NO_ANSWER \
	"no answer to the TLS handshake, perhaps it does not speak TLS"

static const struct probe silent[] = {
    {"+PONG\r\n", 7, 0, "cannot connect to redis://S: it does not speak TLS",
	true},
    {"-NOAUTH\r\n", 9, 0, ": it does not speak TLS", true},
    {"x", 1, 9000, NO_ANSWER, false},
    {"", 0, 9000, NO_ANSWER, false},
};

/* Nothing is said to the handshake: after a second it is asked. */
static void
test_silence(void)
{
	for (size_t i = 0; i < LENGTH(silent); i++) {
		int peer = open_way(), probe;

		is_read(peer, "\x16\x03\x01", 3, "a TLS handshake");
		now += 999;
		turn();
		is_int(accept(listener, NULL, NULL), -1, "  waits a second");
		now++;
		probe = accept_one();
		is_read(probe, "PING\r\n", 6, "  then it is asked");
		play_probe(&silent[i], probe);
		is_int(accept(listener, NULL, NULL), -1, "  once");
		close(peer);
		end(way);
	}
}

/* What the handshake itself is answered, or that the server hangs up. */
static const struct probe answers[] = {
    {"-ERR x\r\n", 8, 0, ": it does not speak TLS", true},
    {"", 0, 0, "closed during the TLS handshake, perhaps it does not speak TLS",
	false},
    {"\x16\x03", 2, 0, "closed during the TLS handshake", false},
    {ALERT("\x28"), ALERT_SIZE, 0,
	"it refused the handshake, perhaps it requires a certificate "
	"(--tls-cert, --tls-key)",
	true},
    {ALERT("\x46"), ALERT_SIZE, 0, "it does not speak TLS 1.2 or newer", true},
    {ALERT("\x70"), ALERT_SIZE, 0, "it does not know that host name", true},
    {ALERT("\x2d"), ALERT_SIZE, 0,
	"it reports that our certificate has expired", true},
    {ALERT("\x2a"), ALERT_SIZE, 0, "it refused our certificate", true},
    {ALERT("\x74"), ALERT_SIZE, 0, "it requires a certificate", true},
    {ALERT("\x50"), ALERT_SIZE, 0, "internal error", false},
};

static void
test_answers(void)
{
	for (size_t i = 0; i < LENGTH(answers); i++) {
		int peer = open_way();

		is_read(peer, "\x16\x03\x01", 3, "a TLS handshake");
		if (answers[i].size > 0)
			send(peer, answers[i].answer, answers[i].size, 0);
		shutdown(peer, SHUT_WR);
		is_failure(answers[i].why, answers[i].permanent);
		close(peer);
		end(way);
	}
}

static void
on_death(int status, const char *why)
{
	printf("# %d: %s\n", status, why);
	exit(tap_done());
}

int
main(void)
{
	const struct tls_config config = {.die = on_death};
	struct sockaddr_in any = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(any);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (loop_init(&loop) == -1 ||
	    bind(listener, (struct sockaddr *)&any, size) == -1 ||
	    listen(listener, 4) == -1 ||
	    getsockname(listener, (struct sockaddr *)&any, &size) == -1)
		return 1;
	url = (struct endpoint){.host = (char *)"127.0.0.1",
	    .port = ntohs(any.sin_port),
	    .label = (char *)"redis://S"};
	test_plain();
	test_known();
	test_given_up();
	url.tls = true;
	url.tls_context = tls_context_new(&config);
	test_silence();
	test_answers();
	tls_context_free(url.tls_context);
	loop_fini(&loop);
	return tap_done();
}
