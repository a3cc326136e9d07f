/* Replicas, each of which may become the primary. All are asked first, as what
 * one is worth depends on the others. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "doctor/checks.h"
#include "doctor/rows.h"
#include "redis/info.h"

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

/* --- finding and asking them ------------------------------------------ */

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
	check_contact_measure(&visit);
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
	char name[24], line[CLUSTER_LABEL_SIZE + 64], *facts = NULL;

	if (count > REPLICAS_MAX)
		count = REPLICAS_MAX;
	for (int64_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "slave%" PRId64, i);
		info_text(primary->facts, name, line, sizeof(line));
		if (read_replica(line,
			&replicas->list[replicas->count].node.at))
			replicas->count++;
	}
	rows_put(&facts, "named:%zu\ncount:%" PRId64 "\n", replicas->count,
	    count);
	if ((int64_t)replicas->count < count)
		rows_judge("replicas", facts, primary->findings);
	free(facts);
	for (size_t i = 0; i < replicas->count; i++)
		ask_replica(primary, &replicas->list[i]);
}

/* --- what each one is worth ---------------------------------------------- */

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
	char *facts = NULL;

	if (!info_is(primary->facts, "fails_over", "1") ||
	    (size_t)wanted >= replicas->count)
		return;
	for (size_t i = 0; i < replicas->count; i++) {
		const struct replica *other = &replicas->list[i];

		if (other->facts != NULL && rank(other, by_sentinel) > best)
			best = rank(other, by_sentinel);
	}
	rows_put(&facts, "wanted:%d\nall:%zu\n", wanted, replicas->count);
	rows_put_flag(&facts, "unknown", !is_known(primary, &replica->node.at));
	rows_put_flag(&facts, "passed_over",
	    wanted > 0 && replica->facts != NULL &&
		rank(replica, by_sentinel) < best);
	rows_judge("replica promotion", facts, primary->findings);
	free(facts);
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
check_replicas(struct visit *visit)
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
