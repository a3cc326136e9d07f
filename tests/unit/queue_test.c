/* How a waiter waits, and for how long, at least and at most. */
#include "lock/queue.h"

#include "tap.h"

static bool is_high;

int64_t __wrap_dice_between(int64_t low, int64_t high);
int64_t
__wrap_dice_between(int64_t low, int64_t high)
{
	return is_high ? high : low;
}

static const struct holder ours = {.state = HOLDER_KNOWN, .left_ms = -1};
static const struct holder ours_500ms = {.state = HOLDER_KNOWN, .left_ms = 500};
static const struct holder foreign = {.state = HOLDER_FOREIGN, .left_ms = -1};
static const struct holder foreign_20ms = {.state = HOLDER_FOREIGN,
    .left_ms = 20};
static const struct holder none = {.state = HOLDER_NONE, .left_ms = -1};

static void
test_ways(void)
{
	static const struct {
		enum queue_way before;
		int64_t position;
		const struct holder *holder;
		enum queue_way way;
		int64_t least_ms, most_ms;
		const char *what;
	} cases[] = {
	    {QUEUE_OUTSIDE, -1, &ours, QUEUE_OUTSIDE, 50, 250, "no position"},
	    {QUEUE_OUTSIDE, -1, &foreign_20ms, QUEUE_OUTSIDE, 22, 22,
		"no position, the lease ends soon"},
	    {QUEUE_OUTSIDE, 0, &ours, QUEUE_DOORBELL, 720, 880, "head"},
	    {QUEUE_OUTSIDE, 0, &none, QUEUE_DOORBELL, 720, 880,
		"head of a free lock"},
	    {QUEUE_OUTSIDE, 1, &ours, QUEUE_DOORBELL, 720, 880, "second"},
	    {QUEUE_OUTSIDE, 2, &ours, QUEUE_DOORBELL, 720, 880, "third"},
	    {QUEUE_OUTSIDE, 3, &ours, QUEUE_DOORBELL, 4500, 5500, "fourth"},
	    {QUEUE_OUTSIDE, 0, &ours_500ms, QUEUE_DOORBELL, 502, 502,
		"head, at the end of the lease"},
	    {QUEUE_OUTSIDE, 1, &ours_500ms, QUEUE_DOORBELL, 550, 550,
		"second, at the end of the lease"},
	    {QUEUE_OUTSIDE, 2, &ours_500ms, QUEUE_DOORBELL, 600, 600,
		"third, at the end of the lease"},
	    {QUEUE_OUTSIDE, 3, &ours_500ms, QUEUE_DOORBELL, 4500, 5500,
		"fourth: does not wait for the lease"},
	    {QUEUE_DOORBELL, 0, &foreign, QUEUE_FOREIGN, 80, 100,
		"head behind another client"},
	    {QUEUE_DOORBELL, 0, &foreign_20ms, QUEUE_FOREIGN, 22, 22,
		"head, the other client's lease ends soon"},
	    {QUEUE_DOORBELL, 1, &foreign, QUEUE_DOORBELL, 720, 880,
		"second behind another client"},
	    {QUEUE_NO_DOORBELL, 2, &ours, QUEUE_NO_DOORBELL, 50, 250,
		"doorbell refused"},
	    {QUEUE_NO_DOORBELL, 0, &foreign, QUEUE_NO_DOORBELL, 50, 250,
		"doorbell refused, another client"},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct queue queue;

		for (int j = 0; j < 2; j++) {
			is_high = j == 1;
			queue_init(&queue);
			queue.way = cases[i].before;
			queue.position = cases[i].position;
			is_int(queue_wait_ms(&queue, cases[i].holder),
			    is_high ? cases[i].most_ms : cases[i].least_ms,
			    cases[i].what);
			is_int(queue.way, cases[i].way, "  its way");
		}
	}
}

static void
test_foreign_backs_off(void)
{
	static const int64_t most_ms[] = {100, 200, 400, 500, 500};
	struct queue queue;

	queue_init(&queue);
	queue.position = 0;
	for (size_t i = 0; i < LENGTH(most_ms); i++)
		is_int(queue_wait_ms(&queue, &foreign), most_ms[i],
		    "a poll of another client's lock");
	queue_wait_ms(&queue, &ours);
	ok(queue_wait_ms(&queue, &foreign) <= 100,
	    "polls quickly again after another holder");
}

/* Before Redis 6 a doorbell can be waited for whole seconds only. */
static void
test_whole_seconds(void)
{
	static const struct {
		int64_t position, left_ms;
		bool others_queued;
		enum queue_way way;
		int64_t least_ms, most_ms;
		const char *what;
	} cases[] = {
	    {0, 30000, false, QUEUE_DOORBELL, 1000, 1000, "head"},
	    {1, 30000, false, QUEUE_DOORBELL, 1000, 1000, "second"},
	    {2, 30000, false, QUEUE_DOORBELL, 1000, 1000, "third"},
	    {3, 30000, false, QUEUE_DOORBELL, 4000, 5000, "fourth"},
	    {0, 998, false, QUEUE_DOORBELL, 1000, 1000, "the head may wait"},
	    {0, 997, false, QUEUE_LAST_SECOND, 50, 50, "the head polls"},
	    {0, 48, false, QUEUE_LAST_SECOND, 50, 50, "  at most"},
	    {0, 47, false, QUEUE_LAST_SECOND, 49, 49, "  no longer"},
	    {0, 10, false, QUEUE_LAST_SECOND, 12, 12, "  until the end"},
	    {0, 0, false, QUEUE_LAST_SECOND, 2, 2, "  at the end"},
	    {1, 900, false, QUEUE_DOORBELL, 1000, 1000, "the second does not"},
	    {2, 10, false, QUEUE_DOORBELL, 1000, 1000, "nor does the third"},
	    {1, 900, true, QUEUE_LAST_SECOND, 950, 950,
		"unless the lock is free and the head does not come"},
	    {9, 10, true, QUEUE_LAST_SECOND, 110, 110,
		"  nor does the tenth, which watches it"},
	    {1, 1900, true, QUEUE_DOORBELL, 1000, 1000, "  yet"},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct holder holder = {.state = HOLDER_KNOWN,
		    .left_ms = cases[i].left_ms,
		    .others_queued = cases[i].others_queued};
		struct queue queue;
		int64_t ms;

		queue_init(&queue);
		queue.whole_seconds = true;
		queue.position = cases[i].position;
		queue.watches_head = cases[i].position > 2;
		is_high = i % 2 == 1;
		ms = queue_wait_ms(&queue, &holder);
		is_int(queue.way, cases[i].way, cases[i].what);
		is_int(ms, is_high ? cases[i].most_ms : cases[i].least_ms,
		    "  so long");
		ok(queue.way != QUEUE_DOORBELL || ms % 1000 == 0, "  whole");
	}
}

static void
test_refusal(void)
{
	struct queue queue;

	queue_init(&queue);
	is_int(queue.position, -1, "no position at first");
	queue.position = 1;
	queue_wait_ms(&queue, &ours);
	is_int(queue_refuse_doorbell(&queue), 50, "polls at once");
	queue_wait_ms(&queue, &ours);
	is_int(queue.way, QUEUE_NO_DOORBELL, "and from then on");
}

int
main(void)
{
	test_ways();
	test_foreign_backs_off();
	test_whole_seconds();
	test_refusal();
	return tap_done();
}
