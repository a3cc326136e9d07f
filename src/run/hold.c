/* The lock of a hold is acquired with a short lease: if the reply is lost,
 * nobody knows the token, and the lock must not last for hours. Then one
 * renewal lengthens the lease, and only a lease of full length is announced. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run/run.h"

static void
on_output(void *arg, short revents)
{
	struct output *output = arg;

	(void)revents;
	output->writable = true;
}

/* A write(2) that blocks could not be interrupted: signals are blocked. */
static void
begin_print(struct run *run)
{
	run_enter(run, RUN_PRINT);
	events_emit(run->events,
	    &(struct event){.type = EVENT_HELD, .ms = run->opts->lock.hold_ms});
	run->output.fd = (struct loop_fd){.fd = STDOUT_FILENO,
	    .events = POLLOUT,
	    .on_ready = on_output,
	    .arg = &run->output};
	loop_add(run->loop, &run->output.fd);
}

void
hold_start(struct run *run)
{
	struct lock_config *config = &run->configs[0]; /* the only one */

	if (config->ttl_ms == run->opts->lock.hold_ms) {
		begin_print(run);
		return;
	}
	run_enter(run, RUN_LENGTHEN);
	run->limits.granted_until = run->set.valid_until;
	run->until = clock_min(run->set.valid_until,
	    clock_now() + run->opts->lock.server_timeout_ms);
	config->ttl_ms = run->opts->lock.hold_ms;
	set_renew(&run->set);
}

/* Whether the lock is not to be held any more, and is being released. */
static bool
must_release(struct run *run)
{
	bool is_late = run->loop->now >= run->until;

	if (!relay_obey(run)) {
		if (run->set.state == LOCK_LOST)
			run_add_lock_ending(run, ENDING_LOST,
			    EVENT_THEN_NOTHING);
		else if (is_late && run->state == RUN_LENGTHEN)
			run_add_lock_ending(run, ENDING_UNAVAILABLE,
			    EVENT_THEN_NOTHING);
		else if (is_late)
			run_add_ending(run, ENDING_LEASE_OVER,
			    (struct event){.then = EVENT_THEN_NOTHING});
	}
	if (run->facts->ending == ENDING_NONE)
		return false;
	loop_remove(run->loop, &run->output.fd);
	run_release(run);
	return true;
}

void
hold_step_lengthen(struct run *run)
{
	const struct set *set = &run->set;

	if (set->state == LOCK_HELD &&
	    set->valid_until > run->limits.granted_until)
		begin_print(run);
	else
		must_release(run);
}

void
hold_step_print(struct run *run)
{
	struct output *output = &run->output;
	char line[TOKEN_SIZE + 1];
	ssize_t wrote = 0;
	int length;

	run->until = run->set.valid_until; /* it is renewed meanwhile */
	if (must_release(run) || !output->writable)
		return;
	output->writable = false;
	length =
	    snprintf(line, sizeof(line), "%s\n", run->set.about->claim.token);
	while (wrote != -1 && output->printed < length) {
		wrote = write(STDOUT_FILENO, line + output->printed,
		    (size_t)(length - output->printed));
		output->printed += wrote > 0 ? (int)wrote : 0;
	}
	/* close(2) reports what a file system finds out late. */
	if (wrote != -1 && close(STDOUT_FILENO) == 0) {
		run_enter(run, RUN_DONE);
	} else if (errno != EAGAIN) {
		run_add_ending(run, ENDING_NO_TOKEN,
		    (struct event){.why = strerror(errno)});
		loop_remove(run->loop, &output->fd);
		run_release(run);
	}
}
