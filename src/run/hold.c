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
#include "run/hold.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exitcode.h"
#include "base/mem.h"
#include "lock/release.h"
#include "run/acquisition.h"

enum hold_state {
	HOLD_ACQUIRE,
	HOLD_LENGTHEN,
	HOLD_PRINT,
	HOLD_RELEASE,
	HOLD_DONE,
};

struct hold {
	const struct opts *opts;
	struct loop *loop;
	struct loop_timer timer;   /* only wakes hold_step */
	struct loop_fd output;	   /* stdout, in PRINT */
	struct lock_config config; /* of the only lock in the set */
	struct set set;
	struct observer observer;
	struct relay relay;
	struct acquisition acquisition;

	enum hold_state state;
	struct ending ending;
	bool writable;	       /* stdout is, in PRINT */
	int printed;	       /* so many bytes of the token's line */
	int64_t granted_until; /* LENGTHEN: the lease before it */
	int64_t give_up_at;    /* likewise */
};

static void
emit(const struct hold *hold, struct event event)
{
	events_emit(hold->ending.events, &event);
}

static void
wake_at(struct hold *hold, int64_t at)
{
	loop_timer_set(hold->loop, &hold->timer, at);
}

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
	emit(hold,
	    (struct event){.type = EVENT_HELD, .ms = hold->opts->hold_ms});
	hold->state = HOLD_PRINT;
	loop_add(hold->loop, &hold->output);
}

static void
on_held(struct hold *hold)
{
	const struct set *set = &hold->set;

	observer_report_acquired(&hold->observer, set, &hold->config);
	if (hold->config.ttl_ms == hold->opts->hold_ms) {
		begin_print(hold);
		return;
	}
	hold->state = HOLD_LENGTHEN;
	hold->granted_until = set->valid_until;
	hold->give_up_at = clock_min(set->valid_until,
	    clock_now() + hold->opts->server_timeout_ms);
	hold->config.ttl_ms = hold->opts->hold_ms;
	set_renew(&hold->set);
}

static void
step_acquire(struct hold *hold)
{
	acquisition_step(&hold->acquisition);
	switch (hold->acquisition.state) {
	case ACQUISITION_TRYING:
		wake_at(hold, hold->acquisition.wait_until);
		break;
	case ACQUISITION_CANCELLING:
		break;
	case ACQUISITION_HELD:
		on_held(hold);
		break;
	case ACQUISITION_UNAVAILABLE:
		acquisition_add_unavailable(&hold->acquisition);
		/* FALLTHROUGH */
	case ACQUISITION_FAILED:
		hold->state = HOLD_DONE;
		break;
	}
}

/* --- while the lock is held --------------------------------------------- */

static void
release(struct hold *hold)
{
	hold->state = HOLD_RELEASE;
	loop_remove(hold->loop, &hold->output);
	set_release(&hold->set, 0, RELEASE_NO_JOB);
}

/* Whether the lock is not to be held any more, and is being released. */
static bool
must_release(struct hold *hold, int64_t until)
{
	const struct set *set = &hold->set;
	bool late = clock_now() >= until;

	observer_watch_lease(&hold->observer, set);
	if (!ending_add_signal(&hold->ending, relay_obey(&hold->relay))) {
		if (set->state == LOCK_LOST)
			ending_add_lock(&hold->ending, ENDING_LOST, set->about,
			    EVENT_THEN_NOTHING);
		else if (late && hold->state == HOLD_LENGTHEN)
			acquisition_add_unavailable(&hold->acquisition);
		else if (late)
			ending_add_text(&hold->ending, ENDING_LEASE_OVER, NULL);
	}
	if (hold->ending.reason == ENDING_NONE) {
		wake_at(hold, until);
		return false;
	}
	release(hold);
	return true;
}

static void
step_lengthen(struct hold *hold)
{
	if (hold->set.state == LOCK_HELD &&
	    hold->set.valid_until > hold->granted_until)
		begin_print(hold);
	else
		must_release(hold, hold->give_up_at);
}

