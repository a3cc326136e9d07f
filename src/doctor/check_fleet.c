#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/mem.h"
#include "base/num.h"
#include "doctor/checks.h"
#include "lock/votes.h"
#include "redis/info.h"
#include "redis/reply.h"
#include "redis/ways/cluster.h"
#include "redis/ways/sentinel.h"

/* --- a cluster -------------------------------------------------------- */

#define REPAIR "redis-cli --cluster check HOST:PORT"

static int64_t
at_least_0(int64_t number)
{
	return number < 0 ? 0 : number;
}

static void
judge_slots(struct findings *findings, const char *info)
{
	int64_t assigned = info_number(info, "cluster_slots_assigned");
	int64_t failing = at_least_0(info_number(info, "cluster_slots_fail"));
	int64_t suspected =
	    at_least_0(info_number(info, "cluster_slots_pfail"));
	int64_t missing = assigned < 0 ? 0 : CLUSTER_SLOTS - assigned;

	if (!info_is(info, "cluster_state", "ok"))
		findings_add(findings, EXITCODE_UNAVAILABLE, "slots", REPAIR,
		    "the cluster is down: %" PRId64 " slots have no owner, the "
		    "owners of %" PRId64 " have failed",
		    missing, failing);
	else if (missing > 0 || failing > 0 || suspected > 0)
		findings_add(findings, FINDING_WARNING, "slots", REPAIR,
		    "%" PRId64 " slots have no owner, the owners of %" PRId64
		    " have failed or do not answer: their locks are out of "
		    "reach",
		    missing, failing + suspected);
	else
		findings_add(findings, FINDING_OK, "slots", NULL,
		    "all %d are served", CLUSTER_SLOTS);
}

/* what: "the server does not say". */
static void
note_unknown(struct findings *findings, const struct question *question,
    const char *check, const char *what, const char *rule)
{
	const char *error = question->error;

	findings_add(findings, FINDING_UNKNOWN, check, CHECK_SEE, "%s%s%.256s",
	    what, error != NULL ? ": " : "", error != NULL ? error : "");
	if (error != NULL && reply_is(error, "NOPERM"))
		findings_set_remedy(findings, "permit %s", rule);
}

bool
check_fleet_slots(struct visit *visit)
{
	struct question question = {.argv = QUESTION_WORDS("CLUSTER", "INFO")};
	bool answered = check_contact_ask(visit, &question, 1);
	const char *info = value_text(question.value);

	if (answered && info != NULL)
		judge_slots(visit->findings, info);
	else if (answered)
		note_unknown(visit->findings, &question, "slots",
		    "the server does not say which slots are served",
		    "+cluster|info");
	enquiry_forget(&question, 1);
	return answered;
}

bool
check_fleet_nodes(struct visit *visit)
{
	struct question question = {.argv = QUESTION_WORDS("CLUSTER", "SLOTS")};
	bool answered = check_contact_ask(visit, &question, 1);
	bool known =
	    answered && enquiry_set_nodes(&visit->enquiry, question.value);

	if (answered && !known)
		note_unknown(visit->findings, &question, "primaries",
		    "the nodes are not known, so they are not examined",
		    "+cluster|slots");
	enquiry_forget(&question, 1);
	return known;
}

/* --- sentinels -------------------------------------------------------- */

enum { ADDRESS_MAX = SENTINEL_HOST_MAX + 8, SENTINELS_ENOUGH = 3 };

