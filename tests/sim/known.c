#include "known.h"

#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "guarded.h"
#include "options/opts.h"

enum { KEYS = 64, KEPT = 64 };
/* What a run has sent may arrive so long after its end, unless the world is
 * calm. */
#define LATE (5 * WORLD_S)

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): one stage a world */
static struct {
	struct seen keys[KEYS];
	size_t count;
	struct kept kept[KEPT];
	int kept_count;
	int64_t lost_at;	  /* a server forgot what it had acknowledged */
	int64_t step_at, step_us; /* of a server's clock */
	int64_t reread_at;	  /* another server reads what it has dated */
	bool has_repeated, has_unreadable;
	enum known_servers servers;
} stage;

void
known_begin(void)
{
	memset(&stage, 0, sizeof(stage));
	stage.lost_at = stage.step_at = stage.reread_at = -1;
}

void
known_on_servers(enum known_servers kind)
{
	stage.servers = kind;
}

enum known_servers
known_servers(void)
{
	return stage.servers;
}

bool
known_has_majority(void)
{
	return stage.servers == REDLOCK;
}

struct seen *
seen_of(const char *key)
{
	for (size_t i = 0; i < stage.count; i++)
		if (strcmp(stage.keys[i].key, key) == 0)
			return &stage.keys[i];
	if (stage.count == KEYS)
		abort();
	stage.keys[stage.count] =
	    (struct seen){.key = world_copy(key, strlen(key)),
		.freed_at = -1,
		.taken_at = -1,
		.stolen_at = -1};
	return &stage.keys[stage.count++];
}

/* --- runs ----------------------------------------------------------------- */

bool
actor_has_key(const struct actor *actor, const char *key)
{
	if (actor->opts == NULL)
		return false;
	for (size_t i = 0; i < actor->opts->key_count; i++)
		if (strcmp(actor->opts->keys[i].key, key) == 0)
			return true;
	return false;
}

bool
actor_has_word(const struct actor *actor, const char *word)
{
	for (int i = 1; i < actor->argc; i++)
		if (strcmp(actor->argv[i], word) == 0)
			return true;
	return false;
}

const char *
actor_word_behind(const struct actor *actor, const char *option)
{
	for (int i = 1; i + 1 < actor->argc; i++)
		if (strcmp(actor->argv[i], option) == 0)
			return actor->argv[i + 1];
	return NULL;
}

const char *
actor_token(const struct actor *actor)
{
	if (actor->guarded != NULL)
		return actor->guarded->token;
	if (actor->out == NULL || !actor_has_word(actor, "--hold"))
		return NULL;
	return world_copy(actor->out, strcspn(actor->out, "\n"));
}

bool
actor_is_run(const struct actor *actor)
{
	return actor->opts != NULL && actor->opts->action == OPTS_RUN;
}

bool
actor_waits_plainly(const struct actor *actor)
{
	return actor_is_run(actor) && actor->opts->wait_ms != 0 &&
	       !actor->opts->lock.newest && !actor->opts->lock.replace &&
	       actor->opts->splay_ms == 0 && actor->outer == NULL &&
	       actor->opts->key_count == 1 &&
	       actor->opts->lock.kind == &kind_exclusive;
}

bool
actor_may_share(const struct actor *a, const struct actor *b, int others)
{
	if (a->opts->lock.kind != b->opts->lock.kind)
		return false;
	return a->opts->lock.kind == &kind_shared ||
	       (a->opts->lock.kind == &kind_permits &&
		   others < a->opts->lock.permits);
}

/* --- commands that end what others hold --- */

/* What it has sent may have arrived since then. */
static bool
has_acted(const struct actor *command, int64_t since)
{
	int64_t late = world.calm ? SAME_TIME : LATE;

	return command->begun_at >= 0 && (command->state == ACTOR_ALIVE ||
					     command->ended_at + late >= since);
}

/* It names another holder than that one. */
static bool
spares(const struct actor *command, const struct actor *holder)
{
	const char *token = actor_word_behind(command, "--token");
	const char *key = actor_word_behind(command, "-k");
	const char *held = actor_token(holder);

	if (key != NULL && holder->opts->action != OPTS_PAUSE &&
	    !actor_has_key(holder, key))
		return true;
	return token != NULL && held != NULL && strcmp(held, token) != 0;
}

bool
known_is_forced(const struct actor *holder, int64_t since)
{
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *command = actor_number(i);
		if (actor_has_word(command, "--force-release") &&
		    has_acted(command, since) && !spares(command, holder))
			return true;
	}
	return false;
}

bool
known_is_undone(const struct kept *kept)
{
	/* A pause of several locks may not look again at one that it already
	 * has. */
	bool is_pause = kept->by->opts->action == OPTS_PAUSE;
	int64_t since = is_pause ? kept->by->begun_at : kept->from;

	if ((!kept->is_replicated && known_has_lost(kept->from)) ||
	    seen_of(kept->key)->stolen_at >= kept->from - ON_THE_WAY ||
	    known_is_forced(kept->by, since))
		return true;
	for (int i = 0; is_pause && i < actor_count(); i++)
		if (actor_has_word(actor_number(i), "--resume") &&
		    has_acted(actor_number(i), since))
			return true;
	return false;
}

/* --- excuses ---------------------------------------------------------------
 */

void
known_on_data_lost(int64_t until)
{
	if (until > stage.lost_at)
		stage.lost_at = until;
}

void
known_on_repeats(void)
{
	stage.has_repeated = true;
}

bool
known_has_repeated(void)
{
	return stage.has_repeated;
}

void
known_on_unreadable(void)
{
	stage.has_unreadable = true;
}

