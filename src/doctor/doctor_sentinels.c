#include "doctor/doctor_sentinels.h"

#include <stdio.h>
#include <string.h>

#include "redis/reply.h"
#include "redis/sentinel.h"

enum { ADDRESS_MAX = SENTINEL_HOST_MAX + 8, SENTINELS_ENOUGH = 3 };

/* What they say, one after the other. */
struct poll {
	const char *master;
	struct findings *findings;
	char address[ADDRESS_MAX]; /* that the first one named, or empty */
	size_t replied;
};

/* SENTINEL MASTER replies with pairs of a name and its value. */
static const char *
find_text(const struct value *pairs, const char *name)
{
	size_t count;

	value_count(pairs, &count);
	for (size_t i = 0; i + 1 < count; i += 2) {
		const char *text = value_text(value_at(pairs, i));

		if (text != NULL && strcmp(text, name) == 0)
			return value_text(value_at(pairs, i + 1));
	}
	return NULL;
}

static void
warn(struct poll *poll, const char *label, const char *text)
{
	findings_add(poll->findings, FINDING_WARNING, "sentinels",
	    "%.256s: %.512s", label, text);
}

static void
note_address(struct poll *poll, const char *label, const struct value *value)
{
	char address[ADDRESS_MAX], text[2 * ADDRESS_MAX + 64];
	struct sentinel_address named;

	if (value_is_nil(value)) {
		warn(poll, label, "it knows no such master");
		findings_set_remedy(poll->findings,
		    "check the name in the URL, or add it by SENTINEL MONITOR");
		return;
	}
	if (!sentinel_read_address(&named, value)) {
		warn(poll, label, "it names no address of the primary");
		findings_set_remedy(poll->findings,
		    "check that it is a sentinel, or take it out of the URL");
		return;
	}
	snprintf(address, sizeof(address), "%s:%d", named.host, named.port);
	if (poll->address[0] == '\0') {
		memcpy(poll->address, address, sizeof(address));
	} else if (strcmp(poll->address, address) != 0) {
		snprintf(text, sizeof(text),
		    "it names %s as the primary, another sentinel %s", address,
		    poll->address);
		warn(poll, label, text);
		findings_set_remedy(poll->findings,
		    "if that lasts, SENTINEL RESET %.128s at the one that is "
		    "wrong",
		    poll->master);
	}
}

static void
note_state(struct poll *poll, const char *label, const struct value *pairs)
{
	const char *flags = find_text(pairs, "flags");

	if (flags == NULL || strstr(flags, "_down") == NULL)
		return;
	warn(poll, label, "it does not reach the primary");
	findings_set_remedy(poll->findings,
	    "check the primary, and the network between them");
}

static void
note_quorum(struct poll *poll, const char *label,
    const struct doctor_question *question)
{
	if (question->outcome != DOCTOR_FAILED ||
	    strncmp(question->error, "NOQUORUM", 8) != 0)
		return;
	warn(poll, label, question->error);
	findings_set_remedy(poll->findings,
	    "start the missing sentinels: until then nothing replaces a "
	    "primary that dies");
}

static void
note_refusal(struct poll *poll, const char *label, const char *error)
{
	bool other = reply_is(error, "ERR unknown command");
	const char *advice =
	    other ? "name sentinels in the URL" : reply_advise(error);

	warn(poll, label, other ? "it is no sentinel" : error);
	if (advice != NULL)
		findings_set_remedy(poll->findings, "%s", advice);
}

static void
ask_sentinel(struct poll *poll, struct doctor_visit *visit, const char *label)
{
	struct doctor_question questions[] = {
	    {.argv = {"SENTINEL", "get-master-addr-by-name", poll->master}},
	    {.argv = {"SENTINEL", "MASTER", poll->master}},
	    {.argv = {"SENTINEL", "CKQUORUM", poll->master}}};
	const size_t count = sizeof(questions) / sizeof(*questions);

	doctor_visit_ask(visit, questions, count);
	if (questions[0].outcome == DOCTOR_ANSWERED) {
		poll->replied++;
		note_address(poll, label, questions[0].value);
		note_state(poll, label, questions[1].value);
		note_quorum(poll, label, &questions[2]);
	} else if (questions[0].outcome == DOCTOR_SILENT) {
		/* That names the sentinel already. */
		doctor_visit_warn(visit, &questions[0], "sentinels");
	} else {
		note_refusal(poll, label, questions[0].error);
	}
	doctor_visit_forget(questions, count);
}

void
doctor_sentinels_compare(const struct doctor_visit *visit,
    const struct endpoint *endpoint)
{
	struct poll poll = {.master = endpoint->master,
	    .findings = visit->findings};
	size_t before = findings_count(visit->findings, FINDING_WARNING);

	for (size_t i = 0; i < endpoint->host_count; i++) {
		struct doctor_visit one = *visit;

		doctor_visit_begin(&one, &endpoint->hosts[i], NULL);
		ask_sentinel(&poll, &one, endpoint->hosts[i].label);
		doctor_visit_end(&one);
	}
	if (findings_count(visit->findings, FINDING_WARNING) == before)
		findings_add(visit->findings, FINDING_OK, "sentinels",
		    "%zu agree on %s", poll.replied, poll.address);
	if (endpoint->host_count < SENTINELS_ENOUGH) {
		findings_add(visit->findings, FINDING_NOTE, "sentinels",
		    "the URL names %zu: a failover needs a majority of at "
		    "least three",
		    endpoint->host_count);
		findings_set_remedy(visit->findings,
		    "name all sentinels in the URL");
	}
}
