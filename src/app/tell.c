#include "app/tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "job/terminal.h"
#include "lock/holder.h"

enum { HOLDER_MAX = 640, SECOND_MS = 1000 };
enum { PAUSE_TOLD_MS = 200, TROUBLE_TOLD_MS = 2000 };

void
tell_init(struct tell *tell, const struct opts *opts)
{
	*tell = (struct tell){.opts = opts,
	    .began_at = clock_now(),
	    .redraw_at = CLOCK_NEVER};
}

static const char *
name_of(const struct lock *lock)
{
	return lock->config->name;
}

void
tell_busy(const struct tell *tell, const struct lock *lock)
{
	char holder[HOLDER_MAX];

	if (tell->opts->quiet)
		return;
	holder_tell(&lock->holder, holder, sizeof(holder));
	if (lock->config->wait)
		log_warnx("%s %s; %" PRId64 " are waiting already",
		    name_of(lock), holder, lock->queue.length);
	else
		log_warnx("%s %s", name_of(lock), holder);
}

/* Who is sent to the background draws no more. */
static bool
wants_progress(const struct tell *tell)
{
	switch (tell->opts->progress) {
	case OPTS_PROGRESS_ALWAYS:
		return true;
	case OPTS_PROGRESS_NEVER:
		return false;
	default:
		return terminal_is_foreground(STDERR_FILENO);
	}
}

/* On one line that is drawn again each second. */
static void
show_waiting(struct tell *tell, const struct lock *lock)
{
	char holder[HOLDER_MAX];
	char place[48] = "";
	int64_t seconds = (clock_now() - tell->began_at) / SECOND_MS;

	holder_tell(&lock->holder, holder, sizeof(holder));
	if (lock->queue.position >= 0)
		snprintf(place, sizeof(place), ", number %" PRId64 " in line",
		    lock->queue.position + 1);
	log_progress("waiting %" PRId64 "s%s: %s %s", seconds, place,
	    name_of(lock), holder);
	tell->redraw_at = tell->began_at + (seconds + 1) * SECOND_MS;
}

static void
say_waiting(struct tell *tell, const struct lock *lock)
{
	char holder[HOLDER_MAX];

	if (tell->waiting == lock)
		return;
	tell->waiting = lock;
	holder_tell(&lock->holder, holder, sizeof(holder));
	if (lock->queue.position > 0)
		log_warnx("%s %s; waiting, number %" PRId64 " in line",
		    name_of(lock), holder, lock->queue.position + 1);
	else
		log_warnx("%s %s; waiting", name_of(lock), holder);
}

void
tell_waiting(struct tell *tell, const struct lock *lock)
{
	if (tell->opts->quiet)
		return;
	if (wants_progress(tell)) {
		show_waiting(tell, lock);
	} else {
		tell->redraw_at = CLOCK_NEVER;
		say_waiting(tell, lock);
	}
}

void
tell_disagreement(const struct tell *tell, const struct lock *lock)
{
	if (tell->opts->kind == 'p' && lock->permits != 0 &&
	    lock->permits != tell->opts->permits)
		log_warnx("%s: %d permits here, but another holder was started "
			  "with %" PRId64,
		    name_of(lock), tell->opts->permits, lock->permits);
}

void
tell_no_queue(struct tell *tell, const struct lock *lock)
{
	const char *what;

	if (tell->no_queue || lock->no_queue[0] == '\0')
		return;
	tell->no_queue = true;
	if (lock->claim.outer != NULL)
		what = "the outer run cannot see this one";
	else if (quorum_is_one(lock->quorum))
		what = "the queue cannot be used";
	else
		what = "nested runs cannot be counted";
	/* What is in the nature of the name needs nobody's care. */
	if (lock->claim.tier == CLAIM_KEY_ONLY)
		log_info("%s: %s: %s", name_of(lock), what, lock->no_queue);
	else
		log_warnx("%s: %s: %s", name_of(lock), what, lock->no_queue);
}

void
tell_servers(const struct tell *tell)
{
	size_t count = tell->opts->server_count;

	if (count == 2)
		log_warnx("with 2 servers no lock can be had while one of them "
			  "is away; use 3");
	else if (count % 2 == 0)
		log_warnx("%zu servers can spare no more of them than %zu can",
		    count, count - 1);
}

void
tell_misfits(struct tell *tell, const struct lock *lock)
{
	struct quorum_faults faults = quorum_faults(lock->quorum);

	if (faults.duplicates != NULL && !tell->twins)
		log_warnx("%s: %s", name_of(lock), faults.duplicates);
	tell->twins = faults.duplicates != NULL;
	for (size_t i = 0; i < tell->opts->server_count; i++) {
		const char *why = faults.unusable[i];
		if (why != NULL && !tell->misfits[i])
			log_warnx("%s: %s", name_of(lock), why);
		tell->misfits[i] = tell->misfits[i] || why != NULL;
	}
}

/* A server that restarts is back in a moment. */
void
tell_server_trouble(struct tell *tell, const struct lock *lock)
{
	if (tell->trouble != NULL || lock->answered ||
	    clock_now() < tell->began_at + TROUBLE_TOLD_MS)
		return;
	tell->trouble = lock;
	log_warnx("%s: %s; trying again", name_of(lock), lock->error);
}

void
tell_renewal_trouble(struct tell *tell, const struct lock *lock)
{
	if (lock->state != LOCK_HELD || lock->answered) {
		if (tell->trouble != NULL && lock->state == LOCK_HELD)
			log_warnx("%s: renewed again", name_of(tell->trouble));
		tell->trouble = NULL;
		return;
	}
	if (tell->trouble == NULL)
		log_warnx("%s: cannot renew the lock, which lasts for another "
			  "%.1f s: %s",
		    name_of(lock),
		    (double)(lock->valid_until - clock_now()) / 1000,
		    lock->error);
	tell->trouble = lock;
}

void
tell_pause(const struct tell *tell, int64_t late_ms)
{
	if (late_ms >= PAUSE_TOLD_MS && late_ms >= tell->opts->ttl_ms / 5)
		log_warnx("%s: rlockrun was paused for at least %.1f s",
		    tell->opts->name, (double)late_ms / 1000);
}

void
tell_lost_early(const struct lock_config *config)
{
	log_warnx("%s was lost while others were waited for; starting over",
	    config->name);
}

void
tell_held_for(const struct tell *tell, int64_t ms)
{
	char age[32];

	holder_describe_age(ms, age, sizeof(age));
	log_warnx("%s has been held for %s", tell->opts->name, age);
}

void
tell_overrun(const struct tell *tell, const char *consequence)
{
	char age[32];

	holder_describe_age(tell->opts->max_run_ms, age, sizeof(age));
	log_warnx("%s: the job has run for %s; %s", tell->opts->name, age,
	    consequence);
}

void
tell_job_begins(struct tell *tell)
{
	log_progress_end();
	tell->trouble = NULL;
}
