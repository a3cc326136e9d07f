/* A lane is one address:
 *
 *   WAITS --its turn--> CONNECTS --first--> the winner; all others wait again
 *                          |                    |
 *                          +----any failure-----+--race_go anew--> FAILED
 *
 * The turn of the next lane comes after the head start of the one before it, or
 * at once when that has failed. */
#include "redis/names/race.h"

#include <errno.h>
#include <string.h>

#include "redis/socket.h"

/* RFC 8305, 5: the recommended delay, and the least. */
enum { HEAD_START_MS = 250, HEAD_START_MIN_MS = 10 };

static void start_next_lane(void *arg);

static bool
is_same_address(const struct resolve_address *a,
    const struct resolve_address *b)
{
	return a->length == b->length &&
	       memcmp(&a->addr, &b->addr, a->length) == 0;
}

static void
leave_lane(struct race_lane *lane, enum race_lane_state state)
{
	if (lane->state == LANE_CONNECTS)
		stream_close(&lane->stream);
	lane->state = state;
}

void
race_cancel(struct race *race)
{
	for (size_t i = 0; i < race->count; i++)
		if (race->lanes[i].state == LANE_CONNECTS)
			leave_lane(&race->lanes[i], LANE_WAITS);
	loop_timer_remove(race->loop, &race->timer);
}

/* Until it answers, the next race begins behind it: a server that is frozen
 * still connects. */
static void
win(struct race *race, struct race_lane *lane)
{
	race->won = (size_t)(lane - race->lanes);
	race->first = race->lanes[(race->won + 1) % race->count].address;
	stream_move(race->winner, &lane->stream);
	lane->state = LANE_WAITS;
	race_cancel(race);
	race->on_end(race->arg, 0);
}

static void
on_lane_socket(void *arg, short revents)
{
	struct race_lane *lane = arg;
	struct race *race = lane->race;

	(void)revents;
	race->error = socket_error(lane->stream.fd.fd);
	if (race->error == 0) {
		win(race, lane);
	} else {
		leave_lane(lane, LANE_FAILED);
		start_next_lane(race);
	}
}

static size_t
count_lanes(const struct race *race, enum race_lane_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < race->count; i++)
		count += race->lanes[i].state == state;
	return count;
}

/* All must have their turn in time, and the last one a share of the time. */
static void
start_next_lane(void *arg)
{
	struct race *race = arg;
	int64_t now = clock_now(), head_start_ms;
	size_t waiting;

	for (size_t i = 0; i < race->count; i++) {
		struct race_lane *lane = &race->lanes[i];
		int opened;

		if (lane->state != LANE_WAITS)
			continue;
		lane->state = LANE_CONNECTS;
		lane->stream = (struct stream){.loop = race->loop,
		    .fd = {.on_ready = on_lane_socket, .arg = lane}};
		opened = stream_open(&lane->stream, &lane->address);
		if (opened == 0)
			break;
		if (opened == 1) {
			win(race, lane);
			return;
		}
		race->error = errno;
		leave_lane(lane, LANE_FAILED);
	}
	waiting = count_lanes(race, LANE_WAITS);
	head_start_ms =
	    clock_min((race->by - now) / (int64_t)(waiting + 1), HEAD_START_MS);
	if (head_start_ms < HEAD_START_MIN_MS)
		head_start_ms = HEAD_START_MIN_MS;
	loop_timer_set(race->loop, &race->timer,
	    waiting == 0 ? CLOCK_NEVER : now + head_start_ms);
	if (count_lanes(race, LANE_CONNECTS) == 0)
		race->on_end(race->arg, race->error);
}

/* The families take turns (RFC 8305, 4): a host whose IPv6 route is dead need
 * not try all IPv6 addresses first. */
void
race_enter(struct race *race, const struct resolve_answer *answer)
{
	sa_family_t family = answer->address[0].addr.ss_family;
	size_t turns[RESOLVE_MAX], order[RESOLVE_MAX] = {0}, taken[2] = {0};
	size_t first = 0;

	for (size_t i = 0; i < answer->count; i++) {
		bool other = answer->address[i].addr.ss_family != family;

		turns[i] = 2 * taken[other]++ + other;
	}
	for (size_t i = 0; i < answer->count; i++) {
		size_t at = 0;

		for (size_t j = 0; j < answer->count; j++)
			at += turns[j] < turns[i];
		order[at] = i;
		if (is_same_address(&answer->address[i], &race->first))
			first = at;
	}
	race->count = answer->count;
	race->won = RESOLVE_MAX;
	race->timer.on_due = start_next_lane;
	race->timer.arg = race;
	for (size_t i = 0; i < race->count; i++)
		race->lanes[i] = (struct race_lane){.race = race,
		    .address =
			answer->address[order[(first + i) % race->count]]};
}

void
race_go(struct race *race, int64_t by)
{
	race->by = by;
	if (race->won < race->count) {
		race->lanes[race->won].state = LANE_FAILED;
		race->error = ETIMEDOUT;
		race->won = RESOLVE_MAX;
	}
	start_next_lane(race);
}

void
race_confirm(struct race *race)
{
	if (race->won < race->count)
		race->first = race->lanes[race->won].address;
}

size_t
race_left(const struct race *race)
{
	return race->count - count_lanes(race, LANE_FAILED);
}
