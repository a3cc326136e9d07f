#include "redis/pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/secret.h"

/* A script and what goes before it. It is kept, so that a new connection needs
 * no memory while a job runs. */
enum { OUT_ROOM = 16000 };
/* No answer to a command about one lock comes near these. */
static const struct value_limits usual_limits = {65536, 64};
/* Of "$N\r\n" and of the end of the argument behind it. */
enum { HEAD_MAX = 32 };
enum { FAILURE_MAX = 640 };

/* What follows a script: its keys and arguments as they travel, and WAIT. */
struct spare {
	const struct script *script;
	int argc;
	bool asking;
	size_t length;
	char bytes[];
};

int
pipeline_init(struct pipeline *pipeline)
{
	*pipeline = (struct pipeline){.out = secret_alloc_mixed(OUT_ROOM)};
	return pipeline->out == NULL ? -1 : 0;
}

void
pipeline_fini(struct pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->queued; i++)
		free(pipeline->queue[i].spare);
	reply_free(&pipeline->first);
	secret_free(pipeline->out);
}

/* --- bytes ------------------------------------------------------------ */

static char *
put_length(char *end, char type, size_t number)
{
	char digits[24];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	*end++ = type;
	while (count > 0)
		*end++ = digits[--count];
	return mempcpy(end, "\r\n", 2);
}

/* Room for so many bytes at the end, or NULL. */
static char *
make_room(struct pipeline *pipeline, size_t size)
{
	char *out = secret_grow(pipeline->out, pipeline->out_length + size);

	if (out == NULL)
		return NULL;
	pipeline->out = out;
	return out + pipeline->out_length;
}

/* Appends a part of an array of bulk strings, as in redis.io's "Redis
 * serialization protocol specification". Formatted in place, as a copy of AUTH
 * would have to be wiped. total: how many words the array has, 0 if it has
 * begun before. */
static int
put_words(struct pipeline *pipeline, int total, const char *const *words,
    int count)
{
	size_t size = HEAD_MAX;
	char *end;

	for (int i = 0; i < count; i++)
		size += strlen(words[i]) + HEAD_MAX;
	end = make_room(pipeline, size);
	if (end == NULL)
		return -1;
	if (total > 0)
		end = put_length(end, '*', (size_t)total);
	for (int i = 0; i < count; i++) {
		size_t length = strlen(words[i]);
		end = put_length(end, '$', length);
		end = mempcpy(end, words[i], length);
		end = mempcpy(end, "\r\n", 2);
	}
	pipeline->out_length = (size_t)(end - pipeline->out);
	return 0;
}

static int
put_bytes(struct pipeline *pipeline, const char *bytes, size_t length)
{
	char *end = make_room(pipeline, length);

	if (end == NULL)
		return -1;
	memcpy(end, bytes, length);
	pipeline->out_length += length;
	return 0;
}

static int
put_asking(struct pipeline *pipeline)
{
	const char *const asking[] = {"ASKING"};

	return put_words(pipeline, 1, asking, 1);
}

/* The beginning of a command that runs a script. */
static int
put_script(struct pipeline *pipeline, const struct script *script, int argc,
    bool by_digest)
{
	const char *const words[] = {by_digest ? "EVALSHA" : "EVAL",
	    by_digest ? script->digest : script->text};

	return put_words(pipeline, argc + 2, words, 2);
}

static int
put_wait(struct pipeline *pipeline, const struct command *command)
{
	char count[16];
	char ms[24];
	const char *const words[] = {"WAIT", count, ms};

	snprintf(count, sizeof(count), "%d", command->replicas);
	snprintf(ms, sizeof(ms), "%" PRId64, command->replicas_ms);
	return put_words(pipeline, 3, words, 3);
}

/* What follows a script. */
static int
put_rest(struct pipeline *pipeline, const struct command *command)
{
	if (put_words(pipeline, 0, command->argv, command->argc) == -1)
		return -1;
	return command->replicas > 0 ? put_wait(pipeline, command) : 0;
}

