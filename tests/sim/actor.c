#include "actor.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guarded.h"
#include "network.h"
#include "oracle.h"

enum { STACK = 256 * 1024 };
/* What clock_now shows when a history begins: a machine that has been up for a
 * while. */
#define BOOTED_MS INT64_C(1000000)

/* NOLINTBEGIN(*-avoid-non-const-global-variables): one stage a world */
static struct {
	struct actor *actors[ACTORS];
	int count;
	struct actor *current;
	struct fiber scheduler;
	char *stacks[ACTORS]; /* used again by the next history */
	FILE *out;
	char **environment;
} stage;
/* NOLINTEND(*-avoid-non-const-global-variables) */

int rlockrun_main(int argc, char **argv);

const char *__asan_default_options(void);

/* Runs that are killed give nothing back. */
const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* --- actors -------------------------------------------------------------- */

struct actor *
actor_add(const char *name)
{
	struct actor *actor = world_alloc(sizeof(*actor));

	if (stage.count == ACTORS)
		return NULL;
	actor->name = name;
	actor->number = stage.count;
	actor->timer_at = actor->turn_at = -1;
	actor->begun_at = actor->granted_at = -1;
	actor->asked_at = actor->crossed_at = -WORLD_S;
	actor->parted_at = actor->broke_off_at = -1;
	actor->poll_until = WORLD_NEVER;
	actor->die = die_of(name, -1);
	actor->random_die = die_of(name, -2);
	stage.actors[stage.count++] = actor;
	return actor;
}

struct actor *
actor_find(const char *name)
{
	for (int i = 0; i < stage.count; i++)
		if (strcmp(stage.actors[i]->name, name) == 0)
			return stage.actors[i];
	return NULL;
}

struct actor *
actor_number(int number)
{
	return number < stage.count ? stage.actors[number] : NULL;
}

int
actor_count(void)
{
	return stage.count;
}

struct actor *
actor_current(void)
{
	return stage.current;
}

const char *
actor_name(const struct actor *actor)
{
	return actor->name;
}

int64_t
actor_next_conn(struct actor *actor)
{
	return actor->conns++;
}

int64_t
actor_clock_us(const struct actor *actor)
{
	return BOOTED_MS * WORLD_MS + world.now +
	       world.now / 1000000 * actor->rate_ppm +
	       world.now % 1000000 * actor->rate_ppm / 1000000;
}

int64_t
actor_true_us(const struct actor *actor, int64_t clock_ms)
{
	int64_t shown = (clock_ms - BOOTED_MS) * WORLD_MS;
	int64_t at =
	    (int64_t)((double)shown / (1 + (double)actor->rate_ppm / 1e6));

	return at < 0 ? 0 : at + 2; /* never too early */
}

/* --- its turns --------------------------------------------------------------
 */

_Noreturn void
actor_exit(int status)
{
	struct actor *self = stage.current;

	self->status = status;
	self->state = ACTOR_ENDED;
	self->ended_at = world.now;
	oracle_on_ended(self);
	network_close_all_of(self);
	world_trace("%s: exits with %d", self->name, status);
	if (self->outer != NULL)
		guarded_on_nested_ended(self->outer);
	fiber_leave(&stage.scheduler);
}

static void
actor_main(void)
{
	struct actor *self = stage.current;

	fiber_begin(&stage.scheduler);
	actor_exit(rlockrun_main(self->argc, self->argv));
}

/* What it has printed by stdio. */
static void
take_output(struct actor *actor)
{
	fflush(actor->stream);
	for (const char *line = actor->stream_text; *line != '\0';) {
		int length = (int)strcspn(line, "\n");
		world_trace("%s: prints %.*s", actor->name, length, line);
		line += length + (line[length] == '\n');
	}
}

/* stdio's stdout and the environment are those of the one that runs. */
static void
give_turn(struct actor *actor)
{
	FILE *out = stdout;
	char **environment = environ;

	stage.current = actor;
	stdout = actor->stream;
	environ = actor->environment;
	fiber_switch(&stage.scheduler, &actor->fiber);
	actor->environment = environ;
	environ = environment;
	stdout = out;
	stage.current = NULL;
	if (actor->state != ACTOR_ALIVE)
		take_output(actor);
}

