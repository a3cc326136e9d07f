/* States of a connection:
 *
 *   CLOSED --send--> LOCATING --> RESOLVING --> CONNECTING --> SECURING --> UP
 *      ^           (locator) |            |    |  next |      (TLS)         |
 *      |                     |            |    +address+         |          |
 *      +---------------------+--- any failure ------+------------+----------+
 *
 * A failure that could mean that TLS is spoken on one side only goes by way of
 * PROBING, once: the address is asked whether it speaks the other language. A
 * handshake that takes long asks beside it.
 *
 * A failure that is found while a command is being sent is told from the loop,
 * by a timer that is due at once, so that no callback runs inside conn_send. */
#include "redis/conn.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/secret.h"
#include "redis/probe.h"
#include "redis/resolve.h"
#include "redis/tls.h"

#define CONN_QUEUE_MAX 16
/* Words of a locator's greeting. */
#define CONN_GREETING_MAX 3
/* No answer to a command about one lock comes near these. */
#define CONN_REPLY_MAX 65536
#define CONN_ELEMENTS_MAX 64
#define CONN_READ_MAX 16384
/* A script and what goes before it. It is kept, so that a new connection needs
 * no memory while a job runs. */
#define CONN_OUT_ROOM 16000
/* Of a server's words, and of a line that has the URL before them. */
#define CONN_WORDS_MAX 256
#define CONN_ERROR_MAX 1024

/* A peer that has gone without a word is noticed even when nothing is sent. */
enum { KEEPALIVE_IDLE_S = 15, KEEPALIVE_INTERVAL_S = 5, KEEPALIVE_COUNT = 3 };
enum { USER_TIMEOUT_MS = 20000 };

/* After that a handshake that isn't answered makes us ask in plain words. */
enum { SILENCE_MS = 1000 };

#if HIREDIS_MAJOR >= 1
typedef size_t conn_elements;
#else
typedef int conn_elements;
#endif

enum conn_state {
	CONN_CLOSED,
	CONN_LOCATING,
	CONN_RESOLVING,
	CONN_CONNECTING,
	CONN_SECURING,
	CONN_UP,
	CONN_PROBING,
};

struct pending {
	reply_handler *on_reply;
	void *arg;
	bool (*is_answer)(const struct value *value);
	int64_t deadline;
	int64_t sent_at;
	bool keep; /* its answer is delivered with the next one's */
};

struct conn {
	struct loop *loop;
	const struct endpoint *endpoint;
	const struct conn_locator *locator; /* NULL: the endpoint is known */
	enum conn_state state;
	struct resolve resolve;
	struct resolve_answer addresses;
	size_t address; /* the one that is tried */
	struct loop_fd fd;
	struct tls *tls; /* NULL without */
	struct loop_timer timer;
	int64_t connect_by;
	struct probe probe;
	int64_t probe_at; /* where the handshake isn't answered until then */
	bool probed;
	bool spoken;	    /* the server has sent anything at all */
	bool met;	    /* it has answered once, on whatever connection */
	bool hopeless;	    /* the last failure is for good */
	bool broken;	    /* fail as soon as the loop runs */
	bool stale;	    /* look for the primary anew */
	struct value *kept; /* the answer that waits for that to WAIT */
	redisReader *reader;
	redisReplyObjectFunctions objects; /* of the reader */
	void *(*create_array)(const redisReadTask *task, conn_elements count);
	size_t unparsed; /* bytes since the last whole reply */
	size_t reply_max;
	size_t elements_max;
	char *out; /* of secret.h: what the socket didn't take yet, and AUTH */
	size_t out_length;
	struct pending queue[CONN_QUEUE_MAX];
	size_t queued;
	char error[CONN_ERROR_MAX];
	char refusal[CONN_WORDS_MAX];
	char complaint[CONN_WORDS_MAX]; /* said before it hung up */
};

static void try_address(struct conn *conn);

struct conn *
conn_new(struct loop *loop, const struct endpoint *endpoint)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (conn == NULL)
		return NULL;
	conn->loop = loop;
	conn->endpoint = endpoint;
	conn->fd.fd = -1;
	conn->out = secret_alloc(CONN_OUT_ROOM);
	if (conn->out == NULL) {
		free(conn);
		return NULL;
	}
	conn_allow(conn, CONN_REPLY_MAX, CONN_ELEMENTS_MAX);
	return conn;
}