/* 0, or -1 with errno. close(2) reports what a file system finds out late. */
static int
print_token(struct hold *hold)
{
	char line[TOKEN_SIZE + 1];
	int length =
	    snprintf(line, sizeof(line), "%s\n", hold->set.about->claim.token);

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
step_print(struct hold *hold)
{
	if (must_release(hold, hold->set.valid_until) || !hold->writable)
		return;
	hold->writable = false;
	if (print_token(hold) == 0) {
		hold->state = HOLD_DONE;
	} else if (errno != EAGAIN) {
		ending_add_text(&hold->ending, ENDING_NO_TOKEN,
		    strerror(errno));
		release(hold);
	}
}

/* A second signal ends the wait for an unreachable server. */
static void
step_release(struct hold *hold)
{
	const struct set *set = &hold->set;

	if (set->state == LOCK_RELEASING &&
	    (set->answered || !relay_take_end(&hold->relay)))
		return;
	hold->state = HOLD_DONE;
	if (set->state == LOCK_RELEASING || set->outcome == LOCK_UNCONFIRMED)
		emit(hold, (struct event){.type = EVENT_UNCONFIRMED,
			       .why = set->about->error});
	else if (!ending_is_lost(&hold->ending))
		observer_report_release(&hold->observer, set, &hold->config);
}

/* --- the run of it ------------------------------------------------------- */

static void
hold_step(struct hold *hold)
{
	static void (*const steps[])(struct hold *) = {
	    [HOLD_ACQUIRE] = step_acquire,
	    [HOLD_LENGTHEN] = step_lengthen,
	    [HOLD_PRINT] = step_print,
	    [HOLD_RELEASE] = step_release,
	};
	enum hold_state before;

	set_step(&hold->set);
	do {
		before = hold->state;
		steps[before](hold);
	} while (hold->state != before && hold->state != HOLD_DONE);
}

static void
set_up(struct hold *hold, struct signals *signals)
{
	relay_init(&hold->relay, hold->loop, signals, NULL);
	hold->output = (struct loop_fd){.fd = STDOUT_FILENO,
	    .events = POLLOUT,
	    .on_ready = on_output,
	    .arg = hold};
	hold->acquisition = (struct acquisition){.opts = hold->opts,
	    .ending = &hold->ending,
	    .observer = &hold->observer,
	    .relay = &hold->relay,
	    .set = &hold->set};
	acquisition_configure(&hold->config, hold->opts);
	if (set_init(&hold->set, hold->loop, &hold->config, 1) == -1)
		ending_add_text(&hold->ending, ENDING_NO_LOCK, strerror(errno));
}

static void
acquire_and_print(struct hold *hold)
{
	if (strpbrk(hold->config.name, "*?[") != NULL)
		emit(hold, (struct event){.type = EVENT_LIKE_GLOB});
	acquisition_begin(&hold->acquisition);
	for (hold_step(hold); hold->state != HOLD_DONE; hold_step(hold)) {
		if (loop_turn(hold->loop) == 0)
			continue;
		ending_add_text(&hold->ending, ENDING_LOOP_FAILED,
		    strerror(errno));
		return;
	}
}

int
hold(const struct opts *opts, struct loop *loop, const struct events *events,
    struct signals *signals)
{
	struct hold *hold = mem_alloc(sizeof(*hold));
	int status;

	hold->opts = opts;
	hold->loop = loop;
	hold->ending = (struct ending){.opts = opts, .events = events};
	set_up(hold, signals);
	if (hold->ending.reason == ENDING_NONE)
		acquire_and_print(hold);
	status = ending_finish(&hold->ending);
	relay_fini(&hold->relay, loop);
	loop_remove(loop, &hold->output);
	loop_timer_remove(loop, &hold->timer);
	set_fini(&hold->set);
	free(hold);
	return status;
}
