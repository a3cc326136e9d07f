#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "doctor/checks.h"
#include "doctor/rows.h"
#include "lock/votes.h"
#include "redis/info.h"
#include "redis/reply.h"
#include "redis/ways/cluster.h"
#include "redis/ways/sentinel.h"

/* --- a cluster -------------------------------------------------------- */

/* What CLUSTER INFO replied. A missing number is 0. */
static void
put_slots(char **facts, const char *info)
{
	int64_t assigned = info_number(info, "cluster_slots_assigned");
	int64_t missing = assigned < 0 ? 0 : CLUSTER_SLOTS - assigned;
	int64_t failing = info_number(info, "cluster_slots_fail");
	int64_t suspected = info_number(info, "cluster_slots_pfail");
	int64_t silent;

	failing = failing < 0 ? 0 : failing;
	silent = failing + (suspected < 0 ? 0 : suspected);
	rows_put(facts, "%s\nmissing:%" PRId64 "\n", info, missing);
	rows_put(facts, "failing:%" PRId64 "\nsilent:%" PRId64 "\n", failing,
	    silent);
	rows_put_flag(facts, "gaps", missing > 0 || silent > 0);
}

/* Why that is not known, and where to look for it. */
static void
put_unknown(char **facts, const char *error, const char *permit)
{
	bool is_denied = error != NULL && reply_is(error, "NOPERM");

	rows_put(facts, "see:%s\n", is_denied ? permit : CHECK_SEE);
	if (error != NULL)
		rows_put(facts, "why:: %.256s\n", error);
}

bool
check_fleet_slots(struct visit *visit)
{
	struct asks asks = {.count = 0};
	char *facts = NULL;
	const char *info;
	bool answered;

	ask_add(&asks, "", "CLUSTER|INFO");
	answered = check_contact_ask(visit, &asks);
	info = value_text(asks.questions[0].value);
	if (info != NULL)
		put_slots(&facts, info);
	else
		put_unknown(&facts, asks.questions[0].error,
		    "permit +cluster|info");
	if (answered)
		rows_judge("slots", FINDING_OK, facts, visit->findings);
	free(facts);
	ask_forget(&asks);
	return answered;
}

bool
check_fleet_nodes(struct visit *visit)
{
	struct asks asks = {.count = 0};
	char *facts = NULL;
	bool answered, known;

	ask_add(&asks, "", "CLUSTER|SLOTS");
	answered = check_contact_ask(visit, &asks);
	known = answered &&
		enquiry_set_nodes(&visit->enquiry, asks.questions[0].value);
	put_unknown(&facts, asks.questions[0].error, "permit +cluster|slots");
	if (answered && !known)
		rows_judge("nodes", FINDING_OK, facts, visit->findings);
	free(facts);
	ask_forget(&asks);
	return known;
}

/* --- sentinels -------------------------------------------------------- */

enum { ADDRESS_MAX = SENTINEL_HOST_MAX + 8 };

enum { ADDRESS, STATE, QUORUM, REPLICAS, SENTINEL_ASKED };
static const char sentinel_asked[SENTINEL_ASKED][40] = {
    [ADDRESS] = "SENTINEL|get-master-addr-by-name|" ASK_KEY,
    [STATE] = "SENTINEL|MASTER|" ASK_KEY,
    [QUORUM] = "SENTINEL|CKQUORUM|" ASK_KEY,
    [REPLICAS] = "SENTINEL|REPLICAS|" ASK_KEY,
};

/* What they say, one after the other. */
struct poll {
	const char *master;
	char first[ADDRESS_MAX]; /* that is named, or empty */
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
put_address(char **facts, struct poll *poll, const struct value *value)
{
	struct sentinel_address named;
	char address[ADDRESS_MAX];

	rows_put_flag(facts, "no_master", value_is_nil(value));
	if (!sentinel_read_address(&named, value)) {
		rows_put_flag(facts, "no_address", true);
		return;
	}
	snprintf(address, sizeof(address), "%s:%d", named.host, named.port);
	if (poll->first[0] == '\0')
		memcpy(poll->first, address, sizeof(address));
	rows_put(facts, "address:%s\nfirst:%s\n", address, poll->first);
	rows_put_flag(facts, "differs", strcmp(poll->first, address) != 0);
}

static void
put_quorum(char **facts, const struct question *question)
{
	const char *error = question->error;

	if (question->outcome == QUESTION_FAILED && reply_is(error, "NOQUORUM"))
		rows_put(facts, "no_quorum:%s\n", error);
	rows_put_flag(facts, "no_answer",
	    question->outcome != QUESTION_ANSWERED);
	rows_put_flag(facts, "denied",
	    error != NULL && reply_is(error, "NOPERM"));
}

/* SENTINEL REPLICAS replies with a list of such pairs. */
static void
add_known_replicas(struct visit *pattern, const struct value *list)
{
	struct sentinel_address *known;
	size_t count;
	int64_t port;

	if (!value_count(list, &count))
		return;
	pattern->has_sentinels = true;
	known = mem_realloc(pattern->known,
	    (pattern->known_count + count + 1) * sizeof(*known));
	pattern->known = known;
	known += pattern->known_count;
	for (size_t i = 0; i < count; i++) {
		const struct value *pairs = value_at(list, i);
		const char *host = find_text(pairs, "ip");
		const char *text = find_text(pairs, "port");

		if (host == NULL || text == NULL ||
		    num_int(text, 1, UINT16_MAX, &port) == -1)
			continue;
		snprintf(known->host, sizeof(known->host), "%s", host);
		known->port = (int)port;
		known++;
		pattern->known_count++;
	}
}

/* Facts of one sentinel. */
static void
ask_sentinel(char **facts, struct poll *poll, struct enquiry *enquiry,
    struct visit *pattern)
{
	struct asks asks = {.key = poll->master};
	const struct question *questions = asks.questions;
	const char *error, *flags;

