#include "sink/metrics_text.h"

#include <stdlib.h>

#include "tap.h"

static char text[65536];

static size_t
write_text(const struct metrics *metrics, const char *label)
{
	return metrics_text_write(metrics, label, text, sizeof(text));
}

/* Each value is another one. */
static void
fill(struct metrics *metrics)
{
	metrics_init(metrics);
	for (int i = 0; i < METRICS_VALUE_COUNT; i++)
		metrics->values[i] = 1700000000001 + i;
	for (int i = 0; i < METRICS_RUNS_MAX; i++)
		metrics->runs[i] = (struct metrics_run){.byte = i + 1,
		    .holds = i % 2 == 0,
		    .since_ms = 1700000000000 + i};
	metrics->run_count = METRICS_RUNS_MAX;
}

static void
test_round_trip(void)
{
	struct metrics metrics, again;

	fill(&metrics);
	ok(write_text(&metrics, "a\\\"b") < metrics_text_room("a\\\"b"),
	    "there is room");
	metrics_init(&again);
	ok(!metrics_text_read(&again, "a\\\"b", text), "it is read");
	ok(memcmp(again.values, metrics.values, sizeof(again.values)) == 0,
	    "the values");
	is_int((int64_t)again.run_count, METRICS_RUNS_MAX, "the runs");
	is_int(again.runs[63].byte, 64, "the byte of the last one");
	ok(!again.runs[63].holds, "it waits");
	is_int(again.runs[63].since_ms, 1700000000063, "since then");

	metrics_init(&metrics);
	write_text(&metrics, "k");
	fill(&again);
	metrics_init(&again);
	ok(!metrics_text_read(&again, "k", text), "nothing is read");
	ok(memcmp(&again, &metrics, sizeof(again)) == 0, "as nothing");
}

static bool
reads(const char *lines, struct metrics *metrics)
{
	metrics_init(metrics);
	snprintf(text, sizeof(text), "%s", lines);
	return !metrics_text_read(metrics, "k", text);
}

static const char *const damaged[] = {
    "",
    "\n# end\n",
    "# end",
    "rlockrun_lost_total{key=\"k\"} 7",
    "# end\n# end\n",
    "rlockrun_lost_total{key=\"l\"} 7\n# end\n",
    "rlockrun_lost_total{key=\"k\"} 7x\n# end\n",
    "rlockrun_lost_total{key=\"k\"} \n# end\n",
    "rlockrun_lost_total{key=\"k\"} -7\n# end\n",
    "rlockrun_lost_total{key=\"k\"} 7.000\n# end\n",
    "rlockrun_lost_total{key=\"k\"} 9999999999999999999999\n# end\n",
    "rlockrun_lost_total{key=\"k\",x=\"\"} 7\n# end\n",
    "rlockrun_wait_seconds_sum{key=\"k\"} 7\n# end\n",
    "rlockrun_wait_seconds_sum{key=\"k\"} 7.00\n# end\n",
    "rlockrun_wait_seconds_sum{key=\"k\"} 7.0000\n# end\n",
    "# run 0 holds 1\n# end\n",
    "# run 65 holds 1\n# end\n",
    "# run 1 sleeps 1\n# end\n",
    "# run 1 holds\n# end\n",
    "# run 1 holds 1\n# run 1 waits 2\n# run 1 x 2\n# end\n",
    "# HELP another_metric x\n# end\n",
};

static void
test_damaged(void)
{
	struct metrics metrics;

	ok(reads("# end\n", &metrics), "an end is all that is required");
	for (size_t i = 0; i < LENGTH(damaged); i++) {
		ok(!reads(damaged[i], &metrics), "damaged: %zu", i);
		is_int(metrics.values[METRICS_LOST], 0, "counted anew");
	}
	ok(!reads("nonsense\nrlockrun_lost_total{key=\"k\"} 7\n# end\n",
	       &metrics),
	    "a damaged line");
	is_int(metrics.values[METRICS_LOST], 7, "the others count");
}

