/* What a server says, from the login on, and what comes of it. */
#include "base/secret.h"
#include "peers.h"
#include "redis/handshake.h"
#include "tap.h"

/* Other bytes than replies, or more of them, or none: then it hangs up. */
static const struct {
	const char *bytes, *error;
	enum reply_kind kind;
	const char *words;
	bool permanent, hangs_up;
} strange[] = {
    {"+OK\r\n+PONG\r\n+PONG\r\n", "it sends what was not asked for",
	REPLY_VALUE, "", false, false},
    {"HTTP/1.1 400 Bad Request\r\n", "it speaks HTTP", REPLY_NONE, "", true,
	false},
    {"HTTP/", "it speaks HTTP", REPLY_NONE, "", true, false},
    {"HTTP", "Protocol error", REPLY_NONE, "", false, false},
    {"<html>", "it speaks HTTP", REPLY_NONE, "", true, false},
    {"+OK\r\nPONG\r\n", "Protocol error", REPLY_NONE, "", false, false},
    {"-ERR max number of clients reached\r\n",
	"max number of clients reached (raise its maxclients)", REPLY_NONE, "",
	false, false},
    {"-DENIED x\r\n", "DENIED x (set a password", REPLY_NO_ACCESS, "DENIED x",
	false, true},
    {"-ERR x\r\n", "lost the connection to", REPLY_NONE, "", false, true},
    {"-ERR x\r\n", ": ERR x", REPLY_NONE, "", false, true},
    {"+OK\r\n", "closed by the server", REPLY_NONE, "", false, true},
    {"", "closed by the server", REPLY_NONE, "", false, true},
};

static void
test_strange(void)
{
	for (size_t i = 0; i < LENGTH(strange); i++) {
		struct command command = ping(1);
		int peer;

		begin(0, AGAIN_NO);
		place.missed = 1;
		peer = meet(&command, strange[i].bytes);
		if (strange[i].hangs_up)
			shutdown(peer, SHUT_WR);
		turn();
		ok(!way_is_up(place.way), "strange: it is left");
		ok(strstr(way_error(place.way), strange[i].error) != NULL,
		    "  as %s: %s", strange[i].error, way_error(place.way));
		is_int(seen.calls, 1, "  the command is answered once");
		is_int(seen.reply.kind, strange[i].kind, "  so");
		is_text(seen.error, strange[i].words, "  in these words");
		is_int(seen.reply.permanent, strange[i].permanent,
		    "  perhaps for ever");
		is_int(seen.reply.sent_at, now, "  as sent now");
		close(peer);
		end(place.way);
	}
}

/* Nothing is for ever once it has answered. */
static void
test_answers_are_remembered(void)
{
	struct command commands[] = {ping(1), ping(2)};
	int peer;

	begin(0, AGAIN_NO);
	place.missed = 1;
	send_both(commands);
	turn();
	peer = accept(listeners[0], NULL, NULL);
	answer(peer, "+OK\r\n+PO");
	is_int(seen.calls, 0, "a part of a reply");
	answer(peer, "NG\r\n");
	is_int(seen.calls, 1, "  and the rest of it");
	is_int((int64_t)place.heeded, 1,
	    "  the handshake says nothing about the place");
	answer(peer, "<html>");
	ok(strstr(seen.failure, "it speaks HTTP") != NULL, "then HTTP");
	ok(!seen.reply.permanent, "  but it was a server once");
	close(peer);
	end(place.way);
}

/* An error in doubt leaves a place that is one of several. */
static void
test_doubt(void)
{
	static const struct {
		const char *bytes;
		bool has_kind, stays;
	} rows[] = {{"+OK\r\n-LOADING\r\n", true, false},
	    {"+OK\r\n-LOADING\r\n", false, true},
	    {"+OK\r\n-ERR x\r\n", true, true},
	    {"-LOADING\r\n+PONG\r\n", true, false}};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct command command = ping(1);
		int peer;

		begin_of(rows[i].has_kind ? &kind : &way_address);
		peer = meet(&command, rows[i].bytes);
		is_int(seen.calls, 1, "an error");
		is_int(way_is_up(place.way), rows[i].stays, "  in doubt");
		close(peer);
		end(place.way);
	}
}

/* More than the socket takes at once. */
static struct command
large(int tag)
{
	static char word[1 << 20];
	static const char *const words[] = {word, NULL};
	struct command command = ping(tag);

	memset(word, 'x', sizeof(word) - 1);
	command.words = words;
	return command;
}

/* It ends so. */
static void
is_written(int peer, const char *tail)
{
	static char in[1 << 21];
	size_t got = 0, length = strlen(tail);
	ssize_t part;

	while ((part = recv(peer, in + got, 1 << 16, MSG_DONTWAIT)) > 0) {
		got += (size_t)part;
		turn();
	}
	ok(got > 1 << 20 && memcmp(in + got - length, tail, length) == 0,
	    "  all is written in parts");
}

static void
test_large(void)
{
	static char line[60000];
	struct command command = large(1), second = ping(2);
	int peer;

	begin(0, AGAIN_NO);
	peer = meet(&command, "");
	way_send(place.way, &second);
	is_written(peer, PING);
	memset(line, 'y', sizeof(line) - 1);
	answer(peer, "+OK\r\n+");
	answer(peer, line);
	is_int(seen.calls, 0, "  its answer comes in parts");
	answer(peer, "\r\n");
	is_int(seen.calls, 1, "  all of it");
	is_int(seen.reply.kind, REPLY_VALUE, "  is one");
	close(peer);
	end(place.way);
	begin(0, AGAIN_NO);
	command.on_reply = NULL;
	peer = meet(&command, "+OK\r\n");
	way_leave(place.way);
	ok(way_is_up(place.way), "nobody awaits it, but it is not written");
	is_written(peer, "x\r\n");
	ok(!way_is_up(place.way), "  then it is left");
	close(peer);
	end(place.way);
}

