#include "redis/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tap.h"

/* What a handler got, copied: a reply ends with its handler. */
static struct seen {
	int calls;
	enum reply_kind kind;
	char error[64], acks[64];
	int tag;
	int64_t number, sent_at;
	enum again again;
} seen;

static void
on_reply(void *arg, const struct reply *reply)
{
	struct seen *to = arg;
	int64_t acks = -1;

	to->calls++;
	to->kind = reply->kind;
	to->sent_at = reply->sent_at;
	to->again = reply->again;
	to->number = -1;
	value_integer(reply->value, &to->number);
	snprintf(to->error, sizeof(to->error), "%s",
	    reply->error == NULL ? "" : reply->error);
	to->tag = reply->tag;
	value_integer(reply->acks, &acks);
	snprintf(to->acks, sizeof(to->acks), "%d", (int)acks);
}

static struct value *taken;

static void
on_reply_take(void *arg, const struct reply *reply)
{
	on_reply(arg, reply);
	taken = reply_take(reply);
	ok(taken == reply->value, "  a value is taken");
	ok(reply_take(reply) == NULL, "  once");
}

static struct command
ping(int64_t deadline)
{
	static const char *const words[] = {"PING", NULL};

	return (struct command){.words = words,
	    .deadline = deadline,
	    .on_reply = on_reply,
	    .arg = &seen};
}

static struct value *
parse(const char *wire)
{
	const struct value_limits limits = {1024, 8};
	struct value_reader *reader = value_reader_new();
	struct value *value = NULL;

	value_reader_feed(reader, wire, strlen(wire));
	value_reader_next(reader, limits, &value);
	value_reader_free(reader);
	return value;
}

static void
deliver(struct pipeline *pipeline, const char *wire, const char *refusal)
{
	struct delivery delivery = {
	    .reply = {.kind = REPLY_NONE, .label = "server"}};

	if (refusal != NULL) {
		delivery.reply.kind = REPLY_NO_ACCESS;
		delivery.reply.error = refusal;
	}
	pipeline_take(pipeline, parse(wire), &delivery);
	if (delivery.on_reply != NULL)
		delivery.on_reply(delivery.arg, &delivery.reply);
	value_free(delivery.first);
	value_free(delivery.received);
}

static void
is_out(const struct pipeline *pipeline, const char *bytes)
{
	is_int((int64_t)pipeline->out_length, (int64_t)strlen(bytes), "length");
	ok(memcmp(pipeline->out, bytes, strlen(bytes)) == 0, "bytes");
}

static void
test_bytes(struct pipeline *pipeline)
{
	static const char set[] = "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$20000\r\nxx";
	static char long_word[20001];
	const char *const words[] = {"SET", "", long_word, NULL};
	struct command command = ping(1);

	pipeline_add(pipeline, &command);
	is_out(pipeline, "*1\r\n$4\r\nPING\r\n");
	pipeline_wrote(pipeline, 4);
	is_out(pipeline, "$4\r\nPING\r\n");
	memset(long_word, 'x', sizeof(long_word) - 1);
	command.words = words;
	is_int(pipeline_add(pipeline, &command), 0, "more than the room");
	is_int((int64_t)pipeline->out_length, 10 + 4 + 9 + 6 + 8 + 20000 + 2,
	    "  length");
	ok(memcmp(pipeline->out + 10, set, strlen(set)) == 0, "  bytes");
	is_int((int64_t)pipeline->count, 2, "two are unanswered");
	pipeline_empty(pipeline);
	is_int((int64_t)pipeline->out_length, 0, "  leaves no bytes");
	is_int(pipeline_deadline(pipeline), CLOCK_NEVER, "  nor a deadline");
}

static bool
is_wiped(const struct pipeline *pipeline, size_t from, size_t size)
{
	for (size_t i = from; i < size; i++)
		if (pipeline->out[i] != '\0')
			return false;
	return true;
}

/* What was written or taken back. */
static void
test_wiped(struct pipeline *pipeline)
{
	struct command command = ping(1);
	size_t length, whole;

	pipeline_add(pipeline, &command);
	length = pipeline->out_length;
	pipeline_add(pipeline, &command);
	whole = pipeline->out_length;
	pipeline_cut(pipeline, 1, length);
	is_out(pipeline, "*1\r\n$4\r\nPING\r\n");
	ok(is_wiped(pipeline, length, whole), "  the second is wiped");
	pipeline_wrote(pipeline, 4);
	ok(is_wiped(pipeline, length - 4, whole), "  and what was written");
	pipeline_empty(pipeline);
	ok(is_wiped(pipeline, 0, whole), "  and all");
}