void
conn_set_locator(struct conn *conn, const struct conn_locator *locator)
{
	conn->locator = locator;
}

void
conn_allow(struct conn *conn, size_t bytes, size_t elements)
{
	conn->reply_max = bytes;
	conn->elements_max = elements;
}

bool
conn_is_up(const struct conn *conn)
{
	return conn->state == CONN_UP && !conn->broken;
}

const char *
conn_error(const struct conn *conn)
{
	return conn->error;
}

const char *
conn_label(const struct conn *conn)
{
	return conn->endpoint->label;
}

static void
close_socket(struct conn *conn)
{
	loop_remove(conn->loop, &conn->fd);
	probe_cancel(&conn->probe);
	tls_free(conn->tls);
	conn->tls = NULL;
	if (conn->fd.fd != -1)
		close(conn->fd.fd);
	conn->fd.fd = -1;
}

static void
close_all(struct conn *conn)
{
	if (conn->state == CONN_LOCATING)
		conn->locator->cancel(conn->locator->arg);
	if (conn->state == CONN_RESOLVING)
		resolve_cancel(&conn->resolve);
	close_socket(conn);
	loop_timer_remove(conn->loop, &conn->timer);
	value_free(conn->kept);
	conn->kept = NULL;
	if (conn->reader != NULL)
		redisReaderFree(conn->reader);
	conn->reader = NULL;
	explicit_bzero(conn->out, conn->out_length);
	conn->out_length = 0;
	conn->broken = false;
	conn->stale = false;
	conn->state = CONN_CLOSED;
}

void
conn_free(struct conn *conn)
{
	if (conn == NULL)
		return;
	close_all(conn);
	secret_free(conn->out);
	free(conn);
}

static bool
is_refused(const struct conn *conn)
{
	return conn->refusal[0] != '\0';
}

/* A handler may send anew, so that all it is given is copied before. */
void
conn_drop(struct conn *conn)
{
	struct pending dropped[CONN_QUEUE_MAX];
	size_t count = conn->queued;
	char refusal[CONN_WORDS_MAX], failure[CONN_ERROR_MAX];
	struct reply reply = {.kind = REPLY_NONE,
	    .failure = failure,
	    .label = conn->endpoint->label,
	    .permanent = conn->hopeless && !conn->met};

	memcpy(failure, conn->error, sizeof(failure));
	if (is_refused(conn)) {
		memcpy(refusal, conn->refusal, sizeof(refusal));
		reply.kind = REPLY_NO_ACCESS;
		reply.error = refusal;
	}
	memcpy(dropped, conn->queue, count * sizeof(*dropped));
	conn->queued = 0;
	close_all(conn);
	for (size_t i = 0; i < count; i++) {
		reply.sent_at = dropped[i].sent_at;
		if (dropped[i].on_reply != NULL)
			dropped[i].on_reply(dropped[i].arg, &reply);
	}
}

static void
describe(struct conn *conn, const char *what, const char *why)
{
	snprintf(conn->error, sizeof(conn->error), "%s %.512s: %.256s", what,
	    conn->endpoint->label, why);
}

static void
fail(struct conn *conn, const char *what, const char *why)
{
	describe(conn, what, why);
	conn_drop(conn);
}

static void
fail_next_turn(struct conn *conn)
{
	conn->broken = true;
	loop_timer_set(conn->loop, &conn->timer, clock_now());
}

static void
fail_soon(struct conn *conn, const char *what, const char *why)
{
	describe(conn, what, why);
	fail_next_turn(conn);
}

static int64_t
earliest_deadline(const struct conn *conn)
{
	int64_t earliest = CLOCK_NEVER;

	for (size_t i = 0; i < conn->queued; i++)
		if (conn->queue[i].deadline < earliest)
			earliest = conn->queue[i].deadline;
	return earliest;
}