static int
put_command(struct pipeline *pipeline, const struct command *command,
    bool by_digest)
{
	const struct script *script = command->script;
	int put;

	if (command->asking && put_asking(pipeline) == -1)
		return -1;
	if (script != NULL)
		put = put_script(pipeline, script, command->argc, by_digest);
	else
		put = put_words(pipeline, command->argc, NULL, 0);
	return put == -1 ? -1 : put_rest(pipeline, command);
}

/* --- commands --------------------------------------------------------- */

static bool
pipeline_has_room(const struct pipeline *pipeline, bool asking, bool waits)
{
	return pipeline->queued + asking + 1 + waits <= PIPELINE_MAX;
}

static void
queue_up(struct pipeline *pipeline, struct pending pending)
{
	pending.sent_at = CLOCK_NEVER;
	pipeline->queue[pipeline->queued++] = pending;
}

/* The answer to ASKING does not matter; that of the command is kept until WAIT
 * has its own. */
static void
queue_all(struct pipeline *pipeline, const struct pending *pending, bool asking,
    bool waits)
{
	struct pending first = *pending;
	struct pending wait = *pending;

	wait.spare = NULL;
	wait.joined = false;
	wait.decode = NULL;
	wait.withdraws = false;
	wait.limits = usual_limits;
	first.joined = waits;
	if (waits)
		first.on_reply = NULL;
	if (asking)
		queue_up(pipeline,
		    (struct pending){.deadline = pending->deadline});
	queue_up(pipeline, first);
	if (waits)
		queue_up(pipeline, wait);
}

static void
cut_output(struct pipeline *pipeline, size_t length)
{
	explicit_bzero(pipeline->out + length, pipeline->out_length - length);
	pipeline->out_length = length;
}

/* The end of the output serves as a draft. */
static struct spare *
make_spare(struct pipeline *pipeline, const struct command *command)
{
	const size_t begin = pipeline->out_length;
	int put = put_rest(pipeline, command);
	size_t length = pipeline->out_length - begin;
	struct spare *spare =
	    put == -1 ? NULL : malloc(sizeof(*spare) + length);

	if (spare != NULL) {
		*spare = (struct spare){.script = command->script,
		    .argc = command->argc,
		    .asking = command->asking,
		    .length = length};
		memcpy(spare->bytes, pipeline->out + begin, length);
	}
	cut_output(pipeline, begin);
	return spare;
}

static int
append_as(struct pipeline *pipeline, const struct command *command,
    bool by_digest)
{
	const size_t begin = pipeline->out_length;
	struct pending pending = {.on_reply = command->on_reply,
	    .arg = command->arg,
	    .decode = command->decode,
	    .limits = command->limits,
	    .deadline = command->deadline,
	    .withdraws = command->withdraws};

	if (by_digest) {
		pending.spare = make_spare(pipeline, command);
		if (pending.spare == NULL)
			return -1;
	}
	if (put_command(pipeline, command, by_digest) == -1) {
		free(pending.spare);
		cut_output(pipeline, begin);
		return -1;
	}
	queue_all(pipeline, &pending, command->asking, command->replicas > 0);
	return 0;
}

static bool
is_digest_due(const struct pipeline *pipeline, const struct command *command)
{
	if (command->script == NULL || pipeline->scripts == PIPELINE_BY_TEXT)
		return false;
	return !command->whole || pipeline->scripts == PIPELINE_BY_DIGEST;
}

/* When memory is out, EVAL has its room: a renewal must not need more. */
int
pipeline_append(struct pipeline *pipeline, const struct command *command)
{
	bool by_digest = is_digest_due(pipeline, command);

	if (!pipeline_has_room(pipeline, command->asking,
		command->replicas > 0))
		return -1;
	if (by_digest && append_as(pipeline, command, true) == 0)
		return 0;
	return append_as(pipeline, command, false);
}

