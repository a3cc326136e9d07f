#include "doctor/doctor_clock.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/num.h"
#include "lock/votes.h"
#include "redis/reply.h"

/* Clocks that are kept by NTP differ by less; a step is more than drift. */
enum { FAR_US = 1000000, STEP_MIN_US = 10000 };

/* --- measuring -------------------------------------------------------- */

/* -1: it is none. */
static int64_t
read_time(const struct value *value)
{
	const char *seconds = value_text(value_at(value, 0));
	const char *micros = value_text(value_at(value, 1));
	int64_t s, us;

	if (seconds == NULL || micros == NULL ||
	    num_int(seconds, 0, INT64_MAX / 1000000 - 1, &s) == -1 ||
	    num_int(micros, 0, 999999, &us) == -1)
		return -1;
	return s * 1000000 + us;
}

/* A server that runs a long script gives this reply to all commands. */
static bool
is_busy(const struct doctor_question *question)
{
	return question->outcome == DOCTOR_FAILED &&
	       reply_judge(REPLY_ACQUIRING, question->error) == REPLY_RETRY;
}

static bool
probe(struct doctor_clock *clock, struct doctor_visit *visit, bool measured)
{
	struct doctor_question question = {.argv = {"TIME"}};
	bool answered =
	    doctor_visit_ask(visit, &question, 1) && !is_busy(&question);

	if (!answered)
		doctor_visit_report_end(visit, &question);
	else if (measured)
		clock->samples[clock->count++] =
		    (struct doctor_sample){.sent_us = question.sent_us,
			.took_us = question.took_us,
			.time_us = read_time(question.value)};
	doctor_visit_forget(&question, 1);
	return answered;
}

bool
doctor_clock_begin(struct doctor_clock *clock, struct doctor_visit *visit)
{
	clock->count = 0;
	/* The first reply includes the time to connect. */
	if (!probe(clock, visit, false))
		return false;
	for (int i = 0; i < DOCTOR_PROBES; i++)
		if (!probe(clock, visit, true))
			return false;
	return true;
}

/* --- computing -------------------------------------------------------- */

static int64_t
offset_of(const struct doctor_sample *sample)
{
	return sample->time_us - sample->sent_us - sample->took_us / 2;
}

bool
doctor_clock_offset(const struct doctor_clock *clock, int64_t *offset_us,
    int64_t *error_us)
{
	const struct doctor_sample *best = NULL;

	for (size_t i = 0; i < clock->count; i++) {
		const struct doctor_sample *sample = &clock->samples[i];

		if (sample->time_us != -1 &&
		    (best == NULL || sample->took_us < best->took_us))
			best = sample;
	}
	if (best == NULL)
		return false;
	*offset_us = offset_of(best);
	*error_us = best->took_us / 2;
	return true;
}

int64_t
doctor_clock_step(const struct doctor_clock *clock)
{
	int64_t most = 0;

	for (size_t i = 1; i < clock->count; i++) {
		const struct doctor_sample *a = &clock->samples[i - 1];
		const struct doctor_sample *b = &clock->samples[i];
		int64_t step = offset_of(b) - offset_of(a);
		int64_t doubt = a->took_us / 2 + b->took_us / 2 + STEP_MIN_US;

		if (a->time_us != -1 && b->time_us != -1 &&
		    llabs(step) > doubt && llabs(step) > llabs(most))
			most = step;
	}
	return most;
}

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* --- findings --------------------------------------------------------- */

/* Each of several servers has so long for its vote. A single server may take
 * longer, but then few tries to renew fit into the ttl. */
static void
add_round_trip(const struct doctor_clock *clock, struct doctor_visit *visit)
{
	int64_t took[DOCTOR_PROBES + 1] = {0}, median, most;
	int64_t ttl_ms = visit->opts->ttl_ms;
	bool slow;

	for (size_t i = 0; i < clock->count; i++)
		took[i] = clock->samples[i].took_us;
	qsort(took, clock->count, sizeof(*took), compare);
	median = took[clock->count / 2];
	most = took[clock->count - 1];
	slow = most > votes_patience_ms(ttl_ms) * 1000;
	findings_add(visit->findings, slow ? FINDING_WARNING : FINDING_OK,
	    "round-trip",
	    "%.2f ms (median of %zu), at most %.2f ms; the ttl is %g s",
	    (double)median / 1000, clock->count, (double)most / 1000,
	    (double)ttl_ms / 1000);
	if (slow)
		findings_set_remedy(visit->findings,
		    "use a server that is nearer, or a longer --ttl");
}

static void
add_difference(const struct doctor_clock *clock, struct doctor_visit *visit)
{
	int64_t offset_us, error_us, ahead_us;
	bool far;

	if (!doctor_clock_offset(clock, &offset_us, &error_us)) {
		findings_add(visit->findings, FINDING_NOTE, "clock",
		    "the server does not say its time");
		return;
	}
	ahead_us = offset_us - clock_epoch() * 1000 + clock_now_us();
	far = llabs(ahead_us) > FAR_US + error_us;
	findings_add(visit->findings, far ? FINDING_WARNING : FINDING_OK,
	    "clock", "%.3f s %s this host's", (double)llabs(ahead_us) / 1e6,
	    ahead_us < 0 ? "behind" : "ahead of");
	if (far)
		findings_set_remedy(visit->findings,
		    "keep both clocks by NTP: if the server's is set forward "
		    "later, keys expire too soon");
}

void
doctor_clock_end(struct doctor_clock *clock, struct doctor_visit *visit)
{
	int64_t step_us;

	if (!probe(clock, visit, true))
		return;
	add_round_trip(clock, visit);
	add_difference(clock, visit);
	step_us = doctor_clock_step(clock);
	if (step_us == 0)
		return;
	findings_add(visit->findings, FINDING_WARNING, "clock-step",
	    "the server's clock was set %s by %.3f s just now",
	    step_us < 0 ? "back" : "forward", (double)llabs(step_us) / 1e6);
	findings_set_remedy(visit->findings,
	    "let NTP slew the clock: a step forward ends leases too soon");
}
