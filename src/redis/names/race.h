/* Several addresses of one server: the first that connects is used. Each has a
 * head start before the next is tried beside it (RFC 8305), so that a dead one
 * costs a moment and never the time that there is. The address that the server
 * answered at begins the next race. */
#ifndef RACE_H
#define RACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "redis/names/resolve.h"
#include "redis/stream.h"

struct race;

enum race_lane_state { LANE_WAITS, LANE_CONNECTS, LANE_FAILED };

struct race_lane {
	struct race *race;
	struct resolve_address address;
	enum race_lane_state state;
	struct stream stream;
};

/* The owner sets the first four members and keeps the storage, which is to
 * begin as zeros. */
struct race {
	struct loop *loop;
	struct stream *winner; /* takes the connection over */
	/* Once, perhaps before race_go returns, unless race_cancel comes first:
	 * 0 with a connected winner, or the errno of the address that failed
	 * last. May start the race anew. */
	void (*on_end)(void *arg, int error);
	void *arg;
	struct race_lane lanes[RESOLVE_MAX];
	size_t count;
	size_t won;		      /* the winner's lane */
	struct resolve_address first; /* where the next race begins */
	int64_t by; /* of race_go: all lanes get their turn in time for it */
	int error;  /* errno of the last failure */
	struct loop_timer timer; /* the next one's start */
};

/* Enters these addresses, at least one, in place of earlier ones. */
void race_enter(struct race *race, const struct resolve_answer *answer);

/* Tries them in time for that moment. After a win it goes on without the
 * winner. */
void race_go(struct race *race, int64_t by);

/* Closes all that is under way. May be called at any time. */
void race_cancel(struct race *race);

/* The winner has answered. One that never does is the last in the next race. */
void race_confirm(struct race *race);

/* How many addresses have not failed, the winner's among them. */
size_t race_left(const struct race *race);

#endif
