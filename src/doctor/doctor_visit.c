#include "doctor/doctor_visit.h"

#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "redis/reply.h"

/* A connection keeps track of 16, with those of its handshake. */
enum { ASKED_AT_ONCE = 10 };
/* INFO, and the slots of a large cluster. */
enum { REPLY_MAX = 16 << 20, ELEMENTS_MAX = 65536 };

void
doctor_visit_begin(struct doctor_visit *visit, const struct endpoint *endpoint,
    const char *key)
{
	visit->endpoint = endpoint;
	visit->ended = DOCTOR_UNASKED;
	visit->unanswered = 0;
	visit->server = server_new(visit->loop, endpoint, key);
	if (visit->server == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
}

void
doctor_visit_end(struct doctor_visit *visit)
{
	server_free(visit->server);
	visit->server = NULL;
}

static void
on_reply(void *arg, const struct reply *reply)
{
	struct doctor_question *question = arg;
	struct doctor_visit *visit = question->visit;
	const char *error = reply->error;

	visit->unanswered--;
	question->took_us = clock_now_us() - question->sent_us;
	if (reply->kind == REPLY_NO_ACCESS) {
		question->outcome = DOCTOR_REFUSED;
	} else if (reply->value == NULL) {
		question->outcome = DOCTOR_SILENT;
		error = reply->failure;
	} else if (reply->kind == REPLY_ERROR) {
		question->outcome = DOCTOR_FAILED;
	} else {
		question->outcome = DOCTOR_ANSWERED;
		question->value = reply_take(reply).value;
		return;
	}
	question->error = mem_strdup(error);
	if (question->outcome != DOCTOR_FAILED &&
	    visit->ended == DOCTOR_UNASKED)
		visit->ended = question->outcome;
}

static void
send(struct doctor_visit *visit, struct doctor_question *question, bool more)
{
	struct command command = {.argv = question->argv,
	    .deadline = clock_now() + visit->opts->server_timeout_ms,
	    .on_reply = on_reply,
	    .arg = question,
	    .limits = {REPLY_MAX, ELEMENTS_MAX},
	    .more = more};

	while (question->argv[command.argc] != NULL)
		command.argc++;
	question->visit = visit;
	question->sent_us = clock_now_us();
	if (server_send(visit->server, &command) == -1)
		log_die(EXITCODE_RESOURCE, "out of memory");
	visit->unanswered++;
}

static void
ask_some(struct doctor_visit *visit, struct doctor_question *questions,
    size_t count)
{
	for (size_t i = 0; i < count; i++)
		send(visit, &questions[i], i + 1 < count);
	while (visit->unanswered > 0)
		if (loop_turn(visit->loop) == -1) {
			log_warn("cannot wait for events");
			exit(EXITCODE_INTERNAL);
		}
}

bool
doctor_visit_ask(struct doctor_visit *visit, struct doctor_question *questions,
    size_t count)
{
	for (size_t i = 0; i < count && visit->ended == DOCTOR_UNASKED;
	     i += ASKED_AT_ONCE)
		ask_some(visit, &questions[i],
		    count - i < ASKED_AT_ONCE ? count - i : ASKED_AT_ONCE);
	return visit->ended == DOCTOR_UNASKED;
}

/* What a message of the connection advises stands in parentheses at its end. */
static char *
cut_advice(char *text)
{
	size_t length = strlen(text);
	char *open = strrchr(text, '(');

	if (open == NULL || open == text || open[-1] != ' ' ||
	    text[length - 1] != ')')
		return NULL;
	text[length - 1] = '\0';
	open[-1] = '\0';
	return open + 1;
}

/* The remedy may be NULL, and is a part of the text. To be freed. */
static char *
describe(const struct doctor_question *question, const char **remedy)
{
	char *text;

	if (question->outcome == DOCTOR_SILENT) {
		text = mem_strdup(question->error);
		*remedy = cut_advice(text);
		return text;
	}
	text = mem_printf("the server refuses us: %s", question->error);
	*remedy = reply_advise(question->error);
	return text;
}

void
doctor_visit_warn(struct doctor_visit *visit,
    const struct doctor_question *question, const char *check)
{
	const char *remedy;
	char *text = describe(question, &remedy);

	findings_add(visit->findings, FINDING_WARNING, check, "%s", text);
	if (remedy != NULL)
		findings_set_remedy(visit->findings, "%s", remedy);
	free(text);
}

void
doctor_visit_report_end(struct doctor_visit *visit,
    const struct doctor_question *question)
{
	bool refused =
	    question->outcome == DOCTOR_REFUSED &&
	    reply_judge(REPLY_ACQUIRING, question->error) != REPLY_RETRY;
	const char *remedy;
	char *text = describe(question, &remedy);

	findings_add_error(visit->findings,
	    refused ? EXITCODE_REFUSED : EXITCODE_UNAVAILABLE, "reach", "%s",
	    text);
	if (remedy != NULL)
		findings_set_remedy(visit->findings, "%s", remedy);
	free(text);
}

void
doctor_visit_forget(struct doctor_question *questions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		value_free(questions[i].value);
		free(questions[i].error);
		questions[i].value = NULL;
		questions[i].error = NULL;
		questions[i].outcome = DOCTOR_UNASKED;
	}
}