/* What the handler of a new command is given then. */
static void
is_delivered(struct pipeline *pipeline, const char *wire, const char *refusal,
    enum reply_kind kind, const char *error)
{
	struct command command = ping(1);

	pipeline_add(pipeline, &command);
	pipeline_stamp(pipeline);
	deliver(pipeline, wire, refusal);
	is_int(seen.kind, kind, wire);
	is_text(seen.error, error, "  error");
	is_int(seen.number, *wire == ':' ? 7 : -1, "  value");
	ok(seen.sent_at <= clock_now(), "  stamped");
}

static void
test_kinds(struct pipeline *pipeline)
{
	struct command command = ping(1);

	is_delivered(pipeline, ":7\r\n", NULL, REPLY_VALUE, "");
	is_delivered(pipeline, "-BUSY x\r\n", NULL, REPLY_ERROR, "BUSY x");
	is_delivered(pipeline, ":7\r\n", "WRONGPASS", REPLY_NO_ACCESS,
	    "WRONGPASS");
	is_delivered(pipeline, "-BUSY\r\n", "NOAUTH", REPLY_NO_ACCESS,
	    "NOAUTH");
	command.on_reply = on_reply_take;
	pipeline_add(pipeline, &command);
	deliver(pipeline, ":7\r\n", NULL);
	is_int(seen.sent_at, CLOCK_NEVER, "a command that was never stamped");
	value_free(taken);
}

/* Redis 5 and 6 say where in a script an error arose. */
static void
test_places(struct pipeline *pipeline)
{
	static const struct {
		const char *wire, *error;
	} cases[] = {
	    {"-@user_script: 10: -READONLY You can't  (SET)\r\n",
		"READONLY You can't  (SET)"},
	    {"-@user_script: 9: The user executing: no\r\n",
		"ERR The user executing: no"},
	    {"-@user_script: 123456789: \r\n", "ERR "},
	    {"-@user_script: 10: -\r\n", ""},
	    {"-@user_script: 10\r\n", "@user_script: 10"},
	    {"-@user_script\r\n", "@user_script"},
	    {"-ERR x: @user_script: 10: y\r\n", "ERR x: @user_script: 10: y"},
	    {"-ERR Error running script (call to f_bdea): @user_script:3: "
	     "WRONGTYPE Operation against a key\r\n",
		"WRONGTYPE Operation against a key"},
	    {"-ERR Error running script (call to f_bdea): @user_script:3: "
	     "@user_script: 3: The user executing: no\r\n",
		"ERR The user executing: no"},
	    {"-ERR Error running script (call to f_bdea): @user_script\r\n",
		"ERR Error running script (call to f_bdea): @user_script"},
	    {"-ERR Error running script (call to f_bdea): a\r\n",
		"ERR Error running script (call to f_bdea): a"},
	};
	struct command command = ping(1);

	for (size_t i = 0; i < LENGTH(cases); i++) {
		pipeline_add(pipeline, &command);
		deliver(pipeline, cases[i].wire, NULL);
		is_text(seen.error, cases[i].error, "an error of a script");
	}
	pipeline_wrote(pipeline, pipeline->out_length);
}