static void
set_timer(struct conn *conn)
{
	int64_t at = earliest_deadline(conn);

	if (conn->broken)
		return;
	if ((conn->state == CONN_CONNECTING || conn->state == CONN_SECURING) &&
	    conn->connect_by < at)
		at = conn->connect_by;
	if (conn->state == CONN_SECURING && conn->probe_at < at)
		at = conn->probe_at;
	loop_timer_set(conn->loop, &conn->timer, at);
}

#define NOT_FOUND "cannot find the primary of"

/* Redis without TLS says nothing to a TLS greeting, it waits for a line. */
#define NO_HANDSHAKE \
	"no answer to the TLS handshake, perhaps it does not speak TLS"

static void
on_probed(void *arg, bool speaks)
{
	struct conn *conn = arg;

	conn->hopeless = speaks;
	if (speaks && conn->endpoint->tls)
		describe(conn, "cannot connect to", "it does not speak TLS");
	else if (speaks)
		describe(conn, "no Redis server at", "it speaks TLS");
	if (speaks || conn->state == CONN_PROBING)
		conn_drop(conn);
}

/* Once is enough, and only of who has never answered anything. */
static void
probe(struct conn *conn)
{
	conn->probed = true;
	conn->probe_at = CLOCK_NEVER;
	conn->probe = (struct probe){.loop = conn->loop,
	    .language = conn->endpoint->tls ? PROBE_REDIS : PROBE_TLS,
	    .on_answer = on_probed,
	    .arg = conn};
	probe_start(&conn->probe, &conn->addresses.address[conn->address]);
}

static bool
wants_probe(const struct conn *conn)
{
	return !conn->probed && !conn->met &&
	       conn->endpoint->transport == URL_TCP;
}

static const char *
why_not_connected(const struct conn *conn)
{
	return conn->state == CONN_SECURING ? NO_HANDSHAKE
					    : strerror(ETIMEDOUT);
}

/* What an unanswered deadline means depends on how far we came. */
static void
on_timer(void *arg)
{
	struct conn *conn = arg;

	if (conn->broken || conn->state == CONN_PROBING)
		conn_drop(conn);
	else if (conn->state == CONN_LOCATING)
		fail(conn, NOT_FOUND, "nobody who knows it answers");
	else if (conn->state == CONN_RESOLVING)
		fail(conn, "cannot resolve", "the name server does not answer");
	else if (conn->state == CONN_UP)
		fail(conn, "no answer from", strerror(ETIMEDOUT));
	else if (clock_now() >= earliest_deadline(conn))
		fail(conn, "cannot connect to", why_not_connected(conn));
	else if (clock_now() < conn->connect_by) {
		probe(conn);
		set_timer(conn);
	} else {
		describe(conn, "cannot connect to", why_not_connected(conn));
		conn->address++;
		try_address(conn);
	}
}

/* A time that starts the lease must lie before the write, and one that is too
 * early only makes it shorter: so all that wait for the socket get the same. */
static void
stamp(struct conn *conn)
{
	int64_t now = clock_now();

	for (size_t i = 0; i < conn->queued; i++)
		if (conn->queue[i].sent_at == CLOCK_NEVER)
			conn->queue[i].sent_at = now;
}

static const char *
io_error(const struct conn *conn, int error)
{
	return conn->tls != NULL && error == EPROTO ? tls_error(conn->tls)
						    : strerror(error);
}

static void
note_tls_error(struct conn *conn, int error)
{
	conn->hopeless =
	    conn->tls != NULL && error == EPROTO && tls_is_hopeless(conn->tls);
}

static ssize_t
write_some(struct conn *conn)
{
	if (conn->tls != NULL)
		return tls_write(conn->tls, conn->out, conn->out_length);
	return send(conn->fd.fd, conn->out, conn->out_length, MSG_NOSIGNAL);
}

static ssize_t
read_some(struct conn *conn, char *in, size_t size)
{
	if (conn->tls != NULL)
		return tls_read(conn->tls, in, size);
	return recv(conn->fd.fd, in, size, 0);
}

static bool
tls_waits(const struct conn *conn)
{
	return conn->tls != NULL && tls_unsent(conn->tls);
}

