#include "redis/pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
	*pipeline = (struct pipeline){.out = secret_alloc(OUT_ROOM)};
	return pipeline->out == NULL ? -1 : 0;
}

void
pipeline_fini(struct pipeline *pipeline)
{
	value_free(pipeline->first_answer);
	secret_free(pipeline->out);
}

static char *
put_head(char *end, char type, size_t number)
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

/* redis.io's "Redis serialization protocol specification": an array of bulk
 * strings. Formatted in place, as a copy of AUTH would have to be wiped. */
static int
format(struct pipeline *pipeline, const struct command *command)
{
	size_t size = pipeline->out_length + HEAD_MAX;
	char *out, *end;

	for (int i = 0; i < command->argc; i++)
		size += strlen(command->argv[i]) + HEAD_MAX;
	out = secret_grow(pipeline->out, size);
	if (out == NULL)
		return -1;
	end = out + pipeline->out_length;
	end = put_head(end, '*', (size_t)command->argc);
	for (int i = 0; i < command->argc; i++) {
		size_t length = strlen(command->argv[i]);
		end = put_head(end, '$', length);
		end = mempcpy(end, command->argv[i], length);
		end = mempcpy(end, "\r\n", 2);
	}
	pipeline->out = out;
	pipeline->out_length = (size_t)(end - out);
	return 0;
}

static int
append(struct pipeline *pipeline, const struct command *command)
{
	if (pipeline->queued == PIPELINE_MAX || format(pipeline, command) == -1)
		return -1;
	pipeline->queue[pipeline->queued++] =
	    (struct pending){.on_reply = command->on_reply,
		.arg = command->arg,
		.is_answer = command->is_answer,
		.limits = command->limits,
		.deadline = command->deadline,
		.sent_at = CLOCK_NEVER};
	return 0;
}

/* The command's answer is kept until WAIT has its own. */
int
pipeline_append(struct pipeline *pipeline, const struct command *command)
{
	char count[16];
	char ms[24];
	const char *argv[] = {"WAIT", count, ms};
	struct command first = *command;
	struct command wait = *command;

	if (command->replicas == 0)
		return append(pipeline, command);
	if (pipeline->queued + 2 > PIPELINE_MAX)
		return -1;
	snprintf(count, sizeof(count), "%d", command->replicas);
	snprintf(ms, sizeof(ms), "%" PRId64, command->replicas_ms);
	first.on_reply = NULL;
	wait.argc = 3;
	wait.argv = argv;
	wait.is_answer = NULL;
	wait.limits = usual_limits;
	if (append(pipeline, &first) == -1)
		return -1;
	pipeline->queue[pipeline->queued - 1].joined = true;
	return append(pipeline, &wait);
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

static bool
is_answer(const struct pending *pending, const struct value *value)
{
	return pending->is_answer == NULL || value_error(value) != NULL ||
	       pending->is_answer(value);
}

bool
pipeline_deliver(struct pipeline *pipeline, struct value *value,
    const struct reply *begun)
{
	struct pending oldest = pipeline->queue[0];
	struct value *first = pipeline->first_answer;
	struct reply reply = *begun;

	if (!is_answer(&oldest, value)) {
		value_free(value);
		return false;
	}
	pipeline->queued--;
	memmove(pipeline->queue, pipeline->queue + 1,
	    pipeline->queued * sizeof(*pipeline->queue));
	pipeline->first_answer = oldest.joined ? value : NULL;
	if (oldest.joined)
		return true;
	reply.acks = first == NULL ? NULL : value;
	reply.value = first == NULL ? value : first;
	reply.owned = first == NULL ? &value : &first;
	if (reply.kind != REPLY_NO_ACCESS) {
		reply.error = value_error(reply.value);
		reply.kind = reply.error == NULL ? REPLY_VALUE : REPLY_ERROR;
	}
	reply.sent_at = oldest.sent_at;
	if (oldest.on_reply != NULL)
		oldest.on_reply(oldest.arg, &reply);
	value_free(value);
	value_free(first);
	return true;
}

size_t
pipeline_drain(struct pipeline *pipeline, struct pending drained[PIPELINE_MAX])
{
	size_t count = pipeline->queued;

	memcpy(drained, pipeline->queue, count * sizeof(*drained));
	pipeline->queued = 0;
	value_free(pipeline->first_answer);
	pipeline->first_answer = NULL;
	explicit_bzero(pipeline->out, pipeline->out_length);
	pipeline->out_length = 0;
	return count;
}