void
actor_start(struct actor *actor)
{
	char **stack = &stage.stacks[actor->number];

	if (*stack == NULL && (*stack = malloc(STACK)) == NULL)
		abort();
	actor->state = ACTOR_ALIVE;
	actor->begun_at = world.now;
	actor->stream = open_memstream(&actor->stream_text, &actor->streamed);
	fiber_init(&actor->fiber, *stack, STACK, actor_main);
	give_turn(actor);
}

void
actor_wait(const struct pollfd *polled, nfds_t count, int timeout_ms)
{
	struct actor *self = stage.current;

	self->polled = polled;
	self->polled_count = count;
	self->poll_until =
	    timeout_ms < 0 ? WORLD_NEVER : world.now + timeout_ms * WORLD_MS;
	self->turn_at = -1;
	fiber_switch(&self->fiber, &stage.scheduler);
}

/* Of a descriptor of the current one, or of one that waits. */
short
actor_events(const struct pollfd *polled)
{
	const struct conn *conn = network_of(polled->fd);
	const struct actor *actor;
	bool ready;

	if (conn != NULL)
		return network_events(conn) &
		       (polled->events | POLLERR | POLLHUP);
	if (polled->fd < ACTOR_TIMER_FD)
		return polled->events & POLLOUT; /* stdout, stderr */
	actor = stage.actors[polled->fd % 1000];
	if (polled->fd >= ACTOR_GUARD_FD)
		ready = guarded_has_report(actor);
	else if (polled->fd >= ACTOR_SIGNAL_FD)
		ready = actor->pending_signals != 0;
	else
		ready = actor->timer_at >= 0 &&
			actor_clock_us(actor) / 1000 >= actor->timer_at;
	return ready ? POLLIN : 0;
}

static bool
is_ready(const struct actor *actor)
{
	for (nfds_t i = 0; i < actor->polled_count; i++)
		if (actor_events(&actor->polled[i]) != 0)
			return true;
	return false;
}

/* When it can go on, if nothing else happens. */
static int64_t
wakes_at(const struct actor *actor)
{
	int64_t at = actor->poll_until;

	if (actor->turn_at >= 0) {
		at = actor->turn_at;
	} else if (is_ready(actor)) {
		at = world.now;
	} else if (actor->timer_at >= 0) {
		int64_t timer = actor_true_us(actor, actor->timer_at);
		at = timer < at ? timer : at;
	}
	return at < actor->stopped_until ? actor->stopped_until : at;
}

static struct actor *
find_next(int64_t *at)
{
	struct actor *next = NULL;

	*at = world_next();
	for (int i = 0; i < stage.count; i++) {
		struct actor *actor = stage.actors[i];
		int64_t wakes;

		if (actor->state != ACTOR_ALIVE)
			continue;
		wakes = wakes_at(actor);
		if (wakes < *at) {
			*at = wakes;
			next = actor;
		}
	}
	return next;
}

/* Most often the processor is free at once. What arrives until it is comes in
 * the same turn. */
static bool
must_queue(struct actor *actor)
{
	if (actor->turn_at >= 0 || !die_chance(&actor->die, 60))
		return false;
	actor->turn_at =
	    world.now +
	    die_between(&actor->die, 10,
		!world.calm && die_chance(&actor->die, 5) ? 30000 : 400);
	return true;
}

void
actor_play(int64_t until)
{
	int64_t at;

	for (;;) {
		struct actor *next = find_next(&at);

		if (at > until)
			break;
		if (next == NULL) {
			world_happen();
			continue;
		}
		world.now = at > world.now ? at : world.now;
		if (!must_queue(next)) {
			next->turn_at = -1;
			give_turn(next);
		}
	}
}

/* --- what is done to it
 * -------------------------------------------------------- */

void
actor_kill(struct actor *actor)
{
	if (actor->state != ACTOR_ALIVE)
		return;
	actor->state = ACTOR_KILLED;
	actor->ended_at = world.now;
	network_close_all_of(actor);
	guarded_on_killed(actor);
}

void
actor_signal(struct actor *actor, int signo)
{
	if (actor->state == ACTOR_ALIVE)
		actor->pending_signals |= UINT64_C(1) << signo;
}

void
actor_end_all(void)
{
	for (int i = 0; i < stage.count; i++) {
		struct actor *actor = stage.actors[i];
		if (actor->stream == NULL)
			continue;
		fclose(actor->stream);
		free(actor->stream_text);
	}
	stage.count = 0;
}