/* Commands wait for the handshake, not for the socket. */
static short
events_for(const struct conn *conn)
{
	bool waits = conn->state == CONN_UP && conn->out_length > 0;

	return waits || tls_waits(conn) ? POLLIN | POLLOUT : POLLIN;
}

static void
flush(struct conn *conn)
{
	ssize_t sent;

	if (conn->out_length == 0 && !tls_waits(conn))
		return;
	stamp(conn);
	sent = write_some(conn);
	if (sent == -1 && errno != EAGAIN && errno != EINTR) {
		note_tls_error(conn, errno);
		fail_soon(conn, "lost the connection to",
		    io_error(conn, errno));
		return;
	}
	if (sent > 0) {
		conn->out_length -= (size_t)sent;
		memmove(conn->out, conn->out + sent, conn->out_length);
		explicit_bzero(conn->out + conn->out_length, (size_t)sent);
	}
	conn->fd.events = events_for(conn);
}

static int
append(struct conn *conn, const struct conn_command *command)
{
	char *wire = NULL;
	char *out;
	size_t length;
	long long formatted; /* int before hiredis 1.1 */

	if (conn->queued == CONN_QUEUE_MAX)
		return -1;
	formatted =
	    redisFormatCommandArgv(&wire, command->argc, command->argv, NULL);
	if (formatted < 0)
		return -1;
	length = (size_t)formatted;
	out = secret_grow(conn->out, conn->out_length + length);
	if (out != NULL)
		memcpy(out + conn->out_length, wire, length);
	explicit_bzero(wire, length);
	redisFreeCommand(wire);
	if (out == NULL)
		return -1;
	conn->out = out;
	conn->out_length += length;
	conn->queue[conn->queued++] =
	    (struct pending){.on_reply = command->on_reply,
		.arg = command->arg,
		.is_answer = command->is_answer,
		.deadline = command->deadline,
		.sent_at = CLOCK_NEVER};
	return 0;
}

/* A command whose answer is kept, then WAIT: one reply for both. */
static int
append_replicated(struct conn *conn, const struct conn_command *command)
{
	char count[16];
	char ms[24];
	const char *wait[] = {"WAIT", count, ms};
	struct conn_command first = *command;
	struct conn_command second = *command;

	if (command->replicas == 0)
		return append(conn, command);
	if (conn->queued + 2 > CONN_QUEUE_MAX)
		return -1;
	snprintf(count, sizeof(count), "%d", command->replicas);
	snprintf(ms, sizeof(ms), "%" PRId64, command->replicas_ms);
	first.on_reply = NULL;
	second.argc = 3;
	second.argv = wait;
	second.is_answer = NULL;
	if (append(conn, &first) == -1)
		return -1;
	conn->queue[conn->queued - 1].keep = true;
	return append(conn, &second);
}

static void
refuse(struct conn *conn, const char *error)
{
	if (error != NULL && conn->refusal[0] == '\0')
		snprintf(conn->refusal, sizeof(conn->refusal), "%s", error);
}

/* A server that doesn't know AUTH repeats its arguments, cut somewhere. */
static void
on_auth(void *arg, const struct reply *reply)
{
	struct conn *conn = arg;
	const char *error = value_error(reply->value);
	const char *password = conn->endpoint->password;

	if (error != NULL &&
	    (strncmp(error, "ERR unknown", strlen("ERR unknown")) == 0 ||
		(password != NULL && *password != '\0' &&
		    strstr(error, password) != NULL)))
		error = "ERR it does not know the command AUTH";
	refuse(conn, error);
}

static void
on_select(void *arg, const struct reply *reply)
{
	refuse(arg, value_error(reply->value));
}

/* The name is only for people who look at CLIENT LIST: it may be refused. As
 * the first command of many connections it also meets what a server says to
 * those that it hangs up on. */
static void
on_setname(void *arg, const struct reply *reply)
{
	struct conn *conn = arg;
	const char *error = value_error(reply->value);

	if (error == NULL)
		return;
	snprintf(conn->complaint, sizeof(conn->complaint), "%s", error);
	/* Who isn't logged in may not send as much as a script takes: it is
	 * hung up on. */
	if (strncmp(error, "DENIED", strlen("DENIED")) == 0 ||
	    strncmp(error, "NOAUTH", strlen("NOAUTH")) == 0)
		refuse(conn, error);
}

