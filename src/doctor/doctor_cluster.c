#include "doctor/doctor_cluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/num.h"
#include "redis/cluster.h"
#include "redis/reply.h"

#define REPAIR "redis-cli --cluster check HOST:PORT"

/* The number in the line "NAME:NUMBER" of CLUSTER INFO, or -1. */
static int64_t
find_number(const char *lines, const char *name)
{
	size_t length = strlen(name);
	char digits[24];
	int64_t number;

	for (const char *line = lines; line != NULL && *line != '\0';
	     line += strcspn(line, "\n"), line += *line == '\n') {
		size_t count = strcspn(line, "\r\n");

		if (count <= length + 1 || count - length > sizeof(digits) ||
		    strncmp(line, name, length) != 0 || line[length] != ':')
			continue;
		memcpy(digits, line + length + 1, count - length - 1);
		digits[count - length - 1] = '\0';
		if (num_int(digits, 0, INT64_MAX, &number) == 0)
			return number;
	}
	return -1;
}

static void
add_state(struct findings *findings, const char *info)
{
	int64_t assigned = find_number(info, "cluster_slots_assigned");
	int64_t failing = find_number(info, "cluster_slots_fail");
	int64_t suspected = find_number(info, "cluster_slots_pfail");
	int64_t missing = assigned < 0 ? 0 : CLUSTER_SLOTS - assigned;

	if (strstr(info, "cluster_state:ok") == NULL) {
		findings_add_error(findings, EXITCODE_UNAVAILABLE, "slots",
		    "the cluster is down: %" PRId64 " slots have no owner, the "
		    "owners of %" PRId64 " have failed",
		    missing, failing < 0 ? 0 : failing);
		findings_set_remedy(findings, REPAIR);
	} else if (missing > 0 || failing > 0 || suspected > 0) {
		findings_add(findings, FINDING_WARNING, "slots",
		    "%" PRId64 " slots have no owner, the owners of %" PRId64
		    " have failed or do not answer: their locks are out of "
		    "reach",
		    missing,
		    (failing > 0 ? failing : 0) +
			(suspected > 0 ? suspected : 0));
		findings_set_remedy(findings, REPAIR);
	} else {
		findings_add(findings, FINDING_OK, "slots", "all %d are served",
		    CLUSTER_SLOTS);
	}
}

static void
advise_permission(struct findings *findings, const char *error,
    const char *rule)
{
	if (error != NULL && reply_is(error, "NOPERM"))
		findings_set_remedy(findings, "permit it: %s", rule);
}

bool
doctor_cluster_check(struct doctor_visit *visit)
{
	struct doctor_question question = {.argv = {"CLUSTER", "INFO"}};
	bool answered = doctor_visit_ask(visit, &question, 1);
	const char *info = value_text(question.value);

	if (!answered)
		doctor_visit_report_end(visit, &question);
	else if (info != NULL)
		add_state(visit->findings, info);
	else {
		findings_add(visit->findings, FINDING_NOTE, "slots",
		    "the server does not say which slots are served%s%.256s",
		    question.error != NULL ? ": " : "",
		    question.error != NULL ? question.error : "");
		advise_permission(visit->findings, question.error,
		    "+cluster|info");
	}
	doctor_visit_forget(&question, 1);
	return answered;
}

static void
visit_primary(const struct doctor_visit *visit,
    const struct cluster_node *primary,
    void (*each)(void *arg, const struct endpoint *node), void *arg)
{
	struct endpoint node = *visit->endpoint;
	char host[CLUSTER_HOST_SIZE], label[CLUSTER_LABEL_SIZE];

	memcpy(host, primary->host, sizeof(host));
	node.cluster = false;
	node.hosts = NULL;
	node.host_count = 0;
	node.host = host;
	node.port = primary->port;
	node.label = label;
	endpoint_describe(&node, "cluster", label, sizeof(label));
	each(arg, &node);
}

void
doctor_cluster_each(struct doctor_visit *visit,
    void (*each)(void *arg, const struct endpoint *node), void *arg)
{
	struct doctor_question question = {.argv = {"CLUSTER", "SLOTS"}};
	struct cluster_node *primaries = NULL;
	int count = -1;

	if (!doctor_visit_ask(visit, &question, 1)) {
		doctor_visit_report_end(visit, &question);
	} else {
		count =
		    server_primaries(visit->server, question.value, &primaries);
		if (count == -1) {
			findings_add(visit->findings, FINDING_NOTE, "primaries",
			    "the nodes are not known, so they are not "
			    "examined%s%.256s",
			    question.error != NULL ? ": " : "",
			    question.error != NULL ? question.error : "");
			advise_permission(visit->findings, question.error,
			    "+cluster|slots");
		}
	}
	doctor_visit_forget(&question, 1);
	for (int i = 0; i < count; i++)
		visit_primary(visit, &primaries[i], each, arg);
	free(primaries);
}
