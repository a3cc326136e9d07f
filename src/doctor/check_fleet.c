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

/* A missing number is 0. */
void
check_fleet_slots(struct visit *visit)
{
	const struct question *question = visit_ask_one(visit, "CLUSTER|INFO");
	int64_t assigned, failing, suspected;
	const char *info;
	char *facts = NULL;

	if (visit->is_over)
		return;
	info = value_text(question->value);
	assigned = info_number(info, "cluster_slots_assigned");
	failing = info_number(info, "cluster_slots_fail");
	suspected = info_number(info, "cluster_slots_pfail");
	failing = failing < 0 ? 0 : failing;
	suspected = suspected < 0 ? 0 : suspected;
	if (info == NULL)
		visit_put_unknown(&facts, "slots", question->error,
		    "+cluster|info");
	else
		rows_put(&facts, "%s\n", info);
	rows_put(&facts,
	    "missing:%" PRId64 "\nfailing:%" PRId64 "\nsilent:%" PRId64 "\n",
	    assigned < 0 ? 0 : CLUSTER_SLOTS - assigned, failing,
	    failing + suspected);
	rows_judge("slots", facts, visit->findings);
	free(facts);
}

bool
check_fleet_nodes(struct visit *visit)
{
	const struct question *question = visit_ask_one(visit, "CLUSTER|SLOTS");
	char *facts = NULL;

	if (visit->is_over)
		return false;
	if (enquiry_set_nodes(&visit->enquiry, question->value))
		return true;
	visit_put_unknown(&facts, "nodes", question->error, "+cluster|slots");
	rows_judge("nodes", facts, visit->findings);
	free(facts);
	return false;
}

/* --- sentinels -------------------------------------------------------- */

enum { ADDRESS_MAX = URL_HOST_SIZE + 8 };