static void
test_replicas(struct pipeline *pipeline)
{
	struct command command = ping(1);
	int calls = seen.calls;

	command.replicas = 2;
	command.replicas_ms = 500;
	command.tag = 5;
	pipeline_add(pipeline, &command);
	is_out(pipeline, "*1\r\n$4\r\nPING\r\n"
			 "*3\r\n$4\r\nWAIT\r\n$1\r\n2\r\n$3\r\n500\r\n");
	deliver(pipeline, ":1\r\n", NULL);
	is_int(seen.calls, calls, "the answer: awaits that of WAIT");
	deliver(pipeline, ":2\r\n", NULL);
	is_int(seen.calls, calls + 1, "WAIT's: both in one reply");
	is_int(seen.number, 1, "  the command's");
	is_int(seen.tag, 5, "  with its tag");
	is_text(seen.acks, "2", "  the replicas'");
	pipeline_add(pipeline, &command);
	deliver(pipeline, ":1\r\n", NULL);
	is_int((int64_t)pipeline->count, 1, "emptied in between");
	pipeline_empty(pipeline);
	is_int(seen.calls, calls + 1, "  nothing is delivered");
	pipeline_add(pipeline, &command);
	is_int((int64_t)pipeline->count, 2, "emptied before both");
	ok(pipeline->pending[0].on_reply == NULL &&
		pipeline->pending[1].on_reply == on_reply,
	    "  one handler is left to call");
	pipeline_empty(pipeline);
	command.replicas = 0;
	pipeline_add(pipeline, &command);
	deliver(pipeline, ":1\r\n", NULL);
	is_text(seen.acks, "-1", "  nor anything left for the next");
	pipeline_empty(pipeline);
}

static const char digest[] = "0123456789012345678901234567890123456789";
static const struct script script = {"return 1", digest};

#define BY_DIGEST                 \
	"*4\r\n$7\r\nEVALSHA\r\n" \
	"$40\r\n0123456789012345678901234567890123456789\r\n" REST
#define WHOLE "*4\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n" REST
#define REST "$1\r\n1\r\n$1\r\nk\r\n"
#define WAIT "*3\r\n$4\r\nWAIT\r\n$1\r\n2\r\n$3\r\n500\r\n"
#define ASKING "*1\r\n$6\r\nASKING\r\n"
#define NOSCRIPT "-NOSCRIPT No matching script.\r\n"

static struct command
eval(void)
{
	static const char *const words[] = {"1", "k", NULL};
	struct command command = ping(clock_now() + 10000);

	command.script = &script;
	command.words = words;
	return command;
}

static void
send_written(struct pipeline *pipeline, const struct command *command,
    const char *bytes)
{
	is_int(pipeline_add(pipeline, command), 0, "a script");
	is_out(pipeline, bytes);
	pipeline_stamp(pipeline);
	pipeline_wrote(pipeline, pipeline->out_length);
}

/* A script that is sent so, and what its handler is given then. */
static void
is_answered(struct pipeline *pipeline, enum again how, const char *sent,
    const char *answer, enum again again, const char *what)
{
	struct command command = eval();

	command.again = how;
	send_written(pipeline, &command, sent);
	deliver(pipeline, answer, NULL);
	is_int(seen.again, again, what);
	is_int(seen.kind, *answer == '-' ? REPLY_ERROR : REPLY_VALUE, "  kind");
	is_int((int64_t)pipeline->out_length, 0, "  nothing is sent by itself");
}

#define DUE AGAIN_NO, BY_DIGEST
#define AS_TEXT AGAIN_AS_TEXT, WHOLE

static void
test_scripts(struct pipeline *pipeline)
{
	struct command command = eval();

	is_answered(pipeline, DUE, ":1\r\n", AGAIN_NO, "the server has it");
	is_answered(pipeline, DUE, NOSCRIPT, AGAIN_AS_TEXT,
	    "it lacks it: it is to be sent as a text");
	is_answered(pipeline, AS_TEXT, NOSCRIPT, AGAIN_NO,
	    "lacks it again: no loop");
	is_text(seen.error, "NOSCRIPT No matching script.", "  an error");
	send_written(pipeline, &command, BY_DIGEST);
	deliver(pipeline, "-ERR NOSCRIPT No matching script\r\n", NULL);
	is_int(seen.again, AGAIN_AS_TEXT, "another word before it");
	send_written(pipeline, &command, BY_DIGEST);
	deliver(pipeline, NOSCRIPT, "WRONGPASS");
	is_int(seen.again, AGAIN_NO, "without access it is not asked again");
	is_int(seen.kind, REPLY_NO_ACCESS, "  kind");
	command.on_reply = NULL;
	send_written(pipeline, &command, WHOLE);
	deliver(pipeline, ":1\r\n", NULL);
}