/* Names, labels and reasons that we do not know. */
static void
test_later(void)
{
	static const char *const later[] = {
	    "rlockrun_replaced_total{key=\"k\"} 3",
	    "rlockrun_runs_total{key=\"k\",outcome=\"lost\",reason=\"busy\"} 7",
	    "rlockrun_pause_seconds{key=\"k\"} 3.250",
	    "rlockrun_lost_total_by{key=\"k\",node=\"a_b\"} 3",
	    "rlockrun_runs_total{key=\"k\",outcome=\"skipped\",reason=\"n\"} 3",
	};
	static const char *const others[] = {
	    "rlockrun_replaced_total{key=\"other\"} 3",
	    "rlockrun_replaced_total{key=\"k\"} x",
	    "rlockrun_replaced_total{key=\"k\"} 3.",
	    "rlockrun_replaced_total{key=\"k\",} 3",
	    "rlockrun_replaced_total{key=\"k\"",
	    "rlockrun_lost_total{key=\"k\"} 3.250",
	    "rlockrun_runs_total{key=\"k\",outcome=\"lost\",reason=\"lost\"} x",
	    "other_replaced_total{key=\"k\"} 3",
	};
	struct metrics metrics;
	char lines[256];

	for (size_t i = 0; i < LENGTH(later); i++) {
		snprintf(lines, sizeof(lines),
		    "%s\nrlockrun_lost_total{key=\"k\"} 7\n# end\n", later[i]);
		ok(reads(lines, &metrics), "a later version's: %zu", i);
		is_int(metrics.values[METRICS_LOST], 7, "the others count");
	}
	for (size_t i = 0; i < LENGTH(others); i++) {
		snprintf(lines, sizeof(lines), "%s\n# end\n", others[i]);
		ok(!reads(lines, &metrics), "damaged all the same: %zu", i);
	}
}

static void
test_add(void)
{
	struct metrics metrics, changes;

	metrics_init(&metrics);
	metrics_init(&changes);
	metrics.values[METRICS_LOST] = 3;
	metrics.values[METRICS_LAST_STATUS] = 1;
	metrics.values[METRICS_ENDED + ENDING_LOST] = 3;
	changes.values[METRICS_LOST] = 1;
	changes.values[METRICS_ENDED + ENDING_LOST] = 1;
	metrics_add(&metrics, &changes);
	is_int(metrics.values[METRICS_LOST], 4, "counters are added");
	is_int(metrics.values[METRICS_ENDED + ENDING_LOST], 4,
	    "so are the runs");
	is_int(metrics.values[METRICS_LAST_STATUS], 1, "unknown: it stays");
	changes.values[METRICS_LAST_STATUS] = 0;
	metrics_add(&metrics, &changes);
	is_int(metrics.values[METRICS_LAST_STATUS], 0, "the last one counts");
}

/* A period that is stated again does not begin anew. */
static void
test_statements(void)
{
	static const struct {
		int64_t expect_ms, at_ms, since_ms;
	} runs[] = {
	    {METRICS_UNKNOWN, METRICS_UNKNOWN, METRICS_UNKNOWN},
	    {5000, 90000, 90000},
	    {5000, 91000, 90000},
	    {METRICS_UNKNOWN, METRICS_UNKNOWN, 90000},
	    {9000, 30000, 90000},
	    {9000, 29999, 29999}, /* the clock was stepped back */
	    {9000, 40000, 29999},
	    {0, 50000, METRICS_UNKNOWN},
	    {METRICS_UNKNOWN, METRICS_UNKNOWN, METRICS_UNKNOWN},
	    {9000, 60000, 60000},
	};
	struct metrics metrics;

	metrics_init(&metrics);
	for (size_t i = 0; i < LENGTH(runs); i++) {
		struct metrics changes;

		metrics_init(&changes);
		changes.values[METRICS_EXPECT] = runs[i].expect_ms;
		changes.values[METRICS_EXPECT_SINCE] = runs[i].at_ms;
		metrics_add(&metrics, &changes);
		is_int(metrics.values[METRICS_EXPECT_SINCE], runs[i].since_ms,
		    "since when a success is expected");
	}
}

static void
test_runs(void)
{
	struct metrics metrics;

	metrics_init(&metrics);
	metrics_count_runs(&metrics, 9000);
	is_int(metrics.values[METRICS_HOLDING], 0, "nobody holds");
	is_int(metrics.values[METRICS_HELD_SINCE], METRICS_UNKNOWN, "since");
	metrics.runs[0] = (struct metrics_run){1, true, 5000};
	metrics.runs[1] = (struct metrics_run){2, true, 4000};
	metrics.runs[2] = (struct metrics_run){3, false, 6000};
	metrics.runs[3] = (struct metrics_run){4, true, 7000};
	metrics.run_count = 4;
	metrics_count_runs(&metrics, 9000);
	is_int(metrics.values[METRICS_HOLDING], 3, "three hold");
	is_int(metrics.values[METRICS_HELD_SINCE], 4000, "the first since");
	is_int(metrics.values[METRICS_WAITING], 1, "one waits");
	is_int(metrics.values[METRICS_WAITING_SINCE], 6000, "since");
	is_int(metrics.values[METRICS_UPDATED], 9000, "written now");
}

int
main(void)
{
	test_round_trip();
	test_damaged();
	test_later();
	test_add();
	test_statements();
	test_runs();
	return tap_done();
}
