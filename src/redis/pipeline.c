#include "redis/pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/secret.h"

/* No answer to a command about one lock comes near these. */
static const struct value_limits usual_limits = {65536, 64};
/* A script and what goes before it. */
enum { OUT_ROOM = 16000 };
/* Of "$N\r\n" and of the end of the word behind it. */
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

static char *
put_bulk(char *end, const char *word)
{
	size_t length = strlen(word);

	end = put_length(end, '$', length);
	end = mempcpy(end, word, length);
	return mempcpy(end, "\r\n", 2);
}

/* The two words of head, unless it is NULL, and those of the list. Formatted in
 * place, as a copy of AUTH would have to be wiped. 0, or -1 when memory is out:
 * then nothing is added. */
static int
put_words(struct pipeline *pipeline, const char *const head[2],
    const char *const *words)
{
	size_t size = HEAD_MAX, count = 0;
	char *grown, *end;

	if (head != NULL)
		size +=
		    strlen(head[0]) + strlen(head[1]) + 2 * (size_t)HEAD_MAX;
	while (words[count] != NULL)
		size += strlen(words[count++]) + HEAD_MAX;
	grown = secret_grow(pipeline->out, pipeline->out_length + size);
	if (grown == NULL)
		return -1;
	pipeline->out = grown;
	end = put_length(grown + pipeline->out_length, '*',
	    count + (head != NULL ? 2 : 0));
	for (size_t i = 0; head != NULL && i < 2; i++)
		end = put_bulk(end, head[i]);
	for (size_t i = 0; i < count; i++)
		end = put_bulk(end, words[i]);
	pipeline->out_length = (size_t)(end - pipeline->out);
	return 0;
}

/* Nobody could ask again after NOSCRIPT if nobody awaits the reply. */
static bool
is_digest_due(const struct pipeline *pipeline, const struct command *command)
{
	if (command->script == NULL || pipeline->scripts == SCRIPT_AS_TEXT)
		return false;
	return pipeline->scripts == SCRIPT_AS_DIGEST ||
	       (command->again == AGAIN_NO && command->on_reply != NULL);
}

/* The answer to ASKING does not matter; that of the command is kept until WAIT
 * has its own. */
int
pipeline_add(struct pipeline *pipeline, const struct command *command)
{
	static const char *const asking[] = {"ASKING", NULL};
	const struct script *script = command->script;
	bool asks = command->again == AGAIN_ASKING;
	bool waits = command->replicas > 0;
	bool by_digest = is_digest_due(pipeline, command);
	char count[16], ms[24];
	const char *const run[] = {by_digest ? "EVALSHA" : "EVAL",
	    script == NULL ? NULL
	    : by_digest	   ? script->digest
			   : script->text};
	const char *const wait[] = {"WAIT", count, ms, NULL};
	struct pending *at = &pipeline->pending[pipeline->count];

	snprintf(count, sizeof(count), "%d", command->replicas);
	snprintf(ms, sizeof(ms), "%" PRId64, command->replicas_ms);
	if (pipeline->count + asks + 1 + waits > PIPELINE_MAX ||
	    (asks && put_words(pipeline, NULL, asking) == -1) ||
	    put_words(pipeline, script != NULL ? run : NULL, command->words) ==
		-1 ||
	    (waits && put_words(pipeline, NULL, wait) == -1))
		return -1;
	*at = (struct pending){.deadline = command->deadline,
	    .sent_at = CLOCK_NEVER};
	at[asks] = *at;
	at += asks;
	at->on_reply = command->on_reply;
	at->arg = command->arg;
	at->tag = command->tag;
	if (waits) {
		at[1] = at[0];
		at->on_reply = NULL;
		at->joined = true;
	}
	at->limits = command->limits;
	at->by_digest = by_digest;
	pipeline->count += (size_t)asks + 1 + waits;
	return 0;
}

void
pipeline_cut(struct pipeline *pipeline, size_t count, size_t length)
{
	explicit_bzero(pipeline->out + length, pipeline->out_length - length);
	pipeline->out_length = length;
	pipeline->count = count;
}

void
pipeline_wrote(struct pipeline *pipeline, size_t length)
{
	memmove(pipeline->out, pipeline->out + length,
	    pipeline->out_length - length);
	pipeline_cut(pipeline, pipeline->count, pipeline->out_length - length);
}

int64_t
pipeline_deadline(const struct pipeline *pipeline)
{
	int64_t earliest = CLOCK_NEVER;

	for (size_t i = 0; i < pipeline->count; i++)
		earliest = clock_min(earliest, pipeline->pending[i].deadline);
	return earliest;
}