static void
on_greeted(void *arg, const struct reply *reply)
{
	struct conn *conn = arg;
	const struct conn_locator *locator = conn->locator;
	const char *why;

	if (reply->value == NULL)
		return;
	why = locator->judge(locator->arg, reply->value);
	if (why != NULL && locator->for_good)
		refuse(conn, why);
	else if (why != NULL)
		fail(conn, "cannot use", why);
}

static int
append_step(struct conn *conn, const char **argv, int64_t deadline,
    reply_handler *on_reply)
{
	struct conn_command command = {.argv = argv,
	    .deadline = deadline,
	    .on_reply = on_reply,
	    .arg = conn};

	while (argv[command.argc] != NULL)
		command.argc++;
	return append(conn, &command);
}

/* Without a user, AUTH begins with the password. */
static int
append_auth(struct conn *conn, int64_t deadline)
{
	const struct endpoint *to = conn->endpoint;
	const char *password = to->password == NULL ? "" : to->password;
	const char *auth_user[] = {"AUTH", to->user, password, NULL};
	const char *auth[] = {"AUTH", password, NULL};

	if (to->user == NULL && to->password == NULL)
		return 0;
	return append_step(conn, to->user != NULL ? auth_user : auth, deadline,
	    on_auth);
}

static int
append_greeting(struct conn *conn, int64_t deadline)
{
	const char *argv[CONN_GREETING_MAX + 1] = {NULL};

	if (conn->locator == NULL)
		return 0;
	for (size_t i = 0; conn->locator->greeting[i] != NULL; i++)
		argv[i] = conn->locator->greeting[i];
	return append_step(conn, argv, deadline, on_greeted);
}

static int
append_handshake(struct conn *conn, int64_t deadline)
{
	char db[16];
	char name[32];
	const char *select_db[] = {"SELECT", db, NULL};
	const char *setname[] = {"CLIENT", "SETNAME", name, NULL};

	snprintf(db, sizeof(db), "%d", conn->endpoint->db);
	snprintf(name, sizeof(name), "rlockrun:%d", (int)getpid());
	if (append_auth(conn, deadline) == -1 ||
	    append_greeting(conn, deadline) == -1)
		return -1;
	if (conn->endpoint->db != 0 &&
	    append_step(conn, select_db, deadline, on_select) == -1)
		return -1;
	return append_step(conn, setname, deadline, on_setname);
}

/* Another may have become the primary meanwhile, or know better. */
static void
look_for_trouble(struct conn *conn, const char *error)
{
	if (strncmp(error, "LOADING", strlen("LOADING")) == 0 ||
	    strncmp(error, "MASTERDOWN", strlen("MASTERDOWN")) == 0 ||
	    strncmp(error, "CLUSTERDOWN", strlen("CLUSTERDOWN")) == 0)
		conn->stale = true;
}

/* A handler may give the connection up, or send anew. */
static void
deliver(struct conn *conn, const struct pending *pending, struct value *value)
{
	struct value *acks = conn->kept == NULL ? NULL : value;
	struct reply reply = {.kind = REPLY_VALUE,
	    .label = conn->endpoint->label,
	    .sent_at = pending->sent_at};

	if (acks != NULL)
		value = conn->kept;
	conn->kept = NULL;
	reply.value = value;
	reply.acks = acks;
	reply.error = is_refused(conn) ? conn->refusal : value_error(value);
	if (reply.error != NULL)
		reply.kind = is_refused(conn) ? REPLY_NO_ACCESS : REPLY_ERROR;
	if (pending->on_reply != NULL)
		pending->on_reply(pending->arg, &reply);
	value_free(value);
	value_free(acks);
}

static bool
is_answer(const struct pending *pending, const struct value *value)
{
	return pending->is_answer == NULL || value_error(value) != NULL ||
	       pending->is_answer(value);
}

