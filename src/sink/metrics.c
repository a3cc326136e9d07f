#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/exitcode.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "options/opts.h"
#include "sink/backlog.h"
#include "sink/metrics_file.h"
#include "sink/sinks.h"

enum {
	SETTLE_MS = 200,   /* what lasts longer is shown while it lasts */
	PERIOD_MS = 30000, /* of what has not ended */
	AGAIN_MS = 20,	   /* if another run is writing the file */
	AGAIN_MAX = 10,	   /* then not before the next period */
	LAST_TRY_MS =
	    500, /* at the end of the run, if another run is writing */
	LAST_PAUSE_MS = 16, /* between these tries, at most */
};

struct lock_metrics {
	struct metrics_file file;
	/* A nested run is a part of the outer one, which counts. */
	bool joined;
	bool lost; /* the run goes on without it */
};

/* All locks are written one after the other, in rounds. */
struct metrics_sink {
	const struct opts *opts;
	struct loop *loop;
	struct loop_timer timer; /* when to write */
	struct backlog backlog;	 /* while it is written */
	const struct facts *facts;
	struct metrics_run run; /* since_ms is 0: it neither waits nor holds */
	int64_t lease_left_ms;	/* the least */
	int64_t due_at;		/* the next round, or CLOCK_NEVER */
	size_t at;		/* this lock is next; key_count: no round */
	int busy;		/* another run was writing it, so often */
	int64_t again_at;	/* then it is tried again */
	int64_t last_try_at;	/* 0: the run has not ended */
	bool warned;
	struct lock_metrics locks[]; /* as opts->keys */
};

/* --- writing ---------------------------------------------------------- */

/* Once is enough: the next file in the folder fails, too. */
static void
metrics_warn(struct metrics_sink *sink, const struct lock_metrics *lock,
    const char *what)
{
	const struct opts_key *key = &sink->opts->keys[lock - sink->locks];
	char name[1024], folder[1024];

	if (sink->warned)
		return;
	sink->warned = true;
	escape_quote(key->name, name, sizeof(name));
	escape_quote(sink->opts->metrics_folder, folder, sizeof(folder));
	log_warnx("%s: metrics in %s: %s", name, folder, what);
}

static void
warn_not_written(struct metrics_sink *sink, const struct lock_metrics *lock,
    const char *why)
{
	char what[METRICS_NAME_SIZE + 256];

	snprintf(what, sizeof(what), "not written: %s", why);
	metrics_warn(sink, lock, what);
}

/* A round that is being written comes before that. */
static void
write_in(struct metrics_sink *sink, int64_t ms)
{
	sink->due_at = clock_now() + ms;
	loop_timer_set(sink->loop, &sink->timer, sink->due_at);
}

static void
start_round(struct metrics_sink *sink)
{
	sink->at = 0;
	sink->busy = 0;
	sink->again_at = 0;
	sink->due_at =
	    sink->run.since_ms != 0 ? clock_now() + PERIOD_MS : CLOCK_NEVER;
}

/* Another run has the file locked for less than a millisecond, unless it is
 * stopped or the disk is slow. */
static void
finish_update(struct metrics_sink *sink, struct lock_metrics *lock,
    enum metrics_update result)
{
	int64_t now = clock_now();
	bool is_last = sink->last_try_at != 0;

	if (result == METRICS_UPDATE_BUSY) {
		sink->again_at =
		    now + (is_last ? clock_min(1 << clock_min(sink->busy, 4),
					 LAST_PAUSE_MS)
				   : AGAIN_MS);
		sink->busy++;
		if (is_last ? now < sink->last_try_at : sink->busy < AGAIN_MAX)
			return;
	}
	if (result == METRICS_UPDATE_BUSY)
		warn_not_written(sink, lock,
		    "another process has locked the file");
	if (result == METRICS_UPDATE_FAILED)
		warn_not_written(sink, lock, lock->file.why);
	if (result == METRICS_UPDATED_ANEW)
		metrics_warn(sink, lock,
		    "the file was damaged; what cannot be read is counted "
		    "anew");
	sink->busy = 0;
	sink->again_at = 0;
	sink->at++;
}

/* NULL: the round is over. The locks of an outer run are written by that one.
 */
static struct lock_metrics *
find_next(struct metrics_sink *sink)
{
	while (sink->at < sink->opts->key_count && sink->locks[sink->at].joined)
		sink->at++;
	return sink->at < sink->opts->key_count ? &sink->locks[sink->at] : NULL;
}

/* When the run has ended there is no loop any more, and no lock that would be
 * held for longer. Returns whether to go on at once. */
static bool
wait_until(struct metrics_sink *sink, int64_t due_at)
{
	int64_t ms = due_at - clock_now();

	if (sink->last_try_at == 0)
		loop_timer_set(sink->loop, &sink->timer, due_at);
	if (sink->last_try_at == 0 || due_at == CLOCK_NEVER)
		return false;
	nanosleep(&(struct timespec){.tv_nsec = (long)ms * 1000000}, NULL);
	return true;
}

static bool
metrics_step(void *arg)
{
	static const struct metrics_run none;
	struct metrics_sink *sink = arg;
	struct lock_metrics *lock = find_next(sink);
	enum metrics_update result;

	if (lock == NULL && sink->due_at <= clock_now()) {
		start_round(sink);
		lock = find_next(sink);
	}
	if (lock == NULL)
		return wait_until(sink, sink->due_at);
	if (sink->again_at > clock_now())
		return wait_until(sink, sink->again_at);
	if (lock->file.step == 0)
		metrics_file_begin(&lock->file,
		    lock->lost ? &none : &sink->run);
	result = metrics_file_step(&lock->file);
	if (result != METRICS_UPDATE_GOES_ON)
		finish_update(sink, lock, result);
	return true;
}