/* The WAIT behind a command that was not run may last, and is for nobody. */
static void
test_scripts_with_others(struct pipeline *pipeline)
{
	struct command command = eval();
	int calls = seen.calls;

	command.replicas = 2;
	command.replicas_ms = 500;
	command.tag = 5;
	send_written(pipeline, &command, BY_DIGEST WAIT);
	deliver(pipeline, NOSCRIPT, NULL);
	is_int(seen.calls, calls + 1, "NOSCRIPT does not await WAIT");
	is_int(seen.again, AGAIN_AS_TEXT, "  but is to be asked again");
	is_int(seen.kind, REPLY_ERROR, "  by an error");
	command.again = AGAIN_ASKING;
	send_written(pipeline, &command, ASKING WHOLE WAIT);
	deliver(pipeline, ":0\r\n", NULL);
	is_int(seen.calls, calls + 1, "the first WAIT is answered for nobody");
	deliver(pipeline, "+OK\r\n", NULL);
	deliver(pipeline, ":1\r\n", NULL);
	is_int(seen.calls, calls + 1, "the script awaits its own WAIT");
	deliver(pipeline, ":2\r\n", NULL);
	is_int(seen.calls, calls + 2, "  then it is delivered");
	is_int(seen.number, 1, "  the script's answer");
	is_text(seen.acks, "2", "  the replicas'");
	is_int((int64_t)pipeline->count, 0, "  nothing is left");
}

static void
test_digests_denied(struct pipeline *pipeline)
{
	static const char *const words[] = {
	    "-NOPERM no permissions to run the 'evalsha' command\r\n",
	    "-ERR unknown command 'EVALSHA', with args beginning with: \r\n",
	    "-ERR unknown command\r\n", "-ERR Proxy fail to parse command\r\n",
	    "-ERR handle request, command is not allowed\r\n",
	    "-ERR command evalsha not support for your account\r\n"};

	for (size_t i = 0; i < LENGTH(words); i++) {
		is_answered(pipeline, DUE, words[i], AGAIN_AS_TEXT, words[i]);
		is_answered(pipeline, AS_TEXT, words[i], AGAIN_NO,
		    "  an error of EVAL is one");
		pipeline->scripts = SCRIPT_ANY;
	}
}

static void
test_texts_denied(struct pipeline *pipeline)
{
	static const char *const words[] = {
	    "-NOPERM no permissions to run the 'eval' command\r\n",
	    "-ERR unknown command 'EVAL', with args beginning with: \r\n",
	    "-ERR unknown command `EVAL`, with args beginning with: \r\n"};

	for (size_t i = 0; i < LENGTH(words); i++) {
		is_answered(pipeline, AS_TEXT, words[i], AGAIN_NO, words[i]);
		is_answered(pipeline, AGAIN_AS_TEXT, BY_DIGEST, ":1\r\n",
		    AGAIN_NO, "  from then on EVALSHA is sent");
		is_answered(pipeline, AGAIN_AS_TEXT, BY_DIGEST, NOSCRIPT,
		    AGAIN_AS_TEXT, "  unless it lacks one");
		is_answered(pipeline, AS_TEXT, words[i], AGAIN_NO,
		    "  which EVAL answers");
		pipeline->scripts = SCRIPT_ANY;
	}
}

/* The server knows EVALSHA, so EVAL would be answered likewise. */
static void
test_other_errors(struct pipeline *pipeline)
{
	static const char *const words[] = {
	    "-NOPERM no permissions to access a key\r\n",
	    "-ERR ACL failure in script: no permissions\r\n",
	    "-ERR max number of clients reached\r\n",
	    "-BUSY Redis is busy running a script.\r\n",
	    "-MOVED 3999 127.0.0.1:6381\r\n"};

	for (size_t i = 0; i < LENGTH(words); i++)
		is_answered(pipeline, DUE, words[i], AGAIN_NO, words[i]);
}

