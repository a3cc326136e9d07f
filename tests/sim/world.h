/* The world of one history: its dice, the true time, what happens next, and
 * what was found. All of it follows from the seed.
 *
 * Each part of the world has a die of its own, named after it. So a step that
 * is taken out of a history changes nothing for those that it does not touch,
 * and a history that fails can be made smaller. */
#ifndef WORLD_H
#define WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORLD_MS INT64_C(1000)
#define WORLD_S INT64_C(1000000)
#define WORLD_NEVER INT64_MAX

struct die {
	uint64_t state;
};

/* That of a part of the world, such as "run A" or "link 3". */
struct die die_of(const char *whose, int64_t number);
uint64_t die_bits(struct die *die);
/* Both included. */
int64_t die_between(struct die *die, int64_t least, int64_t most);
bool die_chance(struct die *die, int percent);

struct world {
	uint64_t seed;
	int64_t now;   /* true time, us since the history began */
	bool calm;     /* no delays but short ones */
	bool is_still; /* dice show their least: nothing takes time by chance */
	int findings;  /* of this history */
	char *found;   /* the first one */
	char *traced;  /* see world_trace; NULL: nobody reads it */
	size_t traced_length;
};

/* NOLINTNEXTLINE(*-avoid-non-const-global-variables): there is one world */
extern struct world world;

void world_begin(uint64_t seed);
/* Forgets all that was allocated and all that was to happen. */
void world_end(void);

/* Zeroed, until the world ends. */
void *world_alloc(size_t size);
char *world_copy(const char *bytes, size_t length);
__attribute__((format(printf, 1, 2))) char *world_format(const char *format,
    ...);

/* Something that happens to who at that time, or now if that is over. What
 * happens at the same time happens in the order of these calls. */
typedef void world_call(void *who, void *what);
void world_at(int64_t at, world_call *call, void *who, void *what);
/* When the next thing happens; WORLD_NEVER: nothing does. */
int64_t world_next(void);
void world_happen(void);

/* Whether a reader wants world_trace's lines. */
bool world_is_traced(void);
/* A line of the trace, with the time. */
__attribute__((format(printf, 1, 2))) void world_trace(const char *format, ...);

/* A promise that was broken. */
__attribute__((format(printf, 2, 3))) void world_find(const char *promise,
    const char *format, ...);

#endif
