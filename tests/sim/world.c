#include "world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NOLINTBEGIN(*-avoid-non-const-global-variables): there is one world */
struct world world;

struct happening {
	int64_t at;
	uint64_t order;
	world_call *call;
	void *who, *what;
};

/* A binary heap: the next one is the first. */
static struct {
	struct happening *all;
	size_t count, room;
	uint64_t order;
} heap;

/* What was allocated, in blocks that are used again by the next history. */
static struct {
	char **blocks;
	size_t count, used, at;
} arena;
/* NOLINTEND(*-avoid-non-const-global-variables) */

enum { BLOCK = 1 << 20 };

/* --- dice ------------------------------------------------------------- */

/* SplitMix64, Steele, Lea and Flood 2014. */
uint64_t
die_bits(struct die *die)
{
	uint64_t z = (die->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

struct die
die_of(const char *whose, int64_t number)
{
	struct die die = {world.seed};

	for (; *whose != '\0'; whose++)
		die.state = die_bits(&die) ^ (unsigned char)*whose;
	die.state = die_bits(&die) ^ (uint64_t)number;
	return die;
}

int64_t
die_between(struct die *die, int64_t least, int64_t most)
{
	uint64_t span = (uint64_t)(most - least) + 1;

	if (world.is_still)
		return least;
	return least + (int64_t)(die_bits(die) % span);
}

bool
die_chance(struct die *die, int percent)
{
	return !world.is_still && die_between(die, 0, 99) < percent;
}

/* --- memory ------------------------------------------------------------ */

static void *
checked(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

void *
world_alloc(size_t size)
{
	void *memory;

	size = (size + 15) / 16 * 16;
	if (size > BLOCK)
		abort();
	if (arena.used == 0 || arena.at + size > BLOCK) {
		if (arena.used == arena.count) {
			arena.blocks = checked(reallocarray(arena.blocks,
			    arena.count + 1, sizeof(*arena.blocks)));
			arena.blocks[arena.count++] = checked(malloc(BLOCK));
		}
		arena.used++;
		arena.at = 0;
	}
	memory = arena.blocks[arena.used - 1] + arena.at;
	arena.at += size;
	return memset(memory, 0, size);
}

char *
world_copy(const char *bytes, size_t length)
{
	return memcpy(world_alloc(length + 1), bytes, length);
}

char *
world_format(const char *format, ...)
{
	char text[4096];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return world_copy(text, strlen(text));
}

/* --- what happens -------------------------------------------------------- */

static bool
is_earlier(const struct happening *a, const struct happening *b)
{
	return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void
swap(size_t i, size_t j)
{
	struct happening other = heap.all[i];

	heap.all[i] = heap.all[j];
	heap.all[j] = other;
}

void
world_at(int64_t at, world_call *call, void *who, void *what)
{
	size_t i = heap.count++;

	if (heap.count > heap.room) {
		heap.room = 2 * heap.count + 256;
		heap.all = checked(
		    reallocarray(heap.all, heap.room, sizeof(*heap.all)));
	}
	heap.all[i] = (struct happening){.at = at < world.now ? world.now : at,
	    .order = heap.order++,
	    .call = call,
	    .who = who,
	    .what = what};
	for (; i > 0 && is_earlier(&heap.all[i], &heap.all[(i - 1) / 2]);
	     i = (i - 1) / 2)
		swap(i, (i - 1) / 2);
}

int64_t
world_next(void)
{
	return heap.count == 0 ? WORLD_NEVER : heap.all[0].at;
}

void
world_happen(void)
{
	struct happening next = heap.all[0];
	size_t i = 0, least = 0;

	heap.all[0] = heap.all[--heap.count];
	do {
		swap(i, least);
		i = least;
		for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++)
			if (child < heap.count &&
			    is_earlier(&heap.all[child], &heap.all[least]))
				least = child;
	} while (least != i);
	world.now = next.at;
	next.call(next.who, next.what);
}

/* --- what is told of it -------------------------------------------------- */

bool
world_is_traced(void)
{
	return world.traced != NULL;
}

static void
add_line(const char *text)
{
	int length;

	if (world.traced == NULL)
		return;
	world.traced = checked(
	    realloc(world.traced, world.traced_length + strlen(text) + 32));
	length = sprintf(world.traced + world.traced_length,
	    "%4" PRId64 ".%06" PRId64 "  %s\n", world.now / WORLD_S,
	    world.now % WORLD_S, text);
	world.traced_length += (size_t)length;
}

void
world_trace(const char *format, ...)
{
	char text[1024];
	va_list arguments;

	if (world.traced == NULL)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	add_line(text);
}

void
world_find(const char *promise, const char *format, ...)
{
	char text[1024], line[1200];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(line, sizeof(line), "%s: %s", promise, text);
	if (world.findings++ == 0)
		world.found = world_format("%s, at %.6f s", line,
		    (double)world.now / (double)WORLD_S);
	if (world.traced != NULL) {
		char marked[1300];
		snprintf(marked, sizeof(marked), "FOUND %s", line);
		add_line(marked);
	}
}

void
world_begin(uint64_t seed)
{
	char *traced = world.traced;

	world = (struct world){.seed = seed, .traced = traced};
}

void
world_end(void)
{
	heap.count = 0;
	heap.order = 0;
	arena.used = arena.at = 0;
}