	for (size_t i = 0; i < SENTINEL_ASKED; i++)
		ask_add(&asks, "", sentinel_asked[i]);
	enquiry_ask(enquiry, asks.questions, asks.count);
	error = questions[ADDRESS].error;
	if (questions[ADDRESS].outcome == QUESTION_ANSWERED) {
		poll->replied++;
		put_address(facts, poll, questions[ADDRESS].value);
		flags = find_text(questions[STATE].value, "flags");
		rows_put_flag(facts, "down",
		    flags != NULL && strstr(flags, "_down") != NULL);
		put_quorum(facts, &questions[QUORUM]);
		add_known_replicas(pattern, questions[REPLICAS].value);
	} else {
		check_contact_put_failure(facts, &questions[ADDRESS]);
		rows_put_flag(facts, "no_sentinel",
		    reply_denies_command(error));
	}
	ask_forget(&asks);
}

void
check_fleet_sentinels(struct visit *pattern, const struct endpoint *endpoint)
{
	struct findings *findings = pattern->findings;
	struct poll poll = {.master = endpoint->master};
	size_t before = findings->count;
	char *facts = NULL;

	for (size_t i = 0; i < endpoint->host_count; i++) {
		struct enquiry enquiry = pattern->enquiry;
		char *said = NULL;

		rows_put(&said, "sentinel:%s\nmaster:%s\n",
		    endpoint->hosts[i].label, endpoint->master);
		enquiry_begin(&enquiry, &endpoint->hosts[i], NULL);
		ask_sentinel(&said, &poll, &enquiry, pattern);
		enquiry_end(&enquiry);
		rows_judge("sentinel", FINDING_OK, said, findings);
		rows_judge("sentinel state", FINDING_OK, said, findings);
		rows_judge("sentinel quorum", FINDING_OK, said, findings);
		free(said);
	}
	rows_put_flag(&facts, "agreed", findings->count == before);
	rows_put(&facts, "replied:%zu\naddress:%s\nnamed:%zu\n", poll.replied,
	    poll.first, endpoint->host_count);
	rows_judge("sentinels", FINDING_OK, facts, findings);
	rows_judge("sentinels named", FINDING_OK, facts, findings);
	free(facts);
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

static void
judge_pair(const struct fleet *fleet, const struct check_identity *a,
    const struct check_identity *b)
{
	int64_t apart_us = llabs(a->clock.us - b->clock.us);
	int64_t doubt_us = a->clock.error_us + b->clock.error_us;
	char *facts = NULL;

	rows_put(&facts, "a:%s\nb:%s\n", a->label, b->label);
	rows_put_flag(&facts, "enough", fleet->is_enough);
	rows_put_flag(&facts, "same", is_same(a, b));
	rows_put_flag(&facts, "together",
	    *a->address != '\0' && strcmp(a->address, b->address) == 0);
	if (a->clock.is_known && b->clock.is_known &&
	    apart_us > CHECK_FAR_US + doubt_us)
		rows_put(&facts, "apart:%.1f\n", (double)apart_us / 1e6);
	rows_judge("pair", FINDING_OK, facts, fleet->findings);
	free(facts);
}

static void
judge_one(const struct fleet *fleet, const char *about,
    const struct check_identity *one)
{
	int64_t left_ms = abstains_for_ms(one, fleet->opts);
	char *facts = NULL;

	rows_put(&facts, "server:%s\nrun_id:%s\n", one->label, one->run_id);
	rows_put_flag(&facts, "time", one->clock.is_known);
	if (one->uptime_s >= 0)
		rows_put(&facts, "uptime:%" PRId64 "\n", one->uptime_s);
	if (left_ms > 0)
		rows_put(&facts, "left:%" PRId64 "\n", (left_ms + 999) / 1000);
	rows_put_flag(&facts, "enough", fleet->is_enough);
	rows_judge(about, FINDING_OK, facts, fleet->findings);
	free(facts);
}

/* Whether that check has added something: what a server does not say is not as
 * it should be, either. */
static void
put_found(char **facts, const struct findings *findings, size_t from)
{
	for (; from < findings->count; from++)
		rows_put_flag(facts, findings->list[from].check, true);
}

void
check_fleet_servers(const struct check_identity *identities, size_t count,
    const struct opts *opts, struct findings *findings)
{
	struct fleet fleet = {.list = identities,
	    .count = count,
	    .opts = opts,
	    .findings = findings};
	size_t all = opts->server_count, before;
	char *facts = NULL;

	if (all < 2)
		return;
	findings->subject = "all servers";
	fleet.is_enough = have_majority(&fleet);
	rows_put(&facts, "servers:%zu\nspare:%zu\n", all, (all - 1) / 2);
	rows_put_flag(&facts, "odd", all % 2 != 0);
	rows_judge("majority", FINDING_OK, facts, findings);
	before = findings->count;
	for (size_t i = 0; i < count; i++)
		judge_one(&fleet, "voter", &identities[i]);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			judge_pair(&fleet, &identities[j], &identities[i]);
	for (size_t i = 0; i < count; i++)
		judge_one(&fleet, "voter age", &identities[i]);
	put_found(&facts, findings, before);
	rows_judge("voters", FINDING_OK, facts, findings);
	free(facts);
}
