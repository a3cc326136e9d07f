#include "enquiry/enquiry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/mem.h"
#include "lock/answer.h"
#include "redis/reply.h"

/* INFO, pages of SCAN, long queues, and the slots of a large cluster. */
enum { REPLY_MAX = 16 << 20, ELEMENTS_MAX = 65536 };
enum { REPEATS_MAX = 5 };

static struct way *
connect_to(const struct enquiry *enquiry, const struct endpoint *endpoint,
    const char *key)
{
	struct way *server = way_new(enquiry->loop, endpoint, key);

	if (server == NULL)
		log_die(EXITCODE_RESOURCE, "out of memory");
	return server;
}

void
enquiry_begin(struct enquiry *enquiry, const struct endpoint *endpoint,
    const char *key)
{
	enquiry->endpoint = endpoint;
	enquiry->server = connect_to(enquiry, endpoint, key);
}

void
enquiry_end(struct enquiry *enquiry)
{
	enquiry_forget_nodes(enquiry);
	loop_timer_remove(enquiry->loop, &enquiry->timer);
	way_free(enquiry->server);
	enquiry->server = NULL;
}

/* --- questions ------------------------------------------------------- */

static void send_question(struct question *question, enum again again,
    bool more);

/* What came of a question that is not asked again. */
static void
finish_question(struct question *question, const struct reply *reply)
{
	int replicas = question->enquiry->replicas;
	const char *error = reply->error;
	char why[1024];

	if (reply->kind == REPLY_NO_ACCESS) {
		question->outcome = QUESTION_REFUSED;
		if (question->verdict == VERDICT_AGAIN)
			question->verdict = VERDICT_REFUSED;
	} else if (question->verdict == VERDICT_AGAIN) {
		question->outcome = QUESTION_SILENT;
		snprintf(why, sizeof(why),
		    "redirected too often, last by %.960s", reply->label);
		error = why;
	} else if (reply->kind == REPLY_ERROR) {
		question->outcome = QUESTION_FAILED;
	} else if (reply->value == NULL) {
		question->outcome = QUESTION_SILENT;
		question->is_permanent = reply->permanent;
		error = reply->failure;
	} else if (answer_lacks_replicas(reply->acks, replicas, why)) {
		question->outcome = QUESTION_TOO_FEW;
		error = why;
	} else {
		question->outcome = QUESTION_ANSWERED;
		question->value = reply_take(reply);
		return;
	}
	question->error = mem_strdup(error);
}

static void
on_question_reply(void *arg, const struct reply *reply)
{
	struct question *question = arg;
	struct enquiry *enquiry = question->enquiry;

	question->verdict = reply_judge(reply);
	if (question->verdict == VERDICT_AGAIN &&
	    question->repeats++ < REPEATS_MAX &&
	    clock_now() < question->deadline) {
		send_question(question, reply->again, false);
		return;
	}
	enquiry->unanswered--;
	question->took_us = clock_now_us() - question->sent_us;
	question->label = reply->label;
	finish_question(question, reply);
}

static void
send_question(struct question *question, enum again again, bool more)
{
	const struct enquiry *enquiry = question->enquiry;
	const struct command command = {.script = question->script,
	    .words = question->argv,
	    .deadline = question->deadline,
	    .again = again,
	    .on_reply = on_question_reply,
	    .arg = question,
	    .limits = {REPLY_MAX, ELEMENTS_MAX},
	    .replicas = enquiry->replicas,
	    .replicas_ms = enquiry->opts->lock.replicas_ms,
	    .more = more};

	if (way_send(enquiry->server, &command) == -1)
		log_die(EXITCODE_RESOURCE, "out of memory");
}

static void
turn_loop(struct enquiry *enquiry)
{
	if (loop_turn(enquiry->loop) == 0)
		return;
	log_warn("cannot wait for events");
	exit(EXITCODE_INTERNAL);
}

struct question
enquiry_question(const struct request *request)
{
	return (struct question){.script = request->command.script,
	    .argv = request->argv};
}