static void
metrics_on_due(void *arg)
{
	struct metrics_sink *sink = arg;

	backlog_add(&sink->backlog);
}

/* --- events ----------------------------------------------------------- */

static void
end_run(struct metrics_sink *sink)
{
	sink->run = (struct metrics_run){.holds = false};
}

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

static void
count_loss(struct lock_metrics *lock)
{
	int64_t *values = lock->file.changes.values;

	lock->lost = true;
	values[METRICS_LOST]++;
	values[METRICS_LAST_LOST] = clock_epoch();
	values[METRICS_LEASE_LEFT] = 0;
}

/* What the event, which is about that lock, changes. */
static void
count_event(const struct metrics_sink *sink, struct lock_metrics *lock,
    const struct event *event)
{
	int64_t *values = lock->file.changes.values;

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
		if (event_outcome(event) == EVENT_OUTCOME_LOST &&
		    sink->run.holds && !lock->lost)
			count_loss(lock);
		break;
	case EVENT_ENDED:
		count_end(sink, &lock->file.changes, event);
		break;
	default:
		break;
	}
}

/* Written soon, but not before what has to be done for the job. */
static void
metrics_on_lost(struct metrics_sink *sink)
{
	size_t held = 0;

	if (!sink->run.holds)
		return;
	for (size_t i = 0; i < sink->opts->key_count; i++)
		held += !sink->locks[i].lost;
	if (held == 0)
		end_run(sink);
	write_in(sink, 0);
}

static void
metrics_on_event(void *arg, const struct event *event)
{
	struct metrics_sink *sink = arg;
	const struct opts *opts = sink->opts;

	backlog_take(&sink->backlog, event);
	if (event->type == EVENT_RENEWED &&
	    event->left_ms < sink->lease_left_ms)
		sink->lease_left_ms = event->left_ms > 0 ? event->left_ms : 0;
	for (size_t i = 0; i < opts->key_count; i++)
		if (event->name == NULL ||
		    strcmp(event->name, opts->keys[i].name) == 0)
			count_event(sink, &sink->locks[i], event);
	switch (event->type) {
	case EVENT_BEGUN:
	case EVENT_ACQUIRED:
		sink->run =
		    (struct metrics_run){.holds = event->type == EVENT_ACQUIRED,
			.since_ms = clock_epoch()};
		/* So that nothing delays the start of the job. */
		write_in(sink, SETTLE_MS);
		break;
	case EVENT_RENEWAL_FAILED:
		write_in(sink, 0);
		break;
	case EVENT_ENDING:
		if (event_outcome(event) == EVENT_OUTCOME_LOST)
			metrics_on_lost(sink);
		break;
	case EVENT_UNLOCKED:
	case EVENT_RELEASED:
	case EVENT_KEPT:
	case EVENT_LEFT:
	case EVENT_UNCONFIRMED:
	case EVENT_ENDED:
		end_run(sink);
		break;
	default:
		break;
	}
}

static void *
open_sink(const struct facts *facts, struct loop *loop)
{
	const struct opts *opts = facts->opts;
	struct metrics_sink *sink;
	const char *why = NULL;
	char folder[1024];

	if (*opts->metrics_folder == '\0' || opts->action != OPTS_RUN)
		return NULL;
	if (opts->metrics_demanded)
		why = metrics_file_check_folder(opts->metrics_folder);
	escape_quote(opts->metrics_folder, folder, sizeof(folder));
	if (why != NULL)
		log_die(EXITCODE_CONFIG, "cannot write metrics into %s: %s",
		    folder, why);
	sink =
	    mem_alloc(sizeof(*sink) + opts->key_count * sizeof(*sink->locks));
	sink->opts = opts;
	sink->loop = loop;
	sink->timer =
	    (struct loop_timer){.on_due = metrics_on_due, .arg = sink};
	backlog_init(&sink->backlog, loop, metrics_step, sink);
	sink->lease_left_ms = CLOCK_NEVER;
	sink->facts = facts;
	sink->due_at = CLOCK_NEVER;
	sink->at = opts->key_count;
	for (size_t i = 0; i < opts->key_count; i++)
		metrics_file_init(&sink->locks[i].file, opts->metrics_folder,
		    opts->keys[i].key);
	return sink;
}

static void
close_sink(void *arg)
{
	struct metrics_sink *sink = arg;
	const struct lock_metrics *first;
	int count = 0;

	/* What was begun does not have the end of the run. */
	sink->last_try_at = clock_now() + LAST_TRY_MS;
	for (size_t i = 0; i < sink->opts->key_count; i++)
		metrics_file_cancel(&sink->locks[i].file);
	start_round(sink);
	backlog_add(&sink->backlog);
	if (!backlog_finish(&sink->backlog)) {
		first = find_next(sink);
		for (; find_next(sink) != NULL; sink->at++)
			count++;
		if (first != NULL)
			warn_not_written(sink, first, "the disk is too slow");
		if (count > 1)
			log_warnx("the metrics of %d locks were not written",
			    count);
	}
	loop_timer_remove(sink->loop, &sink->timer);
	for (size_t i = 0; i < sink->opts->key_count; i++)
		metrics_file_fini(&sink->locks[i].file);
	free(sink);
}

const struct event_sink metrics = {open_sink, metrics_on_event, close_sink};
