#include "redis/pipeline.h"

#include <inttypes.h>
#include <stdio.h>
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

int
pipeline_init(struct pipeline *pipeline)
{
	*pipeline = (struct pipeline){.out = secret_alloc_mixed(OUT_ROOM)};
	return pipeline->out == NULL ? -1 : 0;
}

void
pipeline_fini(struct pipeline *pipeline)
{
	value_free(pipeline->first);
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
put_wait(struct pipeline *pipeline, const struct command *command)
{
	char count[16];
	char ms[24];
	const char *const words[] = {"WAIT", count, ms};

	snprintf(count, sizeof(count), "%d", command->replicas);
	snprintf(ms, sizeof(ms), "%" PRId64, command->replicas_ms);
	return put_words(pipeline, 3, words, 3);
}

static int
put_command(struct pipeline *pipeline, const struct command *command,
    bool by_digest)
{
	static const char *const asking[] = {"ASKING"};
	const struct script *script = command->script;
	const char *const head[] = {by_digest ? "EVALSHA" : "EVAL",
	    script == NULL ? NULL
	    : by_digest	   ? script->digest
			   : script->text};
	int head_count = script == NULL ? 0 : 2;

	if ((command->again == AGAIN_ASKING &&
		put_words(pipeline, 1, asking, 1) == -1) ||
	    put_words(pipeline, command->argc + head_count, head, head_count) ==
		-1 ||
	    put_words(pipeline, 0, command->argv, command->argc) == -1)
		return -1;
	return command->replicas > 0 ? put_wait(pipeline, command) : 0;
}

/* --- commands --------------------------------------------------------- */

static void
queue_up(struct pipeline *pipeline, struct pending pending)
{
	pending.sent_at = CLOCK_NEVER;
	pipeline->queue[pipeline->queued++] = pending;
}

static void
cut_output(struct pipeline *pipeline, size_t length)
{
	explicit_bzero(pipeline->out + length, pipeline->out_length - length);
	pipeline->out_length = length;
}

/* Nobody could ask again after NOSCRIPT if nobody awaits the reply. */
static bool
is_digest_due(const struct pipeline *pipeline, const struct command *command)
{
	if (command->script == NULL || pipeline->scripts == PIPELINE_BY_TEXT)
		return false;
	return pipeline->scripts == PIPELINE_BY_DIGEST ||
	       (command->again == AGAIN_NO && command->on_reply != NULL);
}

/* The answer to ASKING does not matter; that of the command is kept until WAIT
 * has its own. */
int
pipeline_append(struct pipeline *pipeline, const struct command *command)
{
	const size_t begin = pipeline->out_length;
	bool asking = command->again == AGAIN_ASKING;
	bool waits = command->replicas > 0;
	struct pending pending = {.on_reply = waits ? NULL : command->on_reply,
	    .arg = command->arg,
	    .tag = command->tag,
	    .limits = command->limits,
	    .deadline = command->deadline,
	    .by_digest = is_digest_due(pipeline, command),
	    .joined = waits};

	if (pipeline->queued + asking + 1 + waits > PIPELINE_MAX)
		return -1;
	if (put_command(pipeline, command, pending.by_digest) == -1) {
		cut_output(pipeline, begin);
		return -1;
	}
	if (asking)
		queue_up(pipeline,
		    (struct pending){.deadline = command->deadline});
	queue_up(pipeline, pending);
	if (waits)
		queue_up(pipeline,
		    (struct pending){.on_reply = command->on_reply,
			.arg = command->arg,
			.tag = command->tag,
			.deadline = command->deadline});
	return 0;
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

bool
pipeline_is_awaited(const struct pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->queued; i++)
		if (pipeline->queue[i].on_reply != NULL)
			return true;
	return false;
}

bool
pipeline_is_unsent(const struct pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->queued; i++)
		if (pipeline->queue[i].sent_at != CLOCK_NEVER)
			return false;
	return true;
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

/* --- replies --------------------------------------------------------- */

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

/* Whether the command is to be sent again as a text, as it was sent by a digest
 * that the server cannot use. A server that permits EVALSHA alone answers the
 * text by saying so. */
static enum again
judge_script(struct pipeline *pipeline, const struct pending *asked,
    const char *error)
{
	if (denies_texts(error))
		pipeline->scripts = PIPELINE_BY_DIGEST;
	if (!asked->by_digest)
		return AGAIN_NO;
	if (lacks_script(error)) {
		if (pipeline->scripts == PIPELINE_BY_DIGEST)
			pipeline->scripts = PIPELINE_ALL_SCRIPTS;
		return AGAIN_AS_TEXT;
	}
	if (!denies_digests(error))
		return AGAIN_NO;
	pipeline->scripts = PIPELINE_BY_TEXT;
	return AGAIN_AS_TEXT;
}

static void
take_oldest(struct pipeline *pipeline)
{
	pipeline->queued--;
	memmove(pipeline->queue, pipeline->queue + 1,
	    pipeline->queued * sizeof(*pipeline->queue));
}

/* If we have no access, a script is not to be sent again. What is, is so at
 * once: the WAIT behind a command that was not run is answered for nobody. */
void
pipeline_take(struct pipeline *pipeline, struct value *value,
    struct delivery *delivery)
{
	struct pending oldest = pipeline->queue[0];
	struct reply *reply = &delivery->reply;
	const char *error = value_error(value);

	take_oldest(pipeline);
	if (error != NULL && reply->again == AGAIN_NO &&
	    reply->kind != REPLY_NO_ACCESS)
		reply->again = judge_script(pipeline, &oldest, error);
	if (reply->again != AGAIN_NO && oldest.joined) {
		oldest.on_reply = pipeline->queue[0].on_reply;
		pipeline->queue[0].on_reply = NULL;
		oldest.joined = false;
	}
	delivery->on_reply = oldest.on_reply;
	delivery->arg = oldest.arg;
	delivery->first = pipeline->first;
	delivery->received = oldest.joined ? NULL : value;
	pipeline->first = oldest.joined ? value : NULL;
	reply->tag = oldest.tag;
	reply->sent_at = oldest.sent_at;
}

/* What was received goes with the reply, that of the command behind WAIT's. */
void
pipeline_deliver(struct delivery *delivery)
{
	struct reply *reply = &delivery->reply;
	bool joined = delivery->first != NULL;

	reply->acks = joined ? delivery->received : NULL;
	reply->owned = joined ? &delivery->first : &delivery->received;
	reply->value = *reply->owned;
	if (reply->kind != REPLY_NO_ACCESS) {
		reply->error = value_error(reply->value);
		reply->kind = reply->error == NULL ? REPLY_VALUE : REPLY_ERROR;
	}
	if (delivery->on_reply != NULL)
		delivery->on_reply(delivery->arg, reply);
	value_free(delivery->first);
	value_free(delivery->received);
}

size_t
pipeline_drain(struct pipeline *pipeline, struct pending drained[PIPELINE_MAX])
{
	size_t count = pipeline->queued;

	memcpy(drained, pipeline->queue, count * sizeof(*drained));
	pipeline->queued = 0;
	value_free(pipeline->first);
	pipeline->first = NULL;
	explicit_bzero(pipeline->out, pipeline->out_length);
	pipeline->out_length = 0;
	return count;
}
