#include "doctor/doctor.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/exitcode.h"
#include "base/log.h"
#include "doctor/checks.h"
#include "doctor/rows.h"
#include "lock/votes.h"

struct doctor {
	const struct opts *opts;
	struct loop *loop;
	struct findings findings;
	/* The servers that have replied; of a cluster, the last node. */
	struct identity identities[OPTS_SERVERS_MAX];
	size_t known;
	struct visit visit; /* the present one */
};

/* --- servers ---------------------------------------------------------- */

/* The one that is asked: a primary of a cluster, or what the URL leads to. */
static void
examine_server(void *arg)
{
	struct doctor *doctor = arg;
	struct visit *visit = &doctor->visit;

	doctor->findings.subject = visit->enquiry.endpoint->label;
	visit->is_over = false;
	check_server_begin(visit);
	if (check_server(visit)) {
		check_server_writes(visit);
		if (visit->scratch != NULL)
			check_access(visit);
		check_server_end(visit);
		check_fleet_replicas(visit);
	}
	free(visit->facts);
	visit->facts = NULL;
	findings_print_new(&doctor->findings);
}

static void
examine_endpoint(struct doctor *doctor, const struct endpoint *endpoint)
{
	struct visit *visit = &doctor->visit;
	char *scratch = check_access_scratch(doctor->opts);

	*visit = (struct visit){.enquiry = {.opts = doctor->opts,
				    .loop = doctor->loop},
	    .findings = &doctor->findings,
	    .scratch = scratch};
	doctor->findings.subject = endpoint->label;
	if (endpoint->is_default)
		rows_judge("default", NULL, &doctor->findings);
	if (endpoint->master != NULL)
		check_fleet_sentinels(visit, endpoint);
	enquiry_begin(&visit->enquiry, endpoint, scratch);
	if (endpoint->cluster) {
		check_fleet_slots(visit);
		check_access(visit);
		findings_print_new(&doctor->findings);
		visit->scratch = NULL;
	}
	if (!endpoint->cluster || check_fleet_nodes(visit))
		enquiry_visit_nodes(&visit->enquiry, examine_server, doctor);
	if (visit->identity.facts != NULL) {
		rows_put(&visit->identity.facts, "server:%s\n",
		    endpoint->label);
		doctor->identities[doctor->known++] = visit->identity;
	}
	findings_print_new(&doctor->findings);
	visit_end(visit);
	free(visit->known);
	free(scratch);
}

/* --- the result ------------------------------------------------------- */

/* A majority of several servers is enough: errors of the others are warnings.
 */
static int
examine_servers(struct doctor *doctor)
{
	const struct opts *opts = doctor->opts;
	size_t failed = 0;
	int status = EXITCODE_OK;

	for (size_t i = 0; i < opts->server_count; i++) {
		size_t from = doctor->findings.count;
		int one;

		examine_endpoint(doctor, &opts->servers[i]);
		one = findings_status(&doctor->findings, from);
		failed += one != 0;
		/* Refused by some and without a reply of others: 69. */
		if (one != 0 && status != EXITCODE_UNAVAILABLE)
			status = one;
	}
	return opts->server_count - failed >= votes_majority(opts->server_count)
		   ? EXITCODE_OK
		   : status;
}

int
doctor(const struct opts *opts, struct loop *loop)
{
	struct doctor doctor = {.opts = opts,
	    .loop = loop,
	    .findings = {.is_json = opts->json}};
	struct findings *findings = &doctor.findings;
	int servers = examine_servers(&doctor), status;
	size_t rest = findings->count;

	check_fleet_servers(doctor.identities, doctor.known, opts, findings);
	findings_print_new(findings);
	check_host(findings, opts);
	findings_print_new(findings);
	status = findings_status(findings, rest);
	if (status == EXITCODE_OK)
		status = servers;
	if (status == EXITCODE_OK && findings->counts[FINDING_WARNING] +
					     findings->counts[FINDING_ERROR] >
					 0)
		status = EXITCODE_WARNINGS;
	findings_print_end(findings, status);
	for (size_t i = 0; i < doctor.known; i++)
		free(doctor.identities[i].facts);
	findings_fini(findings);
	if (!ferror(stdout) && fflush(stdout) == 0)
		return status;
	log_warn("cannot write to stdout");
	return EXITCODE_RESOURCE;
}