static void
take_value(struct conn *conn, struct value *value)
{
	struct pending first = conn->queue[0];
	const char *error = value_error(value);

	conn->unparsed = 0;
	conn->met = true;
	if (error == NULL)
		conn->complaint[0] = '\0';
	else if (conn->locator != NULL)
		look_for_trouble(conn, error);
	if (!is_answer(&first, value)) {
		value_free(value);
		fail(conn, "unexpected answer from", "not that of our script");
		return;
	}
	conn->queued--;
	memmove(conn->queue, conn->queue + 1,
	    conn->queued * sizeof(*conn->queue));
	if (first.keep)
		conn->kept = value;
	else
		deliver(conn, &first, value);
}

/* The reader may go while a callback runs, when that gives the connection
 * up. */
static void
parse(struct conn *conn)
{
	while (conn->state == CONN_UP && !conn->broken) {
		void *value = NULL;
		if (redisReaderGetReply(conn->reader, &value) != REDIS_OK) {
			fail(conn, "no Redis server at",
			    conn->reader->err == REDIS_ERR_OOM
				? "its answer is too large"
				: conn->reader->errstr);
			return;
		}
		if (value == NULL)
			break;
		if (conn->queued > 0) {
			take_value(conn, value);
			continue;
		}
		value_free(value);
		fail(conn, "no Redis server at", "it speaks unasked");
		return;
	}
	if (conn->stale && conn->queued == 0)
		conn_drop(conn);
	if (conn->unparsed > conn->reply_max)
		fail(conn, "no Redis server at", "its answer is too large");
}

/* Whom we have met instead, by the first bytes of an answer; NULL when they may
 * be Redis'. 21, 3 is a TLS alert of any version (RFC 8446, 5.1). */
static const char *
other_protocol(const char *in, size_t length)
{
	if (in[0] == '<' || (length >= 5 && memcmp(in, "HTTP/", 5) == 0))
		return "it speaks HTTP";
	if (length >= 2 && memcmp(in, "\x15\x03", 2) == 0)
		return "it speaks TLS";
	return NULL;
}

/* error is 0 at the end of file. A TLS server mostly hangs up on who doesn't
 * greet it in TLS, without an alert. */
static bool
is_wordless(const struct conn *conn, int error)
{
	return !conn->spoken && conn->tls == NULL &&
	       conn->endpoint->transport == URL_TCP &&
	       (error == 0 || error == ECONNRESET);
}

static const char *
why_lost(const struct conn *conn, int error)
{
	if (is_wordless(conn, error))
		return "closed without a word, perhaps it wants TLS";
	if (error != 0)
		return io_error(conn, error);
	return conn->complaint[0] != '\0' ? conn->complaint
					  : "closed by the server";
}

static void
on_hang_up(struct conn *conn, int error)
{
	note_tls_error(conn, error);
	describe(conn, "lost the connection to", why_lost(conn, error));
	if (!is_wordless(conn, error) || !wants_probe(conn)) {
		conn_drop(conn);
		return;
	}
	close_socket(conn);
	conn->state = CONN_PROBING;
	probe(conn);
}

static void
take_bytes(struct conn *conn, const char *in, size_t length)
{
	const char *other;

	conn->spoken = true;
	other = conn->unparsed == 0 ? other_protocol(in, length) : NULL;
	if (other != NULL) {
		conn->hopeless = true;
		fail(conn, "no Redis server at", other);
		return;
	}
	conn->unparsed += length;
	if (redisReaderFeed(conn->reader, in, length) != REDIS_OK) {
		fail(conn, "cannot read from", strerror(ENOMEM));
		return;
	}
	parse(conn);
}

/* What TLS has read ahead makes no socket ready. */
static void
receive(struct conn *conn)
{
	char in[CONN_READ_MAX];
	bool again;

	do {
		ssize_t got = read_some(conn, in, sizeof(in));
		if (got == -1 && (errno == EAGAIN || errno == EINTR))
			break;
		if (got <= 0) {
			on_hang_up(conn, got == 0 ? 0 : errno);
			return;
		}
		take_bytes(conn, in, (size_t)got);
		again = conn->tls != NULL && conn_is_up(conn) &&
			tls_unread(conn->tls);
	} while (again);
	if (conn->state == CONN_UP)
		conn->fd.events = events_for(conn);
}