enum { ADDRESS, STATE, QUORUM, REPLICAS, SENTINEL_ASKED };
static const char sentinel_asked[SENTINEL_ASKED][40] = {
    [ADDRESS] = "SENTINEL|get-master-addr-by-name|" VISIT_KEY,
    [STATE] = "SENTINEL|MASTER|" VISIT_KEY,
    [QUORUM] = "SENTINEL|CKQUORUM|" VISIT_KEY,
    [REPLICAS] = "SENTINEL|REPLICAS|" VISIT_KEY,
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
	struct url_address named;
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

/* SENTINEL REPLICAS replies with a list of such pairs. */
static void
add_known_replicas(struct visit *pattern, const struct value *list)
{
	struct url_address *known;
	size_t count;
	int64_t port;

	if (!value_count(list, &count))
		return;
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

/* Puts facts of one sentinel, whose findings are those of all. */
static void
ask_sentinel(struct visit *visit, struct poll *poll, struct visit *pattern)
{
	const struct question *questions = visit->questions;
	const char *flags, *error;

	visit->key = poll->master;
	for (size_t i = 0; i < SENTINEL_ASKED; i++)
		visit_add(visit, "", sentinel_asked[i]);
	enquiry_ask(&visit->enquiry, visit->questions, visit->count);
	if (questions[ADDRESS].outcome == QUESTION_ANSWERED) {
		poll->replied++;
		put_address(&visit->facts, poll, questions[ADDRESS].value);
		flags = find_text(questions[STATE].value, "flags");
		rows_put_flag(&visit->facts, "down",
		    flags != NULL && strstr(flags, "_down") != NULL);
		error = questions[QUORUM].error;
		rows_put(&visit->facts, "quorum:%s\n",
		    questions[QUORUM].outcome == QUESTION_ANSWERED ? "yes"
		    : error == NULL				   ? ""
								   : error);
		rows_put_flag(&visit->facts, "no_quorum",
		    error != NULL && reply_is(error, "NOQUORUM"));
		rows_put_flag(&visit->facts, "denied",
		    error != NULL && reply_is(error, "NOPERM"));
		add_known_replicas(pattern, questions[REPLICAS].value);
	} else {
		visit_put_failure(&visit->facts, &questions[ADDRESS]);
		rows_put_flag(&visit->facts, "no_sentinel",
		    reply_denies_command(questions[ADDRESS].error));
	}
}

void
check_fleet_sentinels(struct visit *pattern, const struct endpoint *endpoint)
{
	struct findings *findings = pattern->findings;
	struct poll poll = {.master = endpoint->master};
	size_t before = findings->count;

	for (size_t i = 0; i < endpoint->host_count; i++) {
		struct visit visit = {.enquiry = pattern->enquiry};

		rows_put(&visit.facts, "sentinel:%s\nmaster:%s\n",
		    endpoint->hosts[i].label, endpoint->master);
		enquiry_begin(&visit.enquiry, &endpoint->hosts[i], NULL);
		ask_sentinel(&visit, &poll, pattern);
		rows_judge("sentinel", visit.facts, findings);
		rows_judge("sentinel state", visit.facts, findings);
		rows_judge("sentinel quorum", visit.facts, findings);
		visit_end(&visit);
	}
	rows_judge_facts("sentinels", findings,
	    "agreed:%s\nreplied:%zu\naddress:%s\n",
	    rows_flag(findings->count == before), poll.replied, poll.first);
	rows_judge_facts("sentinels named", findings, "named:%zu\n",
	    endpoint->host_count);
}

/* --- several servers -------------------------------------------------- */

/* Whether they have the same value. */
static bool
share(const struct identity *a, const struct identity *b, const char *name)
{
	char value[64];

	info_text(a->facts, name, value, sizeof(value));
	return *value != '\0' && info_is(b->facts, name, value);
}

static int64_t
abstains_for_ms(const struct identity *one, const struct opts *opts)
{
	int64_t uptime_s = info_number(one->facts, "uptime_in_seconds");
	int64_t left_ms = opts->lock.min_uptime_ms - uptime_s * 1000;

	return uptime_s < 0 || left_ms <= 0 ? 0 : left_ms;
}

/* Whether those that reply, each one once, without those that abstain, are
 * enough. */
static bool
have_majority(const struct identity *list, size_t count,
    const struct opts *opts)
{
	size_t votes = 0;

	for (size_t i = 0; i < count; i++) {
		size_t j = 0;

		while (j < i && !share(&list[j], &list[i], "run_id"))
			j++;
		votes += j == i && abstains_for_ms(&list[i], opts) == 0;
	}
	return votes >= votes_majority(opts->server_count);
}

static void
judge_pair(struct findings *findings, const struct identity *a,
    const struct identity *b)
{
	int64_t apart_us = llabs(a->clock.us - b->clock.us);
	int64_t doubt_us = a->clock.error_us + b->clock.error_us;
	char one[300], other[300], apart[32] = "";

	info_text(a->facts, "server", one, sizeof(one));
	info_text(b->facts, "server", other, sizeof(other));
	if (a->clock.is_known && b->clock.is_known &&
	    apart_us > CHECK_FAR_US + doubt_us)
		snprintf(apart, sizeof(apart), "%.1f", (double)apart_us / 1e6);
	rows_judge_facts("pair", findings,
	    "a:%s\nb:%s\nenough:%s\nsame:%s\ntogether:%s\napart:%s\n", one,
	    other, rows_flag(info_is(a->facts, "enough", "1")),
	    rows_flag(share(a, b, "run_id")), rows_flag(share(a, b, "address")),
	    apart);
}

void
check_fleet_servers(struct identity *identities, size_t count,
    const struct opts *opts, struct findings *findings)
{
	/* An error is only a warning then. */
	bool is_enough = have_majority(identities, count, opts);
	size_t all = opts->server_count, before;
	char *facts = NULL;

	if (all < 2)
		return;
	findings->subject = "all servers";
	rows_judge_facts("majority", findings,
	    "servers:%zu\nspare:%zu\nodd:%s\n", all, (all - 1) / 2,
	    rows_flag(all % 2 != 0));
	before = findings->count;
	for (size_t i = 0; i < count; i++) {
		struct identity *one = &identities[i];
		int64_t left_ms = abstains_for_ms(one, opts);

		rows_put_flag(&one->facts, "time", one->clock.is_known);
		rows_put_flag(&one->facts, "enough", is_enough);
		if (left_ms > 0)
			rows_put(&one->facts, "abstains_s:%" PRId64 "\n",
			    (left_ms + 999) / 1000);
		rows_judge("voter", one->facts, findings);
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			judge_pair(findings, &identities[j], &identities[i]);
	for (size_t i = 0; i < count; i++)
		rows_judge("voter age", identities[i].facts, findings);
	/* What a server does not say is not as it should be, either. */
	for (size_t i = before; i < findings->count; i++)
		rows_put_flag(&facts, findings->list[i].check, true);
	rows_judge("voters", facts, findings);
	free(facts);
}

/* --- replicas ------------------------------------------------------------
 *
 * Each of them may become the primary. All are asked first, as what one is
 * worth depends on the others. */

enum { REPLICAS_MAX = 64 };

struct replica {
	struct enquiry_node node;
	char *facts; /* NULL: not reached */
	struct offset clock;
};

struct replicas {
	struct visit *primary;
	struct replica list[REPLICAS_MAX];
	size_t count;
};

/* slave0:ip=10.0.0.4,port=6379,state=online,offset=14,lag=0 */
static bool
read_replica(const char *line, struct url_address *at)
{
	char port[sizeof("65535")];
	const char *digits = strstr(line, "port=");
	int64_t number;

	if (strncmp(line, "ip=", 3) != 0 || digits == NULL)
		return false;
	snprintf(at->host, sizeof(at->host), "%.*s",
	    (int)strcspn(line + 3, ","), line + 3);
	snprintf(port, sizeof(port), "%.*s", (int)strcspn(digits + 5, ","),
	    digits + 5);
	if (num_int(port, 1, UINT16_MAX, &number) == -1)
		return false;
	at->port = (int)number;
	return *at->host != '\0';
}

static void
ask_replica(const struct visit *primary, struct replica *replica)
{
	const struct enquiry *enquiry = &primary->enquiry;
	struct enquiry_node *node = &replica->node;
	struct visit visit = {.enquiry = {.opts = enquiry->opts,
				  .loop = enquiry->loop},
	    .findings = primary->findings,
	    .is_replica = true};

	enquiry_name_node(node, enquiry->endpoint, "replica");
	visit.findings->subject = node->label;
	enquiry_begin(&visit.enquiry, &node->endpoint, NULL);
	check_server_measure(&visit);
	check_server_ask(&visit);
	if (!visit.is_over) {
		replica->clock = visit.clock.best;
		replica->facts = visit.facts;
		visit.facts = NULL;
	}
	visit_end(&visit);
}

static void
find_replicas(struct replicas *replicas)
{
	const struct visit *primary = replicas->primary;
	int64_t count = info_number(primary->facts, "connected_slaves");
	char name[24], line[CLUSTER_LABEL_SIZE + 64];

	if (count > REPLICAS_MAX)
		count = REPLICAS_MAX;
	for (int64_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "slave%" PRId64, i);
		info_text(primary->facts, name, line, sizeof(line));
		if (read_replica(line,
			&replicas->list[replicas->count].node.at))
			replicas->count++;
	}
	if ((int64_t)replicas->count < count)
		rows_judge_facts("replicas", primary->findings,
		    "named:%zu\ncount:%" PRId64 "\n", replicas->count, count);
	for (size_t i = 0; i < replicas->count; i++)
		ask_replica(primary, &replicas->list[i]);
}

/* By which it is chosen to be promoted; 0: never. */
static int64_t
rank(const struct replica *replica, bool by_sentinel)
{
	int64_t priority = info_number(replica->facts, "slave_priority");
	bool never =
	    by_sentinel
		? info_is(replica->facts, "replica_announced", "0")
		: info_is(replica->facts, "cluster-replica-no-failover", "yes");

	if (never || (by_sentinel && priority == 0))
		return 0;
	return by_sentinel && priority > 0 ? INT64_MAX - priority : 1;
}

static bool
is_number(const char *host)
{
	return strchr(host, ':') != NULL ||
	       host[strspn(host, "0123456789.")] == '\0';
}

/* Sentinels may know it by a name. */
static bool
is_known(const struct visit *primary, const struct url_address *at)
{
	for (size_t i = 0; i < primary->known_count; i++) {
		const struct url_address *known = &primary->known[i];

		if (known->port == at->port &&
		    (strcmp(known->host, at->host) == 0 ||
			!is_number(known->host) || !is_number(at->host)))
			return true;
	}
	return primary->known == NULL;
}

/* Whether those that confirm a lock are those that may be promoted: if all of
 * them confirm, they are. */
static void
judge_worth(const struct replicas *replicas, const struct replica *replica)
{
	const struct visit *primary = replicas->primary;
	bool by_sentinel = primary->enquiry.endpoint->master != NULL;
	int wanted = primary->enquiry.opts->lock.replicas;
	int64_t best = 0;

	if (!info_is(primary->facts, "fails_over", "1") ||
	    (size_t)wanted >= replicas->count)
		return;
	for (size_t i = 0; i < replicas->count; i++) {
		const struct replica *other = &replicas->list[i];

		if (other->facts != NULL && rank(other, by_sentinel) > best)
			best = rank(other, by_sentinel);
	}
	rows_judge_facts("replica promotion", primary->findings,
	    "wanted:%d\nall:%zu\nunknown:%s\npassed_over:%s\n", wanted,
	    replicas->count, rows_flag(!is_known(primary, &replica->node.at)),
	    rows_flag(wanted > 0 && replica->facts != NULL &&
		      rank(replica, by_sentinel) < best));
}

/* Its expiry times are those of the primary's clock. */
static void
put_difference(const struct visit *primary, struct replica *replica)
{
	struct offset clock = primary->clock.best;
	int64_t ahead_us = replica->clock.us - clock.us;
	int64_t doubt_us = clock.error_us + replica->clock.error_us;

	rows_put_flag(&replica->facts, "no_time", !replica->clock.is_known);
	rows_put_flag(&replica->facts, "time",
	    clock.is_known && replica->clock.is_known);
	if (llabs(ahead_us) > CHECK_FAR_US + doubt_us)
		rows_put(&replica->facts, "%s:%.1f\n",
		    ahead_us < 0 ? "behind" : "ahead",
		    (double)llabs(ahead_us) / 1e6);
	rows_put_flag(&replica->facts, "more_than_ttl",
	    ahead_us > primary->enquiry.opts->lock.ttl_ms * 1000);
}

void
check_fleet_replicas(struct visit *visit)
{
	struct replicas replicas = {.primary = visit};
	struct findings *findings = visit->findings;
	const char *subject = findings->subject;

	find_replicas(&replicas);
	for (size_t i = 0; i < replicas.count; i++) {
		struct replica *replica = &replicas.list[i];
		size_t before = findings->count;

		findings->subject = replica->node.label;
		judge_worth(&replicas, replica);
		if (replica->facts == NULL)
			continue;
		findings->least = FINDING_NOTE;
		if (rows_judge("replica", replica->facts, findings) == 0 ||
		    !info_is(replica->facts, "loading", "1"))
			rows_judge("kept", replica->facts, findings);
		findings->least = FINDING_OK;
		put_difference(visit, replica);
		rows_judge("replica clock", replica->facts, findings);
		if (findings->count == before)
			rows_judge("replica good", replica->facts, findings);
	}
	for (size_t i = 0; i < replicas.count; i++)
		free(replicas.list[i].facts);
	findings->subject = subject;
}
