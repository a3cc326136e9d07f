#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "options/opts.h"
#include "sink/metrics_file.h"
#include "sink/sinks.h"
#include "sink/writer.h"

enum {
	SETTLE_MS = 200,   /* what lasts longer is shown while it lasts */
	PERIOD_MS = 30000, /* of what has not ended */
};

struct lock_metrics {
	char *name;
	struct metrics_file file; /* the thread's */
	struct metrics changes;	  /* since the last round */
	size_t place;		  /* in the queue, of the last update */
	/* A nested run is a part of the outer one, which counts. */
	bool joined;
	bool lost; /* the run goes on without it */
};

/* All locks are written one after the other, in rounds. */
struct metrics_sink {
	const struct opts *opts;
	struct loop *loop;
	struct loop_timer timer; /* the next round */
	struct writer_source source;
	const struct facts *facts;
	struct metrics_run run; /* since_ms is 0: it neither waits nor holds */
	int64_t lease_left_ms;	/* the least */
	_Atomic bool warned;
	struct lock_metrics locks[]; /* as opts->keys */
};

/* What is written of a lock in a round. */
struct update {
	struct lock_metrics *lock;
	struct metrics_run run;
	struct metrics changes;
};

/* --- writing ---------------------------------------------------------- */

/* Once is enough: the next file in the folder fails, too. */
static void
metrics_warn(struct metrics_sink *sink, const struct lock_metrics *lock,
    const char *what, const char *why)
{
	char name[1024], folder[1024];

	if (atomic_exchange(&sink->warned, true))
		return;
	escape_quote(lock->name, name, sizeof(name));
	escape_quote(lock->file.folder, folder, sizeof(folder));
	log_warnx("%s: metrics in %s: %s%s", name, folder, what, why);
}

static void
write_update(void *arg, const void *data, size_t size)
{
	const struct update *update = data;
	struct metrics_file *file = &update->lock->file;
	const char *why;

	(void)size;
	metrics_add(&file->changes, &update->changes);
	why = metrics_file_update(file, &update->run);
	if (why != NULL)
		metrics_warn(arg, update->lock, "not written: ", why);
	else if (file->damaged)
		metrics_warn(arg, update->lock,
		    "the file was damaged; what cannot be read is counted anew",
		    "");
}

/* The locks of an outer run are written by that one. What does not fit into the
 * queue waits for the next round. */
static void
write_round(void *arg)
{
	struct metrics_sink *sink = arg;

	for (size_t i = 0; i < sink->opts->key_count; i++) {
		struct lock_metrics *lock = &sink->locks[i];
		struct update update = {.lock = lock, .changes = lock->changes};

		if (lock->joined)
			continue;
		if (!lock->lost)
			update.run = sink->run;
		lock->place = SIZE_MAX;
		if (!writer_put(&sink->source, &update, sizeof(update)))
			continue;
		lock->place = sink->source.put;
		metrics_init(&lock->changes);
	}
	writer_start(sink->source.writer);
	loop_timer_set(sink->loop, &sink->timer,
	    sink->run.since_ms != 0 ? clock_now() + PERIOD_MS : CLOCK_NEVER);
}

/* --- events ----------------------------------------------------------- */

static void
count_end(const struct metrics_sink *sink, struct metrics *changes,
    const struct event *event)
{
	enum event_outcome outcome = event_outcome(event);
	bool failed =
	    event->ending == ENDING_JOB && outcome == EVENT_OUTCOME_FAILURE;
	int64_t held_ms = facts_held_ms(sink->facts);
	int64_t *values = changes->values;

	if (held_ms >= 0) {
		values[METRICS_HOLD_SUM] += held_ms;
		values[METRICS_HOLD_COUNT]++;
	}
	values[failed ? METRICS_JOB_FAILED : METRICS_ENDED + event->ending]++;
	if (outcome == EVENT_OUTCOME_BUSY || outcome == EVENT_OUTCOME_SKIPPED)
		return;
	values[METRICS_LAST_END] = clock_epoch();
	values[METRICS_LAST_STATUS] = event_shell_status(event->status);
	if (outcome == EVENT_OUTCOME_SUCCESS)
		values[METRICS_LAST_SUCCESS] = values[METRICS_LAST_END];
}

/* What the event, which is about that lock, changes. */
static void
count_event(const struct metrics_sink *sink, struct lock_metrics *lock,
    const struct event *event)
{
	int64_t *values = lock->changes.values;

	switch (event->type) {
	case EVENT_ACQUIRED:
		values[METRICS_WAIT_SUM] += facts_waited_ms(sink->facts);
		values[METRICS_WAIT_COUNT]++;
		break;
	case EVENT_JOINED:
		lock->joined = true;
		break;
	case EVENT_UNLOCKED:
		values[METRICS_UNLOCKED]++;
		break;
	case EVENT_JOB_STARTED:
		values[METRICS_LAST_START] = clock_epoch();
		/* Otherwise what was stated earlier stays. */
		if (sink->opts->lock.expect_ms == CONFIG_EXPECT_UNSTATED)
			break;
		values[METRICS_EXPECT] = sink->opts->lock.expect_ms;
		values[METRICS_EXPECT_SINCE] = values[METRICS_LAST_START];
		break;
	case EVENT_RENEWED:
		values[METRICS_RENEWAL_SUM] += event->took_ms;
		values[METRICS_RENEWAL_COUNT]++;
		if (!lock->lost)
			values[METRICS_LEASE_LEFT] = sink->lease_left_ms;
		break;
	case EVENT_RENEWAL_FAILED:
		values[METRICS_RENEWAL_FAILURES]++;
		break;
	case EVENT_ENDING:
		if (event_outcome(event) != EVENT_OUTCOME_LOST ||
		    !sink->run.holds || lock->lost)
			break;
		lock->lost = true;
		values[METRICS_LOST]++;
		values[METRICS_LAST_LOST] = clock_epoch();
		values[METRICS_LEASE_LEFT] = 0;
		break;
	case EVENT_ENDED:
		count_end(sink, &lock->changes, event);
		break;
	default:
		break;
	}
}

