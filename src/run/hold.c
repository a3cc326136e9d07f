/* States of a hold. The lock is acquired with a short lease: if the reply is
 * lost, nobody knows the token, and the lock must not last for hours. Then one
 * renewal lengthens the lease, and only a lease of full length is announced.
 *
 *   ACQUIRE --held--> LENGTHEN --renewed--> PRINT --printed--> DONE
 *      |                 |                    |                 ^
 *      |                 +--signal, silence,--+                 |
 *      |                 |  lost, no output                     |
 *      |                 +--> RELEASE --------------------------+
 *      |                                                        |
 *      +--signal, time out, refused ----------------------------+
 */
#include "run/run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/mem.h"
#include "run/locks.h"

enum hold_state {
	HOLD_ACQUIRE,
	HOLD_LENGTHEN,
	HOLD_PRINT,
	HOLD_RELEASE,
	HOLD_DONE,
};

struct hold {
	struct locks locks;    /* only one */
	struct loop_fd output; /* stdout, in PRINT */

	enum hold_state state;
	bool writable;	       /* stdout is, in PRINT */
	int printed;	       /* so many bytes of the token's line */
	int64_t granted_until; /* LENGTHEN: the lease before it */
	int64_t give_up_at;    /* likewise */
};

/* --- acquire ----------------------------------------------------------- */

static void
on_output(void *arg, short revents)
{
	struct hold *hold = arg;

	(void)revents;
	hold->writable = true;
}

/* A write(2) that blocks could not be interrupted: signals are blocked. */
static void
begin_print(struct hold *hold)
{
	locks_emit(&hold->locks, (struct event){.type = EVENT_HELD,
				     .ms = hold->locks.opts->hold_ms});
	hold->state = HOLD_PRINT;
	loop_add(hold->locks.loop, &hold->output);
}

static void
hold_on_held(struct hold *hold)
{
	struct set *set = &hold->locks.set;
	int64_t *ttl_ms = &hold->locks.configs[0].ttl_ms;

	observer_report_acquired(&hold->locks.observer);
	if (*ttl_ms == hold->locks.opts->hold_ms) {
		begin_print(hold);
		return;
	}
	hold->state = HOLD_LENGTHEN;
	hold->granted_until = set->valid_until;
	hold->give_up_at = clock_min(set->valid_until,
	    clock_now() + hold->locks.opts->server_timeout_ms);
	*ttl_ms = hold->locks.opts->hold_ms;
	set_renew(set);
}

static void
hold_step_acquire(struct hold *hold)
{
	struct locks *locks = &hold->locks;

	locks_step(locks);
	if (locks->state == LOCKS_HELD)
		hold_on_held(hold);
	if (locks->state == LOCKS_UNAVAILABLE)
		locks_add_ending(locks, ENDING_UNAVAILABLE, EVENT_THEN_NOTHING);
	if (locks->state == LOCKS_UNAVAILABLE || locks->state == LOCKS_FAILED)
		hold->state = HOLD_DONE;
}

/* --- while the lock is held --------------------------------------------- */

static void
hold_release(struct hold *hold)
{
	hold->state = HOLD_RELEASE;
	loop_remove(hold->locks.loop, &hold->output);
	set_release(&hold->locks.set, 0,
	    &(struct request_run){.status = REQUEST_NO_JOB});
}

/* Whether the lock is not to be held any more, and is being released. */
static bool
must_release(struct hold *hold, int64_t until)
{
	struct locks *locks = &hold->locks;
	const struct set *set = &locks->set;
	bool late = locks->loop->now >= until;

	observer_watch_lease(&locks->observer);
	if (!locks_obey(locks)) {
		if (set->state == LOCK_LOST)
			locks_add_ending(locks, ENDING_LOST,
			    EVENT_THEN_NOTHING);
		else if (late && hold->state == HOLD_LENGTHEN)
			locks_add_ending(locks, ENDING_UNAVAILABLE,
			    EVENT_THEN_NOTHING);
		else if (late)
			ending_add_text(locks->events, ENDING_LEASE_OVER, NULL);
	}
	if (locks->events->facts->ending == ENDING_NONE) {
		locks_wake_at(locks, until);
		return false;
	}
	hold_release(hold);
	return true;
}