/* What they say, one after the other. */
struct poll {
	const char *master;
	struct findings *findings;
	const char *label;	   /* of the one that is asked */
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
warn_of(const struct poll *poll, const char *text, const char *remedy)
{
	findings_add(poll->findings, FINDING_WARNING, "sentinels", remedy,
	    "%.256s: %.512s", poll->label, text);
}

static void
note_address(struct poll *poll, const struct value *value)
{
	char address[ADDRESS_MAX];
	struct sentinel_address named;

	if (value_is_nil(value)) {
		warn_of(poll, "it knows no such master",
		    "check the name in the URL, or add it by SENTINEL MONITOR");
		return;
	}
	if (!sentinel_read_address(&named, value)) {
		warn_of(poll, "it names no address of the primary",
		    "check that it is a sentinel, or take it out of the URL");
		return;
	}
	snprintf(address, sizeof(address), "%s:%d", named.host, named.port);
	if (poll->address[0] == '\0') {
		memcpy(poll->address, address, sizeof(address));
	} else if (strcmp(poll->address, address) != 0) {
		char text[2 * ADDRESS_MAX + 64];

		snprintf(text, sizeof(text),
		    "it names %s as the primary, another sentinel %s", address,
		    poll->address);
		warn_of(poll, text, NULL);
		findings_set_remedy(poll->findings,
		    "if that lasts, SENTINEL RESET %.128s at the one that is "
		    "wrong",
		    poll->master);
	}
}

/* SENTINEL REPLICAS replies with a list of such pairs. */
static void
add_known_replicas(struct visit *pattern, const struct value *list)
{
	size_t count, all;
	struct sentinel_address *known;

	if (!value_count(list, &count))
		return;
	all = pattern->known_count + count;
	known = mem_alloc((all + 1) * sizeof(*known));
	if (pattern->known_count > 0)
		memcpy(known, pattern->known,
		    pattern->known_count * sizeof(*known));
	free(pattern->known);
	pattern->known = known;
	pattern->has_sentinels = true;
	for (size_t i = 0; i < count; i++) {
		const struct value *pairs = value_at(list, i);
		const char *host = find_text(pairs, "ip");
		const char *port = find_text(pairs, "port");
		int64_t number;

		if (host == NULL || port == NULL ||
		    num_int(port, 1, UINT16_MAX, &number) == -1)
			continue;
		known = &pattern->known[pattern->known_count++];
		snprintf(known->host, sizeof(known->host), "%s", host);
		known->port = (int)number;
	}
}

/* Nor then, mostly, which replicas it knows. */
static void
note_no_quorum(const struct poll *poll, const char *error)
{
	bool denied = error != NULL && reply_is(error, "NOPERM");

	findings_add(poll->findings, FINDING_UNKNOWN, "sentinels",
	    denied ? "permit +sentinel" : "use a sentinel that knows CKQUORUM",
	    "%.256s: it does not say whether it has a quorum", poll->label);
}

static void
ask_sentinel(struct poll *poll, struct visit *visit, struct visit *pattern)
{
	struct question questions[] = {{.argv = QUESTION_WORDS("SENTINEL",
					    "get-master-addr-by-name",
					    poll->master)},
	    {.argv = QUESTION_WORDS("SENTINEL", "MASTER", poll->master)},
	    {.argv = QUESTION_WORDS("SENTINEL", "CKQUORUM", poll->master)},
	    {.argv = QUESTION_WORDS("SENTINEL", "REPLICAS", poll->master)}};
	const size_t count = sizeof(questions) / sizeof(*questions);
	const char *flags, *error;

	enquiry_ask(&visit->enquiry, questions, count);
	error = questions[0].error;
	if (questions[0].outcome == QUESTION_ANSWERED) {
		poll->replied++;
		note_address(poll, questions[0].value);
		flags = find_text(questions[1].value, "flags");
		if (flags != NULL && strstr(flags, "_down") != NULL)
			warn_of(poll, "it does not reach the primary",
			    "check the primary, and the network between them");
		if (questions[2].outcome == QUESTION_FAILED &&
		    reply_is(questions[2].error, "NOQUORUM"))
			warn_of(poll, questions[2].error,
			    "start the missing sentinels: until then nothing "
			    "replaces a primary that dies");
		else if (questions[2].outcome != QUESTION_ANSWERED)
			note_no_quorum(poll, questions[2].error);
		add_known_replicas(pattern, questions[3].value);
	} else if (questions[0].outcome == QUESTION_SILENT) {
		/* That names the sentinel already. */
		check_contact_warn(visit, &questions[0], "sentinels");
	} else if (reply_denies_command(error)) {
		warn_of(poll, "it is no sentinel", "name sentinels in the URL");
	} else {
		warn_of(poll, error, reply_advise(error));
	}
	enquiry_forget(questions, count);
}

void
check_fleet_sentinels(struct visit *pattern, const struct endpoint *endpoint)
{
	struct findings *findings = pattern->findings;
	struct poll poll = {.master = endpoint->master, .findings = findings};
	size_t before = findings_count(findings, FINDING_WARNING) +
			findings_count(findings, FINDING_UNKNOWN);

	for (size_t i = 0; i < endpoint->host_count; i++) {
		struct visit one = *pattern;

		poll.label = endpoint->hosts[i].label;
		enquiry_begin(&one.enquiry, &endpoint->hosts[i], NULL);
		ask_sentinel(&poll, &one, pattern);
		enquiry_end(&one.enquiry);
	}
	if (findings_count(findings, FINDING_WARNING) +
		findings_count(findings, FINDING_UNKNOWN) ==
	    before)
		findings_add(findings, FINDING_OK, "sentinels", NULL,
		    "%zu agree on %s", poll.replied, poll.address);
	if (endpoint->host_count < SENTINELS_ENOUGH)
		findings_add(findings, FINDING_NOTE, "sentinels",
		    "name all sentinels in the URL",
		    "the URL names %zu: a failover needs a majority of at "
		    "least three",
		    endpoint->host_count);
}

/* --- several servers -------------------------------------------------- */

struct fleet {
	const struct check_identity *list;
	size_t count;
	const struct opts *opts;
	struct findings *findings;
	/* Without those that are the same or abstain there is a majority: an
	 * error is only a warning then. */
	bool is_enough;
};

static bool
is_same(const struct check_identity *a, const struct check_identity *b)
{
	return *a->run_id != '\0' && strcmp(a->run_id, b->run_id) == 0;
}

static int64_t
abstains_for_ms(const struct check_identity *one, const struct opts *opts)
{
	int64_t left_ms = opts->lock.min_uptime_ms - one->uptime_s * 1000;

	return one->uptime_s < 0 || left_ms <= 0 ? 0 : left_ms;
}

/* Of those that reply, each one once, without those that abstain. */
static bool
have_majority(const struct fleet *fleet)
{
	size_t votes = 0;

	for (size_t i = 0; i < fleet->count; i++) {
		const struct check_identity *one = &fleet->list[i];
		size_t j = 0;

		while (j < i && !is_same(&fleet->list[j], one))
			j++;
		votes += j == i && abstains_for_ms(one, fleet->opts) == 0;
	}
	return votes >= votes_majority(fleet->opts->server_count);
}

static bool
are_apart(const struct fleet *fleet, const struct check_identity *a,
    const struct check_identity *b)
{
	if (is_same(a, b)) {
		findings_add(fleet->findings,
		    fleet->is_enough ? FINDING_WARNING : EXITCODE_USAGE,
		    "same-server", "name it once",
		    "%.256s and %.256s are the same server", a->label,
		    b->label);
		return false;
	}
	if (*a->address != '\0' && strcmp(a->address, b->address) == 0) {
		findings_add(fleet->findings, FINDING_WARNING, "same-host",
		    "run them on different machines, which fail apart",
		    "%.256s and %.256s are on the same host", a->label,
		    b->label);
		return false;
	}
	return true;
}

static bool
are_clocks_alike(const struct fleet *fleet, const struct check_identity *a,
    const struct check_identity *b)
{
	int64_t apart_us = llabs(a->clock.us - b->clock.us);

	if (!a->clock.is_known || !b->clock.is_known ||
	    apart_us <= CHECK_FAR_US + a->clock.error_us + b->clock.error_us)
		return true;
	findings_add(fleet->findings, FINDING_WARNING, "clocks",
	    "keep them by NTP", "those of %.256s and %.256s differ by %.1f s",
	    a->label, b->label, (double)apart_us / 1e6);
	return false;
}

static bool
is_old_enough(const struct fleet *fleet, const struct check_identity *one)
{
	int64_t left_ms = abstains_for_ms(one, fleet->opts);

	if (left_ms == 0)
		return true;
	findings_add(fleet->findings,
	    fleet->is_enough ? FINDING_WARNING : EXITCODE_UNAVAILABLE, "uptime",
	    "wait; or --min-uptime 0, if all servers store each write at once",
	    "%.256s has started %" PRId64 " s ago: it abstains for another "
	    "%" PRId64 " s",
	    one->label, one->uptime_s, (left_ms + 999) / 1000);
	return false;
}

/* What a server does not say is not as it should be, either. */
static bool
is_told(const struct fleet *fleet, const struct check_identity *one,
    const char *check, const char *what, bool is_known)
{
	if (!is_known)
		findings_add(fleet->findings, FINDING_UNKNOWN, check,
		    strcmp(what, "time") == 0 ? "permit +time" : "permit +info",
		    "%.256s does not say its %s", one->label, what);
	return is_known;
}

static void
compare_all(const struct fleet *fleet)
{
	bool apart = true, alike = true, old = true;

	for (size_t i = 0; i < fleet->count; i++) {
		const struct check_identity *one = &fleet->list[i];

		apart &= is_told(fleet, one, "same-server", "run_id",
		    *one->run_id != '\0');
		alike &=
		    is_told(fleet, one, "clocks", "time", one->clock.is_known);
		old &=
		    is_told(fleet, one, "uptime", "uptime", one->uptime_s >= 0);
	}
	for (size_t i = 0; i < fleet->count; i++)
		for (size_t j = 0; j < i; j++) {
			apart &=
			    are_apart(fleet, &fleet->list[j], &fleet->list[i]);
			alike &= are_clocks_alike(fleet, &fleet->list[j],
			    &fleet->list[i]);
		}
	for (size_t i = 0; i < fleet->count; i++)
		old &= is_old_enough(fleet, &fleet->list[i]);
	if (apart)
		findings_add(fleet->findings, FINDING_OK, "same-host", NULL,
		    "no two of them are on the same host");
	if (alike)
		findings_add(fleet->findings, FINDING_OK, "clocks", NULL,
		    "they agree within a second");
	if (old)
		findings_add(fleet->findings, FINDING_OK, "uptime", NULL,
		    "all are up for longer than --min-uptime");
}

void
check_fleet_servers(const struct check_identity *identities, size_t count,
    const struct opts *opts, struct findings *findings)
{
	struct fleet fleet = {.list = identities,
	    .count = count,
	    .opts = opts,
	    .findings = findings};
	size_t all = opts->server_count;
	bool odd = all % 2 != 0;

	if (all < 2)
		return;
	findings->subject = "all servers";
	fleet.is_enough = have_majority(&fleet);
	findings_add(findings,
	    odd	       ? FINDING_OK
	    : all == 2 ? FINDING_WARNING
		       : FINDING_NOTE,
	    "majority", odd ? NULL : "name an odd number of servers",
	    "%zu of %zu servers may fail%s", (all - 1) / 2, all,
	    odd ? "" : ", as with one server fewer");
	compare_all(&fleet);
}