/* --- the handshake ------------------------------------------------------ */

static const char *
judge(void *arg, const struct value *value)
{
	struct place *own = arg;

	is_text(value_error(value), "ERR mine", "  the greeting is judged");
	return own->misfit;
}

static const struct way_kind strict = {.locate = locate,
    .greeting = {.command = "ROLE", .judge = judge, .permanent = true}};
static const struct way_kind lenient = {.locate = locate,
    .greeting = {.command = "ROLE", .judge = judge}};

static void
test_greeting(void)
{
	struct command command = ping(1);

	begin_of(&strict);
	place.misfit = "it does not fit";
	close(meet(&command, "-ERR mine\r\n+OK\r\n+PONG\r\n"));
	is_int(seen.reply.kind, REPLY_NO_ACCESS, "it never fits");
	is_text(seen.error, "it does not fit", "  and says why");
	end(place.way);
	begin_of(&lenient);
	place.misfit = "it does not fit";
	close(meet(&command, "-ERR mine\r\n+OK\r\n+PONG\r\n"));
	is_int(seen.reply.kind, REPLY_NONE, "it does not fit now");
	ok(strncmp(seen.failure, "cannot use", 10) == 0, "  %s", seen.failure);
	end(place.way);
	begin_of(&lenient);
	close(meet(&command, "-ERR mine\r\n+OK\r\n+PONG\r\n"));
	is_int(seen.reply.kind, REPLY_VALUE, "it fits");
	ok(!way_address_text(place.way, (char[9]){0}, 9),
	    "  a socket has no address");
	end(place.way);
}

#define WORD(length, text) "$" #length "\r\n" text "\r\n"
#define AUTH "AUTH"
#define AUTH_P "*2\r\n" WORD(4, AUTH) WORD(2, "pw")
#define AUTH_UP "*3\r\n" WORD(4, AUTH) WORD(1, "u") WORD(2, "pw")
#define AUTH_U "*3\r\n" WORD(4, AUTH) WORD(1, "u") WORD(0, "")
#define SELECT "*2\r\n$6\r\nSELECT\r\n" WORD(1, "7")
#define UNKNOWN "ERR it does not know the command AUTH"
#define FULL "ERR max number of clients reached"

/* What is sent before PING, and the answers up to the name's. A word of the
 * answer that may be the password is not repeated. */
static const struct {
	const char *user, *password;
	int db;
	const char *sent, *answers, *refusal;
} logins[] = {
    {NULL, NULL, 0, "", "", NULL},
    {NULL, "pw", 0, AUTH_P, "+OK\r\n", NULL},
    {"u", "pw", 7, AUTH_UP SELECT, "+OK\r\n+OK\r\n", NULL},
    {"u", NULL, 0, AUTH_U, "-WRONGPASS x\r\n",
	"NOAUTH no password was given for that user"},
    {"u", "pw", 0, AUTH_UP, "-WRONGPASS x\r\n", "WRONGPASS x"},
    {"u", "pw", 0, AUTH_UP, "-WRONGPASS pw\r\n", "WRONGPASS"},
    {"u", "pw", 0, AUTH_UP, "-ERR unknown command x\r\n", UNKNOWN},
    {"u", "pw", 0, AUTH_UP, "-ERR a pw b\r\n", UNKNOWN},
    {"u", "pw", 0, AUTH_UP, "-ERR invalid password pw\r\n",
	"ERR invalid password"},
    {NULL, NULL, 7, SELECT, "-ERR DB index\r\n", "ERR DB index"},
    {NULL, "pw", 7, AUTH_P SELECT, "-NOAUTH a\r\n-NOAUTH b\r\n", "NOAUTH a"},
    {NULL, "pw", 7, AUTH_P SELECT, "-" FULL "\r\n", ""},
    {NULL, NULL, 7, SELECT, "-" FULL "\r\n", ""},
};

static void
test_logins(void)
{
	for (size_t i = 0; i < LENGTH(logins); i++) {
		struct endpoint url = endpoints[0];
		struct command command = ping(1);
		const char *refusal = logins[i].refusal;
		char sent[200];
		int peer;

		url.user = (char *)logins[i].user;
		if (logins[i].password != NULL)
			url.password =
			    strcpy(secret_alloc(99), logins[i].password);
		url.db = logins[i].db;
		begin_of(&way_address);
		way_free(place.way);
		place.way = way_new(&loop, &url, NULL);
		peer = meet(&command, "");
		snprintf(sent, sizeof(sent), "%s" PING, logins[i].sent);
		is_received(peer, sent, "login");
		if (*logins[i].answers != '\0')
			answer(peer, logins[i].answers);
		if (refusal == NULL || *refusal != '\0')
			answer(peer, "+OK\r\n+PONG\r\n");
		is_int(seen.calls, 1, "  the command is answered");
		is_int(seen.reply.kind,
		    refusal == NULL    ? REPLY_VALUE
		    : *refusal != '\0' ? REPLY_NO_ACCESS
				       : REPLY_NONE,
		    "  so");
		is_text(seen.error, refusal == NULL ? "" : refusal,
		    "  in these words");
		ok(refusal == NULL || *refusal != '\0' ||
			strstr(seen.failure, FULL) != NULL,
		    "  or hung up on: %s", seen.failure);
		close(peer);
		end(place.way);
		secret_free(url.password);
	}
}

int
main(void)
{
	if (set_up() == -1)
		return 1;
	test_strange();
	test_answers_are_remembered();
	test_doubt();
	test_large();
	test_greeting();
	test_logins();
	return tear_down();
}