/* The library would allocate an array of whatever size is announced. */
static void *
create_array(const redisReadTask *task, conn_elements count)
{
	const struct conn *conn = task->privdata;

	return (size_t)count > conn->elements_max
		   ? NULL
		   : conn->create_array(task, count);
}

static redisReader *
new_reader(struct conn *conn)
{
	redisReader *reader = redisReaderCreate();

	if (reader == NULL)
		return NULL;
	conn->create_array = reader->fn->createArray;
	conn->objects = *reader->fn;
	conn->objects.createArray = create_array;
	reader->fn = &conn->objects;
	reader->privdata = conn;
	return reader;
}

static void
on_ready(struct conn *conn)
{
	probe_cancel(&conn->probe);
	conn->state = CONN_UP;
	conn->fd.events = POLLIN;
	conn->complaint[0] = '\0';
	conn->spoken = false;
	conn->unparsed = 0;
	conn->reader = new_reader(conn);
	if (conn->reader == NULL) {
		fail_soon(conn, "cannot connect to", strerror(ENOMEM));
		return;
	}
	flush(conn);
}

static void
secure(struct conn *conn)
{
	if (tls_handshake(conn->tls) == 0) {
		on_ready(conn);
	} else if (errno == EAGAIN) {
		describe(conn, "cannot connect to", NO_HANDSHAKE);
		conn->fd.events = events_for(conn);
	} else {
		note_tls_error(conn, errno);
		fail_soon(conn, "cannot connect to", tls_error(conn->tls));
	}
}

static void
on_connected(struct conn *conn)
{
	const struct endpoint *to = conn->endpoint;

	if (!to->tls) {
		on_ready(conn);
		return;
	}
	conn->state = CONN_SECURING;
	conn->probe_at =
	    wants_probe(conn) ? clock_now() + SILENCE_MS : CLOCK_NEVER;
	conn->tls = tls_new(to->tls_context, conn->fd.fd, to->host);
	if (conn->tls == NULL)
		fail_soon(conn, "cannot connect to", strerror(ENOMEM));
	else
		secure(conn);
}

static void
on_socket(void *arg, short revents)
{
	struct conn *conn = arg;
	int error = 0;
	socklen_t size = sizeof(error);

	if (conn->broken)
		return;
	if (conn->state == CONN_CONNECTING) {
		getsockopt(conn->fd.fd, SOL_SOCKET, SO_ERROR, &error, &size);
		if (error == 0) {
			on_connected(conn);
		} else {
			describe(conn, "cannot connect to", strerror(error));
			conn->address++;
			try_address(conn);
		}
	} else if (conn->state == CONN_SECURING) {
		secure(conn);
	} else {
		if (revents & POLLOUT)
			flush(conn);
		if (revents & ~POLLOUT)
			receive(conn);
	}
	set_timer(conn);
}

