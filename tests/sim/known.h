/* What the world knows of locks, in true time, and what excuses a broken
 * promise. The oracles share it; the runs do not know it. */
#ifndef KNOWN_H
#define KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "world.h"

struct actor;

/* A reply, and the turn in which it is read. */
#define ON_THE_WAY WORLD_S
/* Runs that begin so close together may arrive in the other order. */
#define SAME_TIME (10 * WORLD_MS)

/* What is known of a key. */
struct seen {
	const char *key;
	int64_t fence, fence_at;
	int64_t freed_at;	      /* it vanished from a primary, */
	const struct actor *freed_by; /* by a request of that one; or NULL */
	int64_t taken_at;	      /* it came into being there */
	int64_t stolen_at;	      /* somebody has written to the key */
	bool is_foreign;	      /* another library holds it, now */
	bool had_foreign;
};

/* A lock that is kept without a job: by --hold, --pause or --min-hold. */
struct kept {
	const char *key;
	const struct actor *by;
	int64_t from, until;
	bool is_replicated;
};

enum known_servers { ONE, REDLOCK, SENTINEL, CLUSTER, KINDS_OF_SERVERS };

void known_begin(void);
void known_on_servers(enum known_servers kind);
enum known_servers known_servers(void);
/* Several servers vote. */
bool known_has_majority(void);
struct seen *seen_of(const char *key);

void known_keep(const struct kept *kept);
/* NULL behind the last one. */
const struct kept *known_kept(int number);
/* Somebody may have released the locks of that holder since then. */
bool known_is_forced(const struct actor *holder, int64_t since);
/* It may have been ended before its time, or forgotten. */
bool known_is_undone(const struct kept *kept);

bool actor_has_key(const struct actor *actor, const char *key);
bool actor_has_word(const struct actor *actor, const char *word);
/* NULL: it has no such option. */
const char *actor_word_behind(const struct actor *actor, const char *option);
/* The token of a run's job, or that a hold has printed; NULL: none. */
const char *actor_token(const struct actor *actor);
/* A run with a job, not a command. */
bool actor_is_run(const struct actor *actor);
/* Waits for one exclusive lock, and nothing else decides when it gets it. */
bool actor_waits_plainly(const struct actor *actor);
/* How many may run together with one of that kind. */
bool actor_may_share(const struct actor *a, const struct actor *b, int others);

/* A server forgets what it acknowledged until that time. */
void known_on_data_lost(int64_t until);
/* A server's clock was set by so much. */
void known_on_clock_step(int64_t by_us);
/* What is dated by one server is read by another one, whose clock was set. */
void known_on_reread(void);
/* What runs send arrives twice from here on. A run may then be recorded once
 * more after its end, and its end be forgotten. */
void known_on_repeats(void);
bool known_has_repeated(void);
/* Who is granted a lock may not read what the run before it has recorded, and
 * cannot file it. */
void known_on_unreadable(void);
bool known_has_unreadable(void);
/* It has forgotten something after that time. */
bool known_has_lost(int64_t since);
/* A server's clock was set after that time, or another one reads. */
bool known_has_stepped(int64_t since);
/* Somebody has written to the key of that lock, or to its records. */
bool known_is_struck(const char *key);
/* A server has forgotten something while it held that one. */
bool known_suffers_loss(const struct actor *actor);
/* Something that no lock survives happened to its key while it was held. */
bool known_is_excused(const struct actor *actor);
/* What that run has recorded may be unknown to the servers. */
bool known_may_be_forgotten(const struct actor *actor);

/* Whether it may be shown as the holder of that lock at some time from one to
 * the other; whether somebody must be, all that time. */
bool known_may_hold(const struct actor *actor, const char *key, int64_t from,
    int64_t to);
bool known_is_held(const char *key, int64_t from, int64_t to);

#endif