static void
metrics_on_event(void *arg, const struct event *event)
{
	struct metrics_sink *sink = arg;
	const struct opts *opts = sink->opts;
	const struct metrics_run none = {.since_ms = 0};
	size_t kept = 0; /* locks that are not lost */

	if (event->type == EVENT_RENEWED &&
	    event->left_ms < sink->lease_left_ms)
		sink->lease_left_ms = event->left_ms > 0 ? event->left_ms : 0;
	for (size_t i = 0; i < opts->key_count; i++) {
		if (event->name == NULL ||
		    strcmp(event->name, opts->keys[i].name) == 0)
			count_event(sink, &sink->locks[i], event);
		kept += !sink->locks[i].lost;
	}
	switch (event->type) {
	case EVENT_BEGUN:
	case EVENT_ACQUIRED:
		sink->run =
		    (struct metrics_run){.holds = event->type == EVENT_ACQUIRED,
			.since_ms = clock_epoch()};
		/* So that nothing delays the start of the job. */
		loop_timer_set(sink->loop, &sink->timer,
		    clock_now() + SETTLE_MS);
		break;
	case EVENT_RENEWAL_FAILED:
		write_round(sink);
		break;
	case EVENT_ENDING:
		if (event_outcome(event) != EVENT_OUTCOME_LOST ||
		    !sink->run.holds)
			break;
		if (kept == 0)
			sink->run = none;
		write_round(sink);
		break;
	case EVENT_UNLOCKED:
	case EVENT_RELEASED:
	case EVENT_KEPT:
	case EVENT_LEFT:
	case EVENT_UNCONFIRMED:
		sink->run = none;
		break;
	case EVENT_ENDED:
		sink->run = none;
		write_round(sink);
		break;
	default:
		break;
	}
}

static void
report_no_metrics(const struct opts *opts, int status, const char *why)
{
	char folder[1024];

	escape_quote(opts->metrics_folder, folder, sizeof(folder));
	if (opts->metrics_demanded)
		log_die(status, "cannot write metrics into %s: %s", folder,
		    why);
	log_warnx("cannot write metrics into %s: %s; there will be no metrics",
	    folder, why);
}

static void *
open_sink(const struct facts *facts, struct loop *loop, struct writer *writer)
{
	const struct opts *opts = facts->opts;
	struct metrics_sink *sink;
	const char *why = NULL;

	if (*opts->metrics_folder == '\0' || opts->action != OPTS_RUN)
		return NULL;
	if (opts->metrics_demanded)
		why = metrics_file_check_folder(opts->metrics_folder);
	if (why != NULL)
		report_no_metrics(opts, EXITCODE_CONFIG, why);
	sink =
	    mem_alloc(sizeof(*sink) + opts->key_count * sizeof(*sink->locks));
	sink->opts = opts;
	sink->loop = loop;
	sink->timer = (struct loop_timer){.on_due = write_round, .arg = sink};
	sink->lease_left_ms = CLOCK_NEVER;
	sink->facts = facts;
	sink->source =
	    (struct writer_source){.write = write_update, .arg = sink};
	if (writer_add(writer, &sink->source) == -1) {
		report_no_metrics(opts, EXITCODE_RESOURCE, strerror(errno));
		free(sink);
		return NULL;
	}
	for (size_t i = 0; i < opts->key_count; i++) {
		struct lock_metrics *lock = &sink->locks[i];

		lock->name = mem_strdup(opts->keys[i].name);
		metrics_init(&lock->changes);
		metrics_file_init(&lock->file, opts->metrics_folder,
		    opts->keys[i].key);
	}
	return sink;
}

/* What the thread still uses stays. */
static void
close_sink(void *arg)
{
	struct metrics_sink *sink = arg;
	size_t count = sink->opts->key_count, left, lost = 0;

	loop_timer_remove(sink->loop, &sink->timer);
	left = writer_finish(&sink->source);
	for (size_t i = 0; i < count; i++)
		if (sink->locks[i].place > sink->source.written && lost++ == 0)
			metrics_warn(sink, &sink->locks[i],
			    "not written: ", "the disk is too slow");
	if (lost > 1)
		log_warnx("the metrics of %zu locks were not written", lost);
	if (left > 0)
		return;
	for (size_t i = 0; i < count; i++) {
		metrics_file_fini(&sink->locks[i].file);
		free(sink->locks[i].name);
	}
	free(sink);
}

const struct event_sink metrics = {open_sink, metrics_on_event, close_sink};
