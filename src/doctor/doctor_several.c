#include "doctor/doctor_several.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exitcode.h"
#include "lock/votes.h"

enum { FAR_US = 1000000 };

void
doctor_several_add(struct doctor_several *several,
    const struct doctor_identity *identity)
{
	size_t last = several->count;

	if (last > 0 && several->list[last - 1].label == identity->label)
		last--;
	if (last == OPTS_SERVERS_MAX)
		return;
	several->list[last] = *identity;
	several->count = last + 1;
}

/* An error that ends a run with this status, but a warning if the servers that
 * are left are a majority. */
__attribute__((format(printf, 5, 6))) static void
add_loss(struct findings *findings, bool enough, int status, const char *check,
    const char *format, ...)
{
	va_list arguments;
	char text[640];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (enough)
		findings_add(findings, FINDING_WARNING, check, "%s", text);
	else
		findings_add_error(findings, status, check, "%s", text);
}

static bool
is_same(const struct doctor_identity *a, const struct doctor_identity *b)
{
	return *a->run_id != '\0' && strcmp(a->run_id, b->run_id) == 0;
}

static int64_t
abstains_for_ms(const struct doctor_identity *one, const struct opts *opts)
{
	int64_t left_ms = opts->min_uptime_ms - one->uptime_s * 1000;

	return one->uptime_s < 0 || left_ms <= 0 ? 0 : left_ms;
}

/* Of those that reply, each one once, without those that abstain. */
static bool
have_majority(const struct doctor_several *several, const struct opts *opts)
{
	size_t votes = 0;

	for (size_t i = 0; i < several->count; i++) {
		const struct doctor_identity *one = &several->list[i];
		size_t j = 0;

		while (j < i && !is_same(&several->list[j], one))
			j++;
		votes += j == i && abstains_for_ms(one, opts) == 0;
	}
	return votes >= votes_majority(opts->server_count);
}

static bool
compare_places(const struct doctor_identity *a, const struct doctor_identity *b,
    bool enough, struct findings *findings)
{
	if (is_same(a, b)) {
		add_loss(findings, enough, EXITCODE_USAGE, "same-server",
		    "%.256s and %.256s are the same server", a->label,
		    b->label);
		findings_set_remedy(findings, "name it once");
		return false;
	}
	if (*a->address != '\0' && strcmp(a->address, b->address) == 0) {
		findings_add(findings, FINDING_WARNING, "same-host",
		    "%.256s and %.256s are on the same host", a->label,
		    b->label);
		findings_set_remedy(findings,
		    "run them on different machines, which fail apart");
		return false;
	}
	return true;
}

static bool
compare_clocks(const struct doctor_identity *a, const struct doctor_identity *b,
    struct findings *findings)
{
	int64_t apart_us = llabs(a->offset_us - b->offset_us);

	if (!a->has_clock || !b->has_clock ||
	    apart_us <= FAR_US + a->error_us + b->error_us)
		return true;
	findings_add(findings, FINDING_WARNING, "clocks",
	    "those of %.256s and %.256s differ by %.1f s", a->label, b->label,
	    (double)apart_us / 1e6);
	findings_set_remedy(findings, "keep them by NTP");
	return false;
}

static bool
check_uptime(const struct doctor_identity *identity, const struct opts *opts,
    bool enough, struct findings *findings)
{
	int64_t left_ms = abstains_for_ms(identity, opts);

	if (left_ms == 0)
		return true;
	add_loss(findings, enough, EXITCODE_UNAVAILABLE, "uptime",
	    "%.256s has started %" PRId64 " s ago: it abstains for another "
	    "%" PRId64 " s",
	    identity->label, identity->uptime_s, (left_ms + 999) / 1000);
	findings_set_remedy(findings,
	    "wait; or --min-uptime 0, if all servers store each write at once");
	return false;
}

static void
check_count(size_t count, struct findings *findings)
{
	if (count % 2 != 0) {
		findings_add(findings, FINDING_OK, "majority",
		    "%zu of %zu servers may fail", (count - 1) / 2, count);
		return;
	}
	findings_add(findings, count == 2 ? FINDING_WARNING : FINDING_NOTE,
	    "majority", "%zu of %zu servers may fail, as with one server fewer",
	    (count - 1) / 2, count);
	findings_set_remedy(findings, "name an odd number of servers");
}

void
doctor_several_compare(const struct doctor_several *several,
    const struct opts *opts, struct findings *findings)
{
	bool apart = true, alike = true, old = true;
	bool enough = have_majority(several, opts);

	if (opts->server_count < 2)
		return;
	findings->subject = "all servers";
	check_count(opts->server_count, findings);
	for (size_t i = 0; i < several->count; i++) {
		const struct doctor_identity *one = &several->list[i];

		for (size_t j = 0; j < i; j++) {
			const struct doctor_identity *other = &several->list[j];

			apart = compare_places(other, one, enough, findings) &&
				apart;
			alike = compare_clocks(other, one, findings) && alike;
		}
	}
	for (size_t i = 0; i < several->count; i++)
		old = check_uptime(&several->list[i], opts, enough, findings) &&
		      old;
	if (apart)
		findings_add(findings, FINDING_OK, "same-host",
		    "no two of them are on the same host");
	if (alike)
		findings_add(findings, FINDING_OK, "clocks",
		    "they agree within a second");
	if (old)
		findings_add(findings, FINDING_OK, "uptime",
		    "all are up for longer than --min-uptime");
}