struct question *
enquiry_ask(struct enquiry *enquiry, struct question *questions, size_t count)
{
	for (size_t at = 0; at < count;) {
		size_t end =
		    count - at < ENQUIRY_AT_ONCE ? count : at + ENQUIRY_AT_ONCE;

		for (size_t i = at; i < end; i++) {
			struct question *question = &questions[i];

			question->enquiry = enquiry;
			question->deadline =
			    clock_now() + enquiry->opts->lock.server_timeout_ms;
			question->sent_us = clock_now_us();
			question->repeats = 0;
			send_question(question, AGAIN_NO, i + 1 < end);
			enquiry->unanswered++;
		}
		while (enquiry->unanswered > 0)
			turn_loop(enquiry);
		for (; at < end; at++)
			if (questions[at].outcome >= QUESTION_REFUSED)
				return &questions[at];
	}
	return NULL;
}

void
enquiry_forget(struct question *questions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		value_free(questions[i].value);
		free(questions[i].error);
		questions[i].value = NULL;
		questions[i].error = NULL;
		questions[i].outcome = QUESTION_UNASKED;
	}
}

void
enquiry_sleep(struct enquiry *enquiry, int64_t until)
{
	loop_timer_set(enquiry->loop, &enquiry->timer, until);
	while (clock_now() < until)
		turn_loop(enquiry);
}

/* --- the nodes of a cluster ------------------------------------------ */

void
enquiry_forget_nodes(struct enquiry *enquiry)
{
	for (int i = 0; i < enquiry->node_count; i++)
		way_free(enquiry->nodes[i].server);
	free(enquiry->nodes);
	enquiry->nodes = NULL;
	enquiry->node_count = 0;
}

int
enquiry_find_node(const struct enquiry *enquiry, const struct url_address *node)
{
	for (int i = 0; i < enquiry->node_count; i++)
		if (enquiry->nodes[i].at.port == node->port &&
		    (*node->host == '\0' ||
			strcmp(enquiry->nodes[i].at.host, node->host) == 0))
			return i;
	return -1;
}

void
enquiry_name_node(struct enquiry_node *node, const struct endpoint *from,
    const char *name)
{
	node->endpoint = *from;
	node->endpoint.transport = URL_TCP;
	node->endpoint.master = NULL;
	node->endpoint.cluster = false;
	node->endpoint.hosts = NULL;
	node->endpoint.host_count = 0;
	node->endpoint.host = node->at.host;
	node->endpoint.port = node->at.port;
	node->endpoint.label = node->label;
	endpoint_describe(&node->endpoint, name, node->label,
	    sizeof(node->label));
}

bool
enquiry_set_nodes(struct enquiry *enquiry, const struct value *slots)
{
	struct url_address *primaries = NULL;
	int count = enquiry->endpoint->cluster
			? cluster_primaries(slots, way_host(enquiry->server),
			      &primaries)
			: -1;
	bool same = count == enquiry->node_count;

	if (count == -1)
		return false;
	for (int i = 0; same && i < count; i++)
		same = enquiry_find_node(enquiry, &primaries[i]) != -1;
	if (!same) {
		enquiry_forget_nodes(enquiry);
		enquiry->nodes =
		    mem_alloc((size_t)count * sizeof(*enquiry->nodes));
		for (int i = 0; i < count; i++) {
			struct enquiry_node *node = &enquiry->nodes[i];

			node->at = primaries[i];
			enquiry_name_node(node, enquiry->endpoint, "cluster");
			node->server =
			    connect_to(enquiry, &node->endpoint, NULL);
		}
		enquiry->node_count = count;
	}
	free(primaries);
	return true;
}

void
enquiry_visit_nodes(struct enquiry *enquiry, void (*visit)(void *arg),
    void *arg)
{
	const struct endpoint *endpoint = enquiry->endpoint;
	struct way *server = enquiry->server;

	if (!endpoint->cluster)
		visit(arg);
	for (int i = 0; i < enquiry->node_count; i++) {
		enquiry->node = i;
		enquiry->endpoint = &enquiry->nodes[i].endpoint;
		enquiry->server = enquiry->nodes[i].server;
		visit(arg);
	}
	enquiry->node = 0;
	enquiry->endpoint = endpoint;
	enquiry->server = server;
}
