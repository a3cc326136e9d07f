/* Several servers (Redlock): whether they are independent of each other, and
 * whose votes count now. */
#ifndef DOCTOR_SEVERAL_H
#define DOCTOR_SEVERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "doctor/findings.h"
#include "options/opts.h"

struct doctor_identity {
	const char *label; /* of its endpoint, which must last */
	char run_id[64];   /* or empty, like the next */
	char address[64];
	int64_t uptime_s; /* -1: not known */
	bool has_clock;	  /* with the next two: see doctor_clock_offset */
	int64_t offset_us;
	int64_t error_us;
};

struct doctor_several {
	/* Those that have replied; of a cluster, the last node. */
	struct doctor_identity list[OPTS_SERVERS_MAX];
	size_t count;
};

void doctor_several_add(struct doctor_several *several,
    const struct doctor_identity *identity);
/* Adds nothing for a single server. */
void doctor_several_compare(const struct doctor_several *several,
    const struct opts *opts, struct findings *findings);

#endif
