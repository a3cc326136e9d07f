/* Who is the primary, by the sentinels that watch it: redis.io's "Guidelines
 * for Redis clients with support for Redis Sentinel". They are asked one after
 * the other. One that answered is asked first the next time, unless its answer
 * proved wrong: then it is asked last. */
#ifndef SENTINEL_H
#define SENTINEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "redis/url.h"

struct sentinel;

struct sentinel_answer {
	const char *host; /* NULL: nobody knows, and why tells why */
	int port;
	const char *why;
	bool refused;  /* all that answered refuse us; why names one */
	bool hopeless; /* none of them will know, or answer, the next time */
};

typedef void sentinel_on_answer(void *arg,
    const struct sentinel_answer *answer);

/* The URL, one with a master, must outlive it. NULL when memory is out. */
struct sentinel *sentinel_new(struct loop *loop, const struct endpoint *url,
    sentinel_on_answer *on_answer, void *arg);
void sentinel_free(struct sentinel *sentinel);

/* Asks; on_answer is called once, unless sentinel_cancel comes first, perhaps
 * before this returns, and early enough for the primary to be reached before
 * the deadline. */
void sentinel_ask(struct sentinel *sentinel, int64_t deadline);
void sentinel_cancel(struct sentinel *sentinel);

/* The last answer was right. */
void sentinel_confirm(struct sentinel *sentinel);

#endif