int64_t
pipeline_deadline(const struct pipeline *pipeline)
{
	int64_t earliest = CLOCK_NEVER;

	for (size_t i = 0; i < pipeline->queued; i++)
		if (pipeline->queue[i].deadline < earliest)
			earliest = pipeline->queue[i].deadline;
	return earliest;
}

struct value_limits
pipeline_limits(const struct pipeline *pipeline)
{
	if (pipeline->queued == 0 || pipeline->queue[0].limits.bytes == 0)
		return usual_limits;
	return pipeline->queue[0].limits;
}

void
pipeline_hurry(struct pipeline *pipeline, reply_handler *on_reply,
    int64_t deadline)
{
	for (size_t i = 0; i < pipeline->queued; i++)
		if (pipeline->queue[i].on_reply == on_reply &&
		    deadline < pipeline->queue[i].deadline)
			pipeline->queue[i].deadline = deadline;
}

/* The time that starts a lease must lie before the write, and one that is too
 * early only makes the lease shorter: so all that wait get the same. */
void
pipeline_stamp(struct pipeline *pipeline)
{
	int64_t now = clock_now();

	for (size_t i = 0; i < pipeline->queued; i++)
		if (pipeline->queue[i].sent_at == CLOCK_NEVER)
			pipeline->queue[i].sent_at = now;
}

void
pipeline_wrote(struct pipeline *pipeline, size_t length)
{
	char *out = pipeline->out;

	pipeline->out_length -= length;
	memmove(out, out + length, pipeline->out_length);
	explicit_bzero(out + pipeline->out_length, length);
}

/* --- once more as EVAL ------------------------------------------------ */

/* Some servers write "ERR NOSCRIPT". */
static bool
lacks_script(const char *error)
{
	return strcasestr(error, "NOSCRIPT") != NULL;
}

/* The words of Redis and of most proxies differ, but name the command. Other
 * proxies only say that they cannot parse it. So EVAL is tried before any error
 * that nobody has foreseen is delivered: if a script caused that, it does so
 * again. */
static bool
denies_digests(const char *error)
{
	return strcasestr(error, "EVALSHA") != NULL ||
	       reply_denies_command(error) ||
	       (reply_is(error, "ERR ") &&
		   reply_judge_error(error) == VERDICT_REPORT);
}

static bool
denies_texts(const char *error)
{
	return strcasestr(error, "'eval'") != NULL ||
	       strcasestr(error, "`eval`") != NULL;
}

static bool
is_too_late(const struct pipeline *pipeline, const struct pending *asked)
{
	for (size_t i = 0; i < pipeline->queued; i++)
		if (pipeline->queue[i].withdraws)
			return true;
	return clock_now() >= asked->deadline ||
	       !pipeline_has_room(pipeline, asked->spare->asking,
		   asked->joined);
}

static int
put_spare(struct pipeline *pipeline, const struct spare *spare)
{
	const size_t begin = pipeline->out_length;

	if ((!spare->asking || put_asking(pipeline) == 0) &&
	    put_script(pipeline, spare->script, spare->argc, false) == 0 &&
	    put_bytes(pipeline, spare->bytes, spare->length) == 0)
		return 0;
	cut_output(pipeline, begin);
	return -1;
}

/* The WAIT that followed the digest is answered for nothing. */
static bool
send_again(struct pipeline *pipeline, const struct pending *asked)
{
	struct pending again = *asked;
	struct pending *wait = asked->joined ? &pipeline->queue[0] : NULL;

	if (is_too_late(pipeline, asked) ||
	    put_spare(pipeline, asked->spare) == -1)
		return false;
	again.spare = NULL;
	if (wait != NULL) {
		again.on_reply = wait->on_reply;
		wait->on_reply = NULL;
	}
	queue_all(pipeline, &again, asked->spare->asking, wait != NULL);
	return true;
}