bool
known_has_unreadable(void)
{
	return stage.has_unreadable;
}

bool
known_has_lost(int64_t since)
{
	return stage.lost_at >= 0 && stage.lost_at + ON_THE_WAY >= since;
}

void
known_on_clock_step(int64_t by_us)
{
	stage.step_at = world.now;
	stage.step_us = by_us;
	/* Forward, it ends what is kept so much earlier. */
	for (int i = 0; i < stage.kept_count && by_us > 0; i++)
		stage.kept[i].until -= by_us;
}

void
known_on_reread(void)
{
	stage.reread_at = world.now;
}

/* What happened then may have cost it the lock, or its place as a nested run.
 * It is whole again after two renewals that were sent later: the second one
 * follows what the first one has set right. */
static bool
may_suffer(const struct actor *actor, int64_t at)
{
	return at >= 0 && at + ON_THE_WAY >= actor->granted_at &&
	       at >= actor->proved[1];
}

bool
known_suffers_loss(const struct actor *actor)
{
	return may_suffer(actor, stage.lost_at);
}

bool
known_has_stepped(int64_t since)
{
	return stage.step_at >= since || stage.reread_at >= since;
}

bool
known_is_struck(const char *key)
{
	const char *info = world_format("{%s}:rlk:i", key);
	const char *runs = world_format("{%s}:rlk:r", key);

	return seen_of(key)->stolen_at >= 0 || seen_of(info)->stolen_at >= 0 ||
	       seen_of(runs)->stolen_at >= 0;
}

bool
known_is_excused(const struct actor *actor)
{
	if (!known_has_majority() && actor->opts->lock.replicas == 0 &&
	    known_suffers_loss(actor))
		return true;
	for (size_t i = 0; i < actor->opts->key_count; i++) {
		const char *key = actor->opts->keys[i].key;
		const char *nested = world_format("{%s}:rlk:n", key);
		if (may_suffer(actor, seen_of(key)->stolen_at) ||
		    (actor->outer != NULL &&
			may_suffer(actor, seen_of(nested)->stolen_at)))
			return true;
	}
	/* One of several locks was held before the last one was granted. The
	 * leases of counted locks are dated by the server. */
	return may_suffer(actor, stage.step_at) ||
	       (actor->opts->lock.kind != &kind_exclusive &&
		   may_suffer(actor, stage.reread_at)) ||
	       known_is_forced(actor, actor->opts->key_count > 1
					  ? actor->begun_at
					  : actor->granted_at) ||
	       actor->opts->lost_warn ||
	       actor->opts->on_unavailable == OPTS_UNAVAILABLE_RUN;
}

bool
known_may_be_forgotten(const struct actor *actor)
{
	return actor->is_unconfirmed ||
	       known_has_stepped(actor->guarded->ended_at) ||
	       (actor->opts->lock.replicas == 0 && stage.lost_at >= 0 &&
		   stage.lost_at >= actor->guarded->ended_at);
}

/* --- locks without a job ---------------------------------------------------
 */

void
known_keep(const struct kept *kept)
{
	struct kept *own = &stage.kept[stage.kept_count];
	/* When it was granted, at the earliest. */
	int64_t since = kept->from - ON_THE_WAY;

	if (stage.kept_count++ == KEPT)
		abort();
	*own = *kept;
	if (since < kept->by->begun_at)
		since = kept->by->begun_at;
	if (stage.step_at >= since && stage.step_us > 0)
		own->until -= stage.step_us;
}

const struct kept *
known_kept(int number)
{
	return number < stage.kept_count ? &stage.kept[number] : NULL;
}

/* --- who holds a lock ----------------------------------------------------
 */

/* Until when a server may show its lease at the latest. */
static int64_t
held_until(const struct actor *actor)
{
	const struct opts *opts = actor->opts;
	int64_t until = actor->ended_at;

	if (actor->state == ACTOR_ALIVE)
		return WORLD_NEVER;
	if (!world.calm)
		until += LATE;
	if (!world.calm || !actor->is_released || actor->is_left)
		until += opts->lock.ttl_ms * WORLD_MS * 102 / 100;
	until += opts->min_hold_ms * WORLD_MS * 102 / 100;
	for (int i = 0; i < actor_count(); i++) {
		const struct actor *inner = actor_number(i);
		if (inner->outer == actor && inner->opts != NULL &&
		    held_until(inner) > until)
			until = held_until(inner);
	}
	return until;
}

bool
known_may_hold(const struct actor *actor, const char *key, int64_t from,
    int64_t to)
{
	if (actor->begun_at < 0 || actor->begun_at > to)
		return false;
	if (actor_has_word(actor, "--pause") || actor_has_word(actor, "--hold"))
		return true; /* others may have extended it */
	return actor_has_key(actor, key) && held_until(actor) >= from;
}

bool
known_is_held(const char *key, int64_t from, int64_t to)
{
	const struct kept *kept;

	for (int i = 0; i < actor_count(); i++) {
		const struct actor *actor = actor_number(i);
		const struct guarded *job = actor->guarded;

		if (job != NULL && actor_has_key(actor, key) &&
		    *job->token != '\0' && job->started_at >= 0 &&
		    job->started_at <= from && actor->outer == NULL &&
		    (job->ended_at < 0 || job->ended_at >= to) &&
		    !known_is_excused(actor) && !known_has_lost(0))
			return true;
	}
	for (int i = 0; (kept = known_kept(i)) != NULL; i++)
		if (strcmp(kept->key, key) == 0 && kept->from <= from &&
		    kept->until >= to && !known_is_undone(kept))
			return true;
	return false;
}
