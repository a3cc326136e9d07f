/* Whether an address speaks the other language, when it gave no answer to ours:
 * a server without TLS waits in silence for the rest of a TLS greeting, and one
 * with TLS hangs up on anything else, both without a word. A connection of its
 * own sends a few bytes that such a server answers at once. */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"
#include "redis/names/resolve.h"
#include "redis/stream.h"

enum probe_language { PROBE_REDIS, PROBE_TLS };

/* The owner sets the first four members and keeps the storage. */
struct probe {
	struct loop *loop; /* NULL while no probe is out */
	enum probe_language language;
	void (*on_answer)(void *arg, bool speaks);
	void *arg;
	struct stream stream;
	struct loop_timer timer;
};

/* on_answer is called once, within a second, never before this returns, unless
 * probe_cancel comes first. That may be called when no probe is out. */
void probe_start(struct probe *probe, const struct resolve_address *address);
void probe_cancel(struct probe *probe);

/* Which other protocol the first bytes of an answer belong to: "it speaks
 * HTTP"; NULL when they may be Redis'. */
const char *probe_recognize(const char *in, size_t length);

#endif
