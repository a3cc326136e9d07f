#include "foreign.h"

#include <inttypes.h>
#include <string.h>

#include "node.h"
#include "oracle.h"
#include "world.h"

enum { TRIES = 200 };
#define POLL (50 * WORLD_MS)

struct foreign {
	struct node *node;
	const char *key, *token;
	int64_t ttl_us, holds_us;
	int tries;
};

static void
release(void *who, void *what)
{
	struct foreign *foreign = who;

	(void)what;
	oracle_on_foreign(foreign->key, false);
	node_execute(foreign->node,
	    (const char *const[]){"EVAL",
		"if redis.call('GET', KEYS[1]) == ARGV[1] then "
		"return redis.call('DEL', KEYS[1]) end return 0",
		"1", foreign->key, foreign->token, NULL});
}

static void
try(void *who, void *what)
{
	struct foreign *foreign = who;
	const char *reply = "";

	(void)what;
	if (!foreign->node->is_down && !foreign->node->is_frozen)
		reply = node_execute(foreign->node,
		    (const char *const[]){"SET", foreign->key, foreign->token,
			"NX", "PX",
			world_format("%" PRId64, foreign->ttl_us / WORLD_MS),
			NULL});
	if (*reply == '+') {
		oracle_on_foreign(foreign->key, true);
		world_at(world.now + foreign->holds_us, release, foreign, NULL);
	} else if (++foreign->tries < TRIES) {
		world_at(world.now + POLL, try, foreign, NULL);
	}
}

void
foreign_start(struct node *node, const char *key, int64_t ttl_us,
    int64_t holds_us)
{
	struct foreign *foreign = world_alloc(sizeof(*foreign));

	foreign->node = node;
	foreign->key = key;
	foreign->token =
	    world_format("foreign-%" PRId64 "-%s", world.now, node->name);
	foreign->ttl_us = ttl_us;
	foreign->holds_us = holds_us;
	try(foreign, NULL);
}
