#include "guarded.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "base/clock.h"
#include "job/guard.h"
#include "oracle.h"

/* What the model keeps for the guard of a run. */
struct model {
	struct guarded known; /* first: guarded.h shows this part */
	struct actor *actor;
	struct job facts; /* of the guard; a report hands them over */
	bool has_report, is_dead, is_dismissed;
	bool command_runs, rest_runs;
	bool is_stopping; /* rlockrun has asked for the end of all */
	int64_t deadline_seen;
};

static struct model *
model_of(const struct actor *actor)
{
	return (struct model *)actor->guarded;
}

/* Only the run itself calls its guard. */
static struct model *
model_of_guard(const struct guard *guard)
{
	(void)guard;
	return model_of(actor_current());
}

/* --- what lives --------------------------------------------------------- */

static bool
is_nested_alive(const struct actor *outer)
{
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *actor = actor_number(i);
		if (actor->outer == outer &&
		    (actor->state == ACTOR_ALIVE || guarded_is_alive(actor)))
			return true;
	}
	return false;
}

bool
guarded_is_alive(const struct actor *actor)
{
	const struct model *model = model_of(actor);

	return model != NULL && (model->command_runs || model->rest_runs ||
				    is_nested_alive(actor));
}

bool
guarded_command_runs(const struct actor *actor)
{
	return actor->guarded != NULL && model_of(actor)->command_runs;
}

bool
guarded_has_report(const struct actor *actor)
{
	return actor->guarded != NULL && model_of(actor)->has_report;
}

/* --- what the guard reports -------------------------------------------------
 */

static int64_t
local_now(const struct model *model)
{
	return actor_clock_us(model->actor) / 1000;
}

static void
report(struct model *model)
{
	if (!model->is_dead && !model->is_dismissed)
		model->has_report = true;
}

/* After each death: whether it was the last one. */
static void
note_gone(struct model *model)
{
	if (guarded_is_alive(model->actor) || model->known.gone_at >= 0)
		return;
	model->known.gone_at = world.now;
	model->facts.gone_at = local_now(model);
	if (!model->is_dead)
		model->facts.state =
		    model->facts.state == JOB_KILLING ? JOB_KILLED : JOB_GONE;
	report(model);
}

void
guarded_on_nested_ended(struct actor *outer)
{
	struct model *model = model_of(outer);

	if (model != NULL && model->known.started_at >= 0)
		note_gone(model);
}

static void
end_command(struct model *model, int status)
{
	if (!model->command_runs)
		return;
	model->command_runs = false;
	model->known.ended_at = world.now;
	model->known.status = status;
	/* Behind its KILL at the deadline the guard reaps without a look. */
	if (model->facts.state != JOB_KILLING) {
		model->facts.ended = true;
		model->facts.status = status < 0 ? -status : status << 8;
		model->facts.ended_at = local_now(model);
	}
	world_trace("%s: the job ends with %d", model->actor->name, status);
	oracle_on_job_ended(model->actor);
	report(model);
	note_gone(model);
}

static void
end_rest(void *who, void *what)
{
	struct model *model = who;

	(void)what;
	if (!model->rest_runs)
		return;
	model->rest_runs = false;
	note_gone(model);
}

/* KILL reaches all, nested runs and their jobs, too. */
static void
kill_all(void *who, void *what)
{
	struct model *model = who;

	(void)what;
	for (int i = 0; i < actor_count(); i++)
		if (actor_number(i)->outer == model->actor) {
			actor_kill(actor_number(i));
			if (actor_number(i)->guarded != NULL)
				kill_all(actor_number(i)->guarded, NULL);
		}
	if (model->command_runs)
		model->known.was_killed = true;
	end_command(model, -SIGKILL);
	end_rest(model, NULL);
	note_gone(model);
}

/* The guard's death, or rlockrun's, ends the command at once. */
static void
kill_command(void *who, void *what)
{
	struct model *model = who;

	(void)what;
	if (model->command_runs)
		model->known.was_killed = true;
	end_command(model, -SIGKILL);
}

static void
kill_soon(struct model *model, int64_t most_us)
{
	world_at(world.now + die_between(&model->actor->die, 50, most_us),
	    kill_all, model, NULL);
}

/* --- the job ---------------------------------------------------------------
 */

static void
on_command_over(void *who, void *what)
{
	struct model *model = who;

	(void)what;
	end_command(model, model->actor->job_plan.status);
}

static void watch_deadline(struct model *model);

