#include "doctor/doctor_tls.h"

#include <inttypes.h>
#include <string.h>

#include "redis/tls.h"

enum { DAY_S = 24 * 60 * 60, DAYS_ENOUGH = 14 };

/* whose: "the server's". */
static void
add_certificate(struct findings *findings, const char *whose,
    const struct tls_expiry *expiry)
{
	int64_t days = expiry->in_s / DAY_S;

	if (!expiry->known)
		return;
	if (days >= DAYS_ENOUGH) {
		findings_add(findings, FINDING_OK, "certificate",
		    "%s is valid for %" PRId64 " days", whose, days);
		return;
	}
	if (expiry->in_s < 0)
		findings_add(findings, FINDING_WARNING, "certificate",
		    "%s has expired", whose);
	else if (days < 1)
		findings_add(findings, FINDING_WARNING, "certificate",
		    "%s expires within a day: then no run gets a lock", whose);
	else
		findings_add(findings, FINDING_WARNING, "certificate",
		    "%s expires in %" PRId64 " day%s: then no run gets a lock",
		    whose, days, days == 1 ? "" : "s");
	findings_set_remedy(findings, "renew it");
}

static bool
is_local(const struct doctor_visit *visit)
{
	char address[64];

	return !server_address(visit->server, address, sizeof(address)) ||
	       strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

void
doctor_tls_describe(struct doctor_visit *visit)
{
	const struct endpoint *endpoint = visit->endpoint;
	struct tls_session session;

	if (server_describe_tls(visit->server, &session)) {
		findings_add(visit->findings, FINDING_OK, "tls", "%s, %s",
		    session.protocol, session.cipher);
		add_certificate(visit->findings, "the server's",
		    &session.server_expiry);
		add_certificate(visit->findings, "that of --tls-cert",
		    &session.own_expiry);
	} else if (!endpoint->tls && !is_local(visit)) {
		findings_add(visit->findings, FINDING_NOTE, "tls",
		    "the connection is not encrypted%s",
		    endpoint->password != NULL ||
			    endpoint->password_file != NULL
			? ", nor is the password"
			: "");
		findings_set_remedy(visit->findings,
		    "rediss:// in place of redis://, if the server can");
	}
}
