#include "doctor/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "base/log.h"
#include "doctor/doctor_access.h"
#include "doctor/doctor_advice.h"
#include "doctor/doctor_clock.h"
#include "doctor/doctor_cluster.h"
#include "doctor/doctor_report.h"
#include "doctor/doctor_sentinels.h"
#include "doctor/doctor_server.h"
#include "doctor/doctor_several.h"
#include "doctor/doctor_sinks.h"
#include "doctor/doctor_system.h"
#include "doctor/doctor_tls.h"
#include "doctor/doctor_write.h"
#include "lock/votes.h"

struct doctor {
	const struct opts *opts;
	struct loop *loop;
	struct findings findings;
	size_t printed;
	struct doctor_several several;
};

static void
report(struct doctor *doctor)
{
	if (!doctor->opts->json)
		doctor_report_text(&doctor->findings, doctor->printed);
	doctor->printed = doctor->findings.count;
}

static struct doctor_visit
new_visit(struct doctor *doctor)
{
	return (struct doctor_visit){.opts = doctor->opts,
	    .loop = doctor->loop,
	    .findings = &doctor->findings};
}

/* --- servers ---------------------------------------------------------- */

static void
note_identity(struct doctor *doctor, const struct doctor_visit *visit,
    const struct doctor_server *server, const struct doctor_clock *clock)
{
	struct doctor_identity identity = {.label = visit->endpoint->label,
	    .uptime_s = server->uptime_s};

	memcpy(identity.run_id, server->run_id, sizeof(identity.run_id));
	if (!server_address(visit->server, identity.address,
		sizeof(identity.address)))
		snprintf(identity.address, sizeof(identity.address), "%s",
		    visit->endpoint->transport == URL_UNIX ? "localhost" : "");
	identity.has_clock =
	    doctor_clock_offset(clock, &identity.offset_us, &identity.error_us);
	doctor_several_add(&doctor->several, &identity);
}

/* One server, at whatever address it was found. Without a scratch key its
 * permissions are not examined. */
static void
examine_server(struct doctor *doctor, struct doctor_visit *visit,
    const char *scratch)
{
	struct doctor_clock clock;
	struct doctor_server server;

	if (!doctor_clock_begin(&clock, visit))
		return;
	doctor->findings.subject = server_label(visit->server);
	doctor_tls_describe(visit);
	if (doctor_server_ask(&server, visit)) {
		note_identity(doctor, visit, &server, &clock);
		/* Without a scratch key it is one of a cluster's primaries. */
		if (doctor_advise(&server, visit) &&
		    doctor_write_check(visit, scratch,
			scratch != NULL && doctor_server_is_node(&server)) &&
		    (scratch == NULL || doctor_access_check(visit, scratch)))
			doctor_clock_end(&clock, visit);
	}
	doctor_server_fini(&server);
}

/* A primary of a cluster. */
static void
examine_primary(void *arg, const struct endpoint *node)
{
	struct doctor *doctor = arg;
	struct doctor_visit visit = new_visit(doctor);

	doctor->findings.subject = node->label;
	doctor_visit_begin(&visit, node, NULL);
	examine_server(doctor, &visit, NULL);
	doctor_visit_end(&visit);
	report(doctor);
}

static void
examine_endpoint(struct doctor *doctor, const struct endpoint *endpoint)
{
	struct doctor_visit visit = new_visit(doctor);
	char *scratch = doctor_access_scratch(doctor->opts);

	doctor->findings.subject = endpoint->label;
	if (endpoint->master != NULL)
		doctor_sentinels_compare(&visit, endpoint);
	doctor_visit_begin(&visit, endpoint, scratch);
	if (!endpoint->cluster)
		examine_server(doctor, &visit, scratch);
	else if (doctor_cluster_check(&visit) &&
		 doctor_access_check(&visit, scratch)) {
		report(doctor);
		doctor_cluster_each(&visit, examine_primary, doctor);
	}
	doctor_visit_end(&visit);
	free(scratch);
	report(doctor);
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

static int
conclude(const struct doctor *doctor, int servers, size_t rest)
{
	int status = findings_status(&doctor->findings, rest);

	if (status != 0)
		return status;
	if (servers != EXITCODE_OK)
		return servers;
	return findings_count(&doctor->findings, FINDING_WARNING) > 0 ||
		       findings_count(&doctor->findings, FINDING_ERROR) > 0
		   ? EXITCODE_WARNINGS
		   : EXITCODE_OK;
}

static int
finish(struct doctor *doctor, int status)
{
	if (doctor->opts->json)
		doctor_report_json(&doctor->findings, status);
	else
		doctor_report_summary(&doctor->findings);
	findings_fini(&doctor->findings);
	if (!ferror(stdout) && fflush(stdout) == 0)
		return status;
	log_warn("cannot write to stdout");
	return EXITCODE_RESOURCE;
}

int
doctor(const struct opts *opts, struct loop *loop)
{
	struct doctor doctor = {.opts = opts, .loop = loop};
	int servers = examine_servers(&doctor);
	size_t rest = doctor.findings.count;

	doctor_several_compare(&doctor.several, opts, &doctor.findings);
	report(&doctor);
	doctor_system_check(&doctor.findings);
	doctor_sinks_check(&doctor.findings, opts);
	report(&doctor);
	return finish(&doctor, conclude(&doctor, servers, rest));
}
