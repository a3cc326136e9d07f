/* Round trips to a server, and its clock: probes by TIME. */
#ifndef DOCTOR_CLOCK_H
#define DOCTOR_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "doctor/doctor_visit.h"

enum { DOCTOR_PROBES = 9 };

struct doctor_sample {
	int64_t sent_us; /* of clock_now_us */
	int64_t took_us;
	int64_t time_us; /* the server's clock; -1: not known */
};

struct doctor_clock {
	/* One more, right before the end. */
	struct doctor_sample samples[DOCTOR_PROBES + 1];
	size_t count;
};

/* Opens the connection, and measures on it. False as doctor_visit_ask, when
 * that has been reported. */
bool doctor_clock_begin(struct doctor_clock *clock, struct doctor_visit *visit);
/* Measures once more, and adds what follows from all. */
void doctor_clock_end(struct doctor_clock *clock, struct doctor_visit *visit);

/* Pure. By how much the server's clock is ahead of clock_now_us, by the sample
 * that knows best; and how much that may be wrong. False without samples. */
bool doctor_clock_offset(const struct doctor_clock *clock, int64_t *offset_us,
    int64_t *error_us);
/* Pure. By how much it was stepped between two samples, beyond doubt. */
int64_t doctor_clock_step(const struct doctor_clock *clock);

#endif
