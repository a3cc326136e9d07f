/* Replicas, each of which may become the primary. All are asked first, as what
 * one is worth depends on the others. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "doctor/checks.h"
#include "redis/info.h"

enum { REPLICAS_MAX = 64 };

struct check_replica {
	char host[CLUSTER_HOST_SIZE], label[CLUSTER_LABEL_SIZE];
	int port;
	char *facts; /* NULL: not reached */
	struct check_offset clock;
};

struct replicas {
	struct visit *primary;
	struct check_replica *list;
	size_t count;
};

/* --- finding and asking them ------------------------------------------ */

/* slave0:ip=10.0.0.4,port=6379,state=online,offset=14,lag=0 */
static bool
read_replica(const char *line, struct check_replica *replica)
{
	char port[sizeof("65535")];
	const char *at = strstr(line, "port=");
	int64_t number;

	*replica = (struct check_replica){.port = 0};
	if (strncmp(line, "ip=", 3) != 0 || at == NULL)
		return false;
	snprintf(replica->host, sizeof(replica->host), "%.*s",
	    (int)strcspn(line + 3, ","), line + 3);
	snprintf(port, sizeof(port), "%.*s", (int)strcspn(at + 5, ","), at + 5);
	if (num_int(port, 1, UINT16_MAX, &number) == -1)
		return false;
	replica->port = (int)number;
	return *replica->host != '\0';
}

static void
ask_replica(const struct replicas *replicas, struct check_replica *replica)
{
	const struct enquiry *primary = &replicas->primary->enquiry;
	struct endpoint endpoint = *primary->endpoint;
	struct visit visit = {.enquiry = {.opts = primary->opts,
				  .loop = primary->loop},
	    .findings = replicas->primary->findings,
	    .is_replica = true,
	    .save_rules = CHECK_SAVE_RULES};

	endpoint.transport = URL_TCP;
	endpoint.host = replica->host;
	endpoint.port = replica->port;
	endpoint.label = replica->label;
	endpoint.master = NULL;
	endpoint.cluster = false;
	endpoint.hosts = NULL;
	endpoint.host_count = 0;
	endpoint_describe(&endpoint, "replica", replica->label,
	    sizeof(replica->label));
	visit.findings->subject = replica->label;
	enquiry_begin(&visit.enquiry, &endpoint, NULL);
	if (check_contact_measure(&visit)) {
		replica->clock = check_contact_offset(&visit.samples);
		replica->facts = check_server_facts(&visit);
	}
	enquiry_end(&visit.enquiry);
}

static void
find_replicas(struct replicas *replicas)
{
	char name[24], line[CLUSTER_LABEL_SIZE + 64];
	int64_t count =
	    info_number(replicas->primary->facts, "connected_slaves");

	if (count <= 0)
		return;
	if (count > REPLICAS_MAX)
		count = REPLICAS_MAX;
	replicas->list = mem_alloc((size_t)count * sizeof(*replicas->list));
	for (int64_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "slave%" PRId64, i);
		info_text(replicas->primary->facts, name, line, sizeof(line));
		if (read_replica(line, &replicas->list[replicas->count]))
			replicas->count++;
	}
	if ((size_t)count > replicas->count)
		findings_add(replicas->primary->findings, FINDING_UNKNOWN,
		    "replica", CHECK_SEE,
		    "INFO names %zu of %" PRId64 " replicas, so not all are "
		    "examined",
		    replicas->count, count);
	for (size_t i = 0; i < replicas->count; i++)
		ask_replica(replicas, &replicas->list[i]);
}

/* --- what each one is worth ---------------------------------------------- */