static void
hold_step_lengthen(struct hold *hold)
{
	const struct set *set = &hold->locks.set;

	if (set->state == LOCK_HELD && set->valid_until > hold->granted_until)
		begin_print(hold);
	else
		must_release(hold, hold->give_up_at);
}

/* 0, or -1 with errno. close(2) reports what a file system finds out late. */
static int
print_token(struct hold *hold)
{
	char line[TOKEN_SIZE + 1];
	int length = snprintf(line, sizeof(line), "%s\n",
	    hold->locks.set.about->claim.token);

	while (hold->printed < length) {
		ssize_t wrote = write(STDOUT_FILENO, line + hold->printed,
		    (size_t)(length - hold->printed));
		if (wrote == -1)
			return -1;
		hold->printed += (int)wrote;
	}
	return close(STDOUT_FILENO);
}

static void
hold_step_print(struct hold *hold)
{
	if (must_release(hold, hold->locks.set.valid_until) || !hold->writable)
		return;
	hold->writable = false;
	if (print_token(hold) == 0) {
		hold->state = HOLD_DONE;
	} else if (errno != EAGAIN) {
		ending_add_text(hold->locks.events, ENDING_NO_TOKEN,
		    strerror(errno));
		hold_release(hold);
	}
}

static void
hold_step_release(struct hold *hold)
{
	struct locks *locks = &hold->locks;
	const struct set *set = &locks->set;

	if (set->state == LOCK_RELEASING && !locks_is_hurried(locks))
		return;
	hold->state = HOLD_DONE;
	if (set->state == LOCK_RELEASING || set->outcome == LOCK_UNCONFIRMED)
		locks_emit(locks, (struct event){.type = EVENT_UNCONFIRMED,
				      .why = set->about->error});
	else if (!facts_say_lost(locks->events->facts))
		observer_report_release(&locks->observer);
}

/* --- the run of it ------------------------------------------------------- */

static void
hold_step(struct hold *hold)
{
	static void (*const steps[])(struct hold *) = {
	    [HOLD_ACQUIRE] = hold_step_acquire,
	    [HOLD_LENGTHEN] = hold_step_lengthen,
	    [HOLD_PRINT] = hold_step_print,
	    [HOLD_RELEASE] = hold_step_release,
	};
	enum hold_state before;

	set_step(&hold->locks.set);
	do {
		before = hold->state;
		steps[before](hold);
	} while (hold->state != before && hold->state != HOLD_DONE);
}

static void
acquire_and_print(struct hold *hold)
{
	if (strpbrk(hold->locks.opts->keys[0].name, "*?[") != NULL)
		locks_emit(&hold->locks,
		    (struct event){.type = EVENT_LIKE_GLOB});
	locks_begin(&hold->locks);
	do
		hold_step(hold);
	while (hold->state != HOLD_DONE && locks_turn(&hold->locks));
}

int
hold(const struct opts *opts, struct loop *loop, const struct events *events,
    struct signals *signals)
{
	struct hold *hold = mem_alloc(sizeof(*hold));

	hold->output = (struct loop_fd){.fd = STDOUT_FILENO,
	    .events = POLLOUT,
	    .on_ready = on_output,
	    .arg = hold};
	hold->locks.opts = opts;
	hold->locks.events = events;
	hold->locks.loop = loop;
	if (locks_init(&hold->locks, signals, NULL) == 0)
		acquire_and_print(hold);
	loop_remove(loop, &hold->output);
	locks_fini(&hold->locks);
	free(hold);
	return ending_finish(events);
}