static void
tune_tcp(int fd)
{
	const struct {
		int level, name, value;
	} tuned[] = {
	    {IPPROTO_TCP, TCP_NODELAY, 1},
	    {SOL_SOCKET, SO_KEEPALIVE, 1},
	    {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
	    {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
	    {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT},
	    {IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS},
	};

	/* Each is a help that the deadlines don't depend on. */
	for (size_t i = 0; i < sizeof(tuned) / sizeof(*tuned); i++)
		setsockopt(fd, tuned[i].level, tuned[i].name, &tuned[i].value,
		    sizeof(tuned[i].value));
}

/* 1 connected, 0 on its way, -1 with errno. */
static int
start_connecting(struct conn *conn, const struct resolve_address *to)
{
	int fd = socket(to->addr.ss_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return -1;
	if (to->addr.ss_family != AF_UNIX)
		tune_tcp(fd);
	conn->fd = (struct loop_fd){.fd = fd,
	    .events = POLLOUT,
	    .on_ready = on_socket,
	    .arg = conn};
	loop_add(conn->loop, &conn->fd);
	if (connect(fd, (const struct sockaddr *)&to->addr, to->length) == 0)
		return 1;
	return errno == EINPROGRESS ? 0 : -1;
}

/* The addresses that are left share the time that is left. */
static int64_t
connect_deadline(const struct conn *conn)
{
	int64_t now = clock_now();
	int64_t left = earliest_deadline(conn) - now;

	return now + left / (int64_t)(conn->addresses.count - conn->address);
}

static void
try_address(struct conn *conn)
{
	conn->state = CONN_CONNECTING;
	for (; conn->address < conn->addresses.count; conn->address++) {
		int begun;

		close_socket(conn);
		conn->connect_by = connect_deadline(conn);
		begun = start_connecting(conn,
		    &conn->addresses.address[conn->address]);
		if (begun == 1) {
			on_connected(conn);
			set_timer(conn);
			return;
		}
		if (begun == 0) {
			set_timer(conn);
			return;
		}
		describe(conn, "cannot connect to", strerror(errno));
	}
	fail_next_turn(conn);
}

static void
on_resolved(void *arg, const struct resolve_answer *answer)
{
	struct conn *conn = arg;

	conn->state = CONN_CONNECTING;
	if (answer->error != 0) {
		fail(conn, "cannot resolve", gai_strerror(answer->error));
		return;
	}
	conn->addresses = *answer;
	conn->address = 0;
	try_address(conn);
}

static void
unix_address(const char *path, struct resolve_address *address)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	memcpy(&address->addr, &un, sizeof(un));
	address->length = sizeof(un);
}

static void
find_addresses(struct conn *conn)
{
	const struct endpoint *to = conn->endpoint;
	struct resolve_address *first = &conn->addresses.address[0];

	conn->state = CONN_CONNECTING;
	conn->addresses.count = 1;
	conn->address = 0;
	if (to->transport == URL_UNIX) {
		unix_address(to->host, first);
		try_address(conn);
		return;
	}
	if (resolve_numeric(to->host, to->port, first)) {
		try_address(conn);
		return;
	}
	conn->resolve.loop = conn->loop;
	conn->resolve.on_answer = on_resolved;
	conn->resolve.arg = conn;
	if (resolve_start(&conn->resolve, to->host, to->port) == -1)
		fail_soon(conn, "cannot resolve", strerror(errno));
	else
		conn->state = CONN_RESOLVING;
}

void
conn_found(struct conn *conn, int64_t greeted_by)
{
	for (size_t i = 0; i < conn->queued; i++)
		if (conn->queue[i].on_reply == on_greeted &&
		    greeted_by < conn->queue[i].deadline)
			conn->queue[i].deadline = greeted_by;
	find_addresses(conn);
	set_timer(conn);
}

void
conn_not_found(struct conn *conn, const char *why, bool refused, bool hopeless)
{
	conn->state = CONN_CONNECTING;
	conn->hopeless = hopeless || refused;
	if (refused && (hopeless || !conn->met))
		refuse(conn, why);
	fail_soon(conn, NOT_FOUND, why);
}

static void
open_conn(struct conn *conn)
{
	mem_wipe_stack(); /* AUTH has just been formatted */
	conn->hopeless = false;
	conn->refusal[0] = '\0';
	if (conn->locator == NULL) {
		find_addresses(conn);
		return;
	}
	conn->state = CONN_LOCATING;
	conn->locator->start(conn->locator->arg, earliest_deadline(conn));
}

int
conn_send(struct conn *conn, const struct conn_command *command)
{
	bool opening = conn->state == CONN_CLOSED;

	if (opening) {
		conn->timer =
		    (struct loop_timer){.on_due = on_timer, .arg = conn};
		if (append_handshake(conn, command->deadline) == -1)
			goto out_of_memory;
	}
	if (append_replicated(conn, command) == -1)
		goto out_of_memory;
	if (command->more && !opening)
		return 0;
	if (opening)
		open_conn(conn);
	else if (conn_is_up(conn))
		flush(conn);
	set_timer(conn);
	return 0;

out_of_memory:
	if (opening) {
		conn->queued = 0;
		close_all(conn);
	}
	snprintf(conn->error, sizeof(conn->error), "%s", strerror(ENOMEM));
	return -1;
}

#define TEXT_OF(number) #number
#define VERSION_TEXT(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *
conn_library(void)
{
	return "hiredis " VERSION_TEXT(HIREDIS_MAJOR, HIREDIS_MINOR,
	    HIREDIS_PATCH);
}