static void
test_deadlines(struct pipeline *pipeline)
{
	struct command first = ping(50);
	struct command second = ping(30);

	second.on_reply = NULL;
	pipeline_add(pipeline, &second);
	ok(pipeline_is_owed(pipeline), "what nobody awaits, not written");
	pipeline_wrote(pipeline, pipeline->out_length);
	ok(!pipeline_is_owed(pipeline), "  nor owed, once it is");
	pipeline_empty(pipeline);
	second.on_reply = on_reply_take;
	second.limits.bytes = 5;
	is_int((int64_t)pipeline_limits(pipeline).bytes, 65536, "usual limits");
	pipeline_add(pipeline, &first);
	pipeline_add(pipeline, &second);
	is_int((int64_t)pipeline_limits(pipeline).bytes, 65536, "the first's");
	is_int(pipeline_deadline(pipeline), 30, "the earliest deadline");
	ok(pipeline_is_unsent(pipeline), "nothing is written");
	pipeline_stamp(pipeline);
	ok(!pipeline_is_unsent(pipeline), "  now it is");
	pipeline_wrote(pipeline, pipeline->out_length);
	ok(pipeline_is_owed(pipeline), "  and a reply is awaited");
	while (pipeline->count < PIPELINE_MAX - 1)
		pipeline_add(pipeline, &first);
	first.replicas = 1;
	is_int(pipeline_add(pipeline, &first), -1, "no room for two");
	first.replicas = 0;
	first.again = AGAIN_ASKING;
	is_int(pipeline_add(pipeline, &first), -1, "  nor with ASKING");
	first.again = AGAIN_NO;
	is_int(pipeline_add(pipeline, &first), 0, "room for one");
	is_int(pipeline_add(pipeline, &first), -1, "no room");
	is_int((int64_t)pipeline->count, PIPELINE_MAX, "all");
	is_int(pipeline->pending[0].deadline, 50, "  in order");
	is_int(pipeline->pending[1].deadline, 30, "  as they were");
	pipeline_empty(pipeline);
	pipeline_add(pipeline, &second);
	is_int((int64_t)pipeline_limits(pipeline).bytes, 5, "its own limits");
	pipeline_empty(pipeline);
}

/* What the parser makes of that, within 64 bytes and 4 elements. */
static void
is_parsed(const char *wire, int want, const char *error)
{
	const struct value_limits limits = {64, 4};
	struct value_reader *reader = value_reader_new();
	struct value *value = NULL;

	value_reader_feed(reader, wire, strlen(wire));
	is_int(value_reader_next(reader, limits, &value), want, wire);
	if (want == -1)
		is_text(value_reader_error(reader), error, "  error");
	ok(value_reader_is_empty(reader) == (want == 1), "  rest");
	value_free(value);
	value_reader_free(reader);
}

static void
test_parsing(void)
{
	const char *large = "its answer is too large";

	is_parsed(":1\r\n", 1, NULL);
	is_parsed("*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", 1, NULL);
	is_parsed("*5\r\n:1\r\n", -1, large);
	is_parsed("*1\r\n*5\r\n", -1, large);
	is_parsed("$3\r\nab", 0, NULL);
	is_parsed("$300\r\n0123456789012345678901234567890123456789"
		  "012345678901234567890123456789",
	    -1, large);
	is_parsed("HTTP/1.1 400 Bad Request\r\n", -1,
	    "Protocol error, got \"H\" as reply type byte");
}

/* What follows a value in the same read may be the first part of the next. */
static void
test_rest(void)
{
	const struct value_limits limits = {64, 4};
	struct value_reader *reader = value_reader_new();
	struct value *value = NULL;

	value_reader_feed(reader, ":1\r\n$5\r\n", 8);
	is_int(value_reader_next(reader, limits, &value), 1, "a value");
	value_free(value);
	ok(!value_reader_is_empty(reader), "  the next one has begun");
	is_int(value_reader_next(reader, limits, &value), 0, "  a part of it");
	value_reader_feed(reader, "<a/>.\r\n", 7);
	is_int(value_reader_next(reader, limits, &value), 1, "  the rest");
	is_text(value_text(value), "<a/>.", "  its text");
	ok(value_reader_is_empty(reader), "  nothing is left");
	value_free(value);
	value_reader_free(reader);
}

int
main(void)
{
	struct pipeline pipeline;

	if (pipeline_init(&pipeline) == -1)
		return 1;
	test_bytes(&pipeline);
	test_wiped(&pipeline);
	test_kinds(&pipeline);
	test_places(&pipeline);
	test_replicas(&pipeline);
	test_scripts(&pipeline);
	test_scripts_with_others(&pipeline);
	test_digests_denied(&pipeline);
	test_texts_denied(&pipeline);
	test_other_errors(&pipeline);
	test_deadlines(&pipeline);
	test_parsing();
	test_rest();
	pipeline_fini(&pipeline);
	return tap_done();
}