static void
on_deadline(void *who, void *what)
{
	struct model *model = who;
	int64_t deadline = model->actor->page.deadline;

	(void)what;
	model->deadline_seen = CLOCK_NEVER;
	if (model->is_dead || model->is_dismissed ||
	    model->facts.state == JOB_KILLING || model->known.gone_at >= 0 ||
	    deadline == CLOCK_NEVER)
		return;
	if (local_now(model) < deadline) {
		watch_deadline(model);
		return;
	}
	world_trace("%s: the guard kills the job", model->actor->name);
	model->facts.state = JOB_KILLING;
	report(model);
	kill_soon(model, 20 * WORLD_MS);
}

static void
watch_deadline(struct model *model)
{
	int64_t deadline = model->actor->page.deadline;

	if (deadline == CLOCK_NEVER || deadline >= model->deadline_seen ||
	    model->known.started_at < 0)
		return;
	model->deadline_seen = deadline;
	world_at(actor_true_us(model->actor, deadline) +
		     die_between(&model->actor->die, 0, 300),
	    on_deadline, model, NULL);
}

static void
on_start(void *who, void *what)
{
	struct model *model = who;
	const struct job_plan *plan = &model->actor->job_plan;

	(void)what;
	if (model->is_dead || model->actor->state == ACTOR_KILLED)
		return;
	if (local_now(model) >= model->actor->page.deadline) {
		model->facts.state = JOB_LATE;
		model->facts.gone_at = local_now(model);
		report(model);
		return;
	}
	model->facts.state = JOB_RUNNING;
	model->known.started_at = world.now;
	model->command_runs = true;
	model->rest_runs = plan->leaves_us > 0;
	world_trace("%s: the job starts, fence %s", model->actor->name,
	    model->known.fence);
	oracle_on_job_started(model->actor);
	world_at(world.now + plan->lasts_us, on_command_over, model, NULL);
	if (plan->leaves_us > 0)
		world_at(world.now + plan->lasts_us + plan->leaves_us, end_rest,
		    model, NULL);
	watch_deadline(model);
}

static void
on_signal(void *who, void *what)
{
	struct model *model = who;
	int signo = (int)(intptr_t)what;

	if (model->is_dead || !model->command_runs ||
	    model->actor->job_plan.is_deaf)
		return;
	if (signo == SIGTERM || signo == SIGINT || signo == SIGHUP ||
	    signo == SIGQUIT)
		end_command(model, -signo);
}

static void
on_terminate(void *who, void *what)
{
	struct model *model = who;

	on_signal(who, (void *)(intptr_t)SIGTERM);
	for (int i = 0; i < actor_count(); i++)
		if (actor_number(i)->outer == model->actor)
			actor_signal(actor_number(i), SIGTERM);
	if (!model->actor->job_plan.is_deaf)
		end_rest(model, what);
}

static void
on_guard_seen_dead(void *who, void *what)
{
	struct model *model = who;

	(void)what;
	model->facts.state = JOB_UNGUARDED;
	model->has_report = true;
}

/* --- what happens to rlockrun and the guard
 * ------------------------------------ */

void
guarded_on_killed(struct actor *actor)
{
	struct model *model = model_of(actor);

	if (model == NULL || model->is_dismissed)
		return;
	actor->page.deadline = CLOCK_NEVER;
	world_at(world.now + die_between(&actor->die, 50, 4000), kill_command,
	    model, NULL);
	kill_soon(model, 900 * WORLD_MS);
}

void
guarded_kill_guard(struct actor *actor)
{
	struct model *model = model_of(actor);

	if (model == NULL || model->is_dead || model->is_dismissed ||
	    actor->state != ACTOR_ALIVE)
		return;
	model->is_dead = true;
	end_command(model, -SIGKILL);
	model->facts.ended = false; /* nobody has reaped it */
	world_at(world.now + die_between(&actor->die, 50, 1000),
	    on_guard_seen_dead, model, NULL);
}

/* --- in place of job/guard.c
 * ------------------------------------------------------ */

static void
on_report(void *arg, short revents)
{
	struct guard *guard = arg;
	struct model *model = model_of_guard(guard);

	(void)revents;
	model->has_report = false;
	guard->job = model->facts;
}

int
guard_init(struct guard *guard, struct loop *loop)
{
	*guard = (struct guard){.loop = loop, .sock.fd = -1};
	return 0;
}

void
guard_fini(struct guard *guard)
{
	if (guard->sock.fd != -1)
		loop_remove(guard->loop, &guard->sock);
}

int
guard_fork(struct guard *guard, struct child *child)
{
	struct actor *self = actor_current();
	struct model *model = world_alloc(sizeof(*model));

	(void)child;
	model->actor = self;
	model->known = (struct guarded){.started_at = -1,
	    .ended_at = -1,
	    .gone_at = -1,
	    .told_to_end_at = -1};
	model->deadline_seen = CLOCK_NEVER;
	self->guarded = &model->known;
	self->page.deadline = CLOCK_NEVER;
	guard->pid = 2000 + self->number;
	guard->page = &self->page;
	guard->sock = (struct loop_fd){.fd = ACTOR_GUARD_FD + self->number,
	    .events = POLLIN,
	    .on_ready = on_report,
	    .arg = guard};
	loop_add(guard->loop, &guard->sock);
	return 0;
}