static struct pending
take_oldest(struct pipeline *pipeline)
{
	struct pending oldest = pipeline->queue[0];

	pipeline->queued--;
	memmove(pipeline->queue, pipeline->queue + 1,
	    pipeline->queued * sizeof(*pipeline->queue));
	return oldest;
}

/* What was received goes with the reply, that of the command behind WAIT's. */
static void
deliver_answer(struct pipeline *pipeline, const struct pending *to,
    struct reply_owned received, const struct reply *begun)
{
	struct reply_owned first = pipeline->first;
	struct reply reply = *begun;

	pipeline->first = (struct reply_owned){NULL, NULL};
	reply.acks = first.value == NULL ? NULL : received.value;
	reply.owned = first.value == NULL ? &received : &first;
	reply.value = reply.owned->value;
	reply.answer = reply.owned->answer;
	if (reply.kind != REPLY_NO_ACCESS) {
		reply.error = value_error(reply.value);
		reply.kind = reply.error == NULL ? REPLY_VALUE : REPLY_ERROR;
	}
	reply.sent_at = to->sent_at;
	if (to->on_reply != NULL)
		to->on_reply(to->arg, &reply);
	reply_free(&received);
	reply_free(&first);
}

/* The server has run nothing, and nothing can be sent any more. */
static void
deliver_not_run(const struct pending *asked, const struct reply *begun)
{
	char failure[FAILURE_MAX];
	struct reply reply = *begun;

	snprintf(failure, sizeof(failure),
	    "too late to send a script again to %.512s", begun->label);
	reply.failure = failure;
	reply.sent_at = CLOCK_NEVER;
	reply.too_late = true;
	if (asked->on_reply != NULL)
		asked->on_reply(asked->arg, &reply);
}

/* Whether that was the answer to a digest that the server cannot use. If we
 * have no access, nothing is sent again. */
static bool
take_refusal(struct pipeline *pipeline, struct pending *asked,
    const struct value *value, const struct reply *begun)
{
	const char *error = value_error(value);

	if (error == NULL || begun->kind == REPLY_NO_ACCESS)
		return false;
	if (denies_texts(error))
		pipeline->scripts = PIPELINE_BY_DIGEST;
	if (asked->spare == NULL)
		return false;
	if (!lacks_script(error) && !denies_digests(error))
		return false;
	if (!lacks_script(error))
		pipeline->scripts = PIPELINE_BY_TEXT;
	if (send_again(pipeline, asked))
		return true;
	if (asked->joined) {
		asked->on_reply = pipeline->queue[0].on_reply;
		pipeline->queue[0].on_reply = NULL;
	}
	deliver_not_run(asked, begun);
	return true;
}

bool
pipeline_deliver(struct pipeline *pipeline, struct value *value,
    const struct reply *begun)
{
	struct pending oldest = pipeline->queue[0];
	struct reply_owned received = {.value = value};

	if (oldest.decode != NULL && value_error(value) == NULL) {
		received.answer = oldest.decode(value);
		if (received.answer == NULL) {
			value_free(value);
			return false;
		}
	}
	oldest = take_oldest(pipeline);
	if (take_refusal(pipeline, &oldest, value, begun))
		value_free(value);
	else if (oldest.joined)
		pipeline->first = received;
	else
		deliver_answer(pipeline, &oldest, received, begun);
	free(oldest.spare);
	return true;
}

size_t
pipeline_drain(struct pipeline *pipeline, struct pending drained[PIPELINE_MAX])
{
	size_t count = pipeline->queued;

	memcpy(drained, pipeline->queue, count * sizeof(*drained));
	for (size_t i = 0; i < count; i++) {
		free(drained[i].spare);
		drained[i].spare = NULL;
	}
	pipeline->queued = 0;
	reply_free(&pipeline->first);
	explicit_bzero(pipeline->out, pipeline->out_length);
	pipeline->out_length = 0;
	return count;
}