/* Its expiry times are those of the primary's clock. */
static bool
judge_clock(const struct replicas *replicas,
    const struct check_replica *replica)
{
	const struct visit *primary = replicas->primary;
	struct check_offset clock = check_contact_offset(&primary->samples);
	int64_t ahead_us = replica->clock.us - clock.us;
	int64_t ttl_us = primary->enquiry.opts->lock.ttl_ms * 1000;

	if (!replica->clock.is_known)
		findings_add(primary->findings, FINDING_UNKNOWN, "clock",
		    "permit +time there", "the replica does not say its time");
	if (!clock.is_known || !replica->clock.is_known)
		return false;
	if (llabs(ahead_us) <=
	    CHECK_FAR_US + clock.error_us + replica->clock.error_us)
		return true;
	findings_add(primary->findings,
	    ahead_us < 0 ? FINDING_NOTE : FINDING_WARNING, "clock",
	    "keep both clocks by NTP",
	    "%.1f s %s the primary's: promoted, it %s",
	    (double)llabs(ahead_us) / 1e6, ahead_us < 0 ? "behind" : "ahead of",
	    ahead_us < 0	? "keeps locks for longer"
	    : ahead_us > ttl_us ? "frees every lock"
				: "frees locks too soon");
	return false;
}

/* By which it is chosen to be promoted; 0: never. */
static int64_t
rank(const struct check_replica *replica, bool by_sentinel)
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
is_known(const struct replicas *replicas, const struct check_replica *replica)
{
	const struct visit *primary = replicas->primary;

	for (size_t i = 0; i < primary->known_count; i++) {
		const struct sentinel_address *known = &primary->known[i];

		if (known->port == replica->port &&
		    (strcmp(known->host, replica->host) == 0 ||
			!is_number(known->host) || !is_number(replica->host)))
			return true;
	}
	return !primary->has_sentinels;
}

/* Whether those that confirm a lock are those that may be promoted: if all of
 * them confirm, they are. */
static bool
judge_worth(const struct replicas *replicas,
    const struct check_replica *replica)
{
	const struct visit *primary = replicas->primary;
	bool by_sentinel = primary->enquiry.endpoint->master != NULL;
	int wanted = primary->enquiry.opts->lock.replicas;
	int64_t best = 0;

	if (!info_is(primary->facts, "fails_over", "1") ||
	    (size_t)wanted >= replicas->count)
		return true;
	for (size_t i = 0; i < replicas->count; i++) {
		int64_t other = replicas->list[i].facts != NULL
				    ? rank(&replicas->list[i], by_sentinel)
				    : 0;

		best = other > best ? other : best;
	}
	if (!is_known(replicas, replica))
		findings_add(primary->findings, FINDING_WARNING, "promotion",
		    NULL,
		    "it confirms locks, and no sentinel knows it, so it is "
		    "never promoted");
	else if (wanted > 0 && replica->facts != NULL &&
		 rank(replica, by_sentinel) < best)
		findings_add(primary->findings, FINDING_WARNING, "promotion",
		    NULL,
		    "it confirms --wait-replicas %d, and another replica is "
		    "promoted",
		    wanted);
	else
		return true;
	findings_set_remedy(primary->findings, "--wait-replicas %zu",
	    replicas->count);
	return false;
}

void
check_replicas(struct visit *visit)
{
	struct replicas replicas = {.primary = visit};
	struct findings *findings = visit->findings;
	const char *subject = findings->subject;

	find_replicas(&replicas);
	for (size_t i = 0; i < replicas.count; i++) {
		const struct check_replica *replica = &replicas.list[i];
		bool good;

		findings->subject = replica->label;
		good = judge_worth(&replicas, replica);
		if (replica->facts == NULL)
			continue;
		good &= check_server_replica_rows(replica->facts, findings);
		good &= judge_clock(&replicas, replica);
		if (good)
			findings_add(findings, FINDING_OK, "replica", NULL,
			    "read-only; its settings and its clock are as they "
			    "should be");
	}
	for (size_t i = 0; i < replicas.count; i++)
		free(replicas.list[i].facts);
	free(replicas.list);
	findings->subject = subject;
}