struct value_limits
pipeline_limits(const struct pipeline *pipeline)
{
	if (pipeline->count == 0 || pipeline->pending[0].limits.bytes == 0)
		return usual_limits;
	return pipeline->pending[0].limits;
}

bool
pipeline_is_owed(const struct pipeline *pipeline)
{
	if (pipeline->out_length > 0)
		return true;
	for (size_t i = 0; i < pipeline->count; i++)
		if (pipeline->pending[i].on_reply != NULL)
			return true;
	return false;
}

bool
pipeline_is_unsent(const struct pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->count; i++)
		if (pipeline->pending[i].sent_at != CLOCK_NEVER)
			return false;
	return pipeline->count > 0;
}

/* The time that starts a lease must lie before the write, and one that is too
 * early only makes the lease shorter: so all that wait get the same. */
void
pipeline_stamp(struct pipeline *pipeline)
{
	int64_t now = clock_now();

	for (size_t i = 0; i < pipeline->count; i++)
		if (pipeline->pending[i].sent_at == CLOCK_NEVER)
			pipeline->pending[i].sent_at = now;
}

/* What an error that answers a script says about its form. A server that lacks
 * the script says NOSCRIPT, some with "ERR" before it; one that permits EVALSHA
 * alone, and lacks it, answers the text by saying so, and that is the reply.
 * Otherwise the words of Redis and of most proxies differ, but name the
 * command. Other proxies only say that they cannot parse it. So EVAL is tried
 * before any error that nobody has foreseen is delivered: if a script caused
 * that, it does so again. */
static enum again
judge_form(enum script_form *form, bool by_digest, const char *error)
{
	bool denies_text = strcasestr(error, "'eval'") != NULL ||
			   strcasestr(error, "`eval`") != NULL;
	bool denies_digest = strcasestr(error, "EVALSHA") != NULL ||
			     reply_denies_command(error) ||
			     (reply_is(error, "ERR ") &&
				 reply_judge_error(error) == VERDICT_REPORT);

	if (denies_text)
		*form = SCRIPT_AS_DIGEST;
	if (!by_digest)
		return AGAIN_NO;
	if (strcasestr(error, "NOSCRIPT") != NULL) {
		if (*form == SCRIPT_AS_DIGEST)
			*form = SCRIPT_ANY;
		return AGAIN_AS_TEXT;
	}
	if (!denies_digest)
		return AGAIN_NO;
	*form = SCRIPT_AS_TEXT;
	return AGAIN_AS_TEXT;
}

/* If we have no access, a script is not to be sent again. What is, is so at
 * once: the WAIT behind a command that was not run is answered for nobody. The
 * value of a command waits for WAIT's, and goes with it. */
void
pipeline_take(struct pipeline *pipeline, struct value *value,
    struct delivery *delivery)
{
	struct pending oldest = pipeline->pending[0];
	struct pending *next = &pipeline->pending[0];
	struct reply *reply = &delivery->reply;
	const char *error = value_error(value);

	pipeline->count--;
	memmove(pipeline->pending, pipeline->pending + 1,
	    pipeline->count * sizeof(*pipeline->pending));
	if (error != NULL && reply->again == AGAIN_NO &&
	    reply->kind != REPLY_NO_ACCESS)
		reply->again =
		    judge_form(&pipeline->scripts, oldest.by_digest, error);
	if (reply->again != AGAIN_NO && oldest.joined) {
		oldest.on_reply = next->on_reply;
		next->on_reply = NULL;
		oldest.joined = false;
	}
	delivery->on_reply = oldest.on_reply;
	delivery->arg = oldest.arg;
	delivery->first = pipeline->first;
	delivery->received = oldest.joined ? NULL : value;
	pipeline->first = oldest.joined ? value : NULL;
	reply->tag = oldest.tag;
	reply->sent_at = oldest.sent_at;
	reply->acks = delivery->first != NULL ? delivery->received : NULL;
	reply->owned =
	    delivery->first != NULL ? &delivery->first : &delivery->received;
	reply->value = *reply->owned;
	if (reply->kind != REPLY_NO_ACCESS) {
		reply->error = value_error(reply->value);
		reply->kind = reply->error == NULL ? REPLY_VALUE : REPLY_ERROR;
	}
}

void
pipeline_empty(struct pipeline *pipeline)
{
	value_free(pipeline->first);
	pipeline->first = NULL;
	pipeline_cut(pipeline, 0, 0);
}