static void
copy_entry(const char *entries, size_t length, const char *name, char *to,
    size_t size)
{
	const char *end = entries + length;

	for (const char *entry = entries; entry < end;
	     entry += strlen(entry) + 1)
		if (strncmp(entry, name, strlen(name)) == 0)
			snprintf(to, size, "%s", entry + strlen(name));
}

static bool
sets_variable(const char *entries, size_t length, const char *variable)
{
	size_t name = strcspn(variable, "=") + 1;

	for (const char *entry = entries; entry < entries + length;
	     entry += strlen(entry) + 1)
		if (strncmp(entry, variable, name) == 0)
			return true;
	return false;
}

/* That of the job: what it inherits, with these entries set over it. */
static char **
environment_with(char *const *inherited, const char *entries, size_t length)
{
	size_t count = 0, room = 16;
	char **all;

	while (inherited[count] != NULL)
		count++;
	all = world_alloc((count + room) * sizeof(*all));
	count = 0;
	for (; *inherited != NULL; inherited++)
		if (!sets_variable(entries, length, *inherited))
			all[count++] = *inherited;
	entries = world_copy(entries, length);
	for (const char *entry = entries; entry < entries + length;
	     entry += strlen(entry) + 1)
		all[count++] = (char *)(uintptr_t)entry;
	return all;
}

void
guard_start_job(struct guard *guard, const char *entries, size_t length,
    int64_t deadline)
{
	struct model *model = model_of_guard(guard);
	struct guarded *known = &model->known;
	struct actor *actor = model->actor;

	actor->page.deadline = deadline;
	copy_entry(entries, length, "RLOCKRUN_FENCE=", known->fence,
	    sizeof(known->fence));
	copy_entry(entries, length, "RLOCKRUN_TOKEN=", known->token,
	    sizeof(known->token));
	known->environment = environment_with(environ, entries, length);
	oracle_on_job_ordered(actor);
	world_at(world.now + die_between(&actor->die, 200, 3000), on_start,
	    model, NULL);
}

void
guard_set_deadline(struct guard *guard, int64_t deadline)
{
	struct model *model = model_of_guard(guard);

	if (model == NULL)
		return;
	if (deadline > model->actor->page.deadline)
		oracle_on_renewed(model->actor, deadline);
	model->actor->page.deadline = deadline;
	watch_deadline(model);
}

/* Only a terminal's signals go to groups, and need continuing. */
void
guard_order(struct guard *guard, enum order_kind kind, int value)
{
	struct model *model = model_of_guard(guard);
	world_call *call = on_signal;

	if (kind == ORDER_CONTINUE)
		return;
	if (kind == ORDER_TERMINATE) {
		model->is_stopping = true;
		if (model->known.told_to_end_at < 0)
			model->known.told_to_end_at = world.now;
		call = on_terminate;
	} else {
		model->known.was_forwarded = true;
	}
	world_at(world.now + die_between(&model->actor->die, 100, 2000), call,
	    model, (void *)(intptr_t)value);
}

bool
guard_take_stop(struct guard *guard)
{
	(void)guard;
	return false;
}

void
guard_on_sigchld(struct guard *guard)
{
	(void)guard;
}

bool
guard_job_is_gone(const struct guard *guard)
{
	return guard->job.state > JOB_UNGUARDED;
}

bool
guard_is_unresponsive(const struct guard *guard)
{
	return guard->job.state < JOB_KILLING;
}

void
guard_kill(struct guard *guard)
{
	struct model *model = model_of_guard(guard);

	model->is_dead = true;
	end_command(model, -SIGKILL);
	guard->job.state = model->facts.state = JOB_UNGUARDED;
}

void
guard_kill_job(struct guard *guard)
{
	struct model *model = model_of_guard(guard);

	if (guarded_is_alive(model->actor)) {
		kill_soon(model, 5 * WORLD_MS);
		return;
	}
	guard->job.state = JOB_CLEARED;
	guard->job.gone_at = local_now(model);
}

bool
guard_has_earlier_children(const struct guard *guard)
{
	(void)guard;
	return false;
}

void
guard_dismiss(struct guard *guard)
{
	struct model *model = model_of_guard(guard);

	guard->pid = 0;
	if (guard->sock.fd != -1)
		loop_remove(guard->loop, &guard->sock);
	guard->sock.fd = -1;
	if (model == NULL || model->is_dismissed)
		return;
	model->is_dismissed = true;
	oracle_on_dismissed(model->actor,
	    model->is_stopping && guarded_is_alive(model->actor));
}
